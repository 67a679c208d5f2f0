import { lgamma } from "../bandit/Gamma.ts"
import type { ContextRates } from "./ContextRates.ts"

// Rates by counts: posteriors of a gamma distribution, and the probability that one of several rates is the highest.
// Pure.

/** A posterior of a rate: outcomes over exposure, both including the prior. `scale` is the value of one outcome. */
interface RatePosterior {
  readonly shape: number
  readonly exposure: number
  readonly scale: number
}

const z = 1.959963984540054

/** Mean of a rate. */
export const meanOf = ({ exposure, scale, shape }: RatePosterior): number => scale * shape / exposure

/**
 * Quantile of a gamma distribution with mean `shape` by E. Wilson and M. Hilferty's cube root (1931), within 2 % from
 * shape 1 on.
 */
const quantile = (shape: number, normal: number): number => {
  const spread = 1 / (9 * shape)
  return shape * Math.max(0, 1 - spread + normal * Math.sqrt(spread)) ** 3
}

/** 95 % credible interval of a rate. */
export const intervalOf = ({ exposure, scale, shape }: RatePosterior): readonly [number, number] => [
  scale * quantile(shape, -z) / exposure,
  scale * quantile(shape, z) / exposure,
]

const steps = 400

/**
 * Returns the probability that each rate is the highest, by integration over the densities. Sums to 1. Costs 400
 * evaluations for each rate.
 */
export const probabilitiesOfBest = (rates: ReadonlyArray<RatePosterior>): ReadonlyArray<number> => {
  if (rates.length < 2) return rates.map(() => 1)
  const reach = (one: RatePosterior, normal: number) => one.scale * quantile(one.shape, normal) / one.exposure
  const low = Math.min(...rates.map((one) => reach(one, -5)))
  const high = Math.max(...rates.map((one) => reach(one, 5)))
  if (!(high > low)) return rates.map(() => 1 / rates.length)
  const width = (high - low) / steps
  const masses = rates.map(({ exposure, scale, shape }) => {
    const offset = shape * Math.log(exposure / scale) - lgamma(shape)
    const densities = new Float64Array(steps)
    let sum = 0
    for (let i = 0; i < steps; i++) {
      const rate = low + (i + 0.5) * width
      sum += densities[i] = Math.exp(offset + (shape - 1) * Math.log(rate) - rate * exposure / scale)
    }
    if (sum > 0) { for (let i = 0; i < steps; i++) densities[i] = densities[i]! / sum }
    return densities
  })
  const below = new Float64Array(rates.length)
  const upTo = new Float64Array(rates.length)
  const others = new Float64Array(rates.length)
  const best = new Array<number>(rates.length).fill(0)
  for (let i = 0; i < steps; i++) {
    // The product of the distribution functions of all variants before each one, then, backwards, of all variants after
    // it: the product of all other variants without a division.
    let before = 1
    for (let v = 0; v < rates.length; v++) {
      // Half of a step's own mass lies below its middle.
      upTo[v] = below[v]! + masses[v]![i]! / 2
      below[v] = below[v]! + masses[v]![i]!
      others[v] = before
      before *= upTo[v]!
    }
    let behind = 1
    for (let v = rates.length - 1; v >= 0; v--) {
      best[v] = best[v]! + masses[v]![i]! * others[v]! * behind
      behind *= upTo[v]!
    }
  }
  const sum = best.reduce((all, one) => all + one, 0)
  return best.map((share) => sum > 0 ? share / sum : 1 / rates.length)
}

/** Weight of the model's expectation in a variant's rate. Unit: outcomes. */
const priorOutcomes = 4

/**
 * The rates of variants over time. Counts are compared with the present model's expectation for their contexts and
 * periods. So a variant that was shown to people who click more, or on better days, gets no credit for that. A rate is
 * the average over all contexts by their traffic. After all counts, it is about as certain as the model's rate. Earlier
 * rates are less certain, in proportion to the number of outcomes.
 */
export class Standing {
  readonly #had: Float64Array
  readonly #due: Float64Array
  readonly #standard: ReadonlyArray<ReturnType<ContextRates["sum"]>>
  readonly #worth: number

  /** `weights`: traffic by context, on any positive scale. `worth`: value of one outcome. */
  constructor(rates: ContextRates, variants: number, weights: ReadonlyArray<number>, worth: number) {
    const all = weights.reduce((sum, weight) => sum + weight, 0)
    const shares = weights.map((weight) => all > 0 ? weight / all : 1 / weights.length)
    this.#standard = Array.from({ length: variants }, (_, variant) => rates.sum(variant, shares))
    this.#had = new Float64Array(variants)
    this.#due = new Float64Array(variants)
    this.#worth = worth
  }

  /** Multiplies all counts so far by `share`. */
  fade(share: number): void {
    this.#had.forEach((count, variant) => this.#had[variant] = count * share)
    this.#due.forEach((count, variant) => this.#due[variant] = count * share)
  }

  /** Adds the value of a variant's outcomes, and its expected value. */
  add(variant: number, value: number, expected: number): void {
    this.#had[variant]! += Math.max(0, value) / this.#worth
    this.#due[variant]! += Math.max(0, expected) / this.#worth
  }

  /** Number of outcomes of a variant so far, including the prior. */
  outcomes(variant: number): number {
    return this.#had[variant]! + priorOutcomes
  }

  /**
   * Returns the posterior of a variant's rate. `last` is the final value of `outcomes`. With `compared`, excludes the
   * error of the base rate, which all variants share.
   */
  posterior(variant: number, last: number, compared = false): RatePosterior {
    const { mean, own, variance } = this.#standard[variant]!
    const shape = this.outcomes(variant)
    const rate = mean * shape / (this.#due[variant]! + priorOutcomes)
    const surely = Math.max(0.05, shape / Math.max(1, last * (compared ? own : variance) / mean ** 2))
    return { shape: surely, exposure: surely * this.#worth / rate, scale: this.#worth }
  }
}
