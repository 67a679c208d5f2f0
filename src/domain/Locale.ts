import { Schema } from "effect"
import { t } from "../languages/Language.ts"
import { readLocale } from "../text/Locales.ts"
import type { ReadValue } from "../text/ReadValue.ts"
import { isStorable } from "./Attributes.ts"
import { described } from "./described.ts"

// Locales of texts: which texts a variant has, and which of them a person gets. Pure.

/** Returns why a text is no locale of texts, or undefined. */
export const localeFault = (text: string): string | undefined => {
  const read = readLocale(text)
  if ("wrong" in read) return read.wrong
  const { baseName } = new Intl.Locale(read.value)
  return baseName === text ? undefined : `is not the usual form of a locale: write "${baseName}"`
}

/** A locale of texts: a canonical BCP 47 tag without extensions, such as `de`, `de-AT` or `zh-Hant`. */
export const LocaleTag = Schema.String.check(Schema.makeFilter<string>(localeFault), Schema.isMaxLength(35))

/** Maximum number of locales of a variant, in addition to the default locale. */
export const maxLocales = 50

const canonical = Schema.makeFilter<Readonly<Record<string, unknown>>>((locales) =>
  Object.keys(locales).flatMap((tag) => {
    const issue = localeFault(tag)
    return issue === undefined ? [] : [{ path: [tag], issue }]
  })
)

/** Returns the schema of values by locale, at most 50. */
export const byLocale = <S extends Schema.Top>(value: S) =>
  Schema.Record(Schema.String, value).check(canonical, Schema.isMaxProperties(maxLocales))

const name = (most: number) =>
  Schema.String.check(
    Schema.makeFilter<string>((text) => isStorable(text) ? undefined : "must be well-formed Unicode without NUL"),
    Schema.isMinLength(1),
    Schema.isMaxLength(most),
  )

/** The attribute or the field of a request with the person's locale, and the locale of the texts in `vars`. */
export const TemplateLocale = Schema.Struct({
  attribute: Schema.optionalKey(described(name(100), "Name of the attribute with the locale, such as `language`")),
  field: Schema.optionalKey(
    described(name(200), "Name of the field with the locale, such as `language` or `user.locale`"),
  ),
  default: described(LocaleTag, "Locale of the texts in `vars`, such as `en`"),
}).check(
  Schema.makeFilter(({ attribute, field }) =>
    (attribute === undefined) !== (field === undefined)
      ? undefined
      : "must name either the attribute or the field with the locale, such as {attribute: language, default: en}"
  ),
).annotate({ identifier: "TemplateLocale" })
export type TemplateLocale = typeof TemplateLocale.Type

/** Returns a template's locale in words, such as `from the attribute language, otherwise en`. */
export const localeWords = (locale: TemplateLocale | null): string =>
  locale === null
    ? t`one`
    : locale.attribute === undefined
    ? t`from the field ${locale.field ?? ""}, otherwise ${locale.default}`
    : t`from the attribute ${locale.attribute}, otherwise ${locale.default}`

const languages = new Intl.DisplayNames(["en"], { type: "language", fallback: "none" })

/** Returns the tag of a language that exists and that `Intl` cannot write, such as `nn`, or undefined. */
const otherLanguage = (written: string): string | undefined => {
  try {
    const { baseName, language } = new Intl.Locale(written.replaceAll("_", "-"))
    return languages.of(language) === undefined ? undefined : baseName
  } catch {
    return undefined
  }
}

/**
 * Reads a person's locale as platforms write it: a tag such as `de-AT`, `de_AT` or `DE-at`, a language, a country
 * (`AT` is `de-AT`), or the first entry of a header `Accept-Language`. Two letters are a language if
 * there is one, otherwise a country.
 */
export const readPersonLocale = (text: string): ReadValue<string> => {
  const written = text.split(/[,;#]/, 1)[0]!.trim().replace(/[_-]$/, "")
  const isShort = written.length === 2
  const language = readLocale(isShort ? written.toLowerCase() : written)
  const read = "wrong" in language && isShort ? readLocale(written.toUpperCase()) : language
  if (!("wrong" in read)) return { value: new Intl.Locale(read.value).baseName }
  const other = otherLanguage(written)
  return other === undefined ? read : { value: other }
}

/**
 * Returns the locales of a person, preferred first: all entries of a header `Accept-Language` by their weights, otherwise
 * the one of `readPersonLocale`. Empty for a text without a locale.
 */
export const readPersonLocales = (text: string): ReadonlyArray<string> => {
  const entries = text.split(",").flatMap((entry) => {
    const read = readPersonLocale(entry)
    const weight = Number(/;\s*q\s*=\s*([\d.]+)/i.exec(entry)?.[1] ?? 1)
    return "wrong" in read || !(weight > 0) ? [] : [{ locale: read.value, weight }]
  })
  return entries.toSorted((a, b) => b.weight - a.weight).map(({ locale }) => locale)
}

/** Languages that are written alike, by language. */
const alike: Readonly<Record<string, ReadonlyArray<string>>> = { nb: ["no"], nn: ["nb", "no"], no: ["nb"] }

/**
 * Returns the locales whose texts suit a person, best first: `de-AT`, then `de`. Follows the lookup of RFC 4647. A
 * locale in another script does not suit: `zh-TW` leads to `zh-Hant`, never to `zh`, which is in simplified characters.
 */
export const fallbackChain = (tag: string): ReadonlyArray<string> => {
  const { language, region } = new Intl.Locale(tag)
  const { script } = new Intl.Locale(tag).maximize()
  const inRegion = region === undefined ? [] : [`${language}-${script}-${region}`, `${language}-${region}`]
  const candidates = [tag, ...inRegion, `${language}-${script}`, language, ...alike[language!] ?? []]
  return [...new Set(candidates)].filter((one) => new Intl.Locale(one!).maximize().script === script) as Array<string>
}

/** Texts by variable. */
type Texts = Readonly<Record<string, string>>

/** A variant's texts in all its locales. */
export interface LocalizedTexts {
  /** The texts in the default locale. */
  readonly vars: Texts
  readonly locales: Readonly<Record<string, Texts>>
}

/** The texts of a variant for one locale, with the locale of each. */
export interface LocaleTexts {
  /** The best of the locales. */
  readonly locale: string
  readonly vars: Texts
  /** The locale of each text. */
  readonly localeOf: Texts
}

/**
 * Returns a variant's texts for a person whose locale has this fallback chain. Each variable that lacks a text in a
 * locale of the chain has the text in the default locale.
 */
export const textsFor = (
  { locales, vars }: LocalizedTexts,
  chain: ReadonlyArray<string>,
  defaultLocale: string,
): LocaleTexts => {
  const end = chain.indexOf(defaultLocale)
  const own = (end < 0 ? chain : chain.slice(0, end)).filter((tag) => Object.hasOwn(locales, tag))
  const localeOf = (variable: string) => own.find((tag) => Object.hasOwn(locales[tag]!, variable)) ?? defaultLocale
  const found = Object.keys(vars).map((variable) => [variable, localeOf(variable)] as const)
  return {
    locale: own[0] ?? defaultLocale,
    vars: Object.fromEntries(
      found.map(([variable, tag]) =>
        [variable, tag === defaultLocale ? vars[variable]! : locales[tag]![variable]!] as const
      ),
    ),
    localeOf: Object.fromEntries(found),
  }
}

/** Scripts that are written from right to left. */
const rightToLeft: ReadonlySet<string> = new Set([
  "Adlm",
  "Arab",
  "Hebr",
  "Mand",
  "Nkoo",
  "Rohg",
  "Samr",
  "Syrc",
  "Thaa",
])

/** Returns the direction in which texts of a locale are written. */
export const directionOf = (tag: string): "ltr" | "rtl" =>
  rightToLeft.has(new Intl.Locale(tag).maximize().script ?? "") ? "rtl" : "ltr"

/** Words that a filter shows: `default: "friend"`, `plural: one: "item", other: "items"`. */
const wordsOfFilter = /\|\s*(?:default|plural|pluralize)\s*:[^|}%]*?["'][^"'|}]*\p{L}{2}/u

/** Whether a Liquid source has words for people: letters outside of tags, outputs and addresses, or words of a filter. */
export const isTranslatable = (source: string): boolean =>
  wordsOfFilter.test(source.replace(/[^\s"']+:\/\/[^\s"']+/g, " ")) || /\p{L}{2}/u.test(
    source.replace(/\{\{.*?\}\}|\{%.*?%\}/gs, " ").replace(/<style[\s\S]*?<\/style>|<[^>]*>/gi, " ")
      .replace(/\S+:\/\/\S+|\S+@\S+/g, " "),
  )

/** Returns the variables with words that have no text in a locale, nor in a locale of its fallback chain. */
export const missingTexts = (
  { locales, vars }: LocalizedTexts,
  tag: string,
  defaultLocale: string | undefined,
): ReadonlyArray<string> => {
  const chain = fallbackChain(tag)
  if (chain.includes(defaultLocale ?? "")) return []
  const { localeOf } = textsFor({ vars, locales }, chain, "")
  return Object.keys(vars).filter((variable) => localeOf[variable] === "" && isTranslatable(vars[variable]!))
}

/**
 * Returns the locales in which other variants have texts, and a variant with `locales` has none, not even by fallback.
 */
export const untranslated = (
  locales: LocalizedTexts["locales"],
  variants: ReadonlyArray<Pick<LocalizedTexts, "locales">>,
  defaultLocale: string | undefined,
): ReadonlyArray<string> =>
  [...new Set(variants.flatMap((variant) => Object.keys(variant.locales)))].filter((tag) =>
    !fallbackChain(tag).some((one) => one === defaultLocale || Object.hasOwn(locales, one))
  ).sort()
