import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { OrgSlug, TemplateId } from "../domain/Ids.ts"
import { recordset } from "../store/Recordset.ts"
import { expiredText, storable } from "./AttemptOutcome.ts"
import type { ExpiredMessage } from "./Outbox.ts"
import { countEnded, report } from "./EndReports.ts"

/** Maximum number of messages that one transaction fails. */
const endedAtOnce = 500

/** Fails up to 500 expired messages of one organization. Returns their number. */
const endSome = (sql: SqlClient.SqlClient, org: OrgSlug): Effect.Effect<number, SqlError> =>
  sql.withTransaction(Effect.gen(function* () {
    const found = yield* sql<ExpiredMessage & { readonly id: string; readonly templateId: TemplateId }>`
      SELECT d.id, d.template_id, d.expires_at, d.attempts, d.reason FROM deliveries d
      WHERE d.org_slug = ${org} AND d.state = 'queued' AND d.expires_at <= now()
      ORDER BY d.expires_at LIMIT ${endedAtOnce} FOR UPDATE SKIP LOCKED`
    if (found.length === 0) return 0
    const rows = found.map((one) => ({ id: one.id, reason: storable(expiredText(one)) }))
    yield* sql`
      WITH updated AS (
        UPDATE deliveries d SET state = 'failed', reason = r.reason, finished_at = now()
        FROM ${recordset(rows, { id: "text", reason: "text" })}
        WHERE d.org_slug = ${org} AND d.id = r.id
        RETURNING d.id, d.state, 0 AS burned
      ), ${countEnded(sql, org)}
      SELECT count(*) FROM updated u`
    yield* report(sql, org, found.map((one) => ({ ...one, _tag: "failed" })))
    return found.length
  }))

/**
 * Fails queued messages that have expired, including messages of paused connections. Returns their number. Skips
 * messages that another node is failing at the same time.
 */
export const endExpired = Effect.fn("Expiry.endExpired")(function* (
  sql: SqlClient.SqlClient,
): Effect.fn.Return<number, SqlError> {
  const orgs = yield* sql<{ orgSlug: OrgSlug }>`
    SELECT DISTINCT d.org_slug FROM deliveries d WHERE d.state = 'queued' AND d.expires_at <= now()`
  let ended = 0
  for (const { orgSlug } of orgs) {
    let some: number
    do {
      some = yield* endSome(sql, orgSlug)
      ended += some
    } while (some === endedAtOnce)
  }
  return ended
})
