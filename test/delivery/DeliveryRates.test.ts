import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { DeliveryRates, keptHours, stepOf } from "../../src/delivery/DeliveryRates.ts"
import { Outbox, type Settled } from "../../src/delivery/Outbox.ts"
import type { TemplateId } from "../../src/domain/Ids.ts"
import { org } from "../intake/support.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { enqueue, enqueueMany, furnish, layerQueue } from "./support.ts"

describe("DeliveryRates", () => {
  const environment = temporaryEnvironment
  layer(Layer.unwrap(Effect.map(environment, (env) => layerQueue(env))), { excludeTestServices: true })((it) => {
    const minutesOf = Effect.fnUntraced(function* (slug: string) {
      const sql = yield* SqlClient.SqlClient
      return yield* sql<{ queued: number | null; oldest: number | null }>`
        SELECT m.queued::float8 AS queued, m.oldest_due_seconds AS oldest FROM delivery_minutes m
        WHERE m.org_slug = ${slug} ORDER BY m.minute`
    })

    it.effect("counts sent, failed and retried messages by minute, each once", () =>
      Effect.gen(function* () {
        const { series } = yield* DeliveryRates
        const outbox = yield* Outbox
        const slug = yield* furnish("counted")
        const ids = yield* enqueueMany("counted", 6)
        const lane = (yield* outbox.take(slug, "one"))!
        yield* outbox.claim(lane, 10)
        const about = (id: string) => ({ id, templateId: "t" as TemplateId, connection: "main", reason: "later" })
        const repeated = { _tag: "again", delayMillis: 60_000, burned: true } as const
        const settled: ReadonlyArray<Settled> = [
          { ...about(ids[0]!), _tag: "sent", messageId: undefined, links: [] },
          { ...about(ids[1]!), _tag: "sent", messageId: undefined, links: [] },
          { ...about(ids[2]!), _tag: "failed", burned: true },
          { ...about(ids[3]!), ...repeated },
          { ...about(ids[4]!), ...repeated },
          // A message that the platform postponed has no attempt.
          { ...about(ids[5]!), ...repeated, burned: false },
        ]
        yield* outbox.settle(lane, settled.slice(0, 3))
        yield* outbox.settle(lane, settled.slice(2))
        const { points, stepMinutes } = yield* series(slug, 1)
        assert.strictEqual(stepMinutes, 1)
        assert.strictEqual(points.length, 61, "an hour, and the minute that has begun")
        const sums = points.reduce(
          (sum, point) => [sum[0]! + point.sent, sum[1]! + point.failed, sum[2]! + point.retried],
          [0, 0, 0],
        )
        assert.deepStrictEqual(sums, [2, 1, 2])
        assert.deepStrictEqual(points.map(({ complete }) => complete).lastIndexOf(true), points.length - 2)
        assert.isTrue(points.every((point, i) => i === 0 || +points[i - 1]!.end === +point.start), "without gaps")
        assert.isTrue(points.every(({ minutes }) => minutes === 1))
      }))

    it.effect("samples the number and age of waiting messages once a minute, however many nodes sample", () =>
      Effect.gen(function* () {
        const { sample, series } = yield* DeliveryRates
        const sql = yield* SqlClient.SqlClient
        yield* furnish("waiting")
        yield* furnish("patient")
        yield* enqueueMany("waiting", 7)
        yield* enqueue("patient", "later@example.com", { sendAt: Date.now() + 3_600_000 })
        yield* sql`UPDATE deliveries d SET due_at = now() - interval '5 minutes' WHERE d.org_slug = 'waiting'
          AND d.email = 'p0@example.com'`
        // A minute may end meanwhile, which makes two of them.
        const before = (yield* sql<{ minute: Date }>`SELECT date_bin('1 minute', now(), 'epoch') AS minute`)[0]!.minute
        yield* Effect.all(Array.from({ length: 5 }, () => sample), { concurrency: "unbounded" })
        const after = (yield* sql<{ minute: Date }>`SELECT date_bin('1 minute', now(), 'epoch') AS minute`)[0]!.minute
        const seen = yield* minutesOf("waiting")
        assert.isAtMost(seen.length, 1 + (+after - +before) / 60_000)
        assert.strictEqual(seen[0]!.queued, 7)
        assert.isAtLeast(seen[0]!.oldest!, 300)
        assert.deepStrictEqual(yield* minutesOf("patient"), [], "nothing of it is due")

        yield* sql`UPDATE delivery_minutes m SET minute = m.minute - interval '10 minutes' WHERE m.org_slug = 'waiting'`
        const { points } = yield* series(org("waiting"), 1)
        const at = points.findIndex(({ queued }) => queued === 7)
        assert.isAtLeast(points[at]!.oldestDueSeconds!, 300)
        assert.deepStrictEqual(
          points.slice(at - 3, at).map(({ queued }) => queued),
          [null, null, null],
          "what waited later waited then, and nobody looked",
        )
        assert.deepStrictEqual(points[at - 10]!.queued, 0)
        assert.deepStrictEqual(points[at + 3]!.oldestDueSeconds, 0)
        assert.isNull(points.at(-1)!.queued, "it has not been looked in this minute")
      }))

    it.effect("keeps minutes for 35 days, and answers for as long in at most about 100 stretches", () =>
      Effect.gen(function* () {
        const { forget, series } = yield* DeliveryRates
        const sql = yield* SqlClient.SqlClient
        const slug = yield* furnish("old")
        yield* sql`
          INSERT INTO delivery_minutes (org_slug, minute, sent)
          SELECT 'old', date_bin('1 minute', now(), 'epoch') - d.days * interval '1 day', 10
          FROM unnest(ARRAY[36, 40, 30, 8, 0]) AS d(days)`
        yield* forget
        assert.strictEqual((yield* minutesOf("old")).length, 3)
        for (const hours of [1, 2, 24, 168, 200, keptHours]) {
          const { points, stepMinutes } = yield* series(slug, hours)
          assert.strictEqual(stepMinutes, stepOf(hours))
          assert.isAtMost(points.length, 102)
          assert.isAtLeast(points.length, Math.floor(hours * 60 / stepMinutes))
          const all = points.reduce((sum, { sent }) => sum + sent, 0)
          assert.strictEqual(all, hours < 192 ? 10 : hours < 720 ? 20 : 30, `${hours} hours`)
        }
      }))
  })
})
