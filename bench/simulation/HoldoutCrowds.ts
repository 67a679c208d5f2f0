import { peopleGroups } from "../../src/bandit/Holdout.ts"
import { differenceOf, wilson } from "../../src/sendtime/Timing.ts"
import { compare, type GroupCount } from "../../src/results/HoldoutComparison.ts"
import { chance, seedOf } from "../../src/simulation/Chance.ts"

// Simulates crowds with a holdout whose true effect is known, to measure how often the interval of the comparison
// contains it.

/** People with several decisions each and different response rates. */
export interface Crowd {
  readonly name: string
  readonly people: number
  /** Maximum number of decisions of a person. All numbers from 1 to this maximum are equally likely. */
  readonly most: number
  readonly share: number
  readonly rate: number
  /** Ratio of the treated people's rate to the rate of the holdout. */
  readonly lift: number
  /** Shape of the gamma distribution of people's rates. A smaller shape means larger differences. */
  readonly shape: number
}

/** Simulates the counts of both sides, treated and held out, by groups of people. */
export const replicate = ({ lift, most, people, rate, shape, share }: Crowd, seed: number) => {
  const { gamma, uniform } = chance(seedOf(seed, "holdout"))
  const sides = [0, 1].map(() => Array.from({ length: peopleGroups }, () => ({ decisions: 0, outcomes: 0 }))) as [
    Array<{ decisions: number; outcomes: number }>,
    Array<{ decisions: number; outcomes: number }>,
  ]
  for (let person = 0; person < people; person++) {
    const side = uniform() < share ? 1 : 0
    const group = sides[side][Math.floor(uniform() * peopleGroups)]!
    const own = Math.min(1, gamma(shape) / shape * rate * (side === 0 ? lift : 1))
    const decisions = 1 + Math.floor(uniform() * most)
    group.decisions += decisions
    for (let i = 0; i < decisions; i++) if (uniform() < own) group.outcomes++
  }
  return sides
}

/** Summarizes the counts of a side as if the decisions of one person were independent. */
export const naive = (side: ReadonlyArray<GroupCount>) => {
  const sends = side.reduce((sum, { decisions }) => sum + decisions, 0)
  const engaged = side.reduce((sum, { outcomes }) => sum + outcomes, 0)
  return { sends, engaged, rate: engaged / sends, interval: wilson(engaged, sends) }
}

const holds = (interval: readonly [number, number] | null | undefined, truth: number) =>
  interval !== null && interval !== undefined && interval[0] <= truth && truth <= interval[1]

/**
 * Returns the shares of the replications whose interval contains the truth: for the interval of the results, and for an
 * interval that assumes independent decisions.
 */
export const coverage = (crowd: Crowd, runs: number, from: number) => {
  const truth = crowd.rate * (crowd.lift - 1)
  let shown = 0
  let independent = 0
  for (let seed = from; seed < from + runs; seed++) {
    const [treated, control] = replicate(crowd, seed)
    if (holds(compare(treated, control).interval, truth)) shown++
    if (holds(differenceOf(naive(treated), naive(control))?.interval, truth)) independent++
  }
  return { shown: shown / runs, independent: independent / runs }
}

export const crowds: ReadonlyArray<Crowd> = [
  { name: "one decision each, 10 % held out", people: 8000, most: 1, share: 0.1, rate: 0.05, lift: 1.1, shape: 2 },
  { name: "1 to 9 decisions each, 10 % held out", people: 2000, most: 9, share: 0.1, rate: 0.05, lift: 1.1, shape: 2 },
  { name: "1 to 19, very different people, 20 %", people: 2000, most: 19, share: 0.2, rate: 0.1, lift: 1, shape: 0.5 },
  { name: "1 to 9, rare outcomes, 5 %", people: 4000, most: 9, share: 0.05, rate: 0.01, lift: 1.3, shape: 1 },
]
