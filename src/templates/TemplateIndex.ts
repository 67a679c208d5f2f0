import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { OrgSlug, TemplateId } from "../domain/Ids.ts"
import type { Objective } from "../domain/Template.ts"
import { recordset } from "../store/Recordset.ts"
import { isOf, type Which } from "./TemplateRows.ts"

/** A template in a list, without its content. */
export interface IndexedTemplate {
  readonly id: TemplateId
  readonly name: string
  readonly objective: Objective
  readonly tags: ReadonlyArray<string>
  readonly owner: string | null
  readonly updatedAt: string
  readonly archivedAt: string | null
  readonly variants: number
  /** Number of active variants, in season or not. */
  readonly active: number
}

type Row = Omit<IndexedTemplate, "updatedAt" | "archivedAt"> & {
  readonly updatedAt: Date
  readonly archivedAt: Date | null
}

const fromRow = (row: Row): IndexedTemplate => ({
  ...row,
  updatedAt: row.updatedAt.toISOString(),
  archivedAt: row.archivedAt?.toISOString() ?? null,
})

/** Returns the key of a variant among the variants of several templates. */
export const variantKey = (template: string, variant: string): string => JSON.stringify([template, variant])

/** Finds templates without reading their content. */
export class TemplateIndex extends Context.Service<TemplateIndex, {
  /**
   * Returns up to `limit` templates after the id `cursor`, sorted by id, whose name or id contains `search`, ignoring
   * case.
   */
  readonly list: (
    org: OrgSlug,
    page: { readonly search: string; readonly cursor: string; readonly limit: number; readonly which: Which },
  ) => Effect.Effect<ReadonlyArray<IndexedTemplate>>
  /** Returns the names of these templates by id. Unknown templates are left out. */
  readonly names: (org: OrgSlug, ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, string>>
  /** Returns the names of these variants by the ids of their templates and their own, joined by `variantKey`. */
  readonly variantNames: (
    org: OrgSlug,
    ids: ReadonlyArray<{ readonly template: string; readonly variant: string }>,
  ) => Effect.Effect<ReadonlyMap<string, string>>
  /** Returns all templates, including archived ones, unordered. */
  readonly all: (org: OrgSlug) => Effect.Effect<ReadonlyArray<IndexedTemplate>>
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
        const rows = yield* Effect.orDie(sql<Row>`
          SELECT t.id, t.name, t.objective, t.tags, t.owner, t.updated_at, t.archived_at, v.variants, v.active
          FROM (
            SELECT t.org_slug, t.id, t.name, t.objective, t.tags, t.owner, t.updated_at, t.archived_at FROM templates t
            WHERE t.org_slug = ${org} AND t.id > ${cursor} AND ${isOf(sql, which)} AND ${found(search)}
            ORDER BY t.id LIMIT ${limit}
          ) t
          CROSS JOIN LATERAL (
            SELECT count(*)::int AS variants, (count(*) FILTER (WHERE v.active))::int AS active FROM variants v
            WHERE v.org_slug = t.org_slug AND v.template_id = t.id
          ) v
          ORDER BY t.id`)
        return rows.map(fromRow)
      })

      const names = Effect.fn("TemplateIndex.names")(function* (org: OrgSlug, ids: ReadonlyArray<string>) {
        const rows = yield* Effect.orDie(sql<{ readonly id: string; readonly name: string }>`
          SELECT t.id, t.name FROM ${recordset(ids.map((id) => ({ id })), { id: "text" })}
          CROSS JOIN LATERAL (SELECT t.id, t.name FROM templates t WHERE t.org_slug = ${org} AND t.id = r.id) t`)
        return new Map(rows.map(({ id, name }) => [id, name]))
      })

      const variantNames = Effect.fn("TemplateIndex.variantNames")(function* (
        org: OrgSlug,
        ids: ReadonlyArray<{ readonly template: string; readonly variant: string }>,
      ) {
        const rows = yield* Effect.orDie(sql<
          { readonly template: string; readonly variant: string; readonly name: string }
        >`
          SELECT r.template, r.variant, v.name FROM ${recordset(ids, { template: "text", variant: "text" })}
          CROSS JOIN LATERAL (
            SELECT v.name FROM variants v WHERE v.org_slug = ${org} AND v.template_id = r.template AND v.id = r.variant
          ) v`)
        return new Map(rows.map(({ name, template, variant }) => [variantKey(template, variant), name]))
      })

      const all = Effect.fn("TemplateIndex.all")(function* (org: OrgSlug) {
        const rows = yield* Effect.orDie(sql<Row>`
          SELECT t.id, t.name, t.objective, t.tags, t.owner, t.updated_at, t.archived_at, coalesce(v.variants, 0) AS variants,
            coalesce(v.active, 0) AS active
          FROM templates t LEFT JOIN (
            SELECT v.template_id, count(*)::int AS variants, (count(*) FILTER (WHERE v.active))::int AS active
            FROM variants v WHERE v.org_slug = ${org} GROUP BY v.template_id
          ) v ON v.template_id = t.id
          WHERE t.org_slug = ${org}`)
        return rows.map(fromRow)
      })

      return TemplateIndex.of({ list, names, variantNames, all })
    }),
  )
}
