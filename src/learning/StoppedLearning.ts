import { templateRows } from "../templates/TemplateRows.ts"
import { Effect, Metric } from "effect"
import type { SqlClient } from "effect/sql"

/** Number of templates whose learning has stopped after three failed attempts to fold their ledger. */
const learningStopped = Metric.gauge("parlance_learning_stopped")

/** Updates the gauge of stopped templates. Fails with `SqlError` if the database does not respond. */
export const measureStoppedLearning = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [row] = yield* sql<{ readonly stopped: number }>`
    SELECT count(*)::int AS stopped FROM fold_attempts a
    JOIN ${sql.literal(templateRows)} ON t.org_slug = a.org_slug AND t.id = a.template_id
    WHERE a.stopped_at IS NOT NULL`
  yield* Metric.update(learningStopped, row!.stopped)
})
