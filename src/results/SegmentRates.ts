import { BaseError } from "../bandit/BaseError.ts"
import { packedIndex } from "../bandit/Cholesky.ts"
import { cellsOf } from "../bandit/Cells.ts"
import { foretellings, interceptVariance } from "../bandit/Components.ts"
import { type ModelSnapshot, rate, type VariantPosterior } from "../bandit/Model.ts"

/** A model's rates of variants in segments, and the uncertainty of their sums. Variants and segments go by position. */
export class SegmentRates {
  readonly #model: ModelSnapshot
  readonly #ids: ReadonlyArray<string>
  readonly #variants: ReadonlyArray<VariantPosterior | undefined>
  readonly #features: ReadonlyArray<Int32Array>
  readonly #rates: ReadonlyArray<Float64Array>
  readonly #size: number
  readonly #attributeOf: ArrayLike<number>
  readonly #base: BaseError

  /** `segments` are ids of cells of the model's scheme. */
  constructor(model: ModelSnapshot, variants: ReadonlyArray<string>, segments: ReadonlyArray<string>) {
    const cells = cellsOf(model.scheme)
    const parsed = segments.map((segment) => cells.parse(segment))
    const known = new Map(model.variants.map((variant) => [variant.id, variant]))
    this.#model = model
    this.#size = cells.size
    this.#attributeOf = cells.attributeOf
    this.#base = new BaseError(model, cells)
    this.#ids = variants
    this.#variants = variants.map((id) => known.get(id))
    const foretold = model.components && foretellings(model.components)
    this.#features = parsed.map(({ features }) => features)
    this.#rates = this.#variants.map((variant, v) =>
      Float64Array.from(parsed, (cell) => rate(model, variant, cell, foretold?.(variants[v]!)))
    )
  }

  /** Objective per decision, on a day like the average one. */
  of(variant: number, segment: number): number {
    return this.#rates[variant]![segment]!
  }

  /**
   * The sum of a variant's rates with these weights by segment. `own` is its variance were the base rate known, `variance`
   * all of it.
   */
  sum(
    variant: number,
    weights: ArrayLike<number>,
  ): { readonly mean: number; readonly variance: number; readonly own: number } {
    const known = this.#variants[variant]
    const { mean, slopes } = this.#linear(variant, weights)
    const own = this.#variance(this.#ids[variant]!, known, slopes)
    return { mean, own, variance: own + this.#base.variance(this.#base.slopes(this.#ids[variant]!, known, slopes)) }
  }

  /** The sum over all variants, with weights by variant and segment: errors of the base rate that they share cancel. */
  total(weights: ReadonlyArray<ArrayLike<number>>): { readonly mean: number; readonly variance: number } {
    let shared: Float64Array | undefined
    let mean = 0
    let variance = 0
    weights.forEach((mine, variant) => {
      const known = this.#variants[variant]
      const { mean: part, slopes } = this.#linear(variant, mine)
      mean += part
      variance += this.#variance(this.#ids[variant]!, known, slopes)
      const moved = this.#base.slopes(this.#ids[variant]!, known, slopes)
      if (shared === undefined) shared = moved
      else for (let i = 0; i < moved.length; i++) shared[i] = shared[i]! + moved[i]!
    })
    return { mean, variance: shared === undefined ? 0 : variance + this.#base.variance(shared) }
  }

  /** The sum is nearly linear in the variant's coefficients: each moves it by as much as the rates that have it weigh. */
  #linear(variant: number, weights: ArrayLike<number>): { readonly mean: number; readonly slopes: Float64Array } {
    const rates = this.#rates[variant]!
    const slopes = new Float64Array(this.#size)
    let mean = 0
    for (let segment = 0; segment < rates.length; segment++) {
      const part = weights[segment]! * rates[segment]!
      if (part === 0) continue
      mean += part
      slopes[0]! += part
      for (const feature of this.#features[segment]!) if (feature >= 0) slopes[feature]! += part
    }
    return { mean, slopes }
  }

  #variance(id: string, variant: VariantPosterior | undefined, slopes: Float64Array): number {
    let variance = 0
    for (let i = 0; i < slopes.length; i++) {
      if (slopes[i] === 0) continue
      // Without data a variant is a draw from the variants' spread.
      if (variant === undefined) variance += (slopes[i]! * this.#spread(i, id)) ** 2
      else {
        for (let j = 0; j <= i; j++) {
          variance += (i === j ? 1 : 2) * slopes[i]! * slopes[j]! * variant.covariance[packedIndex(i, j)]!
        }
      }
    }
    return Math.max(0, variance)
  }

  /** Standard deviation of a coefficient among the variants. */
  #spread(coefficient: number, id: string): number {
    const { tau0, taus } = this.#model
    if (coefficient > 0) return taus[this.#attributeOf[coefficient]!]!
    return this.#base.knowsComponentsOf(id) ? tau0 : Math.sqrt(interceptVariance(this.#model))
  }
}
