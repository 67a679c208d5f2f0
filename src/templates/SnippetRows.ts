import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { Author } from "../accounts/Author.ts"
import type { Sources } from "../checking/Checks.ts"
import { InvalidInput } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { noSnippets, reachedFrom, renderedBy, type SnippetSources, type SnippetUser } from "../domain/Snippet.ts"
import type { Locales, RenderedFormat, Vars } from "../domain/Template.ts"
import { lockContent } from "../organizations/OrganizationRows.ts"

// The rows of snippets.

/** A stored snippet. */
export interface SnippetRow {
  readonly id: string
  readonly name: string
  readonly text: string
  readonly format: RenderedFormat
  readonly revision: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A stored change that awaits approval. */
export interface SnippetProposalRow {
  readonly name: string
  readonly text: string
  readonly author: Author
  readonly version: number
  readonly baseRevision: number
  readonly updatedAt: Date
}

/** Reads the snippets of an organization, by id. Fails with `SqlError` if the database does not respond. */
export const readSnippets = (sql: SqlClient.SqlClient, org: OrgSlug) =>
  sql<SnippetRow>`
    SELECT s.id, s.name, s.text, s.format, s.revision::float8 AS revision, s.created_at, s.updated_at
    FROM snippets s WHERE s.org_slug = ${org} ORDER BY s.id`

/** Returns the sources of snippets by id. */
export const sourcesOf = (rows: ReadonlyArray<SnippetRow>): SnippetSources =>
  new Map(rows.map(({ format, id, text }) => [id, { format, text }]))

/** Returns all snippets of the organization if a text of templates may render any. A broken store is a defect. */
export const readSnippetsIn = (sql: SqlClient.SqlClient, org: OrgSlug, text: string) =>
  text.includes("render") ? Effect.map(Effect.orDie(readSnippets(sql, org)), sourcesOf) : Effect.succeed(noSnippets)

/** Returns a text that differs after each change of an organization's snippets. */
export const readSnippetStamp = (sql: SqlClient.SqlClient, org: OrgSlug): Effect.Effect<string, SqlError> =>
  Effect.map(
    sql<{ stamp: string }>`
      SELECT concat(count(*), ' ', max(s.revision)) AS stamp FROM snippets s WHERE s.org_slug = ${org}`,
    ([row]) => row!.stamp,
  )

/** Adds the snippets that they render to the sources of variants. */
export const withSnippets = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  variants: ReadonlyArray<Sources>,
): Effect.fn.Return<ReadonlyArray<Sources>, SqlError> {
  if (renderedBy(variants).length === 0) return variants
  const all = sourcesOf(yield* readSnippets(sql, org))
  return variants.map((one) => ({ ...one, snippets: reachedFrom(all, renderedBy([one])) }))
})

/**
 * Requires that the snippets of variants exist until the transaction ends. Call it in the transaction that writes the
 * variants: a snippet may have been deleted after their check. Fails with `InvalidInput` for a missing one.
 */
export const holdSnippets = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  variants: ReadonlyArray<{ readonly vars?: Vars | undefined; readonly locales?: Locales | undefined }>,
): Effect.fn.Return<void, SqlError | InvalidInput> {
  const ids = renderedBy(variants)
  if (ids.length === 0) return
  yield* lockContent(sql, org)
  const rows = yield* sql<{ id: string }>`
    SELECT s.id FROM snippets s WHERE s.org_slug = ${org} AND s.id = ANY(${ids}::text[])`
  const found = new Set(rows.map(({ id }) => id))
  const faults = ids.filter((id) => !found.has(id))
    .map((id) => ({ pointer: "", detail: `renders the snippet ${JSON.stringify(id)}, which does not exist` }))
  if (faults.length > 0) return yield* new InvalidInput({ faults })
})

interface UseRow {
  readonly templateId: string
  readonly name: string
  readonly variantId: string
  readonly isServed: boolean
}

/**
 * Returns the pattern of tags that render one of these snippets. The texts are JSON, in which a quotation mark and white
 * space are escaped. Ids have no signs of a pattern.
 */
export const renderPattern = (ids: ReadonlyArray<string>) =>
  String.raw`render(\s|\\[ntr])*(\\"|')(${ids.join("|")})(\\"|')`

/**
 * Finds the variants whose texts match a pattern, by template. The database searches, because the texts of an
 * organization can have hundreds of megabytes.
 */
export const findMatches = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  pattern: string,
): Effect.fn.Return<ReadonlyArray<SnippetUser>, SqlError> {
  const rows = yield* sql<UseRow>`
    SELECT v.template_id, t.name, v.id AS variant_id,
      t.archived_at IS NULL AND (v.active OR v.id = (t.holdout->>'copy_id')) IS TRUE AS is_served
    FROM variants v JOIN templates t ON t.org_slug = v.org_slug AND t.id = v.template_id
    WHERE v.org_slug = ${org} AND concat(v.vars, v.locales) ~ ${pattern} ORDER BY v.template_id, v.position`
  return [...Map.groupBy(rows, ({ templateId }) => templateId)].map(([template_id, uses]) => ({
    template_id,
    name: uses[0]!.name,
    copy_ids: uses.map(({ variantId }) => variantId),
    served: uses.some(({ isServed }) => isServed),
  }))
})

/** Finds the variants whose texts render one of these snippets. */
export const findUses = (sql: SqlClient.SqlClient, org: OrgSlug, ids: ReadonlyArray<string>) =>
  findMatches(sql, org, renderPattern(ids))

/**
 * Returns the ids of the proposed changes of templates whose texts match a pattern. A change of a template that was deleted since
 * cannot be approved, and is left out.
 */
export const findProposedMatches = (sql: SqlClient.SqlClient, org: OrgSlug, pattern: string) =>
  Effect.map(
    sql<{ id: number }>`
      SELECT p.id::float8 AS id FROM template_proposals p
      WHERE p.org_slug = ${org} AND p.state = 'requested' AND p.proposed::text ~ ${pattern}
        AND (p.base IS NULL OR EXISTS (SELECT FROM templates t WHERE t.org_slug = p.org_slug AND t.id = p.template_id))
      ORDER BY p.id`,
    (rows) => rows.map(({ id }) => id),
  )

/** Reads the change of a snippet that awaits approval. */
export const readSnippetProposal = (sql: SqlClient.SqlClient, org: OrgSlug, id: string) =>
  Effect.map(
    sql<SnippetProposalRow>`
      SELECT p.name, p.text, p.author, p.version, p.base_revision::float8 AS base_revision, p.updated_at
      FROM snippet_proposals p WHERE p.org_slug = ${org} AND p.snippet_id = ${id}`,
    ([row]) => row,
  )

/** Reads the changes of snippets that await approval, newest first. At most one for each snippet. */
export const readSnippetProposals = (sql: SqlClient.SqlClient, org: OrgSlug) =>
  sql<Pick<SnippetProposalRow, "author" | "name" | "updatedAt"> & { readonly id: string }>`
    SELECT p.snippet_id AS id, p.name, p.author, p.updated_at FROM snippet_proposals p
    WHERE p.org_slug = ${org} ORDER BY p.updated_at DESC, p.snippet_id`

/** Returns the ids of the snippets whose change that awaits approval contains a text. */
export const findProposedSnippets = (sql: SqlClient.SqlClient, org: OrgSlug, text: string) =>
  Effect.map(
    sql<{ id: string }>`
      SELECT p.snippet_id AS id FROM snippet_proposals p
      WHERE p.org_slug = ${org} AND strpos(p.text, ${text}) > 0 ORDER BY p.snippet_id`,
    (rows) => rows.map(({ id }) => id),
  )

/** Number of versions kept of a snippet. Older ones are removed. */
const keptVersions = 200

/** Stores the content of a snippet, and the same as its newest version. */
export const writeSnippet = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  { format, id, name, text }: Pick<SnippetRow, "format" | "id" | "name" | "text">,
  author: string | undefined,
  now: Date,
) {
  yield* sql`
    INSERT INTO snippets AS s (org_slug, id, name, text, format, created_at, updated_at)
    VALUES (${org}, ${id}, ${name}, ${text}, ${format}, ${now}, ${now})
    ON CONFLICT (org_slug, id) DO UPDATE SET name = excluded.name, text = excluded.text, format = excluded.format,
      revision = nextval('template_revisions'),
      -- Versions are told apart by their times.
      updated_at = greatest(excluded.updated_at, s.updated_at + interval '1 millisecond')`
  yield* sql`
    INSERT INTO snippet_versions (org_slug, snippet_id, name, text, format, author, saved_at)
    VALUES (${org}, ${id}, ${name}, ${text}, ${format}, ${author ?? null}::text, ${now})`
  yield* sql`
    DELETE FROM snippet_versions w WHERE w.org_slug = ${org} AND w.snippet_id = ${id} AND w.id <= (
      SELECT o.id FROM snippet_versions o WHERE o.org_slug = ${org} AND o.snippet_id = ${id}
      ORDER BY o.id DESC OFFSET ${keptVersions} LIMIT 1)`
})

/** Stores the change of a snippet that awaits approval. */
export const writeSnippetProposal = (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  { id, revision }: SnippetRow,
  { author, name, text }: Pick<SnippetProposalRow, "author" | "name" | "text">,
  now: Date,
) =>
  sql`
    INSERT INTO snippet_proposals AS p (org_slug, snippet_id, name, text, author, version, base_revision, updated_at)
    VALUES (${org}, ${id}, ${name}, ${text}, ${author}, 1, ${revision}::float8::bigint, ${now})
    ON CONFLICT (org_slug, snippet_id) DO UPDATE SET name = excluded.name, text = excluded.text,
      author = excluded.author, version = p.version + 1, base_revision = excluded.base_revision,
      updated_at = excluded.updated_at`

/** Deletes the change of a snippet that awaits approval. */
export const deleteSnippetProposal = (sql: SqlClient.SqlClient, org: OrgSlug, id: string) =>
  sql`DELETE FROM snippet_proposals p WHERE p.org_slug = ${org} AND p.snippet_id = ${id}`
