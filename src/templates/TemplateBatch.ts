import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { OrgSlug } from "../domain/Ids.ts"
import type { Template } from "../domain/Template.ts"
import { Changes } from "../organizations/Changes.ts"
import { tell } from "../store/ChangeTrail.ts"
import { contentWriter } from "./ContentWrite.ts"
import { fieldsOfStored, fieldsOfVariant } from "./TemplateFields.ts"
import { readTemplates } from "./TemplateRows.ts"

/**
 * A change of several templates. `activate` and `pause` switch all variants of each template on or off; `archive` stops
 * serving templates and `restore` serves them again, with the variants as they were.
 */
export type BatchChange = "activate" | "pause" | "archive" | "restore"

const archived = { archive: true, restore: false } as const

/** Reports what differs between templates before and after, as changes of templates or of variants. */
const tellChanges = Effect.fnUntraced(function* (before: ReadonlyArray<Template>, after: ReadonlyArray<Template>) {
  const known = new Map(after.map((template) => [template.id, template]))
  for (const old of before) {
    const now = known.get(old.id)
    if (now === undefined) continue
    if ((old.archived_at === null) !== (now.archived_at === null)) {
      yield* tell("template", old.id, fieldsOfStored(old), fieldsOfStored(now))
    }
    const variants = new Map(now.variants.map((variant) => [variant.id, variant]))
    for (const variant of old.variants) {
      const changed = variants.get(variant.id)
      if (changed === undefined || changed.active === variant.active) continue
      yield* tell("variant", `${old.id} / ${variant.id}`, fieldsOfVariant(variant), fieldsOfVariant(changed))
    }
  }
})

/** Changes several templates in one transaction. A broken store is a defect. */
export class TemplateBatch extends Context.Service<TemplateBatch, {
  /**
   * Changes templates of an organization by their ids, and answers how many it changed. Unknown ids and templates that
   * are so already are left out.
   */
  readonly change: (org: OrgSlug, ids: ReadonlyArray<string>, what: BatchChange) => Effect.Effect<number>
}>()("parlance/templates/TemplateBatch") {
  static readonly layer = Layer.effect(
    TemplateBatch,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const write = contentWriter(sql, yield* Changes)

      const isDue = (template: Template, what: BatchChange): boolean =>
        what === "archive" || what === "restore"
          ? (template.archived_at !== null) !== archived[what]
          : template.variants.some(({ active }) => active !== (what === "activate"))

      const change = Effect.fn("TemplateBatch.change")(
        function* (org: OrgSlug, ids: ReadonlyArray<string>, what: BatchChange) {
          const now = yield* DateTime.nowAsDate
          return yield* write(
            org,
            Effect.gen(function* () {
              // In the order of their ids, so that two batches do not wait for each other.
              yield* sql`
                SELECT 1 FROM templates t WHERE t.org_slug = ${org} AND t.id = ANY(${[...ids]}::text[])
                ORDER BY t.id FOR UPDATE`
              const before = (yield* readTemplates(sql, org, ids)).filter((template) => isDue(template, what))
              const due = before.map(({ id }) => id)
              if (due.length === 0) return 0
              if (what === "activate" || what === "pause") {
                const active = what === "activate"
                yield* sql`
                  UPDATE variants v SET active = ${active}, updated_at = ${now}
                  WHERE v.org_slug = ${org} AND v.template_id = ANY(${due}::text[]) AND v.active <> ${active}`
              }
              yield* sql`
                UPDATE templates t SET
                  archived_at = CASE ${what}::text WHEN 'archive' THEN ${now}::timestamptz WHEN 'restore' THEN NULL
                    ELSE t.archived_at END,
                  revision = nextval('template_revisions'), updated_at = ${now}
                WHERE t.org_slug = ${org} AND t.id = ANY(${due}::text[])`
              yield* tellChanges(before, yield* readTemplates(sql, org, due))
              return due.length
            }),
          )
        },
      )

      return TemplateBatch.of({ change })
    }),
  )
}
