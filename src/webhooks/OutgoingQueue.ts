import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OutgoingWebhook, StoredSecret, WebhookAttempt } from "./WebhookEndpoints.ts"

// The queue of events for webhook endpoints. A node leases the events that it sends. If the node dies, another node
// sends them after the lease has expired.

/** Duration of the lease of an event. Unit: seconds. */
const leaseSeconds = 120

/** Maximum number of events of one endpoint that are leased at once, so that a slow endpoint does not delay others. */
const perEndpoint = 5

/** Maximum number of stored attempts of an event. */
const keptAttempts = 20

/** An endpoint that has only failed for this long is disabled. Unit: days. */
const failingDays = 5

/** An event to send. */
export interface Due extends Pick<OutgoingWebhook, "id" | "type" | "body" | "batch" | "createdAt"> {
  readonly orgSlug: string
  readonly endpointId: string
  readonly url: string
  readonly secrets: ReadonlyArray<StoredSecret>
  /** Number of earlier attempts. */
  readonly attempts: number
  /** Time since its first failure; 0 before a failure. Unit: milliseconds. */
  readonly failingMillis: number
}

/**
 * Leases due events: up to five of each enabled endpoint and `limit` in total. Fails with `SqlError` if the database
 * does not respond.
 */
export const takeDue = (sql: SqlClient.SqlClient, limit: number): Effect.Effect<ReadonlyArray<Due>, SqlError> =>
  sql<Due>`
    WITH due AS MATERIALIZED (
      SELECT e.org_slug, e.id AS endpoint_id, e.url, e.secrets, w.id
      FROM webhook_endpoints e CROSS JOIN LATERAL (
        SELECT w.id, w.due_at FROM outgoing_webhooks w
        WHERE w.org_slug = e.org_slug AND w.endpoint_id = e.id AND w.state = 'pending' AND w.due_at <= now()
        ORDER BY w.due_at LIMIT ${perEndpoint} FOR UPDATE SKIP LOCKED) w
      WHERE e.enabled ORDER BY w.due_at LIMIT ${limit}
    )
    UPDATE outgoing_webhooks w SET due_at = now() + ${leaseSeconds} * interval '1 second' FROM due d
    WHERE w.org_slug = d.org_slug AND w.endpoint_id = d.endpoint_id AND w.id = d.id
    RETURNING w.org_slug, w.endpoint_id, w.id, w.type, nullif(w.body, '') AS body, w.batch, w.created_at, d.url, d.secrets, w.attempts,
      coalesce(extract(epoch FROM now() - w.first_failed_at) * 1000, 0)::float8 AS failing_millis`

/** The result of an attempt: delivered, to be repeated after a pause, or given up. */
export type Outcome =
  | { readonly _tag: "delivered" }
  | { readonly _tag: "again"; readonly delayMillis: number }
  | { readonly _tag: "failed" }

/**
 * Stores the result of an attempt. `gone`: the endpoint requests no more events and is disabled. Fails with `SqlError`
 * if the database does not respond.
 */
export const recordAttempt = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  due: Pick<Due, "orgSlug" | "endpointId" | "id">,
  attempt: WebhookAttempt,
  outcome: Outcome,
  gone: boolean,
): Effect.fn.Return<void, SqlError> {
  const delaySeconds = outcome._tag === "again" ? outcome.delayMillis / 1000 : 0
  const state = outcome._tag === "again" ? "pending" : outcome._tag
  const isDelivered = state === "delivered"
  yield* sql.withTransaction(Effect.gen(function* () {
    yield* sql`
      UPDATE outgoing_webhooks w SET state = ${state}, attempts = w.attempts + 1,
        due_at = now() + ${delaySeconds} * interval '1 second',
        finished_at = CASE WHEN ${state === "pending"} THEN NULL ELSE now() END,
        first_failed_at = CASE WHEN ${isDelivered} THEN NULL ELSE coalesce(w.first_failed_at, now()) END,
        log = (SELECT json_agg(l.one ORDER BY l.n) FROM (
          SELECT one, n FROM json_array_elements(w.log) WITH ORDINALITY k(one, n)
          UNION ALL SELECT ${JSON.stringify(attempt)}::text::json, 1000000) l
          WHERE l.n > json_array_length(w.log) + 1 - ${keptAttempts}::int)
      WHERE w.org_slug = ${due.orgSlug} AND w.endpoint_id = ${due.endpointId} AND w.id = ${due.id}
        AND w.state = 'pending'`
    if (isDelivered) {
      yield* sql`
        UPDATE webhook_endpoints e SET failing_since = NULL
        WHERE e.org_slug = ${due.orgSlug} AND e.id = ${due.endpointId} AND e.failing_since IS NOT NULL`
      return
    }
    const reason = gone
      ? "It answered 410 Gone, which asks for no more events."
      : `It has failed for ${failingDays} days, at last: ${attempt.reason ?? "unknown"}`
    yield* sql`
      UPDATE webhook_endpoints e SET failing_since = coalesce(e.failing_since, now()),
        enabled = e.enabled AND NOT r.is_over, disabled_reason = CASE WHEN e.enabled AND r.is_over THEN ${reason}
          ELSE e.disabled_reason END
      FROM (SELECT f.org_slug, f.id,
        coalesce(${gone} OR f.failing_since < now() - ${failingDays} * interval '1 day', false) AS is_over
        FROM webhook_endpoints f WHERE f.org_slug = ${due.orgSlug} AND f.id = ${due.endpointId}) r
      WHERE e.org_slug = r.org_slug AND e.id = r.id`
  }))
})
