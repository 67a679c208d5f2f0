import { packedIndex } from "../bandit/Cholesky.ts"
import { cellsOf } from "../bandit/Cells.ts"
import { type ModelSnapshot, rate, type VariantPosterior } from "../bandit/Model.ts"

/** What a model says of variants in segments: rates, and how sure sums of them are. Variants and segments go by position. */
export class SegmentRates {
  readonly #model: ModelSnapshot
  readonly #variants: ReadonlyArray<VariantPosterior | undefined>
  readonly #features: ReadonlyArray<Int32Array>
  readonly #rates: ReadonlyArray<Float64Array>
  readonly #size: number

  /** `segments` are ids of cells of the model's scheme. */
  constructor(model: ModelSnapshot, variants: ReadonlyArray<string>, segments: ReadonlyArray<string>) {
    const cells = cellsOf(model.scheme)
    const parsed = segments.map((segment) => cells.parse(segment))
    const known = new Map(model.variants.map((variant) => [variant.id, variant]))
    this.#model = model
    this.#size = cells.size
    this.#variants = variants.map((id) => known.get(id))
    this.#features = parsed.map(({ features }) => features)
    this.#rates = this.#variants.map((variant) => Float64Array.from(parsed, (cell) => rate(model, variant, cell)))
  }

  /** Objective per decision, on a day like the average one. */
  of(variant: number, segment: number): number {
    return this.#rates[variant]![segment]!
  }

  /** The sum of a variant's rates with these weights by segment, and its variance. */
  sum(variant: number, weights: ArrayLike<number>): { readonly mean: number; readonly variance: number } {
    const rates = this.#rates[variant]!
    // The sum is nearly linear in the variant's coefficients: each moves it by as much as the rates that have it weigh.
    const slopes = new Float64Array(this.#size)
    let mean = 0
    for (let segment = 0; segment < rates.length; segment++) {
      const part = weights[segment]! * rates[segment]!
      if (part === 0) continue
      mean += part
      slopes[0]! += part
      for (const feature of this.#features[segment]!) if (feature >= 0) slopes[feature]! += part
    }
    return { mean, variance: Math.max(0, this.#variance(this.#variants[variant], slopes)) }
  }

  #variance(variant: VariantPosterior | undefined, slopes: Float64Array): number {
    const moved: Array<number> = []
    for (let i = 0; i < slopes.length; i++) if (slopes[i] !== 0) moved.push(i)
    let variance = 0
    if (variant === undefined) {
      // A draw from the variants' spread; attributes are told apart finely enough by their average.
      const { tau0, taus } = this.#model
      const tau = taus.reduce((sum, one) => sum + one ** 2, 0) / Math.max(1, taus.length)
      for (const i of moved) variance += slopes[i]! ** 2 * (i === 0 ? tau0 ** 2 : tau)
      return variance
    }
    for (const i of moved) {
      for (const j of moved) {
        if (j > i) break
        variance += (i === j ? 1 : 2) * slopes[i]! * slopes[j]! * variant.covariance[packedIndex(i, j)]!
      }
    }
    return variance
  }
}
