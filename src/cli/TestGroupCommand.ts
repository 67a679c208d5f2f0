import { Argument } from "effect/cli"
import type { GroupTestRequest } from "../api/deliveries/TestGroupsApi.ts"
import type { TestGroupInput } from "../domain/TestGroup.ts"
import { call, commandGroup, steps } from "./ApiCommand.ts"
import { CommandFailed } from "./Connection.ts"
import { argument, json, text } from "./Flags.ts"
import { bodyOf } from "./Inputs.ts"
import { organization } from "./Root.ts"
import { tableOf } from "./Table.ts"

const group = argument("group", "The group's id, such as design-team")

/** `parlance test-group …` */
export const testGroupCommand = commandGroup("test-group", "Named recipients of test messages", {
  list: call("listTestGroups", "List the test groups with their addresses")
    .result(({ groups }) => groups)
    .table({ id: "id", name: "name", addresses: ({ emails }) => emails.join(", ") }, "No test groups"),

  set: steps("Create a test group, or replace its addresses", {
    group,
    name: text("name", "Its name. Default: as it is, or the id"),
    emails: argument("address", "All addresses of the group, 1 to 20").pipe(Argument.variadic()),
  }, function* (client, { emails, group, name }) {
    const params = { org: yield* organization, group }
    const { groups } = yield* client.listTestGroups({ params })
    const before = groups.find(({ id }) => id === group)
    const payload = bodyOf<TestGroupInput>({
      name: name ?? before?.name ?? group,
      emails: emails.length > 0 ? emails : before?.emails ?? [],
    })
    return yield* client.putTestGroup({ params, payload })
  }).examples('parlance test-group set design-team --name "Design team" ann@example.com ben@agency.example')
    .text(({ emails, id, name }) => `Saved ${id} (${name}): ${emails.join(", ")}`),

  delete: call("deleteTestGroup", "Delete a test group", { group })
    .result((_, { group }) => ({ id: group, deleted: true }))
    .text(({ id }) => `Deleted ${id}`),

  send: steps("Send a test of a template to each address of a group. Exits with 1 if one is not sent", {
    group,
    template_id: argument("template", "The template to send the content of"),
    copy_id: text("variant", "The variant. Default: the first active one"),
    fields: json("fields", "Values for its placeholders, as JSON"),
    person: text("person", "The sample person whose fields are used, in place of --fields"),
    connection: text("connection", "The SMTP connection. Default: the one that deliveries use"),
  }, function* (client, { fields, group, person, ...content }) {
    const org = yield* organization
    if (person !== undefined && fields !== undefined) {
      return yield* new CommandFailed({ message: "Use --fields or --person, not both" })
    }
    const values = person === undefined ? fields : (yield* client.getSamplePerson({ params: { org, person } })).fields
    const payload = bodyOf<typeof GroupTestRequest.Type>({ ...content, fields: values })
    return yield* client.sendGroupTest({ params: { org, group }, payload })
  }).failsIf(({ sent }) => sent.some(({ ok }) => !ok))
    .examples("parlance test-group send design-team welcome --variant warm --person ann")
    .text(({ sent }) => tableOf({ address: "email", sent: "ok", detail: "detail" }, sent)),
})
