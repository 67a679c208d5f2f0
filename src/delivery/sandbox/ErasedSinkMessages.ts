import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { changed, maybeNamed, type Work } from "../../erasure/Work.ts"

/** Deletes the people's messages that sinks stored. There are at most `keptMessages` messages for each organization. */
export const eraseSinkMessages = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { names, org, sql } = work
  const rows = yield* sql<{ id: string; email: string }>`
    SELECT m.id, m.email FROM sink_messages m WHERE m.org_slug = ${org} AND ${maybeNamed(work, "m.email")}`
  const ids = rows.filter(({ email }) => names.has(email)).map(({ id }) => id)
  if (ids.length === 0) return
  const deleted = yield* work.step(
    changed(sql`DELETE FROM sink_messages m WHERE m.org_slug = ${org} AND m.id = ANY(${ids}::text[])`),
  )
  work.count("sink_messages", deleted)
})
