import { type PluralForms, textsIn } from "../../languages/Texts.ts"

// Texts of the scripts in the language of the page. A page in another language than English loads the translations first,
// by a script that scripts/writeScripts.ts makes.

export { english } from "../../languages/Texts.ts"

/** The translations that a page has loaded, with the language and region of its numbers. */
export interface PageTexts {
  readonly locale: string
  readonly texts: Readonly<Record<string, string | PluralForms>>
}

const loaded = (globalThis as { readonly parlanceTexts?: PageTexts }).parlanceTexts ?? { locale: "en-GB", texts: {} }
const language = { locale: loaded.locale, texts: new Map(Object.entries(loaded.texts)) }
const texts = textsIn(() => language)

/** The language and region of numbers. */
export const { locale } = language

/** A text in the language of the page. */
export const t = texts.t

/** The translation of a text that `english` marks. Default: `text`. */
export const translated = texts.translated

/** A count with its noun, such as `1,234 members`. */
export const counted = (count: number, one: string, many: string): string =>
  texts.plural(count, `{0} ${one}`, `{0} ${many}`).replace("{0}", count.toLocaleString(locale))
