import { JsonPointer, Result } from "effect"
import { hasControl } from "../json/ControlNames.ts"

/**
 * Attributes of an end user in a request, for targeting and learning: lowercase values by attribute name. Names are
 * kept as sent, including case. Every attribute in the map has at least one value.
 */
export type Attributes = ReadonlyMap<string, ReadonlyArray<string>>

/** One reason why `attrs` were refused. */
export interface AttributeFault {
  /** JSON pointer (RFC 6901) relative to `attrs`, such as `/tier/0`. Empty for `attrs` itself. */
  readonly pointer: string
  readonly detail: string
}

/** Most attributes of one request. */
export const maxAttributes = 1_000

/** Most elements of one attribute's array, including `null`. */
export const maxElements = 1_000

/** Most characters (UTF-16 code units) of one text: each condition of a template may search all of it. */
export const maxCharacters = 1_000

/** Most characters of all texts in one attribute's array together, which leaves room for 500 UUIDs. */
export const maxListCharacters = 20_000

/** Most faults of one response, so that the response to a small hostile body stays small. */
export const maxFaults = 100

/** The attributes of a request without `attrs`. */
export const empty: Attributes = new Map()

/** Matches texts for which lowercasing is not enough: all except printable ASCII with single spaces. */
const hasMore = /[^ -~]| {2}/

/** Invisible characters and control characters, without tags (U+E0020 to U+E007F), which are part of some flags. */
const invisible = /(?![\s\u{e0020}-\u{e007f}])[\p{Default_Ignorable_Code_Point}\p{Cc}]|\ufeff/gu

/** White space of any width. */
const spaces = /\s+/g

/**
 * The comparison text (see `textOf`) of an operand in which white space counts, such as an operand of `contains`. White
 * space at the ends becomes one space.
 */
export const innerTextOf = (text: string): string =>
  hasMore.test(text)
    ? text.replace(invisible, "").replace(spaces, " ").toLowerCase().normalize("NFC")
    : text.toLowerCase()

/**
 * The comparison text of a scalar: lowercase by the rules of Unicode, independent of the process's locale. Invisible
 * characters and white space at the ends are removed, other white space becomes one space, and accents are composed
 * (NFC).
 */
export const textOf = (value: string | number | boolean): string =>
  typeof value === "string" ? innerTextOf(value).trim() : String(value).toLowerCase()

const nameFault = "the name must be well-formed Unicode without control characters"
const unstorable = "must be well-formed Unicode without NUL"

/**
 * Whether PostgreSQL can store a text: it has no NUL and no lone surrogate. Attributes become segments, and a segment
 * that cannot be stored would make its whole group commit fail.
 */
export const isStorable = (text: string) => text.isWellFormed() && !text.includes("\u0000")

const isName = (name: string) => name.isWellFormed() && !hasControl(name)

const segment = (name: string) => `/${JsonPointer.escapeToken(name.toWellFormed())}`

/**
 * The reason why a value other than `null` cannot be an attribute or an element of one. Undefined for a valid value.
 */
const faultOf = (value: unknown, expected: string): string | undefined => {
  switch (typeof value) {
    case "string":
      if (value.length > maxCharacters) return "must have at most 1,000 characters"
      return isStorable(value) ? undefined : unstorable
    case "number":
      return Number.isFinite(value) ? undefined : "must be a finite number"
    case "boolean":
      return undefined
    default:
      return `must be ${expected}`
  }
}

const isScalar = (value: unknown): value is string | number | boolean =>
  typeof value === "string"
    ? value.length <= maxCharacters && isStorable(value)
    : typeof value === "number"
    ? Number.isFinite(value)
    : typeof value === "boolean"

const charactersOf = (elements: ReadonlyArray<unknown>): number =>
  elements.reduce((sum: number, element) => typeof element === "string" ? sum + element.length : sum, 0)

/** Lists every fault of `attrs`, in the order of its members. Called only for `attrs` with a fault. */
const explain = (input: object): ReadonlyArray<AttributeFault> => {
  const faults: Array<AttributeFault> = []
  const entries = Object.entries(input)
  if (entries.length > maxAttributes) faults.push({ pointer: "", detail: "must have at most 1,000 attributes" })
  for (const [name, value] of entries.slice(0, maxAttributes)) {
    if (!isName(name)) faults.push({ pointer: segment(name), detail: nameFault })
    if (value === null) continue
    if (!Array.isArray(value)) {
      const detail = faultOf(value, "a string, a number, a boolean, or an array of them")
      if (detail !== undefined) faults.push({ pointer: segment(name), detail })
    } else if (value.length > maxElements) {
      faults.push({ pointer: segment(name), detail: "must have at most 1,000 elements" })
    } else {
      if (charactersOf(value) > maxListCharacters) {
        faults.push({ pointer: segment(name), detail: "must have at most 20,000 characters in all elements together" })
      }
      for (let i = 0; i < value.length && faults.length < maxFaults; i++) {
        const detail = value[i] === null ? undefined : faultOf(value[i], "a string, a number or a boolean")
        if (detail !== undefined) faults.push({ pointer: `${segment(name)}/${i}`, detail })
      }
    }
    if (faults.length >= maxFaults) break
  }
  return faults.slice(0, maxFaults)
}

/**
 * Normalizes a request's `attrs`. A value is a string, a finite number, a boolean, or an array of these. Each becomes
 * lowercase text (`true` is `"true"`, `1.50` is `"1.5"`). An attribute that is `null` or an empty array is absent, and
 * so is a `null` element. An empty string is an ordinary value. Without `attrs` (`undefined`), the result is empty.
 *
 * Fails with all faults, up to 100: not an object, over 1,000 attributes, over 1,000 elements or 20,000 characters in
 * an array, a nested object or array, a number out of range, a text of over 1,000 characters, or one that cannot be
 * stored (NUL, a lone surrogate). Longer texts are refused, because a cut text could match another audience. Only own
 * members of parsed JSON count, and `__proto__` is an ordinary name.
 */
export const parse = (input: unknown): Result.Result<Attributes, ReadonlyArray<AttributeFault>> => {
  if (input === undefined) return Result.succeed(empty)
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return Result.fail([{ pointer: "", detail: "must be an object" }])
  }
  const names = Object.keys(input)
  if (names.length === 0) return Result.succeed(empty)
  if (names.length > maxAttributes) return Result.fail(explain(input))
  const record = input as { readonly [name: string]: unknown }
  const attributes = new Map<string, ReadonlyArray<string>>()
  for (const name of names) {
    if (!isName(name)) return Result.fail(explain(input))
    const value = record[name]
    if (value === null) continue
    if (isScalar(value)) {
      attributes.set(name, [textOf(value)])
    } else if (Array.isArray(value) && value.length <= maxElements) {
      const values: Array<string> = []
      let characters = 0
      for (const element of value) {
        if (element === null) continue
        if (!isScalar(element)) return Result.fail(explain(input))
        if (typeof element === "string") characters += element.length
        values.push(textOf(element))
      }
      if (characters > maxListCharacters) return Result.fail(explain(input))
      if (values.length > 0) attributes.set(name, values)
    } else {
      return Result.fail(explain(input))
    }
  }
  return Result.succeed(attributes)
}
