import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { ConnectionChange } from "../delivery/Connections.ts"
import type { PlatformName } from "../delivery/connections/Platforms.ts"
import type { TestMessageRequest } from "../delivery/receivers/TestMessages.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { dkimCommand } from "./DkimCommand.ts"
import { bodyOf, readJson, readText } from "./Inputs.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"
import { testMessageText } from "./TestMessageText.ts"

// The adapters themselves would take long to load.
const platformNames: { readonly [name in PlatformName]: true } = {
  smtp: true,
  braze: true,
  iterable: true,
  customerio: true,
  sfmc: true,
  webhook: true,
  sink: true,
}

const name = Argument.String("name").pipe(Argument.withDescription("Name of the connection, such as main"))

const change = Effect.fnUntraced(function* (connection: string, input: unknown) {
  const client = yield* ManagementClient
  const payload = bodyOf<ConnectionChange>(input)
  return yield* client.delivery.putConnection({ params: { org: yield* organization, connection }, payload })
})

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const client = yield* ManagementClient
    const { connections } = yield* client.delivery.listConnections({ params: { org: yield* organization } })
    yield* print(
      connections,
      connections.length === 0 ? "No connections. `parlance connection set --help` explains how to add one." : table(
        ["name", "platform", "on", "paused", "in use", "secrets", "trouble"],
        connections.map((one) => [
          one.name,
          one.platform,
          one.enabled,
          one.paused,
          one.in_use,
          one.secrets.join(", "),
          one.trouble === null ? null : `${one.trouble.state}: ${one.trouble.reason}`.slice(0, 120),
        ]),
      ),
    )
  }),
).pipe(Command.withDescription("List connections with their state"))

const set = Command.make(
  "set",
  {
    name,
    platform: Flag.String("platform").pipe(
      Flag.withDescription(`${Object.keys(platformNames).join(", ")}; needed for a new connection`),
      Flag.optional,
    ),
    settings: Flag.String("settings").pipe(
      Flag.withDescription('As JSON, such as \'{"host":"smtp.example.com","from":"Shop <news@example.com>"}\''),
      Flag.optional,
    ),
    secretsStdin: Flag.Boolean("secrets-stdin").pipe(
      Flag.withDescription('Read secrets from standard input, as JSON: {"password":"…"}'),
      Flag.withDefault(false),
    ),
    makeDefault: Flag.Boolean("default").pipe(
      Flag.withDescription("Send all further messages through this connection"),
      Flag.withDefault(false),
    ),
  },
  Effect.fnUntraced(function* ({ makeDefault, name, platform, secretsStdin, settings }) {
    const secrets = secretsStdin ? yield* readJson("--secrets-stdin", yield* readText("-")) : undefined
    const options = Option.isSome(settings) ? yield* readJson("--settings", settings.value) : undefined
    const connection = yield* change(name, {
      enabled: true,
      ...(Option.isSome(platform) ? { platform: platform.value } : {}),
      ...(options === undefined ? {} : { settings: options }),
      ...(secrets === undefined ? {} : { secrets }),
      ...(makeDefault ? { default: true } : {}),
    })
    yield* print(
      connection,
      connection.in_use
        ? `Deliveries now use ${connection.name}. Test it with \`parlance connection test ${connection.name}\`.`
        : `${connection.name} is set up. To use it for deliveries, repeat the command with --default`,
    )
  }),
).pipe(
  Command.withDescription("Set up or change a connection"),
  Command.withExamples([{
    command:
      'parlance connection set main --platform smtp --settings "$(cat smtp.json)" --secrets-stdin < secrets.json',
  }]),
)

const tried = Effect.fnUntraced(function* (connection: string) {
  const client = yield* ManagementClient
  const result = yield* client.delivery.testConnection({ params: { org: yield* organization, connection } })
  yield* print(
    result,
    [
      `${result.ok ? "The test succeeded" : "The test failed"}: ${result.detail}`,
      ...result.warnings.map((warning) => `Warning: ${warning}`),
    ].join("\n"),
  )
  return result.ok
})

const triedWithMessage = Effect.fnUntraced(function* (connection: string, payload: TestMessageRequest) {
  const client = yield* ManagementClient
  const params = { org: yield* organization, connection }
  const result = yield* client.deliverability.sendTestMessage({ params, payload })
  yield* print(result, testMessageText(result))
  return result.ok
})

const test = Command.make(
  "test",
  {
    name,
    to: Flag.String("to").pipe(
      Flag.withDescription("Send a test message to this address and list problems that mail receivers may report"),
      Flag.optional,
    ),
    template: Flag.String("template").pipe(
      Flag.withDescription("With --to: send the content of this template"),
      Flag.optional,
    ),
    variant: Flag.String("variant").pipe(
      Flag.withDescription("With --template: the variant. Default: the first active one"),
      Flag.optional,
    ),
    fields: Flag.String("fields").pipe(
      Flag.withDescription("With --template: values for its placeholders, as JSON"),
      Flag.optional,
    ),
  },
  Effect.fnUntraced(function* ({ fields, name, template, to, variant }) {
    if (Option.isNone(to) && [template, variant, fields].some(Option.isSome)) {
      return yield* new CommandFailed({ message: "--template, --variant and --fields need --to" })
    }
    const works = Option.isNone(to) ? yield* tried(name) : yield* triedWithMessage(
      name,
      bodyOf<TestMessageRequest>({
        to: to.value,
        ...(Option.isSome(template) ? { template_id: template.value } : {}),
        ...(Option.isSome(variant) ? { copy_id: variant.value } : {}),
        ...(Option.isSome(fields) ? { fields: yield* readJson("--fields", fields.value) } : {}),
      }),
    )
    if (!works) process.exitCode = 1
  }),
).pipe(
  Command.withDescription(
    "Test credentials and settings; sends a message only with --to. Exits with 1 if the test fails",
  ),
  Command.withExamples([{ command: "parlance connection test main --to me@example.com --template welcome" }]),
)

const switched = (
  command: string,
  description: string,
  input: ConnectionChange,
  said: (name: string) => string,
) =>
  Command.make(
    command,
    { name },
    Effect.fnUntraced(function* ({ name }) {
      const connection = yield* change(name, input)
      yield* print(connection, said(connection.name))
    }),
  ).pipe(Command.withDescription(description))

const pause = switched(
  "pause",
  "Pause a connection: due messages wait",
  { paused: true },
  (name) => `${name} sends nothing until \`parlance connection resume ${name}\``,
)
const resume = Command.make(
  "resume",
  { name },
  Effect.fnUntraced(function* ({ name }) {
    const client = yield* ManagementClient
    const params = { org: yield* organization, connection: name }
    const connection = yield* client.delivery.resumeConnection({ params })
    yield* print(connection, `${connection.name} sends again`)
  }),
).pipe(
  Command.withDescription("Resume a connection that you paused or that paused because its platform refused messages"),
)
const disable = switched(
  "disable",
  "Disable a connection",
  { enabled: false },
  (name) => `${name} is disabled. Enable it with \`parlance connection set ${name}\`.`,
)

const remove = Command.make(
  "remove",
  { name },
  Effect.fnUntraced(function* ({ name }) {
    const client = yield* ManagementClient
    yield* client.delivery.deleteConnection({ params: { org: yield* organization, connection: name } })
    yield* print(
      { name, removed: true },
      `Removed ${name} and its secrets. Queued messages wait for another connection`,
    )
  }),
).pipe(Command.withDescription("Remove a connection and its secrets"))

/** `parlance connection …` */
export const connectionCommand = Command.make("connection").pipe(
  Command.withDescription("Platforms that send deliveries"),
  Command.withSubcommands([list, set, test, dkimCommand, pause, resume, disable, remove]),
)
