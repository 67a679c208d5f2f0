import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { mailSource } from "../../domain/Source.ts"

/**
 * Messages of each of some organizations that mail servers refused because of the sender or the content, by reports
 * that arrived in this and the previous hour. Fails with `SqlError` when the database does not respond.
 */
export const refusedByReport = (
  sql: SqlClient.SqlClient,
  orgs: ReadonlyArray<string>,
): Effect.Effect<ReadonlyMap<string, number>, SqlError> =>
  Effect.map(
    sql<{ orgSlug: string; refused: number }>`
      SELECT i.org_slug, count(*)::float8 AS refused
      FROM inbox i JOIN events e ON e.org_slug = i.org_slug AND e.inbox_id = i.id AND e.source = i.source
      WHERE i.org_slug = ANY(${orgs}::text[]) AND i.source = ${mailSource}
        AND i.received_at >= date_bin('1 hour', now() - interval '1 hour', 'epoch') AND e.event = 'failed'
      GROUP BY i.org_slug`,
    (rows) => new Map(rows.map(({ orgSlug, refused }) => [orgSlug, refused])),
  )
