import type { ContextKey } from "../bandit/Contexts.ts"
import { revenueIn } from "../bandit/Revenue.ts"
import { type Measure, measures, type Track, tracks } from "../bandit/Tally.ts"
import { clickReasons, setAsideName } from "../domain/ClickReasons.ts"
import { type CountedEvent, countedEvents } from "../domain/EventKinds.ts"
import { type ObjectiveWeights, type ValuedOutcome, valueOf } from "../domain/ObjectiveWeights.ts"
import type { OutcomeCounts, TemplateResults, VariantResults } from "./TemplateResults.ts"

// Counts of variants, and their shape in the API's response. Pure.

/** Counts of one variant in one context over the whole window, in the order of `measures`. */
export interface CountedContext {
  readonly copyId: string
  readonly context: ContextKey
  readonly track: Track
  readonly counts: ReadonlyArray<number>
}

/** Counts of a variant by track, in the order of `measures`. */
export type VariantCounts = Record<Track, Float64Array>

const newCounts = (): VariantCounts => ({
  learned: new Float64Array(measures.length),
  forced: new Float64Array(measures.length),
  automated: new Float64Array(measures.length),
})

const indexOf = Object.fromEntries(measures.map((measure, i) => [measure, i])) as Record<Measure, number>

/** Returns the count of a measure. */
export const countOf = (counts: Float64Array, measure: Measure): number => counts[indexOf[measure]]!

/** Number of decisions with an outcome, or their revenue. */
const amountOf = (counts: Float64Array, outcome: ValuedOutcome | "revenue"): number =>
  outcome === "revenue" ? revenueIn(countOf(counts, outcome)) : countOf(counts, outcome)

/** Decisions that can have an outcome. */
export const trialsOf = ({ learned }: VariantCounts): number =>
  countOf(learned, "decisions") - countOf(learned, "voided")

/** Value of the outcomes per decision that can have one. Null without such decisions. */
export const rawRateOf = (weights: ObjectiveWeights, counts: VariantCounts): number | null => {
  const trials = trialsOf(counts)
  return trials > 0 ? valueOf(weights, (outcome) => amountOf(counts.learned, outcome)) / trials : null
}

const outcomesOf = (counts: Float64Array): OutcomeCounts => ({
  ...Object.fromEntries(countedEvents.map((event) => [event, countOf(counts, event)])) as Record<CountedEvent, number>,
  negative: countOf(counts, "negative"),
})

const trackOf = (counts: Float64Array, hasRevenue: boolean) => ({
  decisions: countOf(counts, "decisions"),
  voided: countOf(counts, "voided"),
  outcomes: outcomesOf(counts),
  revenue: hasRevenue
    ? { value: amountOf(counts, "revenue"), other_currency: countOf(counts, "other_currency") }
    : null,
})

/** Share of the messages that people clicked, and that people or machines clicked. */
const clickRatesOf = ({ automated, forced, learned }: VariantCounts): VariantResults["click_rates"] => {
  const inBoth = (measure: Measure) => countOf(learned, measure) + countOf(forced, measure)
  const messages = inBoth("decisions") - inBoth("voided")
  const people = inBoth("click")
  const rateOf = (clicked: number) => messages > 0 ? clicked / messages : null
  return { people: rateOf(people), all: rateOf(people + countOf(automated, "only_set_aside")) }
}

/** The counts of a variant, in the shape of the API's response. */
export const countsOnWire = (counts: VariantCounts, hasRevenue: boolean) => ({
  ...trackOf(counts.learned, hasRevenue),
  automated: outcomesOf(counts.automated),
  forced: trackOf(counts.forced, hasRevenue),
  click_rates: clickRatesOf(counts),
})

/** Returns the clicks that count as clicks of machines, by reason. */
export const setAsideOf = ({ automated }: VariantCounts): TemplateResults["set_aside"] => {
  const reasons = Object.fromEntries(clickReasons.map((reason) => [reason, countOf(automated, setAsideName(reason))]))
  return {
    clicks: Object.values(reasons).reduce((sum, clicks) => sum + clicks, 0),
    reasons: reasons as TemplateResults["set_aside"]["reasons"],
  }
}

/** Counts by variant. */
export class Tabulation {
  readonly byVariant = new Map<string, VariantCounts>()
  decisions = 0

  add({ copyId, counts, track }: CountedContext): void {
    const mine = this.byVariant.getOrInsertComputed(copyId, () => newCounts())
    const into = mine[track]
    for (let i = 0; i < into.length; i++) into[i] = into[i]! + (counts[i] ?? 0)
    if (track === "learned") this.decisions += counts[indexOf.decisions] ?? 0
  }

  of(copyId: string): VariantCounts {
    return this.byVariant.get(copyId) ?? newCounts()
  }

  total(): VariantCounts {
    const sum = newCounts()
    for (const counts of this.byVariant.values()) {
      for (const track of tracks) counts[track].forEach((count, i) => sum[track][i] = sum[track][i]! + count)
    }
    return sum
  }
}
