import { factor, invert, packedIndex, packedLength, solve } from "./Cholesky.ts"
import { type Contexts, contextsOf } from "./Contexts.ts"
import { foretellings } from "./Components.ts"
import type { LevelShift, ModelSnapshot, VariantPosterior } from "./Model.ts"
import { excessOfMode } from "./PosteriorMean.ts"

/** The prior that replaces the prior of a model. */
export interface OtherPrior {
  /** Standard deviation of the variants' effects, by attribute of the scheme, including built-in ones and pairs. */
  readonly taus: ReadonlyArray<number>
  /** Index of the case of the effects of earlier exposures. Default: the model's own effects and their uncertainty. */
  readonly fatigueCase?: number | undefined
  /** Whether to return the means of the coefficients instead of their modes. Default: false. */
  readonly byMean?: boolean | undefined
}

/** A model under another prior. */
export interface OtherModel extends ModelSnapshot {
  /** Whether the coefficients are means, so that a rate is the mean of a log-normal distribution. */
  readonly byMean?: boolean
  /**
   * Deviation of the log rate that all variants share, by variant in the order of `variants`, and of a variant without
   * data. Absent: the variants share the error of the base rate.
   */
  readonly shared?: ReadonlyArray<number>
  readonly common?: LevelShift
}

/**
 * A model under another prior, and the logarithm of its marginal likelihood up to a constant; -Infinity if the
 * likelihood does not exist.
 */
interface Refitted {
  readonly model: OtherModel
  readonly logEvidence: number
}

/**
 * The information in the data about the coefficients of a variant, as a normal distribution: its precision, and
 * precision times mean.
 */
interface Evidence {
  readonly variant: VariantPosterior
  readonly precision: Float64Array
  readonly force: Float64Array
  /** Mean of the intercept that the components predict. */
  readonly center: number
}

/**
 * Pseudo-clicks of the prior of the base rate's level, and of the prior of each effect of an attribute value; see
 * `improveBaseRate`.
 */
const levelClicks = 1
const effectClicks = 10

/** A pivot below this value shows that a matrix is not positive definite. */
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

/** Half the logarithm of the determinant of a factored matrix. NaN if the matrix was not positive definite. */
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
 * A fitted model, separated into the information in the data and the prior, so that the prior can be replaced. The
 * counts are not needed: normal distributions of the coefficients represent the data, as in the Laplace approximation
 * of the fit. The base rate is fitted again with the variants' coefficients integrated out. With the model's own prior,
 * the result equals the model.
 */
export class Refit {
  readonly #model: ModelSnapshot
  readonly #contexts: Contexts
  readonly #tau0: number
  readonly #evidence: ReadonlyArray<Evidence>
  /** Force of the prior of the base rate on each of its coefficients. */
  readonly #basePull: Float64Array

  /** `fittedWith` comes from the model. `variants` are the variants to refit. */
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
        // At the fit, the forces of the data and of the priors are in balance.
        this.#basePull[i] = this.#basePull[i]! - prior[i]! * (variant.beta[i]! - (i === 0 ? center : 0))
      }
      return { variant, precision, force, center }
    })
  }

  /** Returns the model under another prior. */
  with({ byMean = false, fatigueCase, taus }: OtherPrior): Refitted {
    const tau0 = this.#tau0
    const size = this.#contexts.size
    const prior = precisionsOf(tau0, taus, this.#contexts)
    const information = new Float64Array(packedLength(size))
    for (let i = 0; i < size; i++) information[packedIndex(i, i)] = i === 0 ? levelClicks : effectClicks
    const score = this.#basePull.slice()
    let logEvidence = 0
    const parts = this.#evidence.map((evidence) => {
      const part = fitPart(evidence, prior, fatigueCase)
      logEvidence += part.logEvidence
      // Adds the information of the variant about the base rate, with its own coefficients integrated out.
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
      tau0,
      taus,
      a0: a0 + shift[0]!,
      f: f.map((effect, i) => i === 0 ? effect : effect + shift[i]!),
      variants: parts.map(({ covariance, higher, mean, precision, variant }) => {
        // If the base rate is higher by `shift`, the coefficients are lower as far as the data determine them.
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

/** A variant's coefficients under a prior with this precision, with the base rate fixed. */
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
