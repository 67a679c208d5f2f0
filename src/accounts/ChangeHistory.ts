import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { archiveActions, type AuditEntry, entryColumns, entryOf, type EntryRow, type Page } from "./Audit.ts"
import { policy } from "./Policy.ts"

/** Endpoints whose entries in the audit log are about a template or one of its variants. */
const endpoints = [
  "createTemplate",
  "updateTemplate",
  "deleteTemplate",
  "createVariant",
  "updateVariant",
  "deleteVariant",
] as const

const actions = [...endpoints.flatMap((endpoint) => policy[endpoint]?.action ?? []), ...Object.values(archiveActions)]

/** Changes of one template and its variants, with their authors: its part of the audit log. */
export class ChangeHistory extends Context.Service<ChangeHistory, {
  /** Newest first, older than `before`. Changes of a template of the same id that has been deleted are among them. */
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
