import { assert, describe, it } from "@effect/vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { report } from "../../src/bandit/Report.ts"
import { ContextRates } from "../../src/results/ContextRates.ts"
import { day, fitRows, now, sum } from "../bandit/Samples.ts"

const plans = ["free", "pro", "team"]
const ids = ["a", "b", "c"]

/** Clicks of 300 decisions, by variant and plan. */
const clicks = [[20, 3, 9], [9, 16, 2], [1, 9, 18]]

describe("the rates of variants in contexts", () => {
  it("have the ratios of the rates of the results if variants differ by an attribute", () => {
    const contexts = plans.map((plan) => encodeContext([["plan", plan]]))
    const start = Math.floor(now / day) * day - 5 * day
    const model = fitRows(
      ids.flatMap((variant, v) =>
        contexts.map((context, c) => ({ variant, context, start, sends: 300, clicks: clicks[v]![c]! }))
      ),
      { scheme: { keys: [{ name: "plan", values: plans }], builtIns: [] }, rounds: 60 },
    )
    const { groups } = report({
      model,
      floor: 0.01,
      ids,
      eligible: ids,
      groups: contexts.map((cell) => ({ name: cell, contexts: [{ cell, sends: 1 }] })),
      draws: 4000,
      seed: 1,
    })
    const rates = new ContextRates(model, ids, contexts)
    ids.forEach((id, v) => {
      const shown = groups.map(({ variants }) => variants[v]!.rate)
      const mean = sum(shown) / shown.length
      rates.relative(v, [1, 1, 1]).forEach((one, c) =>
        assert.closeTo(one * mean / shown[c]!, 1, 0.05, `${id} ${plans[c]}`)
      )
    })
  })
})
