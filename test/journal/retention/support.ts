import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makePartitions, partitionedTables } from "../../../src/journal/retention/Partitions.ts"

export const day = 86_400_000

/** Weeks of the inbox are made for so many days at most: each costs a moment. */
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

/** A body of custom events that came in at `at` (Unix milliseconds), still to be looked at. */
export const receivedAt = Effect.fnUntraced(function* (slug: string, at: number, body: unknown) {
  const sql = yield* SqlClient.SqlClient
  const bytes = new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body))
  yield* sql`
    INSERT INTO inbox (org_slug, source, received_at, headers, body, status)
    VALUES (${slug}, 'events', ${new Date(at)}, '{}', ${bytes}, 'pending')`
})
