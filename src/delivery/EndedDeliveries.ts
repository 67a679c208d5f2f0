import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"

/**
 * For each organization: the number of deliveries that failed, and that were sent or failed (`ended`), in this and the
 * previous hour. Deliveries that were queued again do not count. Fails with `SqlError` if the database does not
 * respond.
 */
export const endedDeliveries = (
  sql: SqlClient.SqlClient,
  orgs: ReadonlyArray<string>,
): Effect.Effect<ReadonlyMap<string, { readonly failed: number; readonly ended: number }>, SqlError> =>
  Effect.map(
    sql<{ orgSlug: string; failed: number; ended: number }>`
      SELECT c.org_slug, COALESCE(sum(c.count) FILTER (WHERE c.state = 'failed'), 0)::float8 AS failed,
        sum(c.count)::float8 AS ended
      FROM delivery_counts c
      WHERE c.org_slug = ANY(${orgs}::text[]) AND c.state IN ('sent', 'failed')
        AND c.hour >= date_bin('1 hour', now() - interval '1 hour', 'epoch')
      GROUP BY c.org_slug`,
    (rows) => new Map(rows.map(({ ended, failed, orgSlug }) => [orgSlug, { ended, failed }])),
  )
