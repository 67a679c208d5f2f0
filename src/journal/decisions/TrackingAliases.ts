import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug, TemplateId } from "../../domain/Ids.ts"
import { recordset } from "../../store/Recordset.ts"

/** Another tracking id of a decision, so that events under it are credited to the decision. */
export interface TrackingAlias {
  readonly org: OrgSlug
  readonly templateId: TemplateId
  readonly alias: string
  /** The decision's own. */
  readonly trackingId: string
}

/** Stores further tracking ids of decisions. One that is known already keeps its decision. */
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
