import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import {
  bestArmProbabilities,
  epsilonWeights,
  kappa,
  mixFloor,
  raiseRunnerUp,
  roundWeights,
  sample,
} from "../../src/bandit/Weights.ts"
import { normal, sum, uniform } from "./Samples.ts"

/** Shares of the draws that each arm wins. */
const byDrawing = (means: ReadonlyArray<number>, sds: ReadonlyArray<number>, draws: number, seed: number) => {
  const z = normal(seed)
  const wins = new Float64Array(means.length)
  for (let d = 0; d < draws; d++) {
    let best = 0
    let highest = -Infinity
    means.forEach((mean, i) => {
      const value = mean + sds[i]! * z()
      if (value > highest) {
        highest = value
        best = i
      }
    })
    wins[best] = wins[best]! + 1 / draws
  }
  return wins
}

describe("the probability of being the best", () => {
  it("equals the share of wins in simulated draws, for few and many arms", () => {
    for (const count of [2, 3, 8, 32, 33, 80]) {
      const z = normal(count)
      const means = Array.from({ length: count }, () => 0.2 * z())
      const sds = Array.from({ length: count }, () => 0.05 + 0.1 * Math.abs(z()))
      const q = bestArmProbabilities(means, sds)
      const wins = byDrawing(means, sds, 20_000, 7)
      // Four standard errors, and half a percent for the coarse grid.
      q.forEach((value, i) => assert.closeTo(value, wins[i]!, 4 * Math.sqrt(value * (1 - value) / 20_000) + 0.005))
    }
  })

  it("is continuous where the method changes from 32 to 33 arms", () => {
    // Adding hopeless arms changes nothing, but a 33rd serious one changes the method.
    const z = normal(3)
    const means = Array.from({ length: 32 }, () => 0.1 * z())
    const sds = Array.from({ length: 32 }, () => 0.08 + 0.04 * Math.abs(z()))
    const few = bestArmProbabilities(means, sds)
    const many = bestArmProbabilities([...means, -0.9], [...sds, 0.09])
    few.forEach((value, i) => assert.closeTo(value, many[i]!, 1e-5))
  })

  it("is one for the best exactly known arm, and divided evenly on a tie", () => {
    assert.deepStrictEqual([...bestArmProbabilities([0, 0.1, 0.05], [0, 0, 0])], [0, 1, 0])
    const tied = bestArmProbabilities([0.1, 0.1, 0], [0, 0, 0])
    assert.closeTo(tied[0]!, 0.5, 1e-9)
    assert.closeTo(tied[1]!, 0.5, 1e-9)
    assert.strictEqual(tied[2], 0)
  })

  it("equals Phi of the distance between an uncertain and a certain arm", () => {
    const q = bestArmProbabilities([0, 0.1], [0, 0.2])
    // The certain arm makes a step of the integrand, which a grid of an eighth can miss by half a context.
    assert.closeTo(q[1]!, 0.691462, 0.025)
    assert.closeTo(q[0]! + q[1]!, 1, 1e-12)
  })

  it("is a distribution for up to a thousand arms with any means and deviations", () => {
    const arm = fc.tuple(
      fc.double({ min: -1e6, max: 1e6, noNaN: true }),
      fc.oneof(
        fc.constant(0),
        fc.double({ min: 1e-300, max: 1e-6, noNaN: true }),
        fc.double({ min: 0, max: 1e6, noNaN: true }),
      ),
    )
    fc.assert(
      fc.property(fc.array(arm, { minLength: 1, maxLength: 1000, size: "max" }), (arms) => {
        const q = bestArmProbabilities(arms.map(([mean]) => mean), arms.map(([, sd]) => sd))
        assert.isTrue(q.every((value) => value >= 0 && value <= 1))
        assert.closeTo(sum(q), 1, 1e-9)
      }),
      { numRuns: 25 },
    )
  })

  it("is uniform for a thousand equal arms", () => {
    const q = bestArmProbabilities(new Array(1000).fill(0.3), new Array(1000).fill(0.2))
    q.forEach((value) => assert.closeTo(value, 0.001, 1e-9))
  })

  it("agrees with simulated draws for a thousand arms", () => {
    const z = normal(11)
    const means = Array.from({ length: 1000 }, () => 0.2 * z())
    const sds = Array.from({ length: 1000 }, () => 0.1 + 0.05 * Math.abs(z()))
    const q = bestArmProbabilities(means, sds)
    const wins = byDrawing(means, sds, 4000, 12)
    q.forEach((value, i) => assert.closeTo(value, wins[i]!, 4.5 * Math.sqrt(value / 4000) + 0.002))
  })

  it("is uniform for invalid numbers, 1 for one arm, and empty for no arms", () => {
    assert.deepStrictEqual([...bestArmProbabilities([NaN, 1], [1, 1])], [0.5, 0.5])
    assert.deepStrictEqual([...bestArmProbabilities([0, 1], [1, Infinity])], [0.5, 0.5])
    assert.deepStrictEqual([...bestArmProbabilities([5], [0])], [1])
    assert.deepStrictEqual([...bestArmProbabilities([], [])], [])
  })

  it("increases with the arm's own mean", () => {
    const arms = fc.array(
      fc.tuple(fc.double({ min: -1, max: 1, noNaN: true }), fc.double({ min: 0.05, max: 0.2, noNaN: true })),
      { minLength: 2, maxLength: 12 },
    )
    fc.assert(fc.property(arms, fc.double({ min: 0.01, max: 1, noNaN: true }), (all, more) => {
      const sds = all.map(([, sd]) => sd)
      const before = bestArmProbabilities(all.map(([mean]) => mean), sds)[0]!
      const after = bestArmProbabilities(all.map(([mean], i) => i === 0 ? mean + more : mean), sds)[0]!
      assert.isAtLeast(after, before - 1e-5)
    }))
  })
})

describe("the floor", () => {
  it("of 0 keeps the probabilities, and of 1 makes them uniform", () => {
    assert.deepStrictEqual([...mixFloor([0.25, 0.75], 0)], [0.25, 0.75])
    assert.deepStrictEqual([...mixFloor([0.25, 0.75], 1)], [0.5, 0.5])
  })
})

describe("rounded weights", () => {
  it("have 8 decimals, differ little, and sum to 1", () => {
    fc.assert(fc.property(fc.array(fc.integer({ min: 0, max: 1e9 }), { minLength: 1, maxLength: 200 }), (shares) => {
      const total = Math.max(1, sum(shares))
      const weights = Float64Array.from(shares, (share) => share / total)
      const rounded = roundWeights(weights)
      if (Math.max(...shares) - Math.min(...shares) < total / 1e9) return assert.deepStrictEqual(rounded, weights)
      assert.closeTo(sum(rounded), sum(weights), 1e-12)
      rounded.forEach((weight, i) => {
        assert.strictEqual(weight, Number(weight.toFixed(8)))
        assert.closeTo(weight, weights[i]!, 1e-8 * shares.length)
      })
    }))
  })

  it("stay equal if they were equal, and an impossible arm stays impossible", () => {
    const third = Float64Array.from([1 / 3, 1 / 3, 1 / 3])
    assert.strictEqual(roundWeights(third), third)
    assert.deepStrictEqual([...roundWeights(Float64Array.from([2 / 3, 1 / 3, 0]))], [0.66666667, 0.33333333, 0])
    assert.deepStrictEqual([...roundWeights(new Float64Array(0))], [])
  })
})

describe("epsilon", () => {
  it("is rejected outside [0, 1]", () => {
    for (const epsilon of [-0.001, 1.001, NaN, Infinity, -Infinity]) {
      assert.throws(() => epsilonWeights([0, 1], epsilon), RangeError)
    }
  })

  it("of 0 assigns all weight to the largest mean, in any order of the variants", () => {
    const means = fc.uniqueArray(fc.integer({ min: -3_000_000, max: 3_000_000 }), { minLength: 1 })
    fc.assert(fc.property(means, (all) => {
      const weights = epsilonWeights(all.map((mean) => mean / 1e6), 0)
      assert.deepStrictEqual([...weights], all.map((mean) => mean === Math.max(...all) ? 1 : 0))
    }))
  })

  it("treats means that differ only by rounding as equal", () => {
    const nearly = 0.1 + 0.2 - 0.3
    assert.notStrictEqual(nearly, 0)
    assert.deepStrictEqual([...epsilonWeights([0, nearly, -nearly, -1], 0)], [1 / 3, 1 / 3, 1 / 3, 0])
    // A click more among 30 million.
    assert.deepStrictEqual([...epsilonWeights([0, Math.log(30_000_001 / 30_000_000)], 0)], [0, 1])
  })

  it("of 1 passes a chi-square test of uniformity", () => {
    const weights = epsilonWeights([0.5, 0.1, 0, 0, -1], 1)
    const u = uniform(99)
    const counts = new Array(5).fill(0)
    for (let i = 0; i < 50_000; i++) counts[sample(weights, u())]++
    const statistic = counts.reduce((total, count) => total + (count - 10_000) ** 2 / 10_000, 0)
    // 99.9 % quantile with 4 degrees of freedom.
    assert.isBelow(statistic, 18.47)
  })

  it("returns weights that sum to one, each at least an even share of epsilon", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 50 }), (epsilon, count) => {
        const weights = epsilonWeights(Array.from({ length: count }, (_, i) => -(i >> 1)), epsilon)
        assert.closeTo(sum(weights), 1, 1e-12)
        for (const weight of weights) assert.isAtLeast(weight, epsilon / count - 1e-15)
      }),
    )
  })

  it("returns no weights for no variants", () => {
    assert.deepStrictEqual([...epsilonWeights([], 0.1)], [])
  })
})

describe("a draw", () => {
  it("selects the last variant of positive weight if rounding leaves the sum below the random number", () => {
    assert.strictEqual(sample([0.3, 0.3, 0.3999, 0], 0.99999), 2)
  })

  it("selects the first variant of positive weight at 0, and the next one at a boundary", () => {
    assert.strictEqual(sample([0, 0, 0.5, 0.5], 0), 2)
    assert.strictEqual(sample([0.5, 0, 0.5], 0.5), 2)
  })

  it("returns -1 if no variant has a positive weight", () => {
    assert.strictEqual(sample([], 0.3), -1)
    assert.strictEqual(sample([0, 0], 0.3), -1)
  })
})

describe("kappa", () => {
  it("explores less in window mode, but at least its lower bound", () => {
    assert.closeTo(kappa("window", 1000), 0.3, 1e-12)
    assert.strictEqual(kappa("window", 1), 0.1)
    assert.strictEqual(kappa("window", undefined), 0.4)
    // A template of some minutes has nearly all of its horizon before it.
    assert.strictEqual(kappa("adaptive", 1000, 0), 1)
    assert.closeTo(kappa("adaptive", 1000, 1.5), Math.sqrt(0.48), 1e-12)
    assert.strictEqual(kappa("adaptive", 1000, 3), kappa("adaptive", 1000))
  })
})

describe("the share of the runner-up", () => {
  it("comes from all other arms in proportion to their probabilities", () => {
    const raised = raiseRunnerUp(Float64Array.of(0.9, 0.02, 0.08), [3, 1, 2], 0.2)
    assert.closeTo(raised[2]!, 0.2, 1e-12)
    assert.closeTo(raised[0]! / raised[1]!, 45, 1e-9)
    assert.closeTo(sum(raised), 1, 1e-12)
  })

  it("belongs to the larger mean among arms of equal probability", () => {
    assert.deepStrictEqual([...raiseRunnerUp(Float64Array.of(1, 0, 0), [3, 1, 2], 0.1)], [0.9, 0, 0.1])
  })

  it("changes nothing if the runner-up has more, or if there is no second arm", () => {
    for (const q of [Float64Array.of(0.7, 0.3), Float64Array.of(1), new Float64Array(0)]) {
      assert.strictEqual(raiseRunnerUp(q, [1, 0], 0.2), q)
    }
  })
})
