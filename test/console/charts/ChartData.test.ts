import { assert, describe, it } from "@effect/vitest"
import { chartData, readChart } from "../../../src/console/charts/ChartData.ts"

describe("the data of interactive charts", () => {
  it("contain formatted times, and values to one decimal more than is shown, with their bands", () => {
    const data = readChart(JSON.parse(chartData({
      times: [1000, 2000, 4000],
      formatTime: (time) => `at ${time}`,
      format: { unit: "percent", decimals: 1 },
      range: [0, 1],
      incompleteFrom: 1500,
      lines: [{
        series: 2,
        name: "<b>a</b>",
        values: [0.123456, null, 0.1],
        bands: [[0.1, 0.2], null, [0.05, 0.25]],
      }],
    })))
    assert.deepStrictEqual(data, {
      times: [1, 2, 4],
      labels: ["at 1000", "at 2000", "at 4000"],
      format: { unit: "percent", decimals: 1 },
      range: [0, 1],
      incompleteFrom: 2,
      stacked: false,
      lines: [{
        series: 2,
        name: "<b>a</b>",
        values: [0.1235, null, 0.1],
        low: [0.1, null, 0.05],
        high: [0.2, null, 0.25],
      }],
    })
  })

  it("write numbers of a long series as short steps", () => {
    const values = Array.from({ length: 100 }, (_, i) => 0.1 + Math.sin(i / 9) / 50)
    const text = chartData({
      times: values.map((_, i) => 1_700_000_000_000 + i * 3_600_000),
      formatTime: () => "",
      format: { unit: "percent", decimals: 1 },
      range: [0, 1],
      lines: [{ series: 0, name: "a", values }],
    })
    assert.isBelow(text.length, 1400)
    assert.deepStrictEqual(
      readChart(JSON.parse(text)).lines[0]!.values,
      values.map((value) => Math.round(value * 1e4) / 1e4),
    )
  })

  it("contain changes with their second", () => {
    const data = readChart(JSON.parse(chartData({
      times: [1000],
      formatTime: String,
      format: { unit: "number", decimals: 0 },
      range: [0, 1],
      lines: [],
      marked: [{ at: 1600, text: "A paused" }],
    })))
    assert.deepStrictEqual(data.marks, [{ time: 2, text: "A paused" }])
  })
})
