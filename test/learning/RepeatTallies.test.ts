import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Intake } from "../../src/intake/Intake.ts"
import { Learning } from "../../src/learning/Learning.ts"
import { readRepeats } from "../../src/learning/RepeatTallies.ts"
import * as Tallies from "../../src/learning/Tallies.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { decide, layerQuiet, makeOrg, org, receive } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { counted, day, hour, makeTemplate, settle } from "./support.ts"

const iso = (at: number) => new Date(at).toISOString()

const event = (event: string, tracking_id: string, at: number, more = {}) => ({
  event,
  tracking_id,
  occurred_at: iso(at),
  event_id: `${event} ${tracking_id} ${at}`,
  ...more,
})

/** The repeats of template `t` as `[variant, outcome, again, seen]`, of all buckets. */
const repeatsIn = Effect.fnUntraced(function* (slug: string) {
  const rows = yield* readRepeats(yield* SqlClient.SqlClient, slug, "t")
  const sums = new Map<string, [string, string, number, number]>()
  for (const { again, copyId, outcome, seen } of rows) {
    const sum = sums.get(`${copyId} ${outcome}`) ?? [copyId, outcome, 0, 0]
    sums.set(`${copyId} ${outcome}`, [copyId, outcome, sum[2] + again, sum[3] + seen])
  }
  return [...sums.values()].filter(([, , again, seen]) => again !== 0 || seen !== 0)
})

const recount = (slug: string) => Effect.flatMap(Rebuild, (rebuild) => rebuild.run(org(slug), { check: false }))

describe("tallies of repeats", () => {
  layer(Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("count earlier outcomes of the same person and variant, and equal a rebuild", () =>
      Effect.gen(function* () {
        yield* makeOrg("counted")
        const at = Date.now() - 3 * day
        const make = (id: string, user: string | undefined, after: number, more = {}) =>
          decide("counted", id, { ...(user === undefined ? {} : { user }), at: at + after * hour, ...more })
        yield* make("long ago", "ann", -31 * 24)
        yield* make("first", "ann", 0)
        yield* make("second", "ann", 1)
        yield* make("other variant", "ann", 2, { copy: "b" })
        yield* make("other template", "ann", 2, { template: "u" })
        yield* make("forced", "ann", 2, { mode: "forced", propensity: null })
        yield* make("third", "ann", 3, { segment: "plan=free" })
        yield* make("of bob", "bob", 4)
        yield* make("anonymous", undefined, 4)
        yield* make("anonymous again", undefined, 5)
        const clicks = [
          "long ago",
          "first",
          "third",
          "other variant",
          "other template",
          "forced",
          "of bob",
          "anonymous",
        ]
        yield* receive("counted", [
          ...clicks.map((id) => event("click", id, at + (id === "long ago" ? -30 * 24 : 6) * hour)),
          event("click", "anonymous again", at + 6 * hour),
          event("open", "third", at + 6 * hour),
          event("delivered", "second", at + 6 * hour),
        ])
        yield* settle("counted", "t", "u")
        // "third" was clicked after "first", and had two earlier decisions.
        const expected = [["a", "click", 1, 2], ["a", "open", 0, 2]]
        assert.deepStrictEqual(yield* repeatsIn("counted"), expected)
        yield* recount("counted")
        assert.deepStrictEqual(yield* repeatsIn("counted"), expected)
        assert.deepStrictEqual((yield* (yield* Rebuild).run(org("counted"), { check: true })).differences, [])
      }))

    it.effect("change with late clicks, repeated clicks, and clicks that turn out to be a machine's", () =>
      Effect.gen(function* () {
        yield* makeOrg("moved")
        const at = Date.now() - 2 * day
        for (let n = 0; n < 4; n++) yield* decide("moved", `d${n}`, { user: "ann", at: at + n * hour })
        const report = (...events: ReadonlyArray<object>) => Effect.andThen(receive("moved", events), settle("moved"))
        yield* report(event("click", "d3", at + 5 * hour), event("click", "d3", at + 6 * hour))
        assert.deepStrictEqual(yield* repeatsIn("moved"), [["a", "click", 0, 3]])
        yield* report(event("click", "d0", at + 7 * hour), event("click", "d1", at + 7 * hour))
        assert.deepStrictEqual(yield* repeatsIn("moved"), [["a", "click", 3, 4]])
        yield* report(event("click", "d1", at + 8 * hour))
        assert.deepStrictEqual(yield* repeatsIn("moved"), [["a", "click", 3, 4]])
        // The first click came five seconds after the delivery, so that it is a scanner's.
        yield* report(event("delivered", "d0", at + 7 * hour - 5000))
        assert.deepStrictEqual(yield* repeatsIn("moved"), [["a", "click", 1, 4]])
        yield* recount("moved")
        assert.deepStrictEqual(yield* repeatsIn("moved"), [["a", "click", 1, 4]])
      }))

    it.effect("prevent one person who clicks a variant repeatedly from determining the winner", () =>
      Effect.gen(function* () {
        yield* makeOrg("tester")
        yield* makeTemplate("tester", "t", ["a", "b"])
        const at = Date.now() - 2 * day
        for (let n = 0; n < 200; n++) {
          const user = n % 4 === 0 ? "tester" : `p${n}`
          yield* decide("tester", `d${n}`, { user, copy: n % 8 < 4 ? "a" : "b", at: at + n * 60_000 })
        }
        const mine = Array.from({ length: 25 }, (_, n) => `d${8 * n}`)
        yield* receive("tester", mine.map((id) => event("click", id, at + 5 * hour)))
        yield* settle("tester")
        assert.deepStrictEqual(yield* counted("tester"), [["a", 100, 25], ["b", 100, 0]], "counts are as they are")
        const model = yield* (yield* Learning).model("tester", "t", undefined)
        const [a, b] = model.variants
        assert.approximately(a!.independence!, 1 / 25, 1e-4)
        // Without the user they are 0.7 apart, with a standard deviation of 0.2 each.
        assert.isBelow(a!.beta[0]! - b!.beta[0]!, 0.1)
      }))

    it.effect("move to the day after 4 days, and are dropped after 180 days", () =>
      Effect.gen(function* () {
        yield* makeOrg("rolled")
        const sql = yield* SqlClient.SqlClient
        const midnight = Math.floor(Date.now() / day) * day - 5 * day
        for (let n = 0; n < 3; n++) yield* decide("rolled", `d${n}`, { user: "ann", at: midnight + n * hour })
        yield* receive("rolled", [0, 1, 2].map((n) => event("click", `d${n}`, midnight + 4 * hour)))
        // As it was folded then: each hour for itself.
        const fold = (now: number) => sql.withTransaction(Tallies.fold(sql, "rolled", "t", now))
        yield* (yield* Intake).drain
        yield* fold(midnight + 5 * hour)
        assert.deepStrictEqual(
          (yield* readRepeats(sql, "rolled", "t")).map(({ again, seen, start }) => [start - midnight, again, seen]),
          [[hour, 1, 1], [2 * hour, 2, 2]],
        )
        yield* sql.withTransaction(Tallies.rollUp(sql, "rolled", "t", Date.now()))
        assert.deepStrictEqual(
          (yield* readRepeats(sql, "rolled", "t")).map(({ again, seen, start }) => [start - midnight, again, seen]),
          [[0, 3, 3]],
        )
        yield* sql.withTransaction(Tallies.rollUp(sql, "rolled", "t", Date.now() + 190 * day))
        assert.deepStrictEqual(yield* readRepeats(sql, "rolled", "t"), [])
      }))

    it.effect("stay for an erased person, whose decisions a rebuild treats as decisions of different people", () =>
      Effect.gen(function* () {
        yield* makeOrg("erased")
        const sql = yield* SqlClient.SqlClient
        const at = Date.now() - 2 * day
        for (let n = 0; n < 3; n++) yield* decide("erased", `d${n}`, { user: "ann", at: at + n * hour })
        yield* receive("erased", [0, 1].map((n) => event("click", `d${n}`, at + 4 * hour)))
        yield* settle("erased")
        assert.deepStrictEqual(yield* repeatsIn("erased"), [["a", "click", 1, 1]])
        // As an erasure does.
        yield* sql`UPDATE decisions SET user_id = NULL WHERE org_slug = 'erased'`
        yield* receive("erased", event("click", "d2", at + 5 * hour))
        yield* settle("erased")
        assert.deepStrictEqual(yield* repeatsIn("erased"), [["a", "click", 1, 1]])
        assert.deepStrictEqual((yield* (yield* Rebuild).run(org("erased"), { check: true })).differences, [])
        yield* recount("erased")
        assert.deepStrictEqual(yield* repeatsIn("erased"), [])
      }))

    it.effect("continue from the database after a restart of the learner", () =>
      Effect.gen(function* () {
        yield* makeOrg("again")
        yield* makeTemplate("again", "t", ["a", "b"])
        const at = Date.now() - 2 * day
        for (let n = 0; n < 10; n++) yield* decide("again", `d${n}`, { user: "ann", at: at + n * hour })
        yield* receive("again", [0, 1, 2, 3, 4].map((n) => event("click", `d${n}`, at + 12 * hour)))
        yield* settle("again")
        const before = yield* (yield* Learning).model("again", "t", undefined)
        yield* recount("again")
        // A rebuild makes the learner read everything again.
        yield* settle("again")
        const after = yield* (yield* Learning).model("again", "t", undefined)
        assert.isBelow(before.variants[0]!.independence!, 1)
        assert.approximately(after.variants[0]!.independence!, before.variants[0]!.independence!, 1e-6)
      }))
  })
})
