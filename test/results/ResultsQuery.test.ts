import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { resultsQuery } from "../../src/api/results/ResultsQuery.ts"

const accepted = (query: string) => Result.getOrThrow(resultsQuery(new URLSearchParams(query)))
const refused = (query: string) => {
  const result = resultsQuery(new URLSearchParams(query))
  assert.isTrue(Result.isFailure(result), query)
  return Result.isFailure(result) ? result.failure : []
}

describe("the query of the results", () => {
  it("selects the adaptive model and all users by default", () => {
    assert.deepStrictEqual(accepted(""), { lookbackDays: undefined, offsetDays: undefined, segment: new Map() })
    assert.strictEqual(accepted("segment=").segment!.size, 0)
  })

  it("accepts days within their range, including fractions", () => {
    assert.deepStrictEqual(accepted("lookback_days=1&offset_days=0").lookbackDays, 1)
    assert.deepStrictEqual(accepted("lookback_days=365&offset_days=365").offsetDays, 365)
    assert.deepStrictEqual(accepted("lookback_days=2.5&offset_days=0.25").offsetDays, 0.25)
  })

  it("reports every fault under the parameter's name", () => {
    assert.deepStrictEqual(refused("lookback_days=0.5&offset_days=-1&segment=plan&segment=a%3D%25zz"), [
      { pointer: "lookback_days", detail: "must be a number of days from 1 to 365" },
      { pointer: "offset_days", detail: "must be a number of days from 0 to 365" },
      { pointer: "segment", detail: 'must be pairs such as plan=pro, percent-encoded; "plan" is not such a pair' },
      { pointer: "segment", detail: 'must be pairs such as plan=pro, percent-encoded; "a=%zz" is not such a pair' },
    ])
    for (const days of ["", "abc", "NaN", "Infinity", "0x10", " 5", "366", "1e999", "-0.0"]) {
      assert.strictEqual(refused(new URLSearchParams({ offset_days: days }).toString()).length, 1, days)
    }
  })

  it("reads the pairs of a segment, percent-encoded, from one or several parameters in lowercase", () => {
    const both = new Map([["plan", "pro & more"], ["Day Part", "morning"]])
    assert.deepStrictEqual(
      accepted(new URLSearchParams({ segment: "plan=Pro%20%26%20More&Day%20Part=morning" }).toString()).segment,
      both,
    )
    assert.deepStrictEqual(
      accepted("segment=plan%3DPro%2520%2526%2520More&segment=Day+Part%3Dmorning").segment,
      both,
    )
    assert.strictEqual(accepted("segment=plan%3D").segment!.get("plan"), "")
    assert.strictEqual(accepted("segment=plan%3Da%3Db").segment!.get("plan"), "a=b")
  })

  it("rejects a repeated attribute and a pair without a name", () => {
    assert.match(refused("segment=plan%3Da%26plan%3Db")[0]!.detail, /more than once/)
    assert.strictEqual(refused("segment=%3Dpro").length, 1)
  })

  it("limits the number of reported faults", () => {
    assert.strictEqual(refused(`segment=${"x%26".repeat(5000)}x`).length, 100)
  })
})
