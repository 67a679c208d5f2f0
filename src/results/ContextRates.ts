import { BaseError } from "../bandit/BaseError.ts"
import { packedIndex } from "../bandit/Cholesky.ts"
import { type ContextKey, contextsOf } from "../bandit/Contexts.ts"
import { foretellings, interceptVariance } from "../bandit/Components.ts"
import { reportModels } from "../bandit/ReportModels.ts"
import { type ModelSnapshot, possible, posterior, rate, type VariantPosterior } from "../bandit/Model.ts"
import type { OtherModel } from "../bandit/Refit.ts"

/** A sum of rates with its variance. */
interface Sum {
  readonly mean: number
  readonly variance: number
}

/** Returns the mean of the means, and the variance within and between them. */
const mixed = (sums: ReadonlyArray<Sum>): Sum => {
  const average = (of: (sum: Sum) => number) => sums.reduce((total, sum) => total + of(sum), 0) / sums.length
  const mean = average((sum) => sum.mean)
  return { mean, variance: average((sum) => sum.variance + (sum.mean - mean) ** 2) }
}

/**
 * The rates of variants in contexts relative to each other, averaged over the models of a report, and the uncertainty of
 * their sums. Variants and contexts are identified by index.
 */
export class ContextRates {
  readonly #models: ReadonlyArray<ModelRates>

  /** `contexts` are keys of contexts of the model's scheme. */
  constructor(model: ModelSnapshot, variants: ReadonlyArray<string>, contexts: ReadonlyArray<ContextKey>) {
    this.#models = reportModels(model).map((one) => new ModelRates(one, variants, contexts))
  }

  /**
   * Returns a variant's rates by context relative to their mean, in which contexts have the weights of `exposures`. The
   * variant needs an exposure.
   */
  relative(variant: number, exposures: ArrayLike<number>): Float64Array {
    const sum = new Float64Array(exposures.length)
    for (const model of this.#models) {
      const scale = model.scale(variant, exposures) / this.#models.length
      for (let context = 0; context < sum.length; context++) sum[context]! += scale * model.of(variant, context)
    }
    return sum
  }

  /**
   * Returns the sum of the rates of `relative` over all variants, with weights by variant and context. Shared errors of
   * the base rate cancel.
   */
  total(weights: ReadonlyArray<ArrayLike<number>>, exposures: ReadonlyArray<ArrayLike<number>>): Sum {
    return mixed(this.#models.map((one) => one.total(weights, exposures)))
  }
}

/** The rates of one model. */
class ModelRates {
  readonly #model: ModelSnapshot
  readonly #ids: ReadonlyArray<string>
  readonly #variants: ReadonlyArray<VariantPosterior | undefined>
  readonly #coefficients: ReadonlyArray<Int32Array>
  readonly #rates: ReadonlyArray<Float64Array>
  readonly #size: number
  readonly #attributeOf: ArrayLike<number>
  readonly #base: BaseError

  constructor(model: OtherModel, variants: ReadonlyArray<string>, contexts: ReadonlyArray<ContextKey>) {
    const compiled = contextsOf(model.scheme)
    const parsed = contexts.map((key) => compiled.parse(key))
    const known = new Map(model.variants.map((variant) => [variant.id, variant]))
    this.#model = model
    this.#size = compiled.size
    this.#attributeOf = compiled.attributeOf
    this.#base = new BaseError(model, compiled)
    this.#ids = variants
    this.#variants = variants.map((id) => known.get(id))
    const foretold = model.components && foretellings(model.components)
    this.#coefficients = parsed.map(({ coefficients }) => coefficients)
    this.#rates = this.#variants.map((variant, v) =>
      Float64Array.from(parsed, (context) => {
        const known = foretold?.(variants[v]!)
        const middle = possible(model, rate(model, variant, context, known))
        if (model.byMean !== true || variant === undefined) return middle
        return possible(model, middle * Math.exp(posterior(model, variant, context, known).sd ** 2 / 2))
      })
    )
  }

  of(variant: number, context: number): number {
    return this.#rates[variant]![context]!
  }

  /** The factor by which the variant's rates become relative to their mean over the exposures. */
  scale(variant: number, exposures: ArrayLike<number>): number {
    const { mean } = this.#linear(variant, exposures)
    let all = 0
    for (let context = 0; context < exposures.length; context++) all += exposures[context]!
    return all / mean
  }

  total(weights: ReadonlyArray<ArrayLike<number>>, exposures: ReadonlyArray<ArrayLike<number>>): Sum {
    let shared: Float64Array | undefined
    let mean = 0
    let variance = 0
    weights.forEach((mine, variant) => {
      const known = this.#variants[variant]
      const due = this.#linear(variant, exposures[variant]!)
      const part = this.#linear(variant, mine)
      const scale = this.scale(variant, exposures[variant]!)
      mean += scale * part.mean
      const slopes = part.slopes.map((slope, i) => scale * (slope - part.mean * due.slopes[i]! / due.mean))
      variance += this.#variance(this.#ids[variant]!, known, slopes)
      const moved = this.#base.slopes(this.#ids[variant]!, known, slopes)
      if (shared === undefined) shared = moved
      else for (let i = 0; i < moved.length; i++) shared[i] = shared[i]! + moved[i]!
    })
    return { mean, variance: shared === undefined ? 0 : variance + this.#base.variance(shared) }
  }

  /**
   * Linearizes the sum in the variant's coefficients: the slope of a coefficient is the weight of the rates that
   * contain it.
   */
  #linear(variant: number, weights: ArrayLike<number>): { readonly mean: number; readonly slopes: Float64Array } {
    const rates = this.#rates[variant]!
    const slopes = new Float64Array(this.#size)
    let mean = 0
    for (let context = 0; context < rates.length; context++) {
      const part = weights[context]! * rates[context]!
      if (part === 0) continue
      mean += part
      slopes[0]! += part
      for (const coefficient of this.#coefficients[context]!) if (coefficient >= 0) slopes[coefficient]! += part
    }
    return { mean, slopes }
  }

  #variance(id: string, variant: VariantPosterior | undefined, slopes: Float64Array): number {
    let variance = 0
    for (let i = 0; i < slopes.length; i++) {
      if (slopes[i] === 0) continue
      // Without data, a variant is a draw from the variants' spread.
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
