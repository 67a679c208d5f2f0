import { Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import type { GroupTestRequest } from "../api/deliveries/TestGroupsApi.ts"
import type { TestGroupInput } from "../domain/TestGroup.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { argument, given, text } from "./Flags.ts"
import { bodyOf, readJsonFlag } from "./Inputs.ts"
import { organizationCommand } from "./ManagementCommand.ts"
import { organization, print } from "./Root.ts"
import { tableOf } from "./Table.ts"

const group = argument("group", "The group's id, such as design-team")

const list = organizationCommand({
  name: "list",
  description: "List the test groups with their addresses",
  call: (client, { org }) => client.testGroups.listTestGroups({ params: { org } }),
  result: ({ groups }) => groups,
}).table({ id: "id", name: "name", addresses: ({ emails }) => emails.join(", ") }, "No test groups")

const set = organizationCommand({
  name: "set",
  description: "Create a test group, or replace its addresses",
  examples: ['parlance test-group set design-team --name "Design team" ann@example.com ben@agency.example'],
  flags: {
    group,
    name: text("name", "Its name. Default: as it is, or the id"),
    emails: argument("address", "All addresses of the group, 1 to 20").pipe(Argument.variadic()),
  },
  call: (client, { emails, group, name, org }) =>
    Effect.gen(function* () {
      const params = { org, group }
      const { groups } = yield* client.testGroups.listTestGroups({ params })
      const before = groups.find(({ id }) => id === group)
      const payload = bodyOf<TestGroupInput>({
        name: Option.getOrElse(name, () => before?.name ?? group),
        emails: emails.length > 0 ? emails : before?.emails ?? [],
      })
      return yield* client.testGroups.putTestGroup({ params, payload })
    }),
}).text(({ emails, id, name }) => `Saved ${id} (${name}): ${emails.join(", ")}`)

const remove = organizationCommand({
  name: "delete",
  description: "Delete a test group",
  flags: { group },
  call: (client, { group, org }) => client.testGroups.deleteTestGroup({ params: { org, group } }),
  result: (_, { group }) => ({ id: group, deleted: true }),
}).text(({ id }) => `Deleted ${id}`)

const send = Command.make(
  "send",
  {
    group,
    template: argument("template", "The template to send the content of"),
    variant: text("variant", "The variant. Default: the first active one"),
    fields: text("fields", "Values for its placeholders, as JSON"),
    person: text("person", "The sample person whose fields are used, in place of --fields"),
    connection: text("connection", "The SMTP connection. Default: the one that deliveries use"),
  },
  Effect.fnUntraced(function* ({ connection, fields, group, person, template, variant }) {
    const client = yield* ManagementClient
    const org = yield* organization
    if (Option.isSome(person) && Option.isSome(fields)) {
      return yield* new CommandFailed({ message: "Use --fields or --person, not both" })
    }
    const values: Option.Option<unknown> = Option.isSome(person)
      ? Option.some((yield* client.samplePeople.getSamplePerson({ params: { org, person: person.value } })).fields)
      : yield* readJsonFlag("--fields", fields)
    const payload = bodyOf<typeof GroupTestRequest.Type>({
      template_id: template,
      ...given({ copy_id: variant, connection, fields: values }),
    })
    const report = yield* client.testGroups.sendGroupTest({ params: { org, group }, payload })
    yield* print(report, tableOf({ address: "email", sent: "ok", detail: "detail" }, report.sent))
    if (report.sent.some(({ ok }) => !ok)) process.exitCode = 1
  }),
).pipe(
  Command.withDescription("Send a test of a template to each address of a group. Exits with 1 if one is not sent"),
  Command.withExamples([{ command: "parlance test-group send design-team welcome --variant warm --person ann" }]),
)

/** `parlance test-group …` */
export const testGroupCommand = Command.make("test-group").pipe(
  Command.withDescription("Named recipients of test messages"),
  Command.withSubcommands([list, set, remove, send]),
)
