import { foldedHours, type Histogram } from "./Attention.ts"

// Whether the hours of the week differ in attention by more than chance, given what each person did. Pure.

/** Hours are compared in blocks of four, on weekdays and at weekends: single hours have too few engagements. */
const blockHours = 4
const blocks = foldedHours / blockHours

/**
 * Sums over people from which the spread of engagements beyond their expectation follows, whatever rate is expected: of
 * engagements squared, of exposure squared, and of both multiplied, by block of hours. A person is one observation, since
 * the messages of one person are engaged with at the same hours.
 */
export interface BlockMoments {
  readonly engaged: Float64Array
  readonly exposed: Float64Array
  readonly both: Float64Array
}

export const emptyMoments = (): BlockMoments => ({
  engaged: new Float64Array(blocks),
  exposed: new Float64Array(blocks),
  both: new Float64Array(blocks),
})

/** The sum of a block's hours. */
const blockOf = (values: Float64Array, block: number): number => {
  let sum = 0
  for (let k = block * blockHours; k < (block + 1) * blockHours; k++) sum += values[k]!
  return sum
}

/** Adds the histogram of one person (not smoothed). */
export const addPerson = (into: BlockMoments, { engaged, exposed }: Histogram): void => {
  for (let block = 0; block < blocks; block++) {
    const y = blockOf(engaged, block)
    const x = blockOf(exposed, block)
    into.engaged[block]! += y * y
    into.exposed[block]! += x * x
    into.both[block]! += x * y
  }
}

/** Adds the moments of other people. */
export const addMoments = (into: BlockMoments, other: BlockMoments): void => {
  for (let block = 0; block < blocks; block++) {
    into.engaged[block]! += other.engaged[block]!
    into.exposed[block]! += other.exposed[block]!
    into.both[block]! += other.both[block]!
  }
}

/** The 95 % quantile of chi-squared with 1, 2, … 11 degrees of freedom. */
const quantiles = [3.841, 5.991, 7.815, 9.488, 11.07, 12.592, 14.067, 15.507, 16.919, 18.307, 19.675]

/** A block in which fewer engagements than this are expected tells nothing. */
const leastExpected = 1

/**
 * Whether the blocks differ at the 5 % level: Pearson's statistic against one rate for all, divided by how much more the
 * engagements of people spread than independent ones would (the first-order correction of Rao and Scott, which takes account
 * of the decay of touches too). False where two blocks cannot be compared yet.
 */
export const hoursDiffer = ({ engaged, exposed }: Histogram, moments: BlockMoments): boolean => {
  const counts: Array<readonly [block: number, y: number, x: number]> = []
  for (let block = 0; block < blocks; block++) counts.push([block, blockOf(engaged, block), blockOf(exposed, block)])
  const rateOf = (some: typeof counts) =>
    some.reduce((sum, [, y]) => sum + y, 0) / some.reduce((sum, [, , x]) => sum + x, 0)
  const overall = rateOf(counts)
  const compared = counts.filter(([, , x]) => x * overall >= leastExpected)
  if (compared.length < 2) return false
  const rate = rateOf(compared)
  const freedom = compared.length - 1
  let statistic = 0
  let spread = 0
  for (const [block, y, x] of compared) {
    const expected = rate * x
    statistic += (y - expected) ** 2 / expected
    spread += (moments.engaged[block]! - 2 * rate * moments.both[block]! + rate * rate * moments.exposed[block]!) /
      expected
  }
  return statistic * compared.length / spread > quantiles[freedom - 1]!
}
