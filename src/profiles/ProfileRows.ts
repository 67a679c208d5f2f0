import type { SqlClient, Statement } from "effect/sql"
import type { OrgSlug } from "../domain/Ids.ts"
import { recordset } from "../store/Recordset.ts"

/** Profiles that may share one e-mail address; more are left out. */
const shownProfiles = 10

/** The stored profile of a person. */
export interface StoredProfile {
  readonly userId: string
  readonly email: string | null
  readonly traits: Readonly<Record<string, unknown>>
  readonly updatedAt: Date
}

/** The profiles of a user or an address, the latest first. Fails with `SqlError` when the store does not answer. */
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

/** The addresses in the profiles of users, with the `place` of each user. Users without an address are left out. */
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
 * An SQL query, to stand in a larger one as a lateral, for the profile of a user: `user_id`, `email` and `traits`. The order
 * and the limit leave the planner no choice but the index.
 */
export const profileOfUser = (sql: SqlClient.SqlClient, org: Statement.Fragment, user: string) =>
  sql`SELECT p.user_id, p.email, p.traits FROM profiles p WHERE p.org_slug = ${org} AND p.user_id = ${sql.literal(user)}
    ORDER BY p.org_slug, p.user_id LIMIT 1`

/** An SQL query as above for the profiles with an e-mail address, the latest first, at most `limit`. */
export const profilesOfEmail = (sql: SqlClient.SqlClient, org: string, email: string, limit: number) =>
  sql`SELECT p.user_id, p.email, p.traits FROM profiles p
    WHERE p.org_slug = ${sql.literal(org)} AND lower(p.email) = lower(${sql.literal(email)}) AND p.email IS NOT NULL
    ORDER BY p.org_slug, lower(p.email), p.updated_at DESC LIMIT ${sql.literal(String(limit))}`
