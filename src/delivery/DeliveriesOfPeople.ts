import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { OrgSlug } from "../domain/Ids.ts"
import type { Delivery } from "./Delivery.ts"

// Reads the messages of one person, or messages by id. Each function fails with `SqlError` if the database does not
// respond.

/** Maximum number of message ids that are read for one address. */
const idsPerAddress = 1000

const deliveryColumns = (sql: SqlClient.SqlClient) =>
  sql`v.id, v.template_id, v.copy_id, v.email, v.state, v.due_at, v.queued_at, v.attempts,
  v.connection, v.message_id, v.reason, v.finished_at, v.expires_at,
  CASE WHEN v.is_transactional THEN 'transactional' ELSE 'bulk' END AS priority`

/** The messages with these ids. */
export const deliveriesOf = (sql: SqlClient.SqlClient, org: OrgSlug, ids: ReadonlyArray<string>) =>
  sql<Delivery>`
    SELECT ${deliveryColumns(sql)} FROM unnest(${ids}::text[]) AS n(id)
    CROSS JOIN LATERAL (
      SELECT * FROM deliveries v WHERE v.org_slug = ${org} AND v.id = n.id ORDER BY v.org_slug, v.id LIMIT 1) v`

/** The ids of messages to these addresses: at most 1,000 for each address. */
export const deliveryIdsTo = (sql: SqlClient.SqlClient, org: OrgSlug, emails: ReadonlyArray<string>) =>
  Effect.map(
    sql<{ readonly id: string }>`
      SELECT v.id FROM unnest(${emails}::text[]) AS n(email)
      CROSS JOIN LATERAL (
        SELECT * FROM deliveries v WHERE v.org_slug = ${org} AND v.email = n.email
        ORDER BY v.org_slug, v.email LIMIT ${idsPerAddress}) v
      ORDER BY v.id DESC`,
    (rows) => rows.map(({ id }) => id),
  )
