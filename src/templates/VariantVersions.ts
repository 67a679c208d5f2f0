import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { VariantNotFound, VersionNotFound } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { Variant, type VariantPatch } from "../domain/Template.ts"
import { currentAuthor } from "../store/ChangeTrail.ts"
import { recordset } from "../store/Recordset.ts"

/** Number of versions kept of a variant. Older ones are removed. */
export const keptVersions = 200

/**
 * Stores the present content of variants, unless it equals their latest version. Call it within the transaction of a
 * change, before and after the change: before, because variants from early releases have no version yet.
 */
export const keepVersions = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  variants: ReadonlyArray<{ readonly template_id: string; readonly id: string }>,
  when: "before" | "after",
) {
  const author = when === "before" ? undefined : yield* currentAuthor
  const digest = sql`md5(concat_ws(chr(1), v.name, v.vars, v.formats, v.targeting, v.seasons, v.components,
    nullif(v.locales::text, '{}')))`
  const changed = yield* sql<{ templateId: string; variantId: string }>`
    INSERT INTO variant_versions AS w
      (org_slug, template_id, variant_id, name, vars, locales, formats, targeting, seasons, components, digest, author,
        saved_at)
    SELECT v.org_slug, v.template_id, v.id, v.name, v.vars, v.locales, v.formats, v.targeting, v.seasons, v.components,
      ${digest}, ${author ?? null}::text, v.updated_at
    FROM ${recordset(variants, { template_id: "text", id: "text" })}
    JOIN variants v ON v.org_slug = ${org} AND v.template_id = r.template_id AND v.id = r.id
    LEFT JOIN LATERAL (
      SELECT l.digest FROM variant_versions l
      WHERE l.org_slug = v.org_slug AND l.template_id = v.template_id AND l.variant_id = v.id
      ORDER BY l.id DESC LIMIT 1) latest ON true
    WHERE latest.digest IS DISTINCT FROM ${digest}
    RETURNING w.template_id, w.variant_id`
  for (const { templateId, variantId } of changed) {
    yield* sql`
      DELETE FROM variant_versions w WHERE w.org_slug = ${org} AND w.template_id = ${templateId}
        AND w.variant_id = ${variantId} AND w.id <= (
          SELECT o.id FROM variant_versions o WHERE o.org_slug = ${org} AND o.template_id = ${templateId}
            AND o.variant_id = ${variantId} ORDER BY o.id DESC OFFSET ${keptVersions} LIMIT 1)`
  }
})

const { components, formats, locales, name, seasons, targeting, vars } = Variant.fields

/** A version of a variant, without its content. */
export const VariantVersionHead = Schema.Struct({
  id: Schema.Int,
  name,
  saved_at: Schema.String,
  author: Schema.NullOr(Schema.String).annotate({
    description: "As in the audit log; null for content from before versions were kept",
  }),
}).annotate({ identifier: "VariantVersionHead" })
export type VariantVersionHead = typeof VariantVersionHead.Type

/** The content of a variant after a change. */
export const VariantVersion = Schema.Struct({
  ...VariantVersionHead.fields,
  vars,
  locales,
  formats,
  targeting,
  seasons,
  components,
}).annotate({ identifier: "VariantVersion" })
export type VariantVersion = typeof VariantVersion.Type

/** Returns the patch of a variant that restores a version. `active` does not change. */
export const restoredBy = (version: VariantVersion): Required<Omit<VariantPatch, "active">> => ({
  name: version.name,
  vars: version.vars,
  locales: version.locales,
  formats: version.formats,
  targeting: version.targeting,
  seasons: version.seasons,
  components: version.components,
})

type Row<A extends { readonly saved_at: string }> = Omit<A, "saved_at"> & { readonly savedAt: Date }

const toHead = ({ author, id, name, savedAt }: Row<VariantVersionHead>): VariantVersionHead => ({
  id,
  name,
  saved_at: savedAt.toISOString(),
  author,
})

/** The versions of variants: their content after each change, the latest 200 of each. */
export class VariantVersions extends Context.Service<VariantVersions, {
  /** Returns versions older than the id `before`, newest first. Fails with `VariantNotFound` for an unknown variant. */
  readonly list: (
    org: OrgSlug,
    template: string,
    variant: string,
    page: { readonly before?: number | undefined; readonly limit: number },
  ) => Effect.Effect<ReadonlyArray<VariantVersionHead>, VariantNotFound>
  /** Returns a version. Fails with `VersionNotFound` for an unknown version. */
  readonly get: (
    org: OrgSlug,
    template: string,
    variant: string,
    id: number,
  ) => Effect.Effect<VariantVersion, VersionNotFound>
  /** Returns the version that was in use at a time (ISO 8601). Undefined if it is no longer stored. */
  readonly findAt: (
    org: OrgSlug,
    template: string,
    variant: string,
    at: string,
  ) => Effect.Effect<VariantVersion | undefined>
}>()("parlance/templates/VariantVersions") {
  static readonly layer = Layer.effect(
    VariantVersions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const list = Effect.fn("VariantVersions.list")(
        function* (
          org: OrgSlug,
          template: string,
          variant: string,
          { before = Number.MAX_SAFE_INTEGER, limit }: { readonly before?: number | undefined; readonly limit: number },
        ) {
          const found = yield* sql`
            SELECT 1 FROM variants v WHERE v.org_slug = ${org} AND v.template_id = ${template} AND v.id = ${variant}`
          if (found.length === 0) return yield* new VariantNotFound({ id: variant })
          const rows = yield* sql<Row<VariantVersionHead>>`
            SELECT w.id::float8 AS id, w.name, w.saved_at, w.author FROM variant_versions w
            WHERE w.org_slug = ${org} AND w.template_id = ${template} AND w.variant_id = ${variant}
              AND w.id < ${before}::bigint
            ORDER BY w.id DESC LIMIT ${limit}`
          return rows.map(toHead)
        },
        Effect.catchTag("SqlError", Effect.die),
      )

      /** Returns the latest version that satisfies a condition. */
      const latest = Effect.fnUntraced(
        function* (org: OrgSlug, template: string, variant: string, condition: Statement.Fragment) {
          const [row] = yield* sql<Row<VariantVersion>>`
            SELECT w.id::float8 AS id, w.name, w.saved_at, w.author, w.vars, w.locales, w.formats, w.targeting,
              w.seasons, w.components
            FROM variant_versions w
            WHERE w.org_slug = ${org} AND w.template_id = ${template} AND w.variant_id = ${variant} AND ${condition}
            ORDER BY w.id DESC LIMIT 1`
          if (row === undefined) return undefined
          const { components, formats, locales, seasons, targeting, vars } = row
          return { ...toHead(row), vars, locales, formats, targeting, seasons, components }
        },
        Effect.catchTag("SqlError", Effect.die),
      )

      const get = Effect.fn("VariantVersions.get")(
        function* (org: OrgSlug, template: string, variant: string, id: number) {
          return (yield* latest(org, template, variant, sql`w.id = ${id}::bigint`)) ??
            (yield* new VersionNotFound({ id: String(id) }))
        },
      )

      const findAt = Effect.fn("VariantVersions.findAt")((
        org: OrgSlug,
        template: string,
        variant: string,
        at: string,
      ) => latest(org, template, variant, sql`w.saved_at <= ${at}::timestamptz`))

      return VariantVersions.of({ list, get, findAt })
    }),
  )
}
