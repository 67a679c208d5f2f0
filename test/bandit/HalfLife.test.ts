import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import {
  dayResults,
  dayTerms,
  dayToJudge,
  halfLifeDays,
  type HalfLifeState,
  initialHalfLife,
  judgeDay,
} from "../../src/bandit/HalfLife.ts"
import { countsOf, day, fitRows, hour, normal, now, promptCurve } from "./Samples.ts"

const monday = Date.UTC(2026, 2, 2)

/** Days of two variants whose relative rates are as `rate` says, clicks at their mean. */
const judged = (days: number, rate: (variant: number, day: number) => number, sends = 4000): HalfLifeState => {
  let state = initialHalfLife
  for (let d = 0; d < days; d++) {
    const results = [0, 1].map((v) => ({
      id: `v${v}`,
      expected: sends * 0.03,
      clicks: Math.round(sends * 0.03 * rate(v, d)),
    }))
    state = judgeDay(state, monday + d * day, results, 0.2)
  }
  return state
}

describe("the half-life", () => {
  it("is 35 days before the first evaluation", () => {
    assert.closeTo(halfLifeDays(initialHalfLife), 34.7, 0.1)
  })

  it("grows toward at most 120 days while rates are constant", () => {
    const still = halfLifeDays(judged(60, (v) => v === 0 ? 1.2 : 0.8))
    assert.isAbove(still, halfLifeDays(initialHalfLife))
    assert.isAtMost(still, 120)
  })

  it("shrinks if the variants keep changing ranks", () => {
    const moving = halfLifeDays(judged(60, (v, d) => (Math.floor(d / 6) + v) % 2 === 0 ? 1.4 : 0.6))
    assert.isBelow(moving, 16)
    assert.isAtLeast(moving, 4)
  })

  it("is unaffected by common changes of all variants", () => {
    const z = normal(4)
    const level = Array.from({ length: 40 }, () => Math.exp(0.3 * z()))
    const swinging = halfLifeDays(judged(40, (_, d) => level[d]!))
    const still = halfLifeDays(judged(40, () => 1))
    assert.closeTo(swinging, still, 0.15 * still)
  })
})

describe("the evaluation of a day", () => {
  const results = [{ id: "a", expected: 10, clicks: 12 }, { id: "b", expected: 6, clicks: 5 }]

  it("changes the state once per day", () => {
    const once = judgeDay(initialHalfLife, monday, results, 0.2)
    assert.strictEqual(judgeDay(once, monday, results, 0.2), once)
    assert.strictEqual(judgeDay(once, monday - day, results, 0.2), once)
  })

  it("is independent of the order of the variants", () => {
    assert.deepStrictEqual(
      judgeDay(initialHalfLife, monday, results, 0.2),
      judgeDay(initialHalfLife, monday, results.toReversed(), 0.2),
    )
  })

  it("discounts the sums of earlier days by the half-life of each candidate, also over days without sends", () => {
    const first = judgeDay(initialHalfLife, monday, results, 0.2)
    assert.closeTo(first.candidates[0]!.sums[0]!.clicks, 12 * 0.5 ** (1 / 4), 1e-12)
    const later = judgeDay(first, monday + 4 * day, [], 0.2)
    assert.closeTo(later.candidates[0]!.sums[0]!.clicks, 12 * 0.5 ** (5 / 4), 1e-12)
    assert.closeTo(later.candidates[2]!.sums[1]!.expected, 6 * 0.5 ** (5 / 16), 1e-12)
  })

  it("discounts earlier scores by 3 %", () => {
    const first = judgeDay(initialHalfLife, monday, results, 0.2)
    const second = judgeDay(first, monday + day, [], 0.2)
    second.candidates.forEach(({ score }, i) => assert.closeTo(score, 0.97 * first.candidates[i]!.score, 1e-12))
  })

  it("drops variants whose data have faded", () => {
    const first = judgeDay(initialHalfLife, monday, results, 0.2)
    const later = judgeDay(first, monday + 200 * day, [], 0.2)
    assert.deepStrictEqual(later.candidates[0]!.sums, [])
    assert.strictEqual(later.candidates[4]!.sums.length, 2)
  })

  it("round-trips through JSON", () => {
    const state = judgeDay(initialHalfLife, monday, results, 0.2)
    assert.deepStrictEqual(JSON.parse(JSON.stringify(state)), state)
  })
})

describe("the likelihood of a day", () => {
  it("is finite for any counts, including days without clicks and variants without sends", () => {
    const variant = fc.record({
      expected: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1000, noNaN: true })),
      clicks: fc.oneof(fc.constant(0), fc.integer({ min: -5, max: 1000 })),
    })
    fc.assert(fc.property(fc.array(variant, { maxLength: 6 }), (variants) => {
      const { level, terms } = dayTerms(
        variants.map(() => 25),
        variants.map(() => 25),
        variants.map(({ expected }) => expected),
        variants.map(({ clicks }) => clicks),
      )
      assert.isTrue(Number.isFinite(level) && terms.every(Number.isFinite))
    }))
    assert.deepStrictEqual(dayTerms([25], [25], [10], [0]), { level: 0, terms: [0] })
  })

  it("is a probability: it sums to 1 over all counts of a variant", () => {
    // A second variant keeps the level of the day at one, independent of the first variant.
    let total = 0
    for (let y = 0; y <= 200; y++) {
      const { terms } = dayTerms([25, 25], [25, 25], [10, 1e9], [y, 1e9])
      total += Math.exp(terms[0]!)
    }
    assert.closeTo(total, 1, 1e-6)
  })
})

describe("the day to evaluate", () => {
  it("is the latest day whose last send is at least 3 days old", () => {
    assert.strictEqual(dayToJudge(monday + 4 * day - 1), monday - day)
    assert.strictEqual(dayToJudge(monday + 4 * day), monday)
  })

  it("compares its clicks with those expected at the base rate", () => {
    const start = dayToJudge(now)
    const rows = [
      { variant: "a", context: "", start: start - hour, sends: 500, clicks: 50 },
      { variant: "a", context: "", start, sends: 1000, clicks: 40 },
      { variant: "b", context: "", start: start + 23 * hour, sends: 1000, clicks: 20 },
      { variant: "b", context: "", start: start + 24 * hour, sends: 500, clicks: 50 },
    ]
    const model = fitRows(rows)
    const results = dayResults(countsOf(rows), model, promptCurve, start, now)
    assert.deepStrictEqual(results.map(({ clicks, id }) => [id, clicks]), [["a", 40], ["b", 20]])
    for (const { expected } of results) assert.closeTo(expected, 1000 * Math.exp(model.a0), 1e-9)
  })
})
