import { assert, describe, it } from "@effect/vitest"
import { failingSettings } from "../../bench/simulation/FailingVariants.ts"
import { coverage, type HonestyRun, honestyRun } from "../../bench/simulation/Honesty.ts"

// `deno task bench honesty` with fewer and shorter runs.

const known = new Map<string, ReadonlyArray<HonestyRun>>()

const runsOf = (wanted: string): ReadonlyArray<HonestyRun> => {
  const earlier = known.get(wanted)
  if (earlier !== undefined) return earlier
  const { failing, name } = failingSettings.find(({ name }) => name === wanted)!
  const setting = { name, failing, variants: failing.below.length, decisionsPerDay: 2000, days: 8, rate: 0.1, sd: 0 }
  const runs = Array.from({ length: 3 }, (_, i) => honestyRun(setting, 1 + i, { refitHours: 12 }))
  known.set(wanted, runs)
  return runs
}

const isAboveFairShare = ({ lastShares }: HonestyRun) =>
  lastShares.slice(1).some((share) => share > 1 / lastShares.length)
const isEverWinner = ({ looks }: HonestyRun) => looks.some(({ winner }) => winner !== null && winner !== "v1")

describe("a variant that cannot be rendered for some people", () => {
  const worse = [
    "fails for 40 %",
    "fails for 60 %, better when rendered",
    "fails for the keenest 30 %",
    "fails for the least keen 60 %",
    "two of three fail",
  ]
  it("receives less than its fair share and never wins if it is worse over all people", () => {
    for (const name of worse) {
      const runs = runsOf(name)
      assert.isFalse(runs.some(isAboveFairShare), name)
      assert.isFalse(runs.some(isEverWinner), name)
    }
  }, 120_000)

  it("wins if it is better over all people in spite of its failures", () => {
    const runs = runsOf("fails for 10 %, better in all")
    for (const { best, lastShares } of runs) {
      assert.deepStrictEqual([...best], ["v2"])
      assert.isAbove(lastShares[1]!, 0.8)
    }
  }, 60_000)

  it("has intervals that contain its rate over all people", () => {
    const rates = worse.flatMap((name) => runsOf(name).flatMap(({ rates }) => rates))
    assert.lengthOf(rates, 33)
    assert.isAtLeast(coverage(rates), 0.85)
  }, 120_000)
})
