import { assert, describe, it } from "@effect/vitest"
import { chartData } from "../../../src/console/charts/ChartData.ts"

describe("the data of interactive charts", () => {
  it("contain formatted times, and values with four digits and their bands", () => {
    const data = JSON.parse(chartData({
      times: [1000, 2000],
      formatTime: (time) => `at ${time}`,
      format: { unit: "percent", decimals: 1 },
      range: [0, 1],
      incompleteFrom: 1500,
      lines: [{ series: 2, name: "<b>a</b>", values: [0.123456, null], bands: [[0.1, 0.2], null] }],
    }))
    assert.deepStrictEqual(data, {
      times: [1, 2],
      labels: ["at 1000", "at 2000"],
      format: { unit: "percent", decimals: 1 },
      range: [0, 1],
      incompleteFrom: 2,
      stacked: false,
      lines: [{ series: 2, name: "<b>a</b>", values: [0.1235, null], low: [0.1, null], high: [0.2, null] }],
    })
  })

  it("contain changes with their second", () => {
    const data = JSON.parse(chartData({
      times: [1000],
      formatTime: String,
      format: { unit: "number", decimals: 0 },
      range: [0, 1],
      lines: [],
      marked: [{ at: 1600, text: "A paused" }],
    }))
    assert.deepStrictEqual(data.marks, [{ time: 2, text: "A paused" }])
  })
})
