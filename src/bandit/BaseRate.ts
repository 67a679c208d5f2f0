import type { Design } from "./VariantFit.ts"

/** Weight of the prior that shrinks the effect of an attribute value or day to zero. Unit: clicks. */
const pseudoClicks = 10

/** The data of the base rate: totals over all variants. */
interface BaseRateData {
  readonly design: Design
  readonly contexts: number
  readonly days: number
  /** Clicks in all, by coefficient of the design, and by day. Never negative. */
  readonly clicks: number
  readonly clicksByCoefficient: Float64Array
  readonly clicksByDay: Float64Array
}

/**
 * The base rate of a template, changed in place: log rate = `a0` + effects `f` of the context's values + effect `g` of
 * the day.
 */
export interface BaseRate {
  a0: number
  readonly f: Float64Array
  readonly g: Float64Array
}

/** Factor by which the attribute values of each context change the base rate. */
export const contextFactors = ({ coefficients, stride }: Design, f: Float64Array, out: Float64Array): void => {
  for (let c = 0; c < out.length; c++) {
    let sum = 0
    for (let j = c * stride; j < (c + 1) * stride; j++) if (coefficients[j]! >= 0) sum += f[coefficients[j]!]!
    out[c] = Math.exp(sum)
  }
}

/**
 * Improves the base rate by `sweeps` rounds of closed-form updates of level, attribute values and days, each with the
 * others held fixed. `exposure` contains, for context c and day d at `c * days + d`, the weighted, matured sends
 * multiplied by the relative rates of their variants. `a0Prior` is the log rate of one pseudo-click. The prior of every
 * effect is worth 10 pseudo-clicks at zero.
 */
export const improveBaseRate = (
  base: BaseRate,
  data: BaseRateData,
  exposure: Float64Array,
  a0Prior: number,
  sweeps: number,
): void => {
  const { contexts, clicksByDay, clicksByCoefficient, days, design: { coefficients, size, stride } } = data
  const { f, g } = base
  const factors = new Float64Array(contexts)
  const expectedByContext = new Float64Array(contexts)
  const expectedByCoefficient = new Float64Array(size)
  const expectedByDay = new Float64Array(days)
  const dayFactors = new Float64Array(days)
  const change = new Float64Array(size)
  const used = new Set(coefficients)
  // A value that returns after its absence starts without its former effect.
  for (let coefficient = 0; coefficient < size; coefficient++) if (!used.has(coefficient)) f[coefficient] = 0
  for (let sweep = 0; sweep < sweeps; sweep++) {
    contextFactors(data.design, f, factors)
    for (let d = 0; d < days; d++) dayFactors[d] = Math.exp(g[d]!)
    let expected = 0
    for (let c = 0; c < contexts; c++) {
      let sum = 0
      for (let d = 0, at = c * days; d < days; d++) sum += exposure[at + d]! * dayFactors[d]!
      expectedByContext[c] = sum * factors[c]!
      expected += expectedByContext[c]!
    }
    base.a0 += Math.log((data.clicks + 1) / (expected * Math.exp(base.a0) + Math.exp(base.a0 - a0Prior)))
    const level = Math.exp(base.a0)

    for (let j = 0; j < stride; j++) {
      expectedByCoefficient.fill(0)
      for (let c = 0; c < contexts; c++) {
        const coefficient = coefficients[c * stride + j]!
        if (coefficient >= 0) {
          expectedByCoefficient[coefficient] = expectedByCoefficient[coefficient]! + level * expectedByContext[c]!
        }
      }
      change.fill(0)
      for (let coefficient = 1; coefficient < size; coefficient++) {
        if (expectedByCoefficient[coefficient] === 0) continue
        // Clicks expected without the value's own effect.
        const next = improved(
          clicksByCoefficient[coefficient]!,
          expectedByCoefficient[coefficient]! * Math.exp(-f[coefficient]!),
        )
        change[coefficient] = next - f[coefficient]!
        f[coefficient] = next
      }
      for (let c = 0; c < contexts; c++) {
        const coefficient = coefficients[c * stride + j]!
        if (coefficient >= 0) expectedByContext[c] = expectedByContext[c]! * Math.exp(change[coefficient]!)
      }
    }

    contextFactors(data.design, f, factors)
    expectedByDay.fill(0)
    for (let c = 0; c < contexts; c++) {
      for (let d = 0, at = c * days; d < days; d++) {
        expectedByDay[d] = expectedByDay[d]! + exposure[at + d]! * factors[c]!
      }
    }
    for (let d = 0; d < days; d++) g[d] = improved(clicksByDay[d]!, level * expectedByDay[d]!)
  }
}

const improved = (clicks: number, expected: number): number =>
  Math.log((clicks + pseudoClicks) / (expected + pseudoClicks))
