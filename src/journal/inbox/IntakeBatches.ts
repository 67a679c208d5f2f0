import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { isSpent, unfinishedReason } from "../../store/Attempts.ts"
import { type ArrivedBody, insertBodies } from "./Inbox.ts"
import type { AttemptVerdict } from "./IntakeRules.ts"

// The bodies that nodes are processing: rows of `intake_batches`, which other nodes skip. `IntakeRules` describes the
// states. No row of the inbox is locked while its body is processed: if two nodes process one body, its events are
// stored once.

/** Duration of a batch's lease after each renewal. Unit: seconds. */
const leaseSeconds = 20

/** Interval of the renewals of a batch's lease. */
export const renewEvery = "5 seconds"

/** Maximum number of bodies in a batch. */
const maxBodies = 500

/** A stored body. */
export interface Body {
  readonly id: number
  readonly orgSlug: string
  readonly source: string
  readonly receivedAt: Date
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly attempts: number
}

/** Bodies that this node has claimed. */
export interface ClaimedBodies {
  /** Id of the row in `intake_batches`. */
  readonly batchId: number
  readonly bodies: ReadonlyArray<Body>
  readonly isSingle: boolean
}

/** A body that was rejected instead of claimed, because the service ended during each of its attempts. */
export interface Spent {
  readonly spent: number
}

const columns = "i.id::float8 AS id, i.org_slug, i.source, i.received_at, i.headers, i.body, i.attempts"

/**
 * Creates the statements that claim, renew and end batches. `batchBytes` is the maximum size of a small body. Unit:
 * bytes.
 */
export const make = (sql: SqlClient.SqlClient, batchBytes: number) => {
  const body = sql.literal(columns)
  const lease = sql.literal(`now() + interval '${leaseSeconds} seconds'`)
  // A constant, so that the planner recognizes that the index `inbox_pending_large` contains all these bodies.
  const isLarge = sql.literal(`octet_length(i.body) > ${batchBytes}`)
  const isFree = sql`i.id NOT IN (SELECT unnest(b.inbox_ids) FROM intake_batches b)`

  /**
   * Claims the first unclaimed small bodies, up to `batchBytes` together plus at most one more body. Undefined if no
   * body is unclaimed.
   */
  const claimBatch: Effect.Effect<ClaimedBodies | undefined, SqlError> = Effect.map(
    sql<Body & { readonly batchId: number }>`
      WITH taken AS MATERIALIZED (
        SELECT ${body} FROM inbox i WHERE i.status = 'pending' AND i.id IN (
          SELECT s.id FROM (
            SELECT p.id, sum(p.bytes) OVER (ORDER BY p.id) - p.bytes AS before
            FROM (
              SELECT i.id, octet_length(i.body) AS bytes FROM inbox i
              WHERE i.status = 'pending' AND octet_length(i.body) <= ${batchBytes} AND ${isFree}
              ORDER BY i.id LIMIT ${maxBodies}) p
          ) s WHERE s.before < ${batchBytes})
        ORDER BY i.id FOR UPDATE SKIP LOCKED
      ), batch AS (
        INSERT INTO intake_batches (inbox_ids, due_at)
        SELECT array_agg(t.id::bigint), ${lease} FROM taken t HAVING count(*) > 0
        RETURNING id
      )
      SELECT b.id::float8 AS batch_id, t.* FROM taken t CROSS JOIN batch b ORDER BY t.id`,
    (rows) => rows.length === 0 ? undefined : { batchId: rows[0]!.batchId, bodies: rows, isSingle: false },
  )

  /** Stores bodies and claims them in one statement. */
  const claimNew = (entries: ReadonlyArray<ArrivedBody>): Effect.Effect<ClaimedBodies, SqlError> =>
    Effect.map(
      sql<Body & { readonly batchId: number }>`
        WITH i AS (
          ${insertBodies(sql, entries)} RETURNING *
        ), batch AS (
          INSERT INTO intake_batches (inbox_ids, due_at) SELECT array_agg(i.id::bigint), ${lease} FROM i
          RETURNING id
        )
        SELECT b.id::float8 AS batch_id, ${body} FROM i CROSS JOIN batch b ORDER BY i.id`,
      (rows) => ({ batchId: rows[0]!.batchId, bodies: rows, isSingle: false }),
    )

  const reject = (id: number, attempts: number, reason: string) =>
    sql`
      UPDATE inbox i SET status = 'rejected', events = 0, duplicates = 0, ignored = 0, attempts = ${attempts},
        faults = ${JSON.stringify([{ pointer: "", reason }])}::text::json
      WHERE i.id = ${id} AND i.status = 'pending'`

  /** Selects the next body of a batch that failed or whose lease expired, and removes it from that batch. */
  const nextDue = Effect.gen(function* () {
    while (true) {
      const [due] = yield* sql<{ id: number; inboxIds: ReadonlyArray<string | number> }>`
        SELECT b.id::float8 AS id, b.inbox_ids FROM intake_batches b WHERE b.due_at <= now()
        ORDER BY b.due_at, b.id LIMIT 1 FOR UPDATE SKIP LOCKED`
      if (due === undefined) return undefined
      const ids = due.inboxIds.map(Number).sort((a, b) => a - b)
      const [found] = yield* sql<Body>`
        SELECT ${body} FROM inbox i WHERE i.id = ANY(${ids}::bigint[]) AND i.status = 'pending' ORDER BY i.id LIMIT 1`
      const left = found === undefined ? [] : ids.filter((id) => id > found.id)
      yield* left.length === 0
        ? sql`DELETE FROM intake_batches b WHERE b.id = ${due.id}`
        : sql`UPDATE intake_batches b SET inbox_ids = ${left}::bigint[] WHERE b.id = ${due.id}`
      if (found !== undefined) return found
    }
  })

  const nextLarge = Effect.map(
    sql<Body>`
      SELECT ${body} FROM inbox i WHERE i.status = 'pending' AND ${isLarge} AND ${isFree}
      ORDER BY i.id LIMIT 1 FOR UPDATE SKIP LOCKED`,
    ([found]) => found,
  )

  /**
   * Claims one body that is processed alone (a large body, or a body whose batch failed), and counts the attempt.
   * Undefined without such a body. A body without remaining attempts is rejected instead.
   */
  const claimSingle: Effect.Effect<ClaimedBodies | Spent | undefined, SqlError> = sql.withTransaction(
    Effect.gen(function* () {
      const found = (yield* nextDue) ?? (yield* nextLarge)
      if (found === undefined) return undefined
      if (isSpent(found.attempts)) {
        yield* reject(found.id, found.attempts, unfinishedReason)
        return { spent: found.id }
      }
      const attempts = found.attempts + 1
      yield* sql`UPDATE inbox i SET attempts = ${attempts} WHERE i.id = ${found.id}`
      const [batch] = yield* sql<{ id: number }>`
      INSERT INTO intake_batches (inbox_ids, due_at) VALUES (ARRAY[${found.id}]::bigint[], ${lease})
      RETURNING id::float8 AS id`
      return { batchId: batch!.id, bodies: [{ ...found, attempts }], isSingle: true }
    }),
  )

  /** Renews the lease of a batch. */
  const renew = ({ batchId }: ClaimedBodies) =>
    sql`UPDATE intake_batches b SET due_at = ${lease} WHERE b.id = ${batchId}`

  /** Removes completed bodies from a batch. Must be the last statement in the transaction that stores their events. */
  const finish = ({ batchId }: ClaimedBodies, left: ReadonlyArray<number>) =>
    left.length === 0
      ? sql`DELETE FROM intake_batches b WHERE b.id = ${batchId}`
      : sql`UPDATE intake_batches b SET inbox_ids = ${left}::bigint[], due_at = ${lease} WHERE b.id = ${batchId}`

  /** Applies a verdict after a failure. */
  const settle = (
    { batchId, bodies, isSingle }: ClaimedBodies,
    verdict: AttemptVerdict,
  ): Effect.Effect<unknown, SqlError> => {
    const end = sql`DELETE FROM intake_batches b WHERE b.id = ${batchId}`
    switch (verdict.type) {
      case "singly":
        return sql`UPDATE intake_batches b SET due_at = now() WHERE b.id = ${batchId}`
      case "release":
        return isSingle
          ? sql.withTransaction(Effect.andThen(
            sql`
              UPDATE inbox i SET attempts = i.attempts - 1
              WHERE i.id = ${bodies[0]!.id} AND i.status = 'pending' AND i.attempts > 0`,
            sql`UPDATE intake_batches b SET due_at = now() WHERE b.id = ${batchId}`,
          ))
          : end
      case "retry":
        return sql.withTransaction(Effect.andThen(
          sql`UPDATE inbox i SET attempts = ${verdict.attempts} WHERE i.id = ${verdict.id} AND i.status = 'pending'`,
          sql`
            UPDATE intake_batches b SET inbox_ids = ARRAY[${verdict.id}]::bigint[],
              due_at = now() + ${`${verdict.pauseSeconds} seconds`}::interval
            WHERE b.id = ${batchId}`,
        ))
      case "reject":
        return sql.withTransaction(Effect.andThen(reject(verdict.id, verdict.attempts, verdict.reason), end))
    }
  }

  return { claimBatch, claimNew, claimSingle, renew, finish, settle }
}
