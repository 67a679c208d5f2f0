import { Phi } from "../../src/bandit/Normal.ts"
import { chance, seedOf } from "../../src/simulation/Chance.ts"
import type { World } from "../../src/simulation/World.ts"

/** Log-normal values of conversions. */
export interface Values {
  /** Median value of an average variant. */
  readonly median: number
  /** Standard deviation of the log value. */
  readonly sigma: number
  /** Maximum value of one conversion. */
  readonly cap: number
  /** Standard deviation of the variants' log medians. 0 means equal values. */
  readonly sd: number
}

/** Returns the median value of each variant in the world `name`. */
const drawMedians = (
  { median, sd }: Values,
  variants: number,
  name: string,
  seed: number,
): ReadonlyArray<number> => {
  const { normal } = chance(seedOf(seed, `${name} medians`))
  return Array.from({ length: variants }, () => median * Math.exp(sd * normal()))
}

/** Returns the mean of a log-normal value that is limited to the cap. */
export const meanValue = (median: number, { cap, sigma }: Pick<Values, "cap" | "sigma">): number => {
  const reach = Math.log(cap / median) / sigma
  return median * Math.exp(sigma ** 2 / 2) * Phi(reach - sigma) + cap * (1 - Phi(reach))
}

/** Returns the world with values for all conversions that it can have. Rewards are expected values. */
export const withValues = (world: World, values: Values, seed: number): World => {
  const medians = drawMedians(values, world.arms.length, world.name, seed)
  const { normal } = chance(seedOf(seed, `${world.name} values`))
  const factors = Float64Array.from({ length: world.decisions }, () => Math.exp(values.sigma * normal()))
  return {
    ...world,
    values: (decision, arm) => Math.min(values.cap, medians[arm]! * factors[decision]!),
    means: medians.map((median) => meanValue(median, values)),
  }
}
