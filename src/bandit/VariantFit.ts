import { factor, invert, packedIndex, packedLength, solve } from "./Cholesky.ts"

/** Log relative rates beyond this limit are cut off: e^6 is four hundred times the base rate. */
const largestEta = 6

/** Maximum change of a coefficient in one step. */
const largestStep = 1

/** The coefficients of each row (a context) of the regression, in addition to the intercept 0. */
export interface Design {
  /** Number of coefficients, including the intercept. */
  readonly size: number
  /** Attributes per context. */
  readonly stride: number
  /** Coefficients of context c from `c * stride` on, ascending; -1 if the context lacks the attribute. */
  readonly coefficients: Int32Array
}

/** Log relative rate of a context under coefficients `beta`, limited to -6 to 6. */
export const eta = ({ coefficients, stride }: Design, beta: Float64Array, context: number): number => {
  let sum = beta[0]!
  for (let j = context * stride, end = j + stride; j < end; j++) {
    const coefficient = coefficients[j]!
    if (coefficient >= 0) sum += beta[coefficient]!
  }
  return Math.max(-largestEta, Math.min(largestEta, sum))
}

/** The observations of one variant: rows `from` to `to` (exclusive) of the parallel arrays. */
export interface Rows {
  readonly contexts: Int32Array
  /** Clicks expected at the base rate. */
  readonly expected: Float64Array
  readonly clicks: Float64Array
  readonly from: number
  readonly to: number
}

/** Allocates the memory for a fit of `size` coefficients. It can be reused for the next variant. */
export const workspace = (size: number) => ({
  hessian: new Float64Array(packedLength(size)),
  step: new Float64Array(size),
})
type Workspace = ReturnType<typeof workspace>

const accumulate = (
  design: Design,
  rows: Rows,
  precision: Float64Array,
  center: number,
  beta: Float64Array,
  { hessian, step: gradient }: Workspace,
): void => {
  const { coefficients, size, stride } = design
  hessian.fill(0)
  for (let i = 0; i < size; i++) {
    hessian[packedIndex(i, i)] = precision[i]!
    gradient[i] = -precision[i]! * beta[i]!
  }
  gradient[0] = gradient[0]! + precision[0]! * center
  for (let r = rows.from; r < rows.to; r++) {
    const context = rows.contexts[r]!
    const lambda = rows.expected[r]! * Math.exp(eta(design, beta, context))
    const residual = rows.clicks[r]! - lambda
    gradient[0] = gradient[0]! + residual
    hessian[0] = hessian[0]! + lambda
    const start = context * stride
    for (let j = start; j < start + stride; j++) {
      const coefficient = coefficients[j]!
      if (coefficient < 0) continue
      gradient[coefficient] = gradient[coefficient]! + residual
      const row = packedIndex(coefficient, 0)
      hessian[row] = hessian[row]! + lambda
      hessian[row + coefficient] = hessian[row + coefficient]! + lambda
      for (let k = start; k < j; k++) {
        const other = coefficients[k]!
        if (other >= 0) hessian[row + other] = hessian[row + other]! + lambda
      }
    }
  }
}

/**
 * Fits the coefficients of one variant: clicks are Poisson with mean `expected * exp(eta)`, coefficient i is normal
 * with mean 0 (the intercept: `center`) and precision `precision[i]` > 0. Makes at most `steps` Newton steps on the
 * penalised likelihood from `beta`, which is changed in place. Afterwards `work.hessian` contains the posterior
 * covariance (Laplace approximation, packed lower triangle). Source: docs/model.md, "Fit"; D. Agarwal et al., "LASER"
 * (2014), for the method at scale.
 */
export const fitVariant = (
  design: Design,
  rows: Rows,
  precision: Float64Array,
  beta: Float64Array,
  work: Workspace,
  steps = 3,
  center = 0,
): void => {
  const { size } = design
  for (let n = 0; n < steps; n++) {
    accumulate(design, rows, precision, center, beta, work)
    factor(work.hessian, size)
    solve(work.hessian, size, work.step)
    let largest = 0
    for (let i = 0; i < size; i++) {
      const step = Math.max(-largestStep, Math.min(largestStep, work.step[i]!))
      beta[i] = beta[i]! + step
      largest = Math.max(largest, Math.abs(step))
    }
    if (largest < 1e-9) break
  }
  accumulate(design, rows, precision, center, beta, work)
  factor(work.hessian, size)
  invert(work.hessian, size)
}
