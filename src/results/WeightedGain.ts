import { Schema } from "effect"
import { dayMillis } from "../bandit/Window.ts"
import { described } from "../domain/described.ts"
import { weightsOf } from "../domain/ObjectiveWeights.ts"
import type { Objective } from "../domain/Template.ts"
import type { EvenSplitCounts } from "../learning/EvenSplitTallies.ts"
import { propensityGain } from "./PropensityGain.ts"

// The gain by propensities in the shape of the API's response, next to the gain by the model.

const Interval = Schema.Tuple([Schema.Finite, Schema.Finite])

/** The gain over a random split by the recorded propensities. */
export const WeightedGain = Schema.Struct({
  from: described(Schema.String, "The first day (UTC) with counted decisions, ISO 8601"),
  to: described(Schema.String, "The end of the last day with counted decisions"),
  decisions: described(Schema.Finite, "Decisions of these days"),
  left_out: described(
    Schema.Finite,
    "Additional decisions of these days that do not count, because a variant had less than a thousandth of an even share",
  ),
  gained: described(
    Schema.Finite,
    "Outcomes by the objective beyond the outcomes of a random split: all outcomes, less the mean of the outcomes weighted by " +
      "the even probability over the recorded probability, times the decisions. Outcomes count within four days of their decision",
  ),
  interval: described(
    Interval,
    "95 % interval of `gained`. It accounts for several decisions of one person, by 32 groups of people. In " +
      "simulated crowds it contains the true gain in 94 to 97 % of the cases, and more often if variants are alike",
  ),
  even: described(Schema.Finite, "Estimated outcomes of a random split"),
  model: described(Schema.Finite, "The gain of these days by the model, including all pending outcomes"),
})
export type WeightedGain = typeof WeightedGain.Type

/** Conditions under which the estimate is certain enough to be shown. */
const shownWhen = {
  /** Minimum number of decisions of a random split with equal information. */
  effectiveSample: 1000,
  /** Minimum number of outcomes of that many decisions. */
  effectiveOutcomes: 30,
  /** Maximum standard error, as a share of the gain by the model. */
  error: 1 / 3,
  /** Maximum share of decisions left out. */
  leftOut: 0.05,
} as const

/** The members of a period of the series that the comparison reads. */
interface Period {
  readonly end: string
  readonly gain: { readonly gained: number } | null
}

/**
 * Returns the end of the last period that ends with a day (UTC) at or before `limit` (Unix milliseconds). Undefined
 * without such a period.
 */
export const lastFullDay = (points: ReadonlyArray<Period>, limit: number): number | undefined =>
  points.map(({ end }) => Date.parse(end)).findLast((end) => end <= limit && end % dayMillis === 0)

/**
 * Returns the gain by propensities of the days up to `to` (Unix milliseconds, the end of a period), from their
 * `counts`. Null while it is too uncertain for a comparison with the model's gain.
 */
export const weightedGain = (
  points: ReadonlyArray<Period>,
  to: number,
  counts: EvenSplitCounts,
  objective: Objective,
): WeightedGain | null => {
  const weights = weightsOf(objective)
  // Propensity counts do not include the values of conversions.
  const found = weights.revenue === 0 ? propensityGain(counts.groups, weights) : null
  const from = counts.first.getTime()
  const gainUntil = (time: number) => points.findLast(({ end }) => Date.parse(end) <= time)?.gain?.gained ?? 0
  const model = gainUntil(to) - gainUntil(from)
  if (
    found === null || found.effectiveSample < shownWhen.effectiveSample ||
    found.effectiveOutcomes < shownWhen.effectiveOutcomes ||
    !(found.error < shownWhen.error * Math.abs(model)) ||
    counts.leftOut > shownWhen.leftOut * (found.decisions + counts.leftOut)
  ) return null
  return {
    from: counts.first.toISOString(),
    to: new Date(to).toISOString(),
    decisions: found.decisions,
    left_out: counts.leftOut,
    gained: found.gained,
    interval: found.interval,
    even: found.even,
    model,
  }
}
