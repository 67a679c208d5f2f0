import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { PluralForms } from "../src/languages/Texts.ts"
import { type Message, messagesOf } from "./Messages.ts"

// The catalogues of the console's languages, and the source that they belong to.

/** The translations of a language by the English text. An empty text has no translation yet. */
export type Catalogue = Readonly<Record<string, string | PluralForms>>

const root = fileURLToPath(new URL("..", import.meta.url))

/** The folder of the catalogues. */
export const cataloguesFolder = `${root}src/languages`

/** The messages of all sources whose path below `src` fits, each once. Default: all. */
export const messagesOfSource = (within = /^/): ReadonlyMap<string, Message> =>
  new Map(
    readdirSync(`${root}src`, { recursive: true, encoding: "utf8" })
      .filter((path) => /\.tsx?$/.test(path) && !path.includes("assets") && within.test(path))
      .sort()
      .flatMap((path) => messagesOf(path, readFileSync(`${root}src/${path}`, "utf8")))
      .map((message) => [message.key, message]),
  )

/** A catalogue with exactly `messages`, and the number of texts that it loses. */
export const completed = (before: Catalogue, messages: ReadonlyMap<string, Message>) => ({
  catalogue: Object.fromEntries([...messages.keys()].map((key): [string, string | PluralForms] => [
    key,
    Object.hasOwn(before, key) ? before[key]! : "",
  ])),
  removed: Object.keys(before).filter((key) => !messages.has(key)).length,
})

/** A catalogue as its file has it: one line for each text, in the order of the English texts. */
export const written = (catalogue: Catalogue): string => {
  const lines = Object.entries(catalogue).sort(([a], [b]) => a < b ? -1 : 1)
    .map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)}`)
  return `{\n${lines.join(",\n")}\n}\n`
}

const placeholders = (text: string): ReadonlySet<string> => new Set(text.match(/\{\d+\}/g))

/** Whether a translation has the values of its key. A plural form may leave values out: "a message" for 1. */
const keepsValues = (key: string, form: string, mayLeaveOut: boolean): boolean => {
  const [own, given] = [placeholders(form), placeholders(key)]
  return own.isSubsetOf(given) && (mayLeaveOut || own.size === given.size)
}

/** The forms of a translation. */
export const formsOf = (translation: string | PluralForms): ReadonlyArray<string> =>
  typeof translation === "string" ? [translation] : Object.values(translation)

/** The faults of a catalogue: missing and superfluous texts, missing plural forms, and other values than the English text. */
export const catalogueFaults = (
  catalogue: Catalogue,
  messages: ReadonlyMap<string, Message>,
  tag: string,
): ReadonlyArray<string> => {
  const categories = new Intl.PluralRules(tag).resolvedOptions().pluralCategories
  const missing = [...messages.values()].flatMap(({ key, one }) => {
    const translation = Object.hasOwn(catalogue, key) ? catalogue[key]! : ""
    if (translation === "") return [`no translation of ${JSON.stringify(key)}`]
    const forms = typeof translation === "string" ? [] : Object.keys(translation)
    const lacks = one === undefined ? [] : categories.filter((category) => !forms.includes(category))
    if (one === undefined && forms.length > 0) return [`forms of a text without a count: ${JSON.stringify(key)}`]
    return lacks.map((category) => `no form ${category} of ${JSON.stringify(key)}`)
  })
  const lost = Object.entries(catalogue).flatMap(([key, translation]) =>
    formsOf(translation)
      .filter((form) => form !== "" && !keepsValues(key, form, typeof translation !== "string"))
      .map((form) => `other values than in ${JSON.stringify(key)}: ${JSON.stringify(form)}`)
  )
  const superfluous = Object.keys(catalogue).filter((key) => !messages.has(key))
  return [...missing, ...lost, ...superfluous.map((key) => `not in the source: ${JSON.stringify(key)}`)]
}
