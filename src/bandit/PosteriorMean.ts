import { packedIndex } from "./Cholesky.ts"
import type { Contexts } from "./Contexts.ts"

/** Coefficients with fewer expected outcomes are left as they are. */
const leastOutcomes = 1e-3

/** Smaller shares of a coefficient's outcomes are errors of rounding. */
const leastShare = 1e-9

/** The part of an expected outcome that a straight line misses after a change of its log rate, bounded for a large rise. */
const missed = (change: number): number => change > 0 ? change - Math.log1p(change) : change ** 2 / 2

const at = (packed: ArrayLike<number>, i: number, j: number): number =>
  i < j ? packed[packedIndex(j, i)]! : packed[packedIndex(i, j)]!

/**
 * Finds by how much the mode of a variant's coefficients under a new prior, by a normal law of the counts, is above the
 * mean of their posterior, to second order. Expected outcomes grow exponentially with the log rate, and the normal law takes
 * them to grow in a straight line. This makes it too high in two ways: after a change of the prior, the mode overshoots on the way up and
 * falls short on the way down, and its lower tail is too thin.
 *
 * `data` is the precision by the counts, `prior` that of the prior, `covariance` the inverse of their sum, and `moved`
 * the change of the coefficients since the fit of the counts. Attributes are taken to be independent of each other among
 * the contexts of a coefficient. Costs as many multiplications as coefficients times the squares of the attributes' values.
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
    // The variance of the mean log rate over the contexts: row `i` of `data` times `covariance` times the row.
    let spread = (own - prior[i]! + prior[i]! ** 2 * at(covariance, i, i)) / own ** 2
    for (let j = 0, first = 0, row = 0; j < size; j++, row += j) {
      if (j === 0 || attributeOf[j] !== attributeOf[j - 1]) first = j
      const share = shares[j] = at(data, i, j) / own
      if (share < leastShare) continue
      change += share * moved[j]!
      // Add the variation between the values of an attribute, of which a context has one.
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
