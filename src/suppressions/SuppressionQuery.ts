import type { SqlClient } from "effect/sql"
import { rowReader } from "../store/ReadRows.ts"
import { recordset } from "../store/Recordset.ts"
import type { AddressKey } from "./AddressKey.ts"
import { Suppression } from "./Suppression.ts"

/** An address of an organization to search for. */
interface Sought {
  readonly org: string
  /** Every key that the address may have: see `AddressKeys`. */
  readonly keys: ReadonlyArray<AddressKey>
}

/** A row of `suppressionsOf`. */
export interface SuppressionRow extends Suppression {
  readonly n: number
  readonly id: number
}

/** Decodes a row of `suppressionsOf`. */
export const readSuppression = rowReader("suppressions", Suppression, ({ id }: SuppressionRow) => `id ${id}`)

/**
 * Returns an SQL subquery for the suppressions of addresses. Its rows are decoded with `readSuppression`. `n` is the
 * index of an address in `sought`. A lateral with a limit forces PostgreSQL to use the index.
 */
export const suppressionsOf = (sql: SqlClient.SqlClient, sought: ReadonlyArray<Sought>) => {
  const rows = sought.flatMap(({ keys, org }, n) => keys.map((key) => ({ n, org_slug: org, address_key: key })))
  return sql`
    SELECT r.n, s.id, s.reason, s.suppressed_at
    FROM ${recordset(rows, { n: "int", org_slug: "text", address_key: "text" })}
    CROSS JOIN LATERAL (
      SELECT l.id::float8 AS id, l.reason, l.suppressed_at FROM suppressions l
      WHERE l.org_slug = r.org_slug AND l.address_key = r.address_key
      ORDER BY l.org_slug, l.address_key, l.reason LIMIT 10) s`
}

/**
 * Returns an SQL subquery for the suppressions of the address in the row `alias`, by its columns `org_slug` and
 * `address_key`.
 */
export const suppressionsOfRow = (sql: SqlClient.SqlClient, alias: string) =>
  sql`SELECT l.reason FROM suppressions l
    WHERE l.org_slug = ${sql.literal(alias)}.org_slug AND l.address_key = ${sql.literal(alias)}.address_key`
