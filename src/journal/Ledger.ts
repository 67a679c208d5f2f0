import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { ContextKey } from "../bandit/Contexts.ts"
import type { Measure, RepeatCounts, TallyCounts, Track } from "../bandit/Tally.ts"
import { SeededMap } from "../json/SeededMap.ts"
import { recordset } from "../store/Recordset.ts"
import { carried } from "../telemetry/Tracing.ts"

// The append-only table through which all counts reach the tallies. Rows are written in the transaction that causes
// them, and only the template's actor folds them. So no count is lost, counted twice, or contended.

/** Outcomes whose delays are learned. */
export const timedOutcomes = ["open", "click", "conversion"] as const
/** An outcome whose delay is counted. */
export type TimedOutcome = (typeof timedOutcomes)[number]

/** Numbers of first outcomes by `outcome:class`, such as `click:7` (see `delayClass`). */
export type DelayCounts = { readonly [outcomeAndClass: string]: number }

/** A change of the counts of one variant in one context, for the decisions of one hour. */
export interface LedgerEntry {
  readonly org: string
  readonly templateId: string
  readonly copyId: string
  readonly context: ContextKey
  /** Start of the hour of the decision. Unit: Unix milliseconds. */
  readonly hour: number
  readonly track: Track
  readonly counts: TallyCounts & RepeatCounts
  readonly delays: DelayCounts | undefined
}

const add = (into: Record<string, number>, counts: { readonly [name: string]: number | undefined }) => {
  for (const name in counts) {
    const count = counts[name]
    if (count !== undefined) into[name] = (into[name] ?? 0) + count
  }
}

interface Sum extends LedgerEntry {
  readonly counts: Record<string, number>
  readonly delays: Record<string, number>
}

/** Adds up entries, so that a group of changes becomes a few rows. */
export class LedgerSum {
  readonly #sums = new SeededMap<string, Sum>()

  add(entry: LedgerEntry): void {
    const { context, copyId, hour, org, templateId, track } = entry
    const key = `${org}\0${templateId}\0${copyId}\0${context}\0${hour}\0${track}`
    let sum = this.#sums.get(key)
    if (sum === undefined) this.#sums.set(key, sum = { ...entry, counts: {}, delays: {} })
    add(sum.counts, entry.counts)
    if (entry.delays !== undefined) add(sum.delays, entry.delays)
  }

  entries(): ReadonlyArray<LedgerEntry> {
    return [...this.#sums.values()]
  }
}

const withoutZeros = (counts: { readonly [name: string]: number }): string | null => {
  const left: Record<string, number> = {}
  let isEmpty = true
  for (const name in counts) {
    if (counts[name] === 0) continue
    left[name] = counts[name]!
    isEmpty = false
  }
  return isEmpty ? null : JSON.stringify(left)
}

const ledgerColumns = {
  org_slug: "text",
  template_id: "text",
  copy_id: "text",
  segment: "text",
  hour: "float8",
  track: "text",
  counts: "text",
  delays: "text",
} as const

/** Appends the counts in `sum`, with the current trace. Call this in the transaction that causes the counts. */
export const append = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  sum: LedgerSum,
): Effect.fn.Return<void, SqlError> {
  const rows = sum.entries().flatMap((entry) => {
    const counts = withoutZeros(entry.counts as Record<string, number>)
    const delays = withoutZeros(entry.delays ?? {})
    return counts === null && delays === null ? [] : [{
      org_slug: entry.org,
      template_id: entry.templateId,
      copy_id: entry.copyId,
      segment: entry.context,
      hour: entry.hour,
      track: entry.track,
      counts: counts ?? "{}",
      delays,
    }]
  })
  if (rows.length === 0) return
  const traceparent = yield* carried
  const isTraced = traceparent !== undefined
  yield* sql`
    INSERT INTO tally_ledger (org_slug, template_id, copy_id, segment, hour, track, counts, delays
      ${sql.literal(isTraced ? ", traceparent" : "")})
    SELECT r.org_slug, r.template_id, r.copy_id, r.segment, to_timestamp(r.hour / 1000.0), r.track, r.counts::json,
      r.delays::json${isTraced ? sql`, ${traceparent}::text` : sql.literal("")}
    FROM ${recordset(rows, ledgerColumns)}`
})

/** A row of the ledger. */
interface LedgerRow {
  readonly copyId: string
  readonly context: ContextKey
  readonly hour: Date
  readonly track: Track
  readonly counts: TallyCounts & RepeatCounts
  readonly delays: DelayCounts | null
}

/** A row of the ledger that occurs `times` times. */
interface LedgerRows extends LedgerRow {
  /** Number of equal rows. */
  readonly times: number
  /** Null if tracing is off. */
  readonly traceparent: string | null
}

/**
 * Reads the ledger of a template. Every function of this file fails with `SqlError` if the database does not respond.
 */
export const read = (sql: SqlClient.SqlClient, org: string, template: string) =>
  Effect.map(
    sql<LedgerRow>`
      SELECT l.copy_id, l.segment AS context, l.hour, l.track, l.counts, l.delays FROM tally_ledger l
      WHERE l.org_slug = ${org} AND l.template_id = ${template}`,
    (rows) => rows.map((row) => ({ ...row, hour: row.hour.getTime() })),
  )

/**
 * SQL for the counts of some measures in a template's ledger: rows of `copy_id`, `context`, `start`, `track` and the
 * measures, as float8.
 */
export const countsIn = (sql: SqlClient.SqlClient, org: string, template: string, of: ReadonlyArray<Measure>) =>
  sql`
    SELECT l.copy_id, l.segment AS context, l.hour AS start, l.track,
      ${sql.literal(of.map((measure) => `coalesce((l.counts->>'${measure}')::float8, 0) AS ${measure}`).join(", "))}
    FROM tally_ledger l WHERE l.org_slug = ${org} AND l.template_id = ${template}`

/**
 * Deletes up to `limit` of the oldest rows of a template's ledger and returns them. Equal rows are returned once, with
 * their number. A busy template writes thousands of rows per second, and reading them individually blocked the event
 * loop for 15 to 25 ms. The plan is made for each call, because a plan for a ledger without pages scans the whole ledger.
 */
export const take = (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  { isTraced, limit }: { readonly limit: number; readonly isTraced: boolean },
) =>
  sql<LedgerRows>`
    WITH taken AS (
      DELETE FROM tally_ledger l WHERE l.org_slug = ${org} AND l.template_id = ${template} AND l.id = ANY(ARRAY(
        SELECT f.id FROM tally_ledger f WHERE f.org_slug = ${org} AND f.template_id = ${template}
        ORDER BY f.id LIMIT ${limit}))
      RETURNING l.copy_id, l.segment, l.hour, l.track, l.counts::text, l.delays::text,
        ${sql.literal(isTraced ? "l.traceparent" : "NULL::text AS traceparent")}
    )
    SELECT t.copy_id, t.segment AS context, t.hour, t.track, t.counts::json, t.delays::json, t.traceparent,
      count(*)::int AS times
    FROM taken t GROUP BY t.copy_id, t.segment, t.hour, t.track, t.counts, t.delays, t.traceparent`.unprepared

/** Deletes all rows of a template's ledger. */
export const discard = (sql: SqlClient.SqlClient, org: string, template: string) =>
  sql`DELETE FROM tally_ledger l WHERE l.org_slug = ${org} AND l.template_id = ${template}`

/** Appends a row without counts, which wakes the template's actor. */
export const appendNothing = (sql: SqlClient.SqlClient, org: string, template: string) =>
  sql`
    INSERT INTO tally_ledger (org_slug, template_id, copy_id, segment, hour, track, counts)
    VALUES (${org}, ${template}, '', '', ${new Date(0)}, 'learned', '{}')`

/** SQL condition: the ledger of a template has rows. */
export const hasRows = (sql: SqlClient.SqlClient, org: string, template: string) =>
  sql`EXISTS (SELECT 1 FROM tally_ledger l WHERE l.org_slug = ${org} AND l.template_id = ${template})`

/**
 * SQL for the common table expression `t (org_slug, template_id)`: the templates with rows in the ledger. Use it after
 * `WITH RECURSIVE`. It jumps from template to template in the index, so its cost does not depend on the length of the
 * ledger.
 */
export const pendingTemplates = (sql: SqlClient.SqlClient) =>
  sql`
    t AS (
      (SELECT l.org_slug, l.template_id FROM tally_ledger l ORDER BY l.org_slug, l.template_id LIMIT 1)
      UNION ALL
      SELECT n.org_slug, n.template_id FROM t CROSS JOIN LATERAL (
        SELECT l.org_slug, l.template_id FROM tally_ledger l
        WHERE (l.org_slug, l.template_id) > (t.org_slug, t.template_id)
        ORDER BY l.org_slug, l.template_id LIMIT 1) n
    )`
