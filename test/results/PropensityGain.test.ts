import { assert, describe, it } from "@effect/vitest"
import { weightsOf } from "../../src/domain/ObjectiveWeights.ts"
import type { EvenSplitCounts } from "../../src/learning/EvenSplitTallies.ts"
import { propensityGain } from "../../src/results/PropensityGain.ts"
import { lastFullDay, weightedGain } from "../../src/results/WeightedGain.ts"
import { coverage, crowds } from "../../bench/simulation/PropensityCrowds.ts"

const day = 86_400_000
const start = Date.parse("2026-01-01T00:00:00Z")

interface Choice {
  readonly decisions: number
  readonly weight: number
  readonly clicks: number
}

/** Decisions of each of 32 groups, by the choices with one weight each. */
const groupsOf = (...choices: ReadonlyArray<Choice>): EvenSplitCounts["groups"] => {
  const none = { count: 0, weight: 0, square: 0 }
  const sums = (count: (choice: Choice) => number) =>
    choices.reduce((sum, choice) => ({
      count: sum.count + count(choice),
      weight: sum.weight + count(choice) * choice.weight,
      square: sum.square + count(choice) * choice.weight ** 2,
    }), none)
  const group = {
    decisions: sums(({ decisions }) => decisions),
    click: sums(({ clicks }) => clicks),
    open: none,
    conversion: none,
    negative: sums(({ decisions }) => decisions / 100),
  }
  return Array.from({ length: 32 }, () => group)
}

/** Of two variants the better was chosen with a probability of 80 %, and has 10 % clicks against 5 %. */
const learned = groupsOf({ decisions: 800, weight: 0.625, clicks: 80 }, { decisions: 200, weight: 2.5, clicks: 10 })

describe("the gain by propensities", () => {
  // `deno task bench honesty --settings crowds` has all of them.
  for (const crowd of crowds.filter(({ isTested }) => isTested)) {
    it(`has an interval that contains the true value in at least 93 % of simulations: ${crowd.name}`, () => {
      const { off, share } = coverage(crowd, 200, 1)
      assert.isAtLeast(share, 0.93)
      // The mean error, in standard errors.
      assert.isBelow(Math.abs(off), 0.25)
    }, 120_000)
  }

  it("is the difference between the outcomes and the outcomes of a random split", () => {
    const { decisions, effectiveSample, even, gained } = propensityGain(learned, weightsOf("click"))!
    assert.strictEqual(decisions, 32_000)
    assert.approximately(even, 32_000 * 0.075, 1e-6)
    assert.approximately(gained, 32 * 90 - 32_000 * 0.075, 1e-6)
    // 500 and 500 decisions with the squared weights of 800 and 200.
    assert.approximately(effectiveSample, 32 * 1000 ** 2 / (800 * 0.625 ** 2 + 200 * 2.5 ** 2), 1e-6)
  })

  it("is exactly zero if every choice was even", () => {
    const found = propensityGain(groupsOf({ decisions: 100, weight: 1, clicks: 7 }), weightsOf("click"))!
    assert.approximately(found.gained, 0, 1e-9)
    assert.deepStrictEqual(found.interval.map((end) => Math.round(1e6 * end)), [0, 0])
  })

  it("sums a weighted objective, including costs", () => {
    const click = propensityGain(learned, weightsOf("click"))!
    const mix = propensityGain(learned, weightsOf({ click: 10, negative: -20 }))!
    // One in a hundred decisions has a cost, with any variant.
    assert.approximately(mix.gained, 10 * click.gained, 1e-6)
    assert.approximately(mix.even, 10 * click.even - 20 * 320, 1e-6)
    assert.isTrue(mix.interval[0] < mix.gained && mix.gained < mix.interval[1])
  })

  it("is null without decisions", () => {
    assert.isNull(propensityGain(groupsOf(), weightsOf("click")))
  })
})

describe("the gain by propensities in a series", () => {
  const points = [1, 2, 3].map((after) => ({
    end: new Date(start + after * day).toISOString(),
    gain: { gained: 160 * after },
  }))
  const counts = { first: new Date(start), last: new Date(start + 2 * day), leftOut: 0, groups: learned }
  const to = start + 3 * day

  it("is shown with the model's gain of the same days", () => {
    const shown = weightedGain(points, to, counts, "click")!
    assert.deepInclude(shown, { from: "2026-01-01T00:00:00.000Z", to: "2026-01-04T00:00:00.000Z", model: 480 })
    assert.approximately(shown.gained, 480, 1e-6)
    const later = { ...counts, first: new Date(start + day) }
    assert.strictEqual(weightedGain(points, to, later, "click")!.model, 320)
  })

  it("is null while it is uncertain or too many decisions are left out", () => {
    const small = points.map((point) => ({ ...point, gain: { gained: 20 } }))
    assert.isNull(weightedGain(small, to, counts, "click"))
    assert.isNull(weightedGain(points, to, { ...counts, leftOut: 2000 }, "click"))
    const few = groupsOf({ decisions: 8, weight: 0.625, clicks: 0.8 }, { decisions: 2, weight: 2.5, clicks: 0.1 })
    assert.isNull(weightedGain(points, to, { ...counts, groups: few }, "click"))
  })

  it("ends with the last complete settled day", () => {
    const halfDay = { end: new Date(start + 3.5 * day).toISOString(), gain: null }
    assert.strictEqual(lastFullDay([...points, halfDay], start + 4 * day), to)
    assert.strictEqual(lastFullDay(points, start + 2.9 * day), start + 2 * day)
    assert.isUndefined(lastFullDay(points, start))
  })
})
