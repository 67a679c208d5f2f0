import { assert, describe, it } from "@effect/vitest"
import { unlearned } from "../../src/learning/Learning.ts"
import { seriesMeasures } from "../../src/learning/TallyReports.ts"
import { composeSeries, type CountedPeriod } from "../../src/results/SeriesComposition.ts"
import { contextOf } from "./Samples.ts"

const now = Date.parse("2026-11-20T12:00:00Z")
const hour = 3_600_000

/** Decisions of a variant in the hour before. */
const row = (copyId: string, decisions: number) =>
  ({
    first: now - hour,
    moment: (now - hour) * decisions,
    copyId,
    context: contextOf("free", "morning"),
    ...Object.fromEntries(seriesMeasures.map((measure) => [measure, 0])),
    decisions,
  }) as CountedPeriod

/** 25 variants: v01 has the most decisions, v25 the fewest. */
const ids = Array.from({ length: 25 }, (_, i) => `v${String(i + 1).padStart(2, "0")}`)

const seriesWith = (named: ReadonlyArray<string>, more: Partial<Parameters<typeof composeSeries>[0]> = {}) =>
  composeSeries({
    template: "t",
    objective: "click",
    targeted: [],
    named,
    model: unlearned("t", undefined, now),
    ofAllDays: unlearned("t", undefined, now),
    segment: new Map(),
    now,
    step: "hour",
    length: hour,
    rows: ids.map((id, i) => row(id, 100 - i)),
    byContext: true,
    delays: [],
    zone: "UTC",
    ...more,
  })

describe("the revenue of a series", () => {
  const rows = [{ ...row("v01", 10), revenue: 12_500 }, { ...row("v01", 5), revenue: 500 }, row("v02", 5)]

  it("is the value of the conversions of each variant, and absent unless revenue counts", () => {
    const revenueOf = (objective: Parameters<typeof composeSeries>[0]["objective"]) =>
      seriesWith([], { objective, rows }).points.map(({ variants }) => variants.map(({ revenue }) => revenue))
    assert.deepStrictEqual(revenueOf({ revenue: 1, revenue_cap: 200 }), [[13, 0]])
    assert.deepStrictEqual(revenueOf("click"), [[undefined, undefined]])
  })
})

describe("the series of many variants", () => {
  it("contains the 20 variants with the most decisions", () => {
    const { left_out, variants } = seriesWith([])
    assert.deepStrictEqual([variants, left_out], [ids.slice(0, 20), 5])
  })

  it("contains named variants before variants with more decisions, if they have any decisions", () => {
    const { left_out, variants } = seriesWith(["v24", "v01", "never-selected"])
    assert.deepStrictEqual([variants, left_out], [[...ids.slice(0, 19), "v24"], 5])
  })
})

describe("the rates of a series", () => {
  it("are possible, also if outcomes arrive sooner than expected", () => {
    const model = { ...unlearned("t", undefined, now), mostPerSend: 1 }
    const rows = [{ ...row("v01", 20), click: 19 }, { ...row("v02", 20), click: 2 }]
    const estimates = (more: Partial<Parameters<typeof composeSeries>[0]>) =>
      seriesWith([], { rows, ...more }).points.flatMap(({ variants }) => variants)
    assert.isAbove(estimates({})[0]!.rate!, 1)
    for (const { interval, rate } of estimates({ model })) {
      assert.isAtMost(rate!, 1)
      assert.isAtMost(interval![0], rate!)
      assert.strictEqual(interval![1], Math.min(1, interval![1]))
    }
  })
})
