import { assert, describe, it } from "@effect/vitest"
import { readFile } from "node:fs/promises"
import { chartData } from "../../../src/console/charts/ChartData.ts"
import { uplotPath, uplotText } from "../../../scripts/writeUplot.ts"

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

  it("are drawn by the pinned library written by its script", async () => {
    assert.strictEqual(await readFile(uplotPath, "utf8"), await uplotText(), "deno run -A scripts/writeUplot.ts")
  })
})
