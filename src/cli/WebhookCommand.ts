import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { listOfSources } from "../domain/Source.ts"
import type { SourceInput } from "../intake/WebhookSources.ts"
import { ManagementClient } from "./Connection.ts"
import { argument, text, toggle } from "./Flags.ts"
import { bodyOf, readJson, readText } from "./Inputs.ts"
import { organizationCommand } from "./ManagementCommand.ts"
import { organization } from "./Root.ts"
import { webhookEvents } from "./TimelineCommands.ts"
import { tableOf } from "./Table.ts"
import { webhookTrigger } from "./WebhookTrigger.ts"

const sourceId = argument("source", `One of ${listOfSources}`)

const list = organizationCommand({
  name: "list",
  description: "List sources, their webhook addresses and counts of received bodies",
  call: (client, { org }) => client.sources.listSources({ params: { org } }),
  result: ({ webhooks }) => webhooks,
}).text((webhooks) =>
  `${
    tableOf({
      source: "segment",
      platform: "platform",
      path: "path",
      on: "enabled",
      secrets: ({ secrets }) => secrets.length,
      "last received": "last_received_at",
      events: "events",
      duplicates: "duplicates",
      "not understood": "not_understood",
      "lag s": ({ lag_seconds }) => Math.round(lag_seconds),
    }, webhooks)
  }\n\nCounts cover the last 24 hours.`
)

const set = organizationCommand({
  name: "set",
  description: "Set up or change a source",
  examples: ["parlance webhook set braze --secret-stdin < token.txt"],
  flags: {
    sourceId,
    secretStdin: toggle(
      "secret-stdin",
      "Read the signing secret of the platform from standard input. The previous secret stays valid for 24 hours",
    ),
    settings: text("settings", 'Options of the platform as JSON, such as \'{"conversions":["order completed"]}\''),
    mapping: text("mapping", "File with a mapping of custom events, JSON; - for standard input"),
  },
  payload: ({ mapping, secretStdin, settings }) =>
    Effect.gen(function* () {
      const secret = secretStdin ? (yield* readText("-")).trim() : undefined
      const options = Option.isSome(settings) ? yield* readJson("--settings", settings.value) : undefined
      const mapped = Option.isSome(mapping) ? yield* readJson("--mapping", yield* readText(mapping.value)) : undefined
      const given = {
        ...(options === undefined ? {} : options as Record<string, unknown>),
        ...(mapped === undefined ? {} : { mapping: mapped }),
      }
      return bodyOf<SourceInput>({
        enabled: true,
        ...(secret === undefined ? {} : { secret }),
        ...(options === undefined && mapped === undefined ? {} : { settings: given }),
      })
    }),
  call: (client, { org, payload, sourceId }) =>
    client.sources.putSource({ params: { org, segment: sourceId }, payload }),
}).text(({ path }) => `Send webhooks to ${path}`)

const disable = organizationCommand({
  name: "disable",
  description: "Refuse a source's webhooks, keeping its settings",
  flags: { sourceId },
  call: (client, { org, sourceId }) =>
    client.sources.putSource({ params: { org, segment: sourceId }, payload: { enabled: false } }),
}).text(({ segment }) => `Webhooks of ${segment} are refused now. Enable them again with \`parlance webhook set\`.`)

const remove = organizationCommand({
  name: "remove",
  description: "Remove a source and its secrets",
  flags: { sourceId },
  call: (client, { org, sourceId }) => client.sources.deleteSource({ params: { org, segment: sourceId } }),
  result: (_, { sourceId }) => ({ segment: sourceId, removed: true }),
}).text(({ segment }) => `Removed ${segment} and its secrets. Its received bodies are kept`)

const dryRun = Command.make(
  "dry-run",
  {
    mapping: Flag.String("mapping").pipe(Flag.withDescription("File with the mapping, JSON")),
    body: Flag.String("body").pipe(Flag.withDescription("File with a sample body; - for standard input")),
  },
  Effect.fnUntraced(function* ({ body, mapping }) {
    const client = yield* ManagementClient
    const answer = yield* client.sources.dryRun({
      params: { org: yield* organization },
      payload: { mapping: yield* readJson("--mapping", yield* readText(mapping)), body: yield* readText(body) },
    })
    yield* Console.log(JSON.stringify(answer, null, 2))
  }),
).pipe(Command.withDescription("Try a mapping of custom events on a sample"))

/** `parlance webhook …` */
export const webhookCommand = Command.make("webhook").pipe(
  Command.withDescription("Sources of events"),
  Command.withSubcommands([list, webhookEvents, webhookTrigger, set, disable, remove, dryRun]),
)
