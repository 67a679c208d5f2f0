import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Objective } from "../../src/domain/Template.ts"
import { Learning } from "../../src/learning/Learning.ts"
import { Organizations } from "../../src/organizations/Organizations.ts"
import { Erasures } from "../../src/people/Erasures.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { Results } from "../../src/results/Results.ts"
import { Series } from "../../src/results/Series.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { decide, layerQuiet, makeOrg, org, receive, tallies } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { ask, counted, day, hour, makeTemplate, settle } from "./support.ts"

/** A purchase of a decision, some hours after it. */
interface Purchase {
  readonly of: string
  readonly value?: number
  readonly currency?: string
  readonly id?: string
  readonly afterHours?: number
}

const ago = 2 * day

/** Records decisions of a variant two days ago, under `variant/0` and so on. */
const decideMany = (slug: string, copy: string, count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, n) => n),
    (n) => decide(slug, `${copy}/${n}`, { copy, ago }),
    { concurrency: "unbounded", discard: true },
  )

const buy = (slug: string, purchases: ReadonlyArray<Purchase>) =>
  receive(
    slug,
    purchases.map(({ afterHours = 1, currency, id, of, value }) => ({
      event: "conversion",
      tracking_id: of,
      event_id: id ?? `${of}/${afterHours}`,
      occurred_at: new Date(Date.now() - ago + afterHours * hour).toISOString(),
      ...(value === undefined ? {} : { value }),
      ...(currency === undefined ? {} : { currency }),
    })),
  )

/** A template whose variants differ by their id. */
const start = Effect.fnUntraced(function* (slug: string, objective: Objective, currency?: string) {
  yield* makeOrg(slug)
  if (currency !== undefined) yield* (yield* Organizations).update(org(slug), { currency })
  yield* makeTemplate(slug, "t", ["a", "b"], objective)
  // The first look of the learner puts the rule of revenue in force.
  yield* settle(slug)
})

const setObjective = Effect.fnUntraced(function* (slug: string, objective: Objective) {
  yield* (yield* Templates).update(org(slug), "t", { objective })
  yield* (yield* Learning).wake(slug, "t", true)
  yield* settle(slug)
})

/** Differences between the tallies and the decisions and events. */
const differences = Effect.fnUntraced(function* (slug: string) {
  return (yield* (yield* Rebuild).run(org(slug), { check: true })).differences
})

/** Revenue of the template and of each variant, as results show it. */
const revenueOf = Effect.fnUntraced(function* (slug: string) {
  const { revenue, variants } = yield* (yield* Results).results(org(slug), "t", {})
  return { all: revenue, each: variants.map(({ revenue }) => revenue?.value) }
})

const capped = { revenue: 1, revenue_cap: 200 } as const

describe("revenue as an objective", () => {
  layer(Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("favors the variant with larger orders at the same number of orders", () =>
      Effect.gen(function* () {
        yield* start("shop", capped)
        for (const [copy, value] of [["a", 30], ["b", 60]] as const) {
          yield* decideMany("shop", copy, 500)
          yield* buy("shop", Array.from({ length: 80 }, (_, n) => ({ of: `${copy}/${n}`, value: value + n % 7 })))
        }
        yield* settle("shop")
        assert.deepStrictEqual((yield* revenueOf("shop")).all, { value: 7668, other_currency: 0 })
        const [a, b] = yield* counted("shop")
        assert.closeTo(a![2], 2634, 1e-6)
        assert.closeTo(b![2], 5034, 1e-6)
        const { trace } = yield* ask("shop", { useCache: false })
        const weights = new Map<string, number>(
          trace.candidates.map(({ id, weight }: { readonly id: string; readonly weight: number }) => [id, weight]),
        )
        assert.isAbove(weights.get("b")!, 0.9)
        const { objective, variants, winner } = yield* (yield* Results).results(org("shop"), "t", {})
        assert.deepStrictEqual(objective, capped)
        assert.strictEqual(winner.leader, "b")
        assert.closeTo(variants[0]!.raw_rate!, 2634 / 500, 1e-9)
        for (const { interval, rate } of variants) assert.isTrue(interval![0] < rate! && rate! < interval![1])
        assert.isAbove(variants[1]!.rate!, 1.2 * variants[0]!.rate!)
        const { points } = yield* (yield* Series).series(org("shop"), "t", {})
        assert.strictEqual(points.reduce((sum, { variants: [one] }) => sum + one!.value, 0), 2634)
        assert.deepStrictEqual(yield* differences("shop"), [])
      }))

    it.effect("sums the values of a decision up to the cap, each event once with its first value", () =>
      Effect.gen(function* () {
        yield* start("sum", capped)
        yield* decideMany("sum", "a", 4)
        yield* buy("sum", [
          { of: "a/0", value: 120, id: "one" },
          { of: "a/0", value: 50.25, afterHours: 2 },
          { of: "a/1", value: 1_000_000 },
          // More than 2 hours before the decision, so that it does not count.
          { of: "a/2", value: 7, afterHours: -3 },
          { of: "a/3" },
        ])
        yield* settle("sum")
        yield* buy("sum", [{ of: "a/0", value: 9, id: "one" }])
        yield* settle("sum")
        assert.deepStrictEqual((yield* revenueOf("sum")).all, { value: 370.25, other_currency: 0 })
        // The cap is reached only now: what the first events added is taken back.
        yield* buy("sum", [{ of: "a/0", value: 99, afterHours: 3 }])
        yield* settle("sum")
        assert.deepStrictEqual((yield* revenueOf("sum")).all, { value: 400, other_currency: 0 })
        assert.deepStrictEqual(yield* tallies("sum"), [
          "a plan=pro learned: conversion 3, decisions 4, revenue 400000, revenue_square 2000000000",
        ])
        assert.deepStrictEqual(yield* differences("sum"), [])
      }))

    it.effect("is reduced by refunds in any order, once each, and not below 0", () =>
      Effect.gen(function* () {
        yield* start("refund", capped)
        yield* decideMany("refund", "a", 4)
        const paid = [{ of: "a/0", value: 120 }, { of: "a/1", value: 80 }, { of: "a/2", value: 30 }]
        const refunds = [
          { of: "a/0", value: -50, id: "r0", afterHours: 5 },
          { of: "a/2", value: -99, id: "r2", afterHours: 6 },
          { of: "a/3", value: -10, id: "r3", afterHours: 7 },
        ]
        // The refunds of a/1 arrive before its conversion.
        yield* buy("refund", [{ of: "a/1", value: -20, id: "r1", afterHours: 3 }, refunds[0]!])
        yield* settle("refund")
        assert.deepStrictEqual((yield* revenueOf("refund")).all, { value: 0, other_currency: 0 })
        yield* buy("refund", paid)
        yield* buy("refund", refunds)
        yield* buy("refund", refunds)
        yield* settle("refund")
        assert.deepStrictEqual((yield* revenueOf("refund")).all, { value: 130, other_currency: 0 })
        assert.deepStrictEqual(yield* tallies("refund"), [
          "a plan=pro learned: conversion 3, decisions 4, revenue 130000, revenue_square 212500000",
        ])
        assert.deepStrictEqual(yield* differences("refund"), [])
        yield* setObjective("refund", { revenue: 1, revenue_cap: 65 })
        assert.deepStrictEqual((yield* revenueOf("refund")).all, { value: 125, other_currency: 0 })
        assert.deepStrictEqual(yield* differences("refund"), [])
      }))

    it.effect("recounts past conversions when the cap, the objective or the currency changes", () =>
      Effect.gen(function* () {
        yield* start("change", "click")
        yield* decideMany("change", "a", 3)
        yield* decideMany("change", "b", 2)
        yield* buy("change", [
          { of: "a/0", value: 300, currency: "EUR" },
          { of: "a/1", value: 40, currency: "USD" },
          { of: "b/0", value: 90 },
        ])
        yield* settle("change")
        assert.deepStrictEqual(yield* revenueOf("change"), { all: null, each: [undefined, undefined] })
        yield* setObjective("change", capped)
        assert.deepStrictEqual(yield* revenueOf("change"), { all: { value: 330, other_currency: 0 }, each: [240, 90] })
        assert.deepStrictEqual(yield* differences("change"), [])
        yield* setObjective("change", { revenue: 1, revenue_cap: 50 })
        assert.deepStrictEqual(yield* revenueOf("change"), { all: { value: 140, other_currency: 0 }, each: [90, 50] })
        yield* buy("change", [{ of: "a/1", value: 20, currency: "EUR", afterHours: 5 }])
        yield* settle("change")
        assert.deepStrictEqual(yield* revenueOf("change"), { all: { value: 150, other_currency: 0 }, each: [100, 50] })
        yield* (yield* Organizations).update(org("change"), { currency: "EUR" })
        yield* (yield* Learning).wake("change", "t", true)
        yield* settle("change")
        // A conversion without a currency is in the organization's.
        assert.deepStrictEqual(yield* revenueOf("change"), { all: { value: 120, other_currency: 1 }, each: [70, 50] })
        const [a, b] = yield* counted("change")
        assert.closeTo(a![2], 70, 1e-9)
        assert.closeTo(b![2], 50, 1e-9)
        assert.deepStrictEqual(yield* differences("change"), [])
        yield* setObjective("change", "conversion")
        assert.deepStrictEqual(yield* tallies("change"), [
          "a plan=pro learned: conversion 2, decisions 3",
          "b plan=pro learned: conversion 1, decisions 2",
        ])
        assert.deepStrictEqual(yield* differences("change"), [])
      }))

    it.effect("is the same after a rebuild as counted event by event", () =>
      Effect.gen(function* () {
        yield* start("rebuilt", capped, "EUR")
        yield* decideMany("rebuilt", "a", 20)
        for (let n = 0; n < 20; n++) {
          yield* buy("rebuilt", [
            { of: `a/${n}`, value: 17.35 * n },
            { of: `a/${n}`, value: n, currency: n % 4 === 0 ? "USD" : "EUR", afterHours: 2 },
          ])
          if (n % 5 === 0) yield* settle("rebuilt")
        }
        yield* settle("rebuilt")
        const before = yield* tallies("rebuilt")
        const rebuilt = yield* (yield* Rebuild).run(org("rebuilt"), { check: false })
        assert.deepStrictEqual(rebuilt.differences, [])
        assert.deepStrictEqual(yield* tallies("rebuilt"), before)
        assert.strictEqual((yield* revenueOf("rebuilt")).all?.other_currency, 5)
      }))

    it.effect("keeps the purchases of an erased person", () =>
      Effect.gen(function* () {
        yield* start("erased", capped)
        yield* decide("erased", "hers", { copy: "a", ago, user: "ann-17" })
        yield* decide("erased", "his", { copy: "a", ago, user: "bob-18" })
        yield* buy("erased", [{ of: "hers", value: 30 }, { of: "his", value: 12 }])
        yield* settle("erased")
        yield* (yield* Erasures).eraseNow({ org: "erased", user: "ann-17", email: undefined })
        yield* settle("erased")
        assert.deepStrictEqual((yield* revenueOf("erased")).all, { value: 42, other_currency: 0 })
        assert.deepStrictEqual(yield* differences("erased"), [])
        // The rebuilt tallies have it as well, and later events of others change it exactly.
        yield* (yield* Rebuild).run(org("erased"), { check: false })
        yield* buy("erased", [{ of: "his", value: 3, afterHours: 4 }])
        yield* settle("erased")
        assert.deepStrictEqual((yield* revenueOf("erased")).all, { value: 45, other_currency: 0 })
      }))

    it.effect("combines with other weights, including costs", () =>
      Effect.gen(function* () {
        yield* start("mixed", { click: 2, revenue: 0.1, revenue_cap: 100, negative: -5 })
        yield* decideMany("mixed", "a", 200)
        yield* decideMany("mixed", "b", 200)
        const events = (copy: string, event: string, count: number) =>
          Array.from({ length: count }, (_, n) => ({
            event,
            tracking_id: `${copy}/${n}`,
            event_id: `${event}/${copy}/${n}`,
            occurred_at: new Date(Date.now() - ago + hour).toISOString(),
          }))
        yield* receive("mixed", [...events("a", "click", 10), ...events("b", "click", 10)])
        yield* receive("mixed", [...events("b", "unsubscribe", 12)])
        yield* buy("mixed", [{ of: "a/5", value: 500 }, { of: "a/6", value: 40 }, { of: "b/5", value: 50 }])
        yield* settle("mixed")
        const [a, b] = yield* counted("mixed")
        assert.closeTo(a![2], 10 * 2 + 0.1 * 140, 1e-9)
        assert.closeTo(b![2], 10 * 2 + 0.1 * 50 - 5 * 12, 1e-9)
        const { trace } = yield* ask("mixed", { useCache: false })
        const [first, second] = trace.candidates as ReadonlyArray<{ readonly weight: number }>
        assert.isAbove(first!.weight, second!.weight)
        assert.deepStrictEqual(yield* differences("mixed"), [])
        // Revenue may cost as well: refused orders, say.
        yield* setObjective("mixed", { click: 1, revenue: -0.5, revenue_cap: 100 })
        const [costly, cheap] = yield* counted("mixed")
        assert.closeTo(costly![2], 10 - 0.5 * 140, 1e-9)
        assert.closeTo(cheap![2], 10 - 0.5 * 50, 1e-9)
      }))

    it.effect("counts each event by the rule in force, even while the rule changes", () =>
      Effect.gen(function* () {
        yield* start("race", capped)
        const sql = yield* SqlClient.SqlClient
        yield* decideMany("race", "a", 40)
        yield* Effect.all([
          Effect.forEach(
            Array.from({ length: 40 }, (_, n) => n),
            (n) => Effect.andThen(buy("race", [{ of: `a/${n}`, value: 10 * n }]), settle("race")),
            { discard: true },
          ),
          Effect.forEach([50, 300, 20, 120], (cap) => setObjective("race", { revenue: 1, revenue_cap: cap }), {
            discard: true,
          }),
        ], { concurrency: "unbounded" })
        yield* settle("race")
        const [rule] = yield* sql`SELECT r.cap FROM revenue_rules r WHERE r.org_slug = 'race'`
        assert.deepStrictEqual(rule, { cap: 120 })
        const sum = Array.from({ length: 40 }, (_, n) => Math.min(120, 10 * n)).reduce((all, one) => all + one, 0)
        assert.deepStrictEqual((yield* revenueOf("race")).all, { value: sum, other_currency: 0 })
        assert.deepStrictEqual(yield* differences("race"), [])
      }))
  })
})
