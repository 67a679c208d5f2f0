import { Effect } from "effect"
import { Flag } from "effect/cli"
import type { TestMessageRequest } from "../delivery/receivers/TestMessages.ts"
import { call, commandGroup, steps } from "./ApiCommand.ts"
import { CommandFailed } from "./Connection.ts"
import { dkimCommand } from "./DkimCommand.ts"
import { argument, json, text, toggle } from "./Flags.ts"
import { bodyOf, readJson, readText } from "./Inputs.ts"
import { organization } from "./Root.ts"
import { platformNames } from "./PlatformNames.ts"
import { testMessageText } from "./TestMessageText.ts"

const connection = argument("name", "Name of the connection, such as main")

/** A command that changes a connection as `change` says. */
const change = (description: string, change: { readonly paused?: boolean; readonly enabled?: boolean }) =>
  call("putConnection", description, { connection }).sends((values) => ({ ...values, ...change }))

const secrets = toggle("secrets-stdin", 'Read secrets from standard input, as JSON: {"password":"…"}').pipe(
  Flag.map((read) =>
    read ? Effect.flatMap(readText("-"), (text) => readJson("--secrets-stdin", text)) : Effect.undefined
  ),
)

/** `parlance connection …` */
export const connectionCommand = commandGroup("connection", "Platforms that send deliveries", {
  list: call("listConnections", "List connections with their state").result(({ connections }) => connections).table({
    name: "name",
    platform: "platform",
    on: "enabled",
    paused: "paused",
    "in use": "in_use",
    secrets: ({ secrets }) => secrets.join(", "),
    trouble: ({ trouble }) => trouble === null ? null : `${trouble.state}: ${trouble.reason}`.slice(0, 120),
  }, "No connections. `parlance connection set --help` explains how to add one."),

  set: call("putConnection", "Set up or change a connection", {
    connection,
    platform: text("platform", `${platformNames.join(", ")}; needed for a new connection`),
    settings: json("settings", 'As JSON, such as \'{"host":"smtp.example.com","from":"Shop <news@example.com>"}\''),
    secrets,
    default: toggle("default", "Send all later messages through this connection"),
  }).sends((values) => ({ ...values, enabled: true, default: values.default || undefined }))
    .examples(
      'parlance connection set main --platform smtp --settings "$(cat smtp.json)" --secrets-stdin < secrets.json',
    )
    .text(({ in_use, name }) =>
      in_use
        ? `Deliveries now use ${name}. Test it with \`parlance connection test ${name}\`.`
        : `${name} is set up. To use it for deliveries, repeat the command with --default`
    ),

  test: steps("Test credentials and settings; sends a message only with --to. Exits with 1 if the test fails", {
    connection,
    to: text("to", "Send a test message to this address and list problems that mail receivers may report"),
    template_id: text("template", "With --to: send the content of this template"),
    copy_id: text("variant", "With --template: the variant. Default: the first active one"),
    locale: text("locale", "With --template: the locale of the texts, such as de-AT"),
    fields: json("fields", "With --template: values for its placeholders, as JSON"),
  }, function* (client, { connection, to, ...content }) {
    if (to === undefined && Object.values(content).some((value) => value !== undefined)) {
      return yield* new CommandFailed({ message: "--template, --variant and --fields need --to" })
    }
    const params = { org: yield* organization, connection }
    return yield* to === undefined
      ? client.testConnection({ params })
      : client.sendTestMessage({ params, payload: bodyOf<TestMessageRequest>({ to, ...content }) })
  }).failsIf(({ ok }) => !ok)
    .examples("parlance connection test main --to me@example.com --template welcome")
    .text((result) =>
      "findings" in result ? testMessageText(result) : [
        `${result.ok ? "Reachable" : "The test failed"}: ${result.detail}`,
        ...result.warnings.map((warning) => `Warning: ${warning}`),
      ].join("\n")
    ),
  dkim: dkimCommand,

  pause: change("Pause a connection: due messages wait", { paused: true })
    .text(({ name }) => `${name} sends nothing until \`parlance connection resume ${name}\``),

  resume: call(
    "resumeConnection",
    "Resume a connection that you paused or that paused because its platform refused messages",
    { connection },
  ).text(({ name }) => `${name} sends again`),

  disable: change("Disable a connection", { enabled: false })
    .text(({ name }) => `${name} is disabled. Enable it with \`parlance connection set ${name}\`.`),

  remove: call("deleteConnection", "Remove a connection and its secrets", { connection })
    .result((_, { connection }) => ({ name: connection, removed: true }))
    .text(({ name }) => `Removed ${name} and its secrets. Queued messages wait for another connection`),
})
