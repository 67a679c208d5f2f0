import { Result } from "effect"
import type { Fault } from "../domain/Errors.ts"
import { isTranslatable } from "../domain/Locale.ts"
import type { Template, Variant } from "../domain/Template.ts"
import { pointerParts } from "../domain/Difference.ts"
import { atLine, type ReadTranslation, type TranslationUnit } from "./TranslationUnits.ts"
import { readTranslationCsv, writeTranslationCsv } from "./TranslationCsv.ts"
import { readXliff, writeXliff } from "./Xliff.ts"

// The strings of a template for translators: a file with the texts in the default locale, and the translations of it.

/** The forms of a file of strings. */
export const translationFormats = ["csv", "xliff"] as const
/** The form of a file of strings. */
export type TranslationFormat = typeof translationFormats[number]

/** Maximum number of reported faults of a file. */
const maxFaults = 1_000

const unitsOf = ({ formats, id, locales, vars }: Variant): ReadonlyArray<TranslationUnit> =>
  Object.entries(vars).filter(([, source]) => isTranslatable(source)).map(([variable, source]) => ({
    variant: id,
    variable,
    source,
    isHtml: Object.hasOwn(formats, variable) && formats[variable] === "html",
    targets: new Map(
      Object.entries(locales).flatMap(([tag, texts]) =>
        Object.hasOwn(texts, variable) ? [[tag, texts[variable]!] as const] : []
      ),
    ),
  }))

/** Returns the locales in which a template has texts, except its default locale. */
export const localesOfTemplate = ({ variants }: Pick<Template, "variants">): ReadonlyArray<string> =>
  [...new Set(variants.flatMap(({ locales }) => Object.keys(locales)))].sort()

/**
 * Writes the strings of a template: texts with words, and their translations. CSV has a column for each locale. XLIFF 1.2
 * has a file for each variant and locale. `locales` may name new locales.
 */
export const writeTranslations = (
  template: Template & { readonly locale: NonNullable<Template["locale"]> },
  locales: ReadonlyArray<string>,
  format: TranslationFormat,
): string => {
  const file = {
    template: template.id,
    defaultLocale: template.locale.default,
    locales: locales.length > 0 ? locales : localesOfTemplate(template),
    units: template.variants.flatMap(unitsOf),
  }
  return format === "csv" ? writeTranslationCsv(file) : writeXliff(file)
}

const faultOf = (template: Template, one: ReadTranslation): string | undefined => {
  const { locale, source, variable, variant: id } = one
  const variant = template.variants.find((variant) => variant.id === id)
  if (variant === undefined) return `the template has no variant ${JSON.stringify(id)}: export the strings again`
  if (!Object.hasOwn(variant.vars, variable)) {
    return `the variant ${JSON.stringify(id)} has no variable ${JSON.stringify(variable)}: export the strings again`
  }
  if (locale === template.locale?.default) {
    return `"${locale}" is the default locale, whose texts are changed in the editor`
  }
  return variant.vars[variable]!.replaceAll("\r\n", "\n").trim() === source.replaceAll("\r\n", "\n").trim()
    ? undefined
    : `the text of ${variable} has changed since the strings were exported: export them again, and translate the new text`
}

/** The variants of a template with the translations of a file. */
interface Translated {
  /** The variants that the file changes. */
  readonly variants: ReadonlyArray<Variant>
  /** Returns a fault of these variants at its line in the file. */
  readonly faultAt: (fault: Fault) => Fault
}

/**
 * Reads a file of strings, CSV or XLIFF 1.2 or 2.0, and applies its translations to a template. Empty translations
 * change nothing. Line ends become the line ends of the text in the default locale. Returns every fault, up to 1,000: a
 * file that cannot be read, an unknown variant or variable, a locale that does not exist, a text that has changed since
 * the export, and a text that is translated twice.
 */
export const applyTranslations = (
  template: Template,
  text: string,
): Result.Result<Translated, ReadonlyArray<Fault>> => {
  if (template.locale === null) {
    const detail = "The template has one locale: set its locale first, such as {attribute: language, default: en}"
    return Result.fail([{ pointer: "", detail }])
  }
  const read = /^\s*</.test(text.replace(/^\ufeff/, ""))
    ? readXliff(text)
    : readTranslationCsv(text, template.locale.default)
  if (Result.isFailure(read)) return Result.fail(read.failure.slice(0, maxFaults))
  const faults: Array<Fault> = []
  const lines = new Map<string, number>()
  const changed = new Map<string, Record<string, Record<string, string>>>()
  for (const one of read.success) {
    if (one.target.trim() === "") continue
    const detail = faultOf(template, one)
    const key = JSON.stringify([one.variant, one.locale, one.variable])
    const earlier = lines.get(key)
    if (detail !== undefined) faults.push(atLine(one.line, detail))
    else if (earlier !== undefined) faults.push(atLine(one.line, `repeats the translation of line ${earlier}`))
    lines.set(key, one.line)
    const locales = changed.get(one.variant) ?? {}
    changed.set(one.variant, locales)
    const hasReturns = template.variants.some(({ id, vars }) =>
      id === one.variant && vars[one.variable]?.includes("\r") === true
    )
    ;(locales[one.locale] ??= {})[one.variable] = hasReturns ? one.target : one.target.replaceAll("\r\n", "\n")
  }
  if (faults.length > 0) return Result.fail(faults.slice(0, maxFaults))
  const variants = template.variants.flatMap((variant) => {
    const added = changed.get(variant.id)
    if (added === undefined) return []
    const locales = { ...variant.locales }
    for (const [tag, texts] of Object.entries(added)) locales[tag] = { ...locales[tag], ...texts }
    return [{ ...variant, locales }]
  })
  return Result.succeed({
    variants,
    faultAt: (fault) => {
      const [, , , at = "", , locale = "", variable = ""] = pointerParts(fault.pointer)
      const variant = variants[Number(at)]?.id
      const line = lines.get(JSON.stringify([variant, locale, variable]))
      return line === undefined ? fault : atLine(line, `${variable} (${locale}): ${fault.detail}`)
    },
  })
}
