import { Buffer } from "node:buffer"
import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { makeBodySearch } from "../erasure/BodySearch.ts"
import { changed, type Work } from "../erasure/Work.ts"

/** Deletes the saved views that contain a name, such as a filter by the address of the person. */
export const eraseSavedViews = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { names, org, sql } = work
  const search = makeBodySearch(names)
  const views = yield* sql<{ id: string; name: string; query: string }>`
    SELECT v.id, v.name, v.query FROM saved_views v WHERE v.org_slug = ${org} ORDER BY v.id`
  for (const { id, name, query } of views) {
    const values = [...new URLSearchParams(query).values()]
    const text = JSON.stringify([name, ...values])
    const isNamed = values.some((value) => names.has(value)) ||
      search.isIn(Buffer.from(text, "utf8"), { isFirst: true, isLast: true })
    if (!isNamed) continue
    work.count(
      "saved_views",
      yield* work.step(changed(sql`DELETE FROM saved_views v WHERE v.org_slug = ${org} AND v.id = ${id}`)),
    )
  }
})
