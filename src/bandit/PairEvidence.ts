import { effectOdds } from "./AttributeEvidence.ts"
import type { AttributeScheme, Contexts } from "./Contexts.ts"
import type { Observations } from "./Observations.ts"
import { eta } from "./VariantFit.ts"

// Whether two attributes interact: the audience for which a variant does well may depend on the combination of two
// values, beyond the effect of each value. The data cannot determine the effects of all combinations of all pairs, so a
// pair is used only once the data are evidence for it.

/** Two attributes, and the log odds of the data in favour of effects of their combinations. */
export type PairEvidence = readonly [first: string, second: string, logOdds: number]

/** Maximum number of pairs in use, and of combinations of a pair. */
const mostPairs = 2
const mostCombinations = 50

/**
 * Evidence above which a pair is used, in addition to the logarithm of the number of pairs, and below which it is
 * dropped.
 */
const enough = 3
const tooLittle = 0

/**
 * Returns the evidence for each pair of attributes that are not built in: the clicks of each variant in each
 * combination, beyond the clicks that its other effects explain. If nearly all traffic of a combination goes to one
 * variant, an effect on all variants cannot be distinguished from an effect on that one, so it counts too. `expected`
 * are the clicks expected at the base rate and `clicks` the observed clicks, by pair of variant and context.
 */
export const pairEvidence = (
  contexts: Contexts,
  { contextOfPair, design, pairs, variants }: Observations,
  { beta, f }: { readonly beta: ReadonlyArray<Float64Array>; readonly f: Float64Array },
  expected: Float64Array,
  clicks: Float64Array,
): ReadonlyArray<PairEvidence> => {
  const candidates = contexts.candidatePairs(mostCombinations)
  if (candidates.length === 0 || variants.length < 2) return []
  const explained = new Float64Array(expected.length)
  for (let v = 0; v < variants.length; v++) {
    for (let p = pairs[v]!; p < pairs[v + 1]!; p++) {
      explained[p] = expected[p]! * Math.exp(eta(design, beta[v]!, contextOfPair[p]!))
    }
  }
  return candidates.map(({ combinationOf, combinations, first, names, offset, second }): PairEvidence => {
    const had = new Float64Array(variants.length * combinations)
    const due = new Float64Array(variants.length * combinations)
    for (let v = 0; v < variants.length; v++) {
      for (let p = pairs[v]!; p < pairs[v + 1]!; p++) {
        const row = contextOfPair[p]! * design.stride
        const combination = combinationOf(design.coefficients[row + first]!, design.coefficients[row + second]!)
        if (combination < 0) continue
        had[v * combinations + combination] = had[v * combinations + combination]! + clicks[p]!
        // Without this correction, a pair in use would explain its own evidence away.
        const own = offset === undefined ? 0 : f[offset + combination]! + beta[v]![offset + combination]!
        const at = v * combinations + combination
        due[at] = due[at]! + (own === 0 ? explained[p]! : explained[p]! * Math.exp(-own))
      }
    }
    return [...names, effectOdds({ had, due })]
  })
}

/**
 * Returns the scheme with the pairs that have enough evidence. Returns the object `scheme` itself if the pairs have not
 * changed.
 */
export const withPairs = (scheme: AttributeScheme, evidence: ReadonlyArray<PairEvidence>): AttributeScheme => {
  const inUse = scheme.pairs ?? []
  const has = (a: string, b: string) => inUse.some((pair) => pair.includes(a) && pair.includes(b))
  const pairs = evidence
    .filter(([a, b, logOdds]) => logOdds > (has(a, b) ? tooLittle : enough + Math.log(evidence.length)))
    .sort((a, b) => b[2] - a[2])
    .slice(0, mostPairs)
    .map(([a, b]) => [a, b] as const)
    .sort(([a, b], [c, d]) => a < c || (a === c && b < d) ? -1 : 1)
  if (pairs.length === inUse.length && pairs.every(([a, b]) => has(a, b))) return scheme
  const { pairs: _, ...rest } = scheme
  return pairs.length === 0 ? rest : { ...rest, pairs }
}
