import { assert, describe, it } from "@effect/vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { report } from "../../src/bandit/Report.ts"
import { ContextRates } from "../../src/results/ContextRates.ts"
import { day, fitRows, now } from "../bandit/Samples.ts"

const plans = ["free", "pro", "team"]
const ids = ["a", "b", "c"]

/** Clicks of 300 decisions, by variant and plan. */
const clicks = [[20, 3, 9], [9, 16, 2], [1, 9, 18]]

describe("the rates of variants in contexts", () => {
  it("equal the rates of the results if variants differ by an attribute", () => {
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
    contexts.forEach((_, c) =>
      ids.forEach((_, v) => {
        const shown = groups[c]!.variants[v]!.rate
        assert.closeTo(rates.of(v, c) / shown, 1, 0.05, `${ids[v]} ${plans[c]}`)
      })
    )
  })
})
