import * as Ledger from "../journal/Ledger.ts"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { ContextKey } from "../bandit/Contexts.ts"
import {
  type Measure,
  measures,
  type RepeatCounts,
  repeatedOutcomes,
  repeatName,
  type Tally,
  type TallyCounts,
  type Track,
} from "../bandit/Tally.ts"
import { bucketAt, dayMillis, isExpired } from "../bandit/Window.ts"
import { SeededMap } from "../json/SeededMap.ts"
import { recordset } from "../store/Recordset.ts"
import type { Counted, HourDelays, VariantDelays } from "./Engine.ts"
import type { DelayCounts } from "../journal/Ledger.ts"
import { contextColumns, contextSql } from "./ContextColumns.ts"
import { Sums } from "./Sums.ts"
import { addRepeats, RepeatSum, type RepeatTally, rollUpRepeats } from "./RepeatTallies.ts"

// The tables that the ledger is folded into. Only a template's actor (and a rebuild) writes them.

/** Days for which delays are stored, one more than the days in use. */
const delayDays = 31

/** Number of latest days (UTC, including today) whose decisions are also counted by day. */
export const dailyDays = 14

/** Start of the first of these days. Unit: Unix milliseconds. */
const firstDay = (now: number) => (Math.floor(now / dayMillis) - dailyDays + 1) * dayMillis

const columns = measures.join(", ")

// Cast, because 64-bit numbers arrive as text.
const readColumns = measures.map((measure) => `t.${measure}::float8 AS ${measure}`).join(", ")

/** Measures that can exceed 32 bits. */
const wideMeasures: ReadonlySet<Measure> = new Set(["revenue", "revenue_square"])

/** A value for each measure. */
const perMeasure = <A>(valueOf: (measure: Measure) => A) =>
  Object.fromEntries(measures.map((measure) => [measure, valueOf(measure)])) as Record<Measure, A>

/**
 * Adds a tally to the row with an equal key. A node of the previous release drops the text of a long context when it
 * rolls up, hence COALESCE.
 */
const addedUp = `ON CONFLICT (org_slug, template_id, copy_id, segment, bucket_start, track) DO UPDATE SET
  segment_text = COALESCE(EXCLUDED.segment_text, tallies.segment_text),
  ${measures.map((measure) => `${measure} = tallies.${measure} + EXCLUDED.${measure}`).join(", ")}`

interface TallyRow extends TallyCounts {
  readonly copyId: string
  readonly context: ContextKey
  readonly bucketStart: Date
  readonly track: Track
}

// Names of columns arrive in camel case.
const camel = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
const members = measures.map((measure) => [measure, camel(measure)] as const)

const countsOf = (row: TallyRow): TallyCounts => {
  const counts: { [measure in Measure]?: number } = {}
  for (const [measure, member] of members) {
    const count = (row as unknown as Record<string, number>)[member]!
    if (count !== 0) counts[measure] = count
  }
  return counts
}

/**
 * Whether an operation failed because a rebuild or migration has locked a table, possibly for minutes. Retry later,
 * because a wait in the database would hold a connection.
 */
export const isLocked = (error: unknown): boolean => isSqlError(error) && error.reason._tag === "LockTimeoutError"

/** Reads all tallies of a template, unordered. */
export const readTallies = (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
): Effect.Effect<ReadonlyArray<Tally>, SqlError> =>
  Effect.map(
    sql<TallyRow>`
      SELECT t.copy_id, ${sql.literal(contextSql)} AS context, t.bucket_start, t.track, ${sql.literal(readColumns)}
      FROM tallies t WHERE t.org_slug = ${org} AND t.template_id = ${template}`,
    (rows) =>
      rows.map((row) => ({
        copyId: row.copyId,
        context: row.context,
        start: row.bucketStart.getTime(),
        track: row.track,
        counts: countsOf(row),
      })),
  )

const delaysByHour = (
  rows: ReadonlyArray<
    { readonly hour: Date; readonly outcome: string; readonly delayClass: number; readonly count: number }
  >,
): ReadonlyArray<HourDelays> => {
  const hours = new Map<number, Record<string, number>>()
  for (const { count, delayClass, hour, outcome } of rows) {
    const at = hour.getTime()
    const delays = hours.getOrInsertComputed(at, () => ({}))
    delays[`${outcome}:${delayClass}`] = count
  }
  return Array.from(hours, ([hour, delays]) => ({ hour, delays }))
}

/** Reads the delays of a template's outcomes by the hour of their decisions. */
export const readDelays = (sql: SqlClient.SqlClient, org: string, template: string) =>
  Effect.map(
    sql<{ hour: Date; outcome: string; delayClass: number; count: number }>`
      SELECT d.hour, d.outcome, d.delay_class, d.count FROM delay_tallies d
      WHERE d.org_slug = ${org} AND d.template_id = ${template}`,
    delaysByHour,
  )

/** Reads the delays of a template's outcomes by variant and day of their decisions. */
export const readVariantDelays = (sql: SqlClient.SqlClient, org: string, template: string) =>
  Effect.map(
    sql<{ copyId: string; day: Date; outcome: string; delayClass: number; count: number }>`
      SELECT v.copy_id, v.day, v.outcome, v.delay_class, v.count FROM variant_delay_tallies v
      WHERE v.org_slug = ${org} AND v.template_id = ${template}`,
    (rows) =>
      rows.map(({ copyId, count, day, delayClass, outcome }): VariantDelays => ({
        copyId,
        day: day.getTime(),
        delays: { [`${outcome}:${delayClass}`]: count },
      })),
  )

/** Reads the sums of the delays over all templates of an organization. */
export const readAllDelays = (sql: SqlClient.SqlClient, org: string) =>
  Effect.map(
    sql<{ hour: Date; outcome: string; delayClass: number; count: number }>`
      SELECT d.hour, d.outcome, d.delay_class, sum(d.count)::int AS count FROM delay_tallies d
      WHERE d.org_slug = ${org} GROUP BY d.hour, d.outcome, d.delay_class`,
    delaysByHour,
  )

/** The folded ledger rows of a template. */
export interface Folded extends Counted {
  readonly rows: number
  readonly variantDelays: ReadonlyArray<VariantDelays>
  readonly repeats: ReadonlyArray<RepeatTally>
  /** The distinct traces of the rows, as `traceparent`. */
  readonly traces: ReadonlySet<string>
}

/** Maximum number of ledger rows folded in one transaction. */
const foldedRows = 5000

const addCounts = (
  into: { [name: string]: number },
  counts: { readonly [name: string]: number | undefined },
  times: number,
): void => {
  for (const [name, count] of Object.entries(counts)) into[name] = (into[name] ?? 0) + times * (count ?? 0)
}

/**
 * Returns the number of decisions of each variant on each of the last days, except decisions whose variant could not be
 * rendered.
 */
const dailyOf = (tallies: ReadonlyArray<Tally>, now: number) => {
  const since = firstDay(now)
  const days = new Sums<{ readonly copy_id: string; readonly day: number }, "decisions">(["decisions"])
  for (const { copyId, counts, start, track } of tallies) {
    // The fallback sent in place of a failed rendering is a decision of its own.
    const decisions = (counts.decisions ?? 0) - (track === "learned" ? counts.unrendered ?? 0 : 0)
    if (decisions === 0 || start < since) continue
    days.add({ copy_id: copyId, day: Math.floor(start / dayMillis) * dayMillis }, { decisions })
  }
  return days.rows()
}

const tallyColumns = {
  copy_id: "text",
  segment: "text",
  segment_text: "text",
  bucket_start: "float8",
  track: "text",
  ...perMeasure((measure) => wideMeasures.has(measure) ? "bigint" as const : "int" as const),
} as const

/** Adds tallies, with their buckets, to the table, and their decisions to the daily counts. */
export const addTallies = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  tallies: ReadonlyArray<Tally>,
  now: number,
): Effect.fn.Return<void, SqlError> {
  if (tallies.length === 0) return
  const days = dailyOf(tallies, now)
  // Part of the same statement, so that a fold has no additional round trip.
  const daily = days.length === 0 ? sql.literal("") : sql`
    WITH daily AS (
      INSERT INTO daily_decisions (org_slug, template_id, day, copy_id, decisions)
      SELECT ${org}, ${template}, to_timestamp(r.day / 1000.0), r.copy_id, r.decisions
      FROM ${recordset(days, { copy_id: "text", day: "float8", decisions: "int" })}
      ON CONFLICT (org_slug, template_id, day, copy_id) DO UPDATE SET
        decisions = daily_decisions.decisions + EXCLUDED.decisions
    )`
  const rows = tallies.map(({ context, copyId, counts, start, track }) => ({
    copy_id: copyId,
    ...contextColumns(context),
    bucket_start: start,
    track,
    ...perMeasure((measure) => counts[measure] ?? 0),
  }))
  yield* sql`
    ${daily}
    INSERT INTO tallies (org_slug, template_id, copy_id, segment, segment_text, bucket_start, track,
      ${sql.literal(columns)})
    SELECT ${org}, ${template}, r.copy_id, r.segment, r.segment_text, to_timestamp(r.bucket_start / 1000.0), r.track,
      ${sql.literal(measures.map((measure) => `r.${measure}`).join(", "))}
    FROM ${recordset(rows, tallyColumns)}
    ${sql.literal(addedUp)}`
})

const delayRowsOf = (delays: DelayCounts) =>
  Object.entries(delays).filter(([, count]) => count !== 0).map(([key, count]) => {
    const at = key.indexOf(":")
    return { outcome: key.slice(0, at), delay_class: Number(key.slice(at + 1)), count }
  })

const variantDelayColumns = {
  copy_id: "text",
  outcome: "text",
  day: "float8",
  delay_class: "int",
  count: "int",
} as const

/** Adds delays to their tables, by hour and by variant and day. Leaves out delays that are too old to be used. */
export const addDelays = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  hours: ReadonlyArray<HourDelays>,
  variants: ReadonlyArray<VariantDelays>,
  now: number,
): Effect.fn.Return<void, SqlError> {
  const since = now - delayDays * dayMillis
  const rows = hours.filter(({ hour }) => hour >= since)
    .flatMap(({ delays, hour }) => delayRowsOf(delays).map((row) => ({ ...row, hour })))
  if (rows.length === 0) return
  const variantRows = variants.filter(({ day }) => day >= since)
    .flatMap(({ copyId, day, delays }) => delayRowsOf(delays).map((row) => ({ ...row, copy_id: copyId, day })))
  // One statement, so that a fold has no additional round trip.
  yield* sql`
    WITH by_variant AS (
      INSERT INTO variant_delay_tallies (org_slug, template_id, copy_id, outcome, day, delay_class, count)
      SELECT ${org}, ${template}, r.copy_id, r.outcome, to_timestamp(r.day / 1000.0), r.delay_class, r.count
      FROM ${recordset(variantRows, variantDelayColumns)}
      ON CONFLICT (org_slug, template_id, copy_id, outcome, day, delay_class) DO UPDATE SET
        count = variant_delay_tallies.count + EXCLUDED.count
    )
    INSERT INTO delay_tallies (org_slug, template_id, outcome, hour, delay_class, count)
    SELECT ${org}, ${template}, r.outcome, to_timestamp(r.hour / 1000.0), r.delay_class, r.count
    FROM ${recordset(rows, { outcome: "text", hour: "float8", delay_class: "int", count: "int" })}
    ON CONFLICT (org_slug, template_id, outcome, hour, delay_class) DO UPDATE SET
      count = delay_tallies.count + EXCLUDED.count`
})

/** Names of the counts of repeats. */
const repeatNames = repeatedOutcomes.map((outcome) => ({
  outcome,
  again: repeatName(outcome, "again"),
  seen: repeatName(outcome, "seen"),
}))

/** Sums counts by variant, context, bucket and track, delays by hour, and repeats by variant and bucket. */
export class TallySum {
  readonly #tallies = new SeededMap<string, Tally & { readonly counts: { [name: string]: number } }>()
  readonly #delays = new Map<number, { [name: string]: number }>()
  readonly #variantDelays = new SeededMap<string, VariantDelays & { readonly delays: { [name: string]: number } }>()
  readonly #repeats = new RepeatSum()

  /**
   * Adds counts, multiplied by `times`. `decidedHour` is the start of the hour of the decisions (Unix milliseconds),
   * bucketed as of `now`.
   */
  add(
    at: { readonly copyId: string; readonly context: ContextKey; readonly decidedHour: number; readonly track: Track },
    counts: TallyCounts & RepeatCounts,
    delays: DelayCounts | undefined,
    now: number,
    times = 1,
  ): void {
    const { context, copyId, decidedHour, track } = at
    const { start } = bucketAt(decidedHour, now)
    if (!isExpired(start, now)) {
      const key = `${copyId}\0${context}\0${start}\0${track}`
      const tally = this.#tallies.getOrInsertComputed(key, () => ({ copyId, context, start, track, counts: {} }))
      addCounts(tally.counts, counts, times)
    }
    for (const { again, outcome, seen } of repeatNames) {
      const { [again]: pairs = 0, [seen]: earlier = 0 } = counts
      if (pairs !== 0 || earlier !== 0) {
        this.#repeats.add({ copyId, start: decidedHour, outcome, again: pairs, seen: earlier }, now, times)
      }
    }
    if (delays !== undefined) {
      const hour = this.#delays.getOrInsertComputed(decidedHour, () => ({}))
      addCounts(hour, delays, times)
      const day = Math.floor(decidedHour / dayMillis) * dayMillis
      const key = `${copyId}\0${day}`
      const own = this.#variantDelays.getOrInsertComputed(key, () => ({ copyId, day, delays: {} }))
      addCounts(own.delays, delays, times)
    }
  }

  tallies(): ReadonlyArray<Tally> {
    return [...this.#tallies.values()]
  }

  repeats(): ReadonlyArray<RepeatTally> {
    return this.#repeats.rows()
  }

  delays(): ReadonlyArray<HourDelays> {
    return Array.from(this.#delays, ([hour, delays]) => ({ hour, delays }))
  }

  variantDelays(): ReadonlyArray<VariantDelays> {
    return [...this.#variantDelays.values()]
  }
}

/**
 * Moves up to 5,000 ledger rows of a template to the tallies. Call it inside a transaction, and again while `isFull`.
 * Returns the counts to learn from and the number of rows; with `isTraced`, also the traces of the rows. Fails at once
 * during a rebuild, with an error for which `isLocked` is true.
 */
export const fold = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  now: number,
  isTraced = false,
): Effect.fn.Return<Folded, SqlError> {
  // Locked first, like in a rebuild, to avoid deadlocks.
  yield* sql`LOCK TABLE tallies IN ROW EXCLUSIVE MODE NOWAIT`
  const rows = yield* Ledger.take(sql, org, template, { limit: foldedRows, isTraced })
  const sum = new TallySum()
  const traces = new Set<string>()
  let taken = 0
  for (const { context, copyId, counts, delays, hour, times, traceparent, track } of rows) {
    if (traceparent !== null) traces.add(traceparent)
    taken += times
    sum.add({ copyId, context, decidedHour: hour.getTime(), track }, counts, delays ?? undefined, now, times)
  }
  yield* addTallies(sql, org, template, sum.tallies(), now)
  yield* addDelays(sql, org, template, sum.delays(), sum.variantDelays(), now)
  yield* addRepeats(sql, org, template, sum.repeats())
  return {
    rows: taken,
    traces,
    tallies: sum.tallies().filter(({ track }) => track === "learned"),
    delays: sum.delays(),
    variantDelays: sum.variantDelays(),
    repeats: sum.repeats(),
  }
})
/** Whether a fold reached its limit, so that there may be more rows. */
export const isFull = ({ rows }: Folded): boolean => rows === foldedRows

/** Counts a template's decisions by day again, because a node of the previous release folds without counting them. */
const recountDays = (sql: SqlClient.SqlClient, org: string, template: string, now: number) =>
  Effect.andThen(
    sql`
      DELETE FROM daily_decisions d WHERE d.org_slug = ${org} AND d.template_id = ${template}
        AND d.day < ${new Date(firstDay(now))}`,
    sql`
      INSERT INTO daily_decisions AS d (org_slug, template_id, day, copy_id, decisions)
      SELECT d.org_slug, d.template_id, d.day, d.copy_id, sum(d.sent) FROM (
        SELECT t.org_slug, t.template_id, date_bin('1 day', t.bucket_start, 'epoch') AS day, t.copy_id,
          t.decisions - CASE WHEN t.track = 'learned' THEN t.unrendered ELSE 0 END AS sent
        FROM tallies t
        WHERE t.org_slug = ${org} AND t.template_id = ${template} AND t.bucket_start >= ${new Date(firstDay(now))}) d
      GROUP BY 1, 2, 3, 4 HAVING sum(d.sent) > 0
      ON CONFLICT (org_slug, template_id, day, copy_id) DO UPDATE SET decisions = EXCLUDED.decisions
      WHERE d.decisions <> EXCLUDED.decisions`,
  )

/** Moves a template's tallies to their buckets at `now`, and deletes expired ones. Call it inside a transaction. */
export const rollUp = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  now: number,
): Effect.fn.Return<void, SqlError> {
  yield* rollUpRepeats(sql, org, template, now)
  const starts = yield* sql<{ start: Date }>`
    SELECT DISTINCT t.bucket_start AS start FROM tallies t WHERE t.org_slug = ${org} AND t.template_id = ${template}`
  const moves: Array<{ readonly start: number; readonly target: number | null }> = []
  for (const { start: startsAt } of starts) {
    const start = startsAt.getTime()
    const target = bucketAt(start, now).start
    if (isExpired(target, now)) moves.push({ start, target: null })
    else if (target !== start) moves.push({ start, target })
  }
  if (moves.length > 0) {
    yield* sql`
      WITH moved AS (
        DELETE FROM tallies t
        USING ${recordset(moves, { start: "float8", target: "float8" })}
        WHERE t.org_slug = ${org} AND t.template_id = ${template}
          AND t.bucket_start = to_timestamp(r.start / 1000.0)
        RETURNING t.*, to_timestamp(r.target / 1000.0) AS target
      )
      INSERT INTO tallies (org_slug, template_id, copy_id, segment, bucket_start, track, segment_text,
        ${sql.literal(columns)})
      SELECT m.org_slug, m.template_id, m.copy_id, m.segment, m.target, m.track, max(m.segment_text),
        ${sql.literal(measures.map((measure) => `sum(m.${measure})`).join(", "))}
      FROM moved m WHERE m.target IS NOT NULL
      GROUP BY 1, 2, 3, 4, 5, 6
      ${sql.literal(addedUp)}`
    // Once a day, when the hours of a day are merged.
    yield* recountDays(sql, org, template, now)
  }
  yield* sql`
    WITH by_variant AS (
      DELETE FROM variant_delay_tallies v WHERE v.org_slug = ${org} AND v.template_id = ${template}
        AND v.day < ${new Date(now - delayDays * dayMillis)}
    )
    DELETE FROM delay_tallies d WHERE d.org_slug = ${org} AND d.template_id = ${template}
      AND d.hour < ${new Date(now - delayDays * dayMillis)}`
})
