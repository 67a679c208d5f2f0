import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { propensityCountOf, PropensitySum, readPropensities } from "../../src/learning/PropensityTallies.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { decide, layerQuiet, makeOrg, org, receive, settle } from "../intake/support.ts"
import { hour, makeTemplate } from "./support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { dayAt, drain, drainAndSettle, eventsAfter } from "../sendtime/habits.ts"

const weights = { a: 0.8, b: 0.2 }

describe("decisions weighted by propensities", () => {
  const sumsOf = (weights: Record<string, number> | null, propensity = weights?.["b"] ?? null) => {
    const sum = new PropensitySum()
    sum.add({ templateId: "t", copyId: "b", decidedAt: new Date(0), propensity, weights }, [])
    return sum.rows().map(({ copy_id, measure, square, weight }) => [copy_id, measure, weight, square])
  }

  it("are counted for each candidate, with the inverse of its probability", () => {
    assert.deepStrictEqual(sumsOf(weights), [
      ["a", "offered", 1250, 0],
      ["b", "offered", 5000, 0],
      ["b", "decisions", 5000, 25_000],
    ])
  })

  it("are left out if any variant had almost no chance", () => {
    assert.deepStrictEqual(sumsOf({ a: 0.9999, b: 0.0001 }), [])
    assert.deepStrictEqual(sumsOf({ a: 0.0001, b: 0.9999 }), [])
    assert.lengthOf(sumsOf({ a: 0.999, b: 0.001 }), 3)
  })

  it("are left out if nothing was drawn, or from one variant", () => {
    assert.deepStrictEqual(sumsOf(null), [])
    assert.deepStrictEqual(sumsOf({ a: 1 }, 0.5), [])
    assert.deepStrictEqual(sumsOf({ b: 1 }), [])
  })

  layer(Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("are counted once with the outcomes of four days, and equal a rebuild", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("weighted")
        yield* makeTemplate("weighted", "t", ["a", "b"])
        const at = dayAt(9, 10)
        const drawn = (copy: "a" | "b") => ({ copy, propensity: weights[copy], weights: JSON.stringify(weights) })
        yield* decide("weighted", "a1", { ...drawn("a"), user: "ann", at })
        yield* decide("weighted", "a2", { ...drawn("a"), user: "ann", at: at + hour })
        yield* decide("weighted", "b1", { ...drawn("b"), user: "bob", at })
        yield* decide("weighted", "control", { user: "bob", at, mode: "control", weights: '{"a":0.5,"b":0.5}' })
        yield* decide("weighted", "greedy", {
          user: "bob",
          at,
          mode: "epsilon",
          propensity: 1,
          weights: '{"a":1,"b":0}',
        })
        yield* decide("weighted", "forced", { user: "bob", at, mode: "forced", propensity: null })
        yield* decide("weighted", "fresh", { ...drawn("a"), user: "ann", ago: hour })
        const event = eventsAfter(at)
        yield* receive("weighted", [
          event("click", "a1", 1),
          event("click", "a1", 2),
          event("click", "a2", 100),
          event("click", "b1", 1),
          event("unsubscribe", "b1", 1),
        ])
        yield* drainAndSettle
        const byVariant = Effect.map(
          readPropensities(sql, "weighted", "t", ["a", "b"], new Date(dayAt(30, 0))),
          (rows) =>
            (JSON.parse(rows) as Array<Parameters<typeof propensityCountOf>[0]>).map(propensityCountOf)
              .toSorted((a, b) => a.copyId < b.copyId ? -1 : 1),
        )
        const ofVariants = yield* byVariant
        // Three decisions with these probabilities, and the even choice of the holdout.
        const offered = (propensity: number) => ({ count: 4, weight: 3 / propensity + 2, square: 0 })
        assert.deepStrictEqual(ofVariants.map(({ copyId, day, sums }) => ({ copyId, day, sums })), [
          {
            copyId: "a",
            day: dayAt(9, 0),
            sums: {
              offered: offered(0.8),
              decisions: { count: 3, weight: 4.5, square: 7.126 },
              click: { count: 1, weight: 1.25, square: 1.563 },
            },
          },
          {
            copyId: "b",
            day: dayAt(9, 0),
            sums: {
              offered: offered(0.2),
              decisions: { count: 1, weight: 5, square: 25 },
              click: { count: 1, weight: 5, square: 25 },
              negative: { count: 1, weight: 5, square: 25 },
            },
          },
        ])

        yield* settle("weighted")
        const rebuild = yield* Rebuild
        const check = Effect.map(rebuild.run(org("weighted"), { check: true }), (found) => found.propensityDifferences)
        assert.strictEqual(yield* check, 0)
        yield* rebuild.run(org("weighted"), { check: false })
        assert.deepStrictEqual(yield* byVariant, ofVariants)

        yield* receive("weighted", [event("click", "a2", 3)])
        yield* drain
        yield* settle("weighted")
        assert.strictEqual(yield* check, 1, "a late report")
        yield* rebuild.run(org("weighted"), { check: false, template: "t" })
        assert.strictEqual((yield* byVariant)[0]!.sums.click!.count, 2)
        yield* sql`UPDATE decisions SET user_id = NULL WHERE org_slug = 'weighted' AND user_id = 'ann'`
        assert.strictEqual(yield* check, 0, "an erasure")
      }))
  })
})
