import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { TemplateId } from "../../src/domain/Ids.ts"
import { StickyChoices } from "../../src/decide/StickyChoices.ts"
import { Inbox } from "../../src/journal/inbox/Inbox.ts"
import { Intake } from "../../src/intake/Intake.ts"
import { Timelines } from "../../src/people/Timelines.ts"
import { Rebuild } from "../../src/projections/Rebuild.ts"
import { Learning } from "../../src/learning/Learning.ts"
import { shuffle, story } from "../process/storm.ts"
import { seeded } from "../support/load.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { decide, layerQuiet, makeOrg, org, receive, settle, tallies } from "./support.ts"

const hour = 3_600_000

describe("Intake", () => {
  const environment = temporaryEnvironment
  const services = Layer.unwrap(Effect.map(environment, layerQuiet))

  layer(services, { excludeTestServices: true })((it) => {
    it.effect("counts an event once, within a request, across requests and when a body is replayed", () =>
      Effect.gen(function* () {
        yield* makeOrg("once")
        yield* decide("once", "t1")
        const click = { event: "click", tracking_id: "t1", event_id: "e1" }
        yield* receive("once", [click, click, { ...click, event_id: "e2" }])
        yield* receive("once", click)
        yield* settle("once")
        const inbox = yield* Inbox
        const [entry] = yield* inbox.list(org("once"), "events", { limit: 1, all: true })
        assert.deepInclude(entry, { status: "done", events: 0, duplicates: 1, ignored: 0 })
        yield* inbox.replay(org("once"), "events", entry!.id)
        yield* settle("once")
        assert.deepStrictEqual(yield* tallies("once"), ["a plan=pro learned: click 1, decisions 1"])
      }))

    it.effect("keeps an event waiting for its decision, and applies it once the decision is stored", () =>
      Effect.gen(function* () {
        yield* makeOrg("early")
        yield* receive("early", [{ event: "click", tracking_id: "soon" }, { event: "open", tracking_id: "soon" }])
        yield* settle("early")
        assert.deepStrictEqual(yield* tallies("early"), [])
        yield* decide("early", "soon")
        yield* settle("early")
        assert.deepStrictEqual(yield* tallies("early"), ["a plan=pro learned: click 1, decisions 1, open 1"])
      }))

    it.effect("keeps the value of a conversion, also while it waits for its decision", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("worth")
        const order = { event: "conversion", tracking_id: "soon", event_id: "o1", value: 49.9, currency: "EUR" }
        yield* receive("worth", [order, { event: "conversion", tracking_id: "soon", event_id: "o2" }])
        yield* settle("worth")
        yield* decide("worth", "soon", { template: "t" })
        yield* decide("worth", "soon", { template: "u" })
        yield* settle("worth", "t", "u")
        const rows = yield* sql<{ templateId: string; value: number | null; currency: string | null }>`
          SELECT e.template_id, e.value, e.currency FROM events e
          WHERE e.org_slug = 'worth' ORDER BY e.event_key, e.template_id`
        assert.deepStrictEqual(
          rows.map(({ currency, templateId, value }) => [templateId, value, currency]),
          [["t", 49.9, "EUR"], ["u", 49.9, "EUR"], ["t", null, null], ["u", null, null]],
        )
        const timeline = yield* (yield* Timelines).find(
          org("worth"),
          { trackingId: "soon" },
          { cursor: undefined, limit: 10 },
        )
        assert.deepInclude(timeline.decisions[0]!.events[0], { value: 49.9, currency: "EUR" })
      }))

    it.effect("shows the first of several reports as counted if they have the same second", () =>
      Effect.gen(function* () {
        yield* makeOrg("second")
        yield* decide("second", "t1")
        const sent = { event: "sent", tracking_id: "t1", occurred_at: new Date().toISOString().slice(0, 19) + "Z" }
        for (const event_id of ["m", "z", "a"]) {
          const before = Date.now()
          while (Date.now() === before); // so that no two are received in one millisecond
          yield* receive("second", { ...sent, event_id })
        }
        yield* settle("second")
        const { decisions: [decision] } = yield* (yield* Timelines).find(
          org("second"),
          { trackingId: "t1" },
          { cursor: undefined, limit: 10 },
        )
        assert.deepStrictEqual(decision!.events.map(({ effect, eventId }) => `${eventId} ${effect}`), [
          "m counted",
          "z repeated",
          "a repeated",
        ])
      }))

    it.effect("stores unreadable items with position and reason, and counts the rest", () =>
      Effect.gen(function* () {
        yield* makeOrg("odd")
        yield* decide("odd", "t1")
        yield* receive("odd", [null, { event: "click", tracking_id: "t1" }, "text", { event: "drafted", user_id: "u" }])
        yield* receive("odd", "no json at all")
        yield* settle("odd")
        assert.deepStrictEqual(yield* tallies("odd"), ["a plan=pro learned: click 1, decisions 1"])
        const entries = yield* (yield* Inbox).list(org("odd"), "events", { limit: 10, all: false })
        assert.deepStrictEqual(entries.map(({ status }) => status), ["rejected", "partial"])
        assert.deepStrictEqual(entries[1]!.faults!.map(({ pointer }) => pointer), ["/0", "/2"])
        assert.match(entries[0]!.faults![0]!.reason, /not valid JSON/)
      }))

    it.effect("counts people, machines and forced decisions separately", () =>
      Effect.gen(function* () {
        yield* makeOrg("apart")
        yield* decide("apart", "learned")
        yield* decide("apart", "forced", { mode: "forced", copy: "b" })
        yield* receive("apart", [
          { event: "open", tracking_id: "learned", automated: true },
          { event: "click", tracking_id: "forced" },
          { event: "open", tracking_id: "forced", automated: true },
        ])
        yield* settle("apart")
        assert.deepStrictEqual(yield* tallies("apart"), [
          "a plan=pro automated: open 1",
          "a plan=pro learned: decisions 1",
          "b plan=pro automated: open 1",
          "b plan=pro forced: click 1, decisions 1",
        ])
      }))

    it.effect("withdraws a click that a later event shows to be a scanner's", () =>
      Effect.gen(function* () {
        yield* makeOrg("scanner")
        yield* decide("scanner", "t1", { ago: hour })
        const at = new Date(Date.now() - hour / 2)
        yield* receive("scanner", {
          event: "click",
          tracking_id: "t1",
          occurred_at: new Date(+at + 3000).toISOString(),
        })
        yield* settle("scanner")
        assert.deepStrictEqual(yield* tallies("scanner"), ["a plan=pro learned: click 1, decisions 1"])
        yield* receive("scanner", { event: "delivered", tracking_id: "t1", occurred_at: at.toISOString() })
        yield* settle("scanner")
        assert.deepStrictEqual(yield* tallies("scanner"), [
          "a plan=pro automated: click 1, only_set_aside 1, set_aside_early 1",
          "a plan=pro learned: decisions 1, delivered 1",
        ])
      }))

    it.effect("credits every decision under a tracking id, or only the decisions of the template that the event names", () =>
      Effect.gen(function* () {
        yield* makeOrg("many")
        yield* decide("many", "x", { template: "subject" })
        yield* decide("many", "x", { template: "body" })
        yield* receive("many", [
          { event: "open", tracking_id: "x" },
          { event: "click", tracking_id: "x", template_id: "body" },
        ])
        yield* settle("many", "subject", "body")
        assert.deepStrictEqual(yield* tallies("many", "subject"), ["a plan=pro learned: decisions 1, open 1"])
        assert.deepStrictEqual(yield* tallies("many", "body"), ["a plan=pro learned: click 1, decisions 1, open 1"])
      }))

    it.effect("resolves the tracking id of a sticky repeat to its decision, unless it has a decision of its own", () =>
      Effect.gen(function* () {
        yield* makeOrg("sticky")
        const sticky = yield* StickyChoices
        yield* decide("sticky", "first")
        yield* decide("sticky", "own", { copy: "b" })
        for (const alias of ["again", "own"]) {
          yield* sticky.alias({ org: org("sticky"), templateId: "t" as TemplateId, alias, trackingId: "first" })
        }
        yield* receive("sticky", [{ event: "click", tracking_id: "again" }, { event: "open", tracking_id: "own" }])
        yield* settle("sticky")
        assert.deepStrictEqual(yield* tallies("sticky"), [
          "a plan=pro learned: click 1, decisions 1",
          "b plan=pro learned: decisions 1, open 1",
        ])
      }))

    it.effect("credits the user's latest decision within 7 days before an event without a tracking id", () =>
      Effect.gen(function* () {
        yield* makeOrg("users")
        yield* decide("users", "old", { user: "ann", copy: "old", ago: 3 * hour })
        yield* decide("users", "new", { user: "ann", copy: "new", ago: 2 * hour })
        yield* decide("users", "later", { user: "ann", copy: "later", ago: 0.5 * hour })
        yield* decide("users", "other", { user: "ann", template: "o", copy: "o", ago: 1.2 * hour })
        yield* decide("users", "past", { user: "bob", copy: "past", ago: 8 * 24 * hour })
        const at = new Date(Date.now() - hour).toISOString()
        yield* receive("users", [
          { event: "click", user_id: "ann", template_id: "t", occurred_at: at },
          // The opened message is unknown. A purchase is attributed to the last message.
          { event: "open", user_id: "ann", occurred_at: at },
          { event: "purchase", user_id: "ann", occurred_at: at },
          { event: "click", user_id: "bob", template_id: "t", occurred_at: at },
          // A tracking id that is not known is not guessed around.
          { event: "click", user_id: "ann", template_id: "t", tracking_id: "unknown", occurred_at: at },
        ])
        yield* settle("users", "t", "o")
        assert.deepStrictEqual(yield* tallies("users"), [
          "later plan=pro learned: decisions 1",
          "new plan=pro learned: click 1, decisions 1",
          "old plan=pro learned: decisions 1",
          "past plan=pro learned: decisions 1",
        ])
        assert.deepStrictEqual(yield* tallies("users", "o"), ["o plan=pro learned: conversion 1, decisions 1"])
      }))

    it.effect("ignores events of another organization, or from long before the decision", () =>
      Effect.gen(function* () {
        yield* makeOrg("mine")
        yield* makeOrg("theirs")
        yield* decide("mine", "t1")
        yield* receive("theirs", { event: "click", tracking_id: "t1" })
        yield* receive("mine", {
          event: "click",
          tracking_id: "t1",
          occurred_at: new Date(Date.now() - 24 * hour).toISOString(),
        })
        yield* settle("mine")
        yield* settle("theirs")
        assert.deepStrictEqual(yield* tallies("mine"), ["a plan=pro learned: decisions 1"])
        assert.deepStrictEqual(yield* tallies("theirs"), [])
      }))

    it.effect("counts 3,000 clicks on one message once", () =>
      Effect.gen(function* () {
        yield* makeOrg("bot")
        yield* decide("bot", "t1")
        for (let i = 0; i < 3; i++) {
          yield* receive(
            "bot",
            Array.from({ length: 1000 }, (_, n) => ({ event: "click", tracking_id: "t1", event_id: `${i}/${n}` })),
          )
        }
        yield* settle("bot")
        assert.deepStrictEqual(yield* tallies("bot"), ["a plan=pro learned: click 1, decisions 1"])
        assert.deepStrictEqual((yield* (yield* Rebuild).run(org("bot"), { check: true })).differences, [])
      }))

    it.effect("reaches the same tallies for any order of arrival", () =>
      Effect.gen(function* () {
        const random = seeded(11)
        const base = Date.now() - hour / 2
        const stories = Array.from({ length: 150 }, (_, n) => story("m", n, base, random))
        const results: Array<ReadonlyArray<string>> = []
        for (const [round, slug] of ["order-a", "order-b", "order-c"].entries()) {
          yield* makeOrg(slug)
          const order = seeded(100 + round)
          const jobs = shuffle([
            ...stories.map(({ trackingId }, n) =>
              decide(slug, trackingId, {
                copy: n % 3 === 0 ? "a" : "b",
                segment: n % 2 === 0 ? "plan=pro" : "plan=free",
                mode: n % 10 === 0 ? "forced" : "bandit",
                at: base + n,
              })
            ),
            ...stories.flatMap(({ events }) => events.map((body) => receive(slug, body))),
            ...Array.from({ length: 5 }, () => settle(slug)),
          ], order)
          for (const job of jobs) yield* job
          yield* settle(slug)
          results.push(yield* tallies(slug))
          assert.deepStrictEqual((yield* (yield* Rebuild).run(org(slug), { check: true })).differences, [])
        }
        assert.isAbove(results[0]!.length, 5)
        assert.deepStrictEqual(results[1], results[0])
        assert.deepStrictEqual(results[2], results[0])
      }))

    it.effect("finds and corrects counts that differ from the stored decisions and events", () =>
      Effect.gen(function* () {
        yield* makeOrg("mend")
        const sql = yield* SqlClient.SqlClient
        const rebuild = yield* Rebuild
        yield* decide("mend", "t1")
        yield* decide("mend", "t2", { copy: "b" })
        yield* receive("mend", { event: "click", tracking_id: "t1" })
        yield* settle("mend")
        const right = yield* tallies("mend")
        yield* sql`UPDATE tallies SET click = 5 WHERE org_slug = 'mend' AND copy_id = 'a'`
        yield* sql`DELETE FROM tallies WHERE org_slug = 'mend' AND copy_id = 'b'`
        yield* sql`UPDATE daily_decisions SET decisions = 9 WHERE org_slug = 'mend'`
        // Ledger rows present at that time are neither lost nor counted twice.
        yield* decide("mend", "t3", { copy: "c" })
        const { differences } = yield* rebuild.run(org("mend"), { check: false })
        assert.deepStrictEqual(
          differences.map(({ copyId, counted, measure, true: truth }) => [copyId, measure, counted, truth]),
          [["a", "click", 5, 1], ["b", "decisions", 0, 1]],
        )
        yield* settle("mend")
        assert.deepStrictEqual(yield* tallies("mend"), [...right, "c plan=pro learned: decisions 1"].sort())
        const days = yield* sql<{ copyId: string; decisions: number }>`
          SELECT d.copy_id, d.decisions FROM daily_decisions d WHERE d.org_slug = 'mend' ORDER BY d.copy_id`
        assert.deepStrictEqual(days.map(({ copyId, decisions }) => [copyId, decisions]), [["a", 1], ["b", 1], ["c", 1]])
        // The actor, which was awake all the time, has read them again.
        const model = yield* (yield* Learning).model("mend", "t", undefined)
        assert.deepStrictEqual(
          model.variants.map(({ clicks, id, sends }) => [id, sends, clicks]),
          [["a", 1, 1], ["b", 1, 0], ["c", 1, 0]],
        )
      }))
  })

  it.live("counts a body once if two nodes read it at the same time", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* temporaryEnvironment
      const one = yield* Layer.build(layerQuiet(env))
      const two = yield* Layer.build(layerQuiet(env))
      const on = <A, E, R>(context: typeof one, effect: Effect.Effect<A, E, R>) =>
        Effect.provideContext(effect as Effect.Effect<A, E, Layer.Success<ReturnType<typeof layerQuiet>>>, context)
      const random = seeded(5)
      const stories = Array.from({ length: 300 }, (_, n) => story("m", n, Date.now() - hour / 2, random))
      yield* on(one, makeOrg("both"))
      // Each event on both nodes, as a sender that retries would have it.
      yield* Effect.forEach(
        stories,
        ({ events, trackingId }, n) =>
          Effect.andThen(
            on(n % 2 === 0 ? one : two, decide("both", trackingId)),
            Effect.all([
              on(one, receive("both", `[${events.join()}]`)),
              on(two, receive("both", `[${events.join()}]`)),
            ]),
          ),
        { concurrency: 20 },
      )
      yield* Effect.all(
        Array.from(
          { length: 6 },
          (_, i) => on(i % 2 === 0 ? one : two, Effect.flatMap(Intake, ({ drain }) => drain)),
        ),
        { concurrency: "unbounded" },
      )
      // Both actors believe the template to be theirs: each fold is one of them's alone, the other reads again.
      yield* Effect.all(
        Array.from({ length: 6 }, (_, i) => on(i % 2 === 0 ? one : two, settle("both"))),
        { concurrency: "unbounded" },
      )
      const { differences } = yield* on(one, Effect.flatMap(Rebuild, ({ run }) => run(org("both"), { check: true })))
      assert.deepStrictEqual(differences, [])
      const lines = yield* on(two, tallies("both"))
      assert.match(lines.join("\n"), /learned:.* decisions 300/)
      for (const node of [one, two]) {
        yield* on(node, settle("both"))
        const { variants: [variant] } = yield* on(
          node,
          Effect.flatMap(Learning, ({ model }) => model("both", "t", { lookbackDays: 1, offsetDays: 0 })),
        )
        const bounced = Number(/voided (\d+)/.exec(lines.join())?.[1] ?? 0)
        assert.strictEqual(variant!.sends, 300 - bounced)
      }
    })), 180_000)

  it.live(
    "rejects only the body that the database refuses, and not if another node has stored it",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const context = yield* Layer.build(layerQuiet(yield* temporaryEnvironment))
        const on = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
          Effect.provideContext(effect as Effect.Effect<A, E, Layer.Success<ReturnType<typeof layerQuiet>>>, context)
        const sql = yield* on(SqlClient.SqlClient)
        // The store refuses one event: at once in a batch, and after the lock below in a transaction of its own.
        yield* sql`CREATE SEQUENCE tries`
        yield* sql.unsafe(`
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF nextval('tries') > 1 THEN PERFORM pg_advisory_xact_lock(7); END IF;
          RAISE 'refused' USING ERRCODE = '22000';
        END $$`)
        yield* sql`CREATE TRIGGER refuse BEFORE INSERT ON events FOR EACH ROW WHEN (NEW.tracking_id = 'bad')
        EXECUTE FUNCTION refuse()`
        yield* on(makeOrg("nodes"))
        const drain = on(Effect.flatMap(Intake, (intake) => intake.drain))
        const statuses = Effect.map(
          sql<{ status: string }>`SELECT i.status FROM inbox i ORDER BY i.id`,
          (rows) => rows.map(({ status }) => status),
        )
        yield* on(receive("nodes", { event: "click", tracking_id: "bad" }))
        yield* on(receive("nodes", { event: "click", tracking_id: "good" }))
        yield* drain
        assert.deepStrictEqual(yield* statuses, ["rejected", "done"])

        yield* sql`UPDATE inbox SET status = 'pending', attempts = 0`
        const held = yield* Deferred.make<void>()
        const taking = yield* Deferred.make<void>()
        const holder = yield* Effect.forkChild(sql.withTransaction(Effect.gen(function* () {
          yield* sql`SELECT pg_advisory_xact_lock(7)`
          yield* Deferred.succeed(held, undefined)
          yield* Deferred.await(taking)
        })))
        yield* Deferred.await(held)
        const draining = yield* Effect.forkChild(drain)
        for (let isTried = false; !isTried;) {
          const rows = yield* sql`SELECT 1 FROM pg_stat_activity a WHERE a.datname = current_database()
            AND a.wait_event_type = 'Lock' AND a.query LIKE '%events%'`
          isTried = rows.length > 0
        }
        // The other node is done with the body while it is tried here.
        yield* sql`UPDATE inbox i SET status = 'done' WHERE i.id = (SELECT min(p.id) FROM inbox p)`
        yield* Deferred.succeed(taking, undefined)
        yield* Effect.all([holder, draining].map((fiber) => Fiber.join<unknown, unknown>(fiber)))
        assert.deepStrictEqual(yield* statuses, ["done", "done"])
      })),
    60_000,
  )
})
