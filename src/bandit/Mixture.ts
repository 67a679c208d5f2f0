import { factor, packedIndex, packedLength, solve } from "./Cholesky.ts"
import { builtIns, type Contexts } from "./Contexts.ts"
import type { Observations } from "./Observations.ts"
import { meanBy, spreadOf, spreads } from "./Spreads.ts"
import { eta } from "./VariantFit.ts"

// Choices average over the models with and without the built-in attributes. The data determine the probability of each.
// Source: docs/model.md, "Weekday and daypart by evidence".

/** Standard deviation of the effects of an attribute that counts as none. */
export const noSpread = 0.01

/** Candidates for the standard deviation of the effects of a built-in attribute that has effects. */
const builtInSpreads = [0.05, 0.1, 0.2, 0.4]

/** Standard deviation of the log of a learned attribute's spread before data: the spread may be many times as wide. */
const learnedWidth = 1

/** Added to the information about an attribute value, so that a value without data has an inverse. */
const ridge = 1e-6

/** Outcomes by variant and value of one attribute. The value `l` of variant `v` is at `v * values + l`. */
export interface ValueCounts {
  readonly values: number
  readonly outcomes: Float64Array
  /** Outcomes expected if the attribute has no effects. */
  readonly expected: Float64Array
}

/**
 * Returns the restricted log likelihood of a standard deviation of the effects of attribute values on single variants:
 * the level of each variant and the effect of each value on all variants are integrated out. Relative rates count as
 * normal. Source: H. Patterson, R. Thompson, "Recovery of inter-block information when block sizes are unequal"
 * (Biometrika, 1971).
 */
export const restrictedLogLikelihood = ({ expected, outcomes, values }: ValueCounts, spread: number): number => {
  const matrix = new Float64Array(packedLength(values))
  const sums = new Float64Array(values)
  const weights = new Float64Array(values)
  let log = 0
  for (let start = 0; start < expected.length; start += values) {
    let total = 0
    let mean = 0
    for (let l = 0; l < values; l++) {
      const e = expected[start + l]!
      weights[l] = e > 1e-9 ? e / (1 + spread ** 2 * e) : 0
      if (weights[l] === 0) continue
      total += weights[l]!
      mean += weights[l]! * (outcomes[start + l]! / e - 1)
    }
    if (total === 0) continue
    mean /= total
    log += (total * mean ** 2 - Math.log(total)) / 2
    for (let l = 0; l < values; l++) {
      const weight = weights[l]!
      if (weight === 0) continue
      const e = expected[start + l]!
      const relative = outcomes[start + l]! / e - 1
      log -= (Math.log(1 + spread ** 2 * e) + weight * relative ** 2) / 2
      sums[l] = sums[l]! + weight * (relative - mean)
      for (let k = 0; k <= l; k++) matrix[packedIndex(l, k)]! -= weight * weights[k]! / total
      matrix[packedIndex(l, l)]! += weight
    }
  }
  for (let l = 0; l < values; l++) matrix[packedIndex(l, l)]! += ridge
  factor(matrix, values)
  for (let l = 0; l < values; l++) log -= Math.log(matrix[packedIndex(l, l)]!)
  const solved = sums.slice()
  solve(matrix, values, solved)
  for (let l = 0; l < values; l++) log += sums[l]! * solved[l]! / 2
  return log
}

/** Whether an attribute has effects on single variants. */
export interface EffectEvidence {
  /** Log odds of the data alone in favour of effects. */
  readonly logOdds: number
  /** Mean standard deviation of the effects, if it has. */
  readonly spread: number
}

/** Compares the candidates for the standard deviation, which share the probability of effects evenly. */
export const effectEvidence = (counts: ValueCounts): EffectEvidence => {
  const none = restrictedLogLikelihood(counts, noSpread)
  const logs = builtInSpreads.map((spread) => restrictedLogLikelihood(counts, spread))
  const highest = Math.max(...logs)
  const mean = logs.reduce((sum, log) => sum + Math.exp(log - highest), 0) / logs.length
  return { logOdds: Math.log(mean) + highest - none, spread: meanBy(logs, builtInSpreads) }
}

/** Probability of effects, from the probability before data (default: 0.5) and the log odds of the data. */
export const withEffects = (before = 0.5, logOdds: number): number =>
  1 / (1 + (1 - before) / before * Math.exp(-logOdds))

/** Shares of templates with effects that `usualProbability` compares. */
const shares = Array.from({ length: 20 }, (_, i) => Math.sin(Math.PI / 2 * (i + 0.5) / 20) ** 2)

/**
 * Returns the probability that an attribute has effects in a template, from the log odds of the data of other
 * templates. Before data, each share of templates with effects is equally likely.
 */
export const usualProbability = (logOdds: ReadonlyArray<number>): number => {
  const logs = shares.map((share) =>
    logOdds.reduce((sum, odds) => sum + Math.log1p(share * Math.expm1(Math.min(700, odds))), 0)
  )
  return meanBy(logs, shares)
}

/** Indexes of the built-in attributes of a scheme. */
export const builtInsOf = ({ attributes, names }: Contexts): ReadonlyArray<number> =>
  names.flatMap((name, j) => j < attributes && builtIns.some((one) => one.name === name) ? [j] : [])

/**
 * Counts the outcomes of pairs by variant and value of attribute `j`. `expected` and `clicks` are by pair. The expected
 * outcomes include all effects except the effects of this attribute.
 */
const countValues = (
  j: number,
  { attributeOf }: Contexts,
  { contextOfPair, design, pairs, variants }: Observations,
  beta: ReadonlyArray<Float64Array>,
  expected: Float64Array,
  clicks: Float64Array,
): ValueCounts => {
  const first = attributeOf.indexOf(j)
  const values = attributeOf.lastIndexOf(j) + 1 - first
  const zeros = () => new Float64Array(variants.length * values)
  const counts = { values, outcomes: zeros(), expected: zeros() }
  beta.forEach((own, v) => {
    for (let p = pairs[v]!; p < pairs[v + 1]!; p++) {
      const context = contextOfPair[p]!
      const coefficient = design.coefficients[context * design.stride + j]!
      if (coefficient < 0) continue
      const at = v * values + coefficient - first
      counts.outcomes[at]! += clicks[p]!
      counts.expected[at]! += expected[p]! * Math.exp(eta(design, own, context) - own[coefficient]!)
    }
  })
  return counts
}

/**
 * Returns the standard deviation of the effects of each attribute and pair, without the built-in attributes. `usual`:
 * as of `spreadOf`, by index. Other arguments as of `countValues`.
 */
export const learnedSpreads = (
  contexts: Contexts,
  seen: Observations,
  beta: ReadonlyArray<Float64Array>,
  expected: Float64Array,
  clicks: Float64Array,
  usual: ReadonlyArray<number>,
): ReadonlyMap<number, number> => {
  const left = builtInsOf(contexts)
  return new Map(
    Array.from(contexts.names.keys()).filter((j) => !left.includes(j)).map((j) => {
      const counts = countValues(j, contexts, seen, beta, expected, clicks)
      return [j, spreadOf(spreads.map((spread) => restrictedLogLikelihood(counts, spread)), usual[j]!, learnedWidth)]
    }),
  )
}

/** The evidence for effects of each built-in attribute, by its name. Arguments as of `countValues`. */
export const builtInEvidence = (
  contexts: Contexts,
  seen: Observations,
  beta: ReadonlyArray<Float64Array>,
  expected: Float64Array,
  clicks: Float64Array,
): ReadonlyMap<string, EffectEvidence> =>
  new Map(
    builtInsOf(contexts).map((j) =>
      [contexts.names[j]!, effectEvidence(countValues(j, contexts, seen, beta, expected, clicks))] as const
    ),
  )
