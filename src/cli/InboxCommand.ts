import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { platforms, sourceIdOf } from "../domain/Source.ts"
import { mailSource } from "../domain/Source.ts"
import { ManagementClient } from "./Connection.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const source = Flag.String("source").pipe(
  Flag.withDescription("The source: events, mail, or the id or name of a platform. Default: all"),
  Flag.optional,
)

/** The named source, or all sources: bodies of removed sources are kept, too. */
const sourcesOf = (source: Option.Option<string>): ReadonlyArray<string> =>
  Option.match(source, {
    onNone: () => [...Object.keys(platforms), mailSource],
    onSome: (name) => [sourceIdOf(name) ?? name],
  })

const list = Command.make(
  "list",
  {
    source,
    all: Flag.Boolean("all").pipe(
      Flag.withDescription("Include bodies that were read without faults"),
      Flag.withDefault(false),
    ),
    limit: Flag.Int("limit").pipe(Flag.withDescription("1 to 100"), Flag.withDefault(20)),
  },
  Effect.fnUntraced(function* ({ all, limit, source }) {
    const client = yield* ManagementClient
    const org = yield* organization
    const inboxes = yield* Effect.forEach(sourcesOf(source), (sourceId) =>
      Effect.map(
        client.learning.listInbox({
          params: { org, segment: sourceId },
          query: { limit: String(limit), ...(all ? { all: "true" } : {}) },
        }),
        ({ inbox }) => inbox.map((entry) => ({ source: sourceId, ...entry })),
      ))
    // Ids rise with the time of arrival across all sources.
    const inbox = inboxes.flat().sort((a, b) => b.id - a.id).slice(0, limit)
    const rows = inbox.map((entry) => [
      entry.id,
      entry.source,
      entry.received_at,
      entry.status,
      entry.bytes,
      entry.events,
      entry.duplicates,
      entry.ignored,
      entry.faults.length === 0 ? null : entry.faults
        .map(({ pointer, reason }) => `${pointer === "" ? "body" : pointer}: ${reason}`).join("; ").slice(0, 120),
      entry.unused.length === 0
        ? null
        : entry.unused.map(({ count, reason }) => `${count}: ${reason}`).join("; ").slice(0, 120),
    ])
    const columns = [
      "id",
      "source",
      "received",
      "status",
      "bytes",
      "events",
      "duplicates",
      "ignored",
      "not understood",
      "not used",
    ]
    const nothing = all ? "The inbox is empty" : "All webhook bodies and mails were understood"
    yield* print(inbox, rows.length === 0 ? nothing : table(columns, rows))
  }),
).pipe(Command.withDescription("List webhook bodies and mails that were not understood"))

const replay = Command.make(
  "replay",
  { source, ids: Argument.String("id").pipe(Argument.withDescription("Ids of bodies"), Argument.variadic({ min: 1 })) },
  Effect.fnUntraced(function* ({ ids, source }) {
    const client = yield* ManagementClient
    const org = yield* organization
    const [first, ...others] = sourcesOf(source).map((sourceId) => (id: string) =>
      client.learning.replayInbox({ params: { org, segment: sourceId, id } })
    )
    for (const id of ids) {
      // An id is that of one body, in whichever inbox it is.
      yield* others.reduce(
        (replay, next) => Effect.catchTag(replay, "InboxEntryNotFound", () => next(id)),
        first!(id),
      )
    }
    yield* print({ replayed: ids }, `Replayed: ${ids.join(", ")}`)
  }),
).pipe(Command.withDescription("Replay bodies. Events that were already counted are not counted twice"))

/** `parlance inbox …` */
export const inboxCommand = Command.make("inbox").pipe(
  Command.withDescription("Webhook bodies and mails as they were received"),
  Command.withSubcommands([list, replay]),
)
