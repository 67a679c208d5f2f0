import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { asAdministrator, quote } from "./ConnectFailure.ts"
import { Store } from "./Store.ts"
import { StoreUnreachable } from "./StoreUnreachable.ts"

/** Rights that every table needs. */
const needed = "SELECT, INSERT, UPDATE, DELETE"

interface Found {
  readonly role: string
  readonly database: string
  readonly schema: string
  /** Whether the role may create tables, such as partitions. */
  readonly creates: boolean
  /** Tables without `needed`. */
  readonly tables: ReadonlyArray<string>
  /** Sequences without `USAGE`. */
  readonly sequences: ReadonlyArray<string>
  /** Partitioned tables of other roles, and their partitions. Only their owner adds and removes partitions. */
  readonly partitioned: ReadonlyArray<string>
}

/** Returns the statements that grant missing rights. */
const grants = ({ creates, partitioned, role, schema, sequences, tables }: Found): ReadonlyArray<string> => [
  ...(creates ? [] : [`GRANT USAGE, CREATE ON SCHEMA ${quote(schema)} TO ${quote(role)}`]),
  ...(tables.length === 0 ? [] : [`GRANT ${needed} ON ${tables.map(quote).join(", ")} TO ${quote(role)}`]),
  ...(sequences.length === 0 ? [] : [`GRANT USAGE ON SEQUENCE ${sequences.map(quote).join(", ")} TO ${quote(role)}`]),
  ...partitioned.map((table) => `ALTER TABLE ${quote(table)} OWNER TO ${quote(role)}`),
]

/**
 * Checks the rights of the role on tables and sequences that exist, so that a missing right ends the start instead of
 * failing requests later. Fails with `StoreUnreachable` and the statements to run, and with `SqlError`.
 */
export const check = Effect.fnUntraced(function* (tables: ReadonlyArray<string>, sequences: ReadonlyArray<string>) {
  const { address, setting } = yield* Store
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<Found>`
    WITH named AS (
      SELECT c.oid, c.relname::text AS name, c.relkind FROM unnest(${[...tables, ...sequences]}::text[]) AS t (name)
      JOIN pg_class c ON c.oid = to_regclass(quote_ident(t.name))
    )
    SELECT current_user::text AS role, current_database()::text AS database, current_schema()::text AS schema,
      has_schema_privilege(current_schema(), 'CREATE') AS creates,
      ARRAY(
        SELECT DISTINCT n.name FROM named n WHERE n.relkind <> 'S' AND NOT (
          has_table_privilege(n.oid, 'SELECT') AND has_table_privilege(n.oid, 'INSERT') AND
          has_table_privilege(n.oid, 'UPDATE') AND has_table_privilege(n.oid, 'DELETE')) ORDER BY 1) AS tables,
      ARRAY(
        SELECT DISTINCT n.name FROM named n 
        WHERE CASE n.relkind WHEN 'S' THEN NOT has_sequence_privilege(n.oid, 'USAGE') ELSE false END
        ORDER BY 1) AS sequences,
      ARRAY(
        SELECT DISTINCT c.relname::text FROM named n CROSS JOIN LATERAL pg_partition_tree(n.oid) p
        JOIN pg_class c ON c.oid = p.relid
        WHERE n.relkind = 'p' AND NOT pg_has_role(c.relowner, 'USAGE') ORDER BY 1) AS partitioned`
  const statements = grants(found!)
  if (statements.length === 0) return
  const reason = `the role ${found!.role} lacks rights on the tables. ` +
    asAdministrator(statements.join("; "), quote(found!.database))
  return yield* new StoreUnreachable({ setting, address, reason, isPassing: false, triedSeconds: 0 })
})
