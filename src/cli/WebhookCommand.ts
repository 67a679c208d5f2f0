import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { listOfSources } from "../domain/Source.ts"
import type { SourceInput } from "../intake/WebhookSources.ts"
import type { WebhookSource } from "../api/webhooks/WebhooksApi.ts"
import { ManagementClient } from "./Connection.ts"
import { bodyOf, readJson, readText } from "./Inputs.ts"
import { organization, print } from "./Root.ts"
import { webhookEvents } from "./TimelineCommands.ts"
import { table } from "./Table.ts"
import { webhookTrigger } from "./WebhookTrigger.ts"

const sourceId = Argument.String("source").pipe(
  Argument.withDescription(
    `One of ${listOfSources}`,
  ),
)

const describe = (sources: ReadonlyArray<WebhookSource>) =>
  table(
    ["source", "platform", "path", "on", "secrets", "last received", "events", "duplicates", "not understood", "lag s"],
    sources.map((source) => [
      source.segment,
      source.platform,
      source.path,
      source.enabled,
      source.secrets.length,
      source.last_received_at,
      source.events,
      source.duplicates,
      source.not_understood,
      Math.round(source.lag_seconds),
    ]),
  )

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const client = yield* ManagementClient
    const { webhooks } = yield* client.sources.listSources({ params: { org: yield* organization } })
    yield* print(webhooks, `${describe(webhooks)}\n\nCounts cover the last 24 hours.`)
  }),
).pipe(Command.withDescription("List sources, their webhook addresses and counts of received bodies"))

const change = Effect.fnUntraced(function* (name: string, input: unknown) {
  const client = yield* ManagementClient
  const payload = bodyOf<SourceInput>(input)
  return yield* client.sources.putSource({ params: { org: yield* organization, segment: name }, payload })
})

const set = Command.make(
  "set",
  {
    sourceId,
    secretStdin: Flag.Boolean("secret-stdin").pipe(
      Flag.withDescription(
        "Read the signing secret of the platform from standard input. The previous secret stays valid for " +
          "24 hours",
      ),
      Flag.withDefault(false),
    ),
    settings: Flag.String("settings").pipe(
      Flag.withDescription('Options of the platform as JSON, such as \'{"conversions":["order completed"]}\''),
      Flag.optional,
    ),
    mapping: Flag.String("mapping").pipe(
      Flag.withDescription("File with a mapping of custom events, JSON; - for standard input"),
      Flag.optional,
    ),
  },
  Effect.fnUntraced(function* ({ mapping, secretStdin, settings, sourceId }) {
    const secret = secretStdin ? (yield* readText("-")).trim() : undefined
    const options = Option.isSome(settings) ? yield* readJson("--settings", settings.value) : undefined
    const mapped = Option.isSome(mapping) ? yield* readJson("--mapping", yield* readText(mapping.value)) : undefined
    const given = {
      ...(options === undefined ? {} : options as Record<string, unknown>),
      ...(mapped === undefined ? {} : { mapping: mapped }),
    }
    const source = yield* change(sourceId, {
      enabled: true,
      ...(secret === undefined ? {} : { secret }),
      ...(options === undefined && mapped === undefined ? {} : { settings: given }),
    })
    yield* print(source, `Send webhooks to ${source.path}`)
  }),
).pipe(
  Command.withDescription("Set up or change a source"),
  Command.withExamples([{ command: "parlance webhook set braze --secret-stdin < token.txt" }]),
)

const disable = Command.make(
  "disable",
  { sourceId },
  Effect.fnUntraced(function* ({ sourceId }) {
    const source = yield* change(sourceId, { enabled: false })
    yield* print(
      source,
      `Webhooks of ${source.segment} are refused now. Enable them again with \`parlance webhook set\`.`,
    )
  }),
).pipe(Command.withDescription("Refuse a source's webhooks, keeping its settings"))

const remove = Command.make(
  "remove",
  { sourceId },
  Effect.fnUntraced(function* ({ sourceId }) {
    const client = yield* ManagementClient
    yield* client.sources.deleteSource({ params: { org: yield* organization, segment: sourceId } })
    yield* print(
      { segment: sourceId, removed: true },
      `Removed ${sourceId} and its secrets. Its received bodies are kept`,
    )
  }),
).pipe(Command.withDescription("Remove a source and its secrets"))

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
