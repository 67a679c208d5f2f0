import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import type { ConnectionChange } from "../delivery/Connections.ts"
import type { PlatformName } from "../delivery/connections/Platforms.ts"
import type { TestMessageRequest } from "../delivery/receivers/TestMessages.ts"
import { CommandFailed, ManagementClient } from "./Connection.ts"
import { dkimCommand } from "./DkimCommand.ts"
import { argument, given, text, toggle } from "./Flags.ts"
import { bodyOf, readJson, readJsonFlag, readText } from "./Inputs.ts"
import { organizationCommand } from "./ManagementCommand.ts"
import { organization, print } from "./Root.ts"
import { testMessageText } from "./TestMessageText.ts"

// The names are repeated here because loading the adapters would delay every command.
const platformNames: { readonly [name in PlatformName]: true } = {
  smtp: true,
  braze: true,
  iterable: true,
  customerio: true,
  sfmc: true,
  webhook: true,
  sink: true,
}

const name = argument("name", "Name of the connection, such as main")

const list = organizationCommand({
  name: "list",
  description: "List connections with their state",
  call: (client, { org }) => client.delivery.listConnections({ params: { org } }),
  result: ({ connections }) => connections,
}).table({
  name: "name",
  platform: "platform",
  on: "enabled",
  paused: "paused",
  "in use": "in_use",
  secrets: ({ secrets }) => secrets.join(", "),
  trouble: ({ trouble }) => trouble === null ? null : `${trouble.state}: ${trouble.reason}`.slice(0, 120),
}, "No connections. `parlance connection set --help` explains how to add one.")

const set = organizationCommand({
  name: "set",
  description: "Set up or change a connection",
  examples: [
    'parlance connection set main --platform smtp --settings "$(cat smtp.json)" --secrets-stdin < secrets.json',
  ],
  flags: {
    name,
    platform: text("platform", `${Object.keys(platformNames).join(", ")}; needed for a new connection`),
    settings: text("settings", 'As JSON, such as \'{"host":"smtp.example.com","from":"Shop <news@example.com>"}\''),
    secretsStdin: toggle("secrets-stdin", 'Read secrets from standard input, as JSON: {"password":"…"}'),
    makeDefault: toggle("default", "Send all later messages through this connection"),
  },
  payload: ({ makeDefault, platform, secretsStdin, settings }) =>
    Effect.gen(function* () {
      const secrets = secretsStdin ? { secrets: yield* readJson("--secrets-stdin", yield* readText("-")) } : {}
      return bodyOf<ConnectionChange>({
        enabled: true,
        ...given({ platform, settings: yield* readJsonFlag("--settings", settings) }),
        ...secrets,
        ...(makeDefault ? { default: true } : {}),
      })
    }),
  call: (client, { name, org, payload }) =>
    client.delivery.putConnection({ params: { org, connection: name }, payload }),
}).text(({ in_use, name }) =>
  in_use
    ? `Deliveries now use ${name}. Test it with \`parlance connection test ${name}\`.`
    : `${name} is set up. To use it for deliveries, repeat the command with --default`
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
    to: text("to", "Send a test message to this address and list problems that mail receivers may report"),
    template: text("template", "With --to: send the content of this template"),
    variant: text("variant", "With --template: the variant. Default: the first active one"),
    fields: text("fields", "With --template: values for its placeholders, as JSON"),
  },
  Effect.fnUntraced(function* ({ fields, name, template, to, variant }) {
    if (Option.isNone(to) && [template, variant, fields].some(Option.isSome)) {
      return yield* new CommandFailed({ message: "--template, --variant and --fields need --to" })
    }
    const works = Option.isNone(to) ? yield* tried(name) : yield* triedWithMessage(
      name,
      bodyOf<TestMessageRequest>({
        to: to.value,
        ...given({ template_id: template, copy_id: variant, fields: yield* readJsonFlag("--fields", fields) }),
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

const pause = organizationCommand({
  name: "pause",
  description: "Pause a connection: due messages wait",
  flags: { name },
  call: (client, { name, org }) =>
    client.delivery.putConnection({ params: { org, connection: name }, payload: { paused: true } }),
}).text(({ name }) => `${name} sends nothing until \`parlance connection resume ${name}\``)

const resume = organizationCommand({
  name: "resume",
  description: "Resume a connection that you paused or that paused because its platform refused messages",
  flags: { name },
  call: (client, { name, org }) => client.delivery.resumeConnection({ params: { org, connection: name } }),
}).text(({ name }) => `${name} sends again`)

const disable = organizationCommand({
  name: "disable",
  description: "Disable a connection",
  flags: { name },
  call: (client, { name, org }) =>
    client.delivery.putConnection({ params: { org, connection: name }, payload: { enabled: false } }),
}).text(({ name }) => `${name} is disabled. Enable it with \`parlance connection set ${name}\`.`)

const remove = organizationCommand({
  name: "remove",
  description: "Remove a connection and its secrets",
  flags: { name },
  call: (client, { name, org }) => client.delivery.deleteConnection({ params: { org, connection: name } }),
  result: (_, { name }) => ({ name, removed: true }),
}).text(({ name }) => `Removed ${name} and its secrets. Queued messages wait for another connection`)

/** `parlance connection …` */
export const connectionCommand = Command.make("connection").pipe(
  Command.withDescription("Platforms that send deliveries"),
  Command.withSubcommands([list, set, test, dkimCommand, pause, resume, disable, remove]),
)
