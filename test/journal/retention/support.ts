import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makePartitions, partitionedTables } from "../../../src/journal/retention/Partitions.ts"

export const day = 86_400_000

/** Maximum number of days for which weeks of the inbox are created, because each week takes time. */
const inboxDays = 100

/** Makes the partitions of the last so many days and of the next, as if the service had run all the time. */
export const partitionsSince = (days: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const one of partitionedTables) {
      yield* makePartitions(sql, one, Date.now() - (one.table === "inbox" ? Math.min(days, inboxDays) : days) * day)
      yield* makePartitions(sql, one, Date.now())
    }
  })

/** Stores a body of custom events that arrived at `at` (Unix milliseconds) and is not processed yet. */
export const receivedAt = Effect.fnUntraced(function* (slug: string, at: number, body: unknown) {
  const sql = yield* SqlClient.SqlClient
  const bytes = new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body))
  yield* sql`
    INSERT INTO inbox (org_slug, source, received_at, headers, body, status)
    VALUES (${slug}, 'events', ${new Date(at)}, '{}', ${bytes}, 'pending')`
})
