import { assert, describe, it } from "@effect/vitest"
import { type Planted, runLane } from "./lane/LaneWorld.ts"
import { firstBroken, runSchedules } from "./support/runSchedules.ts"

const file = "test/simulation/Lane.test.ts"

/** Seeds that once broke an invariant. */
const regressions = [
  // An attempt counted twice because the answer to its record was lost.
  121,
  // A broken connection was never tried again while only messages to domains with an open breaker were left.
  4578,
]

/** Bugs that the simulation has to find, and the invariant that each of them breaks. */
const bugs: ReadonlyArray<readonly [name: string, planted: Planted, broken: RegExp]> = [
  ["a store that does not compare fences", { withoutFence: true }, /arrived twice|began to send after/],
  ["a lease that ends a second early", { offByOneLease: true }, /began to send after/],
  ["a forgotten release", { withoutRelease: true }, /kept its lease/],
  ["a record that is made twice", { doubleSettle: true }, /attempts recorded|arrived twice/],
  ["a lost wake-up", { lostWake: true }, /is still (queued|sending)/],
]

describe("the lane in simulated schedules", () => {
  it("loses no message, sends none twice, respects the rate limit, and has one owner", () => {
    runSchedules({ file, task: "test:system", count: 10_000, regressions, run: runLane })
  })

  it("is reproducible for the same seed", () => {
    const planted = { withoutRelease: true }
    for (let seed = 1; seed <= 20; seed++) assert.strictEqual(runLane(seed, planted), runLane(seed, planted))
  })

  for (const [name, planted, broken] of bugs) {
    it(`finds ${name}`, () => {
      const found = firstBroken(5_000, (seed) => runLane(seed, planted))
      assert.match(found?.broken ?? "nothing was found", broken)
    })
  }
})
