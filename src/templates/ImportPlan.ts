import { Schema } from "effect"
import { isDeepStrictEqual } from "node:util"
import { Difference, difference } from "../domain/Difference.ts"
import type { Fault } from "../domain/Errors.ts"
import { CopyId, randomId, TemplateId } from "../domain/Ids.ts"
import {
  settingsOf,
  type Template,
  type TemplateInput,
  type TemplatePatch,
  type TemplateSettings,
  type Variant,
  type VariantInput,
  withDefaults,
} from "../domain/Template.ts"
import { templateFaults } from "../domain/TemplateFaults.ts"
import { maxVariantsOfOne } from "./TemplateRows.ts"
import { normalOwner, notMember } from "./Owners.ts"
import { fieldsOfTemplate } from "./TemplateFields.ts"

/** The content of a variant, with all defaults filled in. */
export type VariantContent = Omit<Variant, "created_at" | "updated_at">

/** The content of a template without its variants, with all defaults filled in. */
export interface TemplateContent extends Pick<Template, "id" | "name">, TemplateSettings {
  readonly archived: boolean
}

/** The changes that bring one template to the state of its input. */
export type TemplatePlan =
  | { readonly outcome: "unchanged"; readonly id: string }
  | {
    readonly outcome: "created" | "updated"
    readonly id: string
    readonly template: TemplateContent
    /** Variants that are new or differ, in the order of the input. */
    readonly variants: ReadonlyArray<VariantContent>
    /** Number of variants of the template after the import. */
    readonly variantCount: number
    /** Whether the objective of an existing template changes, so that it learns again. */
    readonly relearns: boolean
    /** Faults of settings that do not fit each other or the variants. */
    readonly settingFaults: ReadonlyArray<Fault>
    /** The owner that the import sets, who must be a member. Null if it sets no owner. */
    readonly newOwner: string | null
    readonly difference: Difference
  }

/** The change that an import makes to one template: its fields before and after. */
export const TemplateChange = Schema.Struct({
  template_id: Schema.String,
  outcome: Schema.Literals(["created", "updated"]),
  ...Difference.fields,
}).annotate({ identifier: "TemplateChange" })
export type TemplateChange = typeof TemplateChange.Type

/** Returns the changes of plans. */
export const changesOf = (plans: ReadonlyArray<TemplatePlan>): ReadonlyArray<TemplateChange> =>
  plans.flatMap((plan) =>
    plan.outcome === "unchanged" ? [] : [{ template_id: plan.id, outcome: plan.outcome, ...plan.difference }]
  )

/**
 * Returns the reasons why plans cannot be carried out. `members` contains the new owners that are members. `indexOf`
 * returns the index of a plan in the import.
 */
export const planFaults = (
  plans: ReadonlyArray<TemplatePlan>,
  members: ReadonlySet<string>,
  indexOf: (at: number) => number = (at) => at,
): ReadonlyArray<Fault> =>
  plans.flatMap((one, at): ReadonlyArray<Fault> => {
    if (one.outcome === "unchanged") return []
    const pointer = `/templates/${indexOf(at)}`
    return [
      ...(one.variantCount <= maxVariantsOfOne ? [] : [{
        pointer: `${pointer}/variants`,
        detail: `would give the template ${one.variantCount} variants. A template has at most ${maxVariantsOfOne}`,
      }]),
      ...one.settingFaults.map((fault) => ({ ...fault, pointer: pointer + fault.pointer })),
      ...(one.newOwner === null || members.has(one.newOwner)
        ? []
        : [{ pointer: `${pointer}/owner`, detail: notMember(one.newOwner) }]),
    ]
  })

/** Maximum size of the differences of one import in the audit log. Unit: characters of JSON. */
const maxAudited = 500_000

/** Shares the space of one import in the audit log among its templates. */
export class AuditRoom {
  #left = maxAudited

  /** Returns the difference of one template, without its fields once the space is used up. */
  of(...[before, after]: Parameters<typeof difference>): Difference {
    if (this.#left <= 0) return { fields: [], omitted: Object.keys(after ?? {}).length }
    const all = difference(before, after)
    this.#left -= JSON.stringify(all).length
    return all
  }
}

/** Returns the content of a stored variant or of an input. A variant without an id gets a new one. */
export const variantContent = (variant: Variant | VariantInput): VariantContent => {
  const id = variant.id ?? CopyId.make(randomId("v"))
  return {
    id,
    name: variant.name ?? id,
    vars: variant.vars,
    locales: variant.locales ?? {},
    formats: variant.formats ?? {},
    active: variant.active ?? true,
    targeting: variant.targeting ?? [],
    seasons: variant.seasons ?? [],
    components: variant.components ?? {},
  }
}

/**
 * Returns the content that an input describes. Missing members have their defaults. Missing tags and owner stay
 * unchanged, because people set them in lists and not in files.
 */
export const inputContent = (
  input: TemplateInput,
  id: TemplateId,
  before?: Pick<Template, "owner" | "tags">,
): TemplateContent => ({
  id,
  name: input.name,
  ...withDefaults(input),
  tags: input.tags ?? before?.tags ?? [],
  owner: input.owner === undefined ? before?.owner ?? null : normalOwner(input.owner),
  archived: input.archived ?? false,
})

/** Returns the content of a stored template. */
export const storedContent = (template: Template): TemplateContent => ({
  id: template.id,
  name: template.name,
  ...settingsOf(template),
  archived: template.archived_at !== null,
})

/** Returns the content of a stored template after a change. Absent members stay unchanged. */
export const patchedContent = (template: Template, patch: TemplatePatch): TemplateContent => ({
  ...storedContent(template),
  ...patch,
  ...(patch.owner === undefined ? {} : { owner: normalOwner(patch.owner) }),
})

const fields = (template: TemplateContent, variants: ReadonlyArray<VariantContent>) =>
  fieldsOfTemplate({ ...template, variants })

/** Plans one template of an import. `before` is the stored template of that id, if any. */
export const planTemplate = (input: TemplateInput, before: Template | undefined, room: AuditRoom): TemplatePlan => {
  const given = (input.variants ?? []).map(variantContent)
  if (before === undefined) {
    const template = inputContent(input, input.id ?? TemplateId.make(randomId("t")))
    return {
      outcome: "created",
      id: template.id,
      template,
      variants: given,
      variantCount: given.length,
      relearns: false,
      settingFaults: templateFaults(template, given),
      newOwner: template.owner,
      difference: room.of(undefined, fields(template, given)),
    }
  }
  const known = new Map(before.variants.map((variant) => [variant.id as string, variantContent(variant)]))
  const variants = given.filter((variant) => !isDeepStrictEqual(known.get(variant.id), variant))
  const template = inputContent(input, before.id, before)
  const stored = storedContent(before)
  if (variants.length === 0 && isDeepStrictEqual(stored, template)) return { outcome: "unchanged", id: before.id }
  const replaced = variants.flatMap(({ id }) => known.get(id) ?? [])
  return {
    outcome: "updated",
    id: before.id,
    template,
    variants,
    variantCount: before.variants.length + variants.length - replaced.length,
    settingFaults: templateFaults(template, [...before.variants, ...variants]),
    newOwner: template.owner === stored.owner ? null : template.owner,
    relearns: !isDeepStrictEqual(stored.objective, template.objective),
    difference: room.of(fields(stored, replaced), fields(template, variants)),
  }
}
