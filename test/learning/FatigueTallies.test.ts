import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { dayMillis } from "../../src/bandit/Window.ts"
import { readFatigue } from "../../src/learning/FatigueTallies.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { decide, layerQuiet, makeOrg, org, receive, settle } from "../intake/support.ts"
import { dayAt, drainAndSettle, eventsAfter } from "../sendtime/habits.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { hour, makeTemplate } from "./support.ts"

describe("tallies of fatigue", () => {
  layer(Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("count each decision by the person's earlier decisions, and equal a rebuild", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("tired")
        yield* makeTemplate("tired", "t", ["a", "b"])
        yield* makeTemplate("tired", "u", ["a", "b"])
        const at = dayAt(9, 10)
        const to = (user: string | undefined) => user === undefined ? {} : { user }
        const make = (id: string, user: string | undefined, copy: string, after: number, more = {}) =>
          decide("tired", id, { ...to(user), copy, at: at + after * hour, ...more })
        yield* make("long ago", "ann", "a", -40 * 24)
        yield* make("first", "ann", "a", 0)
        yield* make("other template", "ann", "a", 1, { template: "u" })
        yield* make("second", "ann", "a", 2)
        yield* make("forced", "ann", "a", 3, { mode: "forced", propensity: null })
        yield* make("held out", "ann", "", 3, { mode: "control", propensity: null })
        yield* make("fourth", "ann", "a", 4)
        yield* make("changed", "ann", "b", 5)
        yield* make("of bob", "bob", "a", 6)
        yield* make("bounced", "bob", "a", 7)
        yield* make("anonymous", undefined, "a", 8)
        yield* make("fresh", "ann", "a", 8 * 24)
        const event = eventsAfter(at)
        yield* receive("tired", [
          event("click", "first", 1),
          event("open", "fourth", 5),
          event("click", "of bob", 6 + 100),
          event("bounce", "bounced", 8),
        ])
        yield* drainAndSettle

        const now = Date.now()
        const stored = yield* readFatigue(sql, "tired", "t", now)
        const onDay = (decisions: ReadonlyArray<number>, day: number, variant = "a") => ({ variant, day, decisions })
        assert.deepStrictEqual(stored.mixes, [
          onDay([1, 0, 0, 0], dayAt(9, 0) - 40 * 24 * hour),
          onDay([2, 1, 1, 0], dayAt(9, 0)),
          onDay([1, 0, 0, 0], dayAt(9, 0), "b"),
        ])
        const weight = 0.97 ** ((Math.floor(now / dayMillis) * dayMillis - dayAt(9, 0)) / dayMillis)
        const cell = (variant: string, level: number, seen: number) =>
          stored.cells.find((one) => one.variant === variant && one.level === level && one.seen === seen)!
        assert.approximately(cell("a", 3, 2).open, weight, 1e-9, "three earlier ones, the forced one among them")
        assert.strictEqual(cell("a", 3, 2).click, 0)
        assert.approximately(cell("b", 4, 0).expected, weight, 1e-9)
        const late = cell("a", 0, 0).click
        assert.approximately(late, weight, 1e-9, "a click after four days does not count")

        yield* settle("tired")
        const all = sql`SELECT t.* FROM fatigue_tallies t ORDER BY t.template_id, t.day, t.copy_id, t.level, t.seen`
        const withoutExpected = Effect.map(all, (rows) => rows.map(({ expected: _, ...row }) => row))
        const counted = yield* withoutExpected
        assert.strictEqual(counted.length, 6)
        yield* (yield* Rebuild).run(org("tired"), { check: false })
        assert.deepStrictEqual(yield* withoutExpected, counted)
      }))
  })
})
