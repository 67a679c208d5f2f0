import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { hourMillis } from "../../src/bandit/Window.ts"
import * as Clocks from "../../src/sendtime/Clocks.ts"
import { timingOf } from "../../src/sendtime/Groups.ts"
import { changed } from "../../src/sendtime/Histories.ts"
import { addPerson, Ages, emptyBlocks, hoursDiffer } from "../../src/sendtime/HourDifferences.ts"
import {
  encode,
  epochMillis,
  followedHours,
  noEngagement,
  quarterMillis,
  variantCode,
} from "../../src/sendtime/Touch.ts"
import { chance, seedOf } from "../../src/simulation/Chance.ts"

const now = Date.parse("2026-06-15T00:00:00Z")

interface Population {
  /** The hour at which messages are sent, from uniform numbers. */
  readonly sendHour: (uniform: () => number) => number
  /** How much an hour of the day counts next to the others. */
  readonly weight: (hour: number) => number
  readonly tau: number
}

/** The touches of a template with 150 people, who have 20 messages each. */
const touchesOf = ({ sendHour, tau, weight }: Population, seed: number): ReadonlyArray<Float64Array> => {
  const most = Math.max(...Array.from({ length: 24 }, (_, hour) => weight(hour)))
  const { normal, uniform } = chance(seedOf(seed, "hours"))
  const variant = variantCode("t", "a")
  return Array.from({ length: 150 }, (_, id) => {
    const level = 0.02 * Math.exp(0.8 * normal())
    const codes = Array.from({ length: 20 }, (_, n) => {
      const sent = now - Math.floor(60 * uniform()) * 24 * hourMillis - 24 * hourMillis + sendHour(uniform) * hourMillis
      // Thinning: draws times by the rate of the best hour, of which an hour keeps its share.
      let at: number | undefined
      for (let left = 0; at === undefined;) {
        left -= Math.log(1 - uniform()) / (level * most * tau)
        if (left >= 1) break
        const hours = -tau * Math.log(1 - left)
        const time = sent + hours * hourMillis
        if (hours >= followedHours || time >= now) break
        if (uniform() * most < weight(new Date(time).getUTCHours())) at = time
      }
      const quarter = Math.floor((sent - epochMillis) / quarterMillis)
      const delay = at === undefined ? noEngagement : Math.floor((at - epochMillis) / quarterMillis) - quarter
      return encode({ quarter, delay, variant }, `${id}/${n}`)
    })
    return changed([], [], codes)
  })
}

const utc = Clocks.of("UTC")

/** Whether the test finds differences by hour. */
const differsIn = (population: Population, seed: number): boolean => {
  const people = touchesOf(population, seed)
  const ages = new Ages()
  for (const codes of people) for (const code of codes) ages.add(code, now)
  const cumulative = ages.cumulative()
  const blocks = emptyBlocks()
  for (const codes of people) addPerson(blocks, codes, utc, now, cumulative)
  return hoursDiffer(blocks)
}

const shareOf = (population: Population, runs: number) => {
  let found = 0
  for (let seed = 1; seed <= runs; seed++) if (differsIn(population, seed)) found++
  return found / runs
}

const anyHour = (uniform: () => number) => 24 * uniform()
/** Two of three messages are campaigns in the morning. */
const mornings = (uniform: () => number) => uniform() < 2 / 3 ? 10 + uniform() / 4 : 8 + 14 * uniform()

describe("hours of the week", () => {
  it("differ in at most 5 % of runs if all hours are equal", () => {
    // 5 % of 300 runs, and 2.5 standard errors of chance: it is the same seeds each time.
    const most = 0.05 + 2.5 * Math.sqrt(0.05 * 0.95 / 300)
    for (const [name, sendHour] of Object.entries({ anyHour, mornings })) {
      assert.isAtMost(shareOf({ sendHour, tau: 6, weight: () => 1 }, 300), most, name)
    }
  })

  const evenings = { sendHour: anyHour, tau: 6, weight: (hour: number) => hour >= 18 && hour < 22 ? 3 : 1 }

  it("differ if evenings are worth three times as much", () => {
    assert.isAbove(shareOf(evenings, 40), 0.9)
  })

  it("are reported in the timing of a template", () => {
    for (const population of [evenings, { sendHour: mornings, tau: 6, weight: () => 1 }]) {
      for (const seed of [1, 2, 3]) {
        const people = touchesOf(population, seed).map((codes) => ({ zone: undefined, codes }))
        const timing = Effect.runSync(timingOf(people, "UTC", now, Effect.void))
        assert.strictEqual(timing.template("t", ["a"]).template.differs, differsIn(population, seed))
      }
    }
  })
})
