import { assert, describe, it } from "@effect/vitest"
import { adviseReaders, historiesOf, type Reader, shareRight } from "./readers.ts"
import { Individualities } from "../../src/sendtime/Individualities.ts"
import { freshness, usualIndividuality } from "../../src/sendtime/Attention.ts"
import * as Clocks from "../../src/sendtime/Clocks.ts"

/** Number of runs. The trial has 20. */
const seeds = Number(process.env["WEEKEND_SEEDS"] ?? 3)

/** Two messages a day for three weeks, so with three weekends. */
const options = { days: 21, rate: 2, tau: 6 }

const readers = (weekendOf: (minute: number, i: number) => number): ReadonlyArray<Reader> =>
  Array.from({ length: 100 }, (_, i) => {
    const week = 360 + (i * 397) % 720
    return { zone: "Europe/Berlin", week, weekend: weekendOf(week, i) }
  })

const unlike = {
  "two to eight hours later": (minute: number, i: number) => Math.min(1380, minute + 120 + (i * 151) % 360),
  "three hours later": (minute: number) => minute + 180,
  "at any other time": (_: number, i: number) => 360 + (i * 631) % 900,
}
const alike = readers((minute) => minute)

describe("weekends, after three of them", () => {
  for (const [name, weekendOf] of Object.entries(unlike)) {
    it(`are found for at least 60 % of the people in each run if people read ${name}`, () => {
      for (let seed = 1; seed <= seeds; seed++) {
        const all = adviseReaders(readers(weekendOf), { ...options, seed })
        const found = shareRight(all.filter(({ weekend }) => weekend))
        assert.isAtLeast(found, 0.6, `seed ${seed}`)
        assert.isAtLeast(shareRight(all.filter(({ weekend }) => !weekend)), 0.85, `weekdays, seed ${seed}`)
      }
    })
  }

  it("are like the weekdays for people whose weekends are", () => {
    for (let seed = 1; seed <= seeds; seed++) {
      const all = adviseReaders(alike, { ...options, seed })
      assert.isAtLeast(shareRight(all.filter(({ weekend }) => weekend)), 0.95, `seed ${seed}`)
    }
  })
})

describe("Individualities", () => {
  const learned = (people: ReadonlyArray<Reader>) => {
    const { now, people: histories } = historiesOf(people, { ...options, seed: 1 })
    const individualities = new Individualities()
    const group = new Float64Array(48).fill(0.1)
    histories.forEach(({ codes }, i) =>
      individualities.add(codes, Clocks.of(people[i]!.zone), freshness(8), now, group)
    )
    return individualities.best()
  }

  it("finds that people differ from each other, and their weekends from their weekdays", () => {
    const weekdaysOnly = learned(alike)
    assert.isBelow(weekdaysOnly.shapePrior, usualIndividuality.shapePrior)
    assert.strictEqual(weekdaysOnly.alikePrior, usualIndividuality.alikePrior)
    assert.isBelow(learned(readers(unlike["three hours later"])).alikePrior, 0)
  })

  it("has the usual values without data", () => {
    const individualities = new Individualities()
    assert.strictEqual(individualities.best(), usualIndividuality)
    individualities.add(Float64Array.of(), Clocks.of("UTC"), freshness(8), 0, new Float64Array(48).fill(0.1))
    assert.deepStrictEqual([individualities.count, individualities.best()], [0, usualIndividuality])
  })
})
