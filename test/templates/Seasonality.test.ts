import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as fc from "fast-check"
import { type Season, Season as SeasonSchema } from "../../src/domain/Season.ts"
import * as LocalTime from "../../src/templates/LocalTime.ts"
import * as Seasonality from "../../src/templates/Seasonality.ts"

const holds = (season: Season, zone: string, instant: string) => {
  const nowMs = Date.parse(instant)
  assert.isFalse(Number.isNaN(nowMs), instant)
  const calendar = Seasonality.compile([season], zone)
  // The reason and the answer must not contradict each other.
  assert.strictEqual(calendar.whyNot(nowMs) === undefined, calendar.holds(nowMs))
  return calendar.holds(nowMs)
}

/** `season` in `zone`, with the instants it holds at and those it does not. */
type Row = readonly [name: string, zone: string, Season, holding: ReadonlyArray<string>, failing: ReadonlyArray<string>]

const check = (rows: ReadonlyArray<Row>) => {
  for (const [name, zone, season, holding, failing] of rows) {
    it(`${name} (${zone})`, () => {
      for (const instant of holding) assert.isTrue(holds(season, zone, instant), instant)
      for (const instant of failing) assert.isFalse(holds(season, zone, instant), instant)
    })
  }
}

describe("starts_at and ends_at", () => {
  check([
    ["holds from the first instant on", "UTC", { starts_at: "2026-11-15T09:00:00Z" }, [
      "2026-11-15T09:00:00Z",
      "2099-01-01T00:00:00Z",
    ], ["2026-11-15T08:59:59.999Z", "1970-01-01T00:00:00Z"]],
    ["holds until just before the end", "UTC", { ends_at: "2026-11-15T09:00:00Z" }, ["2026-11-15T08:59:59.999Z"], [
      "2026-11-15T09:00:00Z",
    ]],
    ["reads a date as its local midnight", "America/New_York", { starts_at: "2026-07-04", ends_at: "2026-07-05" }, [
      "2026-07-04T04:00:00Z",
      "2026-07-05T03:59:59.999Z",
    ], ["2026-07-04T03:59:59.999Z", "2026-07-05T04:00:00Z"]],
    ["reads a time without offset on the local clocks", "Asia/Kathmandu", { starts_at: "2026-01-01T00:00" }, [
      "2025-12-31T18:15:00Z",
    ], ["2025-12-31T18:14:59.999Z"]],
    [
      "reads a time with an offset by that, wherever it is",
      "Asia/Tokyo",
      {
        starts_at: "2026-01-01T00:00:00.5-05:00",
        ends_at: "2026-01-01T00:00:01.25-05:00",
      },
      ["2026-01-01T05:00:00.500Z", "2026-01-01T05:00:01.249Z"],
      ["2026-01-01T05:00:00.499Z", "2026-01-01T05:00:01.250Z"],
    ],
    ["starts after the gap when the time is skipped", "America/New_York", { starts_at: "2026-03-08T02:30" }, [
      "2026-03-08T07:00:00Z",
    ], ["2026-03-08T06:59:59.999Z"]],
    ["ends after the gap when the time is skipped", "Europe/Berlin", { ends_at: "2026-03-29T02:00:01" }, [
      "2026-03-29T00:59:59.999Z",
    ], ["2026-03-29T01:00:00Z"]],
    ["starts at the first of a repeated time", "Europe/Berlin", { starts_at: "2026-10-25T02:30" }, [
      "2026-10-25T00:30:00Z",
      "2026-10-25T01:30:00Z",
    ], ["2026-10-25T00:29:59.999Z"]],
    ["ends at the first of a repeated time", "Australia/Lord_Howe", { ends_at: "2026-04-05T01:45" }, [
      "2026-04-04T14:44:59.999Z",
    ], ["2026-04-04T14:45:00Z", "2026-04-04T15:10:00Z"]],
  ])
})

describe("annual", () => {
  const winter = { annual: { from: "11-15", to: "01-06" } }
  check([
    ["holds from the first local midnight to the last", "Europe/Berlin", { annual: { from: "03-01", to: "03-02" } }, [
      "2026-02-28T23:00:00Z",
      "2026-03-01T22:59:59.999Z",
      "2031-03-01T12:00:00Z",
    ], ["2026-02-28T22:59:59.999Z", "2026-03-01T23:00:00Z"]],
    ["runs over the turn of the year", "America/New_York", winter, [
      "2026-11-15T05:00:00Z",
      "2026-12-31T23:00:00Z",
      "2027-01-01T12:00:00Z",
      "2027-01-06T04:59:59.999Z",
    ], ["2026-11-15T04:59:59.999Z", "2027-01-06T05:00:00Z", "2026-07-01T00:00:00Z"]],
    ["spans the year when both ends are equal", "UTC", { annual: { from: "05-05", to: "05-05" } }, [
      "2026-05-05T00:00:00Z",
      "2026-05-04T23:59:59.999Z",
      "2026-01-01T00:00:00Z",
    ], []],
    ["ends with February when it ends on a leap day", "UTC", { annual: { from: "02-01", to: "02-29" } }, [
      "2026-02-28T23:59:59.999Z",
      "2028-02-28T23:59:59.999Z",
    ], ["2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z", "2026-01-31T23:59:59.999Z"]],
    [
      "starts with March in other years when it starts on a leap day",
      "UTC",
      { annual: { from: "02-29", to: "03-02" } },
      [
        "2028-02-29T00:00:00Z",
        "2026-03-01T00:00:00Z",
        "2026-03-01T23:59:59.999Z",
      ],
      ["2026-02-28T23:59:59.999Z", "2028-02-28T23:59:59.999Z", "2026-03-02T00:00:00Z"],
    ],
    ["holds on leap days alone when it spans nothing else", "UTC", { annual: { from: "02-29", to: "03-01" } }, [
      "2028-02-29T12:00:00Z",
    ], ["2026-02-28T12:00:00Z", "2026-03-01T00:00:00Z", "2028-03-01T00:00:00Z"]],
    ["contains the leap day of a longer range", "UTC", { annual: { from: "02-01", to: "03-01" } }, [
      "2028-02-29T23:59:59.999Z",
    ], ["2028-03-01T00:00:00Z"]],
  ])
})

describe("days", () => {
  check([
    ["holds on the local day", "Pacific/Auckland", { days: ["sat", "sun"] }, [
      // Saturday 27 June, 00:00 to Sunday 28 June, 24:00, twelve hours ahead of UTC.
      "2026-06-26T12:00:00Z",
      "2026-06-28T11:59:59.999Z",
    ], ["2026-06-26T11:59:59.999Z", "2026-06-28T12:00:00Z"]],
    ["holds on each day by its name", "UTC", { days: ["mon"] }, ["2026-06-01T00:00:00Z", "2026-06-08T23:59:59.999Z"], [
      "2026-06-02T00:00:00Z",
      "2026-05-31T23:59:59.999Z",
      "2026-06-07T12:00:00Z",
    ]],
  ])
})

describe("hours", () => {
  check([
    ["holds from the first hour to just before the last", "Asia/Kathmandu", { hours: { from: 9, to: 17 } }, [
      "2026-06-01T03:15:00Z",
      "2026-06-01T11:14:59.999Z",
    ], ["2026-06-01T03:14:59.999Z", "2026-06-01T11:15:00Z"]],
    ["runs over midnight", "UTC", { hours: { from: 22, to: 6 } }, [
      "2026-06-01T22:00:00Z",
      "2026-06-01T23:59:59.999Z",
      "2026-06-02T05:59:59.999Z",
    ], ["2026-06-01T21:59:59.999Z", "2026-06-02T06:00:00Z"]],
    ["ends at midnight with 24 as with 0", "UTC", { hours: { from: 22, to: 24 } }, ["2026-06-01T23:59:59.999Z"], [
      "2026-06-02T00:00:00Z",
      "2026-06-01T21:59:59.999Z",
    ]],
    ["ends at midnight with 0", "UTC", { hours: { from: 22, to: 0 } }, ["2026-06-01T23:59:59.999Z"], [
      "2026-06-02T00:00:00Z",
    ]],
    ["spans the day when both ends are equal", "UTC", { hours: { from: 7, to: 7 } }, [
      "2026-06-01T07:00:00Z",
      "2026-06-01T06:59:59.999Z",
    ], []],
    ["spans the day from 0 to 24", "UTC", { hours: { from: 0, to: 24 } }, [
      "2026-06-01T00:00:00Z",
      "2026-06-01T23:59:59.999Z",
    ], []],
    ["never holds in an hour that the clocks skip", "America/New_York", { hours: { from: 2, to: 3 } }, [
      "2026-03-07T07:30:00Z",
    ], ["2026-03-08T06:59:59.999Z", "2026-03-08T07:00:00Z"]],
    ["holds twice in an hour that the clocks repeat", "America/New_York", { hours: { from: 1, to: 2 } }, [
      "2026-11-01T05:00:00Z",
      "2026-11-01T06:59:59.999Z",
    ], ["2026-11-01T04:59:59.999Z", "2026-11-01T07:00:00Z"]],
    ["follows half an hour of summer time", "Australia/Lord_Howe", { hours: { from: 2, to: 3 } }, [
      "2026-10-03T15:30:00Z",
      "2026-10-03T15:59:59.999Z",
    ], ["2026-10-03T15:29:59.999Z", "2026-10-03T16:00:00Z"]],
    ["takes the day of the moment itself, also over midnight", "UTC", { days: ["fri"], hours: { from: 22, to: 6 } }, [
      "2026-06-05T00:00:00Z",
      "2026-06-05T22:00:00Z",
    ], ["2026-06-06T00:00:00Z", "2026-06-05T06:00:00Z", "2026-06-04T23:00:00Z"]],
  ])
})

describe("Seasonality.compile", () => {
  it("is always in season without seasons, or with a season without members", () => {
    for (const seasons of [[], [{}], [{}, { hours: { from: 0, to: 1 } }]]) {
      const calendar = Seasonality.compile(seasons, "UTC")
      for (const nowMs of [0, Date.parse("2026-06-01T12:00:00Z")]) {
        assert.isTrue(calendar.holds(nowMs))
        assert.isUndefined(calendar.whyNot(nowMs))
      }
    }
  })

  const season: Season = {
    starts_at: "2026-06-01",
    ends_at: "2027-06-01",
    annual: { from: "11-15", to: "01-06" },
    days: ["mon", "tue"],
    hours: { from: 9, to: 17 },
  }

  it("requires every member of a season", () => {
    const { holds } = Seasonality.compile([season], "UTC")
    assert.isTrue(holds(Date.parse("2026-11-16T09:00:00Z")))
    for (
      const instant of [
        "2025-11-17T12:00:00Z",
        "2027-11-15T12:00:00Z",
        "2026-06-01T12:00:00Z",
        "2026-11-18T12:00:00Z",
        "2026-11-16T17:00:00Z",
      ]
    ) assert.isFalse(holds(Date.parse(instant)), instant)
  })

  it("holds if any season holds", () => {
    const { holds } = Seasonality.compile([{ days: ["mon"] }, { hours: { from: 12, to: 13 } }], "UTC")
    assert.isTrue(holds(Date.parse("2026-06-01T00:00:00Z")))
    assert.isTrue(holds(Date.parse("2026-06-02T12:00:00Z")))
    assert.isFalse(holds(Date.parse("2026-06-02T13:00:00Z")))
  })

  it("rejects an unknown time zone, even without seasons", () => {
    assert.throws(() => Seasonality.compile([], "Mars/Phobos"), RangeError)
  })

  it("agrees with a calendar of local days and hours at any instant in any zone", () => {
    const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const
    const monthDay = fc.date({ min: new Date("2028-01-01"), max: new Date("2028-12-31"), noInvalidDate: true })
      .map((date) => date.toISOString().slice(5, 10))
    const anySeason = fc.record({
      annual: fc.record({ from: monthDay, to: monthDay }),
      hours: fc.record({ from: fc.integer({ min: 0, max: 23 }), to: fc.integer({ min: 0, max: 24 }) }),
      day: fc.constantFrom(...days),
    })
    const zone = fc.constantFrom("America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")
    const instant = fc.integer({ min: Date.parse("2024-01-01T00:00:00Z"), max: Date.parse("2032-01-01T00:00:00Z") })
    fc.assert(
      fc.property(anySeason, zone, instant, ({ annual, day, hours }, zone, nowMs) => {
        const local = LocalTime.of(zone).at(nowMs)
        const today = `${String(local.month).padStart(2, "0")}-${String(local.day).padStart(2, "0")}`
        const inRange = <A>(value: A, from: A, to: A) =>
          from === to || (from < to ? from <= value && value < to : !(to <= value && value < from))
        const expected = [
          inRange(today, annual.from, annual.to),
          local.weekday === day,
          inRange(local.hour, hours.from, hours.to % 24 === hours.from ? hours.from : hours.to),
        ]
        const seasons: ReadonlyArray<Season> = [{ annual }, { days: [day] }, { hours }]
        seasons.forEach((season, i) => {
          assert.strictEqual(Seasonality.compile([season], zone).holds(nowMs), expected[i], JSON.stringify(season))
        })
        assert.strictEqual(Seasonality.compile(seasons, zone).holds(nowMs), expected.includes(true))
        assert.strictEqual(
          Seasonality.compile([{ annual, days: [day], hours }], zone).holds(nowMs),
          !expected.includes(false),
        )
      }),
      { numRuns: 2_000 },
    )
  })
})

describe("Seasonality.whyNot", () => {
  const reason = (seasons: ReadonlyArray<Season>, instant: string) =>
    Seasonality.compile(seasons, "Europe/Berlin").whyNot(Date.parse(instant))

  it.each<readonly [Season, string]>([
    [{ starts_at: "2026-11-15T09:00" }, "season: starts 2026-11-15T09:00"],
    [{ ends_at: "2026-01-01" }, "season: ended 2026-01-01"],
    [{ annual: { from: "11-15", to: "01-06" } }, "season: not between 11-15 and 01-06"],
    [{ days: ["sat", "sun"] }, "season: not on sat/sun"],
    [{ hours: { from: 22, to: 6 } }, "season: not between 22:00 and 06:00"],
  ])("says of %j: %s", (season, expected) => assert.strictEqual(reason([season], "2026-06-01T12:00:00Z"), expected))

  it("names only the failing members of each season", () => {
    assert.strictEqual(
      reason([
        { annual: { from: "11-15", to: "01-06" }, days: ["mon"], hours: { from: 9, to: 10 } },
        { days: ["sun"], hours: { from: 0, to: 24 } },
      ], "2026-06-01T12:00:00Z"),
      "season: not between 11-15 and 01-06, not between 09:00 and 10:00; not on sun",
    )
  })

  it("explains five seasons and counts the others", () => {
    const seasons = Array.from({ length: 8 }, (_, i) => ({ hours: { from: i, to: i + 1 } }))
    assert.strictEqual(
      reason(seasons, "2026-06-01T20:00:00Z"),
      "season: not between 00:00 and 01:00; not between 01:00 and 02:00; not between 02:00 and 03:00; " +
        "not between 03:00 and 04:00; not between 04:00 and 05:00; 3 more seasons",
    )
  })
})

describe("the schema of a season", () => {
  const accepts = (input: unknown) => Result.isSuccess(Schema.decodeUnknownResult(SeasonSchema)(input))

  it.each([
    {},
    { starts_at: "2026-11-15", ends_at: "2026-11-16" },
    { starts_at: "2026-11-15T00:00", ends_at: "2026-11-15T00:00:00.001" },
    { starts_at: "2026-11-15", ends_at: "2026-11-15T00:01" },
    { starts_at: "2026-11-15T12:00+02:00", ends_at: "2026-11-15T11:00Z" },
    // Which is first depends on the time zone.
    { starts_at: "2026-11-15T12:00", ends_at: "2026-11-15T11:00Z" },
    { annual: { from: "02-29", to: "02-29" } },
    { hours: { from: 0, to: 24 } },
  ])("takes %j", (input) => assert.isTrue(accepts(input)))

  it.each([
    { starts_at: "2026-02-30" },
    { starts_at: "2026-11-15 09:00" },
    { starts_at: "15.11.2026" },
    { starts_at: "2026-11-15", ends_at: "2026-11-15" },
    { starts_at: "2026-11-15", ends_at: "2026-11-14T23:59" },
    { starts_at: "2026-11-15T12:00Z", ends_at: "2026-11-15T13:00+02:00" },
    { annual: { from: "02-30", to: "03-01" } },
    { annual: { from: "1-1", to: "03-01" } },
    { annual: { from: "11-15" } },
    { days: [] },
    { days: ["monday"] },
    { hours: { from: 24, to: 2 } },
    { hours: { from: 1, to: 25 } },
    { hours: { from: 1.5, to: 2 } },
  ])("refuses %j", (input) => assert.isFalse(accepts(input)))
})
