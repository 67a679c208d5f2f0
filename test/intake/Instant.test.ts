import { assert, describe, it } from "@effect/vitest"
import { parseInstant } from "../../src/intake/Instant.ts"

describe("parseInstant", () => {
  it("reads each day and second of ISO 8601 with and without milliseconds, in UTC", () => {
    let seed = 5
    for (let sample = 0; sample < 20_000; sample++) {
      seed = seed * 48271 % 2147483647
      const instant = seed * 1_900 + seed % 1000
      const iso = new Date(instant).toISOString()
      assert.strictEqual(parseInstant(iso), instant, iso)
      const second = `${iso.slice(0, 19)}Z`
      assert.strictEqual(parseInstant(second), Math.floor(instant / 1000) * 1000, second)
      assert.strictEqual(parseInstant(iso.replace("Z", "+00:00")), instant, iso)
    }
  })

  it("refuses days and times that do not exist", () => {
    const wrong = [
      "2026-02-29T00:00:00Z",
      "2026-02-30T00:00:00Z",
      "2026-13-01T00:00:00Z",
      "2026-00-10T00:00:00Z",
      "2026-01-00T00:00:00Z",
      "2026-01-01T24:00:00Z",
      "2026-01-01T00:60:00Z",
      "2026-01-01T00:00:61Z",
      "1969-12-31T23:59:59Z",
      "2026-01-01T00:00:0xZ",
      "2026-01-01T00:00:00.0x0Z",
      "2026-01-01X00:00:00Z",
      "2026/01/01T00:00:00Z",
      "2026-01-01T00:00:00Q",
    ]
    for (const text of wrong) assert.isUndefined(parseInstant(text), text)
    assert.strictEqual(parseInstant("2024-02-29T12:00:60Z"), Date.UTC(2024, 1, 29, 12, 1))
  })

  it("reads every way to write a time of ISO 8601 with its zone", () => {
    const at = Date.UTC(2026, 10, 24, 9, 30)
    const written: ReadonlyArray<readonly [string, number]> = [
      ["2026-11-24T09:30", at],
      ["2026-11-24t09:30z", at],
      ["2026-11-24 09:30:00", at],
      ["2026-11-24 09:30:00 +00:00", at],
      ["2026-11-24 11:30:00 +0200", at],
      ["2026-11-24T05:00:00-04:30", at],
      ["2026-11-24T10:30+01", at],
      ["2026-11-24 09:30:00 UTC", at],
      ["2026-11-24T09:30:00GMT", at],
      ["2026-11-24T09:30:07.5Z", at + 7_500],
      ["2026-11-24T09:30:07,123456789Z", at + 7_123],
    ]
    for (const [text, instant] of written) assert.strictEqual(parseInstant(text), instant, text)
    const wrong = ["+1", "+010", "+01:0", "+24:00", "+01:60", "utc", "UTC+1", "-", ".", ".1234567890", ":", ":5"]
    for (const end of wrong) assert.isUndefined(parseInstant(`2026-11-24T09:30${end}`), end)
  })

  it("reads numbers by their size as seconds, milliseconds or microseconds", () => {
    assert.strictEqual(parseInstant("1790000000"), 1_790_000_000_000)
    assert.strictEqual(parseInstant("1790000000123"), 1_790_000_000_123)
    assert.strictEqual(parseInstant("1790000000123456"), 1_790_000_000_123)
    assert.strictEqual(parseInstant("1.79e+9"), 1_790_000_000_000)
  })
})
