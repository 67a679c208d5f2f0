import { assert, describe, it } from "@effect/vitest"
import { interceptOf, spreadLogLikelihoods } from "../../src/bandit/Intercepts.ts"
import { spreads } from "../../src/bandit/Spreads.ts"
import { normal } from "./Samples.ts"

const predicted = { mean: 0, variance: 0 }

/** The spread with the largest likelihood. */
const likeliest = (logs: ReadonlyArray<number>): number => spreads[logs.indexOf(Math.max(...logs))]!

describe("an intercept by outcomes", () => {
  it("is the log of observed over expected outcomes, with the variance of its count", () => {
    const { mean, variance } = interceptOf({ outcomes: 1200, expected: 1000 }, 0, 0.2)!
    assert.closeTo(mean, Math.log(1.2), 0.001)
    assert.closeTo(variance, 1 / 1200, 0.0001)
  })

  it("is finite without outcomes, and unknown without expected ones", () => {
    const { mean, variance } = interceptOf({ outcomes: 0, expected: 3 }, 0, 0.2)!
    assert.isBelow(mean, -0.5)
    assert.closeTo(variance, 1 / 3, 0.1)
    assert.isUndefined(interceptOf({ outcomes: 0, expected: 0 }, 0, 0.2))
  })
})

describe("the likelihood of spreads of intercepts", () => {
  const known = (sd: number, level: number, count: number) => {
    const draw = normal(7)
    return Array.from({ length: count }, () => ({
      predicted,
      data: { mean: level + sd * draw() + 0.05 * draw(), variance: 0.05 ** 2 },
    }))
  }

  it("is largest near the true spread", () => {
    assert.closeTo(likeliest(spreadLogLikelihoods(known(0.4, 0, 200), 0.2)), 0.4, 1e-9)
    assert.closeTo(likeliest(spreadLogLikelihoods(known(0, 0, 200), 0.2)), 0.05, 1e-9)
  })

  it("does not depend on the level of all variants, or on variants without data", () => {
    const at = (level: number) => spreadLogLikelihoods(known(0.3, level, 5), 0.2)
    at(0).forEach((log, i) => assert.closeTo(log, at(2)[i]!, 1e-9))
    const more = spreadLogLikelihoods([...known(0.3, 0, 5), { predicted, data: undefined }], 0.2)
    assert.deepStrictEqual(more, at(0))
  })

  it("expects less of two variants than of the same two among more", () => {
    const two = [0.2, -0.2].map((mean) => ({ predicted, data: { mean, variance: 0.01 } }))
    const [pair, among] = [two, [...two, { predicted, data: undefined }]].map((some) => {
      const logs = spreadLogLikelihoods(some, 0.2)
      return logs[5]! - logs[0]!
    })
    assert.isBelow(pair!, among!)
  })
})
