import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import zoneReferences from "./references/zones.json" with { type: "json" }
import { faultOf, now, type Setting, textOf } from "./variants.ts"

const dateOf = (expression: string, options: Setting = {}) => textOf(`{{ ${expression} }}`, {}, options)

// `references/zones.json` has local times around changes of clocks, and what Python 3.11 (zoneinfo) makes of them.

describe("The date filter", () => {
  it("reads now, seconds, and texts with and without an offset", () => {
    const at = (value: string) => dateOf(`${value} | date: "%Y-%m-%dT%H:%M:%S.%L%z"`)
    assert.strictEqual(at("'now'"), "2026-03-14T15:09:26.535+0000")
    assert.strictEqual(at("'today'"), "2026-03-14T15:09:26.535+0000")
    assert.strictEqual(at("1700000000.25"), "2023-11-14T22:13:20.250+0000")
    assert.strictEqual(at("'1700000000'"), "2023-11-14T22:13:20.000+0000")
    assert.strictEqual(at("'2026-03-14T10:00:00+02:00'"), "2026-03-14T08:00:00.000+0000")
    assert.strictEqual(at("'Sat, 14 Mar 2026 10:00:00 GMT'"), "2026-03-14T10:00:00.000+0000")
    assert.strictEqual(at("'2026-03-14'"), "2026-03-14T00:00:00.000+0000")
    assert.strictEqual(at("'2026-03-14 10:00'"), "2026-03-14T10:00:00.000+0000")
    assert.strictEqual(at("'March 14, 2026 10:00 PM'"), "2026-03-14T22:00:00.000+0000")
  })

  it("reads a time without an offset in the zone, and converts every other time to it", () => {
    const options = { timeZone: "Europe/Berlin" }
    const at = (value: string) => dateOf(`${value} | date: "%F %R %z %Z"`, options)
    assert.strictEqual(at("'2026-03-14'"), "2026-03-14 00:00 +0100 Europe/Berlin")
    assert.strictEqual(at("'2026-07-01T10:00'"), "2026-07-01 10:00 +0200 Europe/Berlin")
    assert.strictEqual(at("'2026-07-01T10:00Z'"), "2026-07-01 12:00 +0200 Europe/Berlin")
    assert.strictEqual(at("'now'"), "2026-03-14 16:09 +0100 Europe/Berlin")
    // 02:30 does not exist on this day; it is the instant an hour after 01:30.
    assert.strictEqual(at("'2026-03-29 02:30'"), "2026-03-29 03:30 +0200 Europe/Berlin")
    assert.strictEqual(at("'2026-03-29 03:00'"), "2026-03-29 03:00 +0200 Europe/Berlin")
    assert.strictEqual(at("'2026-10-25 03:00'"), "2026-10-25 03:00 +0100 Europe/Berlin")
  })

  it("accepts a zone as name, as offset or as minutes west of UTC, and ignores an unknown one", () => {
    const at = (zone: string) => dateOf(`0 | date: "%F %R %z", ${zone}`)
    assert.strictEqual(at("'America/New_York'"), "1969-12-31 19:00 -0500")
    assert.strictEqual(at("'Eastern Time (US & Canada)'"), "1969-12-31 19:00 -0500")
    assert.strictEqual(at("'+05:30'"), "1970-01-01 05:30 +0530")
    assert.strictEqual(at("'UTC-5'"), "1969-12-31 19:00 -0500")
    assert.strictEqual(at("-330"), "1970-01-01 05:30 +0530")
    assert.strictEqual(at("'Nowhere/Else'"), "1970-01-01 00:00 +0000")
    assert.strictEqual(at("nothing"), "1970-01-01 00:00 +0000")
    const [fault] = faultOf('{{ 0 | date: "%F", "Nowhere/Else" }}', {}, { strict: true }).faults
    assert.strictEqual(
      fault?.message,
      'date: there is no time zone "Nowhere/Else": send an IANA name, such as Europe/Berlin',
    )
  })

  it("reads the zone that a date names", () => {
    const at = (value: string) => dateOf(`'${value}' | date: "%F %T %Z", "UTC"`)
    assert.strictEqual(at("2026-07-14T09:00[Europe/Berlin][u-ca=gregory]"), "2026-07-14 07:00:00 UTC")
    assert.strictEqual(at("2026-07-14 09:00:00 America/New_York"), "2026-07-14 13:00:00 UTC")
    assert.strictEqual(at("2026-07-14T09:00:00+01:00[Mars/Base]"), "2026-07-14 08:00:00 UTC")
    assert.strictEqual(at("2026-07-14T09:00[Mars/Base]"), "2026-07-14T09:00[Mars/Base]")
  })

  it("warns of values that are shown instead of a date, and does not fail in strict mode", () => {
    const warnings: Array<string> = []
    const warn = ({ message }: { readonly message: string }) => warnings.push(message)
    const source = "{{ v | date: '%F' }}{{ '' | time_zone: 'UTC' }}{{ l | date: '%F' }}{{ 0 | date: f }}"
    for (const v of ["03/04/2026", 1e15, { seconds: 0 }]) textOf(source, { v, l: [], f: "%F" }, { warn })
    const why = "is shown as it is, because it is no certain date: send one such as 2026-03-14"
    assert.deepStrictEqual(warnings.splice(0), [
      `date: "03/04/2026" ${why}`,
      `date: "1000000000000000" ${why}`,
      `date: "{\\"seconds\\":0}" ${why}`,
    ])
    assert.strictEqual(textOf(source, { v: 0, l: [], f: "dd.MM.yyyy" }, { warn }), "1970-01-01dd.MM.yyyy")
    assert.deepStrictEqual(warnings, [
      'date: the format "dd.MM.yyyy" has no directive, so readers see it instead of the date: write "%d.%m.%Y"',
    ])
    assert.strictEqual(textOf(source, { v: "soon", l: [], f: "soon" }, { strict: true }), "soonsoon")
  })

  it("writes and reads the local times of 25 zones around their changes of clocks as Python does", () => {
    for (const [zone, rows] of Object.entries(zoneReferences)) {
      for (const [local, written] of rows) {
        assert.strictEqual(textOf("{{ v | date: '%F %T %z', z }}", { v: local, z: zone }), written, `${zone} ${local}`)
      }
    }
  })

  it("reads what it writes in a zone as the same instant", () => {
    const zone = fc.constantFrom(...Object.keys(zoneReferences))
    fc.assert(fc.property(zone, fc.integer({ min: -2_000_000_000, max: 4_000_000_000 }), (timeZone, seconds) => {
      const written = textOf("{{ v | date: '%F %T %::z' }}", { v: seconds }, { timeZone })
      assert.strictEqual(textOf("{{ v | date: '%s' }}", { v: written }, { timeZone }), String(seconds))
    }))
  })

  it("leaves other values unchanged", () => {
    for (const value of ["", "soon", "2026-13-45", "a".repeat(5000), "not 2026-03-14 at all"]) {
      assert.strictEqual(textOf("{{ v | date: '%F' }}", { v: value }), value)
    }
    assert.strictEqual(
      textOf("{{ v | date: '%F' }}{{ w | date: '%F' }}{{ x | date }}", { v: [1, 2], w: true }),
      "12true",
    )
    assert.strictEqual(textOf("{{ v | date: '%F' }}", { v: 1e15 }), "1000000000000000")
  })

  it("formats composed directives as Ruby does and keeps unknown ones", () => {
    assert.strictEqual(
      dateOf('"now" | date: "%c / %D %T %r %R %x %X %:z %Q %E"'),
      "Sat Mar 14 15:09:26 2026 / 03/14/26 15:09:26 03:09:26 PM 15:09 03/14/26 15:09:26 +00:00 %Q %E",
    )
    assert.strictEqual(dateOf("'now' | date"), "Saturday, March 14, 2026 at 3:09 pm +0000")
  })

  it("pads to at most 64 characters, and rejects formats longer than 256", () => {
    assert.strictEqual(dateOf('"now" | date: "%99999999d"').length, 64)
    assert.strictEqual(dateOf(`"now" | date: "%${"9".repeat(180)}N"`).length, 64)
    assert.strictEqual(dateOf(`"now" | date: "${"%B".repeat(129)}"`), "")
    const [fault] = faultOf(`{{ "now" | date: "${"%B".repeat(129)}" }}`, {}, { strict: true }).faults
    assert.strictEqual(fault?.message, "date: the format is longer than 256 characters")
  })
})

describe("The filters date_to_…", () => {
  it("write XML Schema, RFC 822 and readable dates", () => {
    const day = { d: now / 1000 }
    assert.strictEqual(textOf("{{ d | date_to_xmlschema }}", day), "2026-03-14T15:09:26+00:00")
    assert.strictEqual(textOf("{{ d | date_to_rfc822 }}", day), "Sat, 14 Mar 2026 15:09:26 +0000")
    assert.strictEqual(textOf("{{ d | date_to_string }}", day), "14 Mar 2026")
    assert.strictEqual(textOf("{{ d | date_to_long_string: 'ordinal', 'US' }}", day), "March 14th, 2026")
    assert.strictEqual(textOf("{{ '2026-03-02' | date_to_string: 'ordinal' }}"), "2nd Mar 2026")
  })
})
