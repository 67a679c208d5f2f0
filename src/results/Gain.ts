import { dailyRates } from "../bandit/LocalLevel.ts"
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

const sum = (numbers: Iterable<number>): number => {
  let total = 0
  for (const number of numbers) total += number
  return total
}

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

/** The counts of a gain. Each list has one element for each variant. */
interface GainInput {
  readonly counts: ReadonlyArray<PeriodCount>
  /** Starts of the periods, ascending. Unit: Unix milliseconds. */
  readonly starts: ReadonlyArray<number>
  readonly contexts: number
  /** The effects of contexts. */
  readonly rates: ContextRates
  /** Mean of each variant's log rate before data. */
  readonly centers: ReadonlyArray<number>
  /** Standard deviation of the log rates of two variants before data. */
  readonly tau0: number
  /** Factors of the counts for several decisions about one person, see `VariantPosterior`. */
  readonly independence: ReadonlyArray<number>
  /** Equally likely deviations of each variant's log rate by the error of effects of earlier exposures. */
  readonly fatigue: ReadonlyArray<ReadonlyArray<number>>
  /** The mean factor of earlier exposures on a variant's rate. */
  readonly freshness: (variant: number, period: number) => number
  /** Whether a variant could be chosen in a period, and in a context. */
  readonly runs: (variant: number, period: number) => boolean
  readonly fits: (variant: number, context: number) => boolean
  /** Whether the gain includes the decisions of a context. Counts of all contexts determine the variants' rates. */
  readonly concerns: (context: number) => boolean
}

/** Returns the outcomes of each variant in each period, and the outcomes expected if all variants had the same rate. */
const dailyOf = ({ counts, freshness, independence, rates, starts, contexts }: GainInput, worth: number) => {
  const exposures = independence.map(() => new Float64Array(contexts))
  const exposed = new Float64Array(starts.length)
  const fresh = new Float64Array(starts.length)
  let outcomes = 0
  let all = 0
  for (const { context, exposure, period, value, variant } of counts) {
    exposures[variant]![context]! += exposure
    exposed[period]! += exposure
    fresh[period]! += exposure * freshness(variant, period)
    all += exposure
    outcomes += value / worth
  }
  for (const mine of exposures) if (mine.every((one) => one === 0)) mine.fill(1)
  const base = all > 0 ? Math.max(1, outcomes) / all : 0
  const relative = exposures.map((mine, variant) => rates.relative(variant, mine))
  const had = independence.map(() => new Float64Array(starts.length))
  const due = independence.map(() => new Float64Array(starts.length))
  for (const { context, exposure, period, value, variant } of counts) {
    // The variants are compared as if people had seen each of them equally often.
    const fresher = freshness(variant, period) * exposed[period]! / fresh[period]!
    had[variant]![period]! += independence[variant]! * value / worth
    if (exposure > 0) {
      due[variant]![period]! += independence[variant]! * base * exposure * relative[variant]![context]! * fresher
    }
  }
  return { exposures, relative, base, had, due }
}

/**
 * Returns the gain over a random split from the first period to the end of each: in each period and context, the
 * outcomes of the chosen variants minus the outcomes of a random split of the eligible variants, by the rates of that
 * period. The rates of variants follow random walks (see `LocalLevel`), so that a change of the base rate is not a
 * gain, and past choices are judged by the rates of their time. All periods count alike, because the gain is about all
 * of them. The rates of variants with little data are drawn to the other rates. A correction by their counts would
 * overstate the gain, because the counts of a variant that was given up after bad luck are biased downwards.
 */
export const gainOver = (input: GainInput): ReadonlyArray<GainSoFar> => {
  const { centers, concerns, contexts, counts, fatigue, fits, independence, rates, runs, starts } = input
  const worth = worthOf(counts)
  const { base, due, exposures, had, relative } = dailyOf(input, worth)
  const levels = dailyRates({ days: starts, outcomes: had, expected: due, centers, tau0: input.tau0 })
  const all = independence.map((_, variant) => variant)
  const byPeriod = Map.groupBy(counts.filter(({ context }) => concerns(context)), ({ period }) => period)
  /** Difference to a random split so far, by variant and context and by variant and period, as outcomes at the base rate. */
  const moved = all.map(() => new Float64Array(contexts))
  const weights = all.map(() => new Float64Array(starts.length))
  const gainedBy = new Float64Array(all.length)
  const cases = Math.max(0, ...fatigue.map(({ length }) => length))
  let even = 0
  return starts.map((_, period) => {
    for (const [context, there] of Map.groupBy(byPeriod.get(period) ?? [], ({ context }) => context)) {
      const chosen = new Float64Array(all.length)
      let trials = 0
      for (const one of there) {
        chosen[one.variant]! += one.trials
        trials += one.trials
      }
      const choices = all.filter((variant) => chosen[variant]! > 0 || (runs(variant, period) && fits(variant, context)))
      for (const variant of choices) {
        const level = levels.means[variant]![period]! * base * worth
        const beyond = chosen[variant]! - trials / choices.length
        moved[variant]![context]! += level * beyond
        weights[variant]![period]! += base * worth * relative[variant]![context]! * beyond
        gainedBy[variant]! += level * relative[variant]![context]! * beyond
        even += level * relative[variant]![context]! * trials / choices.length
      }
    }
    const effects = rates.total(moved, exposures)
    const tired = Array.from(
      { length: cases },
      (_, at) => sum(gainedBy.map((gained, v) => gained * (fatigue[v]![at] ?? 0))),
    )
    const ofFatigue = sum(tired.map((one) => one ** 2)) / Math.max(1, cases)
    const reach = z * Math.sqrt(effects.variance + ofFatigue + levels.variance(weights))
    return { gained: effects.mean, interval: [effects.mean - reach, effects.mean + reach], even }
  })
}
