import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { OrgSlug } from "../domain/Ids.ts"
import type { VariantInput } from "../domain/Template.ts"

// The rows of variants that a model has suggested.

/** The stored content of a suggestion: the variant that it becomes, and the variables that the model wrote. */
export interface SuggestionContent {
  readonly variant: VariantInput
  readonly variables: ReadonlyArray<string>
  /** Name of the variant that it was made from. */
  readonly base: string
}

/** A suggestion that was neither kept nor discarded. */
export interface SuggestionRow {
  readonly id: string
  readonly content: SuggestionContent
  readonly model: string
  readonly suggestedAt: Date
}

/** Maximum number of suggestions of a template that wait for a decision. Older ones are deleted. */
const maxWaiting = 20

/**
 * Stores suggestions in one statement, and deletes the oldest that nobody has kept. Requires a transaction. Returns their
 * ids, or nothing for a template that was deleted.
 */
export const insertSuggestions = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  template: string,
  rows: ReadonlyArray<SuggestionRow>,
) {
  const inserted = yield* sql<{ id: string }>`
    INSERT INTO variant_suggestions (org_slug, template_id, id, content, model, suggested_at)
    SELECT t.org_slug, t.id, r.id, r.content, r.model, r."suggestedAt"
    FROM (SELECT org_slug, id FROM templates WHERE org_slug = ${org} AND id = ${template} FOR KEY SHARE) t,
      json_to_recordset(${JSON.stringify(rows)}::text::json)
      AS r(id text, content json, model text, "suggestedAt" timestamptz)
    RETURNING id`
  yield* sql`
    DELETE FROM variant_suggestions s
    WHERE s.org_slug = ${org} AND s.template_id = ${template} AND s.content IS NOT NULL AND s.id NOT IN (
      SELECT n.id FROM variant_suggestions n
      WHERE n.org_slug = ${org} AND n.template_id = ${template} AND n.content IS NOT NULL
      ORDER BY n.suggested_at DESC, n.id LIMIT ${maxWaiting})`
  return inserted
})

/** Reads the suggestions that wait for a decision, newest first. */
export const readSuggestions = (sql: SqlClient.SqlClient, org: OrgSlug, template: string) =>
  sql<SuggestionRow>`
    SELECT s.id, s.content, s.model, s.suggested_at FROM variant_suggestions s
    WHERE s.org_slug = ${org} AND s.template_id = ${template} AND s.content IS NOT NULL
    ORDER BY s.suggested_at DESC, s.id`

/** Records that a suggestion has become a variant, which is marked as suggested from now on. */
export const markKept = (sql: SqlClient.SqlClient, org: OrgSlug, template: string, id: string) =>
  sql`
    UPDATE variant_suggestions s SET content = NULL
    WHERE s.org_slug = ${org} AND s.template_id = ${template} AND s.id = ${id}`

/** Deletes a suggestion that waits for a decision. Returns its id, if there was one. */
export const deleteSuggestion = (sql: SqlClient.SqlClient, org: OrgSlug, template: string, id: string) =>
  sql<{ id: string }>`
    DELETE FROM variant_suggestions s
    WHERE s.org_slug = ${org} AND s.template_id = ${template} AND s.id = ${id} AND s.content IS NOT NULL RETURNING s.id`
