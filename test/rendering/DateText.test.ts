import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { write } from "../../src/rendering/DateFormat.ts"
import { readDate, unixTime } from "../../src/rendering/DateText.ts"
import references from "./references/dates.json" with { type: "json" }

// `references/dates.json` has texts that Ruby, Java, Node and PostgreSQL print, and texts in the form of ISO 8601 that
// Python's datetime.fromisoformat reads or refuses. Each has its instant (or local time, without a zone), or null.

/** The date in UTC, or the local time of a date without a zone. */
const shown = (text: string): string | null => {
  const read = readDate(text)
  if (read === undefined || typeof read.zone === "string") return read === undefined ? null : String(read.zone)
  const instant = new Date(read.local - (read.zone ?? 0) * 1_000).toISOString()
  return `${instant.slice(0, -1)}${String(read.nanos).padStart(6, "0")}Z`
}

/** The date, shortened: without the fraction if it is 0, and without the time if it is midnight. */
const short = (text: string): string | null =>
  shown(text)?.replace(/(?<=\.\d{3})0{6}Z$/, "Z").replace(".000Z", "Z").replace("T00:00:00Z", "") ?? null

describe("readDate", () => {
  it("reads what Ruby, Java, Node and PostgreSQL print, and ISO 8601 as Python does", () => {
    for (const [source, text, expected] of references) {
      assert.strictEqual(shown(text!), expected, `${source}: ${text}`)
    }
  })

  it.each([
    // ISO 8601
    ["2026-03-14t08:00:00z", "2026-03-14T08:00:00Z"],
    ["2026-03-14T08:00:00,5+01", "2026-03-14T07:00:00.500Z"],
    ["2026-03-14T09:00:00\u221201:00", "2026-03-14T10:00:00Z"],
    ["20260314T0800+01", "2026-03-14T07:00:00Z"],
    ["20260314 080000", "2026-03-14T08:00:00Z"],
    ["20260314080000", "2026-03-14T08:00:00Z"],
    ["202603140805", "2026-03-14T08:05:00Z"],
    ["20260314", "2026-03-14"],
    ["2026-W11", "2026-03-09"],
    ["2026W116T08Z", "2026-03-14T08:00:00Z"],
    ["2020-W53-7", "2021-01-03"],
    ["2026-073", "2026-03-14"],
    ["2026073T080000Z", "2026-03-14T08:00:00Z"],
    ["2024-366", "2024-12-31"],
    ["2026-03", "2026-03-01"],
    ["+002026-03-14T00:00:00Z", "2026-03-14"],
    ["2026-03-14T08.5Z", "2026-03-14T08:30:00Z"],
    ["2026-03-14T08:30,5Z", "2026-03-14T08:30:30Z"],
    ["2026-03-14T24:00:00", "2026-03-15"],
    ["2026-12-31T23:59:60Z", "2027-01-01"],
    ["2026-03-14+01:00", "2026-03-13T23:00:00Z"],
    ["  2026-3-4  ", "2026-03-04"],
    // Temporal, Java, Go, Rails
    ["2026-03-14T09:00[Europe/Berlin][u-ca=gregory]", "Europe/Berlin"],
    ["2026-03-14T09:00:00+01:00[!u-ca=gregory]", "2026-03-14T08:00:00Z"],
    ["2026-03-14 08:00:00 Europe/Berlin", "Europe/Berlin"],
    ["2026-03-14 08:00:00.5 +0100 CET m=+0.5", "2026-03-14T07:00:00.500Z"],
    ["Sat, 14 Mar 2026 08:00:00.000000000 CET +01:00", "2026-03-14T07:00:00Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01"],
    ["2026-03-14 05:00:00 -0300 -03", "2026-03-14T08:00:00Z"],
    ["2026-03-14 12:00:00.5 +0400 +04 m=+1.5", "2026-03-14T08:00:00.500Z"],
    // Oracle, SQL Server
    ["14-MAR-26", "2026-03-14"],
    ["14-MAR-26 08.05.09.500000 PM", "2026-03-14T20:05:09.500Z"],
    ["14-MAR-26 08.05.09,500000 AM -05:00", "2026-03-14T13:05:09.500Z"],
    ["14-MAR-26 08.05.09 AM EUROPE/BERLIN", "EUROPE/BERLIN"],
    ["Mar 14 2026  8:05:09:123PM", "2026-03-14T20:05:09.123Z"],
    ["14.03.2026 08:05:09:123", "2026-03-14T08:05:09.123Z"],
    // Words
    ["Sat, 14 Mar 26 08:00:00 EST", "2026-03-14T13:00:00Z"],
    ["14 Mar 68", "1968-03-14"],
    ["March 14th, 2026 at 8pm", "2026-03-14T20:00:00Z"],
    ["Mar 14 2026 8:00\u202fPM", "2026-03-14T20:00:00Z"],
    ["the 14th of March 2026", "2026-03-14"],
    ["8:00 p.m., March 14, 2026", "2026-03-14T20:00:00Z"],
    ["Sept 3, '26", "2026-09-03"],
    ["14Mar2026", "2026-03-14"],
    ["14/Mar/2026:08:00:00 +0000", "2026-03-14T08:00:00Z"],
    ["SATURDAY 14 MARCH 2026", "2026-03-14"],
    ["March 2026", "2026-03-01"],
    ["Saturday, 14. March 2026", "2026-03-14"],
    ["12:00 AM, 1 May 2026", "2026-05-01"],
    // Numbers whose order is certain
    ["04.03.2026", "2026-03-04"],
    ["4.3.2026, 08:00", "2026-03-04T08:00:00Z"],
    ["4. 3. 2026 08.05.09", "2026-03-04T08:05:09Z"],
    ["31/08/2018", "2018-08-31"],
    ["09/15/2021 13:34", "2021-09-15T13:34:00Z"],
    ["12/31/2026 11:59pm", "2026-12-31T23:59:00Z"],
    ["12-12-2012", "2012-12-12"],
    ["2023/02/02", "2023-02-02"],
    ["2026.03.14", "2026-03-14"],
    // Unix time
    ["1412098448", "2014-09-30T17:34:08Z"],
    ["978354000", "2001-01-01T13:00:00Z"],
    ["1773482400000", "2026-03-14T10:00:00Z"],
    ["-1773482400", "1913-10-20T14:00:00Z"],
    ["4133980799", "2100-12-31T23:59:59Z"],
    ["1773482400.25", "2026-03-14T10:00:00.250Z"],
    ["202613140805", "1976-06-03T01:25:40.805Z"],
  ])("reads %j", (text, expected) => assert.strictEqual(short(text), expected))

  it.each([
    // Words with a number, which Date.parse takes for dates
    ..."item 7;Size 10;size-10;foo-bar 2014;ab-cd-1;243blah;e 3;zzz 3;3th;2011-02-4x;10 out of 10;iPhone 15".split(";"),
    ..."May;May 10;10 May;Sat 10;March 14;the 3rd;1st;Monday;at 8pm;08:00;T08:00;in 5 days;Chapter 11;Q1 2026".split(
      ";",
    ),
    ..."March 14 2026 Size 10;10 May 2026 2;2026-03-14 (sold out);2026-03-14 08:00 x;2026-03-14/2026-03-15".split(";"),
    // Prices, sizes, numbers of orders and zip codes
    ..."\u20ac 12;12.50;1.2.3;10.0.0.1;10115;12345678;1234567;4711;2026;2026073;49301234567;123456789012345".split(";"),
    ..."1e3;0x10;-5;+1;1,000;\u0661\u0662;\uff11\uff10;123-456-7890;2026-1234;10-10;3/4;P1D;R5".split(";"),
    ..."2026-03-14-01;2026-03-14 +2;14.03.2026-2;14 Mar 2026 -5;0123456789;0049301234567;-0123456789".split(";"),
    ..."9783161484100;4915112345678;5901234123457;9876543210;4133980800;4133980800000".split(";"),
    // Days and times that do not exist
    ..."2026-02-30;2011-02-41;2026-13-01;30.02.2026;31 June 2026;Feb 29 2026;0000-00-00;0000-00-00 00:00:00".split(";"),
    ..."2026-366;2026-000;2026-W54;2026-W00;2026-W11-8;14.13.2026;20260230;20261301".split(";"),
    ..."2026-03-14 24:01;2026-03-14T25:00;2026-03-14 08:60;2026-03-14T08:00:61;2026-03-14 13:00 PM".split(";"),
    ..."2026-03-14T24:00:00.1;0:30 PM 14 May 2026;2026-03-14T08:00:00+25:00;2026-03-14T08:00:00+01:60".split(";"),
    ..."14-MAR-26 13.05.09 PM;14 Mar 2026 08.65.09;14 Mar 2026 10.0.19;2026-03-14 08:05:009".split(";"),
    // The order of day and month is uncertain, or the zone has several meanings
    ..."03/04/2026;12/3/2021;03-04-2026;10/11/12;09/15/21;03.14.2026;Tue 13 Dec 2011 09:37:46 AM ART".split(";"),
    ..."2026-03-14 08:00 IST;Sat Jul 14 08:00:00 BST 2026;infinity;-infinity;tomorrow;null;;".split(";"),
  ])("does not read %j", (text) => assert.isNull(short(text)))

  it("does not read texts longer than 100 characters", () => {
    assert.isNull(short(`2026-03-14 08:00:00.${"0".repeat(100)}`))
    assert.strictEqual(short(`2026-03-14T08:00:00.${"0".repeat(80)}`), "2026-03-14T08:00:00Z")
  })

  it("reads dates in any usual format as the moment that was written", () => {
    const format = fc.constantFrom(
      ..."%F %T.%N%:z|%FT%T.%6N%z|%Y%m%dT%H%M%S%z|%G-W%V-%uT%T%::z|%Y-%jT%T%z|%a, %d %b %Y %T %z|%c %z".split("|"),
      ..."%A, %B %-d, %Y at %-I:%M:%S %p %:z|%-d.%-m.%Y %T %z|%d-%b-%Y %T %z|%Y/%m/%d %T %z|%s|%s%L".split("|"),
    )
    const seconds = fc.integer({ min: 1_000_000_000, max: 4_000_000_000 })
    fc.assert(fc.property(format, seconds, fc.integer({ min: -48, max: 56 }), (form, at, quarters) => {
      const offset = quarters * 900
      const moment = { instant: at * 1_000, wall: new Date((at + offset) * 1_000), nanos: 0, offset, zone: "" }
      const read = readDate(write(moment, form))
      assert.isDefined(read, write(moment, form))
      assert.strictEqual(read!.local - (read!.zone as number) * 1_000, moment.instant, write(moment, form))
    }))
  })

  it("reads no word with one number as a date", () => {
    const month = /^(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)/i
    const words = fc.stringMatching(/^[a-zA-Z]{1,12}$/).filter((word) => !month.test(word))
    fc.assert(
      fc.property(
        words,
        fc.integer({ min: 0, max: 99_999 }),
        fc.constantFrom(" ", "-", "", " #", ": "),
        (word, n, gap) => {
          assert.isNull(short(`${word}${gap}${n}`))
          assert.isNull(short(`${n}${gap}${word}`))
        },
      ),
    )
  })
})

describe("unixTime", () => {
  it("reads numbers as seconds, and as milliseconds from 100,000,000,000 on", () => {
    const at = (value: number) => {
      const read = unixTime(value)
      return read === undefined ? undefined : [new Date(read.local).toISOString(), read.nanos]
    }
    assert.deepStrictEqual(at(0), ["1970-01-01T00:00:00.000Z", 0])
    assert.deepStrictEqual(at(-86400), ["1969-12-31T00:00:00.000Z", 0])
    assert.deepStrictEqual(at(1773482400), ["2026-03-14T10:00:00.000Z", 0])
    assert.deepStrictEqual(at(1773482400.000125), ["2026-03-14T10:00:00.000Z", 125_000])
    assert.deepStrictEqual(at(1773482400089), ["2026-03-14T10:00:00.089Z", 0])
    assert.deepStrictEqual(at(-1773482400089), ["1913-10-20T13:59:59.911Z", 0])
    assert.deepStrictEqual(at(1e11 - 1), ["5138-11-16T09:46:39.000Z", 0])
    assert.deepStrictEqual(at(1e11), ["1973-03-03T09:46:40.000Z", 0])
    for (const value of [1e15, -1e15, Infinity, NaN]) assert.isUndefined(at(value))
  })
})
