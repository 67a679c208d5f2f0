import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { placeOf } from "../../src/bandit/Holdout.ts"
import { Settling } from "../../src/sendtime/Settling.ts"
import type { TemplateId } from "../../src/domain/Ids.ts"
import { readHoldouts } from "../../src/learning/HoldoutTallies.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { Results } from "../../src/results/Results.ts"
import { Templates } from "../../src/templates/Templates.ts"
import { decide, layerQuiet, makeOrg, org, receive, settle, tallies } from "../intake/support.ts"
import { hour, makeTemplate } from "./support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { dayAt, drain, drainAndSettle, iso } from "../sendtime/habits.ts"

const control = { mode: "control", propensity: null } as const

describe("tallies of a holdout", () => {
  layer(Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("count four-day-old decisions of both sides once, with their outcomes", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("sides")
        yield* makeTemplate("sides", "t", ["a", "b"])
        const at = dayAt(6, 10)
        const holdout = "0.5 even"
        yield* decide("sides", "t1", { user: "ann", at, holdout })
        yield* decide("sides", "t2", { user: "ann", at: at + hour, holdout })
        yield* decide("sides", "c1", { user: "bob", at, mode: "control", holdout })
        yield* decide("sides", "before", { user: "ann", at })
        yield* decide("sides", "fresh", { user: "ann", ago: hour, holdout })
        yield* receive("sides", [
          { event: "click", tracking_id: "t1", occurred_at: iso(at + hour), event_id: "1" },
          { event: "click", tracking_id: "t1", occurred_at: iso(at + 2 * hour), event_id: "2" },
          { event: "open", tracking_id: "c1", automated: true, occurred_at: iso(at + hour), event_id: "3" },
          { event: "unsubscribe", tracking_id: "c1", occurred_at: iso(at + hour), event_id: "4" },
        ])
        yield* drainAndSettle
        const read = (from: number, to: number) => readHoldouts(sql, "sides", "t", new Date(from), new Date(to))
        const [counts, ...others] = yield* read(dayAt(30, 0), Date.now())
        assert.deepStrictEqual(others, [])
        assert.strictEqual(counts!.holdout, holdout)
        const groupOf = (userId: string) => placeOf({ org: "sides", userId, trackingId: "" }).people
        // Decisions, clicks, opens, conversions, negative.
        assert.deepStrictEqual(counts!.treated[groupOf("ann")], [2, 1, 0, 0, 0])
        assert.deepStrictEqual(counts!.control[groupOf("bob")], [1, 0, 0, 0, 1])
        const all = [...counts!.treated, ...counts!.control].reduce((sum, [decisions]) => sum + decisions!, 0)
        assert.strictEqual(all, 3)
        assert.deepStrictEqual(yield* read(dayAt(5, 0), Date.now()), [], "of another window")
        yield* (yield* Templates).update(org("sides"), "t", { holdout: { share: 0.5, content: "even" } })
        const results = yield* (yield* Results).results(org("sides"), "t" as TemplateId, {})
        assert.deepInclude(results.holdout, { running: true, treated: 2, control: 1, share: 0.5 })
        const [click] = results.holdout!.outcomes
        assert.strictEqual(click!.difference, 0.5)
      }))

    it.effect("learn from even decisions, count fixed ones separately, and leave out people without a message", () =>
      Effect.gen(function* () {
        yield* makeOrg("kinds")
        yield* makeTemplate("kinds", "t", ["a", "b"])
        const at = Date.now() - 2 * hour
        yield* decide("kinds", "even", { mode: "control", at })
        yield* decide("kinds", "fixed", { ...control, copy: "b", at })
        yield* decide("kinds", "none", { ...control, copy: "", at })
        yield* receive(
          "kinds",
          ["even", "fixed", "none"].map((tracking_id) => ({
            event: "conversion",
            tracking_id,
            occurred_at: iso(at + hour),
            event_id: tracking_id,
          })),
        )
        yield* settle("kinds")
        const expected = [
          "a plan=pro learned: conversion 1, decisions 1",
          "b plan=pro forced: conversion 1, decisions 1",
        ]
        assert.deepStrictEqual(yield* tallies("kinds"), expected)
        const rebuild = yield* Rebuild
        const checked = yield* rebuild.run(org("kinds"), { check: true })
        assert.deepStrictEqual(checked.differences, [])
        assert.strictEqual(checked.sendTimes?.differences, 0)
        yield* rebuild.run(org("kinds"), { check: false })
        assert.deepStrictEqual(yield* tallies("kinds"), expected)
      }))

    it.effect("count conversions of people without a message by user, and no event that requires a message", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("users")
        yield* makeTemplate("users", "t", ["a", "b"])
        const at = dayAt(6, 10)
        yield* decide("users", "none", { ...control, copy: "", user: "ann", at, holdout: "0.5 no_message" })
        const event = (event: string) => ({
          event,
          user_id: "ann",
          template_id: "t",
          occurred_at: iso(at + hour),
          event_id: event,
        })
        yield* receive("users", ["click", "open", "conversion"].map(event))
        yield* drain
        const rows = yield* sql<{ event: string; status: string }>`
          SELECT e.event, e.status FROM events e WHERE e.org_slug = 'users' ORDER BY e.event`
        assert.deepStrictEqual(rows.map(({ event, status }) => `${event} ${status}`), [
          "click waiting",
          "conversion attributed",
          "open waiting",
        ])
        yield* (yield* Settling).run
        const [counts] = yield* readHoldouts(sql, "users", "t", new Date(dayAt(30, 0)), new Date())
        const { people } = placeOf({ org: "users", userId: "ann", trackingId: "none" })
        assert.deepStrictEqual(counts!.control[people], [1, 0, 0, 1, 0])
        const [history] = yield* sql`SELECT s.person FROM send_times s WHERE s.org_slug = 'users' AND s.person = 'ann'`
        assert.isUndefined(history, "nobody looks at a message that was not sent")
      }))
  })
})
