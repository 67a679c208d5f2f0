import { JsonPointer, Result, Schema } from "effect"
import type { ReadImport } from "../checking/Checks.ts"
import type { Fault } from "../domain/Errors.ts"
import { decoder } from "../domain/Faults.ts"
import type { CopyId, TemplateId } from "../domain/Ids.ts"
import { TemplateLocale } from "../domain/Locale.ts"
import { SnippetFileInput } from "../domain/Snippet.ts"
import { Formats, Locales, TemplateInput, type VariantInput, Vars } from "../domain/Template.ts"
import type { SourceFault } from "../text/TextFaults.ts"

/** Maximum number of templates, and of their variants in total, in one import. */
const maxTemplates = 1_000
const maxVariants = 2_000

/** Maximum number of reported faults of one import. */
const maxFaults = 1_000

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Returns the fault of an import with too many templates or variants. Checks only lengths. */
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

/** Maximum number of faults in the form of an import. Above it, nothing else is checked. */
export const maxFormFaults = 100

const decodeSnippetList = decoder(Schema.Array(SnippetFileInput))

/** Decodes the snippets of an import's JSON. None with faults. */
const decodeSnippets = (
  json: unknown,
): { readonly snippets: ReadonlyArray<SnippetFileInput>; readonly faults: ReadonlyArray<Fault> } => {
  const list = isObject(json) ? json["snippets"] : undefined
  if (list === undefined) return { snippets: [], faults: [] }
  const decoded = decodeSnippetList(list)
  return Result.isSuccess(decoded) ? { snippets: decoded.success, faults: [] } : {
    snippets: [],
    faults: decoded.failure.map(({ detail, pointer }) => ({ pointer: `/snippets${pointer}`, detail })),
  }
}

/** Decodes the templates and snippets of an import's JSON. Stops after the template at which the number of faults reaches 100. */
export const decodeImport = (json: unknown): ReadImport<Fault> => {
  const list = isObject(json) ? json["templates"] : undefined
  if (!Array.isArray(list)) {
    const fault = isObject(json)
      ? { pointer: "/templates", detail: list === undefined ? "is required" : "must be an array" }
      : { pointer: "", detail: "must be an object" }
    return { templates: [], snippets: [], faults: [fault] }
  }
  const tooMany = sizeFaults(list)
  if (tooMany.length > 0) return { templates: [], snippets: [], faults: tooMany }
  const { faults: ofSnippets, snippets } = decodeSnippets(json)
  const templates: Array<TemplateInput | null> = []
  const faults: Array<Fault> = []
  for (const [index, one] of list.entries()) {
    const decoded = decodeTemplate(one)
    templates.push(Result.isSuccess(decoded) ? decoded.success : null)
    if (Result.isFailure(decoded)) {
      for (const { detail, pointer } of decoded.failure) {
        faults.push({ pointer: `/templates/${index}${pointer}`, detail })
      }
    }
    if (faults.length >= maxFormFaults) break
  }
  return { templates, snippets, faults: [...ofSnippets, ...faults].slice(0, maxFormFaults) }
}

/** The ids and the Liquid of a template, which are checked in addition to its form. */
export interface TemplateLiquid extends Pick<TemplateInput, "id" | "locale"> {
  readonly variants?: ReadonlyArray<VariantLiquid>
}
/** The id and the Liquid of a variant. */
type VariantLiquid = Pick<VariantInput, "id" | "vars" | "locales" | "formats">

const isVars = Schema.is(Vars)
const isFormats = Schema.is(Formats)
const isLocales = Schema.is(Locales)
const isTemplateLocale = Schema.is(TemplateLocale)

const variantLiquid = (value: unknown): VariantLiquid => {
  const { formats, id, locales, vars } = isObject(value) ? value : {}
  const texts = isObject(vars)
    ? Object.fromEntries(Object.entries(vars).filter(([name, text]) => isVars({ [name]: text })))
    : {}
  return {
    ...(typeof id === "string" ? { id: id as CopyId } : {}),
    vars: isVars(texts) ? texts : {},
    ...(isVars(vars) && isFormats(formats) ? { formats } : {}),
    ...(isVars(vars) && isLocales(locales) ? { locales } : {}),
  }
}

/**
 * Reads the ids and the Liquid in templates that were not decoded, as far as possible, so that an import with faults in
 * its form lists the faults of its Liquid as well. Empty if the list of templates is too large.
 */
export const readLiquid = (json: unknown): ReadonlyArray<TemplateLiquid> => {
  const list = isObject(json) ? json["templates"] : undefined
  if (!Array.isArray(list) || sizeFaults(list).length > 0) return []
  return list.map((template: unknown) => {
    const { id, locale, variants } = isObject(template) ? template : {}
    return {
      ...(typeof id === "string" ? { id: id as TemplateId } : {}),
      ...(isTemplateLocale(locale) ? { locale } : {}),
      ...(Array.isArray(variants) ? { variants: variants.map(variantLiquid) } : {}),
    }
  })
}

/** Returns the templates without faults, with null in the place of the others. */
export const withoutFaults = (
  templates: ReadonlyArray<TemplateInput | null>,
  faults: ReadonlyArray<Fault>,
): ReadonlyArray<TemplateInput | null> => {
  const faulty = new Set(
    faults.flatMap(({ pointer }) => pointer.startsWith("/templates/") ? [Number(pointer.split("/")[2])] : []),
  )
  return templates.map((template, index) => faulty.has(index) ? null : template)
}

/** Returns faults or warnings of sources with pointers to their variables, below `at`. */
export const atVariables = (faults: ReadonlyArray<SourceFault>, at = ""): ReadonlyArray<Fault> =>
  faults.map(({ column, line, locale, message, variable }) => ({
    pointer: `${at}/${locale === undefined ? "vars" : `locales/${locale}`}/${JsonPointer.escapeToken(variable)}`,
    detail: `line ${line}, column ${column}: ${message}`,
  }))

/**
 * Returns the faults of a variant's Liquid, and of formats and translations without a variable, with pointers below
 * `at`.
 */
export const variantFaults = (
  variant: Pick<VariantInput, "formats" | "locales"> & { readonly vars?: VariantInput["vars"] },
  liquid: ReadonlyArray<SourceFault>,
  at: string,
): ReadonlyArray<Fault> => {
  const { formats = {}, locales = {}, vars } = variant
  const strays = (of: object, where: string) =>
    Object.keys(of).filter((name) => vars !== undefined && !Object.hasOwn(vars, name)).map((name) => ({
      pointer: `${at}/${where}/${JsonPointer.escapeToken(name)}`,
      detail: "names no variable of this variant",
    }))
  return [
    ...strays(formats, "formats"),
    ...Object.entries(locales).flatMap(([locale, texts]) => strays(texts, `locales/${locale}`)),
    ...atVariables(liquid, at),
  ]
}

/** Returns a function that recognizes repeated ids. */
const repeats = () => {
  const seen = new Set<string>()
  return ({ id }: { readonly id?: string }): boolean => {
    if (id === undefined) return false
    const isRepeated = seen.has(id)
    seen.add(id)
    return isRepeated
  }
}

/** Checks the Liquid of a variant. `locale` is the locale of its `vars`, undefined if the template names none. */
type LiquidCheck = (variant: VariantLiquid, at: string, locale: string | undefined) => ReadonlyArray<SourceFault>

/**
 * Returns the faults of the variants of one template, with pointers below `at`. `liquid` returns the Liquid faults of a
 * variant.
 */
export const variantListFaults = (
  { locale, variants = [] }: TemplateLiquid,
  liquid: LiquidCheck,
  at: string,
): ReadonlyArray<Fault> => {
  const isRepeated = repeats()
  return variants.flatMap((variant, index) => {
    const here = `${at}/${index}`
    return [
      ...(isRepeated(variant)
        ? [{ pointer: `${here}/id`, detail: "is the id of another variant of this template" }]
        : []),
      ...variantFaults(variant, liquid(variant, here, locale?.default), here),
    ]
  })
}

/**
 * Returns up to 1,000 faults of templates in addition to the faults of their form: repeated ids, formats without a
 * variable, and faults of Liquid.
 */
export const inputFaults = (
  inputs: ReadonlyArray<TemplateLiquid>,
  liquid: LiquidCheck,
): ReadonlyArray<Fault> => {
  const isRepeated = repeats()
  const faults: Array<Fault> = []
  for (const [index, input] of inputs.entries()) {
    const at = `/templates/${index}`
    if (isRepeated(input)) faults.push({ pointer: `${at}/id`, detail: "is the id of another template of this import" })
    faults.push(...variantListFaults(input, liquid, `${at}/variants`))
    if (faults.length >= maxFaults) break
  }
  return faults.slice(0, maxFaults)
}
