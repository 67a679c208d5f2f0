import { factor, invert, packedIndex, packedLength, solve } from "./Cholesky.ts"
import { type Contexts, contextsOf } from "./Contexts.ts"
import { foretellings } from "./Components.ts"
import type { ModelSnapshot, VariantPosterior } from "./Model.ts"
import { excessOfMode } from "./PosteriorMean.ts"

/** The prior to put in the place of a model's own. */
export interface OtherPrior {
  /** Standard deviation of the variants' effects, by attribute of the scheme, the built-in ones and pairs included. */
  readonly taus: ReadonlyArray<number>
  /** The case of the effects of earlier exposures, by its number; the model's own effects and their uncertainty unless given. */
  readonly fatigueCase?: number | undefined
  /** Whether to give the means of the coefficients instead of their modes. Default: false. */
  readonly byMean?: boolean | undefined
}

/** A model under another prior. */
export interface OtherModel extends ModelSnapshot {
  /** Whether the coefficients are means, so that a rate has the mean of a log-normal law. */
  readonly byMean?: boolean
}

/** A model under another prior, and the logarithm of its marginal likelihood but for a constant; -Infinity if there is none. */
export interface Refitted {
  readonly model: OtherModel
  readonly logEvidence: number
}

/** The evidence of the data on the coefficients of a variant, as a normal law: its precision, and precision times mean. */
interface Evidence {
  readonly variant: VariantPosterior
  readonly precision: Float64Array
  readonly force: Float64Array
  /** Mean of the intercept that components foretell. */
  readonly center: number
}

/** Pseudo-clicks that hold the level of the base rate, and each effect of an attribute value on it; see `improveBaseRate`. */
const levelClicks = 1
const effectClicks = 10

/** Pivots below this are those of a matrix that is not positive definite. */
const smallestPivot = 1e-100

const multiply = (packed: Float64Array, vector: Float64Array): Float64Array => {
  const product = new Float64Array(vector.length)
  for (let i = 0, row = 0; i < vector.length; i++, row += i) {
    for (let k = 0; k < i; k++) {
      product[i] = product[i]! + packed[row + k]! * vector[k]!
      product[k] = product[k]! + packed[row + k]! * vector[i]!
    }
    product[i] = product[i]! + packed[row + i]! * vector[i]!
  }
  return product
}

const dot = (a: Float64Array, b: Float64Array): number => a.reduce((sum, value, i) => sum + value * b[i]!, 0)

/** Half the logarithm of the determinant of a factored matrix; NaN if the matrix was not positive definite. */
const halfLogDeterminant = (factored: Float64Array, size: number): number => {
  let sum = 0
  for (let i = 0; i < size; i++) {
    const pivot = factored[packedIndex(i, i)]!
    sum += pivot > smallestPivot ? Math.log(pivot) : NaN
  }
  return sum
}

const precisionsOf = (tau0: number, taus: ReadonlyArray<number>, { attributeOf, size }: Contexts): Float64Array =>
  Float64Array.from({ length: size }, (_, i) => 1 / (i === 0 ? tau0 : taus[attributeOf[i]!]!) ** 2)

/**
 * A fitted model, taken apart into the evidence of the data and the prior, so that another prior can take the place of its own. The
 * counts are not needed: the data count as normal laws of the coefficients, as in the Laplace approximation of the fit. The base
 * rate is found anew with the variants' coefficients integrated out. With its own prior the model comes out unchanged.
 */
export class Refit {
  readonly #model: ModelSnapshot
  readonly #contexts: Contexts
  readonly #tau0: number
  readonly #evidence: ReadonlyArray<Evidence>
  /** How much the prior of the base rate pulls at each of its coefficients. */
  readonly #basePull: Float64Array

  /** `fittedWith` is that of the model; `variants` those to look at. */
  constructor(
    model: ModelSnapshot,
    fittedWith: NonNullable<ModelSnapshot["fittedWith"]>,
    variants: ReadonlyArray<VariantPosterior> = model.variants,
  ) {
    const contexts = contextsOf(model.scheme)
    const { size } = contexts
    const prior = precisionsOf(fittedWith.tau0, fittedWith.taus, contexts)
    const foretold = model.components && foretellings(model.components)
    this.#model = model
    this.#contexts = contexts
    this.#tau0 = fittedWith.tau0
    this.#basePull = new Float64Array(size)
    this.#evidence = variants.map((variant) => {
      const precision = Float64Array.from(variant.covariance)
      precision[0] = precision[0]! - (variant.fatigue?.widened ?? 0)
      factor(precision, size)
      invert(precision, size)
      const center = foretold?.(variant.id).mean ?? 0
      const force = multiply(precision, Float64Array.from(variant.beta))
      force[0] = force[0]! - prior[0]! * center
      for (let i = 0; i < size; i++) {
        const at = packedIndex(i, i)
        precision[at] = precision[at]! - prior[i]!
        // The fit is where data and priors are in balance.
        this.#basePull[i] = this.#basePull[i]! - prior[i]! * (variant.beta[i]! - (i === 0 ? center : 0))
      }
      return { variant, precision, force, center }
    })
  }

  /** The model under another prior. */
  with({ byMean = false, fatigueCase, taus }: OtherPrior): Refitted {
    const size = this.#contexts.size
    const prior = precisionsOf(this.#tau0, taus, this.#contexts)
    const information = new Float64Array(packedLength(size))
    for (let i = 0; i < size; i++) information[packedIndex(i, i)] = i === 0 ? levelClicks : effectClicks
    const score = this.#basePull.slice()
    let logEvidence = 0
    const parts = this.#evidence.map((evidence) => {
      const part = fitPart(evidence, prior, fatigueCase)
      logEvidence += part.logEvidence
      // Add the evidence of the variant on the base rate, with its own coefficients integrated out.
      for (let i = 0; i < size; i++) {
        score[i] = score[i]! + prior[i]! * (part.mean[i]! - (i === 0 ? evidence.center : 0))
        for (let j = 0; j <= i; j++) {
          const at = packedIndex(i, j)
          information[at] = information[at]! + (i === j ? prior[i]! : 0) - prior[i]! * part.covariance[at]! * prior[j]!
        }
      }
      return part
    })
    factor(information, size)
    logEvidence -= halfLogDeterminant(information, size)
    const shift = score.slice()
    solve(information, size, shift)
    logEvidence += dot(score, shift) / 2
    const { a0, f } = this.#model
    const model = {
      ...this.#model,
      byMean,
      tau0: this.#tau0,
      taus,
      a0: a0 + shift[0]!,
      f: f.map((effect, i) => i === 0 ? effect : effect + shift[i]!),
      variants: parts.map(({ covariance, higher, mean, precision, variant }) => {
        // Were the base rate higher by `shift`, the coefficients would be lower by as much as the data say.
        const held = multiply(covariance, shift.map((value, i) => value * prior[i]!))
        const widened = fatigueCase === undefined ? variant.fatigue?.widened ?? 0 : 0
        const moved = mean.map((value, i) => value + held[i]! - variant.beta[i]! - (i === 0 ? higher : 0))
        const excess = byMean ? excessOfMode(precision, prior, covariance, moved, this.#contexts) : undefined
        return {
          ...variant,
          beta: Array.from(mean, (value, i) => value - shift[i]! + held[i]! - (excess?.[i] ?? 0)),
          covariance: Array.from(covariance, (value, at) => at === 0 ? value + widened : value),
        }
      }),
    }
    return { model, logEvidence: Number.isNaN(logEvidence) ? -Infinity : logEvidence }
  }
}

/** A variant's coefficients under a prior with this precision, with the base rate held. */
const fitPart = ({ center, force, precision, variant }: Evidence, prior: Float64Array, fatigueCase?: number) => {
  const size = prior.length
  const covariance = precision.slice()
  const pull = force.slice()
  pull[0] = pull[0]! + prior[0]! * center
  const higher = fatigueCase === undefined ? 0 : variant.fatigue?.cases[fatigueCase] ?? 0
  if (higher !== 0) {
    for (let i = 0; i < size; i++) pull[i] = pull[i]! + precision[packedIndex(i, 0)]! * higher
  }
  let logEvidence = -prior[0]! * center ** 2 / 2
  for (let i = 0; i < size; i++) {
    const at = packedIndex(i, i)
    covariance[at] = covariance[at]! + prior[i]!
    logEvidence += Math.log(prior[i]!) / 2
  }
  factor(covariance, size)
  logEvidence -= halfLogDeterminant(covariance, size)
  invert(covariance, size)
  const mean = multiply(covariance, pull)
  return { variant, precision, higher, covariance, mean, logEvidence: logEvidence + dot(pull, mean) / 2 }
}
