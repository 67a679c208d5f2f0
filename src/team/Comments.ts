import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { reaches } from "../accounts/Account.ts"
import { type Actor, nameOf, roleIn } from "../accounts/Actor.ts"
import { accountOf, type Author, authorOf } from "../accounts/Author.ts"
import { MemberNames, type NamedMember, nameOfAuthor } from "../accounts/MemberNames.ts"
import type { Comment, CommentInput, CommentPatch } from "../domain/Comment.ts"
import { CommentNotFound, NotAllowed, type TemplateNotFound, VariantNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { Template } from "../domain/Template.ts"
import { notify } from "../accounts/notifications/Notify.ts"
import { readAuthors } from "../templates/ProposalRows.ts"
import { Templates } from "../templates/Templates.ts"
import { partsOf, readMentions, storeMentions, type TextPart } from "./Mentions.ts"

interface Row {
  readonly id: number
  readonly templateId: string
  readonly variantId: string | null
  readonly author: Author
  readonly text: string
  readonly mentions: ReadonlyArray<string>
  readonly createdAt: Date
  readonly editedAt: Date | null
  readonly resolvedAt: Date | null
  readonly resolvedBy: Author | null
}

type Members = ReadonlyMap<string, NamedMember>

/** A comment with its text in parts, so that mentions can be displayed. */
export interface ReadComment extends Comment {
  readonly parts: ReadonlyArray<TextPart>
}

const fromRow = (row: Row, members: Members): ReadComment => ({
  id: row.id,
  template_id: row.templateId,
  variant_id: row.variantId,
  author: nameOfAuthor(row.author, members),
  author_id: accountOf(row.author) ?? null,
  text: readMentions(row, members),
  parts: partsOf(row, members),
  mentions: row.mentions.map((id) => ({ account_id: id, name: nameOfAuthor(`member:${id}`, members) })),
  created_at: row.createdAt.toISOString(),
  edited_at: row.editedAt?.toISOString() ?? null,
  resolved_at: row.resolvedAt?.toISOString() ?? null,
  resolved_by: row.resolvedBy === null ? null : nameOfAuthor(row.resolvedBy, members),
})

/** Selects the comments of a list. */
export type CommentFilter = "open" | "resolved" | "all"

/** A page of up to `limit` comments with ids below `cursor`. */
interface CommentPage {
  readonly cursor?: number | undefined
  readonly limit: number
  readonly which?: CommentFilter | undefined
  readonly variant?: string | undefined
}

const columnsOf = (sql: SqlClient.SqlClient) =>
  sql`c.id::float8 AS id, c.template_id, c.variant_id, c.author, c.text, c.mentions, c.created_at, c.edited_at,
    c.resolved_at, c.resolved_by`

/** Reads a comment. Fails with `CommentNotFound` for an unknown one. */
const readRow = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, org: OrgSlug, template: string, id: number) {
  const [row] = yield* Effect.orDie(sql<Row>`
    SELECT ${columnsOf(sql)} FROM template_comments c
    WHERE c.org_slug = ${org} AND c.template_id = ${template} AND c.id = ${id}::bigint`)
  return row ?? (yield* new CommentNotFound({ id: String(id) }))
})

/** The condition of the comments of a page. */
const matching = (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  template: string,
  { cursor, variant, which = "all" }: CommentPage,
) =>
  sql.and([
    sql`c.org_slug = ${org}`,
    sql`c.template_id = ${template}`,
    sql`c.id < ${cursor ?? Number.MAX_SAFE_INTEGER}::bigint`,
    ...(variant === undefined ? [] : [sql`c.variant_id = ${variant}`]),
    ...(which === "all" ? [] : [sql`(c.resolved_at IS NULL) = ${which === "open"}`]),
  ])

/** Assignments that resolve a comment, or reopen it. With null, both columns stay unchanged. */
const resolving = (sql: SqlClient.SqlClient, resolved: boolean | null, by: Author, now: Date) =>
  sql`resolved_at = CASE ${resolved}::boolean
      WHEN true THEN coalesce(c.resolved_at, ${now}::timestamptz) WHEN false THEN NULL ELSE c.resolved_at END,
    resolved_by = CASE ${resolved}::boolean
      WHEN true THEN coalesce(c.resolved_by, ${by}::text) WHEN false THEN NULL ELSE c.resolved_by END`

/** Notifies mentioned members and the template's followers of a comment. */
const makeTelling = (sql: SqlClient.SqlClient) => {
  /**
   * Returns the accounts that follow a template: its owner, the authors of comments on it, and the authors of proposed
   * changes.
   */
  const followersOf = Effect.fnUntraced(function* (
    org: OrgSlug,
    { id: template, owner }: Pick<Template, "id" | "owner">,
    members: Members,
  ) {
    const rows = yield* sql<{ author: Author }>`
      SELECT DISTINCT c.author FROM template_comments c WHERE c.org_slug = ${org} AND c.template_id = ${template}`
    const authors = new Set([...rows.map(({ author }) => author), ...yield* readAuthors(sql, org, template)])
    const owners = [...members.values()].filter(({ email }) => email === owner).map(({ id }) => id)
    return [...owners, ...[...authors].flatMap((author) => accountOf(author) ?? [])]
  })

  /** Notifies people of a comment: the members in `mentioned`, and with `followers` these accounts. */
  const notifyOf = Effect.fnUntraced(function* (
    org: OrgSlug,
    row: Row,
    by: Actor,
    members: Members,
    mentioned: ReadonlyArray<string>,
    followers: ReadonlyArray<string> | undefined,
  ) {
    const own = accountOf(authorOf(by))
    const except = own === undefined ? [] : [own]
    const data = {
      org,
      template_id: row.templateId,
      copy_id: row.variantId,
      comment_id: String(row.id),
      by: nameOf(by),
      text: readMentions(row, members),
      added_at: row.createdAt.toISOString(),
    }
    yield* notify(sql, [
      ...(mentioned.length === 0
        ? []
        : [{ kind: "comment.mention" as const, to: { accounts: mentioned }, except, data }]),
      ...(followers === undefined ? [] : [{
        kind: "comment.added" as const,
        to: { accounts: followers },
        except: [...except, ...mentioned],
        data,
      }]),
    ])
  })

  return { followersOf, notifyOf }
}

/** Comments of members on templates. A broken store is a defect. */
export class Comments extends Context.Service<Comments, {
  /** Returns comments, newest first. Fails with `TemplateNotFound` for an unknown template. */
  readonly list: (
    org: OrgSlug,
    template: string,
    page: CommentPage,
  ) => Effect.Effect<ReadonlyArray<ReadComment>, TemplateNotFound>
  /** Returns the number of comments that are not resolved. */
  readonly countOpen: (org: OrgSlug, template: string) => Effect.Effect<number>
  /** Returns a comment. Fails with `CommentNotFound` for an unknown comment. */
  readonly get: (org: OrgSlug, template: string, id: number) => Effect.Effect<ReadComment, CommentNotFound>
  /**
   * Adds a comment. Fails with `TemplateNotFound` for an unknown template, and `VariantNotFound` for an unknown
   * variant.
   */
  readonly add: (
    org: OrgSlug,
    template: string,
    input: CommentInput,
    by: Actor,
  ) => Effect.Effect<ReadComment, TemplateNotFound | VariantNotFound>
  /**
   * Changes the text, which requires its author, or resolves or reopens the comment, which any member may do. Fails
   * with `NotAllowed` for the text of another author.
   */
  readonly change: (
    org: OrgSlug,
    template: string,
    id: number,
    patch: CommentPatch,
    by: Actor,
  ) => Effect.Effect<ReadComment, CommentNotFound | NotAllowed>
  /** Removes a comment. Requires its author or an admin. Fails with `NotAllowed` for other callers. */
  readonly remove: (
    org: OrgSlug,
    template: string,
    id: number,
    by: Actor,
  ) => Effect.Effect<void, CommentNotFound | NotAllowed>
}>()("parlance/team/Comments") {
  static readonly layer = Layer.effect(
    Comments,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const names = yield* MemberNames
      const templates = yield* Templates

      const columns = columnsOf(sql)

      const { followersOf, notifyOf } = makeTelling(sql)

      const list = Effect.fn("Comments.list")(
        function* (org: OrgSlug, template: string, page: CommentPage) {
          const { id } = yield* templates.outline(org, template)
          const rows = yield* Effect.orDie(sql<Row>`
            SELECT ${columns} FROM template_comments c
            WHERE ${matching(sql, org, id, page)} ORDER BY c.id DESC LIMIT ${page.limit}`)
          const members = yield* names.of(org)
          return rows.map((row) => fromRow(row, members))
        },
      )

      const countOpen = Effect.fn("Comments.countOpen")(function* (org: OrgSlug, template: string) {
        const [row] = yield* Effect.orDie(sql<{ count: number }>`
          SELECT count(*)::int AS count FROM template_comments c
          WHERE c.org_slug = ${org} AND c.template_id = ${template} AND c.resolved_at IS NULL`)
        return row!.count
      })

      const get = Effect.fn("Comments.get")(function* (org: OrgSlug, template: string, id: number) {
        return fromRow(yield* readRow(sql, org, template, id), yield* names.of(org))
      })

      const add = Effect.fn("Comments.add")(
        function* (org: OrgSlug, template: string, { text, variant_id: variant = null }: CommentInput, by: Actor) {
          const of = yield* templates.outline(org, template)
          if (variant !== null && !of.variants.some(({ id }) => id === variant)) {
            return yield* new VariantNotFound({ id: variant })
          }
          const members = yield* names.of(org)
          const stored = storeMentions(text.trim(), members.values())
          const author = authorOf(by)
          const now = yield* DateTime.nowAsDate
          const added = yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
            const followers = yield* followersOf(org, of, members)
            const [row] = yield* sql<Row>`
              INSERT INTO template_comments AS c
                (org_slug, template_id, variant_id, author, text, mentions, created_at)
              VALUES (${org}, ${of.id}, ${variant}, ${author}, ${stored.text}, ${[...stored.mentions]}::text[], ${now})
              RETURNING ${columns}`
            yield* notifyOf(org, row!, by, members, stored.mentions, followers)
            return row!
          })))
          return fromRow(added, members)
        },
      )

      const change = Effect.fn("Comments.change")(function* (
        org: OrgSlug,
        template: string,
        id: number,
        { resolved, text }: CommentPatch,
        by: Actor,
      ) {
        const before = yield* readRow(sql, org, template, id)
        const author = authorOf(by)
        if (text !== undefined && before.author !== author) {
          return yield* new NotAllowed({ detail: "Only its author can edit a comment" })
        }
        const members = yield* names.of(org)
        const now = yield* DateTime.nowAsDate
        const stored = text === undefined ? before : storeMentions(text.trim(), members.values())
        const isEdited = stored.text !== before.text
        const mentioned = stored.mentions.filter((one) => !before.mentions.includes(one))
        const row = yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          const [row] = yield* sql<Row>`
            UPDATE template_comments c SET text = ${stored.text}, mentions = ${[...stored.mentions]}::text[],
              edited_at = CASE WHEN ${isEdited} THEN ${now}::timestamptz ELSE c.edited_at END,
              ${resolving(sql, resolved ?? null, author, now)}
            WHERE c.org_slug = ${org} AND c.template_id = ${template} AND c.id = ${id}::bigint RETURNING ${columns}`
          if (row !== undefined) yield* notifyOf(org, row, by, members, mentioned, undefined)
          return row
        })))
        return row === undefined ? yield* new CommentNotFound({ id: String(id) }) : fromRow(row, members)
      })

      const remove = Effect.fn("Comments.remove")(function* (org: OrgSlug, template: string, id: number, by: Actor) {
        const { author } = yield* readRow(sql, org, template, id)
        if (author !== authorOf(by) && !reaches(roleIn(by, org), "admin")) {
          return yield* new NotAllowed({ detail: "Only its author or an admin can delete a comment" })
        }
        yield* Effect.orDie(sql`
          DELETE FROM template_comments c
          WHERE c.org_slug = ${org} AND c.template_id = ${template} AND c.id = ${id}::bigint`)
      })

      return Comments.of({ list, countOpen, get, add, change, remove })
    }),
  )
}
