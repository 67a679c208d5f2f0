import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Ref, Result } from "effect"
import { SqlClient } from "effect/sql"
import { DecisionLog } from "../../../src/journal/decisions/DecisionLog.ts"
import { makeTrackingId } from "../../../src/journal/decisions/TrackingId.ts"
import { decoder } from "../../../src/domain/Faults.ts"
import type { TemplateId } from "../../../src/domain/Ids.ts"
import { OrganizationPatch } from "../../../src/domain/Organization.ts"
import { Inbox } from "../../../src/journal/inbox/Inbox.ts"
import { Rebuild } from "../../../src/projections/Rebuild.ts"
import { Organizations } from "../../../src/organizations/Organizations.ts"
import { makePartitions, partitionedTables, readPartitions } from "../../../src/journal/retention/Partitions.ts"
import { Retention } from "../../../src/journal/retention/Retention.ts"
import { decide, layerQuiet, makeOrg, org, receive, settle, tallies } from "../../intake/support.ts"
import { temporaryEnvironment } from "../../support/stores.ts"
import { day, partitionsSince, receivedAt } from "./support.ts"

const count = (table: string, where = "TRUE") =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql.unsafe<{ n: number }>(`SELECT count(*)::int AS n FROM ${table} t WHERE ${where}`),
      ([row]) => row!.n,
    ))

const names = (table: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      readPartitions(sql, partitionedTables.find((one) => one.table === table)!),
      (partitions) => partitions.map(({ name }) => name),
    ))

describe("retention", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, layerQuiet)), { excludeTestServices: true })((it) => {
    it.effect("creates one partition per period ahead of time, and moves earlier rows into it", () =>
      Effect.gen(function* () {
        yield* makeOrg("cut")
        // Made by the release before, which knows one table.
        yield* decide("cut", "old", { ago: 600 * day })
        // From a node whose clock is two months fast, before there is a partition for it.
        yield* partitionsSince(500)
        yield* decide("cut", "fast", { ago: -70 * day })
        assert.strictEqual(yield* count("decisions_other"), 1)
        const made = yield* names("decisions")
        yield* (yield* Retention).prepare
        assert.deepStrictEqual(yield* names("decisions"), made)
        assert.strictEqual(made[0], "decisions_first")
        assert.isAbove(made.length, 16)
        assert.isAbove((yield* names("inbox")).length, 12)
        const sql = yield* SqlClient.SqlClient
        const later = partitionedTables.find(({ table }) => table === "decisions")!
        yield* makePartitions(sql, later, Date.now() + 70 * day)
        assert.strictEqual(yield* count("decisions_other"), 0)
        assert.strictEqual(yield* count("decisions", "t.org_slug = 'cut'"), 2)
      }))

    it.effect("keeps a tracking id unique across partitions", () =>
      Effect.gen(function* () {
        yield* makeOrg("once")
        const log = yield* DecisionLog
        const own = makeTrackingId(Date.now() - 100 * day)
        yield* log.record({
          org: org("once"),
          templateId: "t" as TemplateId,
          trackingId: own,
          trackingIdGiven: false,
          copyId: "a" as never,
          userId: undefined,
          mode: "bandit",
          propensity: 1,
          weights: null,
          context: "",
          policy: "",
          window: undefined,
          holdout: undefined,
          decidedAtMillis: Date.now() - 100 * day,
        })
        // Of the release before, which knows no keys.
        const sql = yield* SqlClient.SqlClient
        yield* sql`INSERT INTO upkeep_runs (job, due_at) VALUES ('decisions without keys', now())`
        yield* sql`
          INSERT INTO decisions (org_slug, tracking_id, template_id, copy_id, mode, segment, policy, decided_at)
          VALUES ('once', 'before', 't', 'a', 'bandit', '', '', ${new Date(Date.now() - 600 * day)})
          ON CONFLICT DO NOTHING`
        for (const days of [450, 90, 40, 1]) yield* decide("once", `given-${days}`, { ago: days * day })
        for (const id of [own, "before", "given-450", "given-90", "given-40", "given-1"]) {
          yield* decide("once", id, { copy: "b" })
          assert.strictEqual((yield* log.find(org("once"), "t" as TemplateId, id))?.copyId, "a")
        }
        assert.strictEqual(yield* count("decisions", "t.org_slug = 'once'"), 6)
        // A tracking id without a decision is not found.
        assert.isUndefined(yield* log.find(org("once"), "t" as TemplateId, makeTrackingId(Date.now())))
      }))

    it.effect("counts an event once if it is repeated months later with another time", () =>
      Effect.gen(function* () {
        yield* makeOrg("again")
        const at = Date.now() - 100 * day
        yield* decide("again", "m", { at })
        const click = {
          event: "click",
          tracking_id: "m",
          event_id: "c",
          timestamp: new Date(at + 60_000).toISOString(),
        }
        yield* receivedAt("again", at + 70_000, [click, { event: "open", tracking_id: "m", event_id: "o" }])
        yield* settle("again")
        yield* receivedAt("again", Date.now() - 1000, [
          click,
          { event: "open", tracking_id: "m", event_id: "o" },
          { ...click, timestamp: new Date(Date.now() - 2000).toISOString() },
        ])
        yield* settle("again")
        assert.deepStrictEqual(yield* tallies("again"), ["a plan=pro learned: click 1, decisions 1, open 1"])
        assert.strictEqual(yield* count("inbox", "t.org_slug = 'again' AND t.status = 'done'"), 2)
        assert.deepStrictEqual((yield* (yield* Rebuild).run(org("again"), { check: true })).differences, [])
      }))

    it.effect("removes expired rows by organization, but no counts", () =>
      Effect.gen(function* () {
        const organizations = yield* Organizations
        const retention = yield* Retention
        const rebuild = yield* Rebuild
        for (const slug of ["short", "long"]) yield* makeOrg(slug)
        yield* organizations.update(org("short"), { retention_days: 200 })
        for (const slug of ["short", "long"]) {
          for (const days of [480, 300, 170, 60, 3]) {
            const at = Date.now() - days * day
            yield* decide(slug, `d${days}`, { at, user: "u" })
            yield* receivedAt(slug, at + 60_000, { event: "click", tracking_id: `d${days}`, event_id: `e${days}` })
          }
          yield* settle(slug)
          // Of old processed bodies, the organization keeps only the unreadable ones.
          yield* receivedAt(slug, Date.now() - 60 * day, "nothing that anybody understands")
          yield* settle(slug)
        }
        const counted = yield* tallies("short")
        const removed = yield* retention.remove
        assert.include(removed.partitions.join(), "decisions_2")
        assert.include(removed.partitions.join(), "inbox_2")
        const ids = (slug: string) =>
          Effect.flatMap(SqlClient.SqlClient, (sql) =>
            Effect.map(
              sql<{ id: string }>`
                SELECT d.tracking_id AS id FROM decisions d WHERE d.org_slug = ${slug} ORDER BY d.decided_at`,
              (rows) => rows.map(({ id }) => id).join(" "),
            ))
        assert.strictEqual(yield* ids("short"), "d170 d60 d3")
        assert.strictEqual(yield* ids("long"), "d300 d170 d60 d3")
        assert.strictEqual(yield* count("events", "t.org_slug = 'short'"), 3)
        assert.strictEqual(yield* count("events", "t.org_slug = 'long'"), 4)
        assert.strictEqual(yield* count("decision_keys", "t.org_slug = 'short'"), 3)
        // A second time there is nothing left to remove.
        assert.deepStrictEqual(yield* retention.remove, { partitions: [], rows: {}, failed: [] })

        for (const slug of ["short", "long"]) {
          assert.deepStrictEqual((yield* rebuild.run(org(slug), { check: true })).differences, [])
        }
        yield* rebuild.run(org("short"), { check: false })
        yield* settle("short")
        assert.deepStrictEqual(yield* tallies("short"), counted)

        // An event that comes again after its first copy is gone finds its decision gone too.
        yield* receivedAt("short", Date.now(), { event: "click", tracking_id: "d300", event_id: "e300" })
        // Under a tracking id whose decision is gone a new one is made, and remembered.
        yield* decide("short", "d300", { copy: "b" })
        assert.strictEqual(yield* ids("short"), "d170 d60 d3 d300")
        yield* decide("short", "d300", { copy: "c" })
        assert.strictEqual(yield* ids("short"), "d170 d60 d3 d300")

        // Unreadable bodies remain with their number and can be replayed.
        const inbox = yield* Inbox
        const [entry] = yield* inbox.list(org("long"), "events", { limit: 1, all: false })
        assert.include(entry!.body, "nothing that anybody understands")
        assert.strictEqual(yield* count("inbox_other", `t.id = ${entry!.id}`), 1)
        yield* inbox.replay(org("long"), "events", entry!.id)
        yield* settle("long")
        yield* receive("long", { event: "open", tracking_id: "d3", event_id: "o3" })
        yield* settle("long")
        assert.isAbove((yield* inbox.list(org("long"), "events", { limit: 1, all: true }))[0]!.id, entry!.id)
        assert.deepStrictEqual((yield* rebuild.run(org("long"), { check: true })).differences, [])
      }))

    it.effect("accepts a tracking id again after its decision has expired", () =>
      Effect.gen(function* () {
        yield* makeOrg("stale")
        const sql = yield* SqlClient.SqlClient
        yield* decide("stale", "x", { ago: 420 * day })
        yield* sql`DELETE FROM decisions d WHERE d.org_slug = 'stale'`
        yield* decide("stale", "x", { copy: "b" })
        const log = yield* DecisionLog
        assert.strictEqual((yield* log.find(org("stale"), "t" as TemplateId, "x"))?.copyId, "b")
        assert.strictEqual(yield* count("decisions", "t.org_slug = 'stale'"), 1)
      }))

    it.effect("removes expired rows of choices, message ids, sent messages and the audit log", () =>
      Effect.gen(function* () {
        yield* makeOrg("rows")
        const sql = yield* SqlClient.SqlClient
        for (const days of [1000, 5]) {
          const at = new Date(Date.now() - days * day)
          const id = `${days}`
          yield* sql`INSERT INTO sticky_choices VALUES ('rows', 't', ${id}, 'a', ${id}, ${at})`
          yield* sql`INSERT INTO sticky_choices VALUES ('rows', 't2', ${id}, 'a', ${id}, now() + interval '1 day')`
          yield* sql`INSERT INTO tracking_aliases VALUES ('rows', ${id}, 't', ${id}, ${at})`
          yield* sql`INSERT INTO attribution_links VALUES ('rows', 'provider_a', ${id}, ${id}, ${at})`
          for (const state of ["sent", "queued"]) {
            yield* sql`
              INSERT INTO deliveries (org_slug, id, template_id, copy_id, formats, state, due_at, queued_at, finished_at)
              VALUES ('rows', ${id + state}, 't', 'a', '{}', ${state}, ${at}, ${at}, ${state === "sent" ? at : null})`
          }
          yield* sql`
            INSERT INTO audit_entries (org_slug, at, actor, action, subject, details)
            VALUES ('rows', ${at}, 'x', 'y', 'z', '{}')`
        }
        const { rows } = yield* (yield* Retention).remove
        assert.deepStrictEqual(rows, {
          tracking_aliases: 1,
          attribution_links: 1,
          sticky_choices: 2,
          deliveries: 1,
          audit_entries: 1,
        })
      }))

    it.effect("continues with the next table if one fails, and repeats the removal soon", () =>
      Effect.gen(function* () {
        yield* makeOrg("failing")
        const sql = yield* SqlClient.SqlClient
        const { runIfDue } = yield* Retention
        const at = new Date(Date.now() - 1000 * day)
        yield* sql`INSERT INTO tracking_aliases VALUES ('failing', 'x', 't', 'x', ${at})`
        yield* sql`
          INSERT INTO audit_entries (org_slug, at, actor, action, subject, details)
          VALUES ('failing', ${at}, 'x', 'y', 'z', '{}')`
        const left = Effect.all([
          count("tracking_aliases", "t.org_slug = 'failing'"),
          count("audit_entries", "t.org_slug = 'failing'"),
        ])
        const isDueSoon = Effect.map(
          sql`SELECT r.due_at < now() + interval '11 minutes' AS soon FROM upkeep_runs r WHERE r.job = 'remove'`,
          ([row]) => row!["soon"],
        )
        yield* sql`
          CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END'`
        yield* sql`
          CREATE TRIGGER refuse BEFORE DELETE ON tracking_aliases FOR EACH STATEMENT EXECUTE FUNCTION refuse()`
        yield* runIfDue
        assert.deepStrictEqual(yield* left, [1, 0])
        assert.isTrue(yield* isDueSoon)
        yield* sql`DROP TRIGGER refuse ON tracking_aliases`
        yield* sql`UPDATE upkeep_runs r SET due_at = now() WHERE r.job = 'remove'`
        yield* runIfDue
        assert.deepStrictEqual(yield* left, [0, 0])
        assert.isFalse(yield* isDueSoon)
      }))

    it.effect("rebuilds the indexes of closed partitions once, without free space", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* partitionsSince(100)
        for (const days of [80, 10]) {
          yield* sql`
            INSERT INTO decisions (org_slug, tracking_id, template_id, copy_id, user_id, mode, segment, policy, decided_at)
            SELECT 'dense', gen_random_uuid(), 't', 'a', gen_random_uuid(), 'bandit', '', '', now() - ${days} * interval '1 day'
            FROM generate_series(1, 3000)`
        }
        const keyOf = (days: number) =>
          Effect.map(
            sql<{ name: string; bytes: number; file: string }>`
              SELECT i.indexrelid::regclass::text AS name, pg_relation_size(i.indexrelid)::float8 AS bytes,
                pg_relation_filenode(i.indexrelid)::text AS file
              FROM (SELECT d.tableoid FROM decisions d WHERE d.org_slug = 'dense'
                AND d.decided_at > now() - ${days + 1} * interval '1 day' ORDER BY d.decided_at LIMIT 1) d
              JOIN pg_index i ON i.indrelid = d.tableoid AND i.indisprimary`,
            ([row]) => row!,
          )
        const closed = yield* keyOf(80)
        const open = yield* keyOf(10)
        const { shrink } = yield* Retention
        yield* shrink
        const rebuilt = yield* keyOf(80)
        assert.isBelow(rebuilt.bytes / closed.bytes, 0.8)
        assert.deepStrictEqual(yield* keyOf(10), open)
        yield* shrink
        assert.deepStrictEqual(yield* keyOf(80), rebuilt)
        // As an interrupted rebuild leaves it.
        yield* sql.unsafe(`ALTER INDEX ${rebuilt.name} SET (fillfactor = 99)`)
        yield* shrink
        assert.notStrictEqual((yield* keyOf(80)).file, rebuilt.file)
        assert.strictEqual(yield* count("decisions", "t.org_slug = 'dense'"), 6000)
      }))
  })
})

describe("the retention settings of an organization", () => {
  it("are rejected below the lookback of counts, and in fractions of days", () => {
    const decode = decoder(OrganizationPatch)
    const refused = decode({ retention_days: 199, inbox_retention_days: 1.5 })
    assert.isTrue(Result.isFailure(refused))
    assert.deepStrictEqual(
      Result.isFailure(refused) ? refused.failure.map(({ pointer }) => pointer) : [],
      ["/retention_days", "/inbox_retention_days"],
    )
    assert.isTrue(Result.isSuccess(decode({ retention_days: 200, inbox_retention_days: 1 })))
  })
})

describe("retention on several nodes", () => {
  it.live("keeps a tracking id unique at the turn of a month, for any clocks", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* temporaryEnvironment
      const nodes = yield* Effect.forEach([0, 1], () => Layer.build(layerQuiet(env)))
      const on = <A, E, R>(node: number, effect: Effect.Effect<A, E, R>) =>
        Effect.provideContext(effect as Effect.Effect<A, E, Layer.Success<ReturnType<typeof layerQuiet>>>, nodes[node]!)
      yield* on(0, makeOrg("turn"))
      yield* Effect.all([on(0, partitionsSince(70)), on(1, partitionsSince(70))], { concurrency: 2 })
      const turn = Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth(), 1)
      // An hour apart, on both sides of the turn, all at once.
      yield* Effect.forEach(Array.from({ length: 200 }, (_, n) => n), (n) =>
        Effect.all([
          on(0, decide("turn", `m${n % 100}`, { at: turn - 1_800_000 + n, copy: "a" })),
          on(1, decide("turn", `m${n % 100}`, { at: turn + 1_800_000 + n, copy: "b" })),
        ], { concurrency: 2 }), { concurrency: 50 })
      yield* on(0, settle("turn"))
      const lines = yield* on(0, tallies("turn"))
      const total = lines.reduce((sum, line) => sum + Number(/decisions (\d+)/.exec(line)![1]), 0)
      assert.strictEqual(total, 100)
      assert.strictEqual(yield* on(0, count("decisions")), 100)
      assert.deepStrictEqual(
        (yield* on(0, Effect.flatMap(Rebuild, ({ run }) => run(org("turn"), { check: true })))).differences,
        [],
      )
    })))

  it.live("lets traffic through while removal waits for a long-running reader", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* temporaryEnvironment
      const node = yield* Layer.build(layerQuiet(env))
      const other = yield* Layer.build(layerQuiet(env))
      const on = <A, E, R>(effect: Effect.Effect<A, E, R>, context = node) =>
        Effect.provideContext(effect as Effect.Effect<A, E, Layer.Success<ReturnType<typeof layerQuiet>>>, context)
      yield* on(makeOrg("busy"))
      yield* on(partitionsSince(600))
      yield* on(decide("busy", "old", { ago: 500 * day }))
      const reading = yield* Deferred.make<void>()
      const release = yield* Deferred.make<void>()
      const released = yield* Ref.make(false)
      // Like a rebuild or a dump: a transaction that has read all partitions and stays open.
      const reader = yield* Effect.forkChild(on(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql.withTransaction(Effect.gen(function* () {
            yield* sql`SELECT count(*) FROM decisions d`
            yield* Deferred.succeed(reading, undefined)
            yield* Deferred.await(release)
          }))
        }),
        other,
      ))
      yield* Deferred.await(reading)
      const removal = yield* Effect.forkChild(on(Effect.flatMap(Retention, ({ remove }) => remove)))
      const lockWaits = on(Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [row] = yield* sql<{ n: number }>`
          SELECT count(*)::int AS n FROM pg_stat_activity a
          WHERE a.datname = current_database() AND a.wait_event_type = 'Lock' AND a.query LIKE '%DETACH%'`
        return row!.n
      }))
      // The removal is seen waiting for its lock, and giving up, several times, while decisions are made all along.
      let decided = 0
      for (let seen = 0, waiting = false; seen < 3;) {
        yield* on(decide("busy", `n${decided++}`))
        const now = (yield* lockWaits) > 0
        if (waiting && !now) seen++
        waiting = now
      }
      assert.isFalse(yield* Ref.get(released))
      assert.isTrue((yield* on(names("decisions"))).length > 16)
      yield* Ref.set(released, true)
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(reader)
      const { partitions } = yield* Fiber.join(removal)
      assert.include(partitions.join(), "decisions_2")
      assert.strictEqual(yield* on(count("decisions", "t.tracking_id = 'old'")), 0)
      assert.strictEqual(yield* on(count("decisions")), decided)
    })))
})
