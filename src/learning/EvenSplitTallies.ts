import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { dayMillis, hourMillis } from "../bandit/Window.ts"
import { peopleGroups, placeOf } from "../bandit/Holdout.ts"
import { noMessage } from "../journal/decisions/Decision.ts"
import { type ValuedOutcome, valuedOutcomes } from "../domain/ObjectiveWeights.ts"
import { recordset } from "../store/Recordset.ts"
import type { StoredEvent } from "../journal/events/DecisionEvents.ts"
import { outcomesOf } from "../journal/events/Outcomes.ts"

// Decisions weighted to a random split of their variants, with their outcomes. `Settling` counts each decision once,
// when it is four days old.

/** Age of a decision up to which its outcomes count, and at which it is counted. Unit: hours. */
const outcomeHours = 96

/**
 * Maximum weight of a decision. A decision is left out if any of its variants, chosen or not, had such a small
 * probability that its weight would be larger: such choices are too rare to estimate that variant.
 */
const largestWeight = 1000

/** Age in days at which tallies are deleted. Results cover 180 days, and a rebuild 190. */
export const keptDays = 200

/** Weights are summed in whole millionths, so that sums do not depend on the order of the decisions. */
const scale = 1_000_000

/** The recorded fields of a decision from which its weight is computed. */
export interface WeightedDecision {
  readonly trackingId: string
  readonly templateId: string
  readonly copyId: string
  readonly userId: string | null
  readonly propensity: number | null
  /** Probabilities of all candidates. */
  readonly weights: Readonly<Record<string, number>> | null
  readonly decidedAt: Date
}

const measures = ["decisions", "left_out", ...valuedOutcomes] as const
type Measure = typeof measures[number]

/** One row of the tallies. `day` in Unix milliseconds, `weight` and `square` in millionths. */
interface EvenSplitTally {
  readonly template_id: string
  readonly day: number
  readonly people: number
  readonly measure: Measure
  readonly count: number
  readonly weight: number
  readonly square: number
}

type Drawn = Pick<WeightedDecision, "copyId" | "propensity" | "weights">

/**
 * Returns the weight of a decision in a random split of its candidates, `left_out` if a candidate had too small a
 * probability, or undefined if no candidate was drawn.
 */
export const weightOf = ({ copyId, propensity, weights }: Drawn): number | "left_out" | undefined => {
  if (propensity === null || weights === null || !(weights[copyId]! > 0)) return undefined
  const all = Object.values(weights)
  const smallest = all.reduce((least, weight) => Math.min(least, weight), 1)
  return smallest * all.length * largestWeight < 1 ? "left_out" : 1 / (all.length * weights[copyId]!)
}

/** Returns the weight of a message in a random split of the variants, as `weightOf`. Undefined without a message. */
const messageWeightOf = ({ copyId, propensity, weights }: Drawn): number | "left_out" | undefined => {
  if (copyId === noMessage) return undefined
  if (weights?.[noMessage] === undefined) return weightOf({ copyId, propensity, weights })
  // Given that a message is sent, whose probability depends on the context alone.
  const { [noMessage]: unsent = 0, ...messages } = weights
  const sent = Object.entries(messages).map(([id, weight]) => [id, weight / (1 - unsent)] as const)
  return weightOf({ copyId, propensity, weights: Object.fromEntries(sent) })
}

/** Returns the outcomes of a decision that have occurred within four days. */
export const settledOutcomes = (
  decidedAt: Date,
  events: ReadonlyArray<StoredEvent>,
): ReadonlyArray<ValuedOutcome> => {
  const until = decidedAt.getTime() + outcomeHours * hourMillis
  const { learned } = outcomesOf(decidedAt.getTime(), events.filter(({ occurredAt }) => occurredAt <= until))
  return valuedOutcomes.filter((outcome) => (learned[outcome] ?? 0) > 0)
}

/** Sums tallies of many decisions. */
export class EvenSplitSum {
  readonly #org: string
  readonly #tallies = new Map<string, { -readonly [name in keyof EvenSplitTally]: EvenSplitTally[name] }>()

  constructor(org: string) {
    this.#org = org
  }

  /** Adds a decision with its events, earliest first. */
  add(decision: WeightedDecision, events: ReadonlyArray<StoredEvent>): void {
    const weight = messageWeightOf(decision)
    if (weight === undefined) return
    const { decidedAt, templateId, trackingId, userId } = decision
    const { people } = placeOf({ org: this.#org, userId: userId ?? undefined, trackingId })
    const at = { template_id: templateId, day: Math.floor(decidedAt.getTime() / dayMillis) * dayMillis, people }
    if (weight === "left_out") return this.#count(at, "left_out", 0)
    this.#count(at, "decisions", weight)
    for (const outcome of settledOutcomes(decidedAt, events)) this.#count(at, outcome, weight)
  }

  rows(): ReadonlyArray<EvenSplitTally> {
    return [...this.#tallies.values()]
  }

  #count(at: Pick<EvenSplitTally, "template_id" | "day" | "people">, measure: Measure, weight: number): void {
    const key = `${at.template_id}\0${at.day}\0${at.people}\0${measure}`
    let tally = this.#tallies.get(key)
    if (tally === undefined) this.#tallies.set(key, tally = { ...at, measure, count: 0, weight: 0, square: 0 })
    tally.count++
    tally.weight += Math.round(weight * scale)
    tally.square += Math.round(weight ** 2 * scale)
  }
}

const tallyColumns = {
  template_id: "text",
  day: "float8",
  people: "smallint",
  measure: "text",
  count: "bigint",
  weight: "bigint",
  square: "bigint",
} as const

/** Adds tallies to the stored ones. */
const addRows = (sql: SqlClient.SqlClient, org: string, rows: ReadonlyArray<EvenSplitTally>) =>
  sql`
    INSERT INTO even_split_tallies AS t (org_slug, template_id, day, people, measure, count, weight, square)
    SELECT ${org}, r.template_id, to_timestamp(r.day / 1000.0), r.people, r.measure, r.count, r.weight, r.square
    FROM ${recordset(rows, tallyColumns)}
    ON CONFLICT (org_slug, template_id, day, people, measure) DO UPDATE SET count = t.count + EXCLUDED.count,
      weight = t.weight + EXCLUDED.weight, square = t.square + EXCLUDED.square`

/** Counts decisions with their events. Call it inside the transaction that settles them. */
export const countEvenSplits = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  decisions: ReadonlyArray<WeightedDecision>,
  events: ReadonlyArray<ReadonlyArray<StoredEvent>>,
  nowMillis: number,
): Effect.fn.Return<void, SqlError> {
  const sum = new EvenSplitSum(org)
  decisions.forEach((decision, place) => sum.add(decision, events[place]!))
  const rows = sum.rows()
  if (rows.length === 0) return
  yield* addRows(sql, org, rows)
  const templates = [...new Set(rows.map(({ template_id }) => template_id))]
  yield* sql`
    DELETE FROM even_split_tallies t
    WHERE t.org_slug = ${org} AND t.template_id = ANY(${templates}::text[])
      AND t.day < ${new Date(nowMillis - keptDays * dayMillis)}`
})

/** Whole days from `from` (inclusive) to `to` (exclusive). Unit: Unix milliseconds. */
export interface Days {
  readonly from: number
  readonly to: number
}

/**
 * Compares a template's tallies of settled days with recomputed ones, and replaces them unless `check`. Returns the
 * number of pairs of day and measure whose tallies differ. Groups of people are summed, because an erasure moves
 * decisions to other groups.
 */
export const rebuildEvenSplits = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  truth: ReadonlyArray<EvenSplitTally>,
  { days, check }: { readonly days: Days; readonly check: boolean },
): Effect.fn.Return<number, SqlError> {
  const stored = yield* sql<Omit<EvenSplitTally, "day"> & { readonly day: Date }>`
    SELECT t.template_id, t.day, t.people, t.measure, t.count::float8 AS count, t.weight::float8 AS weight,
      t.square::float8 AS square
    FROM even_split_tallies t
    WHERE t.org_slug = ${org} AND t.template_id = ${template}
      AND t.day >= ${new Date(days.from)} AND t.day < ${new Date(days.to)}`
  const totals = (rows: ReadonlyArray<EvenSplitTally>) => Map.groupBy(rows, ({ day, measure }) => `${day} ${measure}`)
  const textOf = (rows: ReadonlyArray<EvenSplitTally> = []) =>
    (["count", "weight", "square"] as const).map((name) => rows.reduce((sum, row) => sum + row[name], 0)).join()
  const was = totals(stored.map((row) => ({ ...row, day: row.day.getTime() })))
  const is = totals(truth)
  const differences = [...new Set([...was.keys(), ...is.keys()])].filter((key) =>
    textOf(was.get(key)) !== textOf(is.get(key))
  ).length
  if (!check) {
    yield* sql`
      DELETE FROM even_split_tallies t
      WHERE t.org_slug = ${org} AND t.template_id = ${template}
        AND t.day >= ${new Date(days.from)} AND t.day < ${new Date(days.to)}`
    if (truth.length > 0) yield* addRows(sql, org, truth)
  }
  return differences
})

/**
 * Decisions of one group of people, or only its decisions with an outcome: their number, and the sums of weights and
 * squared weights.
 */
export interface WeightedCount {
  readonly count: number
  readonly weight: number
  readonly square: number
}

/** Weighted counts of the decisions of an interval of days. */
export interface EvenSplitCounts {
  /** First and last day (UTC) with decisions. */
  readonly first: Date
  readonly last: Date
  /** Number of decisions in all groups that were left out because a variant had too small a probability. */
  readonly leftOut: number
  /** Counts by group of people. There are 32 groups. */
  readonly groups: ReadonlyArray<{ readonly [measure in "decisions" | ValuedOutcome]: WeightedCount }>
}

const none: WeightedCount = { count: 0, weight: 0, square: 0 }

/**
 * Reads the counts of a template's decisions made in [from, to), by whole days (UTC). Returns undefined without
 * decisions.
 */
export const readEvenSplits = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  from: Date,
  to: Date,
): Effect.fn.Return<EvenSplitCounts | undefined, SqlError> {
  const rows = yield* sql<
    WeightedCount & { readonly people: number; readonly measure: Measure; readonly first: Date; readonly last: Date }
  >`
    SELECT t.people, t.measure, min(t.day) AS first, max(t.day) AS last, sum(t.count)::float8 AS count,
      sum(t.weight)::float8 / ${scale}::float8 AS weight, sum(t.square)::float8 / ${scale}::float8 AS square
    FROM even_split_tallies t
    WHERE t.org_slug = ${org} AND t.template_id = ${template} AND t.day >= ${from} AND t.day < ${to}
    GROUP BY t.people, t.measure`
  if (rows.length === 0) return undefined
  const groups = Array.from({ length: peopleGroups }, () => ({
    decisions: none,
    click: none,
    open: none,
    conversion: none,
    negative: none,
  }))
  let leftOut = 0
  for (const { count, measure, people, square, weight } of rows) {
    if (measure === "left_out") leftOut += count
    else groups[people]![measure] = { count, weight, square }
  }
  return {
    first: new Date(Math.min(...rows.map(({ first }) => first.getTime()))),
    last: new Date(Math.max(...rows.map(({ last }) => last.getTime()))),
    leftOut,
    groups,
  }
})
