// Texts by their English text, in one language at a time. Pages and their scripts share this module, which imports nothing.

/** Forms of a text for a count, named by the plural categories of CLDR: `one`, `few`, `many`, `other`. */
export type PluralForms = Readonly<Record<string, string>>

/** The translations of a language. */
export interface Texts {
  /** The language and region of numbers and dates, such as `de-DE`. */
  readonly locale: string
  /** Translations by the English text. Values are `{0}`, `{1}` and so on, in any order. */
  readonly texts: ReadonlyMap<string, string | PluralForms>
}

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

const pluralRules = new Map<string, Intl.PluralRules>()

const pluralOf = (locale: string, count: number): string => {
  const known = pluralRules.get(locale) ?? new Intl.PluralRules(locale)
  pluralRules.set(locale, known)
  return known.select(count)
}

/** Marks the English text of a constant for the catalogues. `translated` translates it where it is shown. */
export const english = <const T extends string>(text: T): T => text

/** Makes the functions that translate into the language that `current` returns. */
export const textsIn = (current: () => Texts) => {
  const translated = (text: string): string => plain(current().texts.get(text), text)
  function t(strings: TemplateStringsArray, ...values: ReadonlyArray<string | number>): string
  function t<const V extends ReadonlyArray<unknown>>(
    strings: TemplateStringsArray,
    ...values: V
  ): string | Array<string | V[number]>
  function t(strings: TemplateStringsArray, ...values: ReadonlyArray<unknown>): unknown {
    const text = translated(keyOfTag(strings))
    return values.length === 0 ? text : fill(text, values)
  }
  const plural = (count: number, one: string, many: string): string => {
    const { locale, texts } = current()
    const forms = texts.get(many)
    if (forms === undefined || forms === "") return count === 1 ? one : many
    return typeof forms === "string" ? forms : forms[pluralOf(locale, count)] ?? forms["other"] ?? many
  }
  return { plural, t, translated }
}
