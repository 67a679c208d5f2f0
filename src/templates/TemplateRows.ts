import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { CopyId, type OrgSlug, randomId, type TemplateId } from "../domain/Ids.ts"
import {
  type Template,
  type TemplateSettingName,
  templateSettingNames,
  type TemplateSettings,
  templateSettings,
  type Variant,
  type VariantInput,
  type VariantPatch,
} from "../domain/Template.ts"

// The rows of templates and variants. Only this folder writes them.

/** A row of `templates`, by the names of its columns. */
interface TemplateRow extends Pick<Template, "id" | "name" | "revision">, TemplateSettings {
  readonly archived_at: Date | null
  readonly created_at: Date
  readonly updated_at: Date
}

/** SQL types of the columns of settings. */
export const settingColumns = Object.fromEntries(
  templateSettingNames.map((name) => [name, templateSettings[name].column]),
) as { readonly [name in TemplateSettingName]: typeof templateSettings[name]["column"] }

/** The columns of settings for SQL, such as `t.strict, t.objective` for the prefix `t.`. */
export const settingsOfTable = (prefix: string): string =>
  templateSettingNames.map((name) => `${prefix}${name}`).join(", ")

/** A row of the table of variants. */
interface VariantRow {
  readonly templateId: TemplateId
  readonly id: CopyId
  readonly name: string
  readonly vars: Variant["vars"]
  readonly locales: Variant["locales"]
  readonly formats: Variant["formats"]
  readonly active: boolean
  readonly targeting: Variant["targeting"]
  readonly seasons: Variant["seasons"]
  readonly components: Variant["components"]
  readonly model: string | null
  readonly suggestedAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

const variantFromRow = (row: VariantRow): Variant => ({
  id: row.id,
  name: row.name,
  vars: row.vars,
  locales: row.locales,
  formats: row.formats,
  active: row.active,
  targeting: row.targeting,
  seasons: row.seasons,
  components: row.components,
  ...(row.model === null ? {} : { suggested: { model: row.model, at: row.suggestedAt!.toISOString() } }),
  created_at: row.createdAt.toISOString(),
  updated_at: row.updatedAt.toISOString(),
})

const fromRows = (rows: ReadonlyArray<TemplateRow>, variants: ReadonlyArray<VariantRow>): ReadonlyArray<Template> => {
  const byTemplate = Map.groupBy(variants, (variant) => variant.templateId)
  return rows.map(({ archived_at, created_at, updated_at, ...row }) => ({
    ...row,
    archived_at: archived_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
    variants: (byTemplate.get(row.id) ?? []).map(variantFromRow),
  }))
}

/** Selects the templates of a list: in use, archived, or both. */
export type Which = "in-use" | "archived" | "all"

/** Returns the condition for a list of `templates t`. */
export const isOf = (sql: SqlClient.SqlClient, which: Which) =>
  which === "all" ? sql`true` : which === "archived" ? sql`t.archived_at IS NOT NULL` : sql`t.archived_at IS NULL`

/** SQL for templates as a table `t` within a larger statement, with the settings that other folders read. */
export const templateRows = "(SELECT x.org_slug, x.id, x.ignore_unsubscribes, x.conversion_events FROM templates x) t"

/**
 * Reads the existing templates among `ids`, by id, each with its variants in the order of their creation. Without
 * `texts`, the variants have no texts.
 */
export const readTemplates = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  ids: ReadonlyArray<string>,
  { texts = true }: { readonly texts?: boolean } = {},
) {
  const rows = yield* sql<TemplateRow>`
    SELECT t.id, t.name, ${sql.literal(settingsOfTable("t."))}, t.archived_at, t.revision::float8 AS revision,
      t.created_at, t.updated_at
    FROM templates t WHERE t.org_slug = ${org} AND t.id = ANY(${[...ids]}::text[]) ORDER BY t.id`.withoutTransform
  if (rows.length === 0) return []
  const variants = yield* sql<VariantRow>`
    SELECT v.template_id, v.id, v.name, ${
    texts ? sql`v.vars, v.locales, v.formats` : sql`'{}'::json AS vars, '{}'::json AS locales, '{}'::json AS formats`
  }, v.active, v.targeting, v.seasons, v.components, s.model, s.suggested_at,
      v.created_at, v.updated_at
    FROM variants v LEFT JOIN variant_suggestions s
      ON s.org_slug = v.org_slug AND s.template_id = v.template_id AND s.id = v.id AND s.content IS NULL
    WHERE v.org_slug = ${org} AND v.template_id = ANY(${[...ids]}::text[]) ORDER BY v.position`
  return fromRows(rows, variants)
})

/** Maximum number of variants of one template. */
export const maxVariantsOfOne = 1_000

/**
 * Maximum number of templates and of variants read by one query, so that it delays neither the store nor this process.
 */
const maxPage = 200
const maxPageVariants = 500

/** Maximum stored size of the variants read by one query. Unit: bytes. */
const maxPageBytes = 4_000_000

/** Divides templates into pages, each read by one query. `ids` may include unknown templates. */
export const pagesOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  ids: ReadonlyArray<string>,
) {
  if (ids.length <= 1) return ids.length === 0 ? [] : [ids]
  const counts = new Map(
    (yield* sql<{ id: string; variants: number; bytes: number }>`
      SELECT v.template_id AS id, count(*)::int AS variants,
        sum(pg_column_size(v.vars) + pg_column_size(v.locales) + pg_column_size(v.targeting))::float8 AS bytes
      FROM variants v WHERE v.org_slug = ${org} AND v.template_id = ANY(${[...ids]}::text[])
      GROUP BY v.template_id`).map((row) => [row.id, row]),
  )
  const pages: Array<Array<string>> = []
  let [variants, bytes] = [0, 0]
  for (const id of ids) {
    const count = counts.get(id) ?? { variants: 0, bytes: 0 }
    const page = pages.at(-1)
    variants += count.variants
    bytes += count.bytes
    if (page !== undefined && page.length < maxPage && variants <= maxPageVariants && bytes <= maxPageBytes) {
      page.push(id)
      continue
    }
    pages.push([id])
    ;({ variants, bytes } = count)
  }
  return pages
})

/** Adds a variant and returns its id. Returns undefined if the id is taken. */
export const insertVariant = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  template: string,
  input: VariantInput,
  now: Date,
) {
  const id = input.id ?? CopyId.make(randomId("v"))
  const rows = yield* sql<{ id: CopyId }>`
    INSERT INTO variants AS v
      (org_slug, template_id, id, name, vars, locales, formats, active, targeting, seasons, components, created_at,
        updated_at)
    VALUES (${org}, ${template}, ${id}, ${input.name ?? id}, ${JSON.stringify(input.vars)}::text::json,
      ${JSON.stringify(input.locales ?? {})}::text::json,
      ${JSON.stringify(input.formats ?? {})}::text::json, ${input.active ?? true},
      ${JSON.stringify(input.targeting ?? [])}::text::json, ${JSON.stringify(input.seasons ?? [])}::text::json,
      ${JSON.stringify(input.components ?? {})}::text::json, ${now}, ${now})
    ON CONFLICT DO NOTHING RETURNING v.id`
  return rows[0]?.id
})

const json = (value: unknown): string | null => value === undefined ? null : JSON.stringify(value)

/** Changes the members in `patch`. Returns whether the variant exists. */
export const updateVariant = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  template: string,
  id: string,
  patch: VariantPatch,
  now: Date,
) {
  const rows = yield* sql`
    UPDATE variants v SET
      name = coalesce(${patch.name ?? null}::text, v.name),
      vars = coalesce(${json(patch.vars)}::text::json, v.vars),
      locales = coalesce(${json(patch.locales)}::text::json, v.locales),
      formats = coalesce(${json(patch.formats)}::text::json, v.formats),
      active = coalesce(${patch.active ?? null}::boolean, v.active),
      targeting = coalesce(${json(patch.targeting)}::text::json, v.targeting),
      seasons = coalesce(${json(patch.seasons)}::text::json, v.seasons),
      components = coalesce(${json(patch.components)}::text::json, v.components),
      -- Versions are told apart by their times.
      updated_at = greatest(${now}::timestamptz, v.updated_at + interval '1 millisecond')
    WHERE v.org_slug = ${org} AND v.template_id = ${template} AND v.id = ${id} RETURNING v.id`
  return rows.length > 0
})
