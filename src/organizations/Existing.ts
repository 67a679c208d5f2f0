import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { OrganizationNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"

/** Fails with `OrganizationNotFound` if the organization does not exist. */
export const existingOrganization = (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
): Effect.Effect<void, OrganizationNotFound | SqlError> =>
  Effect.flatMap(
    sql`SELECT 1 FROM organizations o WHERE o.slug = ${org}`,
    (rows) => rows.length === 0 ? Effect.fail(new OrganizationNotFound({ id: org })) : Effect.void,
  )

/**
 * Locks the row of an organization until the transaction ends, so that changes of its connections and keys run one
 * after the other.
 */
export const lockOrganization = (sql: SqlClient.SqlClient, org: string): Effect.Effect<void, SqlError> =>
  Effect.asVoid(sql`SELECT 1 FROM organizations o WHERE o.slug = ${org} FOR UPDATE`)
