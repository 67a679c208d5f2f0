import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { OrgSlug } from "../domain/Ids.ts"

/** Returns the addresses, in lowercase, that belong to members of the organization. */
export const memberEmails = (sql: SqlClient.SqlClient, org: OrgSlug, emails: ReadonlyArray<string>) =>
  Effect.map(
    sql<{ readonly email: string }>`
      SELECT a.email FROM accounts a JOIN memberships m ON m.account_id = a.id
      WHERE m.org_slug = ${org} AND a.email = ANY(${[...emails]}::text[])`,
    (rows): ReadonlySet<string> => new Set(rows.map(({ email }) => email)),
  )
