import { Context, DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type ChangeProposed, type Fault, InvalidInput } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { maxTags, type Template } from "../domain/Template.ts"
import type { TemplateBatchInput } from "../domain/TemplateSwitches.ts"
import { Changes } from "../organizations/Changes.ts"
import { tell } from "../store/ChangeTrail.ts"
import { recordset } from "../store/Recordset.ts"
import { contentWriter } from "./ContentWrite.ts"
import { normalOwner, ownerFaults } from "./Owners.ts"
import { fieldsOfStored, fieldsOfVariant } from "./TemplateFields.ts"
import { readTemplates } from "./TemplateRows.ts"

/** Changes to make to several templates. */
type BatchChange = Omit<TemplateBatchInput, "ids">

/** The settings of a template that a batch can change. */
type BatchSettings = Pick<Template, "archived_at" | "owner" | "tags">

/** The tags of a template after a change. */
const tagsAfter = (tags: ReadonlyArray<string>, { add_tags = [], remove_tags = [] }: BatchChange) => {
  const removed = new Set(remove_tags)
  return [...new Set([...tags, ...add_tags])].filter((tag) => !removed.has(tag))
}

/** Whether a change alters settings of a template. */
const altersSettings = (template: BatchSettings, change: BatchChange): boolean =>
  (change.archived !== undefined && (template.archived_at !== null) !== change.archived) ||
  (change.owner !== undefined && normalOwner(change.owner) !== template.owner) ||
  tagsAfter(template.tags, change).join() !== template.tags.join()

/** Whether a change alters a template or one of its variants. */
const alters = (template: Template, change: BatchChange): boolean =>
  altersSettings(template, change) ||
  (change.active !== undefined && template.variants.some(({ active }) => active !== change.active))

/** Returns the reasons why the templates cannot have these tags. */
const tagFaults = (templates: ReadonlyArray<Template>, change: BatchChange): ReadonlyArray<Fault> => {
  const full = templates.filter(({ tags }) => tagsAfter(tags, change).length > maxTags)
  return full.length === 0 ? [] : [{
    pointer: "/add_tags",
    detail: `would give ${
      full.slice(0, 3).map(({ name }) => JSON.stringify(name)).join(", ")
    } more than ${maxTags} tags: remove some first`,
  }]
}

/** Reports the differences between templates before and after, as changes of templates and of variants. */
const tellChanges = Effect.fnUntraced(function* (
  before: ReadonlyArray<Template>,
  after: ReadonlyArray<Template>,
  change: BatchChange,
) {
  const known = new Map(after.map((template) => [template.id, template]))
  for (const old of before) {
    const now = known.get(old.id)
    if (now === undefined) continue
    if (altersSettings(old, change)) {
      // Variants have their own entries.
      yield* tell(
        "template",
        old.id,
        fieldsOfStored({ ...old, variants: [] }),
        fieldsOfStored({ ...now, variants: [] }),
      )
    }
    const variants = new Map(now.variants.map((variant) => [variant.id, variant]))
    for (const variant of old.variants) {
      const changed = variants.get(variant.id)
      if (changed === undefined || changed.active === variant.active) continue
      yield* tell("variant", `${old.id} / ${variant.id}`, fieldsOfVariant(variant), fieldsOfVariant(changed))
    }
  }
})

const columns = { id: "text", tags: "text[]" } as const

/** Changes several templates in one transaction. A broken store is a defect. */
export class TemplateBatch extends Context.Service<TemplateBatch, {
  /**
   * Changes templates of an organization by their ids, and returns the changed templates as they were. Leaves out unknown
   * ids and templates that already have the settings. Fails with `InvalidInput` for an owner who is not a member and
   * for more tags than a template can have, and with `ChangeProposed` if the changes await approval.
   */
  readonly change: (
    org: OrgSlug,
    ids: ReadonlyArray<string>,
    what: BatchChange,
  ) => Effect.Effect<ReadonlyArray<Template>, InvalidInput | ChangeProposed>
}>()("parlance/templates/TemplateBatch") {
  static readonly layer = Layer.effect(
    TemplateBatch,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const write = contentWriter(sql, yield* Changes)

      const update = Effect.fnUntraced(function* (
        org: OrgSlug,
        templates: ReadonlyArray<Template>,
        change: BatchChange,
        now: Date,
      ) {
        const { active, archived, owner } = change
        const due = templates.map(({ id }) => id)
        if (active !== undefined) {
          yield* sql`
            UPDATE variants v SET active = ${active}, updated_at = ${now}
            WHERE v.org_slug = ${org} AND v.template_id = ANY(${due}::text[]) AND v.active <> ${active}`
        }
        const rows = templates.map(({ id, tags }) => ({ id, tags: tagsAfter(tags, change) }))
        yield* sql`
          UPDATE templates t SET
            archived_at = CASE ${archived ?? null}::boolean
              WHEN true THEN coalesce(t.archived_at, ${now}::timestamptz) WHEN false THEN NULL ELSE t.archived_at END,
            owner = ${owner === undefined ? sql`t.owner` : sql`${normalOwner(owner)}::text`},
            tags = r.tags, revision = nextval('template_revisions'), updated_at = ${now}::timestamptz
          FROM ${recordset(rows, columns)}
          WHERE t.org_slug = ${org} AND t.id = r.id`
      })

      const change = Effect.fn("TemplateBatch.change")(
        function* (org: OrgSlug, ids: ReadonlyArray<string>, what: BatchChange) {
          const now = yield* DateTime.nowAsDate
          return yield* write(
            org,
            ids,
            Effect.gen(function* () {
              // Locked in the order of their ids, so that two batches cannot deadlock.
              yield* sql`
                SELECT 1 FROM templates t WHERE t.org_slug = ${org} AND t.id = ANY(${[...ids]}::text[])
                ORDER BY t.id FOR UPDATE`
              const before = (yield* readTemplates(sql, org, ids)).filter((template) => alters(template, what))
              const faults = [...tagFaults(before, what), ...yield* ownerFaults(sql, org, what.owner, null)]
              if (faults.length > 0) return yield* new InvalidInput({ faults })
              if (before.length === 0) return before
              yield* update(org, before, what, now)
              yield* tellChanges(before, yield* readTemplates(sql, org, before.map(({ id }) => id)), what)
              return before
            }),
          )
        },
      )

      return TemplateBatch.of({ change })
    }),
  )
}
