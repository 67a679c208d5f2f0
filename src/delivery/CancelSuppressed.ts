import { templateRows } from "../templates/TemplateRows.ts"
import { organizationRows } from "../organizations/OrganizationRows.ts"
import { recordset } from "../store/Recordset.ts"
import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug, TemplateId } from "../domain/Ids.ts"
import { OnSuppressed, type Suppressed } from "../suppressions/OnSuppressed.ts"
import { cancelledText } from "../suppressions/Suppression.ts"
import { report } from "./EndReports.ts"

/**
 * Cancels queued messages to newly suppressed addresses, unless their template ignores the reason. Call this in the
 * transaction that stores the suppressions. A message that is being sent is not cancelled: it is checked again before
 * its next attempt.
 */
const cancelSuppressed = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  suppressed: ReadonlyArray<Suppressed>,
): Effect.fn.Return<void, SqlError> {
  if (suppressed.length === 0) return
  const rows = suppressed.map((one) => ({
    org_slug: one.org,
    address_key: one.key,
    ignorable: one.reason === "unsubscribe",
    text: cancelledText(one),
  }))
  // Locks the rows in a fixed order, so that concurrent cancellations do not deadlock.
  const cancelled = yield* sql<{ orgSlug: OrgSlug; id: string; templateId: TemplateId }>`
    WITH queued AS MATERIALIZED (
      SELECT d.org_slug, d.id, r.text
      FROM ${recordset(rows, { org_slug: "text", address_key: "text", ignorable: "boolean", text: "text" })}
      JOIN ${sql.literal(organizationRows("suppression"))} ON o.slug = r.org_slug AND o.suppression
      JOIN deliveries d ON d.org_slug = r.org_slug AND d.address_key = r.address_key AND d.state = 'queued'
      WHERE NOT (r.ignorable AND EXISTS (SELECT 1 FROM ${sql.literal(templateRows)}
        WHERE t.org_slug = d.org_slug AND t.id = d.template_id AND t.ignore_unsubscribes))
      ORDER BY d.org_slug, d.id FOR UPDATE OF d
    )
    UPDATE deliveries d SET state = 'cancelled', reason = q.text, finished_at = now()
    FROM queued q WHERE d.org_slug = q.org_slug AND d.id = q.id AND d.state = 'queued'
    RETURNING d.org_slug, d.id, d.template_id`
  const byOrg = Map.groupBy(cancelled, ({ orgSlug }) => orgSlug)
  for (const [org, ended] of byOrg) {
    yield* sql`
      INSERT INTO delivery_counts AS c (org_slug, hour, state, count)
      VALUES (${org}, date_bin('1 hour', now(), 'epoch'), 'cancelled', ${ended.length})
      ON CONFLICT (org_slug, hour, state) DO UPDATE SET count = c.count + EXCLUDED.count`
    yield* report(sql, org, ended.map((one) => ({ ...one, _tag: "cancelled" })))
  }
})

/** Cancels queued messages whenever addresses are suppressed. */
export const layerCancelSuppressed = Layer.succeed(OnSuppressed, cancelSuppressed)
