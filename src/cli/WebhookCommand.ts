import { Effect } from "effect"
import { Argument, Flag } from "effect/cli"
import { listOfSources } from "../domain/Source.ts"
import { call, callWith, commandGroup } from "./ApiCommand.ts"
import { argument, json, parsed, toggle } from "./Flags.ts"
import { readJson, readText } from "./Inputs.ts"
import { tableOf } from "./Table.ts"
import { webhookEvents } from "./TimelineCommands.ts"
import { webhookTrigger } from "./WebhookTrigger.ts"

const segment = argument("source", `One of ${listOfSources}`)

const readMapping = (file: string) => Effect.flatMap(readText(file), (text) => readJson("--mapping", text))

/** `parlance webhook …` */
export const webhookCommand = commandGroup("webhook", "Sources of events", {
  list: call("listSources", "List sources, their webhook addresses and counts of received bodies")
    .result(({ webhooks }) => webhooks)
    .text((webhooks) =>
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
    ),
  events: webhookEvents,
  trigger: webhookTrigger,

  set: callWith("putSource", "Set up or change a source", {
    segment,
    secret: toggle(
      "secret-stdin",
      "Read the signing secret of the platform from standard input. The previous secret stays valid for 24 hours",
    ).pipe(Flag.map((read) => read ? Effect.map(readText("-"), (text) => text.trim()) : Effect.undefined)),
    settings: json("settings", 'Options of the platform as JSON, such as \'{"conversions":["order completed"]}\''),
    mapping: parsed("mapping", "File with a mapping of custom events, JSON; - for standard input", readMapping),
  }, ({ mapping, settings, ...values }) => ({
    ...values,
    enabled: true,
    settings: settings === undefined && mapping === undefined
      ? undefined
      : { ...(settings as object | undefined), ...(mapping === undefined ? {} : { mapping }) },
  }))
    .examples("parlance webhook set braze --secret-stdin < token.txt")
    .text(({ path }) => `Send webhooks to the public address of the service and ${path}`),

  disable: call("putSource", "Refuse a source's webhooks, keeping its settings", { segment })
    .sends((values) => ({ ...values, enabled: false }))
    .text(({ segment }) => `Webhooks of ${segment} are refused now. Enable them again with \`parlance webhook set\`.`),

  remove: call("deleteSource", "Remove a source and its secrets", { segment })
    .result((_, { segment }) => ({ segment, removed: true }))
    .text(({ segment }) => `Removed ${segment} and its secrets. Its received bodies are kept`),

  "dry-run": call("dryRun", "Show how a sample body would be understood, without storing it", {
    segment: Argument.String("source").pipe(
      Argument.withDescription(`One of ${listOfSources}. Default: events`),
      Argument.withDefault("events"),
    ),
    mapping: parsed("mapping", "File with a mapping of custom events to try, JSON", readMapping),
    body: Flag.String("body").pipe(
      Flag.withDescription("File with a sample body; - for standard input"),
      Flag.map(readText),
    ),
  }).text((report) => JSON.stringify(report, null, 2)),
})
