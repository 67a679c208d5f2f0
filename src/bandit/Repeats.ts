import type { Counts } from "./Counts.ts"
import { dayMillis } from "./Window.ts"

// The evidence in the outcomes of a variant if some outcomes come from one person. Pure.

/** Age up to which earlier decisions about the person count. Unit: milliseconds. */
export const repeatMillis = 30 * dayMillis

/** Maximum number of earlier decisions of a person and variant that count for each decision. The latest ones count. */
export const mostRepeats = 200

/** A decision about a person, with its outcomes before and after a change, in the caller's order of outcomes. */
export interface PersonalOutcome {
  /** Time of the decision. Unit: Unix milliseconds. */
  readonly at: number
  readonly before: ReadonlyArray<number>
  readonly after: ReadonlyArray<number>
  /** Whether this decision changed. */
  readonly isChanged: boolean
}

/**
 * The amounts that a decision adds for each outcome that it has: `again` counts the person's earlier outcomes of that
 * kind for that variant, `seen` the earlier decisions.
 */
interface RepeatChange {
  /** Index of the decision in the list. */
  readonly place: number
  readonly again: ReadonlyArray<number>
  readonly seen: ReadonlyArray<number>
}

const hasAny = (amounts: ReadonlyArray<number>): boolean => {
  for (const amount of amounts) if (amount !== 0) return true
  return false
}

/**
 * Returns the changes of the repeats of one person and variant. `decisions` are sorted by time, earliest first. With
 * `isRecount`, unchanged decisions have no change of their own, because each of them is counted when its turn comes.
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

/** Weight of the average excess of all variants for a variant with few outcomes. Unit: outcomes. */
const borrowed = 5

interface VariantSum {
  sends: number
  readonly amounts: Array<number>
  readonly again: Array<number>
  readonly seen: Array<number>
}

/**
 * Returns the independence of each variant: the number of outcomes of different people that one of its outcomes is
 * worth, which is 1 over the design effect (L. Kish, "Survey Sampling", 1965). A variant that is absent from the result
 * has 1. The result is empty without repeats. `weightOf` and `maturityOf` accept the start of a bucket.
 *
 *     excess_v = 2 (again_v - r_v seen_v) / (Y_v (1 - r_v))        r_v = Y_v / N_v
 *     share_v  = 1 / (1 + max(0, excess_v, (Y_v excess_v + 5 excess) / (Y_v + 5)))
 *
 * The design effect compares the variance of outcomes summed by person with their variance if all outcomes came from
 * different people. Two outcomes of one person are less evidence than outcomes of two people if a person with one
 * outcome is likelier to have the next.
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
    // With several kinds of outcomes, the mean of their excesses, weighted by their shares of the variance.
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
