import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { OrgSlug, TemplateId } from "../domain/Ids.ts"
import type { Objective } from "../domain/Template.ts"
import { recordset } from "../store/Recordset.ts"
import { isOf, type Which } from "./TemplateRows.ts"

/** A template as a list shows it, without its content. */
export interface IndexedTemplate {
  readonly id: TemplateId
  readonly name: string
  readonly objective: Objective
  readonly updatedAt: string
  readonly archivedAt: string | null
  readonly variants: number
  /** Variants that are switched on, in season or not. */
  readonly active: number
}

/** Finds templates without reading their content. */
export class TemplateIndex extends Context.Service<TemplateIndex, {
  /** Up to `limit` templates after the id `cursor`, sorted by id, whose name or id contains `search`, ignoring case. */
  readonly list: (
    org: OrgSlug,
    page: { readonly search: string; readonly cursor: string; readonly limit: number; readonly which: Which },
  ) => Effect.Effect<ReadonlyArray<IndexedTemplate>>
  /** The names of these templates by id; of one that is not there, none. */
  readonly names: (org: OrgSlug, ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, string>>
  /** How many templates there are and how many are archived, and how many of `which` `search` finds. */
  readonly count: (org: OrgSlug, search: string, which: Which) => Effect.Effect<{
    readonly all: number
    readonly archived: number
    readonly found: number
  }>
}>()("parlance/templates/TemplateIndex") {
  static readonly layer = Layer.effect(
    TemplateIndex,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const found = (search: string) =>
        sql`(position(lower(${search}::text) IN lower(t.name)) > 0 OR position(lower(${search}::text) IN lower(t.id)) > 0)`

      const list = Effect.fn("TemplateIndex.list")(function* (
        org: OrgSlug,
        { cursor, limit, search, which }: {
          readonly search: string
          readonly cursor: string
          readonly limit: number
          readonly which: Which
        },
      ) {
        const rows = yield* Effect.orDie(sql<
          Omit<IndexedTemplate, "updatedAt" | "archivedAt"> & {
            readonly updatedAt: Date
            readonly archivedAt: Date | null
          }
        >`
          SELECT t.id, t.name, t.objective, t.updated_at, t.archived_at, v.variants, v.active
          FROM (
            SELECT t.org_slug, t.id, t.name, t.objective, t.updated_at, t.archived_at FROM templates t
            WHERE t.org_slug = ${org} AND t.id > ${cursor} AND ${isOf(sql, which)} AND ${found(search)}
            ORDER BY t.id LIMIT ${limit}
          ) t
          CROSS JOIN LATERAL (
            SELECT count(*)::int AS variants, (count(*) FILTER (WHERE v.active))::int AS active FROM variants v
            WHERE v.org_slug = t.org_slug AND v.template_id = t.id
          ) v
          ORDER BY t.id`)
        return rows.map((row) => ({
          ...row,
          updatedAt: row.updatedAt.toISOString(),
          archivedAt: row.archivedAt?.toISOString() ?? null,
        }))
      })

      const names = Effect.fn("TemplateIndex.names")(function* (org: OrgSlug, ids: ReadonlyArray<string>) {
        const rows = yield* Effect.orDie(sql<{ readonly id: string; readonly name: string }>`
          SELECT t.id, t.name FROM ${recordset(ids.map((id) => ({ id })), { id: "text" })}
          CROSS JOIN LATERAL (SELECT t.id, t.name FROM templates t WHERE t.org_slug = ${org} AND t.id = r.id) t`)
        return new Map(rows.map(({ id, name }) => [id, name]))
      })

      const count = Effect.fn("TemplateIndex.count")(function* (org: OrgSlug, search: string, which: Which) {
        const [row] = yield* Effect.orDie(sql<
          { readonly all: number; readonly archived: number; readonly found: number }
        >`
          SELECT count(*)::int AS all, count(t.archived_at)::int AS archived,
            (count(*) FILTER (WHERE ${isOf(sql, which)} AND ${found(search)}))::int AS found
          FROM templates t WHERE t.org_slug = ${org}`)
        return row!
      })

      return TemplateIndex.of({ list, names, count })
    }),
  )
}
