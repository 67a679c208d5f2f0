import type { SqlClient } from "effect/sql"

/** Identifies these locks among the advisory locks of the database. */
const lockClass = 7201

/**
 * Locks the events of these organizations until the transaction ends, so that no other transaction counts events of
 * their decisions. Takes all locks in one statement and one order, which avoids deadlocks.
 */
export const lockEvents = (sql: SqlClient.SqlClient, orgs: Iterable<string>) => {
  const names = [...new Set(orgs)].sort()
  return sql`
    SELECT pg_advisory_xact_lock(${lockClass}, hashtext(o.name))
    FROM (SELECT unnest(${names}::text[]) AS name ORDER BY 1) o`
}
