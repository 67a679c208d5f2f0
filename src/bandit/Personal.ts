import { liftOf, type Place, type RateLift } from "./Winner.ts"

// The value of the present choices, context by context, compared with one variant for all people. Pure.

/** The present choices, compared with one variant for all people and with a random split. */
export interface PersonalReport {
  /** Probability that the choices are better than every single variant, 0 to 1. */
  readonly probability: number
  /** Over the best single variant, whichever it is. */
  readonly overBest: RateLift
  readonly overSplit: RateLift
  /** Over each single variant, in any order. */
  readonly over: ReadonlyArray<RateLift & { readonly id: string }>
}

/** The eligible variants of a context, and the probability of each with the present model. Both lists have one order. */
interface ContextChoice {
  readonly ids: ReadonlyArray<string>
  readonly weights: ArrayLike<number>
}

/** Contexts with their traffic and choices. */
export interface Choices {
  readonly traffic: Place["traffic"]
  /** In the order of `traffic`. */
  readonly choices: ReadonlyArray<ContextChoice>
}

/** The part of each variant's rate that counts in each context, as `weightOf` says. */
const partsOf = (
  choices: ReadonlyArray<ContextChoice>,
  weightOf: (choice: ContextChoice, place: number) => number,
): NonNullable<Place["parts"]> => {
  const parts = new Map<string, Float64Array>()
  choices.forEach((choice, at) =>
    choice.ids.forEach((id, place) => {
      const part = parts.getOrInsertComputed(id, () => new Float64Array(choices.length))
      part[at] = weightOf(choice, place)
    })
  )
  return parts
}

/** Returns the places to draw for `personalReport`: the choices, each variant where it is eligible, and a random split. */
export const personalPlaces = ({ choices, traffic }: Choices, draws: number): ReadonlyArray<Place> => [
  { traffic, draws, parts: partsOf(choices, ({ weights }, place) => weights[place]!) },
  { traffic, draws, parts: partsOf(choices, () => 1) },
  { traffic, draws, parts: partsOf(choices, ({ ids }) => 1 / ids.length) },
]

/** Sums rates draw by draw. `rates`: at least one. */
export const sum = (rates: ReadonlyArray<Float64Array>): Float64Array => {
  const total = new Float64Array(rates[0]!.length)
  for (const one of rates) for (let d = 0; d < total.length; d++) total[d]! += one[d]!
  return total
}

/** Share of a value, or 0 if the whole is 0. */
const shareOf = (part: number, whole: number): number => whole > 0 ? part / whole : 0

export const meanOf = (rates: Float64Array): number => rates.reduce((total, rate) => total + rate, 0) / rates.length

/** Standard deviation of the log lifts between variants that the evidence of verdicts expects. */
const expectedLift = 0.25

/**
 * Returns the odds that all variants are alike, by the ratio of the densities of no gain after and before the data (J. Dickey,
 * 1971), with even odds before. The policy sends fewest messages of variants that had bad luck, and a continuous prior alone
 * overstates the gain of the others. `weights`: the share of each variant in the choices.
 */
const oddsOfNone = (gains: Float64Array, weights: ReadonlyArray<number>): number => {
  const mean = meanOf(gains)
  const variance = meanOf(gains.map((gain) => (gain - mean) ** 2))
  const before = expectedLift ** 2 * weights.reduce((total, weight) => total + (weight - 1 / weights.length) ** 2, 0)
  return variance > 0 ? Math.sqrt(before / variance) * Math.exp(-(mean ** 2) / variance / 2) : 0
}

/** The largest number of draws without a gain, as a multiple of the draws with one. */
const mostNone = 4

/** The lift of the choices over a random split, which is 0 with the odds of `oddsOfNone`. */
const overSplitOf = (chosen: Float64Array, split: Float64Array, weights: ReadonlyArray<number>): RateLift => {
  const odds = oddsOfNone(chosen.map((value, d) => split[d]! > 0 ? value / split[d]! - 1 : 0), weights)
  const none = new Float64Array(Math.round(chosen.length * Math.min(mostNone, odds))).fill(meanOf(split))
  return liftOf(Float64Array.from([...chosen, ...none]), Float64Array.from([...split, ...none]))
}

/**
 * Compares the choices with single variants, by the draws of `personalPlaces`, each by variant in the order of `ids`. A
 * variant counts 0 where it is not eligible, because such requests would get no content. `contenders`: the variants that
 * can be shipped, at least one.
 *
 * The best single variant is another one in each draw, so that the lower bound of `overBest` includes the choice of the
 * best. The upper bound compares with the variant that has the highest mean, because the best is at least as good.
 */
export const personalReport = (
  ids: ReadonlyArray<string>,
  contenders: ReadonlySet<string>,
  [choice, single, split]: ReadonlyArray<ReadonlyArray<Float64Array>>,
): PersonalReport => {
  const chosen = sum(choice!)
  const rates = single!.filter((_, v) => contenders.has(ids[v]!))
  const highest = chosen.map((_, d) => rates.reduce((most, one) => Math.max(most, one[d]!), -Infinity))
  const over = ids.flatMap((id, v) => contenders.has(id) ? [{ id, ...liftOf(chosen, single![v]!) }] : [])
  const overLeader = over.reduce((least, one) => one.difference < least.difference ? one : least)
  const overBest = liftOf(chosen, highest)
  return {
    probability: chosen.reduce((count, value, d) => value > highest[d]! ? count + 1 : count, 0) / chosen.length,
    overBest: {
      ...overBest,
      interval: [overBest.interval[0], overLeader.interval[1]],
      differenceInterval: [overBest.differenceInterval[0], overLeader.differenceInterval[1]],
    },
    overSplit: overSplitOf(
      chosen,
      sum(split!),
      ids.flatMap((id, v) => contenders.has(id) ? [shareOf(meanOf(choice![v]!), meanOf(single![v]!))] : []),
    ),
    over,
  }
}
