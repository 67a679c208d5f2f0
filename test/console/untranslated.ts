import german from "../../src/languages/de.json" with { type: "json" }

// Texts of a German page that are English still.

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"' }

const plain = (text: string): string =>
  text.replace(/&(\w+);/g, (whole, name: string) => entities[name] ?? whole).replace(/\s+/g, " ").trim()

/** Texts of the catalogue that differ in German. */
const translations = new Set(Object.entries(german).flatMap(([key, text]) => text === key ? [] : [plain(key)]))

/** What the service did not write: code, identifiers, and what people and systems have named and written. */
const notOurs =
  /<(script|style|code|pre|kbd|bdi|textarea)\b[^>]*>.*?<\/\1>|<(\w+)[^>]* (?:dir="auto"|translate="no")[^>]*>.*?<\/\2>/gs

const textsOf = (page: string): ReadonlySet<string> => {
  const ours = page.replace(/<wbr\/?>/g, "").replace(notOurs, " ")
  const attributes = [...ours.matchAll(/ (?:title|placeholder|aria-label|alt)="([^"]+)"/g)].map(([, text]) => text!)
  return new Set([...ours.split(/<[^>]*>/), ...attributes].map(plain))
}

/** Texts of a page in German that the catalogue has in English. Texts in `data` are left out. */
export const untranslated = (page: string, data: ReadonlySet<string>): ReadonlyArray<string> =>
  [...textsOf(page)].filter((text) => translations.has(text) && !data.has(text))
