import { DateTime, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { isDeepStrictEqual } from "node:util"
import { AlreadyExists, type Fault, type TemplateNotFound, VariantChanged } from "../domain/Errors.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { SqlError } from "effect/sql/SqlError"
import type { Template, Variant, VariantInput, VariantPatch } from "../domain/Template.ts"
import type { VariantSwitch } from "../domain/TemplateSwitches.ts"
import { type contentWriter, readOwnProposal } from "./ContentWrite.ts"
import { refuse, tellVariant, type templateContent } from "./TemplateContent.ts"
import { holdSnippets } from "./SnippetRows.ts"
import { insertVariant, updateVariant as updateRow } from "./TemplateRows.ts"
import { keepVersions } from "./VariantVersions.ts"

/** Returns the faults of a switch of variants: ids that the template does not have, or that are named twice. */
const switchFaults = (
  { activate = [], deactivate = [] }: VariantSwitch,
  variants: ReadonlyArray<Pick<Variant, "id">>,
): ReadonlyArray<Fault> => {
  const known = new Set<string>(variants.map(({ id }) => id))
  const both = new Set<string>(activate)
  const shown = (id: string) => JSON.stringify(id)
  return [
    ...activate.flatMap((id, at) =>
      known.has(id) ? [] : [{ pointer: `/activate/${at}`, detail: `The template has no variant ${shown(id)}` }]
    ),
    ...deactivate.flatMap((id, at) =>
      !known.has(id)
        ? [{ pointer: `/deactivate/${at}`, detail: `The template has no variant ${shown(id)}` }]
        : both.has(id)
        ? [{ pointer: `/deactivate/${at}`, detail: `The variant ${shown(id)} is in activate as well: name it once` }]
        : []
    ),
  ]
}

/** Creates, reads, changes and deletes variants. */
export const variantWriter = (
  sql: SqlClient.SqlClient,
  write: ReturnType<typeof contentWriter>,
  { held, liquidFaults, read, readOutline, readVariant, roomFor, touch }: ReturnType<typeof templateContent>,
) => {
  /** Returns the settings from which a change continues: of the caller's open proposal, otherwise the live ones. */
  const ownTemplate = Effect.fnUntraced(
    function* (
      org: OrgSlug,
      template: string,
    ): Effect.fn.Return<Pick<Template, "locale">, TemplateNotFound | SqlError> {
      return (yield* readOwnProposal(sql, org, template))?.proposed ?? (yield* readOutline(org, template))
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  const createVariant = Effect.fn("Templates.createVariant")(
    function* (org: OrgSlug, template: string, input: VariantInput) {
      yield* refuse(yield* liquidFaults(org, yield* ownTemplate(org, template), input))
      const now = yield* DateTime.nowAsDate
      return yield* write(
        org,
        [template],
        Effect.gen(function* () {
          yield* touch(org, template, now)
          yield* holdSnippets(sql, org, [input])
          const id = yield* insertVariant(sql, org, template, input, now)
          if (id === undefined) return yield* new AlreadyExists({ what: "variant", id: input.id ?? "" })
          yield* keepVersions(sql, org, [{ template_id: template, id }], "after")
          yield* roomFor(org, template)
          const made = yield* readVariant(org, template, id)
          yield* tellVariant(template, undefined, made)
          return made
        }),
      ).pipe(Effect.catchTag("VariantNotFound", Effect.die))
    },
  )

  const getVariant = Effect.fn("Templates.getVariant")(
    (org: OrgSlug, template: string, id: string) => readVariant(org, template, id),
    Effect.catchTag("SqlError", Effect.die),
  )

  /**
   * Returns the variant from which a change continues: the variant of the caller's open proposal, otherwise the live
   * one.
   */
  const ownVariant = Effect.fnUntraced(
    function* (org: OrgSlug, template: string, id: string) {
      const proposal = yield* readOwnProposal(sql, org, template)
      return proposal?.proposed?.variants.find((variant) => variant.id === id) ??
        (yield* readVariant(org, template, id))
    },
    Effect.catchTag("SqlError", Effect.die),
  )

  const updateVariant = Effect.fn("Templates.updateVariant")(
    function* (org: OrgSlug, template: string, id: string, patch: VariantPatch, base?: string) {
      const existing = yield* ownVariant(org, template, id)
      // Sources and formats are checked in their combination after the change. Unchanged sources are not checked, so
      // that a variant saved before a check existed can still be switched off.
      const { formats = existing.formats, locales = existing.locales, vars = existing.vars } = patch
      if (!isDeepStrictEqual([vars, locales, formats], [existing.vars, existing.locales, existing.formats])) {
        yield* refuse(yield* liquidFaults(org, yield* ownTemplate(org, template), { vars, locales, formats }))
      }
      const now = yield* DateTime.nowAsDate
      return yield* write(
        org,
        [template],
        Effect.gen(function* () {
          yield* touch(org, template, now)
          yield* holdSnippets(sql, org, [patch])
          const before = yield* readVariant(org, template, id)
          if (base !== undefined && base !== before.updated_at) {
            return yield* new VariantChanged({ id, base, current: before })
          }
          const versions = [{ template_id: template, id }]
          yield* keepVersions(sql, org, versions, "before")
          yield* updateRow(sql, org, template, id, patch, now)
          yield* keepVersions(sql, org, versions, "after")
          const after = yield* readVariant(org, template, id)
          yield* tellVariant(template, before, after)
          return after
        }),
      )
    },
  )

  const removeVariant = Effect.fn("Templates.removeVariant")(
    function* (org: OrgSlug, template: string, id: string) {
      const now = yield* DateTime.nowAsDate
      yield* write(
        org,
        [template],
        Effect.gen(function* () {
          yield* touch(org, template, now)
          const before = yield* readVariant(org, template, id)
          yield* sql`
            DELETE FROM variant_drafts d
            WHERE d.org_slug = ${org} AND d.template_id = ${template} AND d.variant_id = ${id}`
          yield* sql`
            DELETE FROM variants v WHERE v.org_slug = ${org} AND v.template_id = ${template} AND v.id = ${id}`
          yield* tellVariant(template, before, undefined)
        }),
      )
    },
  )

  const switchVariants = Effect.fn("Templates.switchVariants")(
    function* (org: OrgSlug, template: string, input: VariantSwitch) {
      const now = yield* DateTime.nowAsDate
      return yield* write(
        org,
        [template],
        Effect.gen(function* () {
          const before = yield* held(org, template)
          yield* refuse(switchFaults(input, before.variants))
          const wanted = new Map<string, boolean>([
            ...(input.activate ?? []).map((id) => [id, true] as const),
            ...(input.deactivate ?? []).map((id) => [id, false] as const),
          ])
          const changed = before.variants.filter(({ active, id }) => (wanted.get(id) ?? active) !== active)
          if (changed.length === 0) return before
          yield* touch(org, template, now)
          yield* sql`
            UPDATE variants v SET active = NOT v.active, updated_at = ${now}
            WHERE v.org_slug = ${org} AND v.template_id = ${template}
              AND v.id = ANY(${changed.map(({ id }) => id)}::text[])`
          const after = yield* read(org, template)
          for (const one of changed) {
            yield* tellVariant(template, one, after.variants.find(({ id }) => id === one.id))
          }
          return after
        }),
      )
    },
  )
  return { createVariant, getVariant, updateVariant, removeVariant, switchVariants }
}
