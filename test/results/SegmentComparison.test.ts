import { assert, describe, it } from "@effect/vitest"
import { contextsOf, encodeContext } from "../../src/bandit/Contexts.ts"
import { compareSegments, type DayCount, leastData } from "../../src/results/SegmentComparison.ts"

const contexts = contextsOf({ keys: [{ name: "plan", values: ["free", "pro"] }], builtIns: ["weekend"] })
const question = { attributes: ["plan", "weekend"], variant: "a", against: "b" }

const count = (day: number, copyId: string, plan: string, trials: number, outcomes: number): DayCount => ({
  day,
  copyId,
  context: encodeContext([["plan", plan], ["weekend", "weekday"]]),
  trials,
  outcomes,
})

/** Equal counts on each of four days. */
const daily = (copyId: string, plan: string, trials: number, outcomes: number): ReadonlyArray<DayCount> =>
  [0, 1, 2, 3].map((day) => count(day, copyId, plan, trials, outcomes))

describe("the comparison of segments", () => {
  it("compares variants within days, so that a day with higher rates favors no variant", () => {
    // Both have 10 % on two days and 30 % on two others, on which `a` is sent more.
    const [one] = compareSegments(
      contexts,
      question,
      [0, 1].flatMap((day) => [
        count(day, "a", "free", 100, 10),
        count(day, "b", "free", 400, 40),
        count(day + 2, "a", "free", 400, 120),
        count(day + 2, "b", "free", 100, 30),
        count(day + 2, "c", "free", 100, 90),
      ]),
    )
    assert.deepStrictEqual(one!.segment, { plan: "free", weekend: "weekday" })
    const counts = [{ decisions: 1000, outcomes: 260 }, { decisions: 1000, outcomes: 140 }]
    assert.deepStrictEqual([one!.variant, one!.against], counts)
    assert.closeTo(one!.comparison!.difference, 0, 1e-12)
    assert.closeTo(one!.comparison!.rate, 0.2, 1e-12)
    assert.isFalse(one!.comparison!.clear)
  })

  it("has the interval of two proportions with Student's distribution for the days and smoothed rates", () => {
    const rows = [...daily("a", "pro", 249.5, 49.75), ...daily("b", "pro", 249.5, 24.75)]
    const [one] = compareSegments(contexts, question, rows)
    const error = Math.sqrt((0.2 * 0.8 + 0.1 * 0.9) / 998)
    const { difference, interval: [low, high] } = one!.comparison!
    assert.closeTo(difference, 100 / 998, 1e-12)
    // The quantile of three degrees of freedom is 3.182; the expansion is a little smaller.
    assert.isTrue((difference - low) / error > 2.9 && (difference - low) / error < 3.2)
    assert.closeTo(high - difference, difference - low, 1e-12)
    // A quarter of the outcomes of both variants are outcomes of different people.
    const [again] = compareSegments(contexts, question, rows, { variant: 0.25, against: 0.25 })
    assert.closeTo(difference, again!.comparison!.difference, 1e-12)
    assert.closeTo((again!.comparison!.interval[1] - difference) / (high - difference), 2, 1e-12)
    assert.isTrue(one!.comparison!.clear)
  })

  it("requires a larger difference if more segments are compared", () => {
    const free = [...daily("a", "free", 250, 37), ...daily("b", "free", 250, 25)]
    const pro = [...daily("a", "pro", 240, 24), ...daily("b", "pro", 240, 24)]
    const clear = (rows: ReadonlyArray<DayCount>) =>
      compareSegments(contexts, question, rows).map(({ comparison }) => comparison?.clear)
    assert.deepStrictEqual(clear(free), [true])
    assert.deepStrictEqual(clear([...free, ...pro]), [false, false])
    const little = [...daily("a", "pro", leastData.decisions / 4 - 1, 9), ...daily("b", "pro", 240, 24)]
    assert.deepStrictEqual(clear([...free, ...little]), [true, undefined], "segments with too little data do not count")
  })

  it("leaves out contexts recorded before the attributes were learned, and days with a single variant", () => {
    const rows: ReadonlyArray<DayCount> = [
      { day: 0, copyId: "a", context: encodeContext([["weekend", "weekday"]]), trials: 500, outcomes: 50 },
      ...[0, 2, 4].flatMap((day) => [count(day, "a", "free", 100, 20), count(day + 1, "b", "free", 100, 20)]),
    ]
    const found = compareSegments(contextsOf({ keys: [], builtIns: ["weekend"] }), question, rows)
    assert.deepStrictEqual(found, [], "plan is not learned from")
    const [one] = compareSegments(contexts, question, rows.slice(1))
    assert.isNull(one!.comparison)
  })
})
