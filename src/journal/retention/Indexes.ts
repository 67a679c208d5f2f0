import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { dayMillis } from "../../bandit/Window.ts"
import { type Partitioned, partitionedTables, patiently, readPartitions } from "./Partitions.ts"

// Work on indexes that takes too long for a migration. No statement of it blocks reads or writes for longer than
// `lockTimeout`. An interrupted statement leaves an invalid index, which the next run drops.

/** A partitioned index whose parts are built in the background, and the earlier index that it replaces. */
interface Replacement {
  readonly table: Partitioned["table"]
  readonly index: string
  readonly columns: ReadonlyArray<string>
  readonly replaces: string
}

const replacements: ReadonlyArray<Replacement> = [
  { table: "events", index: "events_by_body", columns: ["org_slug", "inbox_id"], replaces: "events_by_arrival" },
]

/** Smaller indexes are not rebuilt. Unit: bytes. */
const leastBytes = 64 * 1024

/**
 * A partition is closed if it ended this many days ago. By then no clock of a node is late enough to insert into it. Events
 * that still wait for their decision are few. Unit: days.
 */
export const closedDays = 3

/** PostgreSQL 14.0 to 14.3 can omit rows from an index that is built without a lock. */
const isReliable = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql<{ readonly version: number }>`SELECT current_setting('server_version_num')::int AS version`,
    ([row]) => row!.version < 140000 || row!.version > 140003,
  )

/** Drops indexes of a table's partitions that an interrupted statement left invalid. */
const dropInvalid = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, table: string) {
  const rows = yield* sql<{ readonly name: string }>`
    SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE NOT i.indisvalid AND c.relkind = 'i'
      AND i.indrelid IN (SELECT p.relid FROM pg_partition_tree(${table}::regclass) p WHERE p.isleaf)`
  for (const { name } of rows) yield* sql.unsafe(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`)
})

/** Builds the missing parts of an index, and drops the index that it replaces. */
const replace = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { columns, index, replaces, table }: Replacement,
) {
  const [earlier] = yield* sql`SELECT true AS found WHERE to_regclass(${replaces}) IS NOT NULL`
  if (earlier === undefined) return
  const missing = yield* sql<{ readonly name: string }>`
    SELECT p.relid::regclass::text AS name FROM pg_partition_tree(${table}::regclass) p
    WHERE p.isleaf AND NOT EXISTS (
      SELECT FROM pg_inherits h JOIN pg_index i ON i.indexrelid = h.inhrelid
      WHERE h.inhparent = ${index}::regclass AND i.indrelid = p.relid)`
  for (const { name } of missing) {
    const part = `${name}_${columns.join("_")}_idx`
    yield* sql.unsafe(`CREATE INDEX CONCURRENTLY IF NOT EXISTS ${part} ON ${name} (${columns.join(", ")})`)
    yield* patiently(sql, sql.unsafe(`ALTER INDEX ${index} ATTACH PARTITION ${part}`))
  }
  yield* patiently(sql, sql.unsafe(`DROP INDEX IF EXISTS ${replaces}`))
  yield* Effect.logInfo(`Replaced the index ${replaces} by the smaller index ${index}`)
})

/**
 * Rebuilds the indexes of closed partitions without free space. Inserts in random order leave a third of an index free.
 * The setting `fillfactor = 100` marks an index that was rebuilt. It is set afterwards, so that an interrupted rebuild is
 * repeated. Returns the number of rebuilt indexes.
 */
const fillClosed = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, one: Partitioned, now: number) {
  let rebuilt = 0
  for (const { name, to } of yield* readPartitions(sql, one)) {
    if (to > now - closedDays * dayMillis) continue
    const indexes = yield* sql<{ readonly index: string }>`
      SELECT c.relname AS index FROM pg_index i
      JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
      WHERE i.indrelid = ${name}::regclass AND m.amname = 'btree' AND pg_relation_size(c.oid) >= ${leastBytes}
        AND NOT coalesce(c.reloptions @> '{fillfactor=100}', false)`
    for (const { index } of indexes) {
      yield* sql.unsafe(`ALTER INDEX ${index} SET (fillfactor = 99)`)
      yield* sql.unsafe(`REINDEX INDEX CONCURRENTLY ${index}`)
      yield* sql.unsafe(`ALTER INDEX ${index} SET (fillfactor = 100)`)
      rebuilt++
    }
  }
  return rebuilt
})

/**
 * Replaces indexes, and rebuilds indexes of closed partitions without free space, one index at a time. Does nothing on servers that
 * cannot do this reliably. Fails with `SqlError` if the database does not respond.
 */
export const shrinkIndexes = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  now: number,
): Effect.fn.Return<void, SqlError> {
  if (!(yield* isReliable(sql))) return
  for (const one of partitionedTables) yield* dropInvalid(sql, one.table)
  for (const replacement of replacements) yield* replace(sql, replacement)
  let rebuilt = 0
  for (const one of partitionedTables) if (one.table !== "inbox") rebuilt += yield* fillClosed(sql, one, now)
  if (rebuilt > 0) yield* Effect.logInfo("Rebuilt the indexes of closed partitions", { indexes: rebuilt })
})
