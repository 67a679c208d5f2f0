import { Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { memberEmails } from "../accounts/MemberEmails.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { changed, chunks, type Work } from "../erasure/Work.ts"

/**
 * Removes people who are no longer members from the templates that they owned. Members stay owners, because their
 * accounts stay.
 */
export const eraseOwners = Effect.fnUntraced(function* (work: Work): Effect.fn.Return<void, SqlError> {
  const { names, org, sql } = work
  for (const some of chunks(names.addresses(), 200)) {
    const members = yield* memberEmails(sql, org as OrgSlug, some)
    const left = some.filter((address) => !members.has(address))
    const rows = yield* work.step(changed(sql`
      UPDATE templates t SET owner = NULL WHERE t.org_slug = ${org} AND t.owner = ANY(${left}::text[])`))
    work.count("template_owners", rows)
    // Otherwise a proposed change would set the owner again.
    for (const column of ["base", "proposed"]) {
      const content = sql.literal(`p.${column}`)
      yield* work.step(changed(sql`
        UPDATE template_proposals p
        SET ${sql.literal(column)} = jsonb_set(${content}::jsonb, '{owner}', 'null')::json
        WHERE p.org_slug = ${org} AND ${content}->>'owner' = ANY(${left}::text[])`))
    }
  }
})
