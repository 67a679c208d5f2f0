import { recordset } from "../../store/Recordset.ts"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"

/** The tracking id that belongs to a platform's message id. */
interface MessageLink {
  readonly source: string
  readonly messageKey: string
  readonly trackingId: string
}

/**
 * Stores links of messages; existing links stay unchanged. Call this in a transaction. Fails with `SqlError` if the
 * database does not respond.
 */
export const addMessageLinks = (
  sql: SqlClient.SqlClient,
  org: string,
  links: ReadonlyArray<MessageLink>,
): Effect.Effect<void, SqlError> => {
  if (links.length === 0) return Effect.void
  const rows = links.map(({ messageKey, source, trackingId }) => ({
    source,
    message_key: messageKey,
    tracking_id: trackingId,
  }))
  return Effect.asVoid(sql`
    INSERT INTO attribution_links (org_slug, source, message_key, tracking_id, created_at)
    SELECT ${org}, r.source, r.message_key, r.tracking_id, now()
    FROM ${recordset(rows, { source: "text", message_key: "text", tracking_id: "text" })}
    ORDER BY 1, 2, 3
    ON CONFLICT DO NOTHING`)
}
