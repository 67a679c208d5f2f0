import { assert, describe, it } from "@effect/vitest"
import { encodeContext } from "../../src/bandit/Contexts.ts"
import { report } from "../../src/bandit/Report.ts"
import { prepare } from "../../src/results/Composition.ts"
import { preferencesOf } from "../../src/results/Preferences.ts"
import { day, fitRows, now, uniform } from "../bandit/Samples.ts"
import { input, row, variant } from "./Samples.ts"

const plans = ["free", "pro", "team"]
const tiers = ["gold", "silver", "none"]
const dayparts = ["morning", "afternoon", "evening", "night"]
const contexts = plans.flatMap((plan) =>
  tiers.flatMap((tier) =>
    dayparts.map((daypart) => ({
      plan,
      context: encodeContext([["plan", plan], ["tier", tier], ["daypart", daypart], ["weekend", "weekday"]]),
    }))
  )
)

/** Ten days of three variants. `ratio`: of the rate of the preferred variant of the plans free and pro to the others'. */
const simulated = (ratio: number, perDay: number, seed: number) => {
  const random = uniform(seed)
  const sends = Math.max(1, Math.round(perDay / contexts.length / 3))
  const counts = ["a", "b", "c"].flatMap((id) =>
    contexts.flatMap(({ context, plan }) => {
      const isPreferred = id === "a" && plan === "free" || id === "b" && plan === "pro"
      const rate = 0.06 * (isPreferred ? ratio : 1)
      return Array.from({ length: 10 }, (_, d) => ({
        variant: id,
        context,
        start: Math.floor(now / day) * day - (d + 1) * day,
        sends,
        clicks: Array.from({ length: sends }, random).filter((u) => u < rate).length,
      }))
    })
  )
  const model = fitRows(counts, {
    scheme: {
      keys: [{ name: "plan", values: plans }, { name: "tier", values: tiers }],
      builtIns: ["daypart", "weekend"],
    },
  })
  const variants = ["a", "b", "c"].map((id) => variant(id))
  const rows = counts.map(({ clicks, context, sends, variant }) =>
    row(variant, context, "learned", { decisions: sends, delivered: sends, click: clicks })
  )
  const { compose, request } = prepare(
    input({
      template: { ...input().template, variants },
      eligible: new Set(variants.map(({ id }) => id)),
      model,
      rows,
    }),
  )
  return compose(report(request))
}

const preferredIn = (ratio: number, perDay: number, runs: number) =>
  Array.from({ length: runs }, (_, seed) => {
    const results = simulated(ratio, perDay, seed)
    return preferencesOf(results, results.winner.leader).map(({ preferred, segment }) => ({
      segment,
      id: preferred.copy_id as string,
    }))
  })

describe("segments that prefer another variant", () => {
  it("are found in at most one of 20 simulations of equally good variants", () => {
    assert.isAtMost(preferredIn(1, 1000, 20).filter((found) => found.length > 0).length, 1)
  })

  it("are found where two plans prefer different variants, and are the right ones", () => {
    const found = preferredIn(1.65, 3000, 5)
    for (const preferences of found) {
      assert.isAbove(preferences.length, 0)
      for (const { id, segment } of preferences) {
        assert.include(["free a", "pro b"], `${segment["plan"]} ${id}`)
      }
    }
  })
})
