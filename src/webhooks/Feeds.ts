import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { randomUUID } from "node:crypto"
import { recordset } from "../store/Recordset.ts"
import { batchedAmong, type BatchedType, batchTypes, type FeedStream } from "./BatchTypes.ts"

// Feeds of webhook endpoints: the position of an endpoint in a stream of rows, from which its batches are made.

/** Maximum number of unfinished batches of an endpoint. The rows of later batches wait in their own tables. */
const unfinishedMax = 50

/** The pause after all rows of a stream were read. Unit: seconds. */
const pauseSeconds = 5

/** The part of a stream that a batch covers: the rows after `from`, up to `to`. Both are cursors of exports. */
export interface BatchRange {
  readonly from: string
  readonly to: string
  /** Number of events when the batch was stored. Erasures and retention can remove some later. */
  readonly count: number
}

/** A feed whose next page is due. */
export interface DueFeed {
  readonly orgSlug: string
  readonly endpointId: string
  readonly stream: FeedStream
  readonly since: Date
  readonly cursor: string | null
  /** The types that the endpoint chose. */
  readonly events: ReadonlyArray<string>
}

/**
 * Makes the feeds of an endpoint match the types that it chose. Feeds that remain keep their position. `isNew` starts
 * all feeds at the present. Call this in the transaction that changes the endpoint. Fails with `SqlError` if the
 * database does not respond.
 */
export const syncFeeds = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  endpoint: { readonly id: string; readonly events: ReadonlyArray<string> },
  isNew: boolean,
): Effect.fn.Return<void, SqlError> {
  const streams = [...new Set(batchedAmong(endpoint.events).map((type) => batchTypes[type].stream))]
  yield* sql`
    DELETE FROM webhook_feeds f WHERE f.org_slug = ${org} AND f.endpoint_id = ${endpoint.id}
      AND (${isNew} OR f.stream <> ALL(${streams}::text[]))`
  if (streams.length === 0) return
  yield* sql`
    INSERT INTO webhook_feeds (org_slug, endpoint_id, stream, since, due_at)
    SELECT ${org}, ${endpoint.id}, s.stream, now(), now() FROM unnest(${streams}::text[]) s(stream)
    ON CONFLICT DO NOTHING`
})

/**
 * Locks the enabled feed that has been due longest, and that no other node holds. Undefined if there is none. Call this
 * in the transaction that advances the feed. Fails with `SqlError` if the database does not respond.
 */
export const takeFeed = (sql: SqlClient.SqlClient): Effect.Effect<DueFeed | undefined, SqlError> =>
  Effect.map(
    sql<DueFeed>`
      SELECT f.org_slug, f.endpoint_id, f.stream, f.since, f.cursor, e.events
      FROM webhook_feeds f JOIN webhook_endpoints e ON e.org_slug = f.org_slug AND e.id = f.endpoint_id AND e.enabled
      WHERE f.due_at <= clock_timestamp() AND (
        SELECT count(*) FROM outgoing_webhooks w
        WHERE w.org_slug = f.org_slug AND w.endpoint_id = f.endpoint_id AND w.state = 'pending' AND w.batch IS NOT NULL
      ) < ${unfinishedMax}
      ORDER BY f.due_at LIMIT 1 FOR UPDATE OF f SKIP LOCKED`,
    ([feed]) => feed,
  )

/**
 * Stores the batches of a page, and the position after it. Call this in the transaction of `takeFeed`. Fails with
 * `SqlError` if the database does not respond.
 */
export const advanceFeed = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { endpointId, orgSlug, stream }: DueFeed,
  page: {
    readonly cursor: string
    readonly hasMore: boolean
    readonly batches: ReadonlyArray<{ readonly type: BatchedType; readonly range: BatchRange }>
  },
): Effect.fn.Return<void, SqlError> {
  const rows = page.batches.map(({ range, type }) => ({
    id: `evt_${randomUUID().replaceAll("-", "")}`,
    type,
    batch: JSON.stringify(range),
  }))
  if (rows.length > 0) {
    yield* sql`
      INSERT INTO outgoing_webhooks (org_slug, endpoint_id, id, type, body, batch, created_at, state, due_at)
      SELECT ${orgSlug}, ${endpointId}, r.id, r.type, '', r.batch::json, now(), 'pending', now()
      FROM ${recordset(rows, { id: "text", type: "text", batch: "text" })}`
  }
  yield* sql`
    UPDATE webhook_feeds f SET cursor = ${page.cursor},
      due_at = clock_timestamp() + ${page.hasMore ? 0 : pauseSeconds} * interval '1 second'
    WHERE f.org_slug = ${orgSlug} AND f.endpoint_id = ${endpointId} AND f.stream = ${stream}`
})
