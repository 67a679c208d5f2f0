import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { beforeData, isNight } from "../../src/sendtime/Attention.ts"
import { candidatesOf, choose, explorationShare, sendWindow } from "../../src/sendtime/Choice.ts"
import * as Clocks from "../../src/sendtime/Clocks.ts"
import { allowedShare, type Permission, secondsOf, slots } from "../../src/sendtime/Slots.ts"
import type { DayOfWeek } from "../../src/domain/Season.ts"
import * as LocalTime from "../../src/templates/LocalTime.ts"

const hour = 3_600_000
const week: ReadonlyArray<DayOfWeek> = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

// With half hours, quarters, changes of half an hour, changes in the southern autumn, and none at all.
const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "America/St_Johns",
  "Pacific/Chatham",
  "Africa/Casablanca",
  "America/Santiago",
  "Pacific/Kiritimati",
]

/** Moments near special dates: clock changes in several zones, ends of years, leap days. */
const moments = [
  "2026-03-29T01:00Z",
  "2026-10-25T01:00Z",
  "2026-03-08T07:00Z",
  "2026-11-01T06:00Z",
  "2026-04-04T15:00Z",
  "2026-10-03T15:30Z",
  "2026-12-31T23:59Z",
  "2028-02-28T23:30Z",
  "2028-02-29T12:00Z",
  "2027-02-28T23:30Z",
].map((text) => Date.parse(text))

const instants = fc.oneof(
  fc.tuple(fc.constantFrom(...moments), fc.integer({ min: -72 * hour, max: 48 * hour })).map(([at, off]) => at + off),
  fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2035, 0, 1) }),
)
const minutes = fc.oneof(fc.integer({ min: 0, max: 23 }).map((h) => h * 60), fc.integer({ min: 0, max: 1439 }))
const permissions: fc.Arbitrary<Permission> = fc.record({
  quiet: fc.option(fc.record({ from: minutes, to: minutes }).filter(({ from, to }) => from !== to), {
    nil: undefined,
  }),
  days: fc.option(fc.subarray([...week], { minLength: 1 }).map((days) => new Set(days)), { nil: undefined }),
})
const draw = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
const attentions = fc.option(
  fc.array(fc.double({ min: 1e-6, max: 2, noNaN: true }), { minLength: 48, maxLength: 48 })
    .map((rates) => Float64Array.from(rates)),
  { nil: undefined },
)

/** By the clocks of LocalTime, which has tests of its own. */
const isAllowed = (at: number, zone: string, { days, quiet }: Permission) => {
  const local = LocalTime.of(zone).at(at)
  const minute = local.hour * 60 + local.minute
  const isQuiet = quiet !== undefined &&
    (quiet.from < quiet.to ? minute >= quiet.from && minute < quiet.to : minute >= quiet.from || minute < quiet.to)
  return !isQuiet && (days === undefined || days.has(local.weekday))
}

const cases = fc.record({
  now: instants,
  zone: fc.constantFrom(...zones),
  permission: permissions,
  hours: fc.oneof(fc.constant(24), fc.integer({ min: 1, max: 168 })),
  attention: attentions,
  draws: fc.tuple(fc.oneof(draw, fc.constant(0)), draw, draw),
  tau: fc.constantFrom(2, 8, 32),
})

const chosenOf = (
  { attention, draws, hours, now, permission, tau, zone }: typeof cases extends fc.Arbitrary<infer A> ? A
    : never,
) =>
  choose({
    attention,
    tau,
    window: sendWindow(now, now + hours * hour, Clocks.of(zone), permission),
    draws,
  })

describe("choose", () => {
  it("returns a future time within the horizon if one is allowed", () => {
    fc.assert(
      fc.property(cases, (one) => {
        const { at, late } = chosenOf(one)
        assert.isAtLeast(at, one.now)
        assert.strictEqual(at % 1000, 0)
        if (!late) assert.isBelow(at, one.now + one.hours * hour)
        else assert.isAtLeast(at, one.now + one.hours * hour)
      }),
      { seed: 1, numRuns: 1500 },
    )
  })

  it("respects quiet hours and allowed days in the recipient's zone, also at clock changes", () => {
    fc.assert(
      fc.property(cases, (one) => {
        const { at } = chosenOf(one)
        assert.isTrue(isAllowed(at, one.zone, one.permission), `${new Date(at).toISOString()} in ${one.zone}`)
      }),
      { seed: 2, numRuns: 1500 },
    )
  })

  it("finds exactly the allowed minutes of the horizon", () => {
    fc.assert(
      fc.property(instants, fc.constantFrom(...zones), permissions, (at, zone, permission) => {
        const from = Math.floor(at / 60_000) * 60_000
        const until = from + 30 * hour
        const found = slots(from, until, Clocks.of(zone), permission)
        const allowed = new Set<number>()
        for (const { pieces } of found) {
          for (const [a, b] of pieces) for (let second = a; second < b; second += 60) allowed.add(second)
        }
        for (let minute = from; minute < until; minute += 60_000) {
          assert.strictEqual(
            allowed.has(minute / 1000),
            isAllowed(minute, zone, permission),
            `${new Date(minute).toISOString()} in ${zone}`,
          )
        }
      }),
      { seed: 3, numRuns: 150 },
    )
  })

  it("allows each hour of a week consistently with its minutes", () => {
    const monday = Date.parse("2026-06-01T00:00Z")
    fc.assert(
      fc.property(permissions, (permission) => {
        const seconds = new Map(
          slots(monday, monday + 168 * hour, Clocks.of("UTC"), permission).map((slot) => [slot.index, secondsOf(slot)]),
        )
        for (let at = 0; at < 168; at++) {
          assert.approximately(
            allowedShare(week[Math.floor(at / 24)]!, at % 24, permission),
            (seconds.get(at) ?? 0) / 3600,
            1e-9,
            `${week[Math.floor(at / 24)]} ${at % 24}:00`,
          )
        }
      }),
      { seed: 5, numRuns: 100 },
    )
  })

  it("selects the hour with the highest value", () => {
    const attention = new Float64Array(48).fill(0.01)
    attention[20] = 1
    const now = Date.parse("2026-06-10T09:10:00Z")
    const window = sendWindow(now, now + 24 * hour, Clocks.of("UTC"), { quiet: undefined, days: undefined })
    const chosen = choose({ attention, tau: 2, window, draws: [0.5, 0.5, 0.25] })
    assert.strictEqual(new Date(chosen.at).toISOString(), "2026-06-10T20:15:00.000Z")
    const candidates = candidatesOf(window, chosen)
    assert.strictEqual(candidates.length, 25)
    assert.strictEqual(Math.max(...candidates.map(({ value }) => value)), candidates[11]!.value)
  })

  it("distributes times over the whole best hour", () => {
    const attention = new Float64Array(48).fill(0.01)
    attention[20] = 1
    const now = Date.parse("2026-06-10T09:10:00Z")
    const at = (share: number) =>
      choose({
        attention,
        tau: 2,
        window: sendWindow(now, now + 24 * hour, Clocks.of("UTC"), { quiet: undefined, days: undefined }),
        draws: [0.5, 0.5, share],
      }).at
    assert.strictEqual(new Date(at(0)).toISOString(), "2026-06-10T20:00:00.000Z")
    assert.strictEqual(new Date(at(0.9999999)).toISOString(), "2026-06-10T20:59:59.000Z")
  })

  it("sends at once without data if that is allowed", () => {
    const from = Date.parse("2026-06-10T22:10:00.250Z")
    const window = sendWindow(from, from + 24 * hour, Clocks.of("UTC"), { quiet: undefined, days: undefined })
    const { at } = choose({ attention: undefined, tau: 8, window, draws: [0.5, 0.5, 0.5] })
    assert.strictEqual(new Date(at).toISOString(), "2026-06-10T22:10:01.000Z")
  })

  it("never sends at night after closed hours, unless the data or the settings leave no other time", () => {
    const few = new Float64Array(48).fill(0.001)
    fc.assert(
      fc.property(cases, fc.constantFrom("nothing", "little"), (one, known) => {
        const clocks = Clocks.of(one.zone)
        const attention = known === "nothing" ? undefined : few.map((rate, k) => rate * beforeData[k]!)
        const window = sendWindow(one.now, one.now + one.hours * hour, clocks, one.permission)
        const { at } = choose({ attention, tau: one.tau, window, draws: one.draws })
        const hourOf = (millis: number) => clocks.localHour(millis) % 24
        const hasDay = window.slots.some(({ pieces }) => !isNight(hourOf(pieces[0]![0] * 1000)))
        if (window.waits && hasDay) {
          assert.isFalse(isNight(hourOf(at)), `${new Date(at).toISOString()} in ${one.zone}`)
        }
      }),
      { seed: 6, numRuns: 1500 },
    )
  })

  it("finds an hour of the day within two days of the first allowed hour, whatever the horizon is", () => {
    const sunday = Date.parse("2026-06-07T01:00Z")
    const hoursOf = (permission: Permission, horizon = 24, from = sunday) => {
      const clocks = Clocks.of("UTC")
      const window = sendWindow(from, from + horizon * hour, clocks, permission)
      const times = Array.from(
        { length: 20 },
        (_, n) => choose({ attention: undefined, tau: 8, window, draws: [0.5, 0.5, n / 20] }).at,
      )
      return [...new Set(times.map((at) => new Date(at).toISOString().slice(8, 13)))]
    }
    const monday = ["08T07", "08T08", "08T09", "08T10", "08T11", "08T12", "08T13", "08T14"]
    assert.deepStrictEqual(
      hoursOf({ quiet: undefined, days: new Set(["mon"]) }),
      monday,
      "an hour of it in the horizon",
    )
    assert.deepStrictEqual(hoursOf({ quiet: undefined, days: new Set(["mon"]) }, 1), monday, "beyond the horizon")
    assert.deepStrictEqual(
      hoursOf({ quiet: { from: 22 * 60, to: 9 * 60 }, days: new Set(["wed", "thu"]) }).map((one) => one.slice(0, 2)),
      ["10", "10", "10", "10", "10", "10", "10"],
    )
    assert.deepStrictEqual(
      hoursOf({ quiet: { from: 20 * 60, to: 23 * 60 }, days: undefined }, 2, sunday + 21 * hour),
      monday,
      "the day after an evening that ends closed",
    )
    assert.deepStrictEqual(
      hoursOf({ quiet: { from: 7 * 60, to: 22 * 60 }, days: undefined }, 24, sunday + 9 * hour),
      ["08T05", "08T06"],
      "nothing is allowed but the night",
    )
  })

  it("sends at the best hour of the next open day if there are data, also at night", () => {
    const sunday = Date.parse("2026-06-07T12:00Z")
    const at = (best: number, share: number) => {
      const attention = beforeData.map((usual, k) => k === best ? 3 : 0.01 * usual)
      const window = sendWindow(sunday, sunday + 6 * hour, Clocks.of("UTC"), {
        quiet: undefined,
        days: new Set(["mon"]),
      })
      const chosen = choose({ attention, tau: 2, window, draws: [0.5, 0.5, share] })
      assert.isTrue(chosen.late)
      assert.strictEqual(candidatesOf(window, chosen).length, 24)
      return new Date(chosen.at).toISOString()
    }
    assert.deepStrictEqual([at(18, 0), at(18, 0.999999)], ["2026-06-08T18:00:00.000Z", "2026-06-08T18:59:59.000Z"])
    assert.strictEqual(at(3, 0), "2026-06-08T03:00:00.000Z")
  })

  it("stays within a final horizon, at night if no other hour is allowed", () => {
    const sunday = Date.parse("2026-06-07T01:00Z")
    const of = (until: number) =>
      sendWindow(sunday, until, Clocks.of("UTC"), { quiet: undefined, days: new Set(["mon"]) }, { isFinal: true })
    const at = (window: ReturnType<typeof of>) => choose({ attention: undefined, tau: 8, window, draws: [1, 0, 0] })
    assert.isBelow(at(of(sunday + 24 * hour)).at, sunday + 24 * hour)
    assert.isTrue(at(of(sunday + 12 * hour)).late)
  })

  it("explores uniformly over all allowed seconds", () => {
    const now = Date.parse("2026-06-10T09:10:00Z")
    const permission = { quiet: { from: 21 * 60, to: 8 * 60 }, days: undefined }
    const found = slots(now, now + 24 * hour, Clocks.of("UTC"), permission)
    assert.strictEqual(found.reduce((sum, slot) => sum + secondsOf(slot), 0), 13 * 3600)
    const counts = new Map<number, number>()
    for (let n = 0; n < 1300; n++) {
      const { at, explored } = choose({
        attention: new Float64Array(48).fill(1),
        tau: 8,
        window: sendWindow(now, now + 24 * hour, Clocks.of("UTC"), permission),
        draws: [explorationShare / 2, (n + 0.5) / 1300, 0],
      })
      assert.isTrue(explored)
      const of = new Date(at).getUTCHours()
      counts.set(of, (counts.get(of) ?? 0) + 1)
    }
    // The hour of the question is cut in two by the horizon: its parts are 50 and 10 minutes.
    assert.deepStrictEqual([...counts].sort(([a], [b]) => a - b), Array.from({ length: 13 }, (_, i) => [8 + i, 100]))
  })

  it("skips a local hour that does not exist, and recognizes a repeated one", () => {
    const clocks = Clocks.of("Europe/Berlin")
    const localHours = (from: string, hours: number) =>
      slots(Date.parse(from), Date.parse(from) + hours * hour, clocks, { quiet: undefined, days: undefined })
        .map(({ pieces }) => clocks.localHour(pieces[0]![0] * 1000) % 24)
    assert.deepStrictEqual(localHours("2026-03-29T00:00Z", 3), [1, 3, 4])
    assert.deepStrictEqual(localHours("2026-10-25T00:00Z", 3), [2, 2, 3])
  })
})
