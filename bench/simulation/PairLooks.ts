import { bestArmProbabilities, mixFloor, sample } from "../../src/bandit/Weights.ts"
import { dayMillis } from "../../src/bandit/Window.ts"
import type { PropensityCount } from "../../src/learning/PropensityTallies.ts"
import { pairDifference } from "../../src/results/PairDifference.ts"
import { type Chance, chance, seedOf } from "../../src/simulation/Chance.ts"

// Simulates variants among which an adaptive policy decides, and reads the comparison without a model every day, to
// measure how often its interval ever misses the truth.

/** Variants whose rates an adaptive policy learns. */
interface PairWorld {
  readonly name: string
  readonly decisionsPerDay: number
  readonly days: number
  /** Rate of each variant. */
  readonly rates: ReadonlyArray<number>
  /** Share of the decisions that is split randomly. */
  readonly floor: number
  /** Standard deviation of the daily step of the log rate of all variants, which are alike. Default: 0. */
  readonly walk?: number
  /** Messages to each person, and the standard deviation of people's log rates. Default: people do not differ. */
  readonly people?: { readonly messages: number; readonly sd: number }
}

/** Number of fits in a day. */
const fitsPerDay = 8

/** The first day at whose end the comparison is read, from 0. */
const firstLook = 6

const newSums = () => ({
  offered: { count: 0, weight: 0, square: 0 },
  decisions: { count: 0, weight: 0, square: 0 },
  click: { count: 0, weight: 0, square: 0 },
})

/** A policy that chooses by the probability of being best. */
class Chooser {
  readonly sends: Array<number>
  readonly clicks: Array<number>
  readonly #prior: number
  readonly #floor: number

  constructor({ floor, rates }: PairWorld) {
    this.sends = rates.map(() => 0)
    this.clicks = rates.map(() => 0)
    this.#prior = rates.length / rates.reduce((sum, rate) => sum + rate, 0)
    this.#floor = floor
  }

  rates(): ReadonlyArray<number> {
    return this.sends.map((count, arm) => (this.clicks[arm]! + 1) / (count + this.#prior))
  }

  weights(): ArrayLike<number> & Iterable<number> {
    const sds = this.clicks.map((count) => 1 / Math.sqrt(count + 1))
    return mixFloor(bestArmProbabilities(this.rates().map(Math.log), sds), this.#floor)
  }
}

/** Makes the decisions of a day, and returns the sums of each variant. */
const dayOf = (
  { decisionsPerDay, rates }: PairWorld,
  chooser: Chooser,
  { uniform }: Chance,
  factorOf: () => number,
) => {
  const sums = rates.map(newSums)
  let weights = Float64Array.from(chooser.weights())
  for (let i = 0; i < decisionsPerDay; i++) {
    if (i % Math.ceil(decisionsPerDay / fitsPerDay) === 0) weights = Float64Array.from(chooser.weights())
    const arm = sample(weights, uniform())
    sums.forEach(({ offered }, v) => {
      offered.count++
      offered.weight += 1 / weights[v]!
    })
    chooser.sends[arm]!++
    const { click, decisions } = sums[arm]!
    const hasClicked = uniform() < Math.min(1, rates[arm]! * factorOf())
    if (hasClicked) chooser.clicks[arm]!++
    for (const sum of hasClicked ? [decisions, click] : [decisions]) {
      sum.count++
      sum.weight += 1 / weights[arm]!
      sum.square += weights[arm]! ** -2
    }
  }
  return sums
}

/** Returns whether the interval of the leader over the runner-up ever missed the truth, and whether it ever left out 0. */
export const looksOf = (world: PairWorld, seed: number): { readonly missed: boolean; readonly excluded: boolean } => {
  const { days, decisionsPerDay, people, rates, walk = 0 } = world
  const source = chance(seedOf(seed, world.name))
  const { normal, uniform } = source
  const arms = rates.map((_, arm) => `v${arm}`)
  const chooser = new Chooser(world)
  const counts: Array<PropensityCount> = []
  const crowd = people &&
    Array.from(
      { length: Math.ceil(days * decisionsPerDay / people.messages) },
      () => Math.exp(people.sd * normal() - people.sd ** 2 / 2),
    )
  let level = 0
  let missed = false
  let excluded = false
  for (let day = 0; day < days; day++) {
    level += walk * normal()
    const sums = dayOf(
      world,
      chooser,
      source,
      () => Math.exp(level) * (crowd?.[Math.floor(uniform() * crowd.length)] ?? 1),
    )
    arms.forEach((copyId, arm) => counts.push({ day: day * dayMillis, candidates: "all", copyId, sums: sums[arm]! }))
    if (day < firstLook) continue
    const estimates = chooser.rates()
    const [leader = 0, next = 0] = arms.map((_, arm) => arm).sort((a, b) => estimates[b]! - estimates[a]!)
    const found = pairDifference({ counts, ours: arms[leader]!, theirs: arms[next]!, objective: "click" })
    if (found === null) continue
    const [low, high] = found.interval
    const truth = rates[leader]! - rates[next]!
    missed ||= low > truth || high < truth
    excluded ||= low > 0 || high < 0
  }
  return { missed, excluded }
}

const base: PairWorld = { name: "alike", decisionsPerDay: 1000, days: 45, rates: [0.03, 0.03], floor: 0.01 }

/** Settings whose interval may miss the truth in at most 5 % of the runs. */
export const pairWorlds: ReadonlyArray<PairWorld> = [
  base,
  { ...base, name: "alike, few decisions", decisionsPerDay: 100, days: 90 },
  { ...base, name: "alike, random split", floor: 1 },
  { ...base, name: "four alike", rates: [0.03, 0.03, 0.03, 0.03] },
  { ...base, name: "alike, half respond", rates: [0.5, 0.5], decisionsPerDay: 200 },
  { ...base, name: "alike, rates walk together", walk: 0.1 },
  { ...base, name: "alike, people with much mail", people: { messages: 50, sd: 1.5 } },
  { ...base, name: "one 30 % better", rates: [0.039, 0.03] },
  { ...base, name: "one 60 % better", rates: [0.048, 0.03] },
  { ...base, name: "one of four 60 % better", rates: [0.048, 0.03, 0.03, 0.03] },
  { ...base, name: "one 30 % better, floor of 20 %", rates: [0.039, 0.03], floor: 0.2 },
]
