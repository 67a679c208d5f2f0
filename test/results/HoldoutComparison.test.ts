import { assert, describe, it } from "@effect/vitest"
import { peopleGroups } from "../../src/bandit/Holdout.ts"
import { differenceOf } from "../../src/sendtime/Timing.ts"
import { compare } from "../../src/results/HoldoutComparison.ts"
import { holdoutResults } from "../../src/results/HoldoutResults.ts"
import { coverage, type Crowd, crowds, naive, replicate } from "../../bench/simulation/HoldoutCrowds.ts"

describe("the comparison with people who are held out", () => {
  for (const crowd of crowds) {
    it(`has an interval that contains the true value in at least 93 % of simulations: ${crowd.name}`, () => {
      const { shown } = coverage(crowd, 300, 1)
      // Two standard errors of 300 replications below 95 % are 92.5 %.
      assert.isAtLeast(shown, 0.93)
    })
  }

  it("needs the correction for dependent decisions: without it the interval contains the true value in less than 80 %", () => {
    assert.isBelow(coverage(crowds[2]!, 300, 1).independent, 0.8)
  })

  it("equals Newcombe's interval if decisions are independent", () => {
    const side = (decisions: number, outcomes: number) =>
      Array.from({ length: peopleGroups }, () => ({ decisions, outcomes }))
    const found = compare(side(100, 10), side(10, 0.5))
    assert.strictEqual(found.design_effect, 1)
    assert.approximately(found.difference!, 0.05, 1e-12)
    const [low, high] = differenceOf(naive(side(100, 10)), naive(side(10, 0.5)))!.interval
    assert.approximately(found.interval![0], low, 1e-12)
    assert.approximately(found.interval![1], high, 1e-12)
  })

  it("reports the number of decisions that detects the difference with a power of 80 %", () => {
    const crowd: Crowd = { name: "alike", people: 3000, most: 1, share: 0.2, rate: 0.1, lift: 1.3, shape: 1e6 }
    const [treated, control] = replicate(crowd, 1)
    const { difference, needed } = compare(treated, control)
    assert.isAbove(difference!, 0)
    // The total number of decisions needed if the observed difference were the true one.
    const control_ = crowd.rate
    const lift = (control_ + difference!) / control_
    const people = 3000 + needed!
    let told = 0
    for (let seed = 1; seed <= 200; seed++) {
      const [a, b] = replicate({ ...crowd, people, lift }, 1000 + seed)
      if (compare(a, b).interval![0] > 0) told++
    }
    assert.isAtLeast(told / 200, 0.68)
    assert.isAtMost(told / 200, 0.92)
  })

  it("returns null for figures that need decisions or a difference", () => {
    const none = Array.from({ length: peopleGroups }, () => ({ decisions: 0, outcomes: 0 }))
    const some = Array.from({ length: peopleGroups }, () => ({ decisions: 10, outcomes: 1 }))
    const nothing = { outcomes: 0, rate: null, interval: null }
    assert.deepStrictEqual(compare(none, none), {
      treated: nothing,
      control: nothing,
      difference: null,
      interval: null,
      design_effect: 1,
      needed: null,
    })
    assert.strictEqual(compare(some, none).difference, null)
    assert.strictEqual(compare(some, none).needed, null)
    assert.strictEqual(compare(some, some).difference, 0)
    assert.strictEqual(compare(some, some).needed, null)
    assert.strictEqual(compare([], []).difference, null)
  })
})

describe("the results of a holdout", () => {
  const side = (decisions: number, click: number, conversion: number) =>
    Array.from({ length: peopleGroups }, () => [decisions, click, 0, conversion, 0])
  const counts = {
    holdout: "0.1 even",
    first: new Date("2026-01-02T00:00:00Z"),
    last: new Date("2026-01-09T00:00:00Z"),
    treated: side(90, 9, 3),
    control: side(10, 1, 0),
  }

  it("compare each outcome of the objective under the current holdout", () => {
    const results = holdoutResults({ share: 0.1, content: "even" }, [counts], { click: 1, conversion: 10 })!
    assert.deepInclude(results, {
      share: 0.1,
      content: "even",
      copy_id: null,
      running: true,
      from: "2026-01-02T00:00:00.000Z",
      treated: 90 * 32,
      control: 10 * 32,
    })
    assert.deepStrictEqual(results.outcomes.map(({ outcome }) => outcome), ["click", "conversion"])
    assert.strictEqual(results.outcomes[1]!.treated.outcomes, 96)
    assert.strictEqual(results.outcomes[0]!.control.rate, 0.1)
  })

  it("restart with another share, and show the last holdout after its end", () => {
    const changed = holdoutResults({ share: 0.2, content: "even" }, [counts], "click")!
    assert.deepInclude(changed, { share: 0.2, running: true, from: null, treated: 0, control: 0 })
    assert.strictEqual(changed.outcomes[0]!.difference, null)
    const ended = holdoutResults({ share: 0, content: "even" }, [counts], "click")!
    assert.deepInclude(ended, { share: 0.1, running: false, treated: 90 * 32 })
    assert.isNull(holdoutResults({ share: 0, content: "even" }, [], "click"))
  })
})
