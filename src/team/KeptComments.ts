import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { pages, type Work } from "../erasure/Work.ts"

/** Counts comments that contain one of the names of erased people, for the report. */
export const countComments = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { isReported, names, org, sizes, sql } = work
  if (!isReported) return
  yield* pages<{ readonly id: number; readonly text: string }>(
    (after) =>
      sql`
        SELECT c.id::float8 AS id, c.text FROM template_comments c
        WHERE c.org_slug = ${org} AND c.id < ${after?.id ?? Number.MAX_SAFE_INTEGER}
        ORDER BY c.org_slug, c.id DESC LIMIT ${sizes.rows}`,
    (rows) => Effect.sync(() => work.keep("comments", rows.filter(({ text }) => names.isIn(text)).length)),
  )
})
