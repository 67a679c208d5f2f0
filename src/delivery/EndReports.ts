import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug, TemplateId } from "../domain/Ids.ts"
import { deliverSource } from "../domain/Source.ts"
import { reportOwn } from "../journal/inbox/ownReports.ts"
import { announce, hasEndpoints } from "../webhooks/Announce.ts"

// Reports ended messages: to the counts, to the inbox as events, and to webhook endpoints.

/**
 * CTEs that add the rows of the CTE `updated` (id, state, burned) to the counts of ended messages and to the counts of
 * attempts per minute.
 */
export const countEnded = (sql: SqlClient.SqlClient, org: OrgSlug) =>
  sql`counted AS (
      INSERT INTO delivery_counts AS c (org_slug, hour, state, count)
      SELECT ${org}, date_bin('1 hour', now(), 'epoch'), u.state, count(*) FROM updated u
      WHERE u.state <> 'queued' GROUP BY u.state
      ON CONFLICT (org_slug, hour, state) DO UPDATE SET count = c.count + EXCLUDED.count
    ), timed AS (
      INSERT INTO delivery_minutes AS m (org_slug, minute, sent, failed, retried)
      SELECT ${org}, date_bin('1 minute', now(), 'epoch'), count(*) FILTER (WHERE u.state = 'sent'),
        count(*) FILTER (WHERE u.state = 'failed'), count(*) FILTER (WHERE u.state = 'queued')
      FROM updated u
      WHERE u.state IN ('sent', 'failed') OR (u.state = 'queued' AND u.burned = 1) HAVING count(*) > 0
      ON CONFLICT (org_slug, minute) DO UPDATE SET sent = m.sent + EXCLUDED.sent,
        failed = m.failed + EXCLUDED.failed, retried = m.retried + EXCLUDED.retried
    )`

/** Announces failed messages to webhook endpoints. Reads the messages in the caller's transaction. */
export const announceFailed = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  ids: ReadonlyArray<string>,
): Effect.fn.Return<void, SqlError> {
  if (ids.length === 0 || !(yield* hasEndpoints(sql, org))) return
  const rows = yield* sql<FailedRow>`
    SELECT d.id, d.template_id, d.copy_id, d.email, d.address_key, d.connection, d.reason, d.attempts, d.queued_at,
      coalesce(d.finished_at, now()) AS failed_at
    FROM deliveries d WHERE d.org_slug = ${org} AND d.id = ANY(${ids}::text[]) AND d.state = 'failed'`
  yield* announce(
    sql,
    rows.map(({ addressKey, attempts, connection, copyId, email, failedAt, id, queuedAt, reason, templateId }) => ({
      type: "delivery.failed",
      addressKey: addressKey ?? undefined,
      data: {
        org,
        id,
        template_id: templateId,
        copy_id: copyId,
        email,
        connection,
        reason,
        attempts,
        queued_at: queuedAt.toISOString(),
        failed_at: failedAt.toISOString(),
      },
    })),
  )
})

interface FailedRow {
  readonly id: string
  readonly templateId: string
  readonly copyId: string
  readonly email: string | null
  readonly addressKey: string | null
  readonly connection: string | null
  readonly reason: string | null
  readonly attempts: number
  readonly queuedAt: Date
  readonly failedAt: Date
}

/**
 * Stores the results of messages in the inbox as events, so that the model learns from them as from a platform's
 * reports: `sent`, or `failed` for a message that was never sent. Call this in the transaction that changes the state
 * of the messages.
 */
export const report = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  ended: ReadonlyArray<{ readonly id: string; readonly templateId: TemplateId; readonly _tag: string }>,
): Effect.fn.Return<void, SqlError> {
  yield* reportOwn(sql, {
    org,
    source: deliverSource,
    headers: {},
    items: ended.map(({ _tag, id, templateId }) => ({
      event: _tag === "sent" ? "sent" : "failed",
      event_id: `${id} ${_tag}`,
      tracking_id: id,
      template_id: templateId,
    })),
  })
  yield* announceFailed(sql, org, ended.flatMap(({ _tag, id }) => _tag === "failed" ? [id] : []))
})
