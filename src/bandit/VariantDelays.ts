import { lgamma } from "./Gamma.ts"
import { type DelayCurve, delayCurve, type MaturityCounts } from "./Maturity.ts"

// Whether some variants get their clicks later than others. A slow variant has a low rate while its clicks are pending.
// But a curve per variant rests on few clicks, so variants share the template's curve until their delays are evidence
// against it.

/**
 * Candidates for the weight of the template's curve in a variant's curve, in clicks, and the prior probability of each.
 */
const strengths: ReadonlyArray<{ readonly clicks: number; readonly weight: number }> = [
  { clicks: 20, weight: 0.004 },
  { clicks: 80, weight: 0.008 },
  { clicks: 320, weight: 0.008 },
  { clicks: 1e6, weight: 0.98 },
]

/** Probability that all variants share one curve above which they do. */
const shared = 0.8

/** Log likelihood of `within` of `upTo` clicks under a beta-binomial distribution with this mean and prior count. */
const logBetaBinomial = (within: number, upTo: number, mean: number, count: number): number => {
  const a = count * mean
  const b = count * (1 - mean)
  if (!(upTo > 0 && a > 0 && b > 0)) return 0
  return lgamma(a + within) - lgamma(a) + lgamma(b + upTo - within) - lgamma(b) + lgamma(count) - lgamma(count + upTo)
}

/**
 * Returns the delay curves of variants by id, given the counts of each and the template's curve. Each variant's curve
 * is shrunk towards the template's curve, with a strength estimated from the delays of all variants. Empty as long as
 * variants probably share one curve.
 */
export const variantCurves = (
  counts: ReadonlyMap<string, MaturityCounts>,
  curve: DelayCurve,
): ReadonlyMap<string, DelayCurve> => {
  if (counts.size < 2) return new Map()
  const hazards = curve.slice(0, -1).map((share, j) => curve[j + 1]! > 0 ? 1 - share / curve[j + 1]! : 0)
  const logs = strengths.map(({ clicks, weight }) => {
    let log = Math.log(weight)
    for (const { upTo, within } of counts.values()) {
      for (let j = 1; j < hazards.length; j++) {
        log += logBetaBinomial(within[j]!, upTo[j]!, hazards[j]!, clicks * curve[j + 1]!)
      }
    }
    return log
  })
  const largest = Math.max(...logs)
  const likelihoods = logs.map((log) => Math.exp(log - largest))
  const sum = likelihoods.reduce((a, b) => a + b, 0)
  const weights = likelihoods.map((likelihood) => likelihood / sum)
  if (weights.at(-1)! > shared) return new Map()
  return new Map(Array.from(counts, ([id, own]) => {
    const candidates = strengths.map(({ clicks }) => delayCurve(own, curve, clicks))
    return [id, curve.map((_, j) => candidates.reduce((all, one, k) => all + weights[k]! * one[j]!, 0))] as const
  }))
}
