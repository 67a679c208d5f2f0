import { lgamma } from "../bandit/Gamma.ts"
import { Phi } from "../bandit/Normal.ts"

// Tests of counts against the counts expected by chance. Pure.

/** Number of times a variant was chosen, and the number expected from its recorded probabilities. */
export interface ExpectedChoices {
  readonly copyId: string
  readonly observed: number
  /** Sum of the probabilities of the variant over all decisions for which it was eligible. */
  readonly expected: number
  /** Sum of `p (1 - p)` over these decisions. */
  readonly variance: number
}

/** Minimum variance for which the normal approximation of a count holds. */
const leastVariance = 10

/**
 * Returns the probability that chance alone moves any variant's count this far from its expectation (Bonferroni over
 * the variants). Decisions may have different probabilities. 1 if no variant has a variance of at least 10.
 */
export const sampleRatioProbability = (variants: ReadonlyArray<ExpectedChoices>): number => {
  const tested = variants.filter(({ variance }) => variance >= leastVariance)
  const smallest = tested.reduce((least, { expected, observed, variance }) => {
    // Half a count is the continuity correction.
    const distance = Math.max(0, Math.abs(observed - expected) - 0.5)
    return Math.min(least, 2 * Phi(-distance / Math.sqrt(variance)))
  }, 1)
  return Math.min(1, smallest * Math.max(1, tested.length))
}

/**
 * The upper tail of the chi-square distribution: the probability of more than `x` with `freedom` degrees of freedom.
 */
export const chiSquareTail = (x: number, freedom: number): number => {
  if (x <= 0) return 1
  const a = freedom / 2
  const half = x / 2
  const scale = Math.exp(a * Math.log(half) - half - lgamma(a))
  if (half < a + 1) {
    // The series of the lower incomplete gamma function.
    let term = 1 / a
    let sum = term
    for (let n = 1; n < 1_000 && term > sum * 1e-15; n++) sum += term *= half / (a + n)
    return Math.max(0, 1 - scale * sum)
  }
  // The continued fraction of the upper incomplete gamma function, by Lentz's method.
  let b = half + 1 - a
  let c = 1e300
  let d = 1 / b
  let fraction = d
  for (let n = 1; n < 1_000; n++) {
    const numerator = n * (a - n)
    b += 2
    d = 1 / (numerator * d + b)
    c = b + numerator / c
    const factor = c * d
    fraction *= factor
    if (Math.abs(factor - 1) < 1e-15) break
  }
  return scale * fraction
}

/** A part and the whole of a count. */
export interface Proportion {
  readonly some: number
  readonly all: number
}

/**
 * Returns the probability that chance alone makes equal shares differ this much (Pearson's test). 1 with fewer than two
 * groups.
 */
export const equalSharesProbability = (groups: ReadonlyArray<Proportion>): number => {
  const counted = groups.filter(({ all }) => all > 0)
  const some = counted.reduce((sum, group) => sum + group.some, 0)
  const all = counted.reduce((sum, group) => sum + group.all, 0)
  const share = some / all
  const tested = counted.filter((group) => group.all * share >= 5 && group.all * (1 - share) >= 5)
  if (tested.length < 2) return 1
  const statistic = tested.reduce(
    (sum, group) => sum + (group.some - group.all * share) ** 2 / (group.all * share * (1 - share)),
    0,
  )
  return chiSquareTail(statistic, tested.length - 1)
}
