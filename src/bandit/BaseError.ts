import type { Contexts } from "./Contexts.ts"
import { factor, invert, packedIndex, packedLength } from "./Cholesky.ts"
import type { ModelSnapshot, VariantPosterior } from "./Model.ts"

/** Pseudo-clicks that hold the level of the base rate, and each effect of an attribute value on it; see `improveBaseRate`. */
const levelClicks = 1
const effectClicks = 10

/**
 * How uncertain the base rate is, and the effects of components, and what that does to the variants. The coefficients of a
 * variant are fitted with both held fixed; were the base rate higher by `b`, they would be lower by as much as the data say,
 * and stay where the prior holds them. So the log rates of a variant with much data hardly move, those of one without data
 * move by all of `b`; likewise where a component's effect moves the middle of the prior. This is the joint Laplace
 * approximation of base rate, components and variants, with the days' effects held fixed.
 */
export class BaseError {
  /** Precision of the prior of a variant's coefficients. */
  readonly #precision: Float64Array
  /** Packed covariance of the base rate's coefficients and, after them, the components' effects. */
  readonly #covariance: Float64Array
  readonly #size: number
  readonly #components: ReadonlyMap<string, ReadonlyArray<number>>
  #root: Float64Array | undefined

  /** The spreads of components' effects count as `leastSpread` at least. */
  constructor(model: ModelSnapshot, contexts: Contexts, leastSpread = 0) {
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
    const diagonal = Float64Array.from(
      { length: this.#size },
      (_, i) => Math.max(prior(i), information[packedIndex(i, i)]!),
    )
    factor(information, this.#size)
    // The prior alone gives larger pivots. The fit moved the shrinkage strengths after it had found the covariances; while
    // they still move a lot, the two do not match.
    const isSound = diagonal.every((_, i) => information[packedIndex(i, i)]! >= 0.5)
    if (isSound) invert(information, this.#size)
    else {
      information.fill(0)
      diagonal.forEach((precision, i) => information[packedIndex(i, i)] = 1 / precision)
    }
    this.#covariance = information
  }

  /** Whether the errors of its components' effects are among those drawn. */
  knowsComponentsOf(id: string): boolean {
    return this.#components.has(id)
  }

  /** What the data say of the base rate and the components' effects, with the variants' own coefficients integrated out. */
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
          // A component moves the intercept, and nothing else.
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

  /** How much a sum with these slopes by coefficient of a variant moves with each coefficient of the base rate and component. */
  slopes(id: string, variant: VariantPosterior | undefined, slopes: Float64Array): Float64Array {
    const moved = new Float64Array(this.#size)
    // Without data a variant moves with the base rate.
    moved.set(
      variant === undefined
        ? slopes
        : multiply(variant.covariance, slopes).map((value, i) => value * this.#precision[i]!),
    )
    for (const k of this.#components.get(id) ?? []) moved[this.#precision.length + k] = moved[0]!
    return moved
  }

  /** Variance of a sum with slopes as `slopes` gives them. */
  variance(slopes: Float64Array): number {
    const product = multiply(this.#covariance, slopes)
    return Math.max(0, slopes.reduce((sum, slope, i) => sum + slope * product[i]!, 0))
  }

  /** Variance of a sum of components' effects with these slopes. */
  componentVariance(slopes: Float64Array): number {
    return this.variance(this.#ofComponents(slopes))
  }

  /** How far the components' effects move when they are pulled with these forces. */
  componentShifts(forces: Float64Array): Float64Array {
    return multiply(this.#covariance, this.#ofComponents(forces)).slice(this.#precision.length)
  }

  #ofComponents(values: Float64Array): Float64Array {
    const all = new Float64Array(this.#size)
    all.set(values, this.#precision.length)
    return all
  }

  /** Draws an error of the base rate and the components' effects, as `shift` takes it. `normal` gives independent standard normal numbers. */
  draw(normal: () => number): Float64Array {
    const size = this.#size
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
      error[i] = (i === 0 ? sum + centre : sum) * (this.#precision[i] ?? 1)
    }
    return error
  }

  /** Adds to a variant's effects what such an error does to its log rates. */
  shift(id: string, variant: VariantPosterior | undefined, error: Float64Array, effects: Float64Array): void {
    const size = this.#precision.length
    const moved = error.slice(0, size)
    for (const k of this.#components.get(id) ?? []) moved[0] = moved[0]! + error[size + k]! * this.#precision[0]!
    if (variant === undefined) {
      for (let i = 0; i < size; i++) effects[i] = effects[i]! + moved[i]! / this.#precision[i]!
    } else addProduct(variant.covariance, moved, effects)
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
