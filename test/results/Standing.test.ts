import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { intervalOf, meanOf, probabilitiesOfBest, Standing } from "../../src/results/Standing.ts"
import { ContextRates } from "../../src/results/ContextRates.ts"
import { contextOf, model } from "./Samples.ts"

const posterior = fc.record({
  shape: fc.double({ min: 1, max: 1e5, noNaN: true }),
  exposure: fc.double({ min: 10, max: 1e7, noNaN: true }),
  scale: fc.constantFrom(1, 2.5),
})

describe("Standing", () => {
  it("returns probabilities of being best that sum to 1 and are higher for the higher of two rates", () => {
    fc.assert(fc.property(fc.array(posterior, { minLength: 1, maxLength: 6 }), (rates) => {
      const best = probabilitiesOfBest(rates)
      assert.approximately(best.reduce((sum, one) => sum + one, 0), 1, 1e-6)
      for (const one of best) assert.isTrue(one >= 0 && one <= 1)
    }))
    const [low, high] = probabilitiesOfBest([
      { shape: 100, exposure: 1000, scale: 1 },
      { shape: 120, exposure: 1000, scale: 1 },
    ])
    assert.isAbove(high!, 0.85)
    assert.isBelow(low!, 0.15)
  })

  it("returns equal probabilities for variants with equal posteriors", () => {
    for (const one of probabilitiesOfBest([1, 2, 3, 4].map(() => ({ shape: 40, exposure: 900, scale: 1 })))) {
      assert.approximately(one, 0.25, 1e-9)
    }
  })

  it("has intervals around the mean that narrow with more data", () => {
    const few = { shape: 5, exposure: 100, scale: 1 }
    const many = { shape: 500, exposure: 10_000, scale: 1 }
    assert.strictEqual(meanOf(few), meanOf(many))
    const width = (one: typeof few) => intervalOf(one)[1] - intervalOf(one)[0]
    assert.isAbove(width(few), 5 * width(many))
    // The exact quantiles of a gamma law of shape 5: 1.6235 and 10.2416.
    assert.approximately(intervalOf(few)[0], 0.016235, 0.0003)
    assert.approximately(intervalOf(few)[1], 0.102416, 0.0003)
  })

  it("does not credit a variant for being shown to people who click more", () => {
    const contexts = [contextOf("free", "morning"), contextOf("pro", "morning")]
    const rates = new ContextRates(model, ["a", "b"], contexts)
    const standing = new Standing(rates, 2, [1, 1], 1)
    // Both do exactly as the model says, in different contexts.
    standing.add(0, 1000 * rates.of(0, 0), 1000 * rates.of(0, 0))
    standing.add(1, 1000 * rates.of(1, 1), 1000 * rates.of(1, 1))
    for (const variant of [0, 1]) {
      const everywhere = (rates.of(variant, 0) + rates.of(variant, 1)) / 2
      assert.approximately(meanOf(standing.posterior(variant, standing.outcomes(variant))), everywhere, 1e-9)
    }
  })
})
