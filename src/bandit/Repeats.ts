import type { Counts } from "./Counts.ts"
import { dayMillis } from "./Window.ts"

// The evidence in the outcomes of a variant if some outcomes come from the same people. Pure.

/** Earlier decisions about the same person count within this time. Unit: milliseconds. */
export const repeatMillis = 30 * dayMillis

/** Most earlier decisions of a person and variant that count for each decision, the latest ones. */
export const mostRepeats = 200

/** A decision about a person, with its outcomes before and after a change, in the order of some list of outcomes. */
export interface PersonalOutcome {
  /** Unix milliseconds. */
  readonly at: number
  readonly before: ReadonlyArray<number>
  readonly after: ReadonlyArray<number>
  /** Whether this decision changed. */
  readonly isChanged: boolean
}

/**
 * What a decision adds for each outcome that it has: `again` counts the earlier outcomes of the same kind by the same person for
 * the same variant, `seen` the earlier decisions.
 */
export interface RepeatChange {
  /** Place of the decision in the list. */
  readonly place: number
  readonly again: ReadonlyArray<number>
  readonly seen: ReadonlyArray<number>
}

const hasAny = (amounts: ReadonlyArray<number>): boolean => {
  for (const amount of amounts) if (amount !== 0) return true
  return false
}

/**
 * Changes of the repeats of one person and variant; `decisions` has the earliest first. With `isRecount` the decisions that
 * did not change have no change of their own: each of them is counted in its turn.
 */
export const repeatChanges = (
  decisions: ReadonlyArray<PersonalOutcome>,
  isRecount = false,
): ReadonlyArray<RepeatChange> => {
  const changes: Array<RepeatChange> = []
  const isTold = decisions.map(({ after, before }) => hasAny(before) || hasAny(after))
  let first = 0
  decisions.forEach(({ after, at, before, isChanged }, place) => {
    while (decisions[first]!.at < at - repeatMillis || place - first > mostRepeats) first++
    if ((isRecount && !isChanged) || !isTold[place]!) return
    const again = after.map(() => 0)
    const earlier = place - first
    for (let i = first; i < place; i++) {
      const other = decisions[i]!
      if (!isTold[i]! || (!isChanged && !other.isChanged)) continue
      for (let k = 0; k < again.length; k++) {
        again[k] = again[k]! + after[k]! * other.after[k]! - before[k]! * other.before[k]!
      }
    }
    const seen = after.map((amount, k) => isChanged ? (amount - before[k]!) * earlier : 0)
    if (hasAny(again) || hasAny(seen)) changes.push({ place, again, seen })
  })
  return changes
}

/** Repeats of a variant's decisions in one bucket, by the places of the valuation. */
export interface VariantRepeats {
  readonly variant: string
  /** Start of the bucket, Unix milliseconds. */
  readonly start: number
  readonly again: ReadonlyArray<number>
  readonly seen: ReadonlyArray<number>
}

/** Weight with which a variant with few outcomes borrows the excess of the others. Unit: outcomes. */
const borrowed = 5

interface VariantSum {
  sends: number
  readonly amounts: Array<number>
  readonly again: Array<number>
  readonly seen: Array<number>
}

/**
 * The independence of each variant: how many outcomes of different people one of its outcomes is worth. 1 over the design effect
 * (L. Kish, "Survey Sampling", 1965). Variants that are absent have 1; without repeats there are none. `weightOf` and
 * `maturityOf` take the start of a bucket.
 *
 *     excess_v = 2 (again_v - r_v seen_v) / (Y_v (1 - r_v))        r_v = Y_v / N_v
 *     share_v  = 1 / (1 + max(0, excess_v, (Y_v excess_v + 5 excess) / (Y_v + 5)))
 *
 * The design effect compares the variance of the outcomes added up by person with their variance if all people were different.
 * Two outcomes of one person are less evidence than outcomes of two people if a person who had one is likelier to have the next.
 */
export const independence = (
  counts: Counts,
  weightOf: (start: number) => number,
  maturityOf: (start: number) => number,
): ReadonlyMap<string, number> => {
  const repeats = counts.repeats()
  if (repeats.length === 0) return new Map()
  const { countedBy, squares } = counts.valuation
  const sums = new Map<string, VariantSum>()
  const sumOf = (variant: string): VariantSum => {
    let sum = sums.get(variant)
    if (sum === undefined) {
      const zeros = () => squares.map(() => 0)
      sums.set(variant, sum = { sends: 0, amounts: zeros(), again: zeros(), seen: zeros() })
    }
    return sum
  }
  const addTo = (to: Array<number>, weight: number, amounts: ReadonlyArray<number>) =>
    amounts.forEach((amount, k) => to[k] = to[k]! + weight * amount)
  for (const [variant, buckets] of counts.variantTotals()) {
    const sum = sumOf(variant)
    for (const [start, row] of buckets) {
      const weight = weightOf(start)
      if (weight === 0) continue
      sum.sends += weight * maturityOf(start) * row[0]!
      for (let k = 1; k < row.length; k++) sum.amounts[k - 1] = sum.amounts[k - 1]! + weight * row[k]!
    }
  }
  for (const { again, seen, start, variant } of repeats) {
    const weight = weightOf(start)
    const sum = sumOf(variant)
    addTo(sum.again, weight, again)
    addTo(sum.seen, weight, seen)
  }
  const found = Array.from(sums, ([variant, { again, amounts, seen, sends }]) => {
    // Several kinds of outcomes: the mean of their excesses, weighted by their parts of the variance.
    let variance = 0
    let excess = 0
    let outcomes = 0
    squares.forEach((square, k) => {
      const own = square * Math.max(0, amounts[k]!)
      if (own === 0) return
      const by = countedBy?.[k] ?? k
      const count = amounts[by]!
      const rate = sends > 0 ? Math.min(0.95, count / sends) : 0
      variance += own
      outcomes += count
      if (count > 0) excess += own * Math.max(0, 2 * (again[by]! - rate * seen[by]!) / (count * (1 - rate)))
    })
    return { variant, outcomes, excess: variance > 0 ? excess / variance : 0 }
  })
  const all = found.reduce((sum, { outcomes }) => sum + outcomes, 0)
  const common = all > 0 ? found.reduce((sum, { excess, outcomes }) => sum + outcomes * excess, 0) / all : 0
  return new Map(found.flatMap(({ excess, outcomes, variant }) => {
    const most = Math.max(excess, (outcomes * excess + borrowed * common) / (outcomes + borrowed))
    return most > 0 ? [[variant, 1 / (1 + most)] as const] : []
  }))
}
