import { assert, describe, it } from "@effect/vitest"
import { restrictedLogLikelihood, type ValueCounts } from "../../src/bandit/Mixture.ts"
import { spreadOf, spreads } from "../../src/bandit/Spreads.ts"
import { normal } from "./Samples.ts"

/** Outcomes of five variants in three values, `expected` in each, whose rates differ by value with the deviation `sd`. */
const counts = (expected: number, sd: number, seed: number): ValueCounts => {
  const draw = normal(seed)
  const rates = Array.from({ length: 15 }, () => Math.exp(sd * draw()))
  return {
    values: 3,
    expected: new Float64Array(15).fill(expected),
    outcomes: Float64Array.from(rates, (rate) => expected * rate + Math.sqrt(expected * rate) * draw()),
  }
}

/** Mean of the spread over 20 templates. */
const found = (expected: number, sd: number, usual: number): number => {
  const all = Array.from({ length: 20 }, (_, seed) => {
    const own = counts(expected, sd, seed)
    return spreadOf(spreads.map((spread) => restrictedLogLikelihood(own, spread)), usual, 1)
  })
  return all.reduce((sum, spread) => sum + spread, 0) / all.length
}

describe("the spread of effects", () => {
  it("is about the usual one without data", () => {
    const none = spreads.map(() => 0)
    for (const usual of [0.1, 0.2, 0.4]) {
      assert.isAtLeast(spreadOf(none, usual, 1), 0.8 * usual)
      assert.isAtMost(spreadOf(none, usual, 1), 1.6 * usual)
    }
  })

  it("follows strong effects after 20 outcomes in each value, and weak ones after 1,000", () => {
    assert.isAbove(found(20, 0.7, 0.115), 0.4)
    assert.isBelow(found(1000, 0, 0.115), 0.08)
    assert.closeTo(found(1000, 0.3, 0.115), 0.3, 0.06)
  })

  it("does not depend on what all likelihoods share", () => {
    const logs = spreads.map((spread) => -spread)
    assert.closeTo(spreadOf(logs.map((log) => log - 2000), 0.2, 1), spreadOf(logs, 0.2, 1), 1e-12)
  })
})
