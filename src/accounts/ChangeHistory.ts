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

/** One changed field of a template, a variant or the organization that can explain a change of results. */
export interface ServedChange {
  readonly at: Date
  readonly subject: string
  /** A JSON pointer: `/active`, `/variants/ID/active`, or a pointer that begins with `/holdout`. */
  readonly field: string
  /** Null if the field did not exist. */
  readonly before: unknown
  readonly after: unknown
}

/** Maximum number of changed fields that are read. */
const mostServed = 500

/** Changes of one template and its variants, with their authors: its part of the audit log. */
export class ChangeHistory extends Context.Service<ChangeHistory, {
  /** Returns changes older than `before`, newest first. Includes changes of a deleted template with this id. */
  readonly ofTemplate: (
    org: string,
    template: string,
    page: Page,
  ) => Effect.Effect<ReadonlyArray<AuditEntry>>
  /** Returns changes since `since` of the variants that are served and of the holdout, also of the organization, newest first. */
  readonly ofServed: (org: string, template: string, since: Date) => Effect.Effect<ReadonlyArray<ServedChange>>
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

      const ofServed = Effect.fn("ChangeHistory.ofServed")(function* (org: string, template: string, since: Date) {
        return yield* Effect.orDie(sql<ServedChange>`
          SELECT e.at, e.subject, f->>'field' AS field, f->'before' AS before, f->'after' AS after
          FROM audit_entries e, json_array_elements(e.changes->'fields') f
          WHERE e.org_slug = ${org} AND e.at >= ${since}::timestamptz
            AND (e.action = ${recordActions.organization.changed} AND starts_with(f->>'field', '/holdout')
              OR e.action = ANY(${actions}::text[]) AND split_part(e.subject, ' / ', 1) = split_part(${template}::text, ' / ', 1)
                AND (e.subject = ${template} OR starts_with(e.subject, ${`${template} / `}::text))
                AND f->>'field' ~ '^(/active|/variants/[^/]+/active|/holdout.*)$')
          ORDER BY e.id DESC LIMIT ${mostServed}`)
      })

      return ChangeHistory.of({ ofServed, ofTemplate })
    }),
  )
}
