import { JsonPointer, Result } from "effect"
import type { Fault } from "../domain/Errors.ts"
import { decoder } from "../domain/Faults.ts"
import { TemplateInput, type VariantInput } from "../domain/Template.ts"
import type { SourceFault } from "../domain/TextFaults.ts"

/** Most templates, and most variants of all of them, in one import. */
export const maxTemplates = 1_000
export const maxVariants = 2_000

/** Most faults reported of one import. */
const maxFaults = 1_000

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The fault of an import with too many templates or variants. Checks lengths only. */
export const sizeFaults = (templates: ReadonlyArray<unknown>): ReadonlyArray<Fault> => {
  const variants = templates.reduce((sum: number, template) => {
    const list = isObject(template) ? template["variants"] : undefined
    return sum + (Array.isArray(list) ? list.length : 0)
  }, 0)
  const tooMany = (what: string, count: number, most: number): Fault => ({
    pointer: "/templates",
    detail: `has ${count} ${what}. One import has at most ${most}; split it into several`,
  })
  return [
    ...(templates.length > maxTemplates ? [tooMany("templates", templates.length, maxTemplates)] : []),
    ...(variants > maxVariants ? [tooMany("variants", variants, maxVariants)] : []),
  ]
}

const decodeTemplate = decoder(TemplateInput)

/** The templates of an import's JSON, or its faults. Stops after the first template with which there are 100 or more. */
export const decodeImport = (json: unknown): Result.Result<ReadonlyArray<TemplateInput>, ReadonlyArray<Fault>> => {
  const list = isObject(json) ? json["templates"] : undefined
  if (!Array.isArray(list)) {
    return Result.fail([
      isObject(json)
        ? { pointer: "/templates", detail: list === undefined ? "is required" : "must be an array" }
        : { pointer: "", detail: "must be an object" },
    ])
  }
  const tooMany = sizeFaults(list)
  if (tooMany.length > 0) return Result.fail(tooMany)
  const templates: Array<TemplateInput> = []
  const faults: Array<Fault> = []
  for (const [index, one] of list.entries()) {
    const decoded = decodeTemplate(one)
    if (Result.isSuccess(decoded)) templates.push(decoded.success)
    else {
      for (const { detail, pointer } of decoded.failure) {
        faults.push({ pointer: `/templates/${index}${pointer}`, detail })
      }
    }
    if (faults.length >= 100) break
  }
  return faults.length === 0 ? Result.succeed(templates) : Result.fail(faults.slice(0, 100))
}

/** Faults of a variant's Liquid and of formats without a variable, with pointers below `at`. */
export const variantFaults = (
  variant: Pick<VariantInput, "formats"> & { readonly vars?: VariantInput["vars"] },
  liquid: ReadonlyArray<SourceFault>,
  at: string,
): ReadonlyArray<Fault> => [
  ...Object.keys(variant.formats ?? {})
    .filter((name) => variant.vars !== undefined && !Object.hasOwn(variant.vars, name))
    .map((name) => ({
      pointer: `${at}/formats/${JsonPointer.escapeToken(name)}`,
      detail: "names no variable of this variant",
    })),
  ...liquid.map(({ column, line, message, variable }) => ({
    pointer: `${at}/vars/${JsonPointer.escapeToken(variable)}`,
    detail: `line ${line}, column ${column}: ${message}`,
  })),
]

/** Recognizes ids that occurred before. */
const repeats = () => {
  const seen = new Set<string>()
  return ({ id }: { readonly id?: string }): boolean => {
    if (id === undefined) return false
    const isRepeated = seen.has(id)
    seen.add(id)
    return isRepeated
  }
}

/**
 * The faults of the variants of one template, with pointers below `at`. `liquid` returns the Liquid faults of a
 * variant.
 */
export const variantListFaults = (
  variants: ReadonlyArray<VariantInput>,
  liquid: (variant: VariantInput, at: string) => ReadonlyArray<SourceFault>,
  at: string,
): ReadonlyArray<Fault> => {
  const isRepeated = repeats()
  return variants.flatMap((variant, index) => {
    const here = `${at}/${index}`
    return [
      ...(isRepeated(variant)
        ? [{ pointer: `${here}/id`, detail: "is the id of another variant of this template" }]
        : []),
      ...variantFaults(variant, liquid(variant, here), here),
    ]
  })
}

/** The faults of decoded templates, up to 1,000. */
export const inputFaults = (
  inputs: ReadonlyArray<TemplateInput>,
  liquid: (variant: VariantInput, at: string) => ReadonlyArray<SourceFault>,
): ReadonlyArray<Fault> => {
  const isRepeated = repeats()
  const faults: Array<Fault> = []
  for (const [index, input] of inputs.entries()) {
    const at = `/templates/${index}`
    if (isRepeated(input)) faults.push({ pointer: `${at}/id`, detail: "is the id of another template of this import" })
    faults.push(...variantListFaults(input.variants ?? [], liquid, `${at}/variants`))
    if (faults.length >= maxFaults) break
  }
  return faults.slice(0, maxFaults)
}
