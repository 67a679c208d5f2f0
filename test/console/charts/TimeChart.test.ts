import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { h } from "preact"
import { renderToString } from "preact-render-to-string"
import { shade, WeekMap } from "../../../src/console/charts/HeatMap.tsx"
import { ticks } from "../../../src/console/charts/Ticks.ts"
import { LineChart, ShareChart, spread } from "../../../src/console/charts/TimeChart.tsx"
import { count, percent, rateFormat, signedCount } from "../../../src/console/Format.ts"

const hour = 3_600_000
const times = [0, 1, 2, 3, 4, 5].map((n) => n * hour)
const common = { labelledBy: "t", times, formatTime: (time: number) => `hour ${time / hour}`, formatValue: String }

describe("charts", () => {
  it("draw every line once with gaps, without a style that the security policy would block", () => {
    const html = renderToString(
      h(LineChart, {
        ...common,
        incompleteFrom: 4 * hour,
        lines: [
          { series: 0, name: "Whole", values: [1, 2, 3, 4, 5, 6], bands: times.map((_, i) => [i, i + 2] as const) },
          { series: 1, name: "Broken", values: [1, 2, null, 2, 3, 1] },
        ],
      }),
    )
    assert.notMatch(html, /style=|<style|NaN|Infinity/)
    assert.strictEqual(html.match(/class="line s0"/g)?.length, 1)
    assert.strictEqual(html.match(/class="line s1"/g)?.length, 2, "one piece before the gap, one after")
    assert.strictEqual(html.match(/class="band s0"/g)?.length, 1)
    assert.include(html, `class="incomplete" x="80%"`)
    assert.include(html, `aria-labelledby="t"`)
    assert.include(html, "Broken")
  })

  it("show names as text", () => {
    const name = `<script>alert(1)</script>`
    const html = renderToString(h(LineChart, { ...common, lines: [{ series: 0, name, values: [1, 1, 1, 1, 1, 1] }] }))
    assert.notInclude(html, "<script>")
  })

  it("stack shares to the top", () => {
    const lines = [
      { series: 0, name: "A", values: [0.25, 0.5, null, 0.5, 0.5, 0.5] },
      { series: 1, name: "B", values: [0.75, 0.5, null, 0.5, 0.5, 0.5] },
    ]
    const html = renderToString(h(ShareChart, { ...common, lines }))
    assert.include(html, "M0 0l200 0 400 0", "both together are the whole, also beside what nothing is known of")
    assert.notMatch(html, /NaN|Infinity/)
  })

  it("draw shares of a single time as a stacked bar, without points at cumulated heights", () => {
    const lines = [{ series: 0, name: "Cold", values: [0.76] }, { series: 1, name: "Warm", values: [0.24] }]
    const format = { unit: "percent", decimals: 1 } as const
    const html = renderToString(h(ShareChart, { ...common, format, times: [5], lines }))
    assert.notMatch(html, /NaN|Infinity|<circle|data-chart/)
    assert.include(html, '<path class="area s0" d="M0 240l1000 0 0 760 -1000 0Z"')
    assert.include(html, '<path class="area s1" d="M0 0l1000 0 0 240 -1000 0Z"')
    const later = lines.map((line) => ({ ...line, values: [null, ...line.values] }))
    const withGap = renderToString(h(ShareChart, { ...common, format, times: [5, 6], lines: later }))
    assert.include(withGap, '<path class="area s1" d="M0 0l1000 0 0 240 -1000 0Z"')
    const none = later.map((line) => ({ ...line, values: [null, null] }))
    assert.notMatch(renderToString(h(ShareChart, { ...common, format, times: [5, 6], lines: none })), /NaN|<path|data-/)
    const point = { ...lines[0]!, values: [0.5] }
    assert.include(renderToString(h(LineChart, { ...common, times: [5], lines: [point] })), "<circle")
  })

  it("separate labels within the picture and in their order", () => {
    fc.assert(fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }), (wanted) => {
      const placed = spread(wanted)
      const order = wanted.map((_, i) => i).sort((a, b) => wanted[a]! - wanted[b]!)
      for (let i = 1; i < order.length; i++) {
        assert.isAtLeast(placed[order[i]!]! - placed[order[i - 1]!]!, 17 / 220 - 1e-9)
      }
      for (const one of placed) assert.isTrue(one >= 0 && one <= 1)
    }))
  })

  it("label axes with round numbers that cover the values", () => {
    fc.assert(fc.property(
      fc.double({ min: -1e6, max: 1e6, noNaN: true }),
      fc.double({ min: 1e-6, max: 1e6, noNaN: true }),
      (low, span) => {
        const high = low + span
        if (!(high - low > Math.abs(low) * 1e-6)) return
        const marks = ticks(low, high)
        assert.isAtMost(marks[0]!, low + span * 1e-6)
        assert.isAtLeast(marks.at(-1)!, high - span * 1e-6)
        assert.isTrue(marks.length >= 2 && marks.length <= 8, `${marks}`)
      },
    ))
  })

  it("shade by the share of the greatest value, and leave only zero unshaded", () => {
    assert.deepStrictEqual([0, 1e-9, 0.5, 1].map(shade), [0, 1, 4, 8])
    const html = renderToString(
      h(WeekMap, {
        labelledBy: "t",
        cells: Array.from({ length: 168 }, (_, i) => ({ share: i / 167, text: `${i} clicks` })),
      }),
    )
    assert.strictEqual(html.match(/<rect/g)?.length, 168)
    assert.include(html, "Sunday 23:00: 167 clicks")
    assert.notMatch(
      renderToString(
        h(WeekMap, { labelledBy: "t", cells: Array.from({ length: 168 }, () => ({ share: 0, text: "nothing" })) }),
      ),
      /NaN/,
    )
  })

  it("format numbers for readers", () => {
    assert.strictEqual(count(1_234_567), "1,234,567")
    assert.strictEqual(percent(0.0123), "1.2\u00a0%")
    assert.strictEqual(percent(0.9999), "> 99\u00a0%")
    assert.strictEqual(percent(0.00001), "< 0.01\u00a0%")
    assert.strictEqual(signedCount(-12), "−12")
    assert.strictEqual(signedCount(0.2), "+0")
    assert.strictEqual(rateFormat(true, 0.0871)(0.0871), "8.71\u00a0%")
    assert.strictEqual(rateFormat(false, 12.3)(12.34), "12.3")
  })
})
