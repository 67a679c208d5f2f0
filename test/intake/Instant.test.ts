import { assert, describe, it } from "@effect/vitest"
import { parseInstant, readInstant } from "../../src/intake/Instant.ts"

describe("parseInstant", () => {
  it("reads every day and second of ISO 8601 with and without milliseconds in UTC", () => {
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

  it("rejects days and times that do not exist", () => {
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

  it("reads every ISO 8601 form of a time with its zone", () => {
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

  it("reads the formats of mail, programming languages and databases", () => {
    const at = Date.UTC(2026, 10, 28, 10, 18)
    const same = [
      "Sat, 28 Nov 2026 10:18:00 +0000",
      "Sat, 28 Nov 2026 11:18:00 +0100 (CET)",
      "28 Nov 2026 10:18:00 GMT",
      "Saturday, 28-Nov-26 10:18:00 GMT",
      "Sat Nov 28 10:18:00 2026",
      "Sat Nov 28 10:18:00 UTC 2026",
      "Sat Nov 28 05:18:00 EST 2026",
      "Sat Nov 28 2026 11:18:00 GMT+0100 (Central European Standard Time)",
      "Nov 28, 2026, 10:18:00 AM",
      "November 28, 2026 at 10:18 AM UTC",
      "2026-11-28 11:18:00+01",
      "2026-11-28 11:18:00.000000+01",
      "2026-11-28 11:18:00 Europe/Berlin",
      "2026-11-28T11:18+01:00[Europe/Berlin]",
      "2026-11-28T11:18[Europe/Berlin]",
      "2026-11-28T10:18:00Z[UTC]",
      "2026-11-28 10:18:00.000000001 +0000 UTC m=+0.000000001",
      "2026-11-28 10:18:00 +0000 UTC",
      "2026-11-28 13:18:00 +0300 +03",
      "20261128T101800Z",
      "20261128T111800+0100",
      "2026/11/28 10:18:00",
      "/Date(1795861080000)/",
      "/Date(1795861080000+0100)/",
      "2026-11-28 11:18:00 CET",
      "2026-11-28 05:18:00 EST",
      "Sat Nov 28 11:18:00 CET 2026",
      "Sat Nov 28 19:18:00 JST 2026",
      "Sat,28 Nov 2026 10:18:00 +0000",
      "Nov 28, 2026, 10:18:00\u202fAM",
      "2026-11-28T10:18:00\u221200:00",
      '"2026-11-28T10:18:00Z"',
      "20261128101800",
      "2026-11-28T11:18:00.0000000+01:00",
      "@1795861080",
      "1795861080s",
      "1795861080000 ms",
      "1.79586108e9",
    ]
    for (const text of same) assert.strictEqual(parseInstant(text), at, text)
  })

  it("reads an hour of one digit", () => {
    const at = Date.UTC(2026, 10, 28, 9, 18)
    for (const text of ["2026-11-28 9:18:00", "2026-11-28T9:18Z", "2026/11/28 9:18:00"]) {
      assert.strictEqual(parseInstant(text), at, text)
    }
  })

  it("reads the times of Windows and .NET", () => {
    assert.strictEqual(parseInstant("639311094000000000"), Date.UTC(2026, 10, 24, 9, 30))
    assert.strictEqual(parseInstant("134399862000000000"), Date.UTC(2026, 10, 24, 9, 30))
  })

  it("rejects ambiguous and unreadable times", () => {
    const wrong = [
      "yesterday",
      "now",
      "",
      "28.11.2026 10:18",
      "11/28/2026 10:18:00",
      "05/06/2026 10:18",
      "2026-11-28",
      "10:18",
      "2026-11-28 11:18:00 IST",
      "2026-11-28 11:18:00 constructor",
      "Sat Nov 28 11:18:00 IST 2026",
      "20261328101800",
      "123456789012345678901234567890",
      "31 Feb 2026 10:18:00 GMT",
      "28 Novembre 2026 10:18:00",
      "Nov 28, 2026, 13:18:00 PM",
      "0044-03-15 BC",
      "-0044-03-15T00:00:00Z",
      "2026-W48-6T10:18Z",
      "2026-11-28 11:18:00 Europe/Nowhere",
      // The clocks show it twice.
      "2026-10-25 02:30:00 Europe/Berlin",
    ]
    for (const text of wrong) assert.isUndefined(parseInstant(text), text)
  })

  it("distinguishes seconds, milliseconds, microseconds and nanoseconds by their size", () => {
    assert.strictEqual(parseInstant("1790000000"), 1_790_000_000_000)
    assert.strictEqual(parseInstant("1790000000123"), 1_790_000_000_123)
    assert.strictEqual(parseInstant("1790000000123456"), 1_790_000_000_123)
    assert.strictEqual(parseInstant("1790000000123456789"), 1_790_000_000_123)
    assert.strictEqual(parseInstant("1.79e+9"), 1_790_000_000_000)
  })
})

describe("readInstant", () => {
  const receivedAt = Date.UTC(2026, 10, 28, 10, 18)
  const wrongOf = (value: unknown) => {
    const read = readInstant(value, receivedAt)
    return "wrong" in read ? read.wrong : String(read.value)
  }

  it("reads numbers and numeric texts", () => {
    for (const value of [1.79e9, 1.79e12, 1.79e15, 1.79e18, "1790000000000000000", "1790000000"]) {
      assert.deepStrictEqual(readInstant(value, receivedAt), { value: 1_790_000_000_000 }, String(value))
    }
  })

  it("reads the times of protobuf, Firestore, MongoDB and Java", () => {
    const values = [
      { seconds: 1_790_000_000, nanos: 5 },
      { seconds: "1790000000" },
      { _seconds: 1_790_000_000, _nanoseconds: 0 },
      { $date: "2026-09-21T14:13:20Z" },
      { $date: { $numberLong: "1790000000000" } },
      [2026, 9, 21, 14, 13, 20],
      [2026, 9, 21, 14, 13, 20, 500],
    ]
    for (const value of values) {
      assert.deepStrictEqual(readInstant(value, receivedAt), { value: 1_790_000_000_000 }, JSON.stringify(value))
    }
    const deep = { $date: { $date: { $date: { $date: 1.79e9 } } } }
    for (const value of [deep, { seconds: {} }, [2026, 9], [2026, 9, 21, 14, "x"]]) {
      assert.include(wrongOf(value), "no time", JSON.stringify(value))
    }
  })

  it("replaces a time up to five minutes ahead by the time of receipt", () => {
    assert.deepStrictEqual(readInstant(receivedAt + 5 * 60_000, receivedAt), { value: receivedAt })
    assert.include(wrongOf(receivedAt + 5 * 60_000 + 1), "is in the future")
    assert.include(wrongOf("2027-11-28T10:18:00Z"), "is in the future")
  })

  it("rejects the zero of a clock", () => {
    for (const value of [0, "0", { seconds: 0 }, "1970-01-01T00:00:00Z", "1970-01-01T01:00:00+01:00", 20261128]) {
      assert.include(wrongOf(value), "is in 1970", String(value))
    }
    for (const value of ["0001-01-01T00:00:00Z", -1, true, {}, []]) {
      assert.include(wrongOf(value), "no time", String(value))
    }
  })
})
