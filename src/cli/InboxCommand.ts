import { Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { platforms, sourceIdOf } from "../domain/Source.ts"
import { mailSource } from "../domain/Source.ts"
import { argument, text, toggle, whole } from "./Flags.ts"
import { organizationCommand } from "./ManagementCommand.ts"

const source = text("source", "The source: events, mail, or the id or name of a platform. Default: all")

/** The named source, or all sources. Sources that were removed are included, because their bodies are kept. */
const sourcesOf = (source: Option.Option<string>): ReadonlyArray<string> =>
  Option.match(source, {
    onNone: () => [...Object.keys(platforms), mailSource],
    onSome: (name) => [sourceIdOf(name) ?? name],
  })

const list = organizationCommand({
  name: "list",
  description: "List webhook bodies and mails that were not understood",
  flags: {
    source,
    all: toggle("all", "Include bodies that were read without faults"),
    limit: whole("limit", "1 to 100", 20),
  },
  call: (client, { all, limit, org, source }) =>
    Effect.gen(function* () {
      const query = { limit: String(limit), ...(all ? { all: "true" } : {}) }
      const inboxes = yield* Effect.forEach(sourcesOf(source), (segment) =>
        Effect.map(
          client.learning.listInbox({ params: { org, segment }, query }),
          ({ inbox }) => inbox.map((entry) => ({ source: segment, ...entry })),
        ))
      // Ids of all sources increase with the time of arrival.
      return inboxes.flat().sort((a, b) => b.id - a.id).slice(0, limit)
    }),
}).table({
  id: "id",
  source: "source",
  received: "received_at",
  status: "status",
  bytes: "bytes",
  events: "events",
  duplicates: "duplicates",
  ignored: "ignored",
  "not understood": ({ faults }) =>
    faults.length === 0
      ? null
      : faults.map(({ pointer, reason }) => `${pointer === "" ? "body" : pointer}: ${reason}`).join("; ").slice(0, 120),
  "not used": ({ unused }) =>
    unused.length === 0 ? null : unused.map(({ count, reason }) => `${count}: ${reason}`).join("; ").slice(0, 120),
}, ({ all }) => all ? "The inbox is empty" : "All webhook bodies and mails were understood")

const replay = organizationCommand({
  name: "replay",
  description: "Replay bodies. Events that were already counted are not counted twice",
  flags: { source, ids: argument("id", "Ids of bodies").pipe(Argument.variadic({ min: 1 })) },
  call: (client, { ids, org, source }) =>
    Effect.gen(function* () {
      const [first, ...others] = sourcesOf(source).map((segment) => (id: string) =>
        client.learning.replayInbox({ params: { org, segment, id } })
      )
      for (const id of ids) {
        // Ids are unique across all inboxes.
        yield* others.reduce(
          (replay, next) => Effect.catchTag(replay, "InboxEntryNotFound", () => next(id)),
          first!(id),
        )
      }
    }),
  result: (_, { ids }) => ({ replayed: ids }),
}).text(({ replayed }) => `Replayed: ${replayed.join(", ")}`)

/** `parlance inbox …` */
export const inboxCommand = Command.make("inbox").pipe(
  Command.withDescription("Webhook bodies and mails as they were received"),
  Command.withSubcommands([list, replay]),
)
