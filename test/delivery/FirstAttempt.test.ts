import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Deliveries } from "../../src/delivery/Deliveries.ts"
import { type Claimed, Outbox } from "../../src/delivery/Outbox.ts"
import { org } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { again, failed, leaseEnds, take } from "./outboxSupport.ts"
import { enqueueMany, furnish, layerQueue } from "./support.ts"

describe("The date of a message", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, (env) => layerQueue(env))), { excludeTestServices: true })((it) => {
    it.effect("is the beginning of its first attempt, however long it was queued", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const sql = yield* SqlClient.SqlClient
        yield* furnish("dated")
        const [id] = yield* enqueueMany("dated", 1)
        const lane = yield* take("dated")
        const claim = Effect.map(outbox.claim(lane, 1), ([message]) => message!)
        /** Makes the message, and its first attempt, an hour older. */
        const pass = sql`
          UPDATE deliveries d SET queued_at = d.queued_at - interval '1 hour',
            first_attempt_at = d.first_attempt_at - interval '1 hour'
          WHERE d.org_slug = 'dated'`
        const hoursQueued = ({ firstAttemptAt, queuedAt }: Claimed) =>
          Math.floor((firstAttemptAt - queuedAt) / 3_600_000)

        yield* pass
        assert.strictEqual(hoursQueued(yield* claim), 1)
        yield* pass
        yield* outbox.giveBack(lane, [id!])
        assert.strictEqual(hoursQueued(yield* claim), 2, "a returned message did not begin")
        yield* pass
        yield* outbox.settle(lane, [again(id!, false)])
        const first = yield* claim
        assert.strictEqual(hoursQueued(first), 3, "a yielded message did not begin")
        yield* outbox.settle(lane, [again(id!, true)])
        const second = yield* claim
        assert.deepStrictEqual([second.attempt, second.firstAttemptAt], [2, first.firstAttemptAt])
        yield* outbox.giveBack(lane, [id!])
        assert.strictEqual((yield* claim).firstAttemptAt, first.firstAttemptAt)
        yield* outbox.settle(lane, [again(id!, false)])
        assert.strictEqual((yield* claim).firstAttemptAt, first.firstAttemptAt)
        yield* outbox.settle(lane, [failed(id!)])
        yield* pass
        yield* (yield* Deliveries).retry(org("dated"), id!)
        assert.strictEqual(hoursQueued(yield* claim), 4, "a person started the message anew")
      }))

    it.effect("stays after an interrupted attempt, which may have reached a server", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        yield* furnish("cut-date")
        const [id] = yield* enqueueMany("cut-date", 1)
        const [first] = yield* outbox.claim(yield* take("cut-date"), 1)
        yield* leaseEnds("cut-date", -2)
        const lane = yield* take("cut-date", "two")
        const [second] = yield* outbox.claim(lane, 1)
        yield* outbox.giveBack(lane, [id!])
        const [third] = yield* outbox.claim(lane, 1)
        assert.deepStrictEqual(
          [second!.firstAttemptAt, third!.firstAttemptAt],
          [first!.firstAttemptAt, first!.firstAttemptAt],
        )
      }))

    it.effect("stays for a message whose earlier attempts were made before their beginning was stored", () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const sql = yield* SqlClient.SqlClient
        yield* furnish("old-date")
        const [attempted, interrupted, untried] = yield* enqueueMany("old-date", 3)
        yield* sql`
          UPDATE deliveries d SET queued_at = d.queued_at - interval '1 hour', first_attempt_at = NULL,
            attempts = CASE WHEN d.id = ${attempted!} THEN 1 ELSE 0 END,
            interruptions = CASE WHEN d.id = ${interrupted!} THEN 1 ELSE 0 END
          WHERE d.org_slug = 'old-date'`
        const claimed = yield* outbox.claim(yield* take("old-date"), 3)
        const isDatedAsQueued = new Map(
          claimed.map(({ firstAttemptAt, id, queuedAt }) => [id, firstAttemptAt === queuedAt]),
        )
        assert.deepStrictEqual(
          [attempted, interrupted, untried].map((id) => isDatedAsQueued.get(id!)),
          [true, true, false],
        )
      }))
  })
})
