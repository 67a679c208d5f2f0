import { assert, describe, it } from "@effect/vitest"
import { linThompson, linUcb, segmentBeta } from "../../bench/simulation/ContextualLearners.ts"
import { betaThompson, type LearnerKind } from "../../src/simulation/Learners.ts"
import { run } from "../../src/simulation/Run.ts"
import { makeWorld } from "../../src/simulation/World.ts"

/** Two attributes of two values; `best` says which of two variants has three times the rate of the other. */
const world = (best: (plan: number, device: number) => number) =>
  makeWorld({
    name: "contexts",
    seed: 3,
    days: 20,
    sends: 8000,
    arms: ["a", "b"],
    attributes: [
      { name: "plan", values: [["free", 1], ["pro", 1]] },
      { name: "device", values: [["mobile", 1], ["desktop", 1]] },
    ],
    delay: { medianHours: 5, sigma: 1 },
    logRates: () => ({
      byValues: ([plan = 0, device = 0], arm) => Math.log(best(plan, device) === arm ? 0.15 : 0.05),
      byDay: () => 0,
    }),
  })
const byPlan = world((plan) => plan)
const byPair = world((plan, device) => plan === device ? 0 : 1)
const share = (made: typeof byPlan, policy: LearnerKind) => run(made, policy, 1).share

describe("peers that use attributes", () => {
  it.each([linUcb, linThompson, segmentBeta])("$name finds the best variant of each value", (policy) => {
    assert.isAbove(share(byPlan, policy), 0.7)
    assert.isBelow(share(byPlan, betaThompson()), 0.3)
  })

  it("lets LinTS with pairs and Beta per segment find the best variant of each pair, unlike LinUCB", () => {
    assert.isAbove(share(byPair, linThompson), 0.6)
    assert.isAbove(share(byPair, segmentBeta), 0.7)
    assert.isBelow(share(byPair, linUcb), 0.3)
  })

  it.each([linUcb, linThompson])("$name learns as much from outcomes worth 20", (policy) => {
    assert.closeTo(share({ ...byPlan, worth: 20 }, policy), share(byPlan, policy), 0.15)
  })
})
