import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Connections } from "../../src/delivery/Connections.ts"
import { Deliveries } from "../../src/delivery/Deliveries.ts"
import { DeliveryQueue } from "../../src/delivery/DeliveryQueue.ts"
import { org } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { receiver, signingSecret } from "./receiver.ts"
import {
  asked,
  assertArrived,
  connect,
  deliveriesOf,
  enqueue,
  enqueueMany,
  furnish,
  layerSending,
  statesOf,
  until,
  untilDone,
} from "./support.ts"

const troubleOf = (slug: string, name = "main") =>
  Effect.flatMap(Connections, (connections) => Effect.map(connections.get(org(slug), name), ({ trouble }) => trouble))

const attempts = { DELIVERY_ATTEMPTS: "3" }

describe("Dispatcher", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, (env) => layerSending(env, attempts))), { excludeTestServices: true })(
    (it) => {
      it.effect("sends every queued message of several organizations once", () =>
        Effect.gen(function* () {
          const servers = yield* Effect.all([receiver(), receiver(), receiver()])
          const slugs = ["each-a", "each-b", "each-c"]
          for (const [i, slug] of slugs.entries()) yield* furnish(slug, { url: servers[i]!.url })
          const ids = yield* Effect.forEach(slugs, (slug) => enqueueMany(slug, 60), { concurrency: "unbounded" })
          for (const [i, slug] of slugs.entries()) {
            yield* untilDone(slug)
            assertArrived(servers[i]!, ids[i]!)
            assert.deepStrictEqual(yield* statesOf(slug), { sent: 60 })
            const [row] = yield* deliveriesOf(slug)
            assert.deepInclude(row, { connection: "main", messageId: `wm-${row!.id}`, attempts: 0, reason: null })
          }
          const summary = yield* (yield* Deliveries).summary(org("each-a"))
          assert.deepInclude(summary, { queued: 0, scheduled: 0, sending: 0, sent: 60, failed: 0, oldestDueSeconds: 0 })
        }))

      it.effect("waits as long as the platform asks without counting an attempt", () =>
        Effect.gen(function* () {
          const slow = (n: number) => n < 8 ? { status: 429, headers: { "retry-after": "0.3" } } : undefined
          const server = yield* receiver({ fault: slow })
          yield* furnish("slow", { url: server.url })
          const ids = yield* enqueueMany("slow", 5)
          yield* untilDone("slow")
          assertArrived(server, ids)
          assert.deepStrictEqual(
            (yield* deliveriesOf("slow")).map(({ attempts, state }) => [state, attempts]),
            ids.map(() => ["sent", 0]),
          )
          yield* until("it is well again", Effect.map(troubleOf("slow"), (trouble) => trouble === null))
        }))

      it.effect("retries a failed message under its id, so that the platform can discard a duplicate", () =>
        Effect.gen(function* () {
          const faults = [{ status: 500 }, { how: "lose" }, { how: "refuse" }, { status: 504 }] as const
          const server = yield* receiver({ fault: (n) => faults[n] })
          yield* furnish("again", { url: server.url })
          const ids = yield* enqueueMany("again", 4)
          yield* untilDone("again")
          assertArrived(server, ids)
          const rows = yield* deliveriesOf("again")
          assert.deepStrictEqual(rows.map(({ state }) => state), ["sent", "sent", "sent", "sent"])
          assert.strictEqual(rows.reduce((sum, row) => sum + row.attempts, 0), 4)
          const tried = server.requests.filter(({ json }) => json.data.attempt > 1)
          assert.strictEqual(tried.length, 4)
          assert.deepStrictEqual(
            [...server.repeated.values()],
            [1],
            "the one that had been taken before the link broke",
          )
          for (const { headers, json } of tried) assert.strictEqual(headers["idempotency-key"], json.data.tracking_id)
        }))

      it.effect("fails a message after its last attempt with the reason, and sends it after a manual retry", () =>
        Effect.gen(function* () {
          let works = false
          const server = yield* receiver({
            fault: () => works ? undefined : { status: 500, body: { error: "no disk" } },
          })
          yield* furnish("given-up", { url: server.url })
          const { id } = yield* enqueue("given-up", "a@example.com")
          yield* untilDone("given-up")
          const [row] = yield* deliveriesOf("given-up")
          assert.deepInclude(row, { state: "failed", attempts: 3 })
          assert.match(row!.reason!, /^Given up after 3 attempts: .*500.*no disk/)
          assert.deepStrictEqual(server.requests.map(({ json }) => json.data.attempt), [1, 2, 3])
          works = true
          const deliveries = yield* Deliveries
          assert.strictEqual((yield* deliveries.retry(org("given-up"), id)).state, "queued")
          yield* untilDone("given-up")
          assertArrived(server, [id])
          assert.deepInclude(yield* deliveries.summary(org("given-up")), { sent: 1, failed: 0 })
        }))

      it.effect("does not retry a refused message, and sends the others", () =>
        Effect.gen(function* () {
          const server = yield* receiver({
            fault: (n) => n === 1 ? { status: 422, body: { error: "no address" } } : undefined,
          })
          yield* furnish("refused", { url: server.url })
          yield* enqueueMany("refused", 3)
          yield* untilDone("refused")
          assert.deepStrictEqual(yield* statesOf("refused"), { sent: 2, failed: 1 })
          const failed = (yield* deliveriesOf("refused")).find(({ state }) => state === "failed")
          assert.match(failed!.reason!, /422.*no address/)
          assert.strictEqual(server.requests.length, 3)
        }))

      it.effect("stops at refused credentials with an alert, and resumes when new ones are entered", () =>
        Effect.gen(function* () {
          const server = yield* receiver()
          yield* furnish("broken", { url: server.url })
          const connections = yield* Connections
          const wrong = `whsec_${btoa("another secret of thirty-two byte")}`
          yield* connections.put(org("broken"), "main", { secrets: { signing_secret: wrong } })
          const ids = yield* enqueueMany("broken", 30)
          yield* until("it is noticed", Effect.map(troubleOf("broken"), (trouble) => trouble?.state === "broken"))
          const trouble = yield* troubleOf("broken")
          assert.include(trouble!.reason, "401")
          assert.notInclude(trouble!.reason, wrong.slice(6))
          yield* until("nothing is under way", Effect.map(statesOf("broken"), ({ queued }) => queued === 30))
          assert.isTrue((yield* deliveriesOf("broken")).every(({ attempts }) => attempts === 0), "no attempt is burned")
          assert.isAtMost(server.requests.length, 20, "only those that were under way at once")
          yield* connections.put(org("broken"), "main", { secrets: { signing_secret: signingSecret } })
          yield* untilDone("broken")
          assertArrived(server, ids)
          assert.isNull(yield* troubleOf("broken"))
        }))

      it.effect("ignores a refusal of replaced credentials", () =>
        Effect.gen(function* () {
          let answer = () => {}
          const answered = new Promise<void>((resolve) => answer = resolve)
          const server = yield* receiver({ before: () => answered, fault: () => ({ status: 401 }) })
          yield* furnish("renewed", { url: server.url })
          yield* enqueue("renewed", "first@example.com")
          yield* Effect.promise(() => server.until(() => server.requests.length === 1))
          const other = yield* receiver()
          yield* connect("renewed", other.url)
          yield* enqueue("renewed", "second@example.com")
          answer()
          yield* untilDone("renewed")
          assert.strictEqual(other.arrivals.length, 2)
          assert.isNull(yield* troubleOf("renewed"))
        }))

      it.effect("keeps due messages while the connection is paused, and sends them when it is resumed", () =>
        Effect.gen(function* () {
          const server = yield* receiver()
          yield* furnish("paused", { url: server.url })
          const connections = yield* Connections
          yield* connections.put(org("paused"), "main", { paused: true })
          const ids = yield* enqueueMany("paused", 20)
          const bystander = yield* receiver()
          yield* furnish("paused-other", { url: bystander.url })
          yield* enqueueMany("paused-other", 20)
          yield* untilDone("paused-other")
          assert.deepStrictEqual(yield* statesOf("paused"), { queued: 20 })
          assert.deepStrictEqual(server.requests, [])
          yield* connections.put(org("paused"), "main", { paused: false })
          yield* untilDone("paused")
          assertArrived(server, ids)
        }))

      it.effect("returns unsent messages to the queue when the connection is paused during sending", () =>
        Effect.gen(function* () {
          const server = yield* receiver()
          yield* furnish("midway", { url: server.url })
          const connections = yield* Connections
          const ids = yield* enqueueMany("midway", 150)
          yield* Effect.promise(() => server.until(() => server.arrivals.length >= 10))
          yield* connections.put(org("midway"), "main", { paused: true })
          yield* until("nothing is under way", Effect.map(statesOf("midway"), ({ sending }) => sending === undefined))
          const { queued = 0, sent = 0 } = yield* statesOf("midway")
          assert.isAbove(queued, 0)
          assert.strictEqual(queued + sent, 150)
          assert.strictEqual(server.arrivals.length, sent)
          yield* connections.put(org("midway"), "main", { paused: false })
          yield* untilDone("midway")
          assertArrived(server, ids)
        }))

      it.effect("sends through the default connection, also if it changes during sending", () =>
        Effect.gen(function* () {
          const [one, two] = yield* Effect.all([receiver(), receiver()])
          yield* furnish("switched", { url: one.url })
          const ids = yield* enqueueMany("switched", 150)
          yield* Effect.promise(() => one.until(() => one.arrivals.length >= 10))
          yield* connect("switched", two.url, "second")
          yield* untilDone("switched")
          assert.isAbove(two.arrivals.length, 0)
          assert.deepStrictEqual([...one.arrivals, ...two.arrivals].map(({ id }) => id).sort(), [...ids].sort())
          const carried = (yield* deliveriesOf("switched")).filter(({ connection }) => connection === "second")
          assert.strictEqual(carried.length, two.arrivals.length)
          yield* (yield* Connections).remove(org("switched"), "second")
          const { id } = yield* enqueue("switched", "last@example.com")
          yield* untilDone("switched")
          assert.strictEqual(one.arrivals.at(-1)!.id, id, "the one that is left carries")
        }))

      it.effect("stops sending to a platform after repeated failures, without counting more attempts", () =>
        Effect.gen(function* () {
          let works = false
          const server = yield* receiver({ fault: () => works ? undefined : { how: "refuse" } })
          yield* furnish("circuit", { url: server.url })
          const ids = yield* enqueueMany("circuit", 100)
          yield* until("it is open", Effect.map(troubleOf("circuit"), (trouble) => trouble?.state === "failing"))
          yield* until("nothing is under way", Effect.map(statesOf("circuit"), ({ sending }) => sending === undefined))
          const tried = server.requests.length
          assert.isTrue(
            tried >= 10 && tried <= 40,
            `${tried} attempts, of which ten opened it and the others were under way`,
          )
          works = true
          yield* untilDone("circuit")
          assertArrived(server, ids)
          assert.isNull(yield* troubleOf("circuit"))
        }))

      it.effect("sends a scheduled message when it is due, and never sends a cancelled one", () =>
        Effect.gen(function* () {
          const server = yield* receiver()
          yield* furnish("scheduled", { url: server.url })
          const at = Date.now() + 1_500
          const queue = yield* DeliveryQueue
          const later = yield* queue.enqueue(org("scheduled"), asked("later@example.com", { sendAt: at }))
          const never = yield* queue.enqueue(org("scheduled"), asked("never@example.com", { sendAt: at }))
          const now = yield* enqueue("scheduled", "now@example.com")
          const deliveries = yield* Deliveries
          assert.strictEqual((yield* deliveries.cancel(org("scheduled"), never.id)).state, "cancelled")
          yield* untilDone("scheduled")
          assert.deepStrictEqual(server.arrivals.map(({ id }) => id), [now.id, later.id])
          assert.isAtLeast(server.arrivals[1]!.at, at)
          assert.deepStrictEqual(yield* statesOf("scheduled"), { sent: 2, cancelled: 1 })
        }))

      it.effect("sends the messages that a stopped process had claimed", () =>
        Effect.gen(function* () {
          const server = yield* receiver()
          const sql = yield* SqlClient.SqlClient
          yield* furnish("left", { url: server.url })
          yield* (yield* Connections).put(org("left"), "main", { paused: true })
          const ids = yield* enqueueMany("left", 10)
          yield* until(
            "nobody holds the lane",
            Effect.map(
              sql`SELECT 1 FROM dispatch_lanes l WHERE l.org_slug = 'left' AND l.lease_until >= now()`,
              (rows) => rows.length === 0,
            ),
          )
          yield* sql`
            INSERT INTO dispatch_lanes AS l (org_slug, fence, owner, lease_until) VALUES ('left', 7, 'dead', now())
            ON CONFLICT (org_slug) DO UPDATE SET fence = 7, owner = 'dead', lease_until = now()`
          yield* sql`UPDATE deliveries d SET state = 'sending', fence = 7 WHERE d.org_slug = 'left'`
          yield* (yield* Connections).put(org("left"), "main", { paused: false })
          yield* untilDone("left")
          assertArrived(server, ids)
        }))
    },
  )

  it.live("records finished attempts, requeues other messages and releases the lane when its scope closes", () =>
    Effect.scoped(Effect.gen(function* () {
      const env = yield* environment
      let holding = true
      const server = yield* receiver({ fault: (n) => holding && n >= 3 ? { how: "hang" } : undefined })
      const scope = yield* Scope.make()
      const context = yield* Scope.provide(Layer.build(layerSending(env, { SHUTDOWN_TIMEOUT: "500 millis" })), scope)
      const ids = yield* Effect.provideContext(
        Effect.gen(function* () {
          yield* furnish("ended", { url: server.url })
          return yield* enqueueMany("ended", 60)
        }),
        context,
      )
      yield* Effect.promise(() => server.until(() => server.requests.length >= 6))
      holding = false
      yield* Scope.close(scope, Exit.void)
      const arrived = server.arrivals.length
      const next = yield* Layer.build(layerSending(env))
      yield* Effect.provideContext(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const [lane] = yield* sql<{ n: number }>`
            SELECT count(*)::int AS n FROM deliveries d WHERE d.org_slug = 'ended' AND d.state = 'sent'`
          assert.isAtLeast(lane!.n, arrived)
          yield* untilDone("ended")
          assert.deepStrictEqual(yield* statesOf("ended"), { sent: 60 })
        }),
        next,
      )
      assertArrived(server, ids)
    })))
})
