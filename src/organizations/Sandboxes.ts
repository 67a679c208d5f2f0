import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { sandboxOf } from "../domain/Sandbox.ts"

/** Columns that a sandbox does not share with its organization. */
const own = ["slug", "sandbox_of", "revision"]

/**
 * Copies the settings of an organization to its sandbox. With `create`, creates a missing sandbox first. Copies all
 * columns, including columns of later releases. Call it inside the transaction that changes the organization.
 */
const write = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  create: boolean,
): Effect.fn.Return<void, SqlError> {
  const columns = yield* sql<{ name: string }>`
    SELECT a.attname::text AS name FROM pg_attribute a
    WHERE a.attrelid = 'organizations'::regclass AND a.attnum > 0 AND NOT a.attisdropped
      AND a.attname <> ALL(${own}::text[])
    ORDER BY a.attnum`
  const listed = (table: string) => sql.literal(columns.map(({ name }) => `${table}"${name}"`).join(", "))
  yield* sql`
    INSERT INTO organizations AS s (slug, sandbox_of, ${listed("")})
    SELECT ${sandboxOf(org)}, o.slug, ${listed("o.")} FROM organizations o
    WHERE o.slug = ${org} AND o.sandbox_of IS NULL
      AND (${create}::boolean OR EXISTS (SELECT 1 FROM organizations e WHERE e.sandbox_of = o.slug))
    ON CONFLICT (slug) DO UPDATE SET (${listed("")}) = ROW(${listed("EXCLUDED.")}), revision = s.revision + 1`
})

/** Creates the sandbox of an organization unless it exists. Does nothing for an unknown organization. */
export const ensureSandbox = (sql: SqlClient.SqlClient, org: string): Effect.Effect<void, SqlError> =>
  write(sql, org, true)

/** Updates the settings of an organization's sandbox, if it has one. */
export const followSettings = (sql: SqlClient.SqlClient, org: string): Effect.Effect<void, SqlError> =>
  write(sql, org, false)

/** Reads the sandboxes of some organizations. Organizations without a sandbox are left out. */
export const sandboxesOf = (
  sql: SqlClient.SqlClient,
  orgs: ReadonlyArray<string>,
): Effect.Effect<ReadonlyArray<{ readonly slug: string }>, SqlError> =>
  sql<{ slug: string }>`SELECT o.slug FROM organizations o WHERE o.sandbox_of = ANY(${orgs}::text[])`
