import { assert, describe, it } from "@effect/vitest"
import { DailyBytes, dayOf, nextDay } from "../../src/intake/DailyBytes.ts"

const noon = Date.parse("2026-11-22T12:00:00Z")
const tomorrow = noon + 86_400_000

describe("bytes per day", () => {
  it("are counted by days in UTC", () => {
    assert.strictEqual(dayOf(Date.parse("2026-11-22T23:59:59.999Z")), "2026-11-22")
    assert.strictEqual(nextDay(noon), Date.parse("2026-11-23T00:00:00Z"))
    assert.strictEqual(nextDay(nextDay(noon)), Date.parse("2026-11-24T00:00:00Z"))
  })

  it("are accepted until the quota of the organization is reached, and again the next day", () => {
    const use = new DailyBytes(100)
    assert.isTrue(use.admits("a", noon))
    use.add("a", 99, noon)
    assert.isTrue(use.admits("a", noon))
    use.add("a", 50, noon)
    assert.isFalse(use.admits("a", noon))
    assert.isTrue(use.admits("b", noon))
    assert.isTrue(use.admits("a", tomorrow))
  })

  it("are unlimited without a quota, and limited by the organization's quota before the default", () => {
    const use = new DailyBytes(undefined)
    use.add("a", 1e15, noon)
    assert.isTrue(use.admits("a", noon))
    use.setQuota("a", 10)
    assert.isFalse(use.admits("a", noon))
    use.setQuota("a", null)
    assert.isTrue(use.admits("a", noon))
  })

  it("are reported once, and again if the report failed", () => {
    const use = new DailyBytes(100)
    use.add("a", 100, noon)
    assert.isFalse(use.admits("a", noon))
    const reports = use.takeReports(noon)
    assert.deepStrictEqual(reports, [{ org: "a", day: "2026-11-22", bytes: 100, refused: 1 }])
    assert.deepStrictEqual(use.takeReports(noon), [])
    assert.isFalse(use.admits("a", noon))
    use.restore(reports)
    assert.deepStrictEqual(use.takeReports(noon), [{ org: "a", day: "2026-11-22", bytes: 100, refused: 2 }])
  })

  it("include the bytes of other nodes, and keep the bytes received since the last report", () => {
    const use = new DailyBytes(100)
    use.add("a", 30, noon)
    use.takeReports(noon)
    use.add("a", 10, noon)
    use.learn([{ org: "a", day: "2026-11-22", bytes: 95, quota: null }])
    assert.isFalse(use.admits("a", noon))
    assert.deepInclude(use.unreported("a", noon), { bytes: 10 })
    use.learn([{ org: "a", day: "2026-11-22", bytes: 95, quota: 1000 }])
    assert.isTrue(use.admits("a", noon))
  })

  it("of yesterday are reported under their own day and then dropped", () => {
    const use = new DailyBytes(100)
    use.add("a", 30, noon)
    use.add("a", 5, tomorrow)
    assert.sameDeepMembers([...use.takeReports(tomorrow)], [
      { org: "a", day: "2026-11-22", bytes: 30, refused: 0 },
      { org: "a", day: "2026-11-23", bytes: 5, refused: 0 },
    ])
    assert.deepStrictEqual(use.takeReports(tomorrow), [])
    assert.isTrue(use.admits("a", tomorrow))
    assert.deepStrictEqual(use.takeReports(tomorrow), [{ org: "a", day: "2026-11-23", bytes: 0, refused: 0 }])
  })
})
