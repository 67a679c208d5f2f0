import { Phi, phi } from "./Normal.ts"

/** The sends that a model learns from: all sends with weights that fade by age, or only the sends of a fixed window. */
type WindowMode = "adaptive" | "window"

/** Kappa of a template without traffic. */
const kappaBeforeTraffic = 0.4

/** Age from which a template explores by its traffic alone. Unit: hours. */
const youngHours = 3

/** Two means closer than this are a tie for arms whose standard deviation is zero. */
const smallestSd = 1e-9

/**
 * Means of log rates closer than this are a tie of epsilon-greedy weights. Equal evidence leads to means that differ by
 * rounding, about 1e-15. One more click among 30 million changes a mean by 3e-8.
 */
const tiedMeans = 1e-9

/**
 * Maximum number of serious candidates for which the integrand is multiplied out. Above it, the integrand is
 * interpolated.
 */
const multipliedOut = 32

/** Logarithm of a probability that counts as 0: the table of the integrand ends there. */
const smallestLog = -100

const grid = (points: number) => {
  const t = Float64Array.from({ length: points }, (_, i) => -6 + 12 * i / (points - 1))
  // Half weight for the two ends (trapezoid rule). The step cancels in the normalisation.
  const density = t.map((value, i) => phi(value) * (i === 0 || i === points - 1 ? 0.5 : 1))
  return { t, density, logPhi: t.map((value) => Math.log(Phi(value))) }
}

const coarse = grid(49)
const fine = grid(97)

/**
 * The integrals of docs/model.md, "Choice", by the trapezoid rule, with every competitor's distribution function
 * multiplied out.
 */
const multiplyOut = (
  means: Float64Array,
  sds: Float64Array,
  arms: Int32Array,
  { t, density }: ReturnType<typeof grid>,
  out: Float64Array,
): void => {
  const inverse = sds.map((sd) => 1 / sd)
  for (const v of arms) {
    let total = 0
    for (let k = 0; k < t.length; k++) {
      const x = means[v]! + t[k]! * sds[v]!
      let product = density[k]!
      for (let a = 0; a < arms.length; a++) {
        const i = arms[a]!
        if (i === v) continue
        const z = (x - means[i]!) * inverse[i]!
        if (z < 8.3) {
          product *= Phi(z)
          if (product < 1e-20) break
        }
      }
      total += product
    }
    out[v] = total
  }
}

/**
 * Approximates the integrals for many arms: the sum of the logarithms of all distribution functions is tabulated once
 * and interpolated, so that the cost is arms × table instead of arms squared.
 */
const interpolate = (
  means: Float64Array,
  sds: Float64Array,
  arms: Int32Array,
  { t, density, logPhi }: ReturnType<typeof grid>,
  out: Float64Array,
): void => {
  let low = -Infinity
  let high = -Infinity
  let narrowest = Infinity
  for (const i of arms) {
    low = Math.max(low, means[i]! - 8 * sds[i]!)
    high = Math.max(high, means[i]! + 6 * sds[i]!)
    narrowest = Math.min(narrowest, sds[i]!)
  }
  const cells = Math.max(128, Math.min(2048, Math.ceil(16 * (high - low) / narrowest)))
  const step = (high - low) / cells
  // One point beyond each end, because the cubic reads two points on either side.
  const table = new Float64Array(cells + 3)
  for (let g = table.length - 1; g >= 0; g--) {
    const x = low + (g - 1) * step
    let log = 0
    let product = 1
    for (const i of arms) {
      const z = (x - means[i]!) / sds[i]!
      if (z > 8.3) continue
      product *= Math.max(Phi(z), 1e-300)
      if (product < 1e-200) {
        log += Math.log(product)
        product = 1
      }
    }
    table[g] = log + Math.log(product)
    if (table[g]! < smallestLog) {
      table.fill(table[g]!, 0, g)
      break
    }
  }
  for (const v of arms) {
    let total = 0
    for (let k = 0; k < t.length; k++) {
      const at = (means[v]! + t[k]! * sds[v]! - low) / step + 1
      const g = Math.floor(at)
      // Below the table, some competitor is certain to be better.
      if (g < 1) continue
      const u = at - g
      const base = Math.min(g, cells + 1)
      const p1 = table[base]!
      let log = p1
      if (base <= cells && p1 > -60) {
        const p0 = table[base - 1]!
        const p2 = table[base + 1]!
        const p3 = table[base + 2] ?? p2
        log = -u * (u - 1) * (u - 2) / 6 * p0 + (u + 1) * (u - 1) * (u - 2) / 2 * p1 -
          (u + 1) * u * (u - 2) / 2 * p2 + (u + 1) * u * (u - 1) / 6 * p3
      }
      // Removes the arm's own distribution function from the table's sum. At x it is Phi(t).
      total += density[k]! * Math.exp(Math.min(0, log - logPhi[k]!))
    }
    out[v] = total
  }
}

/**
 * Returns the probability of each arm to have the largest value, if the values are independent and normal with these
 * means and standard deviations (equal length, any order). A negative or tiny deviation counts as 1e-9, so that two
 * certain arms with equal means share. The result is in the order of the arms and sums to 1. It is empty without arms,
 * and uniform if the numbers are not finite.
 *
 * Integral over the standardised value by the trapezoid rule: 49 points between -6 and 6, or 97 if the deviations
 * differ by more than a factor of 5. Arms with a probability below 1e-11 of beating another arm get 0.
 * Source: S. Scott, "A modern Bayesian look at the multi-armed bandit" (2010); docs/model.md, "Choice".
 */
export const bestArmProbabilities = (means: ArrayLike<number>, sds: ArrayLike<number>): Float64Array => {
  const count = means.length
  const out = new Float64Array(count)
  if (count === 0) return out
  const m = Float64Array.from(means)
  const s = Float64Array.from(sds, (sd) => sd > smallestSd ? sd : smallestSd)
  let bar = -Infinity
  let finite = true
  for (let i = 0; i < count; i++) {
    finite &&= Number.isFinite(m[i]!) && Number.isFinite(s[i]!)
    bar = Math.max(bar, m[i]! - 7 * s[i]!)
  }
  if (!finite) return out.fill(1 / count)
  let narrowest = Infinity
  let widest = 0
  const serious: Array<number> = []
  for (let i = 0; i < count; i++) {
    if (m[i]! + 7 * s[i]! < bar) continue
    serious.push(i)
    narrowest = Math.min(narrowest, s[i]!)
    widest = Math.max(widest, s[i]!)
  }
  if (serious.length === 1) {
    out[serious[0]!] = 1
    return out
  }
  // The strongest competitors come first, because they end a hopeless product soonest.
  const arms = Int32Array.from(serious.sort((a, b) => m[b]! - m[a]! || s[a]! - s[b]!))
  const points = widest > 5 * narrowest ? fine : coarse
  if (arms.length <= multipliedOut) multiplyOut(m, s, arms, points, out)
  else interpolate(m, s, arms, points, out)
  let sum = 0
  for (const i of arms) sum += out[i]!
  if (!(sum > 0)) return out.fill(1 / count)
  for (const i of arms) out[i] = out[i]! / sum
  return out
}

/**
 * Returns the weights `(1 - floor) q + floor / K`: the share `floor` (0 to 1) of the traffic is split evenly between
 * the K arms. Sums to 1 if `q` does.
 */
export const mixFloor = (q: ArrayLike<number>, floor: number): Float64Array => {
  const even = floor / q.length
  return Float64Array.from(q, (value) => (1 - floor) * value + even)
}

/**
 * Raises the runner-up, the arm with the second largest probability `q` (among equal ones, the larger mean), to `share`
 * at the expense of all other arms. Sums to 1 if `q` does. If there is no second arm, or its probability is at least
 * `share`, returns `q`.
 */
export const raiseRunnerUp = (q: Float64Array, means: ArrayLike<number>, share: number): Float64Array => {
  const [, second] = Array.from(q.keys()).sort((a, b) => q[b]! - q[a]! || means[b]! - means[a]!)
  if (second === undefined || q[second]! >= share) return q
  const rest = (1 - share) / (1 - q[second]!)
  return q.map((value, i) => i === second ? share : value * rest)
}

/** Weights are rounded to multiples of 1 / `parts`. */
const parts = 1e8

/**
 * Rounds weights that sum to 1 to 8 decimals. The largest weight takes the remainder, so that the rounded weights sum to 1.
 * Returns equal weights, up to 1e-9, unchanged. A draw uses the rounded weights, so that the recorded probabilities are
 * exact in half the characters.
 */
export const roundWeights = (weights: Float64Array): Float64Array => {
  const first = weights[0]!
  if (weights.every((weight) => Math.abs(weight - first) < tiedMeans)) return weights
  const rounded = weights.map((weight) => Math.round(weight * parts))
  const largest = rounded.reduce((most, own, i) => own > rounded[most]! ? i : most, 0)
  rounded[largest] = parts - rounded.reduce((sum, own, i) => i === largest ? sum : sum + own, 0)
  return rounded.map((own) => own / parts)
}

/**
 * Returns epsilon-greedy weights: `epsilon / K` for every arm, and the remaining `1 - epsilon` for the arm with the
 * largest mean. Arms within `tiedMeans` of the largest mean share it evenly. Throws a `RangeError` unless `epsilon` is
 * in [0, 1]: 0 is greedy, 1 is uniform. Empty without arms.
 */
export const epsilonWeights = (means: ArrayLike<number>, epsilon: number): Float64Array => {
  if (!(epsilon >= 0 && epsilon <= 1)) throw new RangeError(`epsilon must lie in [0, 1], got ${epsilon}`)
  const weights = new Float64Array(means.length).fill(epsilon / means.length)
  let best = -Infinity
  for (let i = 0; i < means.length; i++) best = Math.max(best, means[i]!)
  let tied = 0
  for (let i = 0; i < means.length; i++) if (means[i]! >= best - tiedMeans) tied++
  for (let i = 0; i < means.length; i++) if (means[i]! >= best - tiedMeans) weights[i]! += (1 - epsilon) / tied
  return weights
}

/**
 * Returns the factor in (0, 1] that narrows the posterior before the weights are computed. It remedies the
 * over-exploration of Thompson sampling over a finite horizon: `0.16 log10(clicks)` within [0.15, 0.6], in window mode
 * `0.10 log10(clicks)` within [0.10, 0.45]. `clicksNext14Days` are the clicks expected of the whole template at its
 * present traffic, at least 2. Without traffic (`undefined`), the factor is 0.4. A template younger than 3 hours
 * (`ageHours`) still has nearly all of its horizon: its factor falls from 1 to this value. Source: O. Chapelle and L.
 * Li, "An empirical evaluation of Thompson sampling" (2011), on reshaping the posterior.
 */
export const kappa = (mode: WindowMode, clicksNext14Days: number | undefined, ageHours = Infinity): number => {
  if (clicksNext14Days === undefined) return kappaBeforeTraffic
  const digits = Math.log10(Math.max(2, clicksNext14Days))
  const settled = mode === "adaptive"
    ? Math.min(0.6, Math.max(0.15, 0.16 * digits))
    : Math.min(0.45, Math.max(0.1, 0.1 * digits))
  return settled ** Math.min(1, Math.max(0, ageHours / youngHours))
}

/**
 * Returns an index drawn from `weights` (non-negative, summing to 1 up to rounding) by the uniform number `u` in [0,
 * 1). The last index of positive weight absorbs the rounding error. An index of weight 0 is never drawn. Returns -1 if
 * no weight is positive.
 */
export const sample = (weights: ArrayLike<number>, u: number): number => {
  let sum = 0
  let last = -1
  for (let i = 0; i < weights.length; i++) {
    const weight = weights[i]!
    if (weight > 0) {
      sum += weight
      if (u < sum) return i
      last = i
    }
  }
  return last
}
