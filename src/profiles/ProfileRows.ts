import type { SqlClient, Statement } from "effect/sql"
import type { OrgSlug } from "../domain/Ids.ts"
import { recordset } from "../store/Recordset.ts"

/** Maximum number of profiles returned for one e-mail address. */
const shownProfiles = 10

/** The stored profile of a person. */
export interface StoredProfile {
  readonly userId: string
  readonly email: string | null
  readonly traits: Readonly<Record<string, unknown>>
  readonly updatedAt: Date
}

/** Reads the profiles of a user or an address, latest first. Fails with `SqlError` if the database does not respond. */
export const profilesOf = (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  { email, userId }: { readonly userId?: string; readonly email?: string },
) =>
  sql<StoredProfile>`
    SELECT p.user_id, p.email, p.traits, p.updated_at FROM profiles p
    WHERE p.org_slug = ${org} AND ${
    userId === undefined ? sql`lower(p.email) = lower(${email!}) AND p.email IS NOT NULL` : sql`p.user_id = ${userId}`
  }
    ORDER BY p.updated_at DESC LIMIT ${shownProfiles}`

/**
 * Reads the addresses in the profiles of users, with the `place` of each user. Users without an address are left out.
 */
export const emailsOf = (
  sql: SqlClient.SqlClient,
  users: ReadonlyArray<{ readonly place: number; readonly org_slug: string; readonly user_id: string }>,
) =>
  sql<{ readonly place: number; readonly email: string }>`
    SELECT r.place, p.email
    FROM ${recordset(users, { place: "int", org_slug: "text", user_id: "text" })}
    JOIN profiles p ON p.org_slug = r.org_slug AND p.user_id = r.user_id
    WHERE p.email IS NOT NULL`

/**
 * Returns an SQL query for the profile of a user, to be used as a lateral in a larger query: `user_id`, `email` and
 * `traits`. The order and the limit force the planner to use the index.
 */
export const profileOfUser = (sql: SqlClient.SqlClient, org: Statement.Fragment, user: string) =>
  sql`SELECT p.user_id, p.email, p.traits FROM profiles p WHERE p.org_slug = ${org} AND p.user_id = ${sql.literal(user)}
    ORDER BY p.org_slug, p.user_id LIMIT 1`

/** Returns such a query for up to `limit` profiles with an e-mail address, latest first. */
export const profilesOfEmail = (sql: SqlClient.SqlClient, org: string, email: string, limit: number) =>
  sql`SELECT p.user_id, p.email, p.traits FROM profiles p
    WHERE p.org_slug = ${sql.literal(org)} AND lower(p.email) = lower(${sql.literal(email)}) AND p.email IS NOT NULL
    ORDER BY p.org_slug, lower(p.email), p.updated_at DESC LIMIT ${sql.literal(String(limit))}`
