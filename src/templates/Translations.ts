import { Result } from "effect"
import type { Translated } from "../checking/Checks.ts"
import type { Fault } from "../domain/Errors.ts"
import { isTranslatable, missingTexts } from "../domain/Locale.ts"
import type { Template, Variant } from "../domain/Template.ts"
import { pointerParts } from "../domain/Difference.ts"
import { atLine, type ReadTranslation, stampOf, type TranslationUnit } from "./TranslationUnits.ts"
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

/** A text without a translation, not even by fallback. */
export interface MissingTranslation {
  readonly copy_id: string
  readonly variable: string
}

/** The translations of a template to one locale. */
export interface LocaleProgress {
  readonly locale: string
  /** Number of texts with words. */
  readonly texts: number
  readonly missing: ReadonlyArray<MissingTranslation>
}

/** Returns the missing translations of a template by locale. */
export const progressOf = (
  { locale, variants }: Template,
  locales: ReadonlyArray<string>,
): ReadonlyArray<LocaleProgress> => {
  const texts = variants.reduce((sum, { vars }) => sum + Object.values(vars).filter(isTranslatable).length, 0)
  return locales.map((tag) => ({
    locale: tag,
    texts,
    missing: variants.flatMap((variant) =>
      missingTexts(variant, tag, locale?.default).map((variable) => ({ copy_id: variant.id, variable }))
    ),
  }))
}

const normal = (text: string) => text.replaceAll("\r\n", "\n").trim()

/** Maximum number of characters of a stored translation in a fault. */
const shownLength = 200

/** Returns the reason why a file would overwrite a translation that is newer than the file. */
const changedSince = ({ locales }: Variant, { locale, stamp, target, variable }: ReadTranslation) => {
  const stored = locales[locale]?.[variable]
  if (stamp === undefined || stamp === stampOf(stored) || normal(stored ?? "") === normal(target)) return undefined
  return `the translation of ${variable} to ${locale} has changed since the strings were exported: it is ${
    stored === undefined ? "removed" : `now ${JSON.stringify(stored.slice(0, shownLength))}`
  }. Write this text into the file to keep it, or export the strings again`
}

/** The strings of a template as a file. */
interface ExportedStrings {
  readonly text: string
  readonly locales: ReadonlyArray<LocaleProgress>
}

/** Writes the strings of a template. Default of `locales`: every locale with texts. Fails without a locale. */
export const exportStrings = (
  template: Template,
  locales: ReadonlyArray<string>,
  format: TranslationFormat,
): Result.Result<ExportedStrings, Fault> => {
  const { locale } = template
  if (locale === null) {
    const detail = "The template has one locale: set where a request has the person's locale first, in its settings"
    return Result.fail({ pointer: "", detail })
  }
  const tags = locales.length > 0 ? locales : localesOfTemplate(template)
  const text = writeTranslations({ ...template, locale }, tags, format)
  return Result.succeed({ text, locales: progressOf(template, tags) })
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
  return normal(variant.vars[variable]!) === normal(source)
    ? changedSince(variant, one)
    : `the text of ${variable} has changed since the strings were exported: export them again, and translate the new text`
}

/** Returns a fault of the variants of an import at its line in the file of strings. */
export const atTranslation = ({ lines, variants }: Translated, fault: Fault): Fault => {
  const [, , , at = "", , locale = "", variable = ""] = pointerParts(fault.pointer)
  const line = lines.get(JSON.stringify([variants[Number(at)]?.id, locale, variable]))
  return line === undefined ? fault : atLine(line, `${variable} (${locale}): ${fault.detail}`)
}

/**
 * Reads a file of strings, CSV or XLIFF 1.2 or 2.0, and applies its translations to a template. Empty translations
 * change nothing. Line ends become the line ends of the text in the default locale. Returns every fault, up to 1,000: a
 * file that cannot be read, an unknown variant or variable, a locale that does not exist, a text or a translation that has
 * changed since the export, and a text that is translated twice.
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
  return Result.succeed({ variants, lines })
}
