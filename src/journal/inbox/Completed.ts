import { recordset } from "../../store/Recordset.ts"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

/** Final status and counts of a body. */
interface CompletedBody {
  readonly id: number
  readonly status: "done" | "partial" | "rejected"
  readonly events: number
  readonly duplicates: number
  readonly ignored: number
  readonly unused: ReadonlyArray<unknown>
  readonly faults: ReadonlyArray<unknown>
}

const jsonOf = (list: ReadonlyArray<unknown>): string | null => list.length === 0 ? null : JSON.stringify(list)

/**
 * Records the final status of bodies, unless another node has done so or the body was rejected. `since` selects the
 * partitions: it must not be later than the receipt of the first body. Fails with `SqlError` if the database does not
 * respond.
 */
export const noteCompleted = (sql: SqlClient.SqlClient, bodies: ReadonlyArray<CompletedBody>, since: Date) => {
  const rows = bodies.map(({ faults, unused, ...body }) => ({
    ...body,
    unused: jsonOf(unused),
    faults: jsonOf(faults),
  }))
  return sql`
    UPDATE inbox i SET status = r.status, events = r.events, duplicates = r.duplicates, ignored = r.ignored,
      unused = r.unused::json, faults = r.faults::json
    FROM ${
    recordset(rows, {
      id: "bigint",
      events: "int",
      duplicates: "int",
      ignored: "int",
      unused: "text",
      faults: "text",
      status: "text",
    })
  }
    WHERE i.id = r.id AND i.id = ANY(${rows.map(({ id }) => id)}::bigint[]) AND i.status = 'pending'
      AND i.received_at >= ${since}`
}

/** Reads the id of the latest pending body; null without a pending body. */
export const lastPending = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql<{ readonly id: number | null }>`SELECT max(i.id)::float8 AS id FROM inbox i WHERE i.status = 'pending'`,
    ([row]) => row!.id,
  )

/** Whether a body with an id up to `id` is pending. */
export const hasPendingUpTo = (sql: SqlClient.SqlClient, id: number) =>
  Effect.map(
    sql`SELECT 1 FROM inbox i WHERE i.status = 'pending' AND i.id <= ${id} LIMIT 1`,
    (rows) => rows.length > 0,
  )
