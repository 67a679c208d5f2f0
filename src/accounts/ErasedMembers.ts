import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { chunks, pages, type Work } from "../erasure/Work.ts"

// Traces of erased people that are kept and can be found.

/** Counts entries of the audit log that contain one of the names. */
const countAuditEntries = (work: Work): Effect.Effect<void, SqlError> => {
  const { names, org, sizes, sql } = work
  return pages<{ readonly id: number; readonly text: string }>(
    (after) =>
      sql`
        SELECT q.id::float8 AS id, q.text FROM (
          SELECT p.*, row_number() OVER (ORDER BY p.id DESC) = count(*) OVER () AS is_last FROM (
            SELECT a.id, concat_ws(' ', a.actor, a.subject, a.details::text, a.changes::text) AS text
            FROM audit_entries a WHERE a.org_slug = ${org} AND a.id < ${after?.id ?? Number.MAX_SAFE_INTEGER}
            ORDER BY a.org_slug, a.id DESC LIMIT ${sizes.rows}) p) q
        WHERE q.is_last OR q.text LIKE '%@%' OR ${names.ids().length > 0}::boolean
        ORDER BY q.id DESC`,
    (rows) => Effect.sync(() => work.keep("audit_entries", rows.filter(({ text }) => names.isIn(text)).length)),
  )
}

/** Reports the traces of the people in the audit log and among the members of the organization. */
export const findKept = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { isReported, names, org, sql } = work
  if (!isReported) return
  yield* countAuditEntries(work)
  for (const some of chunks(names.addresses(), 200)) {
    const [row] = yield* sql<{ count: number }>`
      SELECT count(*)::int AS count FROM accounts a JOIN memberships m ON m.account_id = a.id
      WHERE m.org_slug = ${org} AND a.email = ANY(${some}::text[])`
    work.keep("accounts", row!.count)
  }
})
