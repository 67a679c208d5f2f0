import { dayMillis } from "../bandit/Window.ts"
import { foldedHour, foldedHours, lookbackDays } from "./Attention.ts"
import type { Clocks } from "./Clocks.ts"
import { delayOf, epochMillis, noEngagement, quarterMillis, quarterOf } from "./Touch.ts"

// Whether the hours of the week differ in attention by more than chance. Pure. Engagements are compared with the
// engagements expected from the age of the messages alone (a log-rank test), because most messages are sent at a few
// hours and read soon.

/**
 * Number of hours in a block. Blocks are compared, separately on weekdays and at weekends, because single hours have
 * too few engagements.
 */
const blockHours = 4
const blockQuarters = 4 * blockHours
const blocks = foldedHours / blockHours

/** Number of ages at which a message can be engaged with. Unit: quarters of an hour. */
const ages = noEngagement

/** Length of the exposure in quarters of an hour. 0 if the message is too old or not sent yet. */
const lainOf = (code: number, nowMillis: number): number => {
  const sentMillis = epochMillis + quarterOf(code) * quarterMillis
  if (sentMillis > nowMillis || nowMillis - sentMillis > lookbackDays * dayMillis) return 0
  const delay = delayOf(code)
  return delay === noEngagement ? Math.min(ages, Math.floor((nowMillis - sentMillis) / quarterMillis) + 1) : delay + 1
}

/** Probability of engagement at each age of a message, over all hours. */
export class Ages {
  readonly #engaged = new Float64Array(ages + 1)
  readonly #ended = new Float64Array(ages + 1)

  add(code: number, nowMillis: number): void {
    const lain = lainOf(code, nowMillis)
    if (lain === 0) return
    this.#ended[lain]! += 1
    if (delayOf(code) !== noEngagement) this.#engaged[lain]! += 1
  }

  /** Expected engagements of a message before each age, in quarters of an hour: 289 values (Nelson–Aalen estimator). */
  cumulative(): Float64Array {
    const sums = new Float64Array(ages + 1)
    let lying = this.#ended.reduce((sum, count) => sum + count, 0)
    for (let age = 1; age <= ages; age++) {
      sums[age] = sums[age - 1]! + (lying === 0 ? 0 : this.#engaged[age]! / lying)
      lying -= this.#ended[age]!
    }
    return sums
  }
}

/**
 * Engagements and their expectation by age, summed over people by block of hours, with the sums of squares and products
 * over people, which measure the spread between people. A person is one observation, because one person's engagements
 * occur at similar hours.
 */
export interface Blocks {
  readonly engaged: Float64Array
  readonly expected: Float64Array
  readonly engagedSquared: Float64Array
  readonly expectedSquared: Float64Array
  readonly both: Float64Array
}

const five = <A>(make: () => A) => ({
  engaged: make(),
  expected: make(),
  engagedSquared: make(),
  expectedSquared: make(),
  both: make(),
})

/** Returns blocks without engagements. */
export const emptyBlocks = (): Blocks => five(() => new Float64Array(blocks))

/** Adds the counts of other people. */
export const addBlocks = (into: Blocks, other: Blocks): void => {
  for (const name of ["engaged", "expected", "engagedSquared", "expectedSquared", "both"] as const) {
    for (let block = 0; block < blocks; block++) into[name][block]! += other[name][block]!
  }
}

const engaged = new Float64Array(blocks)
const expected = new Float64Array(blocks)

/** Adds one person's engagements with some messages. `cumulative` comes from `Ages`. */
export const addPerson = (
  into: Blocks,
  codes: Iterable<number>,
  clocks: Clocks,
  nowMillis: number,
  cumulative: Float64Array,
): void => {
  engaged.fill(0)
  expected.fill(0)
  for (const code of codes) {
    const lain = lainOf(code, nowMillis)
    const sentMillis = epochMillis + quarterOf(code) * quarterMillis
    const start = Math.floor((sentMillis + clocks.offsetAt(sentMillis)) / quarterMillis)
    let block = 0
    for (let age = 0; age < lain;) {
      const at = start + age
      block = Math.floor(foldedHour(Math.floor(at / 4)) / blockHours)
      const end = Math.min(lain, age + blockQuarters - ((at % blockQuarters) + blockQuarters) % blockQuarters)
      expected[block]! += cumulative[end]! - cumulative[age]!
      age = end
    }
    if (lain > 0 && delayOf(code) !== noEngagement) engaged[block]! += 1
  }
  for (let block = 0; block < blocks; block++) {
    const y = engaged[block]!
    const x = expected[block]!
    into.engaged[block]! += y
    into.expected[block]! += x
    into.engagedSquared[block]! += y * y
    into.expectedSquared[block]! += x * x
    into.both[block]! += x * y
  }
}

/** The 95 % quantiles of chi-squared with 1, 2, … 11 degrees of freedom. */
const quantiles = [3.841, 5.991, 7.815, 9.488, 11.07, 12.592, 14.067, 15.507, 16.919, 18.307, 19.675]

/** Minimum expected engagements of a compared block. */
const leastExpected = 1

/**
 * Whether the blocks differ at the 5 % level: Pearson's statistic, divided by the overdispersion between people
 * (first-order correction of Rao and Scott). False with fewer than two comparable blocks.
 */
export const hoursDiffer = (counts: Blocks): boolean => {
  const rateOf = (some: ReadonlyArray<number>) =>
    some.reduce((sum, block) => sum + counts.engaged[block]!, 0) /
    some.reduce((sum, block) => sum + counts.expected[block]!, 0)
  const all = Array.from({ length: blocks }, (_, block) => block)
  const overall = rateOf(all)
  const compared = all.filter((block) => counts.expected[block]! * overall >= leastExpected)
  if (compared.length < 2) return false
  const rate = rateOf(compared)
  let statistic = 0
  let spread = 0
  for (const block of compared) {
    const mean = rate * counts.expected[block]!
    statistic += (counts.engaged[block]! - mean) ** 2 / mean
    spread += (counts.engagedSquared[block]! - 2 * rate * counts.both[block]! +
      rate * rate * counts.expectedSquared[block]!) / mean
  }
  return statistic * compared.length / spread > quantiles[compared.length - 2]!
}
