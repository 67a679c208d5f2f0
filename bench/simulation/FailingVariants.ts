import { chance, seedOf } from "../../src/simulation/Chance.ts"
import type { World } from "../../src/simulation/World.ts"

// Simulates variants that cannot be rendered for a part of the people. Such a decision counts without an outcome for
// its variant, as in the service. The fallback that the person gets counts for no variant.

/** The people for whom variants fail. Each person has a random number in [0, 1) that no attribute reveals. */
export interface Failing {
  /** By variant: it fails for people with a smaller number. 0 means that it never fails. */
  readonly below: ReadonlyArray<number>
  /** By variant: its rate when it is rendered, relative to the other variants. */
  readonly quality: ReadonlyArray<number>
  /**
   * The rate of people with a number below the largest value in `below`, relative to other people. 1 means that
   * failures are random.
   */
  readonly base: number
}

/**
 * Settings in which some variants fail. The first variant never fails, and is the best unless the name says otherwise.
 */
export const failingSettings: ReadonlyArray<{ readonly name: string; readonly failing: Failing }> = [
  { name: "fails for 10 %", failing: { below: [0, 0.1], quality: [1, 1], base: 1 } },
  { name: "fails for 40 %", failing: { below: [0, 0.4], quality: [1, 1], base: 1 } },
  { name: "fails for 60 %, better when rendered", failing: { below: [0, 0.6], quality: [1, 1.5], base: 1 } },
  { name: "fails for the keenest 30 %", failing: { below: [0, 0.3], quality: [1, 1.2], base: 3 } },
  { name: "fails for the least keen 60 %", failing: { below: [0, 0.6], quality: [1, 1], base: 0.1 } },
  { name: "two of three fail", failing: { below: [0, 0.3, 0.6], quality: [1, 1.1, 1.5], base: 1 } },
  { name: "fails for 20 %, equal in all", failing: { below: [0, 0.2], quality: [1, 1.25], base: 1 } },
  { name: "fails for 10 %, better in all", failing: { below: [0, 0.1], quality: [1, 1.5], base: 1 } },
]

/** Returns a world with failing variants: the rate of a variant is 0 for people for whom it cannot be rendered. */
export const withFailures = (world: World, { base, below, quality }: Failing, seed: number): World => {
  const { uniform } = chance(seedOf(seed, `${world.name} failures`))
  const people = Float64Array.from({ length: world.decisions }, uniform)
  const widest = Math.max(...below)
  return {
    ...world,
    rates: (decision, out) => {
      world.rates(decision, out)
      const person = people[decision]!
      const factor = person < widest ? base : 1
      for (let arm = 0; arm < out.length; arm++) {
        out[arm] = person < below[arm]! ? 0 : Math.min(1, out[arm]! * factor * quality[arm]!)
      }
    },
  }
}
