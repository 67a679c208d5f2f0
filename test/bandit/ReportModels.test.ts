import { assert, describe, it } from "@effect/vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import type { ModelSnapshot } from "../../src/bandit/Model.ts"
import { report } from "../../src/bandit/Report.ts"
import { reportModels } from "../../src/bandit/ReportModels.ts"
import { day, fitRows, now } from "./Samples.ts"

const plans = ["free", "pro", "team"]
const contextOf = (plan: string) => encodeContext([["plan", plan]])

/** Clicks of `sends` decisions for each variant and plan, at these rates by variant. */
const modelOf = (
  rates: ReadonlyArray<ReadonlyArray<number>>,
  sends: number,
  values = plans,
  rounds = 60,
): ModelSnapshot =>
  fitRows(
    rates.flatMap((own, v) =>
      own.map((rate, p) => ({
        variant: `v${v}`,
        context: contextOf(plans[p]!),
        start: Math.floor(now / day) * day - 5 * day,
        sends,
        clicks: Math.round(sends * rate),
      }))
    ),
    { scheme: { keys: [{ name: "plan", values }], builtIns: [] }, rounds },
  )

const different = [[0.06, 0.02, 0.03], [0.03, 0.05, 0.03], [0.03, 0.03, 0.055]]
const tausOf = (models: ReadonlyArray<ModelSnapshot>) => models.map(({ taus }) => taus[0]!)

describe("the models of a report", () => {
  it("are the model alone without attributes and exposure effects, or if it is from an earlier release", () => {
    const { levels: _levels, ...plain } = fitRows([
      { variant: "a", context: "", start: now - 5 * day, sends: 1000, clicks: 30 },
    ])
    assert.deepStrictEqual(reportModels(plain), [plain])
    const { fittedWith: _fittedWith, levels: _others, ...old } = modelOf(different, 1000)
    assert.deepStrictEqual(reportModels(old), [old])
  })

  it("cover all spreads with little data, and only the fitting ones with much data", () => {
    const few = tausOf(reportModels(modelOf(different, 30)))
    assert.deepStrictEqual([...new Set(few)].sort(), [0.05, 0.1, 0.2, 0.4, 0.8, 1.2])
    assert.strictEqual(few.length, 12)
    assert.isAtLeast(Math.min(...tausOf(reportModels(modelOf(different, 100_000)))), 0.4)
    assert.isAtMost(
      Math.max(...tausOf(reportModels(modelOf([[0.03, 0.03, 0.03], [0.03, 0.03, 0.03]], 1_000_000)))),
      0.2,
    )
  })

  it("leave out weekday and daypart as often as the evidence does", () => {
    const model = fitRows([{ variant: "a", context: "", start: now - 5 * day, sends: 1000, clicks: 30 }], {
      scheme: { keys: [], builtIns: ["weekend", "daypart"] },
    })
    const without = reportModels({ ...model, builtInProbability: 0.25 }).filter(({ taus }) => taus[0] === 0.01)
    assert.strictEqual(without.length, 9)
    assert.isTrue(
      without.every(({ taus, variants }) =>
        taus[1] === 0.01 && variants[0]!.beta.slice(1).every((effect) => Math.abs(effect) < 1e-3)
      ),
    )
  })

  it("are fewer if they would take long", () => {
    const values = Array.from({ length: 200 }, (_, i) => `value ${i}`)
    const many = modelOf(Array.from({ length: 8 }, () => [0.03, 0.04, 0.05]), 100, [...plans, ...values], 1)
    const count = reportModels(many).length
    assert.isTrue(count > 0 && count < 12, `${count}`)
  })

  it("use each case of the exposure effects equally often", () => {
    const fatigue = {
      effects: [0, -0.1, -0.3, -0.5],
      freshness: () => 0.8,
      uncertainty: () => 0.1,
      cases: (variant: string) => [1, 2, 3, 4, 5, 6].map((at) => variant === "a" ? at / 100 : 0),
      reported: [],
    }
    const start = Math.floor(now / day) * day - 5 * day
    const model = fitRows(
      ["a", "b"].map((variant) => ({ variant, context: "", start, sends: 1_000_000, clicks: 40_000 })),
      { fatigue, rounds: 60 },
    )
    const models = reportModels(model)
    assert.strictEqual(models.length, 6)
    models.forEach(({ variants: [a, b] }, k) => assert.closeTo(a!.beta[0]! - b!.beta[0]!, (k + 1) / 100, 0.002))
  })

  it("widen the intervals of rare values and shrink their rates less than a single spread", () => {
    const model = modelOf(different, 300)
    const ask = (model: ModelSnapshot) =>
      report({
        model,
        floor: 0.01,
        ids: ["v0", "v1", "v2"],
        eligible: ["v0", "v1", "v2"],
        groups: plans.map((plan) => ({ name: plan, contexts: [{ cell: contextOf(plan), sends: 1 }] })),
        seed: 1,
      }).groups.map(({ variants }) => variants)
    const { fittedWith: _, ...plugged } = model
    const [averaged, single] = [ask(model), ask(plugged)]
    different.forEach((own, v) =>
      own.forEach((truth, p) => {
        const [mine, theirs] = [averaged[p]![v]!, single[p]![v]!]
        assert.isAbove(
          Math.log(mine.interval[1] / mine.interval[0]),
          Math.log(theirs.interval[1] / theirs.interval[0]) * 0.98,
        )
        assert.isBelow(Math.abs(mine.rate - truth), Math.abs(theirs.rate - truth) + 0.0005)
      })
    )
  })
})
