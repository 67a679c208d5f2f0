import { Clock, Context, Duration, Effect, Layer, Random, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { hourMillis } from "../bandit/Window.ts"
import { retryPause } from "../delivery/AttemptOutcome.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { type Cursor, decode, encode } from "../exports/Cursor.ts"
import { Exports, oldestRow } from "../exports/Exports.ts"
import { Organizations } from "../organizations/Organizations.ts"
import { asJob } from "../telemetry/LoopWork.ts"
import * as AttributeObjects from "./AttributeObjects.ts"
import { type BucketStream, streams } from "./Bucket.ts"
import {
  bucketColumns,
  type BucketRow,
  Buckets,
  type ExportPosition,
  type ExportPositions,
  watermarkOf,
} from "./Buckets.ts"
import * as ExportObjects from "./ExportObjects.ts"
import type { ObjectStore } from "./ObjectStore.ts"

/** Number of rows that one query of an export reads. */
const pageRows = 5_000

/** A node keeps a bucket for this long after each object. Unit: milliseconds. */
const leaseMillis = 10 * 60_000

/** The pause after the first failed run. */
const firstPause = Duration.minutes(1)

interface Due extends BucketRow {
  readonly org: OrgSlug
}

/** The lease of the bucket is over, or its settings were changed. */
class Lost {
  readonly _tag = "Lost"
}

/** Runs the exports of due buckets, and reads files with attributes. */
export class BucketRuns extends Context.Service<BucketRuns, {
  /** Runs every due bucket once. Fails with `SqlError` if the database does not respond. */
  readonly run: Effect.Effect<void, SqlError>
}>()("parlance/buckets/BucketRuns") {
  static readonly layer = Layer.effect(
    BucketRuns,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const buckets = yield* Buckets
      const exports = yield* Exports
      const organizations = yield* Organizations
      const files = yield* AttributeObjects.make

      const claim = Effect.fnUntraced(function* (now: number) {
        const [due] = yield* sql<Due>`
          UPDATE buckets b SET due_at = ${new Date(now + leaseMillis)} FROM (
            SELECT d.org_slug FROM buckets d WHERE d.is_active AND d.due_at <= ${new Date(now)}
            ORDER BY d.due_at LIMIT 1 FOR UPDATE SKIP LOCKED) d
          WHERE b.org_slug = d.org_slug
          RETURNING b.org_slug AS org, ${sql.literal(bucketColumns)}`
        return due
      })

      /** The state of one run. `store` and `renew` fail with `Lost` if another run or a change of the settings has taken over. */
      const leaseOf = (due: Due) => {
        let lease = due.dueAt
        let positions = due.positions
        const renew = Effect.fnUntraced(function* (next: ExportPositions) {
          const until = new Date((yield* Clock.currentTimeMillis) + leaseMillis)
          const mine = yield* sql`
            UPDATE buckets b SET positions = ${JSON.stringify(next)}::text::json, due_at = ${until}
            WHERE b.org_slug = ${due.org} AND b.due_at = ${lease} RETURNING b.org_slug`
          if (mine.length === 0) return yield* Effect.fail(new Lost())
          positions = next
          lease = until
        })
        const store = (stream: BucketStream, position: ExportPosition) => renew({ ...positions, [stream]: position })
        return { store, renew: Effect.suspend(() => renew(positions)), lease: () => lease, positions: () => positions }
      }
      type Lease = ReturnType<typeof leaseOf>

      /** Returns the position where an export begins: all rows that are kept. */
      const begin = Effect.fnUntraced(function* (org: OrgSlug, stream: BucketStream) {
        const since = oldestRow(yield* organizations.get(org), yield* Clock.currentTimeMillis)
        return yield* exports.start(stream, new Date(since))
      })

      /** Reads the rows of one object. */
      const gather = Effect.fnUntraced(function* (org: OrgSlug, from: Cursor) {
        let gathered = ExportObjects.nothing
        let cursor = from
        for (;;) {
          const page = yield* exports.page(org, from.stream, { after: cursor, since: new Date(0), limit: pageRows })
          gathered = ExportObjects.withLines(gathered, yield* ExportObjects.linesOf(page.rows), page.rows.length)
          cursor = page.cursor
          if (!page.hasMore || ExportObjects.isFull(gathered)) return { ...gathered, cursor, hasMore: page.hasMore }
        }
      })

      /** Writes all rows of a stream that are not in the bucket yet. The position moves once an object is there. */
      const exportStream = Effect.fnUntraced(function* (
        { folder, org }: Due,
        stream: BucketStream,
        lease: Lease,
        objects: ObjectStore,
      ) {
        const stored = lease.positions()[stream]
        let position = stored ?? { cursor: encode(yield* begin(org, stream)), until: null, objects: 0, rows: 0 }
        // Stored before the first object, whose name depends on it.
        if (stored === undefined) yield* lease.store(stream, position)
        for (let hasMore = true; hasMore;) {
          const from = decode(position.cursor, stream)!
          const object = yield* Effect.catchTag(gather(org, from), "CursorExpired", () => Effect.succeed(undefined))
          if (object === undefined) {
            // Rows that changed since may have been missed, so all rows come again.
            position = { ...position, cursor: encode(yield* begin(org, stream)), until: null }
            yield* lease.store(stream, position)
            continue
          }
          if (object.rows > 0) {
            const body = yield* ExportObjects.compressed(object.parts)
            yield* objects.put(ExportObjects.keyOf(folder, from), body, "application/gzip")
          }
          hasMore = object.hasMore
          position = {
            cursor: encode(object.cursor),
            until: hasMore ? position.until : object.cursor.late.at,
            objects: position.objects + (object.rows > 0 ? 1 : 0),
            rows: position.rows + object.rows,
          }
          yield* lease.store(stream, position)
        }
      })

      const runOne = Effect.fnUntraced(function* (due: Due, lease: Lease) {
        const objects = yield* buckets.open(due.org, due)
        for (const stream of streams) yield* exportStream(due, stream, lease, objects)
        yield* objects.put(
          ExportObjects.watermarkKey(due.folder),
          watermarkOf(lease.positions()),
          "application/json",
        )
        if (due.attributesFolder === null) return
        yield* files.takeAll(due.org, due.attributesFolder, objects, lease.renew)
      })

      const finish = Effect.fnUntraced(function* (due: Due, lease: Lease, problem: string | null) {
        const now = yield* Clock.currentTimeMillis
        const pause = problem === null
          ? hourMillis
          : Math.min(hourMillis, retryPause(due.failures + 1, firstPause, yield* Random.next))
        yield* sql`
          UPDATE buckets b SET due_at = ${new Date(now + pause)}, problem = ${problem},
            failures = ${problem === null ? 0 : due.failures + 1},
            succeeded_at = CASE WHEN ${problem === null} THEN ${new Date(now)} ELSE b.succeeded_at END
          WHERE b.org_slug = ${due.org} AND b.due_at = ${lease.lease()}`
      })

      const run: Effect.Effect<void, SqlError> = Effect.gen(function* () {
        const due = yield* claim(yield* Clock.currentTimeMillis)
        if (due === undefined) return
        const lease = leaseOf(due)
        yield* runOne(due, lease).pipe(
          Effect.matchEffect({
            onSuccess: () => finish(due, lease, null),
            onFailure: (error) =>
              error._tag === "SqlError"
                ? Effect.fail(error)
                : error._tag === "Lost" || error._tag === "OrganizationNotFound"
                ? Effect.void
                : finish(due, lease, error._tag === "BucketFailure" ? error.reason : error.message),
          }),
        )
        yield* run
      })

      return BucketRuns.of({ run: run.pipe(Effect.withSpan("BucketRuns.run")) })
    }),
  )

  /** Runs due buckets, on every node. */
  static readonly layerRunning = Layer.effectDiscard(Effect.gen(function* () {
    const { run } = yield* BucketRuns
    yield* run.pipe(
      asJob("buckets"),
      Effect.catchCause((cause) => Effect.logWarning("Exports to buckets failed and will be retried", cause)),
      Effect.repeat(Schedule.spaced("2 seconds")),
      Effect.forkScoped,
    )
  }))
}
