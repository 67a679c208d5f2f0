import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Actor } from "../accounts/Actor.ts"
import { type Author, authorOf } from "../accounts/Author.ts"
import { MemberNames, type NamedMember, nameOfAuthor } from "../accounts/MemberNames.ts"
import * as Tokens from "../accounts/Tokens.ts"
import { InvalidInput, ShareNotFound, type TemplateNotFound } from "../domain/Errors.ts"
import { type OrgSlug, randomId } from "../domain/Ids.ts"
import { defaultShareDays, type ResultShare, type ResultShareInput } from "../domain/ResultShare.ts"
import { Templates } from "../templates/Templates.ts"

const dayMillis = 86_400_000

/** Maximum number of valid links of one template. */
const mostShares = 20

/** Path of the page that a link opens. */
export const sharePath = (token: string): string => `/console/shared-results?token=${token}`

interface Row {
  readonly id: string
  readonly templateId: string
  readonly author: Author
  readonly createdAt: Date
  readonly expiresAt: Date
}

const fromRow = (row: Row, members: ReadonlyMap<string, NamedMember>): ResultShare => ({
  id: row.id,
  template_id: row.templateId,
  created_by: nameOfAuthor(row.author, members),
  created_at: row.createdAt.toISOString(),
  expires_at: row.expiresAt.toISOString(),
})

/** The page that a link opens. */
interface SharedPage {
  readonly org: OrgSlug
  readonly template: string
  readonly expiresAt: Date
}

/**
 * Read-only links to the results of templates. Only a digest of each token is stored, so that the token cannot be read
 * again. A broken store is a defect.
 */
export class ResultShares extends Context.Service<ResultShares, {
  /**
   * Creates a link. Only this response contains `token`. Fails with `TemplateNotFound` for an unknown template, and
   * with `InvalidInput` if the template already has 20 valid links.
   */
  readonly create: (
    org: OrgSlug,
    template: string,
    input: ResultShareInput,
    by: Actor,
  ) => Effect.Effect<ResultShare & { readonly token: string }, TemplateNotFound | InvalidInput>
  /** Returns the valid links, newest first. Fails with `TemplateNotFound` for an unknown template. */
  readonly list: (org: OrgSlug, template: string) => Effect.Effect<ReadonlyArray<ResultShare>, TemplateNotFound>
  /** Revokes a link at once. Fails with `ShareNotFound` if it is unknown, revoked or expired. */
  readonly revoke: (org: OrgSlug, template: string, id: string) => Effect.Effect<void, ShareNotFound>
  /** Returns the results that a link opens. Fails with `ShareNotFound` if it is unknown, revoked or expired. */
  readonly find: (token: string) => Effect.Effect<SharedPage, ShareNotFound>
}>()("parlance/results/ResultShares") {
  static readonly layer = Layer.effect(
    ResultShares,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const names = yield* MemberNames
      const templates = yield* Templates

      const create = Effect.fn("ResultShares.create")(function* (
        org: OrgSlug,
        template: string,
        { expires_in_days: days = defaultShareDays }: ResultShareInput,
        by: Actor,
      ) {
        const { id: templateId } = yield* templates.outline(org, template)
        const now = yield* DateTime.nowAsDate
        const token = Tokens.make()
        const expiresAt = new Date(now.getTime() + days * dayMillis)
        const [row] = yield* Effect.orDie(sql.withTransaction(Effect.gen(function* () {
          yield* sql`DELETE FROM result_shares s WHERE s.org_slug = ${org} AND s.expires_at <= ${now}`
          return yield* sql<Row>`
            INSERT INTO result_shares AS s (org_slug, id, template_id, digest, author, created_at, expires_at)
            SELECT ${org}::text, ${randomId("share")}::text, ${templateId}::text, ${Tokens.digest(token)}::text,
              ${authorOf(by)}::text, ${now}::timestamptz, ${expiresAt}::timestamptz
            WHERE (SELECT count(*) FROM result_shares o WHERE o.org_slug = ${org} AND o.template_id = ${templateId}) <
              ${mostShares}
            RETURNING s.*`
        })))
        if (row === undefined) {
          return yield* new InvalidInput({
            faults: [{
              pointer: "",
              detail: `The template has ${mostShares} links already. Revoke one of them first.`,
            }],
          })
        }
        return { ...fromRow(row, yield* names.of(org)), token }
      })

      const list = Effect.fn("ResultShares.list")(function* (org: OrgSlug, template: string) {
        const { id } = yield* templates.outline(org, template)
        const now = yield* DateTime.nowAsDate
        const rows = yield* Effect.orDie(sql<Row>`
          SELECT s.* FROM result_shares s
          WHERE s.org_slug = ${org} AND s.template_id = ${id} AND s.expires_at > ${now}
          ORDER BY s.created_at DESC, s.id`)
        const members = yield* names.of(org)
        return rows.map((row) => fromRow(row, members))
      })

      const revoke = Effect.fn("ResultShares.revoke")(function* (org: OrgSlug, template: string, id: string) {
        const now = yield* DateTime.nowAsDate
        const gone = yield* Effect.orDie(sql`
          DELETE FROM result_shares s
          WHERE s.org_slug = ${org} AND s.template_id = ${template} AND s.id = ${id} AND s.expires_at > ${now}
          RETURNING s.id`)
        if (gone.length === 0) return yield* new ShareNotFound({ id })
      })

      const find = Effect.fn("ResultShares.find")(function* (token: string) {
        if (!Tokens.isToken(token)) return yield* new ShareNotFound({ id: "" })
        const now = yield* DateTime.nowAsDate
        const [row] = yield* Effect.orDie(sql<Row & { readonly orgSlug: OrgSlug }>`
          SELECT s.* FROM result_shares s WHERE s.digest = ${Tokens.digest(token)} AND s.expires_at > ${now}`)
        return row === undefined
          ? yield* new ShareNotFound({ id: "" })
          : { org: row.orgSlug, template: row.templateId, expiresAt: row.expiresAt }
      })

      return ResultShares.of({ create, list, revoke, find })
    }),
  )
}
