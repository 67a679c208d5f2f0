import { packedIndex } from "./Cholesky.ts"
import type { Contexts } from "./Contexts.ts"

/** Coefficients with fewer expected outcomes are not corrected. */
const leastOutcomes = 1e-3

/** Smaller shares of a coefficient's outcomes are rounding errors. */
const leastShare = 1e-9

/**
 * The error of a linear approximation of an expected outcome after a change of its log rate, bounded for a large rise.
 */
const missed = (change: number): number => change > 0 ? change - Math.log1p(change) : change ** 2 / 2

const at = (packed: ArrayLike<number>, i: number, j: number): number =>
  i < j ? packed[packedIndex(j, i)]! : packed[packedIndex(i, j)]!

/**
 * Returns the difference between the mode of a variant's coefficients under a new prior, computed from a normal
 * approximation of the counts, and the mean of their posterior, to second order. Expected outcomes grow exponentially
 * with the log rate, but linearly in the normal approximation. So the approximation is too high for two reasons: after
 * a change of the prior, the mode overshoots on the way up and falls short on the way down, and its lower tail is too
 * thin.
 *
 * `data` is the precision of the counts, `prior` the precision of the prior, `covariance` the inverse of their sum, and
 * `moved` the change of the coefficients since the fit of the counts. Assumes that attributes are independent of each
 * other among the contexts of a coefficient. Cost in multiplications: the number of coefficients times the squares of
 * the attributes' numbers of values.
 */
export const excessOfMode = (
  data: Float64Array,
  prior: Float64Array,
  covariance: Float64Array,
  moved: Float64Array,
  { attributeOf, size }: Pick<Contexts, "attributeOf" | "size">,
): Float64Array => {
  const tame = moved.map((change) => change > 0 ? Math.log1p(change) : change)
  const force = new Float64Array(size)
  const shares = new Float64Array(size)
  for (let i = 0; i < size; i++) {
    const own = at(data, i, i)
    if (own < leastOutcomes) continue
    let change = 0
    // The variance of the mean log rate over the contexts: row `i` of `data` times `covariance` times that row.
    let spread = (own - prior[i]! + prior[i]! ** 2 * at(covariance, i, i)) / own ** 2
    for (let j = 0, first = 0, row = 0; j < size; j++, row += j) {
      if (j === 0 || attributeOf[j] !== attributeOf[j - 1]) first = j
      const share = shares[j] = at(data, i, j) / own
      if (share < leastShare) continue
      change += share * moved[j]!
      // Adds the variation between the values of an attribute, because a context has only one of them.
      spread += share * (1 - share) * (covariance[row + j]! + tame[j]! ** 2)
      let others = 0
      for (let k = first; k < j; k++) others += shares[k]! * (covariance[row + k]! + tame[j]! * tame[k]!)
      spread -= 2 * share * others
    }
    force[i] = own * (missed(change) + Math.max(0, spread) / 2)
  }
  return Float64Array.from({ length: size }, (_, i) => {
    let excess = 0
    for (let j = 0; j < size; j++) excess += at(covariance, i, j) * force[j]!
    return excess
  })
}
