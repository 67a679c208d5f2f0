import type { Contexts } from "./Contexts.ts"
import { factor, invert, packedIndex, packedLength } from "./Cholesky.ts"
import type { ModelSnapshot, VariantPosterior } from "./Model.ts"
import type { OtherModel } from "./Refit.ts"

/**
 * Pseudo-clicks of the prior of the base rate's level, and of the prior of each effect of an attribute value; see
 * `improveBaseRate`.
 */
const levelClicks = 1
const effectClicks = 10

/** Precision of a level that is held fixed. */
const heldPrecision = 1e12

/**
 * Uncertainty of the base rate and of the components' effects, and its consequence for the variants. The coefficients
 * of a variant are fitted with both held fixed. If the base rate were higher by `b`, the coefficients would be lower as
 * far as the data determine them, and unchanged as far as the prior determines them. So the log rate of a variant with
 * much data hardly moves, and the log rate of a variant without data moves by `b`. A component's effect that moves the
 * middle of the prior acts alike. This is the joint Laplace approximation of base rate, components and variants, with
 * the days' effects held fixed.
 */
export class BaseError {
  /** Precision of the prior of a variant's coefficients. */
  readonly #precision: Float64Array
  /** Packed covariance of the base rate's coefficients, followed by the components' effects. */
  readonly #covariance: Float64Array
  readonly #size: number
  readonly #components: ReadonlyMap<string, ReadonlyArray<number>>

  /** `leastSpread` is the minimum spread of components' effects. Default: 0. */
  constructor(model: OtherModel, contexts: Contexts, leastSpread = 0) {
    const { size } = contexts
    const { components } = model
    this.#precision = Float64Array.from(
      { length: size },
      (_, i) => 1 / (i === 0 ? model.tau0 : model.taus[contexts.attributeOf[i]!]!) ** 2,
    )
    const spreads = components?.kinds.flatMap(({ tau, values }) => values.map(() => Math.max(leastSpread, tau))) ?? []
    this.#size = size + spreads.length
    this.#components = new Map(components?.variants)
    const prior = (i: number) => i === 0 ? levelClicks : i < size ? effectClicks : 1 / spreads[i - size]! ** 2
    const information = this.#informationOf(model)
    for (let i = 0; i < this.#size; i++) information[packedIndex(i, i)] = information[packedIndex(i, i)]! + prior(i)
    // The levels of the last days include the error of the level, so the level is held fixed.
    if (model.shared !== undefined) {
      for (let i = 1; i < this.#size; i++) information[packedIndex(i, 0)] = 0
      information[0] = heldPrecision
    }
    const diagonal = Float64Array.from(
      { length: this.#size },
      (_, i) => Math.max(prior(i), information[packedIndex(i, i)]!),
    )
    factor(information, this.#size)
    // The prior alone yields larger pivots. The fit moves the shrinkage strengths after it computes the covariances.
    // While the strengths still move a lot, the two do not match.
    const isSound = diagonal.every((_, i) => information[packedIndex(i, i)]! >= 0.5)
    if (isSound) invert(information, this.#size)
    else {
      information.fill(0)
      diagonal.forEach((precision, i) => information[packedIndex(i, i)] = 1 / precision)
    }
    this.#covariance = information
  }

  /** Whether `draw` includes the errors of the effects of this variant's components. */
  knowsComponentsOf(id: string): boolean {
    return this.#components.has(id)
  }

  /**
   * Information in the data about the base rate and the components' effects, with the variants' own coefficients
   * integrated out.
   */
  #informationOf({ variants }: ModelSnapshot): Float64Array {
    const precision = this.#precision
    const size = precision.length
    const information = new Float64Array(packedLength(this.#size))
    const add = (at: number, amount: number) => information[at] = information[at]! + amount
    for (const { covariance, id } of variants) {
      const own = this.#components.get(id) ?? []
      for (let i = 0; i < size; i++) {
        for (let j = 0; j <= i; j++) {
          const at = packedIndex(i, j)
          const amount = (i === j ? precision[i]! : 0) - precision[i]! * covariance[at]! * precision[j]!
          add(at, amount)
          if (j > 0) continue
          // A component moves only the intercept.
          for (const k of own) add(packedIndex(size + k, i), amount)
          if (i > 0) continue
          own.forEach((k, a) => {
            for (let b = 0; b <= a; b++) add(packedIndex(size + k, size + own[b]!), amount)
          })
        }
      }
    }
    return information
  }

  /**
   * Returns how much a linear function of a variant's coefficients, with the given `slopes`, moves with each
   * coefficient of the base rate and each component.
   */
  slopes(id: string, variant: VariantPosterior | undefined, slopes: Float64Array): Float64Array {
    const moved = new Float64Array(this.#size)
    // A variant without data moves with the base rate.
    moved.set(
      variant === undefined
        ? slopes
        : multiply(variant.covariance, slopes).map((value, i) => value * this.#precision[i]!),
    )
    for (const k of this.#components.get(id) ?? []) moved[this.#precision.length + k] = moved[0]!
    return moved
  }

  /** Variance of a linear function. `slopes` come from the method `slopes`. */
  variance(slopes: Float64Array): number {
    const product = multiply(this.#covariance, slopes)
    return Math.max(0, slopes.reduce((sum, slope, i) => sum + slope * product[i]!, 0))
  }

  /** Variance of a sum of components' effects with these slopes. */
  componentVariance(slopes: Float64Array): number {
    return this.variance(this.#ofComponents(slopes))
  }

  /** Returns how far the components' effects move under the given forces. */
  componentShifts(forces: Float64Array): Float64Array {
    return multiply(this.#covariance, this.#ofComponents(forces)).slice(this.#precision.length)
  }

  #ofComponents(values: Float64Array): Float64Array {
    const all = new Float64Array(this.#size)
    all.set(values, this.#precision.length)
    return all
  }

  /**
   * Draws `count` errors of the base rate and the components' effects for `forces`: all of the first coefficient, then all
   * of the second. `normal` returns independent standard normal numbers.
   */
  draw(count: number, normal: () => number): Float64Array {
    const size = this.#size
    const root = this.#covariance.slice()
    factor(root, size)
    const z = new Float64Array(size)
    const errors = new Float64Array(size * count)
    // The mean of the logarithm of a rate known from n outcomes is 1 / 2n below the logarithm of the mean rate.
    const centre = -this.#covariance[0]! / 2
    for (let d = 0; d < count; d++) {
      for (let i = 0; i < size; i++) z[i] = normal()
      for (let i = 0, row = 0; i < size; i++, row += i) {
        let sum = 0
        for (let k = 0; k <= i; k++) sum += root[row + k]! * z[k]!
        errors[i * count + d] = (i === 0 ? sum + centre : sum) * (this.#precision[i] ?? 1)
      }
    }
    return errors
  }

  /**
   * Returns the forces of the `count` errors from `draw` on a variant's coefficients, in the order of `errors`. The
   * coefficients move by the covariance of the variant times the force.
   */
  forces(id: string, errors: Float64Array, count: number): Float64Array {
    const own = this.#components.get(id) ?? []
    if (own.length === 0) return errors
    const forces = errors.slice(0, this.#precision.length * count)
    for (const k of own) {
      const first = (this.#precision.length + k) * count
      for (let d = 0; d < count; d++) forces[d] = forces[d]! + errors[first + d]! * this.#precision[0]!
    }
    return forces
  }
}

/** Adds the product of a symmetric matrix, as its packed lower triangle, and a vector. */
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
