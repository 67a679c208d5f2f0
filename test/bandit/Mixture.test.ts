import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Contexts, encodeContext } from "../../src/bandit/Contexts.ts"
import {
  effectEvidence,
  restrictedLogLikelihood,
  usualProbability,
  type ValueCounts,
  withEffects,
} from "../../src/bandit/Mixture.ts"
import { ModelSnapshot } from "../../src/bandit/Model.ts"
import { modelParts } from "../../src/bandit/ModelParts.ts"
import { eligibleSet, Policy } from "../../src/bandit/Policy.ts"
import { day, fitRows, normal, now, type Row, sum } from "./Samples.ts"

const ids = ["a", "b", "c", "d"]
const dayparts = ["night", "morning", "afternoon", "evening"]

/** Outcomes of four variants in four values, `expected` in each, whose rates differ by value with the standard deviation `sd`. */
const counts = (expected: number, sd: number, seed: number): ValueCounts => {
  const draw = normal(seed)
  const rates = Array.from({ length: 16 }, () => Math.exp(sd * draw()))
  return {
    values: 4,
    expected: new Float64Array(16).fill(expected),
    outcomes: Float64Array.from(rates, (rate) => expected * rate + Math.sqrt(expected * rate) * draw()),
  }
}

const rowsBy = (rate: (variant: number, daypart: number) => number, sends = 4000): ReadonlyArray<Row> =>
  ids.flatMap((variant, v) =>
    dayparts.map((daypart, d) => ({
      variant,
      context: encodeContext([["weekend", "weekday"], ["daypart", daypart]]),
      start: Math.floor(now / day) * day - 5 * day,
      sends,
      clicks: Math.round(sends * rate(v, d)),
    }))
  )
const night = new Contexts({ keys: [] }).parse(encodeContext([["weekend", "weekday"], ["daypart", "night"]]))
const fitted = (rows: ReadonlyArray<Row>) => fitRows(rows, { scheme: { keys: [] }, rounds: 60 })

describe("the evidence for effects of an attribute", () => {
  it("is none without outcomes", () => {
    const none = { values: 4, expected: new Float64Array(16), outcomes: new Float64Array(16) }
    assert.closeTo(effectEvidence(none).logOdds, 0, 1e-12)
    assert.closeTo(withEffects(undefined, 0), 0.5, 1e-12)
    assert.closeTo(withEffects(0.2, 0), 0.2, 1e-12)
  })

  it("does not depend on levels of variants or on effects of values on all variants", () => {
    const before = counts(200, 0.2, 1)
    const moved = {
      ...before,
      outcomes: before.outcomes.map((y, i) => y + 200 * (i < 4 ? 0.3 : 0) - (i % 4 === 2 ? 50 : 0)),
    }
    const difference = (of: ValueCounts) => restrictedLogLikelihood(of, 0.4) - restrictedLogLikelihood(of, 0.05)
    assert.closeTo(difference(moved), difference(before), 1e-4)
  })

  it("finds effects and their absence with enough outcomes", () => {
    const mean = (expected: number, sd: number) =>
      sum(Array.from(
        { length: 20 },
        (_, seed) => withEffects(undefined, effectEvidence(counts(expected, sd, seed)).logOdds),
      )) / 20
    assert.isAbove(mean(1000, 0.3), 0.99)
    assert.isBelow(mean(1000, 0), 0.15)
    // Few outcomes move it little.
    assert.closeTo(mean(5, 0), 0.5, 0.15)
  })

  it("estimates the spread of the effects", () => {
    const spreads = Array.from({ length: 20 }, (_, seed) => effectEvidence(counts(2000, 0.2, seed)).spread)
    assert.closeTo(sum(spreads) / 20, 0.2, 0.06)
  })
})

describe("the share of an organization's templates with effects", () => {
  it("is a half without templates, and follows the evidence of many", () => {
    assert.closeTo(usualProbability([]), 0.5, 1e-12)
    const weak = (of: number, logOdds: number) => usualProbability(new Array<number>(of).fill(logOdds))
    assert.isBelow(weak(40, -0.15), 0.25)
    assert.isBelow(weak(400, -0.15), 0.03)
    assert.isAbove(weak(40, 0.5), 0.8)
    // One template alone says little about the others.
    assert.closeTo(weak(1, 1000), 0.75, 0.01)
    assert.closeTo(weak(1, -1000), 0.25, 0.01)
  })

  it("is about the true share", () => {
    const mixed = Array.from({ length: 100 }, (_, i) => i < 30 ? 8 : -8)
    assert.closeTo(usualProbability(mixed), 0.3, 0.03)
  })
})

describe("a model with built-in attributes", () => {
  const alike = fitted(rowsBy((v) => 0.03 + 0.002 * v))
  const different = fitted(rowsBy((v, d) => v === d ? 0.06 : 0.03))

  it("knows whether they have effects", () => {
    // No decision was made at a weekend, so that nothing is known about it.
    assert.isBelow(alike.builtInProbability!, 0.6)
    assert.isAbove(different.builtInProbability!, 0.99)
    assert.isUndefined(fitRows(rowsBy(() => 0.03)).builtInProbability)
  })

  it("weighs the variants by the probabilities of its parts", () => {
    const weights = (builtInProbability: number) =>
      new Policy({ ...alike, builtInProbability }, 0).choice(night, eligibleSet(ids)).weights
    const [all, none, some] = [weights(1), weights(0), weights(0.3)]
    some.forEach((weight, i) => assert.closeTo(weight, 0.3 * all[i]! + 0.7 * none[i]!, 1e-12))
    assert.closeTo(sum(some), 1, 1e-12)
  })

  it("equals a fit without them if they have no effects", () => {
    const without = fitRows(rowsBy((v) => 0.03 + 0.002 * v), { rounds: 60 })
    const none = new Contexts({ keys: [], builtIns: [] }).parse("")
    const [part] = modelParts({ ...alike, builtInProbability: 0 })
    const [plain] = modelParts(without)
    const relative = (of: typeof part, model: ModelSnapshot, context: typeof none) => {
      const all = model.variants.map((variant) => of!.posterior(variant, context))
      const middle = sum(all.map(({ mean }) => mean)) / all.length
      return all.map(({ mean, sd }) => [mean - middle, sd] as const)
    }
    const expected = relative(plain, without, none)
    relative(part, alike, night).forEach(([mean, sd], v) => {
      assert.closeTo(mean, expected[v]![0], 0.01)
      assert.closeTo(sd, expected[v]![1], 0.005)
    })
  })

  it("uses the whole model if an earlier release has fitted it", () => {
    const { builtInProbability: _, ...earlier } = different
    const loaded = Schema.decodeUnknownSync(ModelSnapshot)(JSON.parse(JSON.stringify(earlier)))
    assert.strictEqual(modelParts(loaded).length, 1)
    const weights = (model: ModelSnapshot) => new Policy(model).choice(night, eligibleSet(ids)).weights
    assert.deepStrictEqual(weights(loaded), weights({ ...different, builtInProbability: 1 }))
  })

  it("keeps its probability in a window with little data", () => {
    const kept = fitRows(rowsBy(() => 0.03, 10), { scheme: { keys: [] }, start: different, holdShrinkage: true })
    assert.strictEqual(kept.builtInProbability, different.builtInProbability)
  })
})
