import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  addTouches,
  beforeData,
  Cells,
  emptyHistogram,
  everybody,
  foldedHour,
  freshness,
  narrowed,
  personal,
  smooth,
  taus,
  total,
  values,
} from "../../src/sendtime/Attention.ts"
import * as Clocks from "../../src/sendtime/Clocks.ts"
import {
  encode,
  encodeHourly,
  epochMillis,
  followedHours,
  noEngagement,
  quarterMillis,
} from "../../src/sendtime/Touch.ts"

const utc = Clocks.of("UTC")
const quarterNumber = (text: string) => Math.floor((Date.parse(text) - epochMillis) / quarterMillis)
const now = Date.parse("2026-06-15T00:00:00Z")

const touch = (sent: string, delay: number = noEngagement / 4, mark = "") =>
  encode({ quarter: quarterNumber(sent), delay: 4 * delay, variant: 0 }, sent + mark)

const near = (actual: number, expected: number, message?: string) =>
  assert.closeTo(actual, expected, 1e-9 * Math.max(1, Math.abs(expected)), message)

const touches = fc.array(
  fc.tuple(
    fc.integer({ min: -200 * 24 * 4, max: 20 }),
    fc.oneof(fc.constant(noEngagement), fc.integer({ min: 0, max: 4 * followedHours - 1 })),
  ),
  { maxLength: 40 },
).map((list) =>
  Float64Array.from(
    list,
    ([off, delay], i) => encode({ quarter: quarterNumber("2026-06-15T00:00Z") + off, delay, variant: 0 }, String(i)),
  )
)
const zones = fc.constantFrom("UTC", "Europe/Berlin", "Asia/Kolkata", "Asia/Kathmandu", "Pacific/Chatham")

describe("attention", () => {
  it("maps the hours of a week to 24 weekday hours and 24 weekend hours", () => {
    const of = (text: string) => foldedHour(utc.localHour(Date.parse(text)))
    assert.strictEqual(of("2026-06-12T23:59Z"), 23, "a Friday")
    assert.strictEqual(of("2026-06-13T00:00Z"), 24, "a Saturday")
    assert.strictEqual(of("2026-06-14T23:00Z"), 47, "a Sunday")
    assert.strictEqual(of("2026-06-15T00:00Z"), 0, "a Monday")
    assert.strictEqual(of("1969-12-31T05:00Z"), 5, "before the epoch")
  })

  it("weights the hours between sending and engagement by freshness", () => {
    const into = emptyHistogram()
    addTouches(into, Float64Array.of(touch("2026-06-10T09:00Z", 2)), utc, freshness(8), now)
    const weight = 0.5 ** (4 / 60)
    near(into.engaged[11]!, weight)
    near(total(into.engaged), weight)
    near(into.exposed[9]!, weight)
    near(into.exposed[10]!, weight * Math.exp(-1 / 8))
    near(into.exposed[11]!, weight * Math.exp(-2 / 8))
    near(into.exposed[12]!, 0)
  })

  it("counts the hours so far of a message without engagement", () => {
    const into = emptyHistogram()
    addTouches(into, Float64Array.of(touch("2026-06-14T22:00Z")), utc, freshness(8), now)
    near(total(into.exposed), 1 + Math.exp(-1 / 8) + Math.exp(-2 / 8))
  })

  it("counts local hours, also in zones with offsets of half or a quarter of an hour", () => {
    const hours = (zone: string, code: number) => {
      const into = emptyHistogram()
      addTouches(into, Float64Array.of(code), Clocks.of(zone), freshness(8), now)
      return [into.exposed.findIndex((one) => one > 0), into.engaged.findIndex((one) => one > 0)]
    }
    const code = encode(
      { quarter: quarterNumber("2026-06-10T02:15Z"), delay: 2, variant: 0 },
      "7:45 to 8:15 in Kolkata",
    )
    assert.deepStrictEqual(hours("Asia/Kolkata", code), [7, 8])
    assert.deepStrictEqual(hours("Asia/Kathmandu", code), [8, 8])
    assert.deepStrictEqual(hours("Pacific/Chatham", code), [15, 15])
    assert.deepStrictEqual(hours("UTC", code), [2, 2])
    const hourly = encodeHourly({ quarter: quarterNumber("2026-06-10T02:00Z"), delay: 4, variant: 0 }, "2:30 to 3:30")
    assert.deepStrictEqual(hours("UTC", hourly), [2, 3])
    assert.deepStrictEqual(hours("Asia/Kolkata", hourly), [8, 9])
  })

  it("halves the weight of a message after 60 days, and drops it after 180 days", () => {
    const exposure = (sent: string) => {
      const into = emptyHistogram()
      addTouches(into, Float64Array.of(touch(sent, 0)), utc, freshness(8), now)
      return total(into.engaged)
    }
    near(exposure("2026-04-16T00:00Z"), 0.5)
    assert.strictEqual(exposure("2025-12-16T00:00Z"), 0)
  })

  it("computes the same histogram from single touches and from cells, for every tau", () => {
    fc.assert(
      fc.property(touches, zones, fc.constantFrom(...taus), (codes, zone, tau) => {
        const clocks = Clocks.of(zone)
        const into = emptyHistogram()
        addTouches(into, codes, clocks, freshness(tau), now)
        const cells = new Cells()
        for (const code of codes) cells.add(code, clocks, now)
        const all = cells.histogram(tau)
        for (let k = 0; k < 48; k++) {
          near(all.engaged[k]!, into.engaged[k]!)
          near(all.exposed[k]!, into.exposed[k]!)
        }
      }),
      { seed: 4, numRuns: 200 },
    )
  })

  it("is independent of the order of touches", () => {
    fc.assert(
      fc.property(touches, zones, (codes, zone) => {
        const count = (list: Float64Array) => {
          const into = emptyHistogram()
          addTouches(into, list, Clocks.of(zone), freshness(8), now)
          return into
        }
        const a = count(codes)
        const b = count(codes.slice().reverse())
        for (let k = 0; k < 48; k++) near(a.exposed[k]!, b.exposed[k]!)
      }),
      { seed: 5, numRuns: 100 },
    )
  })

  it("smooths engagements and exposure equally", () => {
    fc.assert(
      fc.property(touches, (codes) => {
        const into = emptyHistogram()
        addTouches(into, codes, utc, freshness(8), now)
        const { engaged, exposed } = smooth(into)
        const kept = total(into.exposed) === 0 ? 1 : total(exposed) / total(into.exposed)
        assert.isTrue(kept > 0.8 - 1e-9 && kept < 1.28 + 1e-9, String(kept))
        near(total(engaged), kept * total(into.engaged))
      }),
      { seed: 6, numRuns: 100 },
    )
  })

  it("falls back to the group for a person without history, and to the wider group for a group without history", () => {
    const wider = Float64Array.from({ length: 48 }, (_, k) => 0.01 + 0.001 * k)
    const nothing = emptyHistogram()
    narrowed(nothing, wider).forEach((rate, k) => near(rate, wider[k]!))
    personal(nothing, wider).forEach((rate, k) => near(rate, wider[k]!))
    everybody(nothing).forEach((rate, k) => near(rate, 0.1 * beforeData[k]!))
    near(total(beforeData), 48, "a ratio to the mean")
    const morning = emptyHistogram()
    morning.exposed[9] = 300
    morning.engaged[9] = 9
    const seen = everybody(smooth(morning))
    assert.closeTo(seen[40]!, 1.42 * 9 / 301, 1e-3, "an hour nobody has seen a message in is worth what others are")
    assert.isBelow(Math.max(...seen.subarray(14)), 1.05 * seen[40]!)
    assert.isBelow(seen[3]!, seen[14]! / 3, "less at night")
  })

  it("approaches a person's own habits with more messages", () => {
    const group = new Float64Array(48).fill(0.02)
    const peak = (messages: number) => {
      const codes = Float64Array.from(
        { length: messages },
        (_, i) =>
          encode({ quarter: quarterNumber("2026-06-01T09:00Z") - 96 * (i % 60), delay: 40, variant: 0 }, String(i)),
      )
      const into = emptyHistogram()
      addTouches(into, codes, utc, freshness(8), now)
      const own = personal(into, group)
      return own[19]! / own[10]!
    }
    assert.isAbove(peak(1), 1)
    assert.isAbove(peak(10), peak(1))
    assert.isAbove(peak(60), peak(10))
  })

  it("estimates how fast simulated messages lose their freshness", () => {
    for (const tau of [2, 8, 32]) {
      const cells = new Cells()
      const fresh = freshness(tau)
      let state = 7
      const uniform = () => (state = (state * 48271) % 2147483647) / 2147483647
      for (let n = 0; n < 20_000; n++) {
        const sent = quarterNumber("2026-06-01T00:00Z") + 4 * Math.floor(uniform() * 200)
        let delay = 0
        while (delay < followedHours && uniform() >= 0.05 * fresh[delay]!) delay++
        cells.add(encode({ quarter: sent, delay: 4 * delay, variant: 0 }, String(n)), utc, now)
      }
      assert.strictEqual(cells.tau(), tau)
    }
  })

  it("values a start time as the sum over the following hours", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 48, maxLength: 48 }),
        fc.integer({ min: 0, max: 400_000 }),
        fc.constantFrom(...taus),
        (rates, first, tau) => {
          const attention = Float64Array.from(rates)
          const count = 24
          const hours = Uint8Array.from({ length: count + followedHours }, (_, i) => foldedHour(first + i))
          values(attention, hours, count, tau).forEach((value, s) => {
            let sum = 0
            for (let j = 0; j < followedHours; j++) {
              sum += attention[foldedHour(first + s + j)]! * Math.exp(-j / tau)
            }
            assert.closeTo(value, sum * (1 - 0.0001 * s), 1e-9)
          })
        },
      ),
      { seed: 8, numRuns: 100 },
    )
  })
})
