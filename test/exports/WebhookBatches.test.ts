import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { WebhookBatch } from "../../clients/typescript/src/index.ts"
import { decode, type Stream } from "../../src/exports/Cursor.ts"
import { columnsOf, Exports } from "../../src/exports/Exports.ts"
import * as WebhookBatches from "../../src/exports/WebhookBatches.ts"
import { BatchBodies } from "../../src/webhooks/BatchBodies.ts"
import { type BatchedType, batchedTypes, batchTypes } from "../../src/webhooks/BatchTypes.ts"
import { type BatchRange, syncFeeds } from "../../src/webhooks/Feeds.ts"
import { layerMigrated, temporaryEnvironment } from "../support/stores.ts"

interface Batch {
  readonly orgSlug: string
  readonly id: string
  readonly type: BatchedType
  readonly createdAt: Date
  readonly batch: BatchRange
}

/** An organization with an endpoint that chose these types an hour ago. */
const insertEndpoint = Effect.fnUntraced(function* (org: string, events: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO organizations (slug, name, created_at, updated_at) VALUES (${org}, ${org}, now(), now())`
  yield* sql`
    INSERT INTO webhook_endpoints (org_slug, id, url, description, events, enabled, secrets, created_at, updated_at)
    VALUES (${org}, 'e', 'https://example.com', '', ${[...events]}::text[], true, '[]', now(), now())`
  yield* syncFeeds(sql, org, { id: "e", events }, true)
  yield* sql`UPDATE webhook_feeds SET since = now() - interval '1 hour' WHERE org_slug = ${org}`
  return org
})

const insertDecisions = Effect.fnUntraced(function* (org: string, first: number, last: number, minutesAgo = 30) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO decisions (org_slug, tracking_id, template_id, copy_id, user_id, mode, segment, policy, decided_at)
    SELECT ${org}, 'id-' || i, 't', 'a', 'user-' || i, 'bandit', '', '1',
      now() - ${minutesAgo} * interval '1 minute' + i * interval '1 millisecond'
    FROM generate_series(${first}::int, ${last}::int) i`
})

const insertEvent = Effect.fnUntraced(function* (org: string, key: string, event: string, more: object = {}) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO events ${
    sql.insert({
      orgSlug: org,
      source: "provider_a",
      eventKey: key,
      templateId: "t",
      trackingId: "id-1",
      inboxId: 1,
      event,
      occurredAt: new Date(Date.now() - 31 * 60_000),
      receivedAt: new Date(Date.now() - 30 * 60_000),
      automated: false,
      status: "attributed",
      ...more,
    })
  }`
})

/** Makes the batches of an organization as if two minutes had passed since rows were stored. */
const drain = Effect.fnUntraced(function* (org: string) {
  const sql = yield* SqlClient.SqlClient
  const feeds = yield* sql<{ stream: Stream; cursor: string | null }>`
    SELECT stream, cursor FROM webhook_feeds WHERE org_slug = ${org}`
  for (const { cursor, stream } of feeds) {
    const before = cursor === null ? undefined : decode(cursor, stream)?.late.at
    yield* sql`
      UPDATE late_rows SET noted_at = coalesce(${before}::timestamptz + interval '1 millisecond',
        now() - interval '20 minutes')
      WHERE org_slug = ${org} AND stream = ${stream} AND noted_at > now() - interval '1 minute'`
  }
  yield* sql`UPDATE webhook_feeds SET due_at = now() - interval '1 second' WHERE org_slug = ${org}`
  yield* Effect.flatten(WebhookBatches.make)
})

const batchesOf = Effect.fnUntraced(function* (org: string) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<Batch>`
    SELECT org_slug, id, type, created_at, batch FROM outgoing_webhooks WHERE org_slug = ${org} ORDER BY created_at, type`
})

const bodyOf = (batch: Batch) =>
  Effect.flatMap(BatchBodies, (read) => Effect.map(read(batch), (body) => JSON.parse(body)))

describe("webhook batches", () => {
  const layer = WebhookBatches.layerBatchBodies.pipe(
    Layer.provideMerge(Exports.layer),
    Layer.provideMerge(layerMigrated(temporaryEnvironment)),
  )
  it.layer(layer, { excludeTestServices: true })((it) => {
    it.effect("hold up to 1,000 decisions, each in one batch", () =>
      Effect.gen(function* () {
        const org = yield* insertEndpoint("many", ["decision.made"])
        yield* insertDecisions(org, 1, 2_500)
        yield* drain(org)
        const batches = yield* batchesOf(org)
        const bodies = yield* Effect.forEach(batches, bodyOf)
        const events = bodies.flatMap(({ data }) => data.events)
        assert.isAtMost(Math.max(...batches.map(({ batch }) => batch.count)), 1_000)
        assert.deepStrictEqual(bodies.map(({ data }) => data.events.length), batches.map(({ batch }) => batch.count))
        assert.lengthOf(new Set(events.map(({ id }) => id)), 2_500)
        assert.deepInclude(events.find(({ tracking_id }) => tracking_id === "id-7"), {
          copy_id: "a",
          user_id: "user-7",
        })
        assert.deepInclude(bodies[0], { type: "decision.made", timestamp: batches[0]!.createdAt.toISOString() })
        assert.strictEqual(bodies[0].data.org, org)
      }))

    it.effect("separate types, and leave out types that were not chosen and ignored events", () =>
      Effect.gen(function* () {
        const org = yield* insertEndpoint("types", ["message.opened", "message.bounced", "delivery.failed"])
        yield* insertEvent(org, "1", "open", { automated: true })
        yield* insertEvent(org, "2", "click", { link: "https://example.com" })
        yield* insertEvent(org, "3", "bounce", { email: "ann@example.com" })
        yield* insertEvent(org, "4", "soft_bounce")
        yield* insertEvent(org, "5", "open", { status: "ignored" })
        yield* insertDecisions(org, 1, 1)
        yield* drain(org)
        const [bounced, opened, ...others] = yield* Effect.flatMap(batchesOf(org), Effect.forEach(bodyOf))
        assert.deepStrictEqual(others, [])
        assert.deepInclude(opened.data.events, { ...opened.data.events[0], automated: true, tracking_id: "id-1" })
        assert.lengthOf(opened.data.events, 1)
        const bounces = bounced.data.events as ReadonlyArray<{ event: string; email: string | null }>
        assert.sameDeepMembers(bounces.map(({ email, event }) => [event, email]), [
          ["bounce", "ann@example.com"],
          ["soft_bounce", null],
        ])
      }))

    it.effect("have the same content in every attempt, and lack people who were erased since", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const org = yield* insertEndpoint("repeated", ["message.clicked"])
        yield* insertEvent(org, "1", "click", { email: "ann@example.com" })
        yield* insertEvent(org, "2", "click")
        yield* drain(org)
        const [batch] = yield* batchesOf(org)
        const first = yield* bodyOf(batch!)
        yield* insertEvent(org, "3", "click")
        assert.deepStrictEqual(yield* bodyOf(batch!), first)
        yield* drain(org)
        const [, later] = yield* batchesOf(org)
        assert.lengthOf((yield* bodyOf(later!)).data.events, 1)
        yield* sql`DELETE FROM events WHERE org_slug = ${org} AND event_key = '1'`
        const { data: { events } } = yield* bodyOf(batch!)
        assert.deepStrictEqual(
          events,
          first.data.events.filter(({ email }: { email: string | null }) => email === null),
        )
      }))

    it.effect("repeat a row that changed in a later batch, with the id of its event", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const org = yield* insertEndpoint("changed", ["decision.made"])
        yield* insertDecisions(org, 1, 1)
        yield* drain(org)
        const [batch] = yield* batchesOf(org)
        const [before] = (yield* bodyOf(batch!)).data.events
        yield* sql`UPDATE decisions SET user_id = NULL WHERE org_slug = ${org}`
        assert.deepStrictEqual((yield* bodyOf(batch!)).data.events, [], "a retry leaves it to the later batch")
        yield* drain(org)
        const [, later] = yield* batchesOf(org)
        assert.deepStrictEqual((yield* bodyOf(later!)).data.events, [{ ...before, user_id: null }])
      }))

    it.effect("wait in the stream while an endpoint has 50 unfinished batches or is disabled", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const org = yield* insertEndpoint("slow", ["decision.made"])
        yield* sql`
          INSERT INTO outgoing_webhooks (org_slug, endpoint_id, id, type, body, batch, created_at, state, due_at)
          SELECT ${org}, 'e', i::text, 'decision.made', '', '{}', now(), 'pending', now() FROM generate_series(1, 50) i`
        yield* insertDecisions(org, 1, 3)
        yield* drain(org)
        assert.lengthOf(yield* batchesOf(org), 50)
        yield* sql`UPDATE webhook_endpoints SET enabled = false WHERE org_slug = ${org}`
        yield* sql`DELETE FROM outgoing_webhooks WHERE org_slug = ${org}`
        yield* drain(org)
        assert.deepStrictEqual(yield* batchesOf(org), [])
        yield* sql`UPDATE webhook_endpoints SET enabled = true WHERE org_slug = ${org}`
        yield* drain(org)
        assert.deepStrictEqual((yield* batchesOf(org)).map(({ batch }) => batch.count), [3])
      }))

    it.effect("keep the position of a feed while its stream is chosen", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const org = yield* insertEndpoint("edited", ["message.opened", "delivery.sent"])
        yield* drain(org)
        const feeds = sql<{ stream: string; isNew: boolean }>`
          SELECT stream, cursor IS NULL AS is_new FROM webhook_feeds WHERE org_slug = ${org} ORDER BY stream`
        yield* syncFeeds(sql, org, { id: "e", events: ["message.clicked", "decision.made"] }, false)
        assert.deepStrictEqual(yield* feeds, [{ stream: "decisions", isNew: true }, { stream: "events", isNew: false }])
        yield* syncFeeds(sql, org, { id: "e", events: ["message.clicked"] }, true)
        assert.deepStrictEqual(yield* feeds, [{ stream: "events", isNew: true }])
        yield* syncFeeds(sql, org, { id: "e", events: [] }, false)
        assert.deepStrictEqual(yield* feeds, [])
      }))
  })

  it("have the types that the client for TypeScript declares", () => {
    const declared: Readonly<Record<WebhookBatch["type"], true>> = {
      "delivery.sent": true,
      "message.opened": true,
      "message.clicked": true,
      "message.bounced": true,
      "decision.made": true,
    }
    assert.deepStrictEqual(Object.keys(declared), [...batchedTypes])
  })

  it("are made of the columns of their export", () => {
    for (const type of batchedTypes) {
      const { example, key, members, stream } = batchTypes[type]
      const columns = Object.values(members).map(([column]) => column)
      assert.includeMembers([...columnsOf[stream]], [...columns, ...key], type)
      assert.hasAllKeys(example, Object.keys(members), type)
    }
  })
})
