import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { GroupTestRequest } from "../api/deliveries/TestGroupsApi.ts"
import type { TestGroup, TestGroupInput } from "../domain/TestGroup.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { bodyOf, readJson } from "./Inputs.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const group = Argument.String("group").pipe(Argument.withDescription("The group's id, such as design-team"))

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const client = yield* ManagementClient
    const { groups } = yield* client.testGroups.listTestGroups({ params: { org: yield* organization } })
    yield* print(
      groups,
      groups.length === 0
        ? "No test groups"
        : table(["id", "name", "addresses"], groups.map(({ emails, id, name }) => [id, name, emails.join(", ")])),
    )
  }),
).pipe(Command.withDescription("List the test groups with their addresses"))

const describe = ({ emails, id, name }: TestGroup) => `${id} (${name}): ${emails.join(", ")}`

const set = Command.make(
  "set",
  {
    group,
    name: Flag.String("name").pipe(Flag.withDescription("Its name. Default: as it is, or the id"), Flag.optional),
    emails: Argument.String("address").pipe(
      Argument.withDescription("All addresses of the group, 1 to 20"),
      Argument.variadic(),
    ),
  },
  Effect.fnUntraced(function* ({ emails, group, name }) {
    const client = yield* ManagementClient
    const params = { org: yield* organization, group }
    const { groups } = yield* client.testGroups.listTestGroups({ params })
    const before = groups.find(({ id }) => id === group)
    const payload = bodyOf<TestGroupInput>({
      name: Option.getOrElse(name, () => before?.name ?? group),
      emails: emails.length > 0 ? emails : before?.emails ?? [],
    })
    const saved = yield* client.testGroups.putTestGroup({ params, payload })
    yield* print(saved, `Saved ${describe(saved)}`)
  }),
).pipe(
  Command.withDescription("Create a test group, or replace its addresses"),
  Command.withExamples([{
    command: 'parlance test-group set design-team --name "Design team" ann@example.com ben@agency.example',
  }]),
)

const remove = Command.make(
  "delete",
  { group },
  Effect.fnUntraced(function* ({ group }) {
    const client = yield* ManagementClient
    yield* client.testGroups.deleteTestGroup({ params: { org: yield* organization, group } })
    yield* print({ id: group, deleted: true }, `Deleted ${group}`)
  }),
).pipe(Command.withDescription("Delete a test group"))

const send = Command.make(
  "send",
  {
    group,
    template: Argument.String("template").pipe(Argument.withDescription("The template to send the content of")),
    variant: Flag.String("variant").pipe(
      Flag.withDescription("The variant. Default: the first active one"),
      Flag.optional,
    ),
    fields: Flag.String("fields").pipe(
      Flag.withDescription("Values for its placeholders, as JSON"),
      Flag.optional,
    ),
    person: Flag.String("person").pipe(
      Flag.withDescription("The sample person whose fields are used, in place of --fields"),
      Flag.optional,
    ),
    connection: Flag.String("connection").pipe(
      Flag.withDescription("The SMTP connection. Default: the one that deliveries use"),
      Flag.optional,
    ),
  },
  Effect.fnUntraced(function* ({ connection, fields, group, person, template, variant }) {
    const client = yield* ManagementClient
    const org = yield* organization
    if (Option.isSome(person) && Option.isSome(fields)) {
      return yield* new CommandFailed({ message: "Use --fields or --person, not both" })
    }
    const values = Option.isSome(person)
      ? (yield* client.samplePeople.getSamplePerson({ params: { org, person: person.value } })).fields
      : Option.isSome(fields)
      ? yield* readJson("--fields", fields.value)
      : undefined
    const payload = bodyOf<typeof GroupTestRequest.Type>({
      template_id: template,
      ...(Option.isSome(variant) ? { copy_id: variant.value } : {}),
      ...(Option.isSome(connection) ? { connection: connection.value } : {}),
      ...(values === undefined ? {} : { fields: values }),
    })
    const report = yield* client.testGroups.sendGroupTest({ params: { org, group }, payload })
    yield* print(
      report,
      table(
        ["address", "sent", "detail"],
        report.sent.map(({ detail, email, ok }) => [email, ok ? "yes" : "no", detail]),
      ),
    )
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
