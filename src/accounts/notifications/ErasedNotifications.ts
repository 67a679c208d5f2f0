import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { changed, pages, type Work } from "../../erasure/Work.ts"

/** Deletes notifications that contain a name of the erased person, such as a platform's reason with an address. */
export const eraseNotifications = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { names, org, sizes, sql } = work
  yield* pages<{ readonly id: number; readonly text: string }>(
    (after) =>
      sql`
        SELECT n.id::float8 AS id, n.data::text AS text FROM notifications n
        WHERE n.org_slug = ${org} AND n.id > ${after?.id ?? 0}::bigint ORDER BY n.id LIMIT ${sizes.changes}`,
    (rows) => {
      const ids = rows.filter(({ text }) => names.isIn(text)).map(({ id }) => id)
      if (ids.length === 0) return Effect.void
      return Effect.map(
        work.step(changed(sql`DELETE FROM notifications n WHERE n.org_slug = ${org} AND n.id = ANY(${ids}::bigint[])`)),
        (deleted) => work.count("notifications", deleted),
      )
    },
  )
})
