import type { SqlClient } from "effect/sql"

/** Names the lock among other advisory locks of the database. */
const lockClass = 7201

/**
 * Until the transaction ends nobody else writes events of these organizations, whose decisions are counted here. Taken for
 * all of them at once and in one order: two who lock one after another could wait for each other.
 */
export const lockEvents = (sql: SqlClient.SqlClient, orgs: Iterable<string>) => {
  const names = [...new Set(orgs)].sort()
  return sql`
    SELECT pg_advisory_xact_lock(${lockClass}, hashtext(o.name))
    FROM (SELECT unnest(${names}::text[]) AS name ORDER BY 1) o`
}
