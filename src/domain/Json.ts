import { NameCost } from "./NameCost.ts"
import { NamesCollide, parse as parseWith } from "./JsonParser.ts"
import { ShortJson } from "./ShortJson.ts"

export { NamesCollide }

/** One for all texts of this thread, because they share one table of strings. */
const short = new ShortJson()

/**
 * The message for a text for which `parse` threw `error`, such as `is not valid JSON: expected a value, found "}" at
 * …`.
 */
export const explain = (error: unknown): string =>
  error instanceof NamesCollide
    ? error.message
    : `is not valid JSON: ${error instanceof Error ? error.message : String(error)}`

/**
 * Parses JSON as `JSON.parse` does. Takes any depth, keeps `__proto__` as an ordinary member, and of a name that is given twice,
 * the last value at the first place. The time is linear in the length of the text, except for a few short texts whose strings
 * collide, before `ShortJson` notices them.
 *
 * Throws a `SyntaxError` that tells the position of the first fault, or `NamesCollide`.
 */
export const parse = (text: string): unknown => short.parse(text) ?? parseWith(text, new NameCost())

/** Parses stored text that `parse` accepted before. Never throws `NamesCollide`. */
export const parseStored = (text: string): unknown => short.parse(text) ?? parseWith(text, undefined)
