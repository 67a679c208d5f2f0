import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { deliverSource } from "../../../src/domain/Source.ts"
import { lockEvents } from "../../../src/journal/events/EventLock.ts"
import { type IncomingEvent, storeEvents } from "../../../src/journal/events/EventStore.ts"
import { matchWaiting } from "../../../src/journal/events/Matching.ts"
import { decide, layerQuiet, makeOrg, settle, tallies } from "../../intake/support.ts"
import { temporaryEnvironment } from "../../support/stores.ts"

// Clicks on links of this service wait a few seconds before they count.

const clickOf = (org: string, link: string, receivedAt: number, more: Partial<IncomingEvent> = {}): IncomingEvent => ({
  org,
  source: deliverSource,
  event: "click",
  key: `id:${link} ${receivedAt}`,
  trackingId: "m",
  templateId: undefined,
  user: undefined,
  inboxId: 1,
  receivedAt,
  occurredAt: receivedAt,
  automated: false,
  link,
  ...more,
})

const store = Effect.fnUntraced(function* (event: IncomingEvent) {
  const sql = yield* SqlClient.SqlClient
  yield* sql.withTransaction(
    Effect.andThen(lockEvents(sql, [event.org]), storeEvents(sql, [event], event.receivedAt)),
  )
})

const matchAt = (now: number) => Effect.flatMap(SqlClient.SqlClient, (sql) => matchWaiting(sql, now, 100))

const statuses = (slug: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      Effect.map(
        sql<{ status: string }>`SELECT e.status FROM events e WHERE e.org_slug = ${slug} ORDER BY e.event_key`,
        (rows) => rows.map(({ status }) => status),
      ),
  )

/** Counts of clicks by people in the ledger, each change by itself. */
const learned = (slug: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      Effect.map(
        sql<{ click: string }>`
          SELECT l.counts->>'click' AS click FROM tally_ledger l
          WHERE l.org_slug = ${slug} AND l.track = 'learned' AND l.counts->>'click' IS NOT NULL`,
        (rows) => rows.map(({ click }) => Number(click)),
      ),
  )

describe("clicks on links of this service", () => {
  const services = Layer.unwrap(Effect.map(temporaryEnvironment, layerQuiet))

  layer(services, { excludeTestServices: true })((it) => {
    it.effect("count three seconds after their receipt", () =>
      Effect.gen(function* () {
        yield* makeOrg("person")
        yield* decide("person", "m")
        const at = Date.now()
        yield* store(clickOf("person", "a", at))
        yield* matchAt(at + 2_999)
        assert.deepStrictEqual([yield* statuses("person"), yield* learned("person")], [["waiting"], []])
        yield* matchAt(at + 3_000)
        assert.deepStrictEqual([yield* statuses("person"), yield* learned("person")], [["attributed"], [1]])
      }))

    it.effect("are judged together, so that the model never learns from a scanner's first click", () =>
      Effect.gen(function* () {
        yield* makeOrg("scanned")
        yield* decide("scanned", "m")
        const at = Date.now()
        yield* store(clickOf("scanned", "a", at))
        yield* store(clickOf("scanned", "b", at + 1_500))
        yield* matchAt(at + 3_000)
        assert.deepStrictEqual(yield* statuses("scanned"), ["attributed", "attributed"])
        assert.deepStrictEqual(yield* learned("scanned"), [])
        yield* settle("scanned")
        assert.deepStrictEqual(yield* tallies("scanned"), [
          "a plan=pro automated: click 1, only_set_aside 1, set_aside_burst 2",
          "a plan=pro learned: decisions 1",
        ])
      }))

    it.effect("count at once if a program made them, or if another source reports them", () =>
      Effect.gen(function* () {
        yield* makeOrg("others")
        yield* decide("others", "m")
        const at = Date.now()
        yield* store(clickOf("others", "a", at, { automated: true }))
        yield* store(clickOf("others", "a", at + 60_000, { source: "events" }))
        assert.deepStrictEqual(yield* statuses("others"), ["attributed", "attributed"])
      }))
  })
})
