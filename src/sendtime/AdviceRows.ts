import type { SqlClient } from "effect/sql"
import type { OrgSlug } from "../domain/Ids.ts"

/** Maximum number of recommendations read. */
const mostAdvice = 20

/** A stored recommendation of a send time. */
export interface GivenAdvice {
  readonly person: string
  readonly copyId: string
  readonly givenAt: Date
  readonly advisedAt: Date
  readonly explored: boolean
  readonly basis: string
}

/** Reads the latest recommendations for people. Fails with `SqlError` if the database does not respond. */
export const adviceOf = (sql: SqlClient.SqlClient, org: OrgSlug, names: ReadonlyArray<string>) =>
  sql<GivenAdvice>`
    SELECT a.person, a.copy_id, a.given_at, a.advised_at, a.explored, a.basis FROM send_advice a
    WHERE a.org_slug = ${org} AND a.person = ANY(${names}::text[])
    ORDER BY a.given_at DESC LIMIT ${mostAdvice}`
