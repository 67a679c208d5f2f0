import { assert, describe, it } from "@effect/vitest"
import { Counts } from "../../src/bandit/Counts.ts"
import {
  independence,
  mostRepeats,
  type PersonalOutcome,
  repeatChanges,
  repeatMillis,
} from "../../src/bandit/Repeats.ts"
import { dayMillis } from "../../src/bandit/Window.ts"
import { chance } from "../../src/simulation/Chance.ts"

const total = (decisions: ReadonlyArray<PersonalOutcome>, isRecount = false) =>
  repeatChanges(decisions, isRecount).reduce<readonly [again: number, seen: number]>(
    ([again, seen], change) => [again + change.again[0]!, seen + change.seen[0]!],
    [0, 0],
  )

const changed = (at: number, before: number, after: number): PersonalOutcome => ({
  at,
  before: [before],
  after: [after],
  isChanged: true,
})
const known = (at: number, outcome: number): PersonalOutcome => ({
  at,
  before: [outcome],
  after: [outcome],
  isChanged: false,
})

describe("repeats of a person", () => {
  it("are counted at each outcome as earlier outcomes and earlier decisions", () => {
    const changes = repeatChanges([known(0, 1), known(1, 0), known(2, 1), changed(3, 0, 1)])
    assert.deepStrictEqual(changes, [{ place: 3, again: [2], seen: [3] }])
  })

  it("are counted at later outcomes if an earlier decision is clicked late", () => {
    const changes = repeatChanges([changed(0, 0, 1), known(1, 0), known(2, 1)])
    assert.deepStrictEqual(changes, [{ place: 2, again: [1], seen: [0] }])
  })

  it("are withdrawn with an outcome that turns out to be a machine's", () => {
    assert.deepStrictEqual(total([known(0, 1), changed(1, 0, 1), known(2, 1)]), [2, 1])
    assert.deepStrictEqual(total([known(0, 1), changed(1, 1, 0), known(2, 1)]), [-2, -1])
  })

  it("are counted for 30 days and at most 200 earlier decisions", () => {
    assert.deepStrictEqual(total([known(0, 1), changed(repeatMillis, 0, 1)]), [1, 1])
    assert.deepStrictEqual(total([known(0, 1), changed(repeatMillis + 1, 0, 1)]), [0, 0])
    const many = Array.from({ length: mostRepeats + 50 }, (_, at) => known(at, 1))
    assert.deepStrictEqual(total([...many, changed(mostRepeats + 50, 0, 1)]), [mostRepeats, mostRepeats])
  })

  it("are independent of the order of arrival, and equal a recount", () => {
    const { uniform } = chance(7)
    for (let run = 0; run < 200; run++) {
      const times = Array.from({ length: 2 + Math.floor(uniform() * 8) }, () => Math.floor(uniform() * 60) * dayMillis)
        .sort((a, b) => a - b)
      const outcomes = times.map(() => 0)
      const sum: [number, number] = [0, 0]
      for (let step = 0; step < 20; step++) {
        const flipped = new Set(times.flatMap((_, i) => uniform() < 0.3 ? [i] : []))
        const [again, seen] = total(times.map((at, i) => {
          const before = outcomes[i]!
          if (flipped.has(i)) outcomes[i] = 1 - before
          return flipped.has(i) ? changed(at, before, outcomes[i]!) : known(at, before)
        }))
        sum[0] += again
        sum[1] += seen
      }
      // Page by page: each decision changes once.
      const recount = times.map((_, turn) =>
        total(times.map((at, i) => i === turn ? changed(at, 0, outcomes[i]!) : known(at, outcomes[i]!)), true)
      ).reduce(([a, b], [again, seen]) => [a + again, b + seen] as const, [0, 0] as const)
      assert.deepStrictEqual(sum, recount)
    }
  })
})

/** Counts of variants with one bucket each: sends, outcomes, and the pairs of outcomes and earlier decisions. */
const countsOf = (variants: { readonly [id: string]: readonly [number, number, again?: number, seen?: number] }) => {
  const counts = new Counts()
  for (const [variant, [sends, clicks, again = 0, seen = 0]] of Object.entries(variants)) {
    counts.add(variant, "", 0, sends, clicks)
    if (again !== 0 || seen !== 0) counts.addRepeats({ variant, start: 0, again: [again], seen: [seen] })
  }
  return counts
}

const sharesOf = (counts: Counts) => Object.fromEntries(independence(counts, () => 1, () => 1))

describe("the independence of outcomes", () => {
  it("is 1 for all variants if nobody repeats", () => {
    assert.deepStrictEqual(sharesOf(countsOf({ a: [100, 20], b: [100, 10] })), {})
  })

  it("counts one person who clicks all 25 messages as one outcome", () => {
    // 25 * 24 / 2 pairs of clicks, each with as many earlier messages as clicks.
    const { a, b } = sharesOf(countsOf({ a: [100, 25, 300, 300], b: [100, 0] }))
    assert.approximately(a!, 1 / 25, 1e-12)
    // A variant without outcomes of its own takes the others'.
    assert.approximately(b!, 1 / 25, 1e-12)
  })

  it("is 1 if people repeat as often as by chance", () => {
    // 1,000 people with four messages each at a rate of 10 %: 6,000 pairs, 60 of two clicks, 600 earlier messages of
    // clicks.
    assert.deepStrictEqual(sharesOf(countsOf({ a: [4000, 400, 60, 600] })), {})
  })

  it("decreases with one keen person among many, less for variants that this person does not click", () => {
    const { a, b } = sharesOf(countsOf({ a: [5000, 166, 120, 120], b: [5000, 150] }))
    assert.approximately(1 / a!, 1 + 240 / 166, 0.01)
    assert.isAbove(b!, 0.9)
  })

  it("limits one person's share of a difference to one standard error", () => {
    for (const clicks of [2, 5, 16, 60, 190]) {
      const pairs = clicks * (clicks - 1) / 2
      const { a = 1 } = sharesOf(countsOf({ a: [10_000, 300 + clicks, pairs, pairs], b: [10_000, 300] }))
      assert.isAtMost(clicks, 1.02 * Math.sqrt((300 + clicks) / a), `${clicks} clicks`)
    }
  })

  it("averages the outcomes of a weighted objective by their share of the variance", () => {
    const valuation = { values: [1, 10], squares: [1, 100], mostPerSend: 11, firstWorth: 10 }
    const counts = new Counts(valuation)
    counts.add("a", "", 0, 10_000, 100, 10)
    counts.addRepeats({ variant: "a", start: 0, again: [0, 45], seen: [0, 45] })
    // Conversions have 1,000 of the variance of 1,100, and are one person's.
    assert.approximately(1 / sharesOf(counts)["a"]!, 1 + 9 * 1000 / 1100, 0.01)
  })

  it("moves with its bucket to days and weeks, and expires", () => {
    const counts = countsOf({ a: [100, 25, 300, 300] })
    counts.rollUp(6 * dayMillis)
    assert.deepStrictEqual(counts.repeats().map(({ again, start }) => [start, again]), [[0, [300]]])
    counts.rollUp(300 * dayMillis)
    assert.deepStrictEqual(counts.repeats(), [])
  })
})
