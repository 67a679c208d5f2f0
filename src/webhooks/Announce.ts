import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { randomUUID } from "node:crypto"
import { recordset } from "../store/Recordset.ts"
import type { WebhookEvent } from "./EventTypes.ts"

/** Maximum number of events in one statement. */
const atOnce = 1_000

const columns = { org_slug: "text", id: "text", type: "text", body: "text", address_key: "text" } as const

/** An event with the address of its person, normalized for comparison. */
export type Announced = WebhookEvent & { readonly addressKey?: string | undefined }

/**
 * Stores events for the endpoints that subscribe to them. Call this in the transaction that causes the events. For
 * organizations without endpoints, costs one statement that finds no rows. Fails with `SqlError` if the database does
 * not respond.
 */
export const announce = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  events: ReadonlyArray<Announced>,
): Effect.fn.Return<void, SqlError> {
  if (events.length === 0) return
  const timestamp = new Date(yield* Clock.currentTimeMillis).toISOString()
  for (let start = 0; start < events.length; start += atOnce) {
    const rows = events.slice(start, start + atOnce).map(({ addressKey, data, type }) => ({
      org_slug: data.org,
      id: `evt_${randomUUID().replaceAll("-", "")}`,
      type,
      body: JSON.stringify({ type, timestamp, data }),
      address_key: addressKey,
    }))
    yield* sql`
      INSERT INTO outgoing_webhooks (org_slug, endpoint_id, id, type, body, address_key, created_at, state, due_at)
      SELECT r.org_slug, e.id, r.id, r.type, r.body, r.address_key, now(), 'pending', now()
      FROM ${recordset(rows, columns)}
      JOIN webhook_endpoints e ON e.org_slug = r.org_slug AND e.enabled
        AND (cardinality(e.events) = 0 OR r.type = ANY(e.events))`
  }
})

/** Whether an organization has endpoints. If it has none, callers can skip queries for the data of events. */
export const hasEndpoints = (sql: SqlClient.SqlClient, org: string): Effect.Effect<boolean, SqlError> =>
  Effect.map(
    sql`SELECT 1 FROM webhook_endpoints e WHERE e.org_slug = ${org} AND e.enabled LIMIT 1`,
    ({ length }) => length > 0,
  )

/** Deletes events with one of these addresses. Returns the number of deleted events. */
export const deleteAddresses = (
  sql: SqlClient.SqlClient,
  org: string,
  keys: ReadonlyArray<string>,
): Effect.Effect<number, SqlError> =>
  Effect.map(
    sql`DELETE FROM outgoing_webhooks w WHERE w.org_slug = ${org} AND w.address_key = ANY(${keys}::text[]) RETURNING w.id`,
    ({ length }) => length,
  )
