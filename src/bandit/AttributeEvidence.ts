import type { AttributeOutcomesRow } from "./AttributeOutcomes.ts"

// How well an attribute predicts the outcomes of variants. Also covers attributes that the model does not use, and
// values that it does not distinguish.

/** Candidates for the standard deviation of the effects of values. */
const spreads: ReadonlyArray<number> = [0.1, 0.2, 0.4, 0.8]

/** Log odds of the data in favour of effects: of an attribute, and of each of its values. */
export interface AttributeEvidence {
  readonly logOdds: number
  readonly ofValue: ReadonlyMap<string, number>
}

/** Outcomes by value, and the outcomes expected without effects. The arrays have one element for each variant. */
type Cells = ReadonlyMap<string, { readonly had: Float64Array; readonly due: Float64Array }>

/** Logarithm of a ratio of marginal likelihoods, summed over cells, if effects have the standard deviation `spread`. */
const logOddsOf = (
  { due, had }: { readonly had: Float64Array; readonly due: Float64Array },
  spread: number,
): number => {
  let sum = 0
  for (let v = 0; v < had.length; v++) {
    const known = due[v]! * spread ** 2
    sum += ((had[v]! - due[v]!) ** 2 * spread ** 2 / (1 + known) - Math.log1p(known)) / 2
  }
  return sum
}

/** Log odds of outcomes in favour of effects, with the likeliest of the standard deviations. */
export const effectOdds = (...cells: ReadonlyArray<Parameters<typeof logOddsOf>[0]>): number =>
  Math.max(...spreads.map((spread) => cells.reduce((sum, cell) => sum + logOddsOf(cell, spread), 0)))

/**
 * Returns the evidence for effects of an attribute from the counts of its periods. Compares the outcomes of each
 * variant with each value to the outcomes expected at the variant's rate over all values of the period. `groupOf` maps
 * a counted value to the value of the scheme. `valueOf` returns the value of outcomes by their counts, in units of one
 * outcome.
 *
 * A value that moves all variants alike counts as evidence too, because it cannot be distinguished from a value that
 * moves one variant if nearly all of the traffic goes to that variant.
 */
export const attributeEvidence = (
  rows: ReadonlyArray<AttributeOutcomesRow>,
  groupOf: (value: string) => string,
  valueOf: (amounts: ReadonlyArray<number>) => number,
): AttributeEvidence => {
  const variants = new Map<string, number>()
  for (const { counts } of rows) {
    for (const variant of Object.keys(counts ?? {})) {
      if (!variants.has(variant)) variants.set(variant, variants.size)
    }
  }
  const cells = new Map<string, { readonly had: Float64Array; readonly due: Float64Array }>()
  for (const { counts } of rows) {
    for (const [variant, values] of Object.entries(counts ?? {})) {
      const v = variants.get(variant)!
      let decisions = 0
      let outcomes = 0
      for (const amounts of Object.values(values)) {
        decisions += amounts[0]!
        outcomes += valueOf(amounts)
      }
      const rate = Math.max(0, outcomes / decisions)
      for (const [value, amounts] of Object.entries(values)) {
        const group = groupOf(value)
        const cell = cells.getOrInsertComputed(
          group,
          () => ({ had: new Float64Array(variants.size), due: new Float64Array(variants.size) }),
        )
        cell.had[v] = cell.had[v]! + valueOf(amounts)
        cell.due[v] = cell.due[v]! + amounts[0]! * rate
      }
    }
  }
  // With a single variant, an attribute cannot change the choice.
  if (variants.size < 2) return { logOdds: 0, ofValue: new Map() }
  return {
    logOdds: effectOdds(...cells.values()),
    ofValue: new Map(Array.from(cells, ([value, cell]) => [value, effectOdds(cell)])),
  }
}
