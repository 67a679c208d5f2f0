import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { type RepeatedOutcome, repeatedOutcomes } from "../bandit/Tally.ts"
import { bucketAt, isExpired } from "../bandit/Window.ts"
import { recordset } from "../store/Recordset.ts"
import { Sums } from "./Sums.ts"

// Repeated outcomes of one person by variant and bucket, see `independence`. Only a template's actor (and a rebuild)
// writes them. A template without repeated people has no rows.

/** Repeats of one kind of outcome for the decisions of one variant in one bucket. */
export interface RepeatTally {
  readonly copyId: string
  /** Start of the bucket. Unit: Unix milliseconds. */
  readonly start: number
  readonly outcome: RepeatedOutcome
  readonly again: number
  readonly seen: number
}

/** Sums repeats by variant, bucket and outcome. */
export class RepeatSum {
  readonly #sums = new Sums<Omit<RepeatTally, "again" | "seen">, "again" | "seen">(["again", "seen"])

  /** Adds repeats, multiplied by `times`, to the bucket that contains `start` as of `now`. */
  add(tally: RepeatTally, now: number, times = 1): void {
    const { start } = bucketAt(tally.start, now)
    if (isExpired(start, now)) return
    const { again, copyId, outcome, seen } = tally
    this.#sums.add({ copyId, start, outcome }, { again: times * again, seen: times * seen })
  }

  rows(): ReadonlyArray<RepeatTally> {
    return this.#sums.rows().filter(({ again, seen }) => again !== 0 || seen !== 0)
  }
}

/** Adds repeats, with their buckets, to the table. */
export const addRepeats = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  tallies: ReadonlyArray<RepeatTally>,
): Effect.fn.Return<void, SqlError> {
  if (tallies.length === 0) return
  const rows = tallies.map(({ again, copyId, outcome, seen, start }) => ({
    copy_id: copyId,
    bucket_start: start,
    outcome,
    again,
    seen,
  }))
  yield* sql`
    INSERT INTO repeat_tallies AS t (org_slug, template_id, copy_id, bucket_start, outcome, again, seen)
    SELECT ${org}, ${template}, r.copy_id, to_timestamp(r.bucket_start / 1000.0), r.outcome, r.again, r.seen
    FROM ${
    recordset(rows, { copy_id: "text", bucket_start: "float8", outcome: "text", again: "bigint", seen: "bigint" })
  }
    ON CONFLICT (org_slug, template_id, copy_id, bucket_start, outcome) DO UPDATE SET
      again = t.again + EXCLUDED.again, seen = t.seen + EXCLUDED.seen`
})

/** Reads the repeats of a template. */
export const readRepeats = (sql: SqlClient.SqlClient, org: string, template: string) =>
  Effect.map(
    sql<Omit<RepeatTally, "start"> & { readonly bucketStart: Date }>`
      SELECT t.copy_id, t.bucket_start, t.outcome, t.again::float8 AS again, t.seen::float8 AS seen
      FROM repeat_tallies t
      WHERE t.org_slug = ${org} AND t.template_id = ${template}
      ORDER BY t.copy_id, t.bucket_start, t.outcome`,
    (rows) =>
      rows.filter(({ outcome }) => repeatedOutcomes.includes(outcome)).map(({ bucketStart, ...row }): RepeatTally => ({
        ...row,
        start: bucketStart.getTime(),
      })),
  )

/** Replaces the repeats of a template. */
export const replaceRepeats = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  tallies: ReadonlyArray<RepeatTally>,
): Effect.fn.Return<void, SqlError> {
  yield* sql`DELETE FROM repeat_tallies t WHERE t.org_slug = ${org} AND t.template_id = ${template}`
  yield* addRepeats(sql, org, template, tallies)
})

/**
 * Moves the repeats of a template to their buckets at `now`, and deletes expired ones. Call it inside a transaction.
 */
export const rollUpRepeats = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  now: number,
): Effect.fn.Return<void, SqlError> {
  const rows = yield* readRepeats(sql, org, template)
  if (rows.every(({ start }) => !isExpired(start, now) && bucketAt(start, now).start === start)) return
  const sum = new RepeatSum()
  for (const row of rows) sum.add(row, now)
  yield* replaceRepeats(sql, org, template, sum.rows())
})
