import type { ContextRates } from "./ContextRates.ts"

// The gain of the policy over a random split of the variants. Pure.

/** Counts of one variant in one context for the decisions of one period. Each is identified by its index, from 0. */
export interface PeriodCount {
  readonly period: number
  readonly variant: number
  readonly context: number
  /** Decisions that can have an outcome. */
  readonly trials: number
  /** The decisions of `trials`, each weighted by the share of outcomes expected at its age. */
  readonly exposure: number
  /** The sum of the outcomes' values, and the sum of their squared values. */
  readonly value: number
  readonly square: number
}

/**
 * Results from the first period to the end of one: the gain with its 95 % interval, and the outcomes of a random split.
 */
interface GainSoFar {
  readonly gained: number
  readonly interval: readonly [number, number]
  readonly even: number
}

const z = 1.959963984540054

/** Weight with which the factor of a period is shrunk towards 1. Unit: outcomes. */
const pull = 10

/** Average value of an outcome, or 1 without outcomes. */
export const worthOf = (counts: ReadonlyArray<PeriodCount>): number => {
  const value = counts.reduce((sum, one) => sum + one.value, 0)
  return value > 0 ? counts.reduce((sum, one) => sum + one.square, 0) / value : 1
}

/** Returns for each period the ratio of its outcomes to the outcomes expected of the variants and contexts in it. */
export const periodFactors = (
  counts: ReadonlyArray<PeriodCount>,
  periods: number,
  rates: ContextRates,
): ReadonlyArray<number> => {
  const worth = worthOf(counts)
  const had = new Float64Array(periods)
  const due = new Float64Array(periods)
  for (const { exposure, context, period, value, variant } of counts) {
    had[period]! += value / worth
    due[period]! += exposure * rates.of(variant, context) / worth
  }
  return Array.from(had, (outcomes, i) => (Math.max(0, outcomes) + pull) / (due[i]! + pull))
}

/**
 * Returns the gain over a random split, by the model's present rates of every variant in every context: in each period
 * and context, the outcomes of the chosen variants minus the outcomes of a random split of the eligible variants. A
 * change of the base rate is therefore not a gain, but a variant shown where it does well is. The credible interval
 * comes from the model's coefficients, including the base rate. The model shrinks the rates of variants with little
 * data towards the other rates. A correction by their counts would overstate the gain, because the counts of a variant
 * that was given up after bad luck are biased downwards.
 *
 * `runs` says whether a variant could be chosen in a period, `fits` whether in a context.
 */
export const gainOver = (
  counts: ReadonlyArray<PeriodCount>,
  factors: ReadonlyArray<number>,
  size: { readonly variants: number; readonly contexts: number },
  rates: ContextRates,
  runs: (variant: number, period: number) => boolean,
  fits: (variant: number, context: number) => boolean,
): ReadonlyArray<GainSoFar> => {
  const byPeriod = Map.groupBy(counts, ({ period }) => period)
  const all = Array.from({ length: size.variants }, (_, variant) => variant)
  /** Difference to the decisions of a random split so far, by variant and context, scaled to an average period. */
  const moved = all.map(() => new Float64Array(size.contexts))
  let even = 0
  return factors.map((factor, period) => {
    for (const [context, there] of Map.groupBy(byPeriod.get(period) ?? [], ({ context }) => context)) {
      const had = new Float64Array(size.variants)
      let trials = 0
      for (const one of there) {
        had[one.variant]! += one.trials
        trials += one.trials
      }
      const choices = all.filter((variant) => had[variant]! > 0 || (runs(variant, period) && fits(variant, context)))
      for (const variant of choices) {
        moved[variant]![context]! += factor * (had[variant]! - trials / choices.length)
        even += factor * rates.of(variant, context) * trials / choices.length
      }
    }
    const { mean: gained, variance } = rates.total(moved)
    const reach = z * Math.sqrt(variance)
    return { gained, interval: [gained - reach, gained + reach], even }
  })
}
