import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { placeOf } from "../../src/bandit/Holdout.ts"
import { Settling } from "../../src/sendtime/Settling.ts"
import { EvenSplitSum, readEvenSplits, weightOf } from "../../src/learning/EvenSplitTallies.ts"
import { propensityCountOf, readPropensities } from "../../src/learning/PropensityTallies.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { decide, layerQuiet, makeOrg, org, receive, settle } from "../intake/support.ts"
import { hour, makeTemplate } from "./support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { dayAt, drain, iso } from "../sendtime/habits.ts"

const weights = { a: 0.8, b: 0.2 }

describe("the weight of a decision", () => {
  const of = (copyId: string, weights: Record<string, number> | null) =>
    weightOf({ copyId, propensity: weights?.[copyId] ?? null, weights })

  it("is the even probability divided by its own", () => {
    assert.strictEqual(of("a", weights), 0.625)
    assert.strictEqual(of("b", weights), 2.5)
    assert.strictEqual(of("a", { a: 1 }), 1)
  })

  it("is left out if any variant had almost no chance, for every drawn variant", () => {
    const greedy = { a: 0.9999, b: 0.0001 }
    assert.strictEqual(of("a", greedy), "left_out")
    assert.strictEqual(of("b", greedy), "left_out")
    assert.isNumber(of("b", { a: 0.999, b: 0.001 }))
  })

  it("is undefined if nothing was drawn", () => {
    assert.isUndefined(of("a", null))
    assert.isUndefined(weightOf({ copyId: "gone", propensity: 0.5, weights }))
  })
})

describe("decisions weighted to a random split", () => {
  it("are the sent messages, weighted to a split of the variants", () => {
    const sum = new EvenSplitSum("o")
    const weights = { "": 0.5, a: 0.4, b: 0.1 }
    const decided = { templateId: "t", trackingId: "x", userId: null, decidedAt: new Date(0), weights }
    sum.add({ ...decided, copyId: "", propensity: 0.5 }, [])
    assert.deepStrictEqual(sum.rows(), [], "a decision to send nothing is no message")
    sum.add({ ...decided, copyId: "a", propensity: 0.4 }, [])
    // The variant has 80 % of the messages, and 50 % in a random split.
    assert.deepInclude(sum.rows()[0], { measure: "decisions", count: 1, weight: 625_000 })
  })

  layer(Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("are counted once with the outcomes of four days, and equal a rebuild", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("even")
        yield* makeTemplate("even", "t", ["a", "b"])
        const at = dayAt(9, 10)
        const drawn = (copy: "a" | "b") => ({ copy, propensity: weights[copy], weights: JSON.stringify(weights) })
        yield* decide("even", "a1", { ...drawn("a"), user: "ann", at })
        yield* decide("even", "a2", { ...drawn("a"), user: "ann", at: at + hour })
        yield* decide("even", "b1", { ...drawn("b"), user: "bob", at })
        yield* decide("even", "control", { user: "bob", at, mode: "control", weights: '{"a":0.5,"b":0.5}' })
        yield* decide("even", "greedy", { user: "bob", at, mode: "epsilon", propensity: 1, weights: '{"a":1,"b":0}' })
        yield* decide("even", "forced", { user: "bob", at, mode: "forced", propensity: null })
        yield* decide("even", "fresh", { ...drawn("a"), user: "ann", ago: hour })
        const event = (event: string, tracking_id: string, after: number) => ({
          event,
          tracking_id,
          occurred_at: iso(at + after * hour),
          event_id: `${event} ${tracking_id} ${after}`,
        })
        yield* receive("even", [
          event("click", "a1", 1),
          event("click", "a1", 2),
          event("click", "a2", 100),
          event("click", "b1", 1),
          event("unsubscribe", "b1", 1),
        ])
        yield* drain
        const { run } = yield* Settling
        yield* run
        yield* run
        const counts = readEvenSplits(sql, "even", "t", new Date(dayAt(30, 0)), new Date())
        const counted = yield* counts
        const groupOf = (userId: string) => counted!.groups[placeOf({ org: "even", userId, trackingId: "" }).people]!
        assert.deepStrictEqual(groupOf("ann").decisions, { count: 2, weight: 1.25, square: 0.78125 })
        assert.deepStrictEqual(groupOf("ann").click, { count: 1, weight: 0.625, square: 0.390625 })
        assert.deepStrictEqual(groupOf("bob").decisions, { count: 2, weight: 3.5, square: 7.25 })
        assert.deepStrictEqual(groupOf("bob").click, { count: 1, weight: 2.5, square: 6.25 })
        assert.strictEqual(groupOf("bob").negative.count, 1)
        assert.strictEqual(counted!.leftOut, 1)
        assert.strictEqual(counted!.first.getTime(), dayAt(9, 0))

        const byVariant = Effect.map(
          readPropensities(sql, "even", "t", ["a", "b"], new Date(dayAt(30, 0))),
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

        yield* settle("even")
        const rebuild = yield* Rebuild
        assert.strictEqual((yield* rebuild.run(org("even"), { check: true })).evenSplitDifferences, 0)
        yield* rebuild.run(org("even"), { check: false })
        assert.deepStrictEqual(yield* counts, counted)
        assert.deepStrictEqual(yield* byVariant, ofVariants)

        yield* receive("even", [event("click", "a2", 3)])
        yield* drain
        yield* settle("even")
        assert.strictEqual((yield* rebuild.run(org("even"), { check: true })).evenSplitDifferences, 1, "a late report")
        yield* rebuild.run(org("even"), { check: false, template: "t" })
        assert.strictEqual(
          (yield* counts)!.groups[placeOf({ org: "even", userId: "ann", trackingId: "" }).people]!.click.count,
          2,
        )
        yield* sql`UPDATE decisions SET user_id = NULL WHERE org_slug = 'even' AND user_id = 'ann'`
        const erased = yield* rebuild.run(org("even"), { check: true })
        assert.strictEqual(erased.evenSplitDifferences, 0, "an erasure moves decisions to other groups of people")
      }))
  })
})
