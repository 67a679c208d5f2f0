import { Context, Effect, Fiber } from "effect"
import german from "./de.json" with { type: "json" }
import { fill, type Texts, textsIn } from "./Texts.ts"

export { english, fill } from "./Texts.ts"

// The languages of the console. Texts are written in English where they are shown, in the tag `t`. The catalogue of another
// language, such as de.json, has the translation of each text under the English text. Texts of the API, of logs and of the
// command line are English always, because the language is set for requests of the console only.

/** A language of the console. */
export interface Language extends Texts {
  /** The tag of BCP 47, such as `de`. */
  readonly tag: string
  /** Its own name, such as `Deutsch`. */
  readonly name: string
}

/** The language of the source: a text is its own translation. */
const source: Language = { tag: "en", name: "English", locale: "en-GB", texts: new Map() }

/** Every language of the console, the source first. To add one, add its file here. */
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

const texts = textsIn(currentLanguage)

/**
 * A text in the language of the running fiber: t`Sent ${times} times`. A text with elements between its words is a list of
 * pieces for a page. Lines of a long text are joined by a space. A text without a translation stays English.
 */
export const t = texts.t

/** The translation of a text that `english` marks. Default: `text`. */
export const translated = texts.translated

/**
 * The form of a text for `count`: `one` for 1, otherwise `many`. Catalogues have the forms of their language under `many`.
 */
export const plural = texts.plural

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

/** The language with `tag`, such as `de`. Default: undefined. */
export const languageOf = (tag: string | null): Language | undefined => languages.find((one) => one.tag === tag)

/** Runs `answer` in the language that a person chose; null: in the language of the browser. */
export const inLanguageOf =
  (tag: string | null) => <A, E, R>(answer: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const chosen = languageOf(tag)
    return chosen === undefined ? answer : Effect.provideService(answer, CurrentLanguage, chosen)
  }

/**
 * The first language of the console that a browser requests. `header`: the text of `Accept-Language`.
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
