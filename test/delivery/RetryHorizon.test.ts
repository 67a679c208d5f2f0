import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Connections } from "../../src/delivery/Connections.ts"
import { Deliveries } from "../../src/delivery/Deliveries.ts"
import { org } from "../intake/support.ts"
import { type SmtpFault, startSmtp } from "../support/platformServers/SmtpReceiver.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { receiver } from "./receiver.ts"
import { deliveriesOf, enqueue, furnish, layerSending, until } from "./support.ts"

/** An organization whose messages go to an SMTP server on this machine. */
const furnishSmtp = Effect.fnUntraced(function* (slug: string, fault: (n: number) => SmtpFault | undefined) {
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => startSmtp({ plain: true, fault })),
    ({ close }) => Effect.promise(close),
  )
  yield* furnish(slug)
  yield* (yield* Connections).put(org(slug), "mail", {
    platform: "smtp",
    settings: { host: "127.0.0.1", port: server.port, tls: "none", from: "news@shop.example" },
    default: true,
  })
  return server
})

const only = (slug: string) => Effect.map(deliveriesOf(slug), (rows) => rows[0]!)

const untilTried = (slug: string, attempts: number) =>
  until(`attempt ${attempts} is recorded`, Effect.map(only(slug), (row) => row.attempts === attempts))

/** Makes it `hours` ago that the first attempt failed, and lets the next one begin. */
const letPass = Effect.fnUntraced(function* (slug: string, hours: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    UPDATE deliveries d SET first_failed_at = now() - ${hours} * interval '1 hour', due_at = now()
    WHERE d.org_slug = ${slug}`
})

const hoursUntilDue = (slug: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ hours: number }>`
      SELECT (extract(epoch FROM d.due_at - now()) / 3600)::float8 AS hours FROM deliveries d
      WHERE d.org_slug = ${slug}`
    return row!.hours
  })

describe("Dispatcher with lasting failures", () => {
  layer(
    Layer.unwrap(Effect.map(temporaryEnvironment, (env) => layerSending(env, { DELIVERY_RETRY_DELAY: "1 hour" }))),
    { excludeTestServices: true },
  )((it) => {
    it.effect("fails a message one day after its first failure, and restarts the horizon after a manual retry", () =>
      Effect.gen(function* () {
        let works = false
        const server = yield* receiver({ fault: () => works ? undefined : { status: 500, body: { error: "no disk" } } })
        yield* furnish("day", { url: server.url })
        const { id } = yield* enqueue("day", "a@example.com")
        yield* untilTried("day", 1)
        yield* letPass("day", 23)
        yield* untilTried("day", 2)
        assert.strictEqual((yield* only("day")).state, "queued")
        assert.isBelow(yield* hoursUntilDue("day"), 1.1, "the last attempt is made when the day ends")
        yield* letPass("day", 24)
        yield* untilTried("day", 3)
        const row = yield* only("day")
        assert.strictEqual(row.state, "failed")
        assert.match(row.reason!, /^Given up after 24 hours and 3 attempts: .*500.*no disk/)
        yield* (yield* Deliveries).retry(org("day"), id)
        yield* untilTried("day", 1)
        assert.strictEqual((yield* only("day")).state, "queued", "it has another day")
        works = true
        yield* letPass("day", 1)
        yield* until("it is sent", Effect.map(only("day"), ({ state }) => state === "sent"))
      }))

    it.effect("retries for three days if the recipient's server defers the message", () =>
      Effect.gen(function* () {
        yield* furnishSmtp("grey", () => ({ at: "recipient", reply: "451 4.7.1 Greylisted, try again later" }))
        yield* enqueue("grey", "a@example.com")
        yield* untilTried("grey", 1)
        yield* letPass("grey", 71)
        yield* untilTried("grey", 2)
        assert.strictEqual((yield* only("grey")).state, "queued")
        yield* letPass("grey", 72)
        yield* untilTried("grey", 3)
        const row = yield* only("grey")
        assert.strictEqual(row.state, "failed")
        assert.match(row.reason!, /^Given up after 72 hours and 3 attempts: .*451 4\.7\.1 Greylisted/)
      }))

    it.effect("delays one message as long as the platform asks, and sends the others", () =>
      Effect.gen(function* () {
        const server = yield* receiver({
          fault: (n) => n === 0 ? { status: 500, headers: { "retry-after": "7200" } } : undefined,
        })
        yield* furnish("after", { url: server.url })
        const { id } = yield* enqueue("after", "a@example.com")
        yield* untilTried("after", 1)
        yield* enqueue("after", "b@example.com")
        yield* Effect.promise(() => server.until(() => server.arrivals.length === 1))
        assert.notStrictEqual(server.arrivals[0]!.id, id)
        assert.approximately(yield* hoursUntilDue("after"), 2, 0.1)
      }))
  })
})
