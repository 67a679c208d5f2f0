import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { ImageDetail } from "../domain/Image.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { usersOf } from "../domain/Snippet.ts"
import {
  findMatches,
  findProposedMatches,
  findProposedSnippets,
  readSnippets,
  renderPattern,
  sourcesOf,
} from "./SnippetRows.ts"

/** The content that shows an image. */
export type ImageUses = Pick<ImageDetail, "drafts" | "proposals" | "snippets" | "templates">

/** Finds the content of an organization that contains the id of an image, also through snippets. */
export const findImageUses = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  id: string,
): Effect.fn.Return<ImageUses, SqlError> {
  const all = sourcesOf(yield* readSnippets(sql, org))
  const snippets = [...all].filter(([, { text }]) => text.includes(id)).map(([snippet]) => snippet)
  const rendered = [...new Set(snippets.flatMap((snippet) => usersOf(all, snippet)))]
  const pattern = rendered.length === 0 ? id : `${id}|${renderPattern(rendered)}`
  return {
    templates: yield* findMatches(sql, org, pattern),
    snippets: [...new Set([...snippets, ...(yield* findProposedSnippets(sql, org, id))])].sort(),
    proposals: yield* findProposedMatches(sql, org, pattern),
    drafts: (yield* sql<{ readonly templateId: string; readonly name: string }>`
      SELECT DISTINCT d.template_id, t.name
      FROM variant_drafts d JOIN templates t ON t.org_slug = d.org_slug AND t.id = d.template_id
      WHERE d.org_slug = ${org} AND d.form::text ~ ${pattern} ORDER BY d.template_id`)
      .map(({ name, templateId }) => ({ template_id: templateId, name })),
  }
})
