import { recordset } from "../store/Recordset.ts"
import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { changed, chunks, maybeNamed, pages, type Work } from "../erasure/Work.ts"

interface StickyRow {
  readonly templateId: string
  readonly userId: string
}

/** Deletes the sticky choices of the people. */
export const eraseStickyChoices = (work: Work): Effect.Effect<void, SqlError> => {
  const { names, org, sizes, sql } = work
  return pages<StickyRow>(
    (after) =>
      sql`
        SELECT q.template_id, q.user_id FROM (
          SELECT p.*, row_number() OVER (ORDER BY p.template_id, p.user_id) = count(*) OVER () AS is_last FROM (
            SELECT s.template_id, s.user_id FROM sticky_choices s
            WHERE s.org_slug = ${org}
              AND (s.template_id, s.user_id) > (${after?.templateId ?? ""}, ${after?.userId ?? ""})
            ORDER BY s.org_slug, s.template_id, s.user_id LIMIT ${sizes.rows}) p) q
        WHERE q.is_last OR ${maybeNamed(work, "q.user_id")}
        ORDER BY q.template_id, q.user_id`,
    (rows) =>
      Effect.gen(function* () {
        for (const some of chunks(rows.filter(({ userId }) => names.has(userId)), sizes.changes)) {
          const keys = some.map(({ templateId, userId }) => ({ template_id: templateId, user_id: userId }))
          work.count(
            "sticky_choices",
            yield* work.step(changed(sql`
              DELETE FROM sticky_choices s
              USING ${recordset(keys, { template_id: "text", user_id: "text" })}
              WHERE s.org_slug = ${org} AND s.template_id = r.template_id AND s.user_id = r.user_id`)),
          )
        }
      }),
  )
}
