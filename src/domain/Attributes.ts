import { JsonPointer, Result } from "effect"
import { hasControl } from "./ControlNames.ts"

/**
 * Attributes of an end user in a request, for targeting and learning: lowercase values by attribute name. Names are
 * kept as sent, including case. Every attribute in the map has at least one value.
 */
export type Attributes = ReadonlyMap<string, ReadonlyArray<string>>

/** One reason why `attrs` were refused. */
export interface AttributeFault {
  /** JSON pointer (RFC 6901) relative to `attrs`, such as `/tier/0`; empty for `attrs` itself. */
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

/** Most faults reported of one request, so that a small hostile body cannot ask for an answer many times its size. */
export const maxFaults = 100

/** The attributes of a request without `attrs`. */
export const empty: Attributes = new Map()

/** Texts that people see as they are written: printable ASCII with single spaces between its words. */
const hasMore = /[^ -~]| {2}/

/** Invisible characters and controls. Tags stay, which make the flags of some countries. */
const invisible = /(?![\s\u{e0020}-\u{e007f}])[\p{Default_Ignorable_Code_Point}\p{Cc}]|\ufeff/gu

/** White space of any width, which people cannot tell from a space. */
const spaces = /\s+/g

/**
 * The comparison text of a text within which white space counts, such as an operand of `contains`: see `textOf`. White space
 * around it becomes one space.
 */
export const innerTextOf = (text: string): string =>
  hasMore.test(text)
    ? text.replace(invisible, "").replace(spaces, " ").toLowerCase().normalize("NFC")
    : text.toLowerCase()

/**
 * The comparison text of a scalar: lowercase by the rules of Unicode, independent of the process's locale, and without what
 * nobody can see. White space around it and invisible characters are left out, other white space is one space, and accents are
 * composed (NFC).
 */
export const textOf = (value: string | number | boolean): string =>
  typeof value === "string" ? innerTextOf(value).trim() : String(value).toLowerCase()

const nameFault = "the name must be well-formed Unicode without control characters"
const unstorable = "must be well-formed Unicode without NUL"

/**
 * Whether Postgres can store a text: it has no NUL and no lone surrogate. Attributes become segments, and one that
 * cannot be stored would sink the whole group commit it takes part in.
 */
export const isStorable = (text: string) => text.isWellFormed() && !text.includes("\u0000")

const isName = (name: string) => name.isWellFormed() && !hasControl(name)

const segment = (name: string) => `/${JsonPointer.escapeToken(name.toWellFormed())}`

/** The reason why a value other than `null` cannot be (an element of) an attribute, if there is one. */
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

/** Every fault of `attrs`, in the order of its members. Run only once something is known to be wrong. */
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
 * Normalises a request's `attrs`. A value is a string, a finite number, a boolean, or an array of these; each becomes
 * lowercase text (`true` is `"true"`, `1.50` is `"1.5"`). Absent, as if it had not been sent, is an attribute that is
 * `null`, an array without elements, and a `null` element; an empty string is a value like any other. `undefined`
 * (no `attrs`) gives no attributes.
 *
 * Fails with all faults, up to 100: not an object, over 1,000 attributes, over 1,000 elements or 20,000 characters in an
 * array, a nested object or array, a number out of range, a text of over 1,000 characters, or one that cannot be stored
 * (NUL, a lone surrogate). Longer texts are refused rather than cut: a cut text could match another audience. Values are read from
 * parsed JSON: only own members count, and names such as `__proto__` are names like any other.
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
