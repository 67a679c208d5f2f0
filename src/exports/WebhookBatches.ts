import { Clock, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { dayMillis } from "../bandit/Window.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { asJob } from "../telemetry/LoopWork.ts"
import { sha256 } from "../text/Sha256.ts"
import { BatchBodies } from "../webhooks/BatchBodies.ts"
import { batchedAmong, type BatchedType, batchSize, batchTypes } from "../webhooks/BatchTypes.ts"
import { advanceFeed, type DueFeed, takeFeed } from "../webhooks/Feeds.ts"
import { decode, encode } from "./Cursor.ts"
import { cursorDays, type ExportedRow, Exports } from "./Exports.ts"

// Batches of events for webhook endpoints, made of rows of exports. A batch holds a range of the stream, not its rows.

/**
 * Returns the events of one type among rows of its export, by id. A row that occurs twice is one event. The id depends
 * only on the key of the row, so a row that comes again in a later batch has the id of its event.
 */
export const eventsOf = (type: BatchedType, rows: ReadonlyArray<ExportedRow>): ReadonlyArray<ExportedRow> => {
  const { key, matches, members } = batchTypes[type]
  const events = new Map<string, ExportedRow>()
  for (const row of rows) {
    if (!matches(row)) continue
    const id = sha256(JSON.stringify([type, ...key.map((column) => row[column])]))
    const values = Object.entries(members).map(([member, [column]]) => [member, row[column]])
    events.set(id, { id, ...Object.fromEntries(values) })
  }
  return [...events.values()]
}

/** Reads batches from the exports. */
export const layerBatchBodies = Layer.effect(
  BatchBodies,
  Effect.map(Exports, (exports): BatchBodies["Service"] => ({ batch, createdAt, orgSlug, type }) => {
    const { stream } = batchTypes[type]
    const [from, to] = [decode(batch.from, stream), decode(batch.to, stream)]
    if (from === undefined || to === undefined) return Effect.die(new Error("a stored batch has no valid range"))
    return Effect.map(exports.range(orgSlug as OrgSlug, from, to), (rows) =>
      JSON.stringify({
        type,
        timestamp: createdAt.toISOString(),
        data: { org: orgSlug, events: eventsOf(type, rows) },
      }))
  }),
)

/** Returns an effect that makes batches of the rows of all due feeds. Fails with `SqlError` if the database is away. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const exports = yield* Exports

  /** Reads the next page. A cursor that is too old, after a long outage, is replaced by the oldest valid position. */
  const nextPage = Effect.fnUntraced(function* ({ cursor, orgSlug, since, stream }: DueFeed) {
    const read = Effect.fnUntraced(function* (since: Date, cursor: string | null) {
      const from = (cursor === null ? undefined : decode(cursor, stream)) ?? (yield* exports.start(stream, since))
      const page = yield* exports.page(orgSlug as OrgSlug, stream, { after: from, since, limit: batchSize })
      return { ...page, from: encode(from), to: encode(page.cursor) }
    })
    const oldest = new Date((yield* Clock.currentTimeMillis) - cursorDays * dayMillis)
    return yield* Effect.catchTag(read(since, cursor), "CursorExpired", () => Effect.orDie(read(oldest, null)))
  })

  /** Makes the batches of one page. Returns false if no feed is due. */
  const step = sql.withTransaction(Effect.gen(function* () {
    const feed = yield* takeFeed(sql)
    if (feed === undefined) return false
    const { from, hasMore, rows, to } = yield* nextPage(feed)
    const batches = batchedAmong(feed.events, feed.stream).flatMap((type) => {
      const { length: count } = eventsOf(type, rows)
      return count === 0 ? [] : [{ type, range: { from, to, count } }]
    })
    yield* advanceFeed(sql, feed, { cursor: to, hasMore, batches })
    return true
  }))
  return Effect.repeat(step, { while: (isMade) => isMade })
})

/** Makes batches of events for webhook endpoints. Runs on every node. */
export const layerRunning = Layer.effectDiscard(
  Effect.flatMap(make, (drain) =>
    drain.pipe(
      asJob("webhook batches"),
      Effect.catchCause((cause) =>
        Effect.logWarning("Batches for webhook endpoints could not be made and will be retried", cause)
      ),
      Effect.repeat(Schedule.spaced("1 second")),
      Effect.forkScoped,
    )),
)
