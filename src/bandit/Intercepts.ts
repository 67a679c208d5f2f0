import type { Foretold } from "./Components.ts"
import type { Contexts } from "./Contexts.ts"
import { builtInsOf } from "./Mixture.ts"
import type { Observations } from "./Observations.ts"
import { spreads } from "./Spreads.ts"
import { eta } from "./VariantFit.ts"

// Evidence of outcomes about the spread of the variants' intercepts. Source: docs/model.md, "Fit".

/** An intercept by the data alone: the mean and the variance of a normal distribution. */
export interface Intercept {
  readonly mean: number
  readonly variance: number
}

/** Outcomes of a variant, and the outcomes expected of it with an intercept of 0. */
export interface InterceptCounts {
  readonly outcomes: number
  readonly expected: number
}

/** Newton steps to the mode. Each moves it by at most 1. */
const steps = 8

/**
 * Up to this number of variants, spreads are cautious, because equal variants would be distinguished too often
 * otherwise. Source: bench/RESULTS.md, "Spreads by all outcomes".
 */
const fewest = 2

/** Expected outcomes that count as none. */
const none = 1e-6

/**
 * Returns what outcomes say about an intercept: the likelihood as a normal distribution around the mode of a posterior
 * with the standard deviation `tau0` around `center`. Returns undefined if no outcomes were expected.
 */
export const interceptOf = (
  { expected, outcomes }: InterceptCounts,
  center: number,
  tau0: number,
): Intercept | undefined => {
  if (!(expected > none)) return undefined
  let mode = center
  for (let step = 0; step < steps; step++) {
    const due = expected * Math.exp(mode)
    const change = (outcomes - due - (mode - center) / tau0 ** 2) / (due + 1 / tau0 ** 2)
    mode += Math.max(-1, Math.min(1, change))
  }
  const due = expected * Math.exp(mode)
  return { mean: mode + (outcomes - due) / due, variance: 1 / due }
}

/**
 * Returns the restricted log likelihood of each of the `spreads` of intercepts around what predicts them, with a level
 * that all variants share integrated out; with two variants, the level that fits best is taken. Of a prediction from the
 * same data, the variance was used up. `tau0`: the standard deviation with which it was made.
 */
export const spreadLogLikelihoods = (
  intercepts: ReadonlyArray<{ readonly data: Intercept | undefined; readonly predicted: Foretold }>,
  tau0: number,
): ReadonlyArray<number> =>
  spreads.map((spread) => {
    let log = 0
    let total = 0
    let sum = 0
    for (const { data, predicted } of intercepts) {
      if (data === undefined) continue
      const precision = 1 / (spread ** 2 + data.variance)
      const deviation = data.mean - predicted.mean
      const used = Math.min(1, predicted.variance / (tau0 ** 2 + data.variance))
      log += ((1 - used) * Math.log(precision) - precision * deviation ** 2) / 2
      total += precision
      sum += precision * deviation
    }
    if (total === 0) return 0
    const ofLevel = intercepts.length > fewest ? Math.log(total) : 0
    return log - (ofLevel - sum ** 2 / total) / 2
  })

/**
 * Returns by how much the variance of the weighted outcomes of each pair's variant is smaller than their number: 1 for
 * outcomes that count fully, and with two variants.
 */
export const weightsOf = (
  { contextOfPair, dayOfEntry, entries, exposureOfEntry, pairOfEntry, pairs, variants, weightOfDay }: Observations,
): Float64Array => {
  const weights = new Float64Array(contextOfPair.length).fill(1)
  if (variants.length <= fewest) return weights
  for (let v = 0, e = 0; v < variants.length; v++) {
    let sum = 0
    let squares = 0
    for (; e < entries && pairOfEntry[e]! < pairs[v + 1]!; e++) {
      sum += exposureOfEntry[e]!
      squares += exposureOfEntry[e]! * weightOfDay[dayOfEntry[e]!]!
    }
    if (sum > 0) weights.fill(squares / sum, pairs[v]!, pairs[v + 1]!)
  }
  return weights
}

/**
 * Counts the outcomes of variants without the effects of built-in attributes. `expected` and `clicks` are by pair. A
 * negative sum, of outcomes with costs, counts as none.
 */
export const interceptCounts = (
  contexts: Contexts,
  { contextOfPair, design, pairs }: Observations,
  beta: ReadonlyArray<Float64Array>,
  expected: Float64Array,
  clicks: Float64Array,
): ReadonlyArray<InterceptCounts> => {
  const builtIns = builtInsOf(contexts)
  return beta.map((own, v) => {
    const counts = { outcomes: 0, expected: 0 }
    for (let p = pairs[v]!; p < pairs[v + 1]!; p++) {
      const context = contextOfPair[p]!
      let left = own[0]!
      for (const j of builtIns) {
        const coefficient = design.coefficients[context * design.stride + j]!
        if (coefficient >= 0) left += own[coefficient]!
      }
      counts.outcomes += clicks[p]!
      counts.expected += expected[p]! * Math.exp(eta(design, own, context) - left)
    }
    return { ...counts, outcomes: Math.max(0, counts.outcomes) }
  })
}
