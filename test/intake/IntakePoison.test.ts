import { assert, describe, it, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type BodyReaderOptions, ReaderOptions } from "../../src/intake/BodyReader.ts"
import { Erasures } from "../../src/people/Erasures.ts"
import { Inbox } from "../../src/journal/inbox/Inbox.ts"
import { Intake } from "../../src/intake/Intake.ts"
import { unfinishedReason } from "../../src/store/Attempts.ts"
import { type Environment, temporaryEnvironment } from "../support/stores.ts"
import { decide, layerQuiet, makeOrg, org, receive, settle, tallies } from "./support.ts"

const program = new URL("./stuck.process.ts", import.meta.url)
// Alone, long enough for any body that is read at all, however busy the machine. Bodies of a batch are read alone after
// it.
const deadline = { batches: "300 millis", singles: "1 second" } as const

const layerWith = (environment: Environment, options: BodyReaderOptions) =>
  Layer.provide(layerQuiet(environment), Layer.succeed(ReaderOptions, options))

const drain = Effect.flatMap(Intake, (intake) => intake.drain)

/** Makes the next attempts due. */
const due = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE intake_batches SET due_at = now()`)

const inboxOf = Effect.fnUntraced(function* (slug: string) {
  const entries = yield* (yield* Inbox).list(org(slug), "events", { limit: 1000, all: true })
  return entries.toReversed().map(({ attempts, faults, status }) =>
    `${status} ${attempts}${faults === null ? "" : ` ${faults[0]!.reason}`}`
  )
})

/** A body of more bytes than are taken in together with others. */
const large = (word: string) => ({ event: "click", tracking_id: "t1", event_id: word, padding: "x".repeat(300_000) })
const click = (id: string) => ({ event: "click", tracking_id: "t1", event_id: id })

describe("poison bodies", () => {
  const environment = temporaryEnvironment
  const services = Layer.unwrap(Effect.map(environment, (env) => layerWith(env, { program, deadline })))

  layer(services, { excludeTestServices: true })((it) => {
    for (
      const [word, reason] of [
        ["hang", "Reading it takes longer than 1s"],
        ["exit", "Reading it ends the process that works on it, most likely for lack of memory"],
        ["throw", "It could not be read: thrown by the program"],
      ] as const
    ) {
      it.effect(`rejects a body that makes its process ${word} after three attempts, and processes all others`, () =>
        Effect.gen(function* () {
          yield* makeOrg(word)
          yield* decide(word, "t1")
          for (const id of ["a", word, "b", "c"]) yield* receive(word, click(id))
          yield* drain
          const after = yield* inboxOf(word)
          assert.deepStrictEqual(after.filter((_, place) => place !== 1), ["done 0", "done 0", "done 0"])
          yield* receive(word, click("d"))
          // On a machine that is slow enough, the pause before the next attempt passes by itself.
          for (let tries = 0; (yield* inboxOf(word))[1]!.startsWith("pending"); tries++) {
            assert.isBelow(tries, 3)
            yield* due
            yield* drain
          }
          assert.deepStrictEqual(yield* inboxOf(word), ["done 0", `rejected 3 ${reason}`, "done 0", "done 0", "done 0"])
          yield* settle(word)
          assert.deepStrictEqual(yield* tallies(word), ["a plan=pro learned: click 1, decisions 1"])
        }))
    }

    it.effect("records the attempt at a large body first, and processes small bodies concurrently", () =>
      Effect.gen(function* () {
        yield* makeOrg("large")
        yield* receive("large", large("hang"))
        const context = yield* Effect.context<Intake | Inbox | SqlClient.SqlClient>()
        const draining = yield* Effect.forkDetach(Effect.provideContext(drain, context))
        while ((yield* inboxOf("large"))[0] !== "pending 1") yield* Effect.yieldNow
        yield* receive("large", click("a"))
        yield* drain
        assert.deepStrictEqual(yield* inboxOf("large"), ["pending 1", "done 0"])
        yield* Fiber.join(draining)
        const sql = yield* SqlClient.SqlClient
        yield* sql`UPDATE inbox SET status = 'rejected' WHERE org_slug = 'large' AND status = 'pending'`
      }))

    it.effect("allows three attempts again after a replay", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("replay")
        yield* receive("replay", large("fine"))
        yield* sql`UPDATE inbox SET status = 'rejected', attempts = 3 WHERE org_slug = 'replay'`
        const inbox = yield* Inbox
        const [entry] = yield* inbox.list(org("replay"), "events", { limit: 1, all: true })
        yield* inbox.replay(org("replay"), "events", entry!.id)
        yield* drain
        assert.deepStrictEqual(yield* inboxOf("replay"), ["done 1"])
      }))

    it.effect("processes the bodies of a stopped node one at a time, and rejects one with three failed attempts", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("died")
        for (const id of ["a", "b", "c"]) yield* receive("died", click(id))
        const ids = (yield* sql<{ id: number }>`
          SELECT i.id::float8 AS id FROM inbox i WHERE i.org_slug = 'died' ORDER BY i.id`).map(({ id }) => id)
        // The node had them in a batch; it died of the second alone three times before.
        yield* sql`UPDATE inbox SET attempts = 3 WHERE id = ${ids[1]!}`
        yield* sql`
          INSERT INTO intake_batches (inbox_ids, due_at) VALUES (${ids}::bigint[], now() + interval '1 hour')`
        yield* drain
        assert.deepStrictEqual(yield* inboxOf("died"), ["pending 0", "pending 3", "pending 0"])
        yield* due
        yield* drain
        assert.deepStrictEqual(yield* inboxOf("died"), ["done 1", `rejected 3 ${unfinishedReason}`, "done 1"])
        assert.deepStrictEqual(yield* sql`SELECT 1 FROM intake_batches b WHERE b.inbox_ids && ${ids}::bigint[]`, [])
      }))

    it.effect("counts no attempt that a database outage ended", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("outage")
        yield* receive("outage", click("a"))
        yield* receive("outage", large("b"))
        yield* sql.unsafe(`
          CREATE FUNCTION away() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            RAISE 'the server is starting' USING ERRCODE = '57P03';
          END $$`)
        yield* sql`CREATE TRIGGER away BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION away()`
        for (let n = 0; n < 5; n++) {
          const exit = yield* Effect.exit(drain)
          assert.isTrue(Exit.isFailure(exit))
          assert.deepStrictEqual(yield* inboxOf("outage"), ["pending 0", "pending 0"])
        }
        // The small body, which is tried first, has failed each drain: the large one is tried by itself as well.
        yield* sql`UPDATE inbox SET status = 'done' WHERE org_slug = 'outage' AND octet_length(body) < 1000`
        for (let n = 0; n < 5; n++) {
          assert.isTrue(Exit.isFailure(yield* Effect.exit(drain)))
          assert.deepStrictEqual(yield* inboxOf("outage"), ["done 0", "pending 0"])
        }
        yield* sql`DROP TRIGGER away ON events`
        yield* sql`UPDATE inbox SET status = 'pending' WHERE org_slug = 'outage'`
        yield* drain
        assert.deepStrictEqual(yield* inboxOf("outage"), ["done 0", "done 1"])
      }))

    it.effect("stores events of many decisions in several transactions, each event once", () =>
      Effect.gen(function* () {
        yield* makeOrg("many")
        const templates = Array.from({ length: 60 }, (_, n) => `t${n}`)
        yield* Effect.forEach(templates, (template) => decide("many", "t1", { template }), { concurrency: 20 })
        yield* receive("many", Array.from({ length: 100 }, (_, n) => click(`${n}`)))
        yield* drain
        assert.deepStrictEqual(yield* inboxOf("many"), ["done 0"])
        const sql = yield* SqlClient.SqlClient
        const [counted] = yield* sql<{ n: number; events: number }>`
          SELECT (SELECT count(*)::int FROM events e WHERE e.org_slug = 'many' AND e.status = 'attributed') AS n,
            (SELECT i.events FROM inbox i WHERE i.org_slug = 'many') AS events`
        assert.deepStrictEqual(counted, { n: 6_000, events: 100 })
      }))

    it.effect("reads events of another template once instead of repeatedly", () =>
      Effect.gen(function* () {
        yield* makeOrg("other")
        yield* receive(
          "other",
          Array.from({ length: 1_001 }, (_, n) => ({ ...click(`${n}`), template_id: "another" })),
        )
        yield* drain
        yield* decide("other", "t1")
        yield* drain
        yield* decide("other", "t1", { template: "another" })
        yield* settle("other", "another")
        assert.deepStrictEqual(yield* tallies("other", "another"), ["a plan=pro learned: click 1, decisions 1"])
      }))

    it.effect("empties a body that requests the erasure of several people", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* makeOrg("forget")
        const call = (userId: string) => ({ type: "delete", userId, messageId: userId })
        yield* receive("forget", { batch: ["ann", "bob", "cid"].map(call) }, "provider_d")
        yield* drain
        yield* (yield* Erasures).drain
        const [body] =
          yield* sql`SELECT i.status, octet_length(i.body) AS bytes FROM inbox i WHERE i.org_slug = 'forget'`
        assert.deepStrictEqual(body, { status: "done", bytes: 0 })
      }))
  })

  it.live("counts no attempt if no process can be started", () =>
    Effect.scoped(Effect.gen(function* () {
      const context = yield* Layer.build(
        layerWith(yield* environment, { program: new URL("./none.process.ts", import.meta.url) }),
      )
      yield* Effect.gen(function* () {
        yield* makeOrg("start")
        yield* receive("start", click("a"))
        yield* receive("start", large("b"))
        for (let n = 0; n < 4; n++) {
          const exit = yield* Effect.exit(drain)
          assert.match(
            Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "",
            /process that reads webhook bodies did not/,
          )
        }
        assert.deepStrictEqual(yield* inboxOf("start"), ["pending 0", "pending 0"])
      }).pipe(Effect.provideContext(context))
    })), 120_000)

  it.live("counts no attempt that a shutdown interrupts", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* environment
      for (let n = 0; n < 4; n++) {
        yield* Effect.scoped(Effect.gen(function* () {
          const context = yield* Layer.build(layerWith(env, { program, deadline: { singles: "1 hour" } }))
          yield* Effect.gen(function* () {
            if (n === 0) {
              yield* makeOrg("end")
              yield* receive("end", large("hang"))
            }
            assert.deepStrictEqual(yield* inboxOf("end"), ["pending 0"])
            yield* Effect.forkScoped(drain)
            while ((yield* inboxOf("end"))[0] !== "pending 1") yield* Effect.yieldNow
          }).pipe(Effect.provideContext(context))
        }))
      }
    })), 120_000)

  it.live("processes a body on one node at a time", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* environment
      const [one, two] = yield* Effect.all([
        Layer.build(layerWith(env, { program, deadline: { singles: "1 hour" } })),
        Layer.build(layerWith(env, { program })),
      ])
      yield* Effect.gen(function* () {
        yield* makeOrg("nodes")
        yield* receive("nodes", large("hang"))
        yield* Effect.forkScoped(drain)
        while ((yield* inboxOf("nodes"))[0] !== "pending 1") yield* Effect.yieldNow
      }).pipe(Effect.provideContext(one))
      yield* Effect.gen(function* () {
        yield* drain
        assert.deepStrictEqual(yield* inboxOf("nodes"), ["pending 1"])
      }).pipe(Effect.provideContext(two))
    })), 120_000)
})
