import { assert, describe, layer } from "@effect/vitest"
import { Clock, Deferred, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Connections } from "../../src/delivery/Connections.ts"
import { Deliveries } from "../../src/delivery/Deliveries.ts"
import { org } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { receiver } from "./receiver.ts"
import { deliveriesOf, enqueue, furnish, layerSending, until, untilDone } from "./support.ts"

const only = (slug: string) => Effect.map(deliveriesOf(slug), (rows) => rows[0]!)

const inSeconds = (seconds: number) => Effect.map(Clock.currentTimeMillis, (now) => now + 1000 * seconds)

/** Makes it an hour ago that the queued messages expired. */
const letExpire = Effect.fnUntraced(function* (slug: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    UPDATE deliveries d SET expires_at = date_trunc('hour', now()) - interval '1 hour'
    WHERE d.org_slug = ${slug} AND d.state = 'queued'`
})

const inbox = Effect.fnUntraced(function* (slug: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ body: string }>`
    SELECT convert_from(i.body, 'UTF8') AS body FROM inbox i WHERE i.org_slug = ${slug}`
  return rows.flatMap(({ body }) => JSON.parse(body).map(({ event }: { event: string }) => event))
})

describe("Dispatcher with messages that expire", () => {
  const layerOf = (more: Record<string, string>) =>
    Layer.unwrap(Effect.map(temporaryEnvironment, (env) => layerSending(env, more)))

  layer(layerOf({ DELIVERY_RETRY_DELAY: "1 hour" }), { excludeTestServices: true })((it) => {
    it.effect("sends unexpired messages, and fails expired ones, also while their connection is paused", () =>
      Effect.gen(function* () {
        const server = yield* receiver()
        yield* furnish("paused", { url: server.url })
        const connections = yield* Connections
        yield* connections.put(org("paused"), "main", { paused: true })
        const late = yield* enqueue("paused", "late@example.com", { expiresAt: yield* inSeconds(60) })
        yield* letExpire("paused")
        yield* until("it has failed", Effect.map(only("paused"), ({ state }) => state === "failed"))
        const row = yield* only("paused")
        assert.deepInclude(row, { id: late.id, attempts: 0, connection: null })
        assert.match(row.reason!, /^Expired at \d{4}-\d{2}-\d{2}T\d{2}:00:00\.000Z before it was sent$/)
        assert.isNotNull(row.finishedAt)
        const deliveries = yield* Deliveries
        assert.deepInclude(yield* deliveries.summary(org("paused")), { failed: 1, queued: 0, cancelled: 0 })
        assert.deepStrictEqual(yield* inbox("paused"), ["failed"])
        const refusal = yield* Effect.flip(deliveries.retry(org("paused"), late.id))
        assert.match(refusal.message, /has expired \(.*\); ask Deliver for a new message/)
        const good = yield* enqueue("paused", "good@example.com", { expiresAt: yield* inSeconds(600) })
        yield* connections.put(org("paused"), "main", { paused: false })
        yield* untilDone("paused")
        assert.deepStrictEqual(server.arrivals.map(({ id }) => id), [good.id])
      }))

    it.effect("reports the number of attempts and the last failure of an expired message", () =>
      Effect.gen(function* () {
        const server = yield* receiver({ fault: () => ({ status: 500, body: { error: "no disk" } }) })
        yield* furnish("tried", { url: server.url })
        yield* enqueue("tried", "a@example.com", { expiresAt: yield* inSeconds(60) })
        yield* until("it was tried", Effect.map(only("tried"), ({ attempts }) => attempts === 1))
        yield* letExpire("tried")
        yield* until("it has failed", Effect.map(only("tried"), ({ state }) => state === "failed"))
        const row = yield* only("tried")
        assert.strictEqual(row.attempts, 1)
        assert.match(row.reason!, /^Expired at \S+ after 1 attempt: .*500.*no disk/)
        assert.lengthOf(server.requests, 1)
      }))

    it.effect("fails all expired messages of several organizations", () =>
      Effect.gen(function* () {
        for (const slug of ["many-a", "many-b"]) {
          yield* furnish(slug)
          yield* (yield* Connections).put(org(slug), "main", { paused: true })
          const expiresAt = yield* inSeconds(600)
          const send = (n: number) => enqueue(slug, `p${n}@example.com`, n % 10 === 0 ? {} : { expiresAt })
          yield* Effect.forEach(Array.from({ length: 700 }, (_, n) => n), send, { concurrency: 100 })
          const sql = yield* SqlClient.SqlClient
          yield* sql`
            UPDATE deliveries d SET expires_at = now() WHERE d.org_slug = ${slug} AND d.expires_at IS NOT NULL`
        }
        const deliveries = yield* Deliveries
        for (const slug of ["many-a", "many-b"]) {
          yield* until("they have ended", Effect.map(deliveries.summary(org(slug)), ({ failed }) => failed === 630))
          assert.strictEqual((yield* deliveries.summary(org(slug))).queued, 70, "those that do not expire")
        }
      }))
  })

  layer(layerOf({ DELIVERY_RATE: "1" }), { excludeTestServices: true })((it) => {
    it.effect("does not send a claimed message that expires before its turn", () =>
      Effect.gen(function* () {
        const release = yield* Deferred.make<void>()
        const server = yield* receiver({
          before: (n) => n === 0 ? Effect.runPromise(Deferred.await(release)) : undefined,
        })
        yield* furnish("claimed", { url: server.url })
        const first = yield* enqueue("claimed", "first@example.com")
        const late = yield* enqueue("claimed", "late@example.com", { expiresAt: yield* inSeconds(0.7) })
        const sql = yield* SqlClient.SqlClient
        yield* until(
          "the second message has expired",
          Effect.map(
            sql<{ late: boolean }>`SELECT d.expires_at < now() AS late FROM deliveries d WHERE d.id = ${late.id}`,
            ([row]) => row!.late,
          ),
        )
        yield* Deferred.succeed(release, undefined)
        yield* untilDone("claimed")
        assert.deepStrictEqual(server.arrivals.map(({ id }) => id), [first.id])
        assert.lengthOf(server.requests, 1)
        const row = (yield* deliveriesOf("claimed")).find(({ id }) => id === late.id)!
        assert.deepInclude(row, { state: "failed", attempts: 0 })
        assert.match(row.reason!, /^Expired at \S+ before it was sent$/)
      }))
  })
})
