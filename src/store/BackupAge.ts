import { Effect, Metric } from "effect"
import type { SqlClient } from "effect/sql"

/** Time since the moment that the last recorded backup shows. Unit: seconds. Absent without a recorded backup. */
const backupAge = Metric.gauge("parlance_backup_age_seconds")

/** Updates the gauge of the last backup. Fails with `SqlError` if the database does not respond. */
export const measureBackupAge = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [row] = yield* sql<{ readonly seconds: number }>`
    SELECT extract(epoch FROM now() - b.shows_at)::float8 AS seconds FROM backups b`
  if (row !== undefined) yield* Metric.update(backupAge, row.seconds)
})
