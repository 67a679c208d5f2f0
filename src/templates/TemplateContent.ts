import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { Sources } from "../checking/Checks.ts"
import { AlreadyExists, type Fault, InvalidInput, TemplateNotFound, VariantNotFound } from "../domain/Errors.ts"
import { type OrgSlug, randomId, TemplateId } from "../domain/Ids.ts"
import type { Template, TemplateInput, TemplatePatch, Variant, VariantPatch } from "../domain/Template.ts"
import type { SourceCheck } from "../rendering/SourceCheck.ts"
import { localesFault } from "../domain/TemplateFaults.ts"
import { tell } from "../store/ChangeTrail.ts"
import { tellWarnings } from "../store/WarningTrail.ts"
import { keepCompiled } from "./CompiledSources.ts"
import { atVariables, variantFaults, variantListFaults } from "./ImportInput.ts"
import { inputContent, patchedContent, variantContent } from "./ImportPlan.ts"
import { insertTemplates, putVariants, updateTemplates } from "./ImportRows.ts"
import { fieldsOfStored, fieldsOfVariant } from "./TemplateFields.ts"
import { withSnippets } from "./SnippetRows.ts"
import { maxVariantsOfOne, readTemplates } from "./TemplateRows.ts"

/** A template without the texts of its variants, which are most of its size. */
export interface TemplateOutline extends Omit<Template, "variants"> {
  readonly variants: ReadonlyArray<Omit<Variant, "vars" | "locales" | "formats">>
}

/** Records a change of a template for the audit log. */
export const tellTemplate = (before: Template | undefined, after: Template | undefined) =>
  tell(
    "template",
    (after ?? before)!.id,
    before === undefined ? undefined : fieldsOfStored(before),
    after === undefined ? undefined : fieldsOfStored(after),
  )

/** Records a change of a variant for the audit log. */
export const tellVariant = (template: string, before: Variant | undefined, after: Variant | undefined) =>
  tell(
    "variant",
    `${template} / ${(after ?? before)!.id}`,
    before === undefined ? undefined : fieldsOfVariant(before),
    after === undefined ? undefined : fieldsOfVariant(after),
  )

/** Fails with `InvalidInput` if there are faults. */
export const refuse = (faults: ReadonlyArray<Fault>) =>
  faults.length === 0 ? Effect.void : Effect.fail(new InvalidInput({ faults }))

/** Reads, checks and changes the rows of templates. Callers provide the transaction. */
export const templateContent = (sql: SqlClient.SqlClient, sources: SourceCheck["Service"]) => {
  const read = Effect.fnUntraced(function* (org: OrgSlug, id: string) {
    const [template] = yield* readTemplates(sql, org, [id])
    return template ?? (yield* new TemplateNotFound({ id }))
  })

  const readOutline = Effect.fnUntraced(function* (org: OrgSlug, id: string): Effect.fn.Return<
    TemplateOutline,
    TemplateNotFound | SqlError
  > {
    const [template] = yield* readTemplates(sql, org, [id], { texts: false })
    return template ?? (yield* new TemplateNotFound({ id }))
  })

  /** Reads a template and locks it until the transaction ends. */
  const held = Effect.fnUntraced(function* (org: OrgSlug, id: string) {
    yield* sql`SELECT 1 FROM templates t WHERE t.org_slug = ${org} AND t.id = ${id} FOR UPDATE`
    return yield* read(org, id)
  })

  const readVariant = Effect.fnUntraced(function* (org: OrgSlug, template: string, id: string) {
    const { variants } = yield* read(org, template)
    return variants.find((variant) => variant.id === id) ?? (yield* new VariantNotFound({ id }))
  })

  const check = (org: OrgSlug, variants: ReadonlyArray<Sources>) =>
    Effect.flatMap(Effect.orDie(withSnippets(sql, org, variants)), (all) => sources.checkAll(org, all))

  /** Returns every fault of the variants of a new template, with pointers below `/variants`. Reports their warnings. */
  const faultsOf = Effect.fnUntraced(function* (org: OrgSlug, { locale, variants = [] }: TemplateInput) {
    const liquid = yield* check(
      org,
      variants.map(({ formats = {}, locales, vars }) => ({ formats, vars, locales, locale: locale?.default })),
    )
    yield* tellWarnings(liquid.flatMap(({ warnings }, index) => atVariables(warnings, `/variants/${index}`)))
    yield* keepCompiled(sql, org, liquid.flatMap(({ compiled }) => compiled))
    const found = new Map(variants.map((variant, index) => [variant, liquid[index]!.faults]))
    return variantListFaults({ variants }, (variant) => found.get(variant)!, "/variants")
  })

  /** Returns every fault of a variant of a template with this locale. Reports its warnings. */
  const liquidFaults = Effect.fnUntraced(function* (
    org: OrgSlug,
    { locale }: Pick<Template, "locale">,
    variant: Pick<VariantPatch, "vars" | "locales" | "formats">,
  ) {
    const { formats = {}, locales, vars = {} } = variant
    const [liquid] = yield* check(org, [{ vars, formats, locales, locale: locale?.default }])
    yield* tellWarnings(atVariables(liquid!.warnings))
    yield* keepCompiled(sql, org, liquid!.compiled)
    const ofLocales = localesFault(locale, variant)
    return [
      ...(ofLocales === undefined ? [] : [{ pointer: "/locales", detail: ofLocales }]),
      ...variantFaults(variant, liquid!.faults, ""),
    ]
  })

  /** Refuses a template with too many variants, including the one just added. */
  const roomFor = Effect.fnUntraced(function* (org: OrgSlug, template: string) {
    const [row] = yield* sql<{ variants: number }>`
      SELECT count(*)::int AS variants FROM variants v WHERE v.org_slug = ${org} AND v.template_id = ${template}`
    if (row!.variants <= maxVariantsOfOne) return
    const detail = `The template has ${maxVariantsOfOne} variants, the most that one can have: delete one first`
    return yield* new InvalidInput({ faults: [{ pointer: "", detail }] })
  })

  const insert = Effect.fnUntraced(function* (org: OrgSlug, input: TemplateInput, now: Date) {
    const id = input.id ?? TemplateId.make(randomId("t"))
    const rows = yield* insertTemplates(sql, org, [inputContent(input, id)], now)
    if (rows.length === 0) return yield* new AlreadyExists({ what: "template", id })
    const variants = (input.variants ?? []).map((variant) => ({ ...variantContent(variant), template_id: id }))
    if (variants.length > 0) yield* putVariants(sql, org, variants, now)
    return id
  })

  const change = (org: OrgSlug, before: Template, patch: TemplatePatch, now: Date) =>
    updateTemplates(sql, org, [patchedContent(before, patch)], now)

  /** Raises the revision of a template whose variants change. */
  const touch = Effect.fnUntraced(function* (org: OrgSlug, id: string, now: Date) {
    const rows = yield* sql`
      UPDATE templates t SET revision = nextval('template_revisions'), updated_at = ${now}
      WHERE t.org_slug = ${org} AND t.id = ${id} RETURNING t.id`
    if (rows.length === 0) return yield* new TemplateNotFound({ id })
  })

  return { read, readOutline, held, readVariant, faultsOf, liquidFaults, roomFor, insert, change, touch }
}
