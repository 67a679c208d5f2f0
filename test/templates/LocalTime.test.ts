import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as LocalTime from "../../src/templates/LocalTime.ts"

const minuteMs = 60_000
const zones = [...Intl.supportedValuesOf("timeZone"), "UTC"]
const instant = (text: string) => Date.parse(text)

/** An instant as Intl formats it, part by part. */
const byIntl = (zone: string) => {
  const formatter = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    weekday: "short",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  })
  return (instantMs: number) => {
    const parts = new Map(formatter.formatToParts(instantMs).map(({ type, value }) => [type, value]))
    const number = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type))
    return {
      year: number("year"),
      month: number("month"),
      day: number("day"),
      weekday: parts.get("weekday")!.toLowerCase(),
      hour: number("hour"),
      minute: number("minute"),
    }
  }
}

/** `2026-03-29T02:30` as it would be in UTC, the form in which `instantOf` takes local times. */
const local = (text: string) => Date.parse(`${text}Z`)

const iso = (instantMs: number) => new Date(instantMs).toISOString().replace(/(:00)?\.000Z$/, "Z")

describe("LocalTime.at", () => {
  it.each([
    ["UTC", "2026-11-15T23:59:59.999Z", 2026, 11, 15, "sun", 23, 59],
    ["Europe/Berlin", "2026-12-31T23:00:00Z", 2027, 1, 1, "fri", 0, 0],
    ["Europe/Berlin", "2026-12-31T22:59:59.999Z", 2026, 12, 31, "thu", 23, 59],
    ["America/New_York", "2026-01-01T04:59:59Z", 2025, 12, 31, "wed", 23, 59],
    ["Asia/Kathmandu", "2026-02-28T18:15:00Z", 2026, 3, 1, "sun", 0, 0],
    ["Asia/Kathmandu", "2028-02-28T18:15:00Z", 2028, 2, 29, "tue", 0, 0],
    ["Australia/Lord_Howe", "2026-07-01T00:00:00Z", 2026, 7, 1, "wed", 10, 30],
    ["Australia/Lord_Howe", "2026-01-01T00:00:00Z", 2026, 1, 1, "thu", 11, 0],
    ["Pacific/Kiritimati", "2026-01-01T10:00:00Z", 2026, 1, 2, "fri", 0, 0],
    ["Pacific/Chatham", "2026-01-01T00:00:00Z", 2026, 1, 1, "thu", 13, 45],
    ["America/New_York", "1883-11-18T16:00:00Z", 1883, 11, 18, "sun", 11, 3],
    ["UTC", "1969-12-31T23:59:59.999Z", 1969, 12, 31, "wed", 23, 59],
  ])("shows the clocks of %s at %s", (zone, text, year, month, day, weekday, hour, minute) => {
    assert.deepStrictEqual<object>(LocalTime.of(zone).at(instant(text)), { year, month, day, weekday, hour, minute })
  })

  it.each([
    // Spring forward and fall back, each at the last and the first millisecond of an offset.
    ["America/New_York", "2026-03-08T06:59:59.999Z", "01:59", "03:00"],
    ["America/New_York", "2026-11-01T05:59:59.999Z", "01:59", "01:00"],
    ["Europe/Berlin", "2026-03-29T00:59:59.999Z", "01:59", "03:00"],
    ["Europe/Berlin", "2026-10-25T00:59:59.999Z", "02:59", "02:00"],
    ["Australia/Lord_Howe", "2026-04-04T14:59:59.999Z", "01:59", "01:30"],
    ["Australia/Lord_Howe", "2026-10-03T15:29:59.999Z", "01:59", "02:30"],
    // One minute past midnight, so within a quarter of an hour.
    ["America/St_Johns", "2010-11-07T02:30:59.999Z", "00:00", "23:01"],
    ["Antarctica/Casey", "2020-10-03T16:00:59.999Z", "00:00", "03:01"],
  ])("changes the clocks of %s right after %s", (zone, text, before, after) => {
    const clocks = (instantMs: number) => {
      const { hour, minute } = LocalTime.of(zone).at(instantMs)
      return `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`
    }
    assert.strictEqual(clocks(instant(text)), before)
    assert.strictEqual(clocks(instant(text) + 1), after)
    assert.strictEqual(clocks(instant(text)), before)
  })

  it("agrees with Intl before and after every clock change of every zone from 2000 to 2035", () => {
    const until = instant("2036-01-01T00:00:00Z")
    let changes = 0
    for (const zone of zones) {
      const { at } = LocalTime.of(zone)
      const intl = byIntl(zone)
      let clock = Temporal.Instant.from("2000-01-01T00:00:00Z").toZonedDateTimeISO(zone)
      for (;;) {
        const change = clock.getTimeZoneTransition("next")
        if (change === null || change.epochMilliseconds >= until) break
        for (const ms of [change.epochMilliseconds - 1, change.epochMilliseconds]) {
          assert.deepStrictEqual<object>(at(ms), intl(ms), `${zone} ${iso(ms)}`)
        }
        changes += 1
        clock = change
      }
    }
    assert.isAbove(changes, 10_000)
  })

  it("agrees with Intl at any instant in any zone", () => {
    const clocks = new Map(zones.map((zone) => [zone, byIntl(zone)]))
    const anyInstant = fc.integer({ min: instant("1900-01-01T00:00:00Z"), max: instant("2100-01-01T00:00:00Z") })
    fc.assert(
      fc.property(fc.constantFrom(...zones), anyInstant, (zone, instantMs) => {
        assert.deepStrictEqual<object>(LocalTime.of(zone).at(instantMs), clocks.get(zone)!(instantMs))
      }),
      { numRuns: 5_000 },
    )
  })

  it("returns the same result after any earlier calls", () => {
    const { at } = LocalTime.of("Europe/Berlin")
    const anyInstant = fc.integer({ min: instant("2026-10-24T00:00:00Z"), max: instant("2026-10-26T00:00:00Z") })
    const intl = byIntl("Europe/Berlin")
    fc.assert(fc.property(fc.array(anyInstant, { minLength: 2 }), (instants) => {
      for (const ms of instants) assert.deepStrictEqual<object>(at(ms), intl(ms))
    }))
    // More quarters of an hour than are remembered.
    const start = instant("2020-01-01T00:00:00Z")
    for (let i = 0; i < 3_000; i++) {
      assert.strictEqual(at(start + i * 15 * minuteMs).minute, i % 4 * 15)
    }
  })
})

describe("LocalTime.instantOf", () => {
  it.each([
    ["Europe/Berlin", "2026-07-01T12:00", "2026-07-01T10:00Z"],
    ["Europe/Berlin", "2026-12-01T00:00", "2026-11-30T23:00Z"],
    ["Asia/Kathmandu", "2026-01-01T00:00", "2025-12-31T18:15Z"],
    ["Pacific/Kiritimati", "2026-01-01T00:00", "2025-12-31T10:00Z"],
    ["Pacific/Niue", "2026-01-01T00:00", "2026-01-01T11:00Z"],
  ])("finds when the clocks of %s show %s", (zone, text, expected) => {
    assert.strictEqual(iso(LocalTime.of(zone).instantOf(local(text))), expected)
  })

  it.each([
    ["America/New_York", "2026-03-08T02:30", "2026-03-08T07:00Z"],
    ["America/New_York", "2026-03-08T02:00", "2026-03-08T07:00Z"],
    ["Europe/Berlin", "2026-03-29T02:59:59.999", "2026-03-29T01:00Z"],
    ["Europe/Berlin", "2026-03-29T03:00", "2026-03-29T01:00Z"],
    ["Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-03T15:30Z"],
    // Midnight itself is skipped.
    ["Africa/Cairo", "2026-04-24T00:00", "2026-04-23T22:00Z"],
    // A whole day is skipped, on the way over the date line.
    ["Pacific/Apia", "2011-12-30T12:00", "2011-12-30T10:00Z"],
    ["Pacific/Apia", "2011-12-30T00:00", "2011-12-30T10:00Z"],
  ])("takes in %s the skipped %s as the first instant after the gap", (zone, text, expected) => {
    assert.strictEqual(iso(LocalTime.of(zone).instantOf(local(text))), expected)
  })

  it.each([
    ["America/New_York", "2026-11-01T01:30", "2026-11-01T05:30Z"],
    ["Europe/Berlin", "2026-10-25T02:00", "2026-10-25T00:00Z"],
    ["Europe/Berlin", "2026-10-25T03:00", "2026-10-25T02:00Z"],
    ["Australia/Lord_Howe", "2026-04-05T01:45", "2026-04-04T14:45Z"],
  ])("takes in %s the repeated %s as the first of both", (zone, text, expected) => {
    assert.strictEqual(iso(LocalTime.of(zone).instantOf(local(text))), expected)
  })

  it("agrees with Temporal on any local time in any zone", () => {
    const anyLocal = fc.integer({ min: local("1972-01-01T00:00"), max: local("2037-01-01T00:00") })
    // Random minutes rarely meet a change; the nights of the clock change in Europe and America are added to them.
    const aroundChange = fc.tuple(
      fc.constantFrom("2025-03-09", "2025-11-02", "2026-03-29", "2026-10-25", "2026-04-05", "2026-10-04"),
      fc.integer({ min: 0, max: 24 * 60 - 1 }),
    ).map(([day, minutes]) => local(`${day}T00:00`) + minutes * minuteMs)
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.oneof(anyLocal, aroundChange), (zone, localMs) => {
        const plain = Temporal.PlainDateTime.from(new Date(localMs).toISOString().slice(0, -1))
        const earlier = plain.toZonedDateTime(zone, { disambiguation: "earlier" })
        const skipped = !earlier.toPlainDateTime().equals(plain)
        const expected = skipped ? earlier.getTimeZoneTransition("next")! : earlier
        assert.strictEqual(LocalTime.of(zone).instantOf(localMs), expected.epochMilliseconds)
      }),
      { numRuns: 5_000 },
    )
  })
})

describe("LocalTime.offsetAt", () => {
  it.each([
    ["UTC", 0],
    ["Europe/Berlin", 60],
    ["America/New_York", -300],
    ["Asia/Kathmandu", 345],
    ["America/St_Johns", -210],
    ["Etc/GMT+5", -300],
  ])("gives for %s in January %d minutes", (zone, minutes) => {
    assert.strictEqual(LocalTime.of(zone).offsetAt(instant("2026-01-15T12:00:00Z")), minutes * minuteMs)
  })

  it("returns the seconds of local mean time", () => {
    assert.strictEqual(LocalTime.of("Europe/Berlin").offsetAt(instant("1890-01-01T00:00:00Z")), (53 * 60 + 28) * 1000)
    assert.strictEqual(LocalTime.of("America/New_York").offsetAt(instant("1850-01-01T00:00:00Z")), -17_762_000)
  })
})

describe("LocalTime.isTimeZone", () => {
  it.each([
    "UTC",
    "Europe/Berlin",
    "europe/berlin",
    "Asia/Calcutta",
    "Asia/Kolkata",
    "America/Argentina/Buenos_Aires",
    "GMT",
    "Etc/GMT-14",
  ])(
    "takes %s",
    (name) => assert.isTrue(LocalTime.isTimeZone(name)),
  )

  it.each([
    "",
    "Mars/Phobos",
    "+02:00",
    "-05",
    "Europe/Berlin ",
    " UTC",
    "Europe/Berlin\n",
    "Europe",
    "../etc/passwd",
    "a".repeat(65),
    "__proto__",
  ])(
    "refuses %j",
    (name) => {
      assert.isFalse(LocalTime.isTimeZone(name))
      assert.throws(() => LocalTime.of(name), RangeError, "is not an IANA time zone")
    },
  )

  it("accepts every zone of the runtime in any case", () => {
    for (const zone of zones) {
      assert.isTrue(LocalTime.isTimeZone(zone), zone)
      assert.strictEqual(LocalTime.of(zone.toUpperCase()), LocalTime.of(zone))
    }
    assert.strictEqual(LocalTime.of("europe/berlin").zone, "Europe/Berlin")
  })
})
