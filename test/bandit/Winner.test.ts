import { assert, describe, it } from "@effect/vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { priorModel } from "../../src/bandit/Model.ts"
import { defaultPriors } from "../../src/bandit/Priors.ts"
import { bestArmProbabilities } from "../../src/bandit/Weights.ts"
import { compareRates } from "../../src/bandit/Winner.ts"
import { nothing } from "../../src/domain/SendNothing.ts"
import { adaptive, compare, day, fitRows, normal, now, sum } from "./Samples.ts"

const rows = (sends: ReadonlyArray<number>, rates: ReadonlyArray<number>, days = 10) =>
  sends.flatMap((n, i) =>
    Array.from({ length: days }, (_, d) => ({
      variant: `v${i}`,
      context: "",
      start: Math.floor(now / day) * day - (d + 1) * day,
      sends: n / days,
      clicks: n * rates[i]! / days,
    }))
  )

const report = (sends: ReadonlyArray<number>, rates: ReadonlyArray<number>, days?: number) =>
  compare(fitRows(rows(sends, rates, days)), sends.map((_, i) => `v${i}`), normal(1))

describe("a comparison of variants", () => {
  it("interpolates its intervals between ordered draws, whatever their order and repetitions", () => {
    const random = normal(5)
    for (const count of [1, 2, 3, 40, 529]) {
      const draws = Float64Array.from({ length: count }, () => Math.round(20 * random()) / 20)
      const ordered = draws.toSorted()
      const at = (p: number) => {
        const [low, high] = [Math.floor(p * (count - 1)), Math.ceil(p * (count - 1))]
        return ordered[low]! + (p * (count - 1) - low) * (ordered[high]! - ordered[low]!)
      }
      const { interval } = compareRates(["a"], [draws]).variants[0]!
      assert.closeTo(interval[0], at(0.025), 1e-12)
      assert.closeTo(interval[1], at(0.975), 1e-12)
    }
  })

  it("names the leader, its lift, and the loss of the others", () => {
    const { leader, lift, valueRemaining, variants, worstLoss } = report([20_000, 20_000, 20_000], [0.03, 0.05, 0.04])
    assert.strictEqual(leader, "v1")
    assert.isAtLeast(variants[1]!.pBest, 0.95)
    assert.strictEqual(valueRemaining, 0)
    assert.isBelow(variants[1]!.expectedLoss, 1e-4)
    // The loss of the other variants is their distance to the leader.
    assert.closeTo(variants[0]!.expectedLoss, 0.05 / 0.03 - 1, 0.15)
    assert.closeTo(variants[2]!.expectedLoss, 0.25, 0.08)
    assert.isAbove(worstLoss, variants[0]!.expectedLoss)
    assert.strictEqual(lift!.baseline, "v2")
    assert.closeTo(lift!.value, 0.25, 0.08)
    assert.closeTo(lift!.difference, 0.01, 0.003)
    assert.isTrue(lift!.interval[0] < 0.25 && lift!.interval[1] > 0.25)
    assert.isTrue(lift!.differenceInterval[0] < 0.01 && lift!.differenceInterval[1] > 0.01)
  })

  it("reports a small possible loss for variants known to be equal, and a larger one for an uncertain variant", () => {
    assert.isBelow(report([3_000_000, 3_000_000], [0.04, 0.04]).worstLoss, 0.01)
    assert.isAbove(report([3_000_000, 3_000], [0.04, 0.04]).worstLoss, 0.01, "of one of them too little is known")
  })

  it("has equal chances for all variants without data", () => {
    const model = priorModel({
      version: "t:0",
      now,
      window: adaptive,
      scheme: { keys: [] },
      organization: defaultPriors,
    })
    const { valueRemaining, variants } = compare(model, ["a", "b", "c", "d"], normal(2))
    assert.isAbove(valueRemaining, 0.1)
    for (const { pBest } of variants) assert.closeTo(pBest, 0.25, 0.03)
    assert.closeTo(sum(variants.map(({ pBest }) => pBest)), 1, 1e-9)
  })

  it("has no lift and no loss with one variant or none", () => {
    const single = report([50_000], [0.04])
    assert.deepStrictEqual([single.leader, single.lift, single.variants[0]!.pBest], ["v0", null, 1])
    const none = compare(fitRows([]), [], normal(1))
    assert.deepStrictEqual(none, {
      variants: [],
      leader: null,
      valueRemaining: 0,
      worstLoss: 0,
      lift: null,
      overSplit: null,
    })
  })

  it("agrees with the integral and with the posterior it samples", () => {
    const model = fitRows(rows([4000, 3000, 2000], [0.04, 0.043, 0.05]))
    const { variants } = compare(model, ["v0", "v1", "v2"], normal(3), { draws: 20_000 })
    const posteriors = model.variants.map(({ beta, covariance }) => ({ mean: beta[0]!, sd: Math.sqrt(covariance[0]!) }))
    const q = bestArmProbabilities(posteriors.map(({ mean }) => mean), posteriors.map(({ sd }) => sd))
    variants.forEach(({ interval, pBest, rate }, v) => {
      const { mean, sd } = posteriors[v]!
      assert.closeTo(pBest, q[v]!, 0.015)
      assert.closeTo(rate, Math.exp(model.a0 + mean + sd ** 2 / 2), 0.0005)
      assert.closeTo(interval[0], Math.exp(model.a0 + mean - 1.96 * sd), 0.001)
      assert.closeTo(interval[1], Math.exp(model.a0 + mean + 1.96 * sd), 0.001)
    })
  })

  it("has an infinite loss if sending nothing leads with a rate of 0 and a message may be better", () => {
    const count = 200
    const gains = (from: number) => Float64Array.from({ length: count }, (_, d) => d < from ? -1 : 0.5)
    // The 95 % quantile is at draw 189.05: above, at, between and below the first infinite loss.
    for (const [from, expected] of [[100, Infinity], [189, Infinity], [190, Infinity], [191, 0]] as const) {
      const found = compareRates([nothing, "a"], [new Float64Array(count), gains(from)])
      assert.strictEqual(found.leader, nothing)
      assert.strictEqual(found.valueRemaining, expected, `${from}`)
    }
  })

  it("is identical for the same seed", () => {
    const model = fitRows(rows([4000, 3000], [0.04, 0.05]))
    assert.deepStrictEqual(
      compare(model, ["v0", "v1"], normal(9)),
      compare(model, ["v0", "v1"], normal(9)),
    )
  })
})

describe("a comparison within a segment", () => {
  const scheme = { keys: [{ name: "plan", values: ["free", "pro"] }], builtIns: [] }
  const contextOf = (plan: string) => encodeContext([["plan", plan]])
  const model = fitRows(
    Array.from({ length: 10 }, (_, d) => Math.floor(now / day) * day - (d + 1) * day).flatMap((start) => [
      { variant: "a", context: contextOf("free"), start, sends: 9000, clicks: 450 },
      { variant: "a", context: contextOf("pro"), start, sends: 1000, clicks: 20 },
      { variant: "b", context: contextOf("free"), start, sends: 9000, clicks: 270 },
      { variant: "b", context: contextOf("pro"), start, sends: 1000, clicks: 40 },
    ]),
    { scheme },
  )

  it("can have another winner than the overall result", () => {
    const whole = compare(model, ["a", "b"], normal(1), { draws: 1000 })
    const pro = compare(model, ["a", "b"], normal(1), {
      draws: 1000,
      traffic: [{ cell: contextOf("pro"), sends: 1 }],
    })
    assert.strictEqual(whole.leader, "a")
    assert.strictEqual(pro.leader, "b")
    assert.closeTo(pro.variants[1]!.rate, 0.04, 0.004)
    assert.closeTo(whole.variants[0]!.rate, 0.047, 0.002)
  })

  it("weights contexts by their traffic of the last 14 days", () => {
    assert.deepStrictEqual(model.traffic, [
      { cell: contextOf("free"), sends: 180_000 },
      { cell: contextOf("pro"), sends: 20_000 },
    ])
  })

  it("uses the variant's estimate for an unknown context", () => {
    const { variants } = compare(model, ["a", "b"], normal(1), { traffic: [{ cell: contextOf("gold"), sends: 1 }] })
    for (const { interval } of variants) assert.isAbove(interval[1] / interval[0], 1.2)
  })
})
