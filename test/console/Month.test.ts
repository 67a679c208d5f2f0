import { assert, describe, it } from "@effect/vitest"
import {
  dayRanges,
  daysOf,
  monthAfter,
  monthIn,
  monthText,
  seasonDays,
} from "../../src/console/pages/calendar/Month.ts"
import { firstOf, reasonText } from "../../src/console/Format.ts"
import { seasonText } from "../../src/console/pages/templates/Words.ts"
import * as Seasonality from "../../src/templates/Seasonality.ts"

describe("times in words", () => {
  it("show the days of a season, and the times of a reason in the zone of the organization", () => {
    const season = { starts_at: "2026-12-01", ends_at: "2026-12-26T18:30" }
    assert.strictEqual(seasonText(season), "from 1 Dec 2026, until 26 Dec 2026 18:30")
    assert.strictEqual(
      reasonText("Expired at 2026-11-30T01:28:12.200Z before it was sent", "Europe/Berlin"),
      "Expired at 30 Nov 2026, 02:28 before it was sent",
    )
    assert.strictEqual(reasonText("550 5.1.1 2026-11-30 unknown", "UTC"), "550 5.1.1 2026-11-30 unknown")
  })

  it("joins days by or, and counts the texts that a line does not name", () => {
    assert.strictEqual(seasonText({ days: ["mon", "tue", "fri"] }), "on Monday or Tuesday or Friday")
    assert.deepStrictEqual([firstOf(["a", "b"], 2), firstOf(["a", "b", "c"], 2), firstOf(["a"], 2, 3)], [
      "a, b",
      "a, b and 1 more",
      "a and 3 more",
    ])
  })
})

describe("the calendar", () => {
  const zone = "Europe/Berlin"

  it("reads the month of the address, and shows the present month for anything else", () => {
    const now = Date.parse("2026-10-31T23:30:00Z")
    assert.deepStrictEqual(monthIn("2026-02", now, zone), { year: 2026, month: 2 })
    for (const text of [null, "", "2026-13", "1999-01", "2026-2"]) {
      assert.deepStrictEqual(monthIn(text, now, zone), { year: 2026, month: 11 })
    }
    assert.strictEqual(monthText(monthAfter({ year: 2026, month: 12 }, 1)), "2027-01")
    assert.strictEqual(monthText(monthAfter({ year: 2026, month: 1 }, -1)), "2025-12")
  })

  it("begins days at midnight in the zone, also in the month of a clock change", () => {
    const days = daysOf({ year: 2026, month: 10 }, zone)
    assert.lengthOf(days, 31)
    assert.deepStrictEqual([days[0]!.date, days[0]!.weekday], ["2026-10-01", 3])
    assert.strictEqual(new Date(days[0]!.hours[0]!).toISOString(), "2026-09-30T22:00:00.000Z")
    assert.strictEqual(new Date(days[30]!.hours[0]!).toISOString(), "2026-10-30T23:00:00.000Z")
  })

  it("marks the days on which a season holds for an hour, and joins them", () => {
    const days = daysOf({ year: 2026, month: 11 }, zone)
    const of = (season: object) => dayRanges(seasonDays(Seasonality.compile([season], zone), days))
    assert.strictEqual(of({ annual: { from: "11-15", to: "01-06" } }), "15–30")
    assert.strictEqual(of({ starts_at: "2026-11-03T22:00", ends_at: "2026-11-05" }), "3–4")
    assert.strictEqual(of({ days: ["mon"], hours: { from: 23, to: 24 } }), "2, 9, 16, 23, 30")
    assert.strictEqual(of({ ends_at: "2026-10-01" }), "")
  })
})
