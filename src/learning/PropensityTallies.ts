import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { dayMillis } from "../bandit/Window.ts"
import { type ValuedOutcome, valuedOutcomes } from "../domain/ObjectiveWeights.ts"
import type { StoredEvent } from "../journal/events/DecisionEvents.ts"
import { type FullRow, recordset } from "../store/Recordset.ts"
import { sha256 } from "../text/Sha256.ts"
import { dayOf, type Days, outcomesIn, settledCounts } from "./SettledDecisions.ts"
import { Sums } from "./Sums.ts"

// Decisions weighted by the inverse of their propensity, with their outcomes, from which two variants are compared
// without a model. `Settling` counts each decision once, when it is four days old.

/** Maximum number of candidates of a counted decision: none of more variants gets enough decisions for a comparison. */
const mostCandidates = 50

/**
 * Maximum weight of a decision in a random split of its candidates. A decision is left out if any of its candidates,
 * chosen or not, had such a small probability that its weight would be larger: such choices are too rare to estimate that
 * variant.
 */
const largestWeight = 1000

/** Age in days at which tallies are deleted. Results cover 180 days, and a rebuild 190. */
const keptDays = 200

/** Weights are summed in whole thousandths, so that sums do not depend on the order of the decisions. */
const scale = 1000

const measures = ["offered", "decisions", ...valuedOutcomes] as const
type Measure = typeof measures[number]

const keyColumns = { template_id: "text", day: "float8", candidates: "text", copy_id: "text", measure: "text" } as const
const columns = { ...keyColumns, count: "bigint", weight: "bigint", square: "bigint" } as const

/** One row of the tallies. `day` in Unix milliseconds, `weight` and `square` in thousandths. */
type PropensityTally = FullRow<typeof keyColumns> & WeightedCount

/** The recorded fields of a decision from which its weight is computed. */
interface WeightedDecision {
  readonly templateId: string
  readonly copyId: string
  readonly propensity: number | null
  /** Probabilities of all candidates. */
  readonly weights: Readonly<Record<string, number>> | null
  readonly decidedAt: Date
}

/**
 * Returns the probability of each of at least two candidates. Undefined if none was drawn, or one had too small a
 * probability.
 */
const candidatesOf = (
  { copyId, propensity, weights }: Pick<WeightedDecision, "copyId" | "propensity" | "weights">,
): Readonly<Record<string, number>> | undefined => {
  if (propensity === null || weights === null || !(weights[copyId]! > 0)) return undefined
  const all = Object.values(weights)
  const isKnown = all.length > 1 && all.length <= mostCandidates && Math.min(...all) * all.length * largestWeight >= 1
  return isKnown ? weights : undefined
}

/** Sums tallies of many decisions. */
export class PropensitySum {
  readonly #sums = new Sums<FullRow<typeof keyColumns>, keyof WeightedCount>(["count", "weight", "square"])
  readonly #digests = new Map<string, string>()

  /** Adds a decision with its events, earliest first. */
  add(decision: WeightedDecision, events: ReadonlyArray<StoredEvent>): void {
    const { copyId, decidedAt, templateId } = decision
    const weights = candidatesOf(decision)
    if (weights === undefined) return
    const ids = Object.keys(weights).sort()
    const at = { template_id: templateId, day: dayOf(decidedAt), candidates: this.#digestOf(ids.join("\0")) }
    const weightOf = (id: string) => Math.round(1 / weights[id]! * scale)
    // The squares of offers are not read.
    for (const id of ids) this.#sums.add({ ...at, copy_id: id, measure: "offered" }, { count: 1, weight: weightOf(id) })
    const square = Math.round((1 / weights[copyId]!) ** 2 * scale)
    for (const measure of ["decisions", ...outcomesIn(settledCounts(decidedAt, events))]) {
      this.#sums.add({ ...at, copy_id: copyId, measure }, { count: 1, weight: weightOf(copyId), square })
    }
  }

  rows(): ReadonlyArray<PropensityTally> {
    return this.#sums.rows()
  }

  #digestOf(ids: string): string {
    return this.#digests.getOrInsertComputed(ids, () => sha256(ids).slice(0, 22))
  }
}

/** Adds tallies to the stored ones. */
const addRows = (sql: SqlClient.SqlClient, org: string, rows: ReadonlyArray<PropensityTally>) =>
  sql`
    INSERT INTO propensity_tallies AS t
      (org_slug, template_id, day, candidates, copy_id, measure, count, weight, square)
    SELECT ${org}, r.template_id, to_timestamp(r.day / 1000.0), r.candidates, r.copy_id, r.measure, r.count, r.weight,
      r.square
    FROM ${recordset(rows, columns)}
    ON CONFLICT (org_slug, template_id, day, candidates, copy_id, measure) DO UPDATE SET
      count = t.count + EXCLUDED.count, weight = t.weight + EXCLUDED.weight, square = t.square + EXCLUDED.square`

/** Counts decisions with their events. Call it inside the transaction that settles them. */
export const countPropensities = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  decisions: ReadonlyArray<WeightedDecision>,
  events: ReadonlyArray<ReadonlyArray<StoredEvent>>,
  nowMillis: number,
): Effect.fn.Return<void, SqlError> {
  const sum = new PropensitySum()
  decisions.forEach((decision, place) => sum.add(decision, events[place]!))
  const rows = sum.rows()
  if (rows.length === 0) return
  yield* addRows(sql, org, rows)
  const templates = [...new Set(rows.map(({ template_id }) => template_id))]
  yield* sql`
    DELETE FROM propensity_tallies t
    WHERE t.org_slug = ${org} AND t.template_id = ANY(${templates}::text[])
      AND t.day < ${new Date(nowMillis - keptDays * dayMillis)}`
})

/**
 * Compares a template's tallies of settled days with recomputed ones, and replaces them unless `check`. Returns the
 * number of tallies that differ.
 */
export const rebuildPropensities = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  truth: ReadonlyArray<PropensityTally>,
  { check, days }: { readonly days: Days; readonly check: boolean },
): Effect.fn.Return<number, SqlError> {
  const settled = sql`t.org_slug = ${org} AND t.template_id = ${template}
    AND t.day >= ${new Date(days.from)} AND t.day < ${new Date(days.to)}`
  const stored = yield* sql<Omit<PropensityTally, "copy_id" | "day"> & { readonly copyId: string; readonly day: Date }>`
    SELECT t.day, t.candidates, t.copy_id, t.measure, t.count::float8 AS count, t.weight::float8 AS weight,
      t.square::float8 AS square
    FROM propensity_tallies t WHERE ${settled}`
  const sumsOf = (rows: ReadonlyArray<Omit<PropensityTally, "template_id">>) =>
    new Map(
      rows.map(({ candidates, copy_id, count, day, measure, square, weight }) =>
        [`${day} ${candidates} ${copy_id} ${measure}`, `${count} ${weight} ${square}`] as const
      ),
    )
  const was = sumsOf(stored.map(({ copyId, day, ...row }) => ({ ...row, copy_id: copyId, day: day.getTime() })))
  const is = sumsOf(truth)
  if (!check) {
    yield* sql`DELETE FROM propensity_tallies t WHERE ${settled}`
    if (truth.length > 0) yield* addRows(sql, org, truth)
  }
  return [...new Set([...was.keys(), ...is.keys()])].filter((key) => was.get(key) !== is.get(key)).length
})

/** Number of some decisions, and the sums of their inverse propensities and of the squares of these. */
export interface WeightedCount {
  readonly count: number
  readonly weight: number
  readonly square: number
}

/** Counts of one variant on one day, in decisions with one set of candidates. Weights are inverse propensities. */
export interface PropensityCount {
  /** Start of the day (UTC). Unit: Unix milliseconds. */
  readonly day: number
  /** Names the set of candidates. */
  readonly candidates: string
  readonly copyId: string
  readonly sums: { readonly [measure in "offered" | "decisions" | ValuedOutcome]?: WeightedCount }
}

/** A `PropensityCount` in the order of its members. Each sum is a list of its count, weight and square. */
export type CountRow = readonly [
  day: number,
  candidates: string,
  copyId: string,
  sums: { readonly [measure in Measure]?: readonly [count: number, weight: number, square: number] },
]

/** Decodes a row that `readPropensities` returns. */
export const propensityCountOf = ([day, candidates, copyId, sums]: CountRow): PropensityCount => ({
  day,
  candidates,
  copyId,
  sums: Object.fromEntries(
    Object.entries(sums).map(([measure, [count, weight, square]]) => [
      measure,
      { count, weight: weight / scale, square: square / scale },
    ]),
  ),
})

/** Reads the counts of two variants since `from` as the JSON text of a list of rows. */
export const readPropensities = (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  variants: readonly [string, string],
  from: Date,
): Effect.Effect<string, SqlError> =>
  Effect.map(
    sql<{ readonly rows: string }>`
      SELECT coalesce(json_agg(json_build_array(g.day, g.candidates, g.copy_id, g.sums)), '[]')::text AS rows
      FROM (
        SELECT extract(epoch FROM t.day)::float8 * 1000 AS day, t.candidates, t.copy_id,
          json_object_agg(t.measure, json_build_array(t.count, t.weight, t.square)) AS sums
        FROM propensity_tallies t
        WHERE t.org_slug = ${org} AND t.template_id = ${template} AND t.copy_id = ANY(${variants}::text[])
          AND t.day >= ${from}
        GROUP BY 1, 2, 3
      ) g`,
    ([row]) => row!.rows,
  )
