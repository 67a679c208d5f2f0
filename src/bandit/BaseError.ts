import type { Cells } from "./Cells.ts"
import { factor, invert, packedIndex, packedLength } from "./Cholesky.ts"
import type { ModelSnapshot, VariantPosterior } from "./Model.ts"

/** Pseudo-clicks that hold the level of the base rate, and each effect of an attribute value on it; see `improveBaseRate`. */
const levelClicks = 1
const effectClicks = 10

/**
 * How uncertain the base rate is, and what that does to the variants. The coefficients of a variant are fitted with the
 * base rate held fixed; were the base rate higher by `b`, they would be lower by as much as the data say, and stay where
 * the prior holds them. So the log rates of a variant with much data hardly move, those of one without data move by all of
 * `b`: the joint Laplace approximation of base rate and variants, with the days' effects held fixed.
 */
export class BaseError {
  /** Precision of the prior of a variant's coefficients. */
  readonly #precision: Float64Array
  /** Packed covariance of the base rate's coefficients. */
  readonly #covariance: Float64Array
  #root: Float64Array | undefined

  constructor(model: ModelSnapshot, cells: Cells) {
    const { size } = cells
    this.#precision = Float64Array.from(
      { length: size },
      (_, i) => 1 / (i === 0 ? model.tau0 : model.taus[cells.attributeOf[i]!]!) ** 2,
    )
    const information = new Float64Array(packedLength(size))
    const prior = (i: number) => i === 0 ? levelClicks : effectClicks
    for (let i = 0; i < size; i++) {
      for (let j = 0; j <= i; j++) {
        const at = packedIndex(i, j)
        let sum = 0
        for (const { covariance } of model.variants) {
          sum -= this.#precision[i]! * covariance[at]! * this.#precision[j]!
          if (i === j) sum += this.#precision[i]!
        }
        information[at] = sum + (i === j ? prior(i) : 0)
      }
    }
    const diagonal = Float64Array.from({ length: size }, (_, i) => Math.max(prior(i), information[packedIndex(i, i)]!))
    factor(information, size)
    // The prior alone gives larger pivots. The fit moved the shrinkage strengths after it had found the covariances; while
    // they still move a lot, the two do not match.
    const isSound = diagonal.every((_, i) => information[packedIndex(i, i)]! >= 0.5)
    if (isSound) invert(information, size)
    else {
      information.fill(0)
      diagonal.forEach((precision, i) => information[packedIndex(i, i)] = 1 / precision)
    }
    this.#covariance = information
  }

  /** How much a sum with these slopes by coefficient of a variant moves with each coefficient of the base rate. */
  slopes(variant: VariantPosterior | undefined, slopes: Float64Array): Float64Array {
    // Without data a variant moves with the base rate.
    if (variant === undefined) return slopes
    return multiply(variant.covariance, slopes).map((value, i) => value * this.#precision[i]!)
  }

  /** Variance of a sum with these slopes by coefficient of the base rate. */
  variance(slopes: Float64Array): number {
    const product = multiply(this.#covariance, slopes)
    return Math.max(0, slopes.reduce((sum, slope, i) => sum + slope * product[i]!, 0))
  }

  /** Draws an error of the base rate, as `shift` takes it. `normal` gives independent standard normal numbers. */
  draw(normal: () => number): Float64Array {
    const size = this.#precision.length
    if (this.#root === undefined) {
      this.#root = this.#covariance.slice()
      factor(this.#root, size)
    }
    const z = new Float64Array(size)
    for (let i = 0; i < size; i++) z[i] = normal()
    const error = new Float64Array(size)
    // The logarithm of a rate known from n outcomes has its mean 1 / 2n below the logarithm of the rate's mean.
    const centre = -this.#covariance[0]! / 2
    for (let i = 0, row = 0; i < size; i++, row += i) {
      let sum = 0
      for (let k = 0; k <= i; k++) sum += this.#root[row + k]! * z[k]!
      error[i] = (i === 0 ? sum + centre : sum) * this.#precision[i]!
    }
    return error
  }

  /** Adds to a variant's effects what an error of the base rate does to its log rates. */
  shift(variant: VariantPosterior | undefined, error: Float64Array, effects: Float64Array): void {
    if (variant === undefined) {
      for (let i = 0; i < error.length; i++) effects[i] = effects[i]! + error[i]! / this.#precision[i]!
    } else addProduct(variant.covariance, error, effects)
  }
}

/** Adds the product of a symmetric matrix, given by its packed lower triangle, and a vector. */
const addProduct = (packed: ArrayLike<number>, vector: Float64Array, to: Float64Array): void => {
  for (let i = 0, row = 0; i < vector.length; i++, row += i) {
    const mine = vector[i]!
    let sum = packed[row + i]! * mine
    for (let k = 0; k < i; k++) {
      const entry = packed[row + k]!
      sum += entry * vector[k]!
      to[k] = to[k]! + entry * mine
    }
    to[i] = to[i]! + sum
  }
}

const multiply = (packed: ArrayLike<number>, vector: Float64Array): Float64Array => {
  const product = new Float64Array(vector.length)
  addProduct(packed, vector, product)
  return product
}
