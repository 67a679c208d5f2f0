import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { changed, chunks, lookedUp, maybeNamed, pages, type Work } from "../erasure/Work.ts"

interface ProfileRow {
  readonly userId: string
  readonly email: string | null
}

/**
 * Reads profiles that may belong to these people, by pages of all profiles, so that addresses are found in any
 * spelling.
 */
const profilePage = (work: Work) => (after: ProfileRow | undefined) =>
  work.sql<ProfileRow>`
    SELECT q.user_id, q.email FROM (
      SELECT p.*, row_number() OVER (ORDER BY p.user_id) = count(*) OVER () AS is_last FROM (
        SELECT p.user_id, p.email FROM profiles p
        WHERE p.org_slug = ${work.org} AND p.user_id > ${after?.userId ?? ""}
        ORDER BY p.org_slug, p.user_id LIMIT ${work.sizes.rows}) p) q
    WHERE q.is_last OR ${maybeNamed(work, "q.user_id")} OR ${maybeNamed(work, "q.email")}
    ORDER BY q.user_id`

/**
 * Deletes the profiles of the people, and collects their other names from them. If the erasure names the user id, a
 * profile of another user with an equal address stays.
 */
export const eraseProfiles = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { names, org, sql } = work
  const users: Array<string> = []
  const found: Array<ProfileRow> = []
  yield* pages(profilePage(work), (rows) =>
    Effect.sync(() => {
      for (const row of rows) {
        if (!names.has(row.userId) && (row.email === null || !names.has(row.email))) continue
        users.push(row.userId)
        found.push(row)
      }
    }))
  for (const { email, userId } of found) {
    names.add(userId)
    names.add(email)
  }
  for (const some of chunks(users, lookedUp)) {
    work.count(
      "profiles",
      yield* work.step(changed(sql`
        DELETE FROM profiles p WHERE p.org_slug = ${org} AND p.user_id = ANY(${some}::text[])`)),
    )
  }
  for (const some of chunks(names.addresses(), lookedUp)) {
    const [row] = yield* sql<{ count: number }>`
      SELECT count(*)::int AS count FROM profiles p
      WHERE p.org_slug = ${org} AND p.email IS NOT NULL AND lower(p.email) = ANY(${some}::text[])`
    work.keep("other_profiles", row!.count)
  }
})
