import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { organizationPeople, rolesFrom } from "../OrganizationPeople.ts"
import { recordset } from "../../store/Recordset.ts"
import { announce } from "../../webhooks/Announce.ts"
import type { WebhookEvent } from "../../webhooks/EventTypes.ts"
import { isAnnounced, kindWords, type NewNotification } from "./Kinds.ts"

const columns = {
  n: "int",
  org_slug: "text",
  kind: "text",
  data: "text",
  roles: "text[]",
  accounts: "text[]",
  excluded: "text[]",
  mail: "text",
} as const

/**
 * Stores notifications for people, and events for the subscribed webhook endpoints. Call it in the transaction of the
 * change that it announces. If no member has the role, the installation's administrators are notified. Sandboxes notify
 * no people. Costs two statements. Fails with `SqlError` if the database does not respond.
 */
export const notify = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  notifications: ReadonlyArray<NewNotification>,
): Effect.fn.Return<void, SqlError> {
  if (notifications.length === 0) return
  const now = new Date(yield* Clock.currentTimeMillis)
  const rows = notifications.map(({ data, except = [], kind, to }, n) => ({
    n,
    org_slug: data.org,
    kind,
    data: JSON.stringify(data),
    roles: "role" in to ? rolesFrom[to.role] : [],
    accounts: "accounts" in to ? to.accounts : [],
    excluded: except,
    mail: kindWords[kind].mail,
  }))
  yield* sql`
    INSERT INTO notifications (org_slug, account_id, kind, data, created_at, mail)
    SELECT r.org_slug, p.account_id, r.kind, r.data::json, ${now}::timestamptz,
      nullif(coalesce(f.mail->>r.kind, r.mail), 'off')
    FROM ${recordset(rows, columns)} JOIN ${sql.literal(organizationPeople)} ON p.org_slug = r.org_slug
    LEFT JOIN notification_preferences f ON f.org_slug = r.org_slug AND f.account_id = p.account_id
    WHERE NOT p.account_id = ANY(r.excluded) AND (p.account_id = ANY(r.accounts) OR p.role = ANY(r.roles)
      OR (cardinality(r.roles) > 0 AND p.role = 'administrator' AND NOT EXISTS (
        SELECT 1 FROM ${sql.literal(organizationPeople)} WHERE p.org_slug = r.org_slug AND p.role = ANY(r.roles))))
    ORDER BY r.n, p.account_id`
  yield* announce(
    sql,
    notifications.filter(isAnnounced).map(({ data, kind }) => ({ type: kind, data }) as WebhookEvent),
  )
})
