import { assert, describe, it } from "@effect/vitest"
import { type Advised, adviseReaders, firstAdvice, medianOff, type Reader, shareRight } from "./readers.ts"

const cities = ["Europe/Berlin", "Asia/Kolkata", "Asia/Kathmandu", "Pacific/Chatham"]
const options = { days: 28, rate: 3, tau: 6, seed: 1 }

/** In each city 40 readers from 6:00 to 20:00. */
const readers = (habit: (minute: number, i: number) => Pick<Reader, "week" | "weekend">): ReadonlyArray<Reader> =>
  cities.flatMap((zone) => Array.from({ length: 40 }, (_, i): Reader => ({ zone, ...habit(360 + (i * 397) % 840, i) })))

const daily = (minute: number) => ({ week: minute, weekend: minute })

/** The advice in each city. */
const byCity = (all: ReadonlyArray<Advised>) => cities.map((zone) => all.filter(({ reader }) => reader.zone === zone))

describe("readers with a habit, after 28 days of webhooks", () => {
  it("are reached at their hour also in zones with offsets of half or a quarter of an hour", () => {
    for (const own of byCity(adviseReaders(readers(daily), options))) {
      assert.isAtMost(medianOff(own), 1.2, own[0]!.reader.zone)
      assert.isAtLeast(shareRight(own), 0.95, own[0]!.reader.zone)
    }
  })

  it("are reached at their weekend hour, for all readers or one in four", () => {
    const early = { week: 8 * 60 + 18, weekend: 14 * 60 + 18 }
    for (const own of byCity(adviseReaders(readers(() => early), options))) {
      assert.isAtLeast(shareRight(own), 0.95, own[0]!.reader.zone)
    }
    const mixed = adviseReaders(readers((minute, i) => i % 4 === 0 ? early : daily(minute)), options)
    const others = mixed.filter(({ reader, weekend }) => weekend && reader.weekend !== reader.week)
    assert.isAtLeast(shareRight(others), 0.75)
    const alike = mixed.filter(({ reader, weekend }) => weekend && reader.weekend === reader.week)
    // 88 % when a fifth of each kind of day was mixed into the other.
    assert.isAtLeast(shareRight(alike), 0.88, "people whose weekend is like the week lose nothing")
  })
})

describe("the first days of an organization", () => {
  it("do not send all messages at the end of the horizon", () => {
    const some = Array.from({ length: 100 }, (_, i): Reader => ({
      zone: "Europe/Berlin",
      ...daily(360 + (i * 397) % 1000),
    }))
    for (const reporting of [{ sent: true, countedAfterHours: 1 }, { sent: false, countedAfterHours: 1 }]) {
      const given = firstAdvice(some, { days: 4, tau: 2, seed: 1, ...reporting })
      const last = given.filter(({ wait }) => wait >= 22).length / given.length
      // An even choice would be in the last two of 24 hours in 8 % of cases.
      assert.isAtMost(last, 0.15, JSON.stringify(reporting))
    }
  })
})
