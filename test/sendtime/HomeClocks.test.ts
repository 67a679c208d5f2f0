import { assert, describe, it } from "@effect/vitest"
import { beforeData, freshness } from "../../src/sendtime/Attention.ts"
import * as Clocks from "../../src/sendtime/Clocks.ts"
import { HomeClocks, hoursAheadOf, inZone } from "../../src/sendtime/HomeClocks.ts"
import { adviseReaders, type Reader, shareRight } from "./readers.ts"
import { encode, epochMillis, noEngagement, quarterMillis } from "../../src/sendtime/Touch.ts"

const hour = 3_600_000
const berlin = Clocks.of("Europe/Berlin")
const newYork = Clocks.of("America/New_York")
const now = Date.parse("2026-06-15T00:00:00Z")
const peakAt = (hour: number) => beforeData.map((rate, k) => k % 24 === hour ? 0.5 : 0.01 * rate)

/** Messages of a person in New York who opens them at these UTC hours of the day. */
const messages = (opens: number): Float64Array =>
  Float64Array.from({ length: 20 }, (_, n) => {
    const at = now - (3 + n) * 24 * hour + (n * 7 % 24) * hour
    const wait = (opens - (n * 7) % 24 + 24) % 24
    const delay = n % 3 === 0 ? noEngagement : 4 * wait
    return encode({ quarter: Math.floor((at - epochMillis) / quarterMillis), delay, variant: 0 }, String(n))
  })

const ownShare = (opens: ReadonlyArray<number>) => {
  // Most people read at 20:00 local time: 18:00 UTC in Berlin, midnight UTC in New York.
  const homes = new HomeClocks({ own: peakAt(20), organization: peakAt(20) })
  for (const utc of opens) homes.add(messages(utc), { own: newYork, organization: berlin }, freshness(8), now)
  return homes.own()
}

describe("the clocks by which people live", () => {
  it("are their own until there is evidence", () => {
    assert.isAbove(ownShare([]), 0.7)
    assert.isBelow(ownShare([]), 0.8)
  })

  it("are found by the hours at which people in other zones read", () => {
    assert.isAbove(ownShare(Array(12).fill(0)), 0.99)
    assert.isBelow(ownShare(Array(12).fill(18)), 0.1)
    const undecided = ownShare([0, 18, 0, 18, 0, 18])
    assert.isTrue(undecided > 0.4 && undecided < 0.95, String(undecided))
  })

  it("shift the curve of a group by the hours between the zones", () => {
    assert.strictEqual(hoursAheadOf(newYork, berlin, now), -6)
    assert.strictEqual(hoursAheadOf(Clocks.of("Asia/Kolkata"), berlin, now), 4, "3.5 hours")
    const curves = { own: peakAt(20), organization: peakAt(20) }
    const best = (own: number, hoursAhead: number, group = curves.own) => {
      const curve = inZone(group, curves, own, hoursAhead)
      return curve.indexOf(Math.max(...curve))
    }
    assert.strictEqual(best(1, -6), 20)
    assert.strictEqual(best(0, -6), 14)
    assert.strictEqual(best(0, 5), 1)
    assert.strictEqual(best(0, 0), 20)
    assert.deepStrictEqual(inZone(curves.own, curves, 1, -6), curves.own)
  })

  it("tell strangers apart by zone only if people live by their own clocks", () => {
    const readers = (byUtc: boolean) =>
      Array.from({ length: 60 }, (_, i): Reader => {
        const zone = (["UTC", "Asia/Tokyo"] as const)[i % 2]!
        const minute = byUtc && zone === "Asia/Tokyo" ? (20 + 9) % 24 * 60 + 15 : 20 * 60 + 15
        return { zone, week: minute, weekend: minute }
      })
    for (const byUtc of [false, true]) {
      const all = adviseReaders(readers(byUtc), { days: 14, rate: 1, tau: 6, seed: 3 })
      assert.isAtLeast(shareRight(all), 0.9, `by UTC: ${byUtc}`)
    }
  })
})
