import { assert, describe, it } from "@effect/vitest"
import { report } from "../../src/bandit/Report.ts"
import { prepare, type ResultsInput } from "../../src/results/Composition.ts"
import { csvName, resultsCsv } from "../../src/results/ResultsCsv.ts"
import { csvRows } from "../../src/text/CsvRows.ts"
import { Result } from "effect"
import { input, variant } from "./Samples.ts"

const resultsOf = (more: Partial<ResultsInput> = {}) => {
  const { compose, request } = prepare(input(more))
  return compose(report(request))
}

/** The lines as records of column and text. */
const read = (csv: string): ReadonlyArray<Readonly<Record<string, string>>> => {
  const [header, ...lines] = Result.getOrThrow(csvRows(csv))
  return lines.map(({ values }) => {
    assert.lengthOf(values, header!.values.length)
    return Object.fromEntries(header!.values.map((column, at) => [column, values[at]!]))
  })
}

describe("results as CSV", () => {
  it("contain the figures of each variant, and lifts of the leader only", () => {
    const results = resultsOf()
    const lines = read(resultsCsv(results))
    assert.deepStrictEqual(lines.map(({ copy_id: id }) => id), results.variants.map(({ copy_id: id }) => id))
    for (const [at, one] of results.variants.entries()) {
      const line = lines[at]!
      const isLeader = results.winner.leader === one.copy_id
      assert.deepInclude(line, {
        template_id: results.template_id,
        from: results.window.from,
        decisions: String(one.decisions),
        click: String(one.outcomes.click),
        click_rate: String(one.outcomes.click / (one.decisions - one.voided)),
        rate: String(one.rate),
        interval_low: String(one.interval![0]),
        interval_high: String(one.interval![1]),
        chance_to_be_best: String(one.p_best),
        expected_loss: String(one.expected_loss),
        traffic_share: String(one.share),
        lift: isLeader ? String(results.winner.lift!.value) : "",
        lift_low: isLeader ? String(results.winner.lift!.interval[0]) : "",
        lift_over_split_high: isLeader ? String(results.winner.lift_over_split!.interval[1]) : "",
        answer: "different_people",
        preferred_where: isLeader ? "plan=free" : "plan=pro",
        shipping_loss: String(results.answer.shipping.find(({ copy_id }) => copy_id === one.copy_id)!.loss),
      })
    }
  })

  it("leave unknown values empty", () => {
    const [line] = read(resultsCsv(resultsOf({ rows: [] })))
    for (const column of ["rate", "raw_rate", "interval_low", "chance_to_be_best", "click_rate", "lift", "revenue"]) {
      assert.strictEqual(line![column], "", column)
    }
  })

  it("contain no formulas, and quote texts with commas, quotes and line breaks", () => {
    const names = ['=HYPERLINK("https://evil.example")', "+1", "-1", "@SUM(A1)", "\t=1", 'a, "b"\nc', "\uff1d1"]
    const variants = names.map((name, n) => variant(`v${n}`, { name }))
    const csv = resultsCsv(resultsOf({ template: { ...input().template, variants }, rows: [] }))
    assert.deepStrictEqual(
      read(csv).map(({ name }) => name),
      names.map((name) => name.startsWith("a") ? name : `'${name}`),
    )
  })

  it("are downloaded as a file named after the template", () => {
    assert.strictEqual(csvName({ template_id: "welcome-1" }), "welcome-1-results.csv")
    assert.strictEqual(csvName({ template_id: 'a"\r\nb/\u00fc' }), "a-b--results.csv")
  })
})
