import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type BulkActionRequest, BulkActions } from "../../src/delivery/BulkActions.ts"
import { Deliveries } from "../../src/delivery/Deliveries.ts"
import { Erasures } from "../../src/people/Erasures.ts"
import { Suppressions } from "../../src/suppressions/Suppressions.ts"
import { org } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { receiver } from "./receiver.ts"
import {
  connect,
  deliveriesOf,
  enqueueMany,
  furnish,
  layerQueue,
  layerSending,
  statesOf,
  untilDone,
} from "./support.ts"

const ask = (
  kind: BulkActionRequest["kind"],
  filter: BulkActionRequest["filter"] = {},
  idempotencyKey?: string,
): BulkActionRequest => ({
  kind,
  filter,
  requestedBy: "Ada",
  idempotencyKey,
})

/** Messages that have failed for a reason that names their number. */
const fail = Effect.fnUntraced(function* (slug: string, ids: ReadonlyArray<string>, reason = "550 no such mailbox") {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    WITH failed AS (
      UPDATE deliveries d SET state = 'failed', reason = ${reason}, connection = 'main', attempts = 3, finished_at = now()
      WHERE d.org_slug = ${slug} AND d.id = ANY(${ids}::text[]) RETURNING 1)
    INSERT INTO delivery_counts AS c (org_slug, hour, state, count)
    SELECT ${slug}, date_bin('1 hour', now(), 'epoch'), 'failed', count(*) FROM failed
    ON CONFLICT (org_slug, hour, state) DO UPDATE SET count = c.count + EXCLUDED.count`
})

/** Rows of deliveries without the queue, `count` of them. Every other failed for a full mailbox. */
const fill = Effect.fnUntraced(function* (slug: string, count: number, state = "failed") {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO deliveries (org_slug, id, template_id, copy_id, email, vars, formats, state, due_at, queued_at, attempts,
      reason, finished_at)
    SELECT ${slug}, lpad(n::text, 8, '0'), 't', 'a', 'p' || n || '@example.com', '{}', '{}', ${state}, now(), now(), 0,
      CASE WHEN n % 2 = 0 THEN 'mailbox of p' || n || '@example.com is full' ELSE 'unknown' END,
      CASE WHEN ${state} = 'failed' THEN now() END
    FROM generate_series(1, ${count}::int) n`
})

describe("BulkActions", () => {
  layer(Layer.unwrap(Effect.map(temporaryEnvironment, (env) => layerQueue(env))), { excludeTestServices: true })(
    (it) => {
      it.effect("retries exactly the previewed messages, by reason, template, connection and time", () =>
        Effect.gen(function* () {
          const acme = yield* furnish("filters")
          const bulk = yield* BulkActions
          const sql = yield* SqlClient.SqlClient
          const ids = yield* enqueueMany("filters", 6)
          yield* fail("filters", ids.slice(0, 2), "550 <a@example.com> no such mailbox")
          yield* fail("filters", ids.slice(2, 3), "The mailbox is FULL, 100% of it")
          yield* fail("filters", ids.slice(3, 5), "550 <b@example.com> no such mailbox")
          yield* sql`
          UPDATE deliveries d SET template_id = 'other', connection = 'backup' WHERE d.org_slug = 'filters' AND d.id = ${ids[
            4
          ]!}`
          yield* sql`
          UPDATE deliveries d SET finished_at = '2026-01-02T03:04:05Z' WHERE d.org_slug = 'filters' AND d.id = ${ids[
            0
          ]!}`
          const matched = (filter: BulkActionRequest["filter"]) =>
            Effect.map(bulk.preview(acme, "retry", filter), ({ matched }) => matched)
          const at = (text: string) => new Date(text)
          assert.strictEqual(yield* matched({}), 5)
          assert.strictEqual(yield* matched({ reason: "FULL, 100%" }), 1)
          assert.strictEqual(yield* matched({ reason: "full, 1_0" }), 0)
          assert.strictEqual(yield* matched({ reason: "550 <…> no such" }), 4)
          assert.strictEqual(yield* matched({ templateId: "other" }), 1)
          assert.strictEqual(yield* matched({ connection: "main" }), 4)
          assert.strictEqual(yield* matched({ email: "p1@example.com" }), 1)
          assert.strictEqual(
            yield* matched({ since: at("2026-01-02T03:04:05Z"), until: at("2026-01-02T03:04:06Z") }),
            1,
          )
          assert.strictEqual(yield* matched({ until: at("2026-01-02T03:04:05Z") }), 0)
          assert.strictEqual((yield* bulk.preview(acme, "cancel", {})).matched, 1)
          const seen = yield* bulk.preview(acme, "retry", { reason: "no such mailbox", connection: "main" })
          assert.deepStrictEqual(seen.composition, {
            sampled: 3,
            suppressed: 0,
            reasons: [{ value: "550 <…> no such mailbox", count: 3 }],
            templates: [{ value: "t", count: 3 }],
            connections: [{ value: "main", count: 3 }],
          })
          const before = (yield* (yield* Deliveries).summary(acme)).failed
          const done = yield* bulk.start(acme, ask("retry", seen.filter))
          assert.deepInclude(done, { state: "done", matched: 3, changed: 3, requestedBy: "Ada", kind: "retry" })
          assert.deepStrictEqual(done.filter.until, seen.filter.until)
          const rows = yield* deliveriesOf("filters")
          assert.deepStrictEqual(
            rows.map(({ attempts, finishedAt, state }) => ({ attempts, finishedAt: finishedAt !== null, state })),
            ["queued", "queued", "failed", "queued", "failed", "queued"].map((state) => ({
              state,
              attempts: state === "failed" ? 3 : 0,
              finishedAt: state === "failed",
            })),
          )
          // The moved delivery has no count in its hour.
          assert.strictEqual((yield* (yield* Deliveries).summary(acme)).failed, before - 2)
        }))

      it.effect("ignores messages that fail or are queued after the preview", () =>
        Effect.gen(function* () {
          const acme = yield* furnish("later")
          const bulk = yield* BulkActions
          const sql = yield* SqlClient.SqlClient
          const [first, second, third] = yield* enqueueMany("later", 3)
          yield* fail("later", [first!])
          const retry = yield* bulk.preview(acme, "retry", {})
          const cancel = yield* bulk.preview(acme, "cancel", {})
          yield* sql`
          UPDATE deliveries d SET state = 'failed', finished_at = now() + interval '1 second'
          WHERE d.org_slug = 'later' AND d.id = ${second!}`
          const [fourth] = yield* enqueueMany("later", 1)
          yield* sql`
          UPDATE deliveries d SET queued_at = now() + interval '1 second' WHERE d.org_slug = 'later' AND d.id = ${fourth!}`
          assert.strictEqual((yield* bulk.start(acme, ask("cancel", cancel.filter))).changed, 1)
          assert.strictEqual((yield* bulk.start(acme, ask("retry", retry.filter))).changed, 1)
          const states = new Map((yield* deliveriesOf("later")).map(({ id, state }) => [id, state]))
          assert.deepStrictEqual([first, second, third, fourth].map((id) => states.get(id!)), [
            "queued",
            "failed",
            "cancelled",
            "queued",
          ])
          // A retried message fails again, which is later than the bound.
          yield* fail("later", [first!])
          yield* sql`
          UPDATE deliveries d SET finished_at = now() + interval '1 second' WHERE d.org_slug = 'later' AND d.id = ${first!}`
          assert.strictEqual((yield* bulk.start(acme, ask("retry", retry.filter))).changed, 0)
        }))

      it.effect("runs one action for one idempotency key, even for simultaneous requests", () =>
        Effect.gen(function* () {
          const acme = yield* furnish("twice")
          const bulk = yield* BulkActions
          yield* fail("twice", yield* enqueueMany("twice", 3))
          const asked = ask("retry", { reason: "mailbox" }, "press-1")
          const both = yield* Effect.all([bulk.start(acme, asked), bulk.start(acme, asked)], { concurrency: 2 })
          assert.strictEqual(both[0].id, both[1].id)
          assert.deepStrictEqual(both.map(({ changed }) => changed), [3, 3])
          assert.strictEqual((yield* bulk.start(acme, asked)).id, both[0].id)
          const other = yield* Effect.flip(bulk.start(acme, ask("retry", {}, "press-1")))
          assert.strictEqual(other._tag, "BulkKeyReused")
          assert.lengthOf(yield* bulk.list(acme, 10), 1)
          // Without a key: another action, that finds nothing more to do.
          assert.deepInclude(yield* bulk.start(acme, ask("retry", { reason: "mailbox" })), { matched: 0, changed: 0 })
          const nobody = yield* furnish("twice-other")
          assert.notStrictEqual((yield* bulk.start(nobody, asked)).id, both[0].id)
          assert.strictEqual((yield* Effect.flip(bulk.get(nobody, both[0].id)))._tag, "BulkActionNotFound")
        }))

      it.effect("waits for a message that is being claimed, and does not cancel it", () =>
        Effect.gen(function* () {
          const acme = yield* furnish("race")
          const bulk = yield* BulkActions
          const sql = yield* SqlClient.SqlClient
          const [claimed] = yield* enqueueMany("race", 3)
          const isLocked = yield* Deferred.make<void>()
          const go = yield* Deferred.make<void>()
          const claim = yield* Effect.forkChild(sql.withTransaction(Effect.gen(function* () {
            yield* sql`UPDATE deliveries d SET state = 'sending' WHERE d.org_slug = 'race' AND d.id = ${claimed!}`
            yield* Deferred.succeed(isLocked, undefined)
            yield* Deferred.await(go)
          })))
          yield* Deferred.await(isLocked)
          const action = yield* Effect.forkChild(bulk.start(acme, ask("cancel")))
          yield* untilBlocked
          yield* Deferred.succeed(go, undefined)
          yield* Fiber.join(claim)
          assert.deepInclude(yield* Fiber.join(action), { state: "done", matched: 3, changed: 2 })
          assert.deepStrictEqual(yield* statesOf("race"), { sending: 1, cancelled: 2 })
        }))

      it.effect("skips messages of erased people", () =>
        Effect.gen(function* () {
          const acme = yield* furnish("erased")
          const bulk = yield* BulkActions
          yield* fail("erased", yield* enqueueMany("erased", 2))
          yield* (yield* Erasures).eraseNow({ org: acme, user: undefined, email: "p0@example.com" })
          const seen = yield* bulk.preview(acme, "retry", {})
          assert.deepInclude(seen, { matched: 1, erased: 1 })
          assert.strictEqual((yield* bulk.start(acme, ask("retry"))).changed, 1)
          assert.deepStrictEqual(yield* statesOf("erased"), { failed: 1, queued: 1 })
        }))

      it.effect("retries no expired message, and cancels expired messages that were not sent", () =>
        Effect.gen(function* () {
          const acme = yield* furnish("expired")
          const bulk = yield* BulkActions
          const sql = yield* SqlClient.SqlClient
          const ids = yield* enqueueMany("expired", 4)
          yield* fail("expired", ids.slice(0, 3))
          yield* sql`
          UPDATE deliveries d SET expires_at = now() - interval '1 second'
          WHERE d.org_slug = 'expired' AND d.id = ANY(${[ids[0]!, ids[3]!]}::text[])`
          yield* sql`
          UPDATE deliveries d SET expires_at = now() + interval '1 hour', first_failed_at = now()
          WHERE d.org_slug = 'expired' AND d.id = ${ids[1]!}`
          assert.deepInclude(yield* bulk.preview(acme, "retry", {}), { matched: 2, expired: 1, erased: 0 })
          assert.deepInclude(yield* bulk.preview(acme, "cancel", {}), { matched: 1, expired: 0 })
          assert.deepInclude(yield* bulk.start(acme, ask("cancel")), { matched: 1, changed: 1 })
          assert.deepInclude(yield* bulk.start(acme, ask("retry")), { matched: 2, changed: 2 })
          assert.deepStrictEqual(yield* statesOf("expired"), { failed: 1, queued: 2, cancelled: 1 })
          const begun =
            yield* sql`SELECT 1 FROM deliveries d WHERE d.org_slug = 'expired' AND d.first_failed_at IS NOT NULL`
          assert.lengthOf(begun, 0, "the horizon starts anew")
        }))

      it.effect("processes each batch exactly once, even if a node stops between or within batches", () =>
        Effect.gen(function* () {
          const acme = yield* furnish("batches")
          const bulk = yield* BulkActions
          const sql = yield* SqlClient.SqlClient
          yield* fill("batches", 5_500)
          // A node that stored the action and did not begin.
          yield* sql`
          INSERT INTO bulk_actions (org_slug, id, kind, filter, requested_by, requested_at, state, matched, worked_at)
          VALUES ('batches', 'left', 'retry', '{"reason": "is full", "until": "2100-01-01T00:00:00Z"}', 'Ada', now(),
            'running', 2750, now())`
          // The second batch meets a message that cannot be changed: the action stops there and says so.
          yield* sql`
          ALTER TABLE deliveries ADD CONSTRAINT unlucky CHECK (org_slug <> 'batches' OR id <> '00002500' OR state = 'failed')
          NOT VALID`
          yield* bulk.drain
          const stopped = yield* bulk.get(acme, "left")
          assert.deepInclude(stopped, { state: "failed", matched: 2750, changed: 1000 })
          assert.include(stopped.reason!, "unlucky")
          assert.deepStrictEqual(yield* statesOf("batches"), { failed: 4_500, queued: 1_000 })
          yield* sql`ALTER TABLE deliveries DROP CONSTRAINT unlucky`
          // The next node continues at the stored position. A message that has failed again since is not retried twice.
          yield* sql`
          UPDATE deliveries d SET state = 'failed', finished_at = now() WHERE d.org_slug = 'batches' AND d.state = 'queued'`
          yield* sql`UPDATE bulk_actions b SET state = 'running', attempts = 0 WHERE b.id = 'left'`
          yield* Effect.all([bulk.drain, bulk.drain, bulk.drain], { concurrency: 3 })
          assert.deepInclude(yield* bulk.get(acme, "left"), { state: "done", changed: 2750, reason: null })
          assert.deepStrictEqual(yield* statesOf("batches"), { failed: 3_750, queued: 1_750 })
          yield* fill("batches-cancel", 2_500, "queued")
          const cancelled = yield* bulk.start(org("batches-cancel"), ask("cancel"))
          assert.deepInclude(cancelled, { state: "done", matched: 2500, changed: 2500 })
          const [told] = yield* sql<{ items: number }>`
          SELECT sum(json_array_length(convert_from(i.body, 'UTF8')::json))::int AS items FROM inbox i
          WHERE i.org_slug = 'batches-cancel'`
          assert.strictEqual(told!.items, 2500)
        }))
    },
  )

  it.live("requeues a message to a suppressed recipient, which is then cancelled instead of sent", () =>
    Effect.scoped(Effect.gen(function* () {
      const server = yield* receiver()
      const env = yield* temporaryEnvironment
      yield* Effect.gen(function* () {
        const acme = yield* furnish("acme")
        const bulk = yield* BulkActions
        const ids = yield* enqueueMany("acme", 4)
        yield* fail("acme", ids)
        yield* (yield* Suppressions).add([{
          org: acme,
          address: "P2@example.com",
          reason: "hard_bounce",
          source: "api",
          at: Date.parse("2026-11-20T00:00:00Z"),
        }])
        const seen = yield* bulk.preview(acme, "retry", {})
        assert.strictEqual(seen.composition.suppressed, 1)
        yield* connect("acme", server.url)
        assert.strictEqual((yield* bulk.start(acme, ask("retry"))).changed, 4)
        yield* untilDone("acme")
        assert.deepStrictEqual(yield* statesOf("acme"), { sent: 3, cancelled: 1 })
        const cancelled = (yield* deliveriesOf("acme")).find(({ state }) => state === "cancelled")!
        assert.strictEqual(cancelled.reason, "Suppressed: the recipient bounced for good on 2026-11-20 (hard_bounce)")
        assert.lengthOf(server.arrivals, 3)
      }).pipe(Effect.provide(layerSending(env)), Effect.scoped)
    })))
})

/** Waits until a statement waits for the lock of another. */
const untilBlocked = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  while (true) {
    const [row] = yield* sql<{ blocked: number }>`
      SELECT count(*)::int AS blocked FROM pg_stat_activity a
      WHERE a.wait_event_type = 'Lock' AND a.datname = current_database()`
    if (row!.blocked > 0) return
  }
})
