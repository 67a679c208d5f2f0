import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AuditEntry } from "./Audit.ts"
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

const actions = endpoints.flatMap((endpoint) => policy[endpoint]?.action ?? [])

/** What was changed of one template and its variants, and by whom: its part of the audit log. */
export class ChangeHistory extends Context.Service<ChangeHistory, {
  /** Newest first, older than `before`. Changes of a template of the same id that has been deleted are among them. */
  readonly ofTemplate: (
    org: string,
    template: string,
    page: { readonly before?: number | undefined; readonly limit: number },
  ) => Effect.Effect<ReadonlyArray<AuditEntry>>
}>()("parlance/accounts/ChangeHistory") {
  static readonly layer = Layer.effect(
    ChangeHistory,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const ofTemplate = Effect.fn("ChangeHistory.ofTemplate")(function* (
        org: string,
        template: string,
        { before, limit }: { readonly before?: number | undefined; readonly limit: number },
      ) {
        const rows = yield* Effect.orDie(sql<Omit<AuditEntry, "at"> & { readonly at: Date }>`
          SELECT e.id::float8 AS id, e.at, e.actor, e.action, e.subject, e.details FROM audit_entries e
          WHERE e.org_slug = ${org} AND split_part(e.subject, ' / ', 1) = split_part(${template}::text, ' / ', 1)
            AND (e.subject = ${template} OR starts_with(e.subject, ${`${template} / `}::text))
            AND e.action = ANY(${actions}::text[]) AND e.id < ${before ?? Number.MAX_SAFE_INTEGER}::bigint
          ORDER BY e.id DESC LIMIT ${limit}`)
        return rows.map((row) => ({ ...row, at: row.at.toISOString() }))
      })

      return ChangeHistory.of({ ofTemplate })
    }),
  )
}
