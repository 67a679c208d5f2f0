import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { OrganizationNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"

/** Fails with `OrganizationNotFound` where there is no such organization. */
export const existingOrganization = (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
): Effect.Effect<void, OrganizationNotFound | SqlError> =>
  Effect.flatMap(
    sql`SELECT 1 FROM organizations o WHERE o.slug = ${org}`,
    (rows) => rows.length === 0 ? Effect.fail(new OrganizationNotFound({ id: org })) : Effect.void,
  )
