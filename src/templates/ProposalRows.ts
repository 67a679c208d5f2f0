import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Author } from "../accounts/Author.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { withDefaults } from "../domain/Template.ts"
import type { WholeContent } from "./Content.ts"

// The rows of proposed changes.

/** `requested` awaits approval. The other states are final. */
export type ProposalState = "requested" | "approved" | "rejected" | "withdrawn"

/** A proposed change without its content. */
export interface ProposalHead {
  readonly id: number
  readonly templateId: string
  readonly author: Author
  readonly state: ProposalState
  readonly version: number
  readonly note: string
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly decidedBy: Author | null
  readonly decidedAt: Date | null
  readonly comment: string | null
  /** Name of the template in the change, or before its deletion. */
  readonly templateName: string
  readonly kind: "created" | "changed" | "deleted"
}

/** A proposed change with its content. */
export interface ProposalRow extends ProposalHead {
  readonly base: WholeContent | null
  readonly proposed: WholeContent | null
}

/** Adds to a stored content the members that did not exist when it was stored. */
const completed = (content: WholeContent | null): WholeContent | null =>
  content && {
    ...content,
    ...withDefaults(content),
    variants: content.variants.map((variant) => ({ ...variant, locales: variant.locales ?? {} })),
  }

const withContent = (row: ProposalRow): ProposalRow => ({
  ...row,
  base: completed(row.base),
  proposed: completed(row.proposed),
})

const headColumns = `p.id::float8 AS id, p.template_id, p.author, p.state, p.version, p.note, p.created_at,
  p.updated_at, p.decided_by, p.decided_at, p.comment,
  coalesce(p.proposed->>'name', p.base->>'name', '') AS template_name,
  CASE WHEN p.base IS NULL THEN 'created' WHEN p.proposed IS NULL THEN 'deleted' ELSE 'changed' END AS kind`

/** Selects proposals. */
export interface ProposalFilter {
  readonly state?: ProposalState | undefined
  readonly template?: string | undefined
  readonly author?: Author | undefined
}

/** Reads proposals of an organization without their content, newest first, with ids below `cursor`. */
export const readHeads = (
  sql: SqlClient.SqlClient,
  org: string,
  { author, cursor, limit, state, template }: ProposalFilter & {
    readonly cursor?: number | undefined
    readonly limit: number
  },
) =>
  sql<ProposalHead>`
    SELECT ${sql.literal(headColumns)} FROM template_proposals p
    WHERE ${
    sql.and([
      sql`p.org_slug = ${org}`,
      sql`p.id < ${cursor ?? Number.MAX_SAFE_INTEGER}::bigint`,
      ...(state === undefined ? [] : [sql`p.state = ${state}`]),
      ...(template === undefined ? [] : [sql`p.template_id = ${template}`]),
      ...(author === undefined ? [] : [sql`p.author = ${author}`]),
    ])
  }
    ORDER BY p.id DESC LIMIT ${limit}`

/** Reads one proposal. `lock` locks it until the transaction ends. */
export const readProposal = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  id: number,
  lock = false,
) {
  const [row] = yield* sql<ProposalRow>`
    SELECT ${sql.literal(headColumns)}, p.base, p.proposed FROM template_proposals p
    WHERE p.org_slug = ${org} AND p.id = ${id}::bigint ${lock ? sql`FOR UPDATE` : sql``}`
  return row && withContent(row)
})

/** Reads the open proposals of an author for some templates. */
export const readOpen = (
  sql: SqlClient.SqlClient,
  org: string,
  author: Author,
  templates: ReadonlyArray<string>,
) =>
  templates.length === 0 ? Effect.succeed([]) : Effect.map(
    sql<ProposalRow>`
    SELECT ${sql.literal(headColumns)}, p.base, p.proposed FROM template_proposals p
    WHERE p.org_slug = ${org} AND p.template_id = ANY(${[...templates]}::text[]) AND p.author = ${author}
      AND p.state = 'requested'
    ORDER BY p.template_id`,
    (rows) => rows.map(withContent),
  )

const jsonOf = (content: WholeContent | undefined | null) => content == null ? null : JSON.stringify(content)

/** The content of a proposal to store. */
interface NewProposal {
  readonly templateId: string
  readonly author: Author
  readonly base: WholeContent | undefined
  readonly proposed: WholeContent | undefined
}

/** Adds a proposal and returns its id. */
export const insertProposal = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  { author, base, proposed, templateId }: NewProposal,
  now: Date,
) {
  const [row] = yield* sql<{ id: number }>`
    INSERT INTO template_proposals AS p
      (org_slug, template_id, author, state, base, proposed, version, created_at, updated_at)
    VALUES (${org}, ${templateId}, ${author}, 'requested', ${jsonOf(base)}::text::json, ${jsonOf(proposed)}::text::json,
      1, ${now}, ${now})
    RETURNING p.id::float8 AS id`
  return row!.id
})

/** Replaces the content of an open proposal, so that reviewers must review it again. */
export const replaceContent = (
  sql: SqlClient.SqlClient,
  org: string,
  id: number,
  content: Pick<NewProposal, "base" | "proposed">,
  now: Date,
) =>
  sql`
    UPDATE template_proposals p SET base = ${jsonOf(content.base)}::text::json,
      proposed = ${jsonOf(content.proposed)}::text::json, version = p.version + 1, updated_at = ${now}
    WHERE p.org_slug = ${org} AND p.id = ${id}::bigint`

/** Ends a proposal. */
export const closeProposal = (
  sql: SqlClient.SqlClient,
  org: string,
  id: number,
  { by, comment, now, state }: {
    readonly state: Exclude<ProposalState, "requested">
    readonly by: Author
    readonly comment: string | null
    readonly now: Date
  },
) =>
  sql`
    UPDATE template_proposals p SET state = ${state}, decided_by = ${by}, decided_at = ${now}, comment = ${comment}
    WHERE p.org_slug = ${org} AND p.id = ${id}::bigint`

/** The authors of all proposals for a template. */
export const readAuthors = (sql: SqlClient.SqlClient, org: string, template: string) =>
  Effect.map(
    sql<{ author: Author }>`
      SELECT DISTINCT p.author FROM template_proposals p WHERE p.org_slug = ${org} AND p.template_id = ${template}`,
    (rows) => rows.map(({ author }) => author),
  )
