import { assert, describe, it } from "@effect/vitest"
import { seriesText } from "../../src/cli/SeriesText.ts"
import type { SeriesPoint, TemplateSeries } from "../../src/results/TemplateSeries.ts"

const point = (end: string, complete: boolean): SeriesPoint => ({
  start: "2026-11-01T00:00:00.000Z",
  end,
  decisions: 200,
  maturity: complete ? 1 : 0.6,
  complete,
  variants: [
    { copy_id: "a", decisions: 150, value: 12, share: 0.75, rate: 0.08, interval: [0.05, 0.11], p_best: 0.9 },
    { copy_id: "b", decisions: 50, value: 2, share: 0.25, rate: 0.04, interval: [0.01, 0.08], p_best: 0.1 },
  ],
  gain: { gained: 3.25, interval: [-1.5, 8], even: 11 },
})

const series: TemplateSeries = {
  template_id: "t",
  objective: "click",
  segment: {},
  window: { from: "2026-11-01T00:00:00.000Z", to: "2026-11-03T12:00:00.000Z", half_life_days: 40 },
  step: "day",
  variants: ["a", "b"],
  left_out: 2,
  by_segment: true,
  points: [point("2026-11-02T00:00:00.000Z", true), point("2026-11-03T00:00:00.000Z", false)],
  hours: [],
}

describe("the series as text", () => {
  it("has a row for each period, and marks periods whose outcomes are incomplete", () => {
    const text = seriesText(series)
    assert.match(text, /2026-11-02 00:00 +200 +75 % · 8\.0 % · 90 % +25 % · 4\.0 % · 10 % +\+3\.3 +-1\.5 to \+8\.0/)
    assert.match(text, /2026-11-03 00:00 \*/)
    assert.include(text, "Outcomes are still coming in")
    assert.include(text, "2 variants with fewer decisions")
  })

  it("reports that there is no data", () => {
    const nothing = point("2026-11-02T00:00:00.000Z", true)
    const variants = nothing.variants.map((one) => ({ ...one, rate: null, interval: null, p_best: null }))
    const text = seriesText({ ...series, points: [{ ...nothing, variants, gain: null }] })
    assert.match(text, /200 +75 % · no data +25 % · no data +no data/)
  })

  it("reports a window without decisions", () => {
    assert.strictEqual(seriesText({ ...series, points: [] }), "t: no decisions in this window.")
  })
})
