import { type DailyRates, dailyRates } from "../bandit/LocalLevel.ts"
import { bestArmProbabilities } from "../bandit/Weights.ts"
import type { ContextRates } from "./ContextRates.ts"

// The rates of variants over time, and the gain of the policy over a random split of the variants. Pure.

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

/** The rate of a variant in a period, and its probability of being the highest. Null before its first decision. */
export type PeriodRate =
  | { readonly rate: number; readonly interval: readonly [number, number]; readonly p_best: number }
  | null

/**
 * Results from the first period to the end of one: the gain with its 95 % interval, and the outcomes of a random split.
 */
interface GainSoFar {
  readonly gained: number
  readonly interval: readonly [number, number]
  readonly even: number
}

const z = 1.959963984540054

const sum = (numbers: Iterable<number>): number => {
  let total = 0
  for (const number of numbers) total += number
  return total
}

/** Average value of an outcome, or 1 without outcomes. */
const worthOf = (counts: ReadonlyArray<PeriodCount>): number => {
  const value = counts.reduce((sum, one) => sum + one.value, 0)
  return value > 0 ? counts.reduce((sum, one) => sum + one.square, 0) / value : 1
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
  /** Share of each context in the traffic of the rates. The sum is 1. */
  readonly traffic: ReadonlyArray<number>
  /** Whether a variant has a decision in a period or before it. */
  readonly began: (variant: number, period: number) => boolean
}

/**
 * Returns the function that estimates the rates of variants in a period. `unit`: value of a decision at a level of 1.
 */
const ratesBy = (
  { began, contexts, fatigue, rates, starts, traffic }: GainInput,
  { exposures, relative }: Pick<ReturnType<typeof dailyOf>, "exposures" | "relative">,
  levels: DailyRates,
  unit: number,
) => {
  const standard = relative.map((own) => unit * sum(own.map((rate, context) => rate * traffic[context]!)))
  /** Relative variance of each rate by the effects of contexts and of earlier exposures. */
  const ofEffects = relative.map((_, v) => {
    const moved = relative.map((_, u) => Float64Array.from({ length: contexts }, (_, c) => u === v ? traffic[c]! : 0))
    const { mean, variance } = rates.total(moved, exposures)
    return variance / mean ** 2 + sum(fatigue[v]!.map((one) => one ** 2)) / Math.max(1, fatigue[v]!.length)
  })
  return (period: number): ReadonlyArray<PeriodRate> => {
    const running = standard.flatMap((_, v) => began(v, period) ? [v] : [])
    const count = running.length
    const means = standard.map((own, v) => own * levels.means[v]![period]!)
    /** Variance of the sum of these multiples of the rates, without the error of effects. */
    const ofLevels = (multipleOf: (variant: number) => number) =>
      levels.variance(
        standard.map((own, v) => new Float64Array(starts.length).fill(own * multipleOf(v), period, period + 1)),
      )
    const sdOf = (v: number, variance: number) => Math.sqrt(variance + means[v]! ** 2 * ofEffects[v]!)
    // The error that all variants share does not change which is the best: each is compared with the mean of all.
    const compared = running.map((v) =>
      sdOf(v, count / (count - 1) * ofLevels((u) => running.includes(u) ? Number(u === v) - 1 / count : 0))
    )
    const best = bestArmProbabilities(running.map((v) => means[v]!), compared)
    return standard.map((_, v) => {
      if (!running.includes(v)) return null
      const reach = Math.exp(z * sdOf(v, ofLevels((u) => Number(u === v))) / means[v]!)
      return { rate: means[v]!, interval: [means[v]! / reach, means[v]! * reach], p_best: best[running.indexOf(v)]! }
    })
  }
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
 * Returns the rates of the variants in each period, and the gain over a random split from the first period to the end
 * of each: in each period and context, the
 * outcomes of the chosen variants minus the outcomes of a random split of the eligible variants, by the rates of that
 * period. The rates of variants follow random walks (see `LocalLevel`), so that a change of the base rate is not a
 * gain, and past choices are judged by the rates of their time. All periods count alike, because the gain is about all
 * of them. The rates of variants with little data are drawn to the other rates. A correction by their counts would
 * overstate the gain, because the counts of a variant that was given up after bad luck are biased downwards.
 */
export const overTime = (
  input: GainInput,
): { readonly gains: ReadonlyArray<GainSoFar>; readonly rates: ReadonlyArray<ReadonlyArray<PeriodRate>> } => {
  const { centers, concerns, contexts, counts, fatigue, fits, independence, rates, runs, starts } = input
  const worth = worthOf(counts)
  const { base, due, exposures, had, relative } = dailyOf(input, worth)
  const levels = dailyRates({ days: starts, outcomes: had, expected: due, centers, tau0: input.tau0 })
  const ratesIn = ratesBy(input, { exposures, relative }, levels, base * worth)
  const all = independence.map((_, variant) => variant)
  const byPeriod = Map.groupBy(counts.filter(({ context }) => concerns(context)), ({ period }) => period)
  /** Difference to a random split so far, by variant and context and by variant and period, as outcomes at the base rate. */
  const moved = all.map(() => new Float64Array(contexts))
  const weights = all.map(() => new Float64Array(starts.length))
  const gainedBy = new Float64Array(all.length)
  const cases = Math.max(0, ...fatigue.map(({ length }) => length))
  let even = 0
  const gains = starts.map((_, period): GainSoFar => {
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
  return { gains, rates: starts.map((_, period) => ratesIn(period)) }
}
