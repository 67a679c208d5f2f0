import { bestArmProbabilities, mixFloor, sample } from "../../src/bandit/Weights.ts"
import { peopleGroups } from "../../src/bandit/Holdout.ts"
import type { EvenSplitCounts } from "../../src/learning/EvenSplitTallies.ts"
import { propensityGain } from "../../src/results/PropensityGain.ts"
import { weightsOf } from "../../src/domain/ObjectiveWeights.ts"
import { type Chance, chance, seedOf } from "../../src/simulation/Chance.ts"

// Simulates crowds for which an adaptive policy decides, to measure how often the interval of the gain by propensities
// contains the truth.

/** People with several decisions each and different response rates. */
export interface AdaptiveCrowd {
  readonly name: string
  readonly people: number
  /** Maximum number of decisions of a person. All numbers from 1 to this maximum are equally likely. */
  readonly most: number
  /** Mean rate of each variant. */
  readonly rates: ReadonlyArray<number>
  /** Share of the decisions that is split randomly. */
  readonly floor: number
  /** Shape of the gamma distribution of people's rates. A smaller shape means larger differences. */
  readonly shape: number
  /**
   * Whether a person keeps the variant of the first decision, as with a sticky template that records each repeated
   * choice.
   */
  readonly sticky?: boolean
  /** Share of the clicks that also convert. A conversion is worth ten clicks. */
  readonly conversions?: number
  /** Whether tests use this crowd. */
  readonly isTested?: boolean
}

const none = () => ({ count: 0, weight: 0, square: 0 })
const emptyGroup = () => ({ decisions: none(), click: none(), open: none(), conversion: none(), negative: none() })

const countIn = (sums: { count: number; weight: number; square: number }, weight: number) => {
  sums.count++
  sums.weight += weight
  sums.square += weight ** 2
}

/** Number of decisions between two fits of the policy. */
const refit = 500

/** Returns the people of a crowd in the order of their decisions. */
const decisionsOf = ({ most, people, shape }: AdaptiveCrowd, { gamma, uniform }: Chance) => {
  const crowd = Array.from({ length: people }, () => ({
    group: Math.floor(uniform() * peopleGroups),
    factor: gamma(shape) / shape,
    decisions: 1 + Math.floor(uniform() * most),
    kept: undefined as { readonly arm: number; readonly weight: number } | undefined,
  }))
  const order = crowd.flatMap((person) => Array.from({ length: person.decisions }, () => person))
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(uniform() * (i + 1))
    const swapped = order[i]!
    order[i] = order[j]!
    order[j] = swapped
  }
  return order
}

/** Runs a policy that learns from its own choices for a crowd. Returns its counts and the true gain of its choices. */
export const replicate = (crowd: AdaptiveCrowd, seed: number) => {
  const { conversions = 0, floor, rates, sticky = false } = crowd
  const source = chance(seedOf(seed, "propensities"))
  const { uniform } = source
  const groups = Array.from({ length: peopleGroups }, emptyGroup)
  const sends = rates.map(() => 0)
  const clicks = rates.map(() => 0)
  let weights = mixFloor(rates.map(() => 1 / rates.length), floor)
  let truth = 0
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length
  decisionsOf(crowd, source).forEach((person, i) => {
    if (i % refit === 0) {
      const shapes = clicks.map((count) => count + 1)
      const means = shapes.map((count, arm) => Math.log(count / (sends[arm]! + 1 / mean)))
      weights = mixFloor(bestArmProbabilities(means, shapes.map((count) => 1 / Math.sqrt(count))), floor)
    }
    const drawn = sample(weights, uniform())
    const { arm, weight } = person.kept ?? { arm: drawn, weight: 1 / rates.length / weights[drawn]! }
    if (sticky) person.kept = { arm, weight }
    const group = groups[person.group]!
    const hasClicked = uniform() < Math.min(1, rates[arm]! * person.factor)
    truth += person.factor * (rates[arm]! - mean) * (1 + 10 * conversions)
    sends[arm]!++
    countIn(group.decisions, weight)
    if (!hasClicked) return
    clicks[arm]!++
    countIn(group.click, weight)
    if (uniform() < conversions) countIn(group.conversion, weight)
  })
  return { truth, groups: groups as EvenSplitCounts["groups"] }
}

/**
 * Returns `share`, the share of the replications whose interval contains the truth, and `off`, the mean error of the
 * estimate in standard errors.
 */
export const coverage = (crowd: AdaptiveCrowd, runs: number, from: number) => {
  const weights = weightsOf(crowd.conversions === undefined ? "click" : { click: 1, conversion: 10 })
  let held = 0
  let off = 0
  for (let seed = from; seed < from + runs; seed++) {
    const { groups, truth } = replicate(crowd, seed)
    const { error, gained, interval } = propensityGain(groups, weights)!
    if (interval[0] <= truth && truth <= interval[1]) held++
    off += (gained - truth) / error / runs
  }
  return { share: held / runs, off }
}

const once: AdaptiveCrowd = {
  name: "one decision each, alike variants",
  people: 20_000,
  most: 1,
  rates: [0.05, 0.05],
  floor: 0.01,
  shape: 2,
}
const often: AdaptiveCrowd = { ...once, name: "", people: 4000, most: 9, floor: 0.05 }

export const crowds: ReadonlyArray<AdaptiveCrowd> = [
  once,
  { ...once, name: "one decision each, one variant better", rates: [0.06, 0.04], floor: 0.05, isTested: true },
  { ...often, name: "1 to 9 decisions, four variants", rates: [0.06, 0.05, 0.05, 0.04] },
  {
    ...often,
    name: "1 to 19, very different people",
    people: 2000,
    most: 19,
    rates: [0.12, 0.1],
    shape: 0.5,
    isTested: true,
  },
  {
    ...often,
    name: "1 to 9, kept variants",
    people: 6000,
    rates: [0.12, 0.1],
    shape: 0.5,
    sticky: true,
    isTested: true,
  },
  { ...once, name: "clicks and conversions", rates: [0.06, 0.05], floor: 0.05, conversions: 0.2, isTested: true },
  { ...once, name: "small shares of the worse", people: 40_000, rates: [0.06, 0.04] },
]
