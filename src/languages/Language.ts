import { Context, Effect, Fiber } from "effect"
import german from "./de.json" with { type: "json" }

// The languages of the console. Texts are written in English where they are shown, in the tag `t`. The catalogue of another
// language, such as de.json, has the translation of each text under the English text. Texts of the API, of logs and of the
// command line are English always, because the language is set for requests of the console only.

/** Forms of a text for a count, named by the plural categories of CLDR: `one`, `few`, `many`, `other`. */
export type PluralForms = Readonly<Record<string, string>>

/** A language of the console. */
export interface Language {
  /** The tag of BCP 47, such as `de`. */
  readonly tag: string
  /** Its own name, such as `Deutsch`. */
  readonly name: string
  /** The language and region of numbers and dates, such as `de-DE`. */
  readonly locale: string
  /** Translations by the English text. Values are `{0}`, `{1}` and so on, in any order. */
  readonly texts: ReadonlyMap<string, string | PluralForms>
}

/** The language of the source: a text is its own translation. */
const source: Language = { tag: "en", name: "English", locale: "en-GB", texts: new Map() }

/** Every language of the console. To add one, add its file here. */
export const languages: ReadonlyArray<Language> = [
  source,
  { tag: "de", name: "Deutsch", locale: "de-DE", texts: new Map(Object.entries(german)) },
]

/** The language of the texts that this fiber makes. Default: English. */
export const CurrentLanguage = Context.Reference<Language>("parlance/languages/CurrentLanguage", {
  defaultValue: () => source,
})

/** The language of the running fiber. */
export const currentLanguage = (): Language => Fiber.getCurrent()?.getRef(CurrentLanguage) ?? source

const keys = new WeakMap<TemplateStringsArray, string>()

/** Lines of a long text in the source are one line, joined by a space. */
const oneLine = (text: string): string => text.replace(/ *\n {2,}/g, " ")

/** The text under which a catalogue has a message: `Sent {0} times`. */
export const keyOf = (strings: ReadonlyArray<string>): string =>
  strings.map(oneLine).reduce((key, text, index) => `${key}{${index - 1}}${text}`)

const keyOfTag = (strings: TemplateStringsArray): string => {
  const known = keys.get(strings)
  if (known !== undefined) return known
  const key = keyOf(strings)
  keys.set(strings, key)
  return key
}

const isPlain = (value: unknown): value is string | number => typeof value === "string" || typeof value === "number"

/**
 * The text with the value of each placeholder `{0}`, `{1}` and so on: one text, or a list for a page if a value is part of
 * one.
 */
export function fill(text: string, values: ReadonlyArray<string | number>): string
export function fill<V>(text: string, values: ReadonlyArray<V>): string | Array<string | V>
export function fill(text: string, values: ReadonlyArray<unknown>): unknown {
  const pieces = text.split(/\{(\d+)\}/).map((piece, index) => index % 2 === 0 ? piece : values[Number(piece)]!)
  return pieces.every(isPlain) ? pieces.join("") : pieces.filter((piece) => piece !== "")
}

const plain = (translation: string | PluralForms | undefined, key: string): string => {
  const text = typeof translation === "object" ? translation["other"] : translation
  return text === undefined || text === "" ? key : text
}

/**
 * A text in the language of the running fiber: t`Sent ${times} times`. A text with elements between its words is a list of
 * pieces for a page. Lines of a long text are joined by a space. A text without a translation stays English.
 */
export function t(strings: TemplateStringsArray, ...values: ReadonlyArray<string | number>): string
export function t<const V extends ReadonlyArray<unknown>>(
  strings: TemplateStringsArray,
  ...values: V
): string | Array<string | V[number]>
export function t(strings: TemplateStringsArray, ...values: ReadonlyArray<unknown>): unknown {
  const key = keyOfTag(strings)
  const text = plain(currentLanguage().texts.get(key), key)
  return values.length === 0 ? text : fill(text, values)
}

/** Marks the English text of a constant for the catalogues. `translated` translates it where it is shown. */
export const english = <const T extends string>(text: T): T => text

/** The translation of a text that `english` marks. Default: `text`. */
export const translated = (text: string): string => plain(currentLanguage().texts.get(text), text)

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/** A number or a percentage that was written in English, such as `7,619` or `2.4 %`, in the language of the running fiber. */
const numberText = (value: string): string =>
  value.replace(/^\d{1,3}(?:,\d{3})*(?:\.\d+)?(?=$| %$)/, (number) => {
    const digits = number.split(".")[1]?.length ?? 0
    return new Intl.NumberFormat(currentLanguage().locale, {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    })
      .format(Number(number.replaceAll(",", "")))
  })

/**
 * The translation of an English text that was stored, or computed for several readers. It is translated by the first of
 * `patterns` that fits, which `english` marks and `fill` filled. Default: `text`.
 */
export const retold = (text: string, patterns: ReadonlyArray<string>): string => {
  const { texts } = currentLanguage()
  if (texts.size === 0) return text
  for (const pattern of patterns) {
    const values = new RegExp(`^${pattern.split(/\{\d+\}/).map(escaped).join("(.*?)")}$`, "s").exec(text)?.slice(1)
    const places = [...pattern.matchAll(/\{(\d+)\}/g)].map(([, place]) => Number(place))
    if (values !== undefined) {
      return fill(translated(pattern), places.map((_, place) => numberText(values[places.indexOf(place)]!)))
    }
  }
  return text
}

const pluralRules = new Map<string, Intl.PluralRules>()

const pluralOf = (locale: string, count: number): string => {
  const known = pluralRules.get(locale) ?? new Intl.PluralRules(locale)
  pluralRules.set(locale, known)
  return known.select(count)
}

/**
 * The form of a text for `count`: `one` for 1, otherwise `many`. Catalogues have the forms of their language under `many`.
 */
export const plural = (count: number, one: string, many: string): string => {
  const { locale, texts } = currentLanguage()
  const forms = texts.get(many)
  if (forms === undefined || forms === "") return count === 1 ? one : many
  return typeof forms === "string" ? forms : forms[pluralOf(locale, count)] ?? forms["other"] ?? many
}

/** The language with `tag`, such as `de`. Default: undefined. */
export const languageOf = (tag: string | null): Language | undefined => languages.find((one) => one.tag === tag)

/** Runs `answer` in the language that a person chose; null: in the language of the browser. */
export const inLanguageOf =
  (tag: string | null) => <A, E, R>(answer: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const chosen = languageOf(tag)
    return chosen === undefined ? answer : Effect.provideService(answer, CurrentLanguage, chosen)
  }

/**
 * The first language that a browser asks for, of those that the console has. `header`: the text of `Accept-Language`.
 * Default: English.
 */
export const acceptedLanguage = (header: string | undefined): Language => {
  const wanted = (header ?? "").split(",").map((part) => {
    const [range = "", ...parameters] = part.trim().toLowerCase().split(/\s*;\s*/)
    const weight = parameters.find((parameter) => parameter.startsWith("q="))
    return { range, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 }
  })
  const ordered = wanted.filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight)
  for (const { range } of ordered) {
    const found = languages.find(({ tag }) => range === tag || range.startsWith(`${tag}-`))
    if (found !== undefined) return found
  }
  return source
}
