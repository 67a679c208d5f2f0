import type { SqlClient } from "effect/sql"
import type { DecisionRow } from "../events/DecisionRef.ts"
import { noMessage } from "./Decision.ts"

/** A decision with the probabilities it was made with. */
export interface PagedDecision extends DecisionRow {
  /** Probabilities of all variants it was chosen among. */
  readonly weights: Readonly<Record<string, number>> | null
}

/** Which decisions of an organization to read. */
export interface DecisionFilter {
  readonly since: Date
  /** All templates unless given. */
  readonly template?: string | undefined
  readonly limit: number
}

/**
 * The next page of decisions that were sent, in the order of tracking id and template. Fails with `SqlError` when the store does
 * not answer.
 */
export const decisionsAfter = (
  sql: SqlClient.SqlClient,
  org: string,
  after: { readonly trackingId: string; readonly templateId: string },
  { limit, since, template }: DecisionFilter,
) =>
  sql<PagedDecision>`
    SELECT d.tracking_id, d.template_id, d.copy_id, d.segment, d.mode, d.propensity, d.weights, d.user_id,
      d.decided_at FROM decisions d
    WHERE d.org_slug = ${org} AND (d.tracking_id, d.template_id) > (${after.trackingId}, ${after.templateId})
      AND d.decided_at >= ${since} AND d.copy_id <> ${noMessage}
      AND ${template === undefined ? sql`TRUE` : sql`d.template_id = ${template}`}
    ORDER BY d.tracking_id, d.template_id LIMIT ${limit}`
