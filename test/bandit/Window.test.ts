import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import {
  bucketAgeHours,
  bucketAt,
  bucketWeight,
  countedBounds,
  firstBucketFrom,
  isExpired,
  type Window,
  windowBounds,
} from "../../src/bandit/Window.ts"
import { day, hour } from "./Samples.ts"

const utc = (text: string) => Date.parse(`${text}Z`)
const moments = fc.integer({ min: utc("2020-01-01T00:00"), max: utc("2030-01-01T00:00") })
const ages = fc.integer({ min: 0, max: 200 * day })

describe("bucketAt", () => {
  it("returns the hour of the send until its day is 96 hours old, then the day", () => {
    const sentAt = utc("2026-03-10T15:42:10")
    const hourly = { start: utc("2026-03-10T15:00"), end: utc("2026-03-10T16:00") }
    assert.deepStrictEqual(bucketAt(sentAt, sentAt), hourly)
    assert.deepStrictEqual(bucketAt(sentAt, utc("2026-03-15T00:00") - 1), hourly)
    assert.deepStrictEqual(bucketAt(sentAt, utc("2026-03-15T00:00")), {
      start: utc("2026-03-10T00:00"),
      end: utc("2026-03-11T00:00"),
    })
  })

  it("returns the week from Monday once the week is 35 days old", () => {
    const sentAt = utc("2026-03-10T15:42:10")
    assert.deepStrictEqual(bucketAt(sentAt, utc("2026-04-20T00:00") - 1), {
      start: utc("2026-03-10T00:00"),
      end: utc("2026-03-11T00:00"),
    })
    assert.deepStrictEqual(bucketAt(sentAt, utc("2026-04-20T00:00")), {
      start: utc("2026-03-09T00:00"),
      end: utc("2026-03-16T00:00"),
    })
  })

  it("returns the hour of a send time in the future", () => {
    const sentAt = utc("2026-03-10T15:59:59.999")
    assert.strictEqual(bucketAt(sentAt, utc("2026-03-10T14:00")).start, utc("2026-03-10T15:00"))
  })

  it("returns a bucket that contains the send, and the same bucket for every time in it", () => {
    fc.assert(
      fc.property(moments, ages, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (now, age, u) => {
        const bucket = bucketAt(now - age, now)
        assert.isAtMost(bucket.start, now - age)
        assert.isAbove(bucket.end, now - age)
        const inside = bucket.start + Math.floor(u * (bucket.end - bucket.start))
        assert.deepStrictEqual(bucketAt(inside, now), bucket)
      }),
    )
  })

  it("returns single hours for 96 hours and single days for 35 days", () => {
    fc.assert(fc.property(moments, ages, (now, age) => {
      const { end, start } = bucketAt(now - age, now)
      if (now - start < 96 * hour) assert.strictEqual(end - start, hour)
      if (now - start < 35 * day) assert.isAtMost(end - start, day)
    }))
  })

  it("never splits a bucket as time passes", () => {
    fc.assert(fc.property(moments, ages, ages, (now, age, wait) => {
      const before = bucketAt(now - age, now)
      const after = bucketAt(now - age, now + wait)
      assert.isAtMost(after.start, before.start)
      assert.isAtLeast(after.end, before.end)
      assert.deepStrictEqual(bucketAt(before.start, now + wait), after)
    }))
  })

  it("expires when its start is more than 180 days old", () => {
    const now = utc("2026-09-01T00:00")
    assert.isFalse(isExpired(now - 180 * day, now))
    assert.isTrue(isExpired(now - 180 * day - 1, now))
  })

  it("measures the age of a bucket from its middle, and of an open bucket from the middle of its elapsed part", () => {
    const bucket = { start: utc("2026-03-10T15:00"), end: utc("2026-03-10T16:00") }
    assert.strictEqual(bucketAgeHours(bucket, utc("2026-03-10T20:00")), 4.5)
    assert.strictEqual(bucketAgeHours(bucket, utc("2026-03-10T15:30")), 0.25)
    assert.strictEqual(bucketAgeHours(bucket, utc("2026-03-10T14:00")), 0)
  })
})

describe("a window", () => {
  const now = utc("2026-03-20T12:00")
  const window: Window = { mode: "window", lookbackDays: 14, offsetDays: 3 }
  const weight = (start: number, of: Window = window, length = hour) =>
    bucketWeight(of, { start, end: start + length }, now)

  it("includes a bucket that starts at its far edge and excludes one that starts at its near edge", () => {
    assert.strictEqual(weight(now - 17 * day), 1)
    assert.strictEqual(weight(now - 17 * day - 1), 0)
    assert.strictEqual(weight(now - 3 * day - 1), 1)
    assert.strictEqual(weight(now - 3 * day), 0)
  })

  it("assigns a bucket on an edge by its start alone", () => {
    assert.strictEqual(weight(now - 3 * day - hour / 2), 1)
    assert.strictEqual(weight(now - 17 * day - hour / 2), 0)
    assert.strictEqual(weight(now - 17 * day - day / 2, window, day), 0)
  })

  it("accepts fractions of days, and no offset", () => {
    const half: Window = { mode: "window", lookbackDays: 0.5, offsetDays: 0 }
    assert.strictEqual(weight(now - 1, half), 1)
    assert.strictEqual(weight(now, half), 0)
    assert.strictEqual(weight(now - day / 2, half), 1)
    assert.strictEqual(weight(now - day / 2 - 1, half), 0)
    assert.deepStrictEqual(windowBounds(half, now), { from: now - day / 2, to: now })
  })

  it("accepts a lookback of a year", () => {
    assert.strictEqual(weight(now - 365 * day, { mode: "window", lookbackDays: 365, offsetDays: 0 }), 1)
  })

  it("halves the counts with every half-life in adaptive mode, and ends after 180 days", () => {
    const faded: Window = { mode: "adaptive", halfLifeDays: 10 }
    assert.closeTo(weight(now - hour, faded), 0.5 ** (0.5 / 240), 1e-12)
    assert.closeTo(weight(now - 10 * day - hour / 2, faded), 0.5, 1e-12)
    assert.isAbove(weight(now - 180 * day, faded), 0)
    assert.strictEqual(weight(now - 180 * day - 1, faded), 0)
  })
})

describe("the counted sends of a window", () => {
  const now = Date.UTC(2026, 10, 21, 12, 30)
  const bounds = (lookbackDays: number, offsetDays: number) => {
    const { from, to } = countedBounds({ mode: "window", lookbackDays, offsetDays }, now)
    return [new Date(from).toISOString(), new Date(to).toISOString()]
  }

  it("begin with the first hour, day or week that begins in the window", () => {
    assert.deepStrictEqual(bounds(3, 0), ["2026-11-18T13:00:00.000Z", "2026-11-21T12:30:00.000Z"])
    assert.deepStrictEqual(bounds(7, 0), ["2026-11-15T00:00:00.000Z", "2026-11-21T12:30:00.000Z"])
    assert.deepStrictEqual(bounds(80, 0), ["2026-09-07T00:00:00.000Z", "2026-11-21T12:30:00.000Z"])
  })

  it("end with the last hour, day or week that begins in the window", () => {
    assert.deepStrictEqual(bounds(2, 1)[1], "2026-11-20T13:00:00.000Z")
    assert.deepStrictEqual(bounds(2, 10)[1], "2026-11-12T00:00:00.000Z")
  })

  it("have the weight 1 inside and 0 outside", () => {
    const window: Window = { mode: "window", lookbackDays: 7, offsetDays: 2 }
    const { from, to } = countedBounds(window, now)
    for (const start of [from, to - hour]) assert.strictEqual(bucketWeight(window, bucketAt(start, now), now), 1)
    for (const start of [from - 1, to]) assert.strictEqual(bucketWeight(window, bucketAt(start, now), now), 0)
  })
})

describe("the first bucket from a time on", () => {
  it("starts at that time or next, so that a bucket counts if its start is in the window", () => {
    const now = Date.UTC(2026, 10, 21, 12, 30)
    assert.strictEqual(firstBucketFrom(now, now), Date.UTC(2026, 10, 21, 13))
    assert.strictEqual(firstBucketFrom(Date.UTC(2026, 10, 21, 12), now), Date.UTC(2026, 10, 21, 12))
    // Days once they are four days old, weeks once they are five weeks old.
    assert.strictEqual(firstBucketFrom(Date.UTC(2026, 10, 10, 7), now), Date.UTC(2026, 10, 11))
    assert.strictEqual(firstBucketFrom(Date.UTC(2026, 8, 2), now), Date.UTC(2026, 8, 7))
    assert.strictEqual(firstBucketFrom(Date.UTC(2026, 8, 7), now), Date.UTC(2026, 8, 7))
  })
})
