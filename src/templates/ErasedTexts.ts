import { Buffer } from "node:buffer"
import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { memberEmails } from "../accounts/MemberEmails.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { makeBodySearch } from "../erasure/BodySearch.ts"
import { changed, chunks, lookedUp, type Work } from "../erasure/Work.ts"

interface SampleRow {
  readonly id: string
  readonly userId: string | null
  readonly text: string
}

/**
 * Deletes the sample people whose user, name, attributes or fields contain a name. An organization has at most 100
 * sample people.
 */
export const eraseSamplePeople = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { names, org, sql } = work
  const search = makeBodySearch(names)
  const ids = yield* sql<{ id: string }>`SELECT s.id FROM sample_people s WHERE s.org_slug = ${org} ORDER BY s.id`
  for (const { id } of ids) {
    const [row] = yield* sql<SampleRow>`
      SELECT s.id, s.user_id, json_build_object('name', s.name, 'attrs', s.attrs, 'fields', s.fields)::text AS text
      FROM sample_people s WHERE s.org_slug = ${org} AND s.id = ${id}`
    if (row === undefined) continue
    const isNamed = (row.userId !== null && names.has(row.userId)) ||
      search.isIn(Buffer.from(row.text, "utf8"), { isFirst: true, isLast: true })
    if (!isNamed) continue
    const rows = yield* work.step(changed(sql`
      DELETE FROM sample_people s WHERE s.org_slug = ${org} AND s.id = ${id}`))
    work.count("sample_people", rows)
  }
})

/**
 * Deletes the drafts of people who are no longer members, and their names from the versions of variants and snippets that they
 * saved. The texts of members stay, because their accounts stay.
 */
export const eraseAuthors = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { names, org, sql } = work
  for (const some of chunks(names.addresses(), lookedUp)) {
    const members = yield* memberEmails(sql, org as OrgSlug, some)
    const left = some.filter((address) => !members.has(address))
    work.count(
      "drafts",
      yield* work.step(changed(sql`
        DELETE FROM variant_drafts d WHERE d.org_slug = ${org} AND d.author = ANY(${left}::text[])`)),
    )
    work.count(
      "version_authors",
      yield* work.step(changed(sql`
        UPDATE variant_versions w SET author = NULL WHERE w.org_slug = ${org} AND w.author = ANY(${left}::text[])`)),
    )
    work.count(
      "version_authors",
      yield* work.step(changed(sql`
        UPDATE snippet_versions w SET author = NULL WHERE w.org_slug = ${org} AND w.author = ANY(${left}::text[])`)),
    )
  }
})
