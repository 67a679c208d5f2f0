import { factor, invert, packedIndex, packedLength } from "./Cholesky.ts"
import type { Foretold } from "./Components.ts"
import { type Context, contextsOf } from "./Contexts.ts"
import { builtInsOf } from "./Mixture.ts"
import { contextSums, type ModelSnapshot, type Posterior, posterior, type VariantPosterior } from "./Model.ts"

/** A model over which choices average. */
export interface ModelPart {
  /** The probabilities of all parts sum to 1. */
  readonly probability: number
  /** As `posterior` of the whole model. */
  readonly posterior: (variant: VariantPosterior | undefined, context: Context, foretold?: Foretold) => Posterior
}

/** Parts with a smaller probability are left out. */
const negligible = 0.001

/** Coefficients of a variant that are known to be 0. */
interface Zeros {
  /** Packed inverse of their covariance, and its product with their means. */
  readonly inverse: Float64Array
  readonly shift: Float64Array
  /** Their covariance with the intercept. */
  readonly withIntercept: ReadonlyArray<number>
}

const covarianceOf = ({ covariance }: VariantPosterior, i: number, j: number): number =>
  covariance[packedIndex(Math.max(i, j), Math.min(i, j))]!

const zerosOf = (variant: VariantPosterior, places: ReadonlyArray<number>): Zeros => {
  const size = places.length
  const inverse = new Float64Array(packedLength(size))
  for (let a = 0; a < size; a++) {
    for (let b = 0; b <= a; b++) inverse[packedIndex(a, b)] = covarianceOf(variant, places[a]!, places[b]!)
  }
  factor(inverse, size)
  invert(inverse, size)
  const means = places.map((place) => variant.beta[place]!)
  const shift = Float64Array.from(places, (_, a) => product(inverse, places.map((_, b) => a === b ? 1 : 0), means))
  return { inverse, shift, withIntercept: places.map((place) => covarianceOf(variant, place, 0)) }
}

/** Returns `a' M b` for a packed symmetric matrix `M`. */
const product = (matrix: Float64Array, a: ReadonlyArray<number>, b: ReadonlyArray<number>): number => {
  let sum = 0
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < b.length; j++) sum += a[i]! * b[j]! * matrix[packedIndex(Math.max(i, j), Math.min(i, j))]!
  }
  return sum
}

/**
 * Returns the posterior of the model without the built-in attributes: the posterior of the whole model, given that
 * their coefficients are 0. It does not depend on the prior of these coefficients, and equals a fit without them as far
 * as the likelihood is normal.
 */
const withoutBuiltIns = (model: ModelSnapshot): ModelPart["posterior"] => {
  const contexts = contextsOf(model.scheme)
  const left = new Set(builtInsOf(contexts))
  const places = Array.from(contexts.attributeOf.keys()).filter((i) => left.has(contexts.attributeOf[i]!))
  const zeros = new Map<VariantPosterior, Zeros>()
  return (variant, { coefficients, key }, foretold) => {
    const own = coefficients.map((coefficient, j) => left.has(j) ? -1 : coefficient)
    if (variant === undefined) return posterior(model, undefined, { key, coefficients: own }, foretold)
    const known = zeros.getOrInsertComputed(variant, () => zerosOf(variant, places))
    const { inverse, shift, withIntercept } = known
    const sums = contextSums(variant, own)
    const cross = places.map((place, a) =>
      own.reduce((sum, i) => i < 0 ? sum : sum + covarianceOf(variant, place, i), withIntercept[a]!)
    )
    const mean = cross.reduce((sum, value, a) => sum - value * shift[a]!, sums.mean)
    const variance = sums.variance - product(inverse, cross, cross)
    const intercept = sums.withIntercept - product(inverse, cross, withIntercept)
    const predicted = foretold === undefined ? 0 : (intercept / model.tau0 ** 2) ** 2 * foretold.variance
    return { mean, sd: Math.sqrt(Math.max(0, variance + predicted)) }
  }
}

/** Returns the models over which choices average: with and without the built-in attributes. */
export const modelParts = (model: ModelSnapshot): ReadonlyArray<ModelPart> => {
  const withBuiltIns = model.builtInProbability ?? 1
  const whole: ModelPart["posterior"] = (variant, context, foretold) => posterior(model, variant, context, foretold)
  if (withBuiltIns > 1 - negligible) return [{ probability: 1, posterior: whole }]
  const plain = withoutBuiltIns(model)
  if (withBuiltIns < negligible) return [{ probability: 1, posterior: plain }]
  return [{ probability: withBuiltIns, posterior: whole }, { probability: 1 - withBuiltIns, posterior: plain }]
}

/** Mean and standard deviation of a variant's log rate over the parts of a model. */
export const mixed = (parts: ReadonlyArray<{ readonly probability: number } & Posterior>): Posterior => {
  if (parts.length === 1) return parts[0]!
  const mean = parts.reduce((sum, { mean, probability }) => sum + probability * mean, 0)
  const variance = parts.reduce((sum, own) => sum + own.probability * (own.sd ** 2 + (own.mean - mean) ** 2), 0)
  return { mean, sd: Math.sqrt(variance) }
}
