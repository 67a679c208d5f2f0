import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ManagementClient } from "./Connection.ts"
import { organization, print } from "./Root.ts"
import { table } from "./Table.ts"

const source = Flag.String("source").pipe(
  Flag.withDescription("Where it came in: events, or a platform's segment"),
  Flag.withDefault("events"),
)

const list = Command.make(
  "list",
  {
    source,
    all: Flag.Boolean("all").pipe(Flag.withDescription("Also what was understood"), Flag.withDefault(false)),
    limit: Flag.Int("limit").pipe(Flag.withDescription("1 to 100"), Flag.withDefault(20)),
  },
  Effect.fnUntraced(function* ({ all, limit, source }) {
    const client = yield* ManagementClient
    const { inbox } = yield* client.learning.listInbox({
      params: { org: yield* organization, segment: source },
      query: { limit: String(limit), ...(all ? { all: "true" } : {}) },
    })
    const rows = inbox.map((entry) => [
      entry.id,
      entry.received_at,
      entry.status,
      entry.bytes,
      entry.events,
      entry.duplicates,
      entry.ignored,
      entry.faults.length === 0 ? null : entry.faults
        .map(({ pointer, reason }) => `${pointer === "" ? "body" : pointer}: ${reason}`).join("; ").slice(0, 120),
    ])
    yield* print(
      inbox,
      rows.length === 0
        ? all ? "Nothing has come in" : "Everything that came in was understood"
        : table(["id", "received", "status", "bytes", "events", "duplicates", "ignored", "not understood"], rows),
    )
  }),
).pipe(Command.withDescription("List webhook bodies that were not understood"))

const replay = Command.make(
  "replay",
  { source, ids: Argument.String("id").pipe(Argument.withDescription("Ids of bodies"), Argument.variadic({ min: 1 })) },
  Effect.fnUntraced(function* ({ ids, source }) {
    const client = yield* ManagementClient
    const org = yield* organization
    for (const id of ids) yield* client.learning.replayInbox({ params: { org, segment: source, id } })
    yield* print({ replayed: ids }, `Looked at again: ${ids.join(", ")}`)
  }),
).pipe(Command.withDescription("Look at bodies again; what was counted is not counted twice"))

/** `parlance inbox …` */
export const inboxCommand = Command.make("inbox").pipe(
  Command.withDescription("Webhook bodies as they came in"),
  Command.withSubcommands([list, replay]),
)
