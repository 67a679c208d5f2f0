import { Effect, Metric } from "effect"
import type { SqlClient } from "effect/sql"

/** Numbers of pending erasures, and of erasures that have failed three times. */
const erasuresPending = Metric.gauge("parlance_erasures_pending")
const erasuresFailed = Metric.gauge("parlance_erasures_failed")

/** Updates the gauges of erasures. Fails with `SqlError` if the database does not respond. */
export const measureErasures = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [row] = yield* sql<{ readonly pending: number; readonly failed: number }>`
    SELECT count(*) FILTER (WHERE e.state = 'pending')::int AS pending,
      count(*) FILTER (WHERE e.state = 'failed')::int AS failed
    FROM erasures e WHERE e.state IN ('pending', 'failed')`
  yield* Metric.update(erasuresPending, row!.pending)
  yield* Metric.update(erasuresFailed, row!.failed)
})
