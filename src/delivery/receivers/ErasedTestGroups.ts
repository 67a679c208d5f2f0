import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { changed, type Work } from "../../erasure/Work.ts"

/** Removes the addresses of the people from test groups. A group without remaining addresses is deleted. */
export const eraseTestGroups = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { names, org, sql } = work
  const groups = yield* sql<{ id: string; emails: ReadonlyArray<string> }>`
    SELECT t.id, t.emails FROM test_groups t WHERE t.org_slug = ${org} ORDER BY t.id`
  for (const { emails, id } of groups) {
    const left = emails.filter((email) => !names.has(email))
    if (left.length === emails.length) continue
    const rows = yield* work.step(changed(
      left.length === 0
        ? sql`DELETE FROM test_groups t WHERE t.org_slug = ${org} AND t.id = ${id}`
        : sql`UPDATE test_groups t SET emails = ${left}::text[] WHERE t.org_slug = ${org} AND t.id = ${id}`,
    ))
    work.count("test_groups", rows)
  }
})
