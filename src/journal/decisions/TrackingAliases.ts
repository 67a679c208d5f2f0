import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug, TemplateId } from "../../domain/Ids.ts"
import { recordset } from "../../store/Recordset.ts"

/** An additional tracking id of a decision. Events with this id are attributed to the decision. */
export interface TrackingAlias {
  readonly org: OrgSlug
  readonly templateId: TemplateId
  readonly alias: string
  /** The decision's first tracking id. */
  readonly trackingId: string
}

/**
 * Stores additional tracking ids of decisions. An existing alias keeps its decision. Fails with `SqlError` if the
 * database does not respond.
 */
export const insertAliases = (
  sql: SqlClient.SqlClient,
  aliases: ReadonlyArray<TrackingAlias>,
  nowMillis: number,
): Effect.Effect<void, SqlError> => {
  const rows = aliases.map(({ alias, org, templateId, trackingId }) => ({
    org_slug: org,
    alias,
    template_id: templateId,
    tracking_id: trackingId,
  }))
  return Effect.asVoid(sql`
    INSERT INTO tracking_aliases (org_slug, alias, template_id, tracking_id, created_at)
    SELECT r.org_slug, r.alias, r.template_id, r.tracking_id, ${new Date(nowMillis)}::timestamptz
    FROM ${recordset(rows, { org_slug: "text", alias: "text", template_id: "text", tracking_id: "text" })}
    ON CONFLICT DO NOTHING`)
}
