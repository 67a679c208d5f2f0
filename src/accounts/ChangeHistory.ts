import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import {
  archiveActions,
  type AuditEntry,
  entryColumns,
  entryOf,
  type EntryRow,
  type Page,
  recordActions,
} from "./Audit.ts"

/** The actions about a template or one of its variants. */
const actions = [recordActions.template, recordActions.variant, archiveActions].flatMap((actions) =>
  Object.values(actions)
)

/** Changes of one template and its variants, with their authors: its part of the audit log. */
export class ChangeHistory extends Context.Service<ChangeHistory, {
  /** Returns changes older than `before`, newest first. Includes changes of a deleted template with this id. */
  readonly ofTemplate: (
    org: string,
    template: string,
    page: Page,
  ) => Effect.Effect<ReadonlyArray<AuditEntry>>
}>()("parlance/accounts/ChangeHistory") {
  static readonly layer = Layer.effect(
    ChangeHistory,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const ofTemplate = Effect.fn("ChangeHistory.ofTemplate")(function* (
        org: string,
        template: string,
        { cursor, limit }: Page,
      ) {
        const rows = yield* Effect.orDie(sql<EntryRow>`
          SELECT ${entryColumns(sql)} FROM audit_entries e
          WHERE e.org_slug = ${org} AND split_part(e.subject, ' / ', 1) = split_part(${template}::text, ' / ', 1)
            AND (e.subject = ${template} OR starts_with(e.subject, ${`${template} / `}::text))
            AND e.action = ANY(${actions}::text[]) AND e.id < ${cursor ?? Number.MAX_SAFE_INTEGER}::bigint
          ORDER BY e.id DESC LIMIT ${limit}`)
        return rows.map(entryOf)
      })

      return ChangeHistory.of({ ofTemplate })
    }),
  )
}
