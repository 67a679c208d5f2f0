import { NameCost } from "./NameCost.ts"
import { ControlNames, NamesCollide, parse as parseWith, parseRequest } from "./JsonParser.ts"

export { ControlNames, NamesCollide, parseRequest }

/**
 * The message for an error of `parse`, such as `is not valid JSON: expected a value, found "}" at …`.
 */
export const explain = (error: unknown): string =>
  error instanceof NamesCollide || error instanceof ControlNames
    ? error.message
    : `is not valid JSON: ${error instanceof Error ? error.message : String(error)}`

/**
 * Parses JSON in time linear in the length of the text. Accepts any depth. Keeps `__proto__` as an ordinary member. If
 * a name is repeated, keeps the last value at the first place. An integer beyond 2^53 becomes a string of its digits.
 * All other values are equal to the values of `JSON.parse`.
 *
 * Throws a `SyntaxError` with the position of the first fault, or `NamesCollide`.
 */
export const parse = (text: string): unknown => parseWith(text, new NameCost())

/** Parses stored text that `parse` accepted before. Never throws `NamesCollide`. */
export const parseStored = (text: string): unknown => parseWith(text, undefined)
