import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Returns the schema as text: tables with their columns, constraints and indexes from the system catalog. The text is
 * equal on the embedded database and on any PostgreSQL.
 */
export const snapshot = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = yield* sql<{ tableName: string; definition: string }>`
    SELECT c.relname AS table_name,
      a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
        || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
        || CASE WHEN a.attidentity <> '' THEN ' GENERATED ALWAYS AS IDENTITY' ELSE '' END
        || coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '') AS definition
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
    ORDER BY c.relname, a.attnum`
  const constraints = yield* sql<{ tableName: string; definition: string }>`
    SELECT c.conrelid::regclass::text AS table_name, pg_get_constraintdef(c.oid) AS definition
    FROM pg_constraint c
    WHERE c.connamespace = 'public'::regnamespace AND c.contype <> 'n' AND c.conrelid <> 0
    ORDER BY 1, c.contype DESC, c.conname`
  const indexes = yield* sql<{ tableName: string; definition: string }>`
    SELECT i.tablename AS table_name, i.indexdef AS definition FROM pg_indexes i
    WHERE i.schemaname = 'public'
      AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conname = i.indexname)
    ORDER BY i.tablename, i.indexname`
  const of = (rows: ReadonlyArray<{ tableName: string; definition: string }>, table: string) =>
    rows.filter((row) => row.tableName === table).map((row) => row.definition)
  const tables = [...new Set(columns.map((row) => row.tableName))].sort()
  return tables.map((table) =>
    [
      `CREATE TABLE ${table} (`,
      [...of(columns, table), ...of(constraints, table)].map((line) => `  ${line}`).join(",\n"),
      ");",
      ...of(indexes, table).map((definition) => `${definition};`),
      "",
    ].join("\n")
  ).join("\n")
})
