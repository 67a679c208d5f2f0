import { type ObjectiveWeights, type ValuedOutcome, valuedOutcomes } from "../domain/ObjectiveWeights.ts"
import type { EvenSplitCounts, WeightedCount } from "../learning/EvenSplitTallies.ts"

// The gain over a random split by the recorded propensities, independent of any model (off-policy estimate). Pure.

/** Outcomes beyond a random split with the 95 % interval, and the outcomes that a random split would have had. */
interface PropensityGain {
  readonly decisions: number
  readonly gained: number
  readonly interval: readonly [number, number]
  /** Standard error of `gained`. */
  readonly error: number
  readonly even: number
  /** Number of decisions of a random split with equal information: (Σw)² / Σw². */
  readonly effectiveSample: number
  /** Expected outcomes of that many decisions of a random split. */
  readonly effectiveOutcomes: number
}

type Group = EvenSplitCounts["groups"][number]

/** Quantile 0.975 of Student's distribution with 31 degrees of freedom: the number of groups of people minus one. */
const t31 = 2.039513

const valueOf = (weights: ObjectiveWeights, amount: (outcome: ValuedOutcome) => number, power: 1 | 2 = 1) =>
  valuedOutcomes.reduce(
    (sum, outcome) => weights[outcome] === 0 ? sum : sum + weights[outcome] ** power * amount(outcome),
    0,
  )

const total = (groups: ReadonlyArray<Group>, measure: keyof Group): WeightedCount =>
  groups.reduce(
    (sum, { [measure]: { count, square, weight } }) => ({
      count: sum.count + count,
      weight: sum.weight + weight,
      square: sum.square + square,
    }),
    { count: 0, weight: 0, square: 0 },
  )

/** Quantile of a gamma distribution with mean `shape` by E. Wilson and M. Hilferty's cube root (1931). */
const gammaQuantile = (shape: number, normal: number): number => {
  const spread = 1 / (9 * shape)
  return shape * Math.max(0, 1 - spread + normal * Math.sqrt(spread)) ** 3
}

/**
 * Interval of the outcomes of a random split: a weighted sum of rare outcomes is about a multiple of a Poisson count,
 * whose error is larger upwards (M. Fay and E. Feuer, "Confidence intervals for directly standardized rates", 1997).
 */
const evenInterval = (even: number, variance: number): readonly [number, number] => {
  const shape = even ** 2 / variance
  return [even * gammaQuantile(shape, -t31) / shape, even * gammaQuantile(shape + 1, t31) / shape]
}

/**
 * Returns the gain of the choices over a random split: the value of all outcomes, minus the number of decisions times
 * the mean of the outcomes weighted to a random split (the ratio estimator of J. Hájek). Null without decisions.
 *
 * Decisions about one person are not independent of each other. People are divided into 32 groups by chance, and the
 * variance is computed from the groups' sums (a cluster sample), or from independent decisions if that is larger.
 */
export const propensityGain = (
  groups: ReadonlyArray<Group>,
  weights: ObjectiveWeights,
): PropensityGain | null => {
  const { count: decisions, square, weight } = total(groups, "decisions")
  if (!(decisions > 0 && weight > 0)) return null
  const totals = new Map(valuedOutcomes.map((outcome) => [outcome, total(groups, outcome)]))
  const of = (outcome: ValuedOutcome) => totals.get(outcome)!
  const rate = valueOf(weights, (outcome) => of(outcome).weight) / weight
  const even = rate * decisions
  const gained = valueOf(weights, (outcome) => of(outcome).count) - even
  const scale = decisions / weight

  /** Sum of (1 − scale · w)² over the decisions behind these sums. */
  const spreadOf = (sums: WeightedCount) => sums.count - 2 * scale * sums.weight + scale ** 2 * sums.square
  const independent = valueOf(weights, (outcome) => {
    const mean = of(outcome).weight / weight
    return (1 - 2 * mean) * spreadOf(of(outcome)) + mean ** 2 * spreadOf({ count: decisions, weight, square })
  }, 2)
  const byGroups = groups.reduce((sum, group) => {
    const above = valueOf(weights, (outcome) => group[outcome].count) - rate * group.decisions.count
    const weighted = valueOf(weights, (outcome) => group[outcome].weight) - rate * group.decisions.weight
    return sum + (above - scale * weighted - gained * group.decisions.count / decisions) ** 2
  }, 0) * groups.length / (groups.length - 1)
  const variance = Math.max(independent, byGroups)
  const error = Math.sqrt(variance)

  const isSkewed = valuedOutcomes.every((outcome) => weights[outcome] >= 0) && even > 0 && variance > 0
  const [low, high] = isSkewed ? evenInterval(even, variance) : [even - t31 * error, even + t31 * error]
  const effectiveSample = weight ** 2 / square
  const outcomes = valuedOutcomes.reduce((sum, one) => weights[one] === 0 ? sum : sum + of(one).weight, 0)
  return {
    decisions,
    gained,
    interval: [gained + even - high, gained + even - low],
    error,
    even,
    effectiveSample,
    effectiveOutcomes: effectiveSample * outcomes / weight,
  }
}
