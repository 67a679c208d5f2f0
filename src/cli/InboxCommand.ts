import { Effect } from "effect"
import { Argument } from "effect/cli"
import { mailSource, platforms, sourceIdOf } from "../domain/Source.ts"
import { commandGroup, steps } from "./ApiCommand.ts"
import { argument, text, toggle, whole } from "./Flags.ts"
import { organization } from "./Root.ts"

const source = text("source", "The source: events, mail, or the id or name of a platform. Default: all")

/** The named source, or all sources. Sources that were removed are included, because their bodies are kept. */
const sourcesOf = (source: string | undefined): ReadonlyArray<string> =>
  source === undefined ? [...Object.keys(platforms), mailSource] : [sourceIdOf(source) ?? source]

/** Joins reasons in a column of the table. */
const joined = <A>(items: ReadonlyArray<A>, textOf: (item: A) => string) =>
  items.length === 0 ? null : items.map(textOf).join("; ").slice(0, 120)

/** `parlance inbox …` */
export const inboxCommand = commandGroup("inbox", "Webhook bodies and mails as they were received", {
  list: steps("List webhook bodies and mails that were not understood", {
    source,
    all: toggle("all", "Include bodies that were read without faults"),
    limit: whole("limit", "1 to 100", 20),
  }, function* (client, { all, limit, source }) {
    const org = yield* organization
    const query = { limit: String(limit), ...(all ? { all: "true" } : {}) }
    const inboxes = yield* Effect.forEach(sourcesOf(source), (segment) =>
      Effect.map(
        client.listInbox({ params: { org, segment }, query }),
        ({ inbox }) => inbox.map((entry) => ({ source: segment, ...entry })),
      ))
    // Ids of all sources increase with the time of arrival.
    return inboxes.flat().sort((a, b) => b.id - a.id).slice(0, limit)
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
      joined(faults, ({ pointer, reason }) => `${pointer === "" ? "body" : pointer}: ${reason}`),
    "not used": ({ unused }) => joined(unused, ({ count, reason }) => `${count}: ${reason}`),
  }, ({ all }) => all ? "The inbox is empty" : "All webhook bodies and mails were understood"),

  replay: steps("Replay bodies. Events that were already counted are not counted twice", {
    source,
    ids: argument("id", "Ids of bodies").pipe(Argument.variadic({ min: 1 })),
  }, function* (client, { ids, source }) {
    const org = yield* organization
    const [first, ...others] = sourcesOf(source).map((segment) => (id: string) =>
      client.replayInbox({ params: { org, segment, id } })
    )
    for (const id of ids) {
      // Ids are unique across all inboxes.
      yield* others.reduce(
        (replay, next) => Effect.catchTag(replay, "InboxEntryNotFound", () => next(id)),
        first!(id),
      )
    }
    return { replayed: ids }
  }).text(({ replayed }) => `Replayed: ${replayed.join(", ")}`),
})
