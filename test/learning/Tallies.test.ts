import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Tally } from "../../src/bandit/Tally.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import * as Tallies from "../../src/learning/Tallies.ts"
import { decide, layerQuiet, makeOrg, org, receive } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { counted, day, hour, settle } from "./support.ts"

/** Sums of all measures over all buckets. */
const total = (list: ReadonlyArray<Tally>) => {
  const sum: Record<string, number> = {}
  for (const { counts } of list) {
    for (const [measure, count] of Object.entries(counts)) sum[measure] = (sum[measure] ?? 0) + count
  }
  return sum
}

const startsOf = (list: ReadonlyArray<Tally>) =>
  [...new Set(list.map(({ start }) => new Date(start).toISOString()))].sort()

const isoDay = (at: number) => new Date(Math.floor(at / day) * day).toISOString()
const isoWeek = (at: number) => {
  const date = new Date(Math.floor(at / day) * day)
  return new Date(date.getTime() - ((date.getUTCDay() + 6) % 7) * day).toISOString()
}

describe("Tallies", () => {
  layer(Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("moves tallies to the day after 4 days, to the week after 5 weeks, and drops them after 180 days", () =>
      Effect.gen(function* () {
        yield* makeOrg("rollup")
        const sql = yield* SqlClient.SqlClient
        const now = Date.now()
        const midnight = Math.floor(now / day) * day
        const moments = [5, 45, 200].map((days) => midnight - days * day + 3 * hour)
        const at = (start: number) =>
          sql.withTransaction(Effect.andThen(
            Tallies.fold(sql, "rollup", "t", start),
            Tallies.rollUp(sql, "rollup", "t", start),
          ))
        const read = Tallies.readTallies(sql, "rollup", "t")
        for (const [i, moment] of moments.entries()) {
          for (let n = 0; n < 12; n++) {
            const options = { at: moment + (n % 4) * hour, copy: n % 2 === 0 ? "a" : "b" }
            yield* decide("rollup", `d${i}/${n}`, options)
          }
          // As it was folded then: each of the four hours for itself.
          const before = startsOf(yield* read).length
          yield* sql.withTransaction(Tallies.fold(sql, "rollup", "t", moment + 5 * hour))
          assert.strictEqual(startsOf(yield* read).length, before + 4)
        }
        assert.deepStrictEqual(total(yield* read), { decisions: 36 })
        yield* at(moments[2]! + 6 * day)
        assert.deepStrictEqual(total(yield* read), { decisions: 36 })
        assert.include(startsOf(yield* read), isoDay(moments[2]!))
        yield* at(now)
        const now1 = yield* read
        assert.deepStrictEqual(total(now1), { decisions: 24 })
        assert.deepStrictEqual(startsOf(now1), [isoWeek(moments[1]!), isoDay(moments[0]!)].sort())
        // Each variant has one row a bucket.
        assert.strictEqual(now1.length, 4)
        yield* at(now + 50 * day)
        assert.deepStrictEqual(total(yield* read), { decisions: 24 })
        assert.deepStrictEqual(startsOf(yield* read), [isoWeek(moments[1]!), isoWeek(moments[0]!)].sort())
        yield* at(now + 140 * day)
        assert.deepStrictEqual(total(yield* read), { decisions: 12 })
        yield* at(now + 190 * day)
        assert.deepStrictEqual(yield* read, [])
      }))

    it.effect("rolls up with the first fold of a new hour, without changing the model's counts", () =>
      Effect.gen(function* () {
        yield* makeOrg("hourly")
        const sql = yield* SqlClient.SqlClient
        const moment = Math.floor(Date.now() / day) * day - 6 * day
        for (let n = 0; n < 6; n++) yield* decide("hourly", `d${n}`, { at: moment + n * hour })
        yield* sql.withTransaction(Tallies.fold(sql, "hourly", "t", moment + 7 * hour))
        yield* sql`INSERT INTO bandit_states (org_slug, template_id, revision, folded_at, rolled_up_at)
          VALUES ('hourly', 't', 1, ${new Date(moment)}, ${new Date(moment)})`
        assert.strictEqual((yield* Tallies.readTallies(sql, "hourly", "t")).length, 6)
        yield* decide("hourly", "now")
        yield* settle("hourly")
        const rows = yield* Tallies.readTallies(sql, "hourly", "t")
        assert.deepStrictEqual(rows.map(({ counts }) => counts.decisions).sort(), [1, 6])
        assert.deepStrictEqual(yield* counted("hourly"), [["a", 7, 0]])
        assert.deepStrictEqual((yield* (yield* Rebuild).run(org("hourly"), { check: true })).differences, [])
      }))

    it.effect("places decisions of 5 and 45 days ago into day and week, and drops decisions of 200 days ago", () =>
      Effect.gen(function* () {
        yield* makeOrg("late")
        const [five, fortyFive] = [5, 45].map((days) => Date.now() - days * day) as [number, number]
        yield* decide("late", "five", { at: five })
        yield* decide("late", "fortyfive", { at: fortyFive })
        yield* decide("late", "old", { ago: 200 * day })
        yield* receive("late", [
          { event: "click", tracking_id: "five", occurred_at: new Date(five + hour).toISOString() },
          { event: "click", tracking_id: "fortyfive", occurred_at: new Date(fortyFive + hour).toISOString() },
        ])
        yield* settle("late")
        const rows = yield* Tallies.readTallies(yield* SqlClient.SqlClient, "late", "t")
        assert.deepStrictEqual(startsOf(rows), [isoWeek(fortyFive), isoDay(five)].sort())
        assert.deepStrictEqual(total(rows), { decisions: 2, click: 2 })
        assert.deepStrictEqual((yield* (yield* Rebuild).run(org("late"), { check: true })).differences, [])
      }))

    it.effect("keeps the delays of outcomes for 31 days", () =>
      Effect.gen(function* () {
        yield* makeOrg("delays")
        const sql = yield* SqlClient.SqlClient
        for (const days of [1, 30, 32]) {
          yield* decide("delays", `d${days}`, { ago: days * day })
          const at = Date.now() - days * day + 2.5 * hour
          yield* receive("delays", {
            event: "click",
            tracking_id: `d${days}`,
            occurred_at: new Date(at).toISOString(),
          })
        }
        yield* settle("delays")
        const delays = Effect.map(
          Tallies.readDelays(sql, "delays", "t"),
          (hours) => hours.toSorted((a, b) => a.hour - b.hour).map(({ delays }) => delays),
        )
        // The class of 2 to 3 hours.
        assert.deepStrictEqual(yield* delays, [{ "click:4": 1 }, { "click:4": 1 }])
        const ofVariants = Effect.map(
          Tallies.readVariantDelays(sql, "delays", "t"),
          (days) => days.toSorted((a, b) => a.day - b.day).map(({ day: start, delays }) => [start % day, delays]),
        )
        assert.deepStrictEqual(yield* ofVariants, [[0, { "click:4": 1 }], [0, { "click:4": 1 }]])
        yield* (yield* Rebuild).run(org("delays"), { check: false })
        assert.deepStrictEqual(yield* ofVariants, [[0, { "click:4": 1 }], [0, { "click:4": 1 }]])
        yield* sql.withTransaction(Tallies.rollUp(sql, "delays", "t", Date.now() + 2 * day))
        assert.deepStrictEqual(yield* delays, [{ "click:4": 1 }])
        assert.deepStrictEqual(yield* ofVariants, [[0, { "click:4": 1 }]])
        yield* sql.withTransaction(Tallies.rollUp(sql, "delays", "t", Date.now() + 31 * day))
        assert.deepStrictEqual(yield* delays, [])
        assert.deepStrictEqual(yield* ofVariants, [])
      }))
  })
})
