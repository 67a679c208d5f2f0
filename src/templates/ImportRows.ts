import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { isDeepStrictEqual } from "node:util"
import type { OrgSlug } from "../domain/Ids.ts"
import { templateSettingNames } from "../domain/Template.ts"
import type { WholeContent } from "./Content.ts"
import type { TemplateContent, VariantContent } from "./ImportPlan.ts"
import { recordset } from "../store/Recordset.ts"
import { settingColumns, settingsOfTable } from "./TemplateRows.ts"
import { keepVersions } from "./VariantVersions.ts"

// The statements of an import: a few for all templates, so that the transaction is short.

/** Locks the existing templates among `ids` and returns their revisions. */
export const lockTemplates = (sql: SqlClient.SqlClient, org: OrgSlug, ids: ReadonlyArray<string>) =>
  sql<{ id: string; revision: number }>`
    SELECT t.id, t.revision::float8 AS revision FROM templates t
    WHERE t.org_slug = ${org} AND t.id = ANY(${[...ids]}::text[]) ORDER BY t.id FOR UPDATE`

const templateColumns = {
  id: "text",
  name: "text",
  ...settingColumns,
  archived: "boolean",
} as const

/** Adds templates without variants. Returns the ids of new templates. */
export const insertTemplates = (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  templates: ReadonlyArray<TemplateContent>,
  now: Date,
) =>
  sql<{ id: string }>`
    INSERT INTO templates AS t (org_slug, id, name, ${
    sql.literal(settingsOfTable(""))
  }, archived_at, created_at, updated_at)
    SELECT ${org}::text, r.id, r.name, ${sql.literal(settingsOfTable("r."))},
      CASE WHEN r.archived THEN ${now}::timestamptz END, ${now}::timestamptz, ${now}::timestamptz
    FROM ${recordset(templates, templateColumns)}
    ON CONFLICT DO NOTHING RETURNING t.id`

/** Changes the settings of templates and raises their revisions. */
export const updateTemplates = (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  templates: ReadonlyArray<TemplateContent>,
  now: Date,
) =>
  sql`
    UPDATE templates t SET name = r.name, ${
    sql.literal(templateSettingNames.map((name) => `${name} = r.${name}`).join(", "))
  },
      archived_at = CASE WHEN r.archived THEN coalesce(t.archived_at, ${now}::timestamptz) END,
      revision = nextval('template_revisions'), updated_at = ${now}::timestamptz
    FROM ${recordset(templates, templateColumns)}
    WHERE t.org_slug = ${org} AND t.id = r.id`

/** Adds variants in order, and replaces variants with existing ids. */
export const putVariants = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  variants: ReadonlyArray<VariantContent & { readonly template_id: string }>,
  now: Date,
) {
  yield* keepVersions(sql, org, variants, "before")
  yield* sql`
    INSERT INTO variants AS v
      (org_slug, template_id, id, name, vars, locales, formats, active, targeting, seasons, components,
        created_at, updated_at)
    SELECT ${org}::text, r.template_id, r.id, r.name, r.vars, r.locales, r.formats, r.active, r.targeting,
      r.seasons, r.components, ${now}::timestamptz, ${now}::timestamptz
    FROM ROWS FROM (json_to_recordset(${JSON.stringify(variants)}::text::json) AS (template_id text, id text, name text,
      vars json, locales json, formats json, active boolean, targeting json, seasons json, components json)) WITH ORDINALITY
      AS r(template_id, id, name, vars, locales, formats, active, targeting, seasons, components, place)
    ORDER BY r.place
    ON CONFLICT (org_slug, template_id, id) DO UPDATE SET name = excluded.name, vars = excluded.vars,
      locales = excluded.locales, formats = excluded.formats, active = excluded.active, targeting = excluded.targeting, seasons = excluded.seasons,
      components = excluded.components, updated_at = excluded.updated_at`
  yield* keepVersions(sql, org, variants, "after")
})

/**
 * Brings a template to a whole content: creates, changes or deletes it, and removes variants that the content lacks.
 * `before` is its present content. Returns whether this was possible, because an id may have been taken in the
 * meantime.
 */
export const putContent = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  id: string,
  before: WholeContent | undefined,
  after: WholeContent | undefined,
  now: Date,
) {
  if (after === undefined) {
    yield* sql`DELETE FROM templates t WHERE t.org_slug = ${org} AND t.id = ${id}`
    return true
  }
  if (before === undefined) {
    if ((yield* insertTemplates(sql, org, [after], now)).length === 0) return false
  } else yield* updateTemplates(sql, org, [after], now)
  const known = new Map<string, VariantContent>(before?.variants.map((variant) => [variant.id, variant]))
  const changed = after.variants.filter((variant) => !isDeepStrictEqual(known.get(variant.id), variant))
  if (changed.length > 0) {
    yield* putVariants(sql, org, changed.map((variant) => ({ ...variant, template_id: id })), now)
  }
  const kept = new Set<string>(after.variants.map((variant) => variant.id))
  const gone = [...known.keys()].filter((variant) => !kept.has(variant))
  if (gone.length > 0) {
    yield* sql`
      DELETE FROM variant_drafts d
      WHERE d.org_slug = ${org} AND d.template_id = ${id} AND d.variant_id = ANY(${gone}::text[])`
    yield* sql`
      DELETE FROM variants v WHERE v.org_slug = ${org} AND v.template_id = ${id} AND v.id = ANY(${gone}::text[])`
  }
  return true
})
