import { assert, describe, it } from "@effect/vitest"
import { looksOf, pairWorlds } from "../../bench/simulation/PairLooks.ts"
import type { PropensityCount } from "../../src/learning/PropensityTallies.ts"
import { pairDifference } from "../../src/results/PairDifference.ts"
import { pairOf, withoutModel } from "../../src/results/WithoutModel.ts"
import { mostOf } from "../support/mostOf.ts"

const day = 86_400_000

/** Counts of one variant on one day, with one propensity for all decisions of the day. */
const counted = (
  copyId: string,
  at: number,
  { chosen, clicks, of, propensity, ...more }: {
    readonly of: number
    readonly chosen: number
    readonly clicks: number
    readonly propensity: number
    readonly candidates?: string
    readonly opens?: number
  },
): PropensityCount => {
  const sum = (count: number) => ({ count, weight: count / propensity, square: count / propensity ** 2 })
  return {
    day: at * day,
    candidates: more.candidates ?? "ab",
    copyId,
    sums: {
      offered: { count: of, weight: of / propensity, square: 0 },
      ...(chosen > 0 ? { decisions: sum(chosen) } : {}),
      ...(clicks > 0 ? { click: sum(clicks) } : {}),
      ...(more.opens === undefined ? {} : { open: sum(more.opens) }),
    },
  }
}

/** Of two variants the better got 80 % from the second day on, and has 10 % clicks against 5 %. */
const counts = [
  counted("b", 1, { of: 1000, chosen: 200, clicks: 10, propensity: 0.2 }),
  counted("a", 0, { of: 1000, chosen: 500, clicks: 50, propensity: 0.5 }),
  counted("a", 1, { of: 1000, chosen: 800, clicks: 80, propensity: 0.8 }),
  counted("b", 0, { of: 1000, chosen: 500, clicks: 25, propensity: 0.5 }),
]
const pair = { ours: "a", theirs: "b", objective: "click" as const, counts }

/** Number of simulated runs of each setting. CI simulates three of them. */
const { PAIR_RUNS } = process.env
const runs = Number(PAIR_RUNS ?? 40)
const isTested = (name: string) => PAIR_RUNS !== undefined || ["alike", "four alike", "one 60 % better"].includes(name)

describe("the difference of two variants without a model", () => {
  it("is the difference of the rates on days with exact shares, and turns its sign with the variants", () => {
    const found = pairDifference(pair)!
    assert.approximately(found.difference, 0.05, 1e-12)
    assert.deepInclude(found, { decisions: 2000, first: 0, last: day })
    const [low, high] = found.interval
    assert.approximately((low + high) / 2, 0.05, 1e-12)
    const turned = pairDifference({ ...pair, ours: "b", theirs: "a" })!
    assert.approximately(turned.difference, -0.05, 1e-12)
    assert.approximately(turned.interval[0], -high, 1e-12)
  })

  it("has the width of the normal mixture", () => {
    const one = counts.filter((count) => count.day === 0)
    const { interval: [low, high] } = pairDifference({ ...pair, counts: one })!
    // Weights of 1/4, no earlier mean: 50 and 25 clicks with squared inverse propensities of 4, or the pooled variance.
    const rate = 75 / 1000
    const spread = rate * (1 - rate)
    const variance = (50 * 4 + Math.max(25 * 4, spread * 500 * 4)) / 16
    const drift = 0.25 * rate / spread
    const reach = Math.sqrt((variance + drift ** -2) * Math.log((variance * drift ** 2 + 1) / 0.05 ** 2)) / 250
    assert.approximately((high - low) / 2, reach, 1e-12)
  })

  it("counts only decisions in which both variants were candidates", () => {
    const alone = counted("a", 0, { of: 5000, chosen: 2500, clicks: 2000, propensity: 0.5, candidates: "ac" })
    assert.deepStrictEqual(pairDifference({ ...pair, counts: [alone, ...counts] }), pairDifference(pair))
  })

  it("counts days on which a variant was never chosen", () => {
    const next = [
      counted("a", 2, { of: 100, chosen: 100, clicks: 10, propensity: 0.99 }),
      counted("b", 2, { of: 100, chosen: 0, clicks: 0, propensity: 0.01 }),
    ]
    assert.strictEqual(pairDifference({ ...pair, counts: [...counts, ...next] })!.decisions, 2100)
  })

  it("sums a weighted objective", () => {
    const mixed = counts.map((count) => ({ ...count, sums: { ...count.sums, open: count.sums.click! } }))
    const found = pairDifference({ ...pair, counts: mixed, objective: { click: 10, open: -1 } })!
    assert.approximately(found.difference, 9 * 0.05, 1e-12)
  })

  it("is null with few outcomes, with revenue, and without common decisions", () => {
    const few = [
      counted("a", 0, { of: 100, chosen: 50, clicks: 10, propensity: 0.5 }),
      counted("b", 0, { of: 100, chosen: 50, clicks: 9, propensity: 0.5 }),
    ]
    assert.isNull(pairDifference({ ...pair, counts: few }))
    assert.isNull(pairDifference({ ...pair, objective: { click: 1, revenue: 1, revenue_cap: 10 } }))
    assert.isNull(pairDifference({ ...pair, theirs: "c" }))
  })

  for (const world of pairWorlds.filter(({ name }) => isTested(name))) {
    it(`has an interval that rarely ever misses the truth: ${world.name}`, () => {
      const all = Array.from({ length: runs }, (_, i) => looksOf(world, 1 + i))
      assert.isAtMost(all.filter(({ missed }) => missed).length, mostOf(runs, 0.05))
    })
  }
})

describe("the compared variants", () => {
  const lift = { baseline: "b" }

  it("are the leader and the next best, or the winner and the leader", () => {
    assert.deepStrictEqual(pairOf({ copy_id: null, leader: "a", lift }), ["a", "b"])
    assert.deepStrictEqual(pairOf({ copy_id: "a", leader: "a", lift }), ["a", "b"])
    assert.deepStrictEqual(pairOf({ copy_id: "c", leader: "a", lift }), ["c", "a"])
    assert.isUndefined(pairOf({ copy_id: null, leader: "a", lift: null }))
  })

  it("support a verdict if the interval is above 0", () => {
    const found = { decisions: 10, first: 0, last: day, difference: 0.01 }
    assert.deepStrictEqual(withoutModel(["a", "b"], { ...found, interval: [0.001, 0.02] }), {
      copy_id: "a",
      baseline: "b",
      from: "1970-01-01T00:00:00.000Z",
      to: "1970-01-03T00:00:00.000Z",
      decisions: 10,
      difference: 0.01,
      interval: [0.001, 0.02],
      supports: true,
    })
    assert.isFalse(withoutModel(["a", "b"], { ...found, interval: [-0.001, 0.02] }).supports)
  })
})
