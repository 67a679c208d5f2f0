import { organizationRows } from "../organizations/OrganizationRows.ts"
import { Effect, Metric } from "effect"
import type { SqlClient } from "effect/sql"

/** Messages that are due, at most 100,000. */
const deliveriesDue = Metric.gauge("parlance_deliveries_due")
/** Age of the oldest due message. Unit: seconds. */
const oldestDue = Metric.gauge("parlance_deliveries_oldest_due_seconds")
/** Connections that are paused because the server refused too many messages. */
const connectionsRefusing = Metric.gauge("parlance_connections_refusing")

/** Updates the gauges of the delivery queue. Fails with `SqlError` when the database does not respond. */
export const measureDeliveries = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [row] = yield* sql<{ readonly due: number; readonly refusing: number; readonly oldest: number }>`
    SELECT (SELECT count(*)::int FROM (SELECT FROM deliveries d WHERE d.state = 'queued' AND d.due_at <= now()
        LIMIT 100000) q) AS due,
      (SELECT count(*)::int FROM connections c WHERE c.enabled AND c.refusing IS NOT NULL) AS refusing,
      (SELECT COALESCE(max(extract(epoch FROM now() - f.due_at)), 0)::float8 FROM ${
    sql.literal(organizationRows())
  } CROSS JOIN LATERAL (
        SELECT d.due_at FROM deliveries d WHERE d.org_slug = o.slug AND d.state = 'queued' AND d.due_at <= now()
        ORDER BY d.org_slug, d.due_at, d.id LIMIT 1) f) AS oldest`
  yield* Metric.update(deliveriesDue, row!.due)
  yield* Metric.update(connectionsRefusing, row!.refusing)
  yield* Metric.update(oldestDue, row!.oldest)
})
