import { sample } from "../bandit/Weights.ts"
import { hourMillis } from "../bandit/Window.ts"
import { seedOf } from "./Chance.ts"
import type { LearnerKind } from "./Learners.ts"
import type { World } from "./World.ts"

/**
 * The result of a policy in a world. Rewards are expected clicks, or their values, over the whole run, less the cost of
 * opt-outs, by the true rates.
 */
export interface SimulationOutcome {
  readonly reward: number
  /** Rewards of a random split, and of the best variant for every single decision. */
  readonly uniform: number
  readonly oracle: number
  /** Position between the random split (0) and the oracle (1). Below 0 if worse than the random split. */
  readonly share: number
  /** The share for each quarter of the decisions. */
  readonly quarters: ReadonlyArray<number>
}

/** Pending clicks, earliest first: a binary heap of times with the indexes of the decisions. */
class Arrivals {
  readonly #times: Array<number> = []
  readonly #decisions: Array<number> = []

  /** Time of the earliest click. Infinite without clicks. */
  get next(): number {
    return this.#times[0] ?? Infinity
  }

  add(time: number, decision: number): void {
    const times = this.#times
    const decisions = this.#decisions
    let i = times.length
    for (let parent = (i - 1) >> 1; i > 0 && times[parent]! > time; i = parent, parent = (i - 1) >> 1) {
      times[i] = times[parent]!
      decisions[i] = decisions[parent]!
    }
    times[i] = time
    decisions[i] = decision
  }

  /** Removes the earliest click, which must exist. */
  take(): number {
    const times = this.#times
    const decisions = this.#decisions
    const taken = decisions[0]!
    const time = times.pop()!
    const decision = decisions.pop()!
    if (times.length === 0) return taken
    let i = 0
    while (true) {
      let child = 2 * i + 1
      if (child >= times.length) break
      if (child + 1 < times.length && times[child + 1]! < times[child]!) child++
      if (times[child]! >= time) break
      times[i] = times[child]!
      decisions[i] = decisions[child]!
      i = child
    }
    times[i] = time
    decisions[i] = decision
    return taken
  }
}

/** The messages that people have received under one policy, and their effect on the rates. */
class Exposures {
  readonly #arms: number
  readonly #tire: (seen: number, total: number) => number
  readonly #seen: Uint16Array
  readonly #total: Uint16Array

  constructor(requests: number, arms: number, tire: (seen: number, total: number) => number) {
    this.#arms = arms
    this.#tire = tire
    this.#seen = new Uint16Array(requests * arms)
    this.#total = new Uint16Array(requests)
  }

  #factor(request: number, arm: number): number {
    return Math.exp(this.#tire(this.#seen[request * this.#arms + arm]!, this.#total[request]!))
  }

  add(request: number, arm: number): void {
    const at = request * this.#arms + arm
    this.#seen[at] = this.#seen[at]! + 1
    this.#total[request] = this.#total[request]! + 1
  }

  /** Changes the rates of all variants to this person's present rates. */
  apply(request: number, rates: Float64Array): void {
    for (let arm = 0; arm < this.#arms; arm++) rates[arm] = rates[arm]! * this.#factor(request, arm)
  }

  mean(request: number, arms: ReadonlyArray<number>, rates: Float64Array): number {
    return arms.reduce((sum, arm) => sum + rates[arm]! * this.#factor(request, arm), 0) / arms.length
  }

  best(request: number, arms: ReadonlyArray<number>, rates: Float64Array): readonly [arm: number, rate: number] {
    let found = arms[0]!
    let most = -Infinity
    for (const arm of arms) {
      const rate = rates[arm]! * this.#factor(request, arm)
      if (rate > most) [found, most] = [arm, rate]
    }
    return [found, most]
  }
}

/** Called after each decision, with the index of the chosen variant and the true rates of all variants. */
type Watch = (decision: number, arm: number, rates: Float64Array) => void

/**
 * Runs a policy through all decisions of a world, so that it learns from the clicks as they arrive. Equal worlds,
 * policies and seeds have equal results.
 */
export const run = (world: World, policy: LearnerKind, seed: number, watch?: Watch): SimulationOutcome => {
  const { arms, at, costs, means, requestOf, requests, decisions, delayHours, eligible, eligibleOf } = world
  const learner = policy.make({
    arms,
    composition: world.composition,
    templates: world.templates,
    seed: seedOf(seed, policy.name),
  })
  const rates = new Float64Array(arms.length)
  const expectedCosts = arms.map((_, arm) => costs === undefined ? 0 : costs.cost * costs.rates[arm]!)
  const chosen = new Int32Array(decisions)
  const arrivals = new Arrivals()
  const sums = Array.from({ length: 4 }, () => ({ reward: 0, uniform: 0, oracle: 0 }))
  const paths = world.tire && [0, 1, 2].map(() => new Exposures(requests.length, arms.length, world.tire!))
  for (let i = 0; i < decisions; i++) {
    const now = at[i]!
    while (arrivals.next <= now) {
      const time = arrivals.next
      const arrival = arrivals.take()
      const isOptOut = arrival >= decisions
      const decision = isOptOut ? arrival - decisions : arrival
      const arm = chosen[decision]!
      const value = isOptOut ? -costs!.cost : world.values?.(decision, arm) ?? world.worth
      learner.observe(requests[requestOf[decision]!]!, arm, at[decision]!, time, value)
    }
    const request = requests[requestOf[i]!]!
    const there = eligible[eligibleOf[i]!]!
    const weights = learner.weights(request, there, now)
    world.rates(i, rates)
    arms.forEach((_, arm) => rates[arm] = rates[arm]! * (means?.[arm] ?? 1) - expectedCosts[arm]!)
    const place = sample(weights, world.choiceChance[i]!)
    const arm = there.arms[place]!
    const sum = sums[Math.floor(4 * i / decisions)]!
    if (paths === undefined) {
      let even = 0
      let best = -Infinity
      for (const other of there.arms) {
        even += rates[other]!
        if (rates[other]! > best) best = rates[other]!
      }
      sum.uniform += even / there.arms.length
      sum.oracle += best
    } else {
      // Received messages depend on the policy, so each of the three policies has its own.
      const [own, even, oracle] = paths
      const at = requestOf[i]!
      const evenArm = there.arms[Math.floor(world.choiceChance[i]! * there.arms.length)]!
      sum.uniform += even!.mean(at, there.arms, rates)
      even!.add(at, evenArm)
      const [bestArm, best] = oracle!.best(at, there.arms, rates)
      sum.oracle += best
      oracle!.add(at, bestArm)
      own!.apply(at, rates)
      own!.add(at, arm)
    }
    for (let k = 0; k < there.arms.length; k++) sum.reward += weights[k]! * rates[there.arms[k]!]!
    chosen[i] = arm
    learner.sent(request, arm, now)
    watch?.(i, arm, rates)
    const clickedAt = world.isMachine?.(i)
      ? now
      : world.clickChance[i]! < (rates[arm]! + expectedCosts[arm]!) / (means?.[arm] ?? 1)
      ? now + delayHours[i]! * (world.slower?.[arm] ?? 1) * hourMillis
      : undefined
    if (clickedAt !== undefined && !world.isLost?.(i, clickedAt)) arrivals.add(clickedAt, i)
    // Opt-outs follow the clicks in the numbers of arrivals.
    if (costs !== undefined && costs.chance[i]! < costs.rates[arm]!) {
      arrivals.add(now + costs.delayHours[i]! * hourMillis, decisions + i)
    }
  }
  const total = { reward: 0, uniform: 0, oracle: 0 }
  for (const sum of sums) {
    total.reward += sum.reward
    total.uniform += sum.uniform
    total.oracle += sum.oracle
  }
  const share = ({ oracle, reward, uniform }: typeof total) =>
    oracle > uniform ? (reward - uniform) / (oracle - uniform) : 0
  return { ...total, share: share(total), quarters: sums.map(share) }
}
