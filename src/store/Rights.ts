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
  /** Partitioned tables of other roles. Only their owner adds partitions. */
  readonly partitioned: ReadonlyArray<string>
}

/** Returns the statements that grant missing rights. */
const grants = ({ creates, partitioned, role, schema, tables }: Found): ReadonlyArray<string> => [
  ...(creates ? [] : [`GRANT USAGE, CREATE ON SCHEMA ${quote(schema)} TO ${quote(role)}`]),
  ...(tables.length === 0 ? [] : [`GRANT ${needed} ON ${tables.map(quote).join(", ")} TO ${quote(role)}`]),
  ...partitioned.map((table) => `ALTER TABLE ${quote(table)} OWNER TO ${quote(role)}`),
]

/**
 * Checks the rights of the role on tables that exist, so that a missing right ends the start instead of failing requests later.
 * Fails with `StoreUnreachable` and the statements to run, and with `SqlError`.
 */
export const check = Effect.fnUntraced(function* (tables: ReadonlyArray<string>) {
  const { address, setting } = yield* Store
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<Found>`
    SELECT current_user::text AS role, current_database()::text AS database, current_schema()::text AS schema,
      has_schema_privilege(current_schema(), 'CREATE') AS creates,
      coalesce(array_agg(c.relname::text ORDER BY c.relname) FILTER (WHERE NOT c.usable), '{}') AS tables,
      coalesce(array_agg(c.relname::text ORDER BY c.relname) FILTER (WHERE NOT c.extendable), '{}') AS partitioned
    FROM (
      SELECT c.relname, c.relkind <> 'p' OR pg_has_role(c.relowner, 'USAGE') AS extendable,
        has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') AND
        has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE') AS usable
      FROM unnest(${tables}::text[]) AS t (name)
      JOIN pg_class c ON c.oid = to_regclass(quote_ident(t.name))) c`
  const statements = grants(found!)
  if (statements.length === 0) return
  const reason = `the role ${found!.role} lacks rights on the tables. ` +
    asAdministrator(statements.join("; "), quote(found!.database))
  return yield* new StoreUnreachable({ setting, address, reason, isPassing: false, triedSeconds: 0 })
})
