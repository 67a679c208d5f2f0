import type { Zone } from "../domain/ZoneNames.ts"
import { readNumber } from "../text/DecimalText.ts"
import type { ReadValue } from "../text/ReadValue.ts"
import type { Decimal } from "./Decimals.ts"
import * as Decimals from "./Decimals.ts"
import { LimitReached } from "./LimitReached.ts"
import * as Limits from "./Limits.ts"
import type { Run } from "./Run.ts"

/** The literals `empty` and `blank`: they have a meaning only in comparisons, and no text. */
export class Emptiness {
  constructor(readonly blank: boolean) {}

  matches(value: unknown, run: Run): boolean {
    if (value instanceof Emptiness) return false
    if (typeof value === "string") {
      if (!this.blank) return value === ""
      run.scan(value.length)
      return value.trim() === ""
    }
    if (Array.isArray(value)) return value.length === 0
    if (this.blank && (value === undefined || value === null || value === false)) return true
    return isRecord(value) && keys(value, run).length === 0
  }
}
/** The literal `empty`: equals an empty text, list or object. */
export const empty = new Emptiness(false)
/** The literal `blank`: equals every empty value, nothing, `false` and white space. */
export const blank = new Emptiness(true)

/**
 * A text with more information than its characters. Filters and comparisons see only `text`, unless they declare
 * `rich`.
 */
abstract class RichText {
  constructor(readonly text: string) {}
}

/** Text that contains HTML of the template's author. `html` is this text with all data in it escaped. */
export class Markup extends RichText {
  constructor(text: string, readonly html: string) {
    super(text)
  }
}

/** A date with the time zone that the filter `time_zone` has set for it. */
export class ZonedTime extends RichText {
  /** `millis` is in Unix milliseconds, `nanos` the nanoseconds after it. */
  constructor(text: string, readonly millis: number, readonly nanos: number, readonly zone: Zone) {
    super(text)
  }
}

/** The plain text of a `RichText`. Other values are returned unchanged. */
export const plain = (value: unknown): unknown => value instanceof RichText ? value.text : value

/** The objects `forloop` and `tablerowloop`. */
export class Loop {
  index = 0
  constructor(readonly length: number, readonly columns: number | undefined) {}

  get(key: PropertyKey): unknown {
    switch (key) {
      case "index":
        return this.index + 1
      case "index0":
        return this.index
      case "rindex":
        return this.length - this.index
      case "rindex0":
        return this.length - this.index - 1
      case "first":
        return this.index === 0
      case "last":
        return this.index === this.length - 1
      case "length":
        return this.length
    }
    if (this.columns === undefined) return undefined
    const column = this.index % this.columns
    switch (key) {
      case "row":
        return Math.floor(this.index / this.columns) + 1
      case "col":
        return column + 1
      case "col0":
        return column
      case "col_first":
        return column === 0
      case "col_last":
        return column + 1 === this.columns
    }
    return undefined
  }
}

/** Whether a value is an object of the data, and not an array or an object of the evaluator. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Emptiness) &&
  !(value instanceof Loop) && !(value instanceof RichText)

const keys = (value: Record<string, unknown>, run: Run): ReadonlyArray<string> => {
  const own = Object.keys(value)
  run.spend(8 * own.length)
  return own
}

/** Whether a value is nothing in Liquid: null or undefined. */
export const isNothing = (value: unknown): value is undefined | null => value === undefined || value === null

/** In Liquid, every value is true except `false` and nothing: also 0, the empty text and the empty list. */
export const isTrue = (value: unknown): boolean => value !== false && value !== undefined && value !== null

const tooDeep = () => new LimitReached(`has data nested deeper than ${Limits.nesting} levels`)

/**
 * Returns the text of a value: nothing and non-finite numbers are empty, an array is the concatenation of its elements,
 * an object is its JSON. A list can contain another list many times, so that a short list can have a huge text. So
 * every element is charged.
 */
export const text = (value: unknown, run: Run, depth = 0): string => {
  switch (typeof value) {
    case "string":
      return value
    case "number":
      return Number.isFinite(value) ? Decimals.write(value) : ""
    case "boolean":
      return value ? "true" : "false"
    case "object": {
      if (value instanceof RichText) return value.text
      if (Array.isArray(value)) {
        if (depth === Limits.nesting) throw tooDeep()
        let whole = ""
        for (const element of value) {
          const part = text(element, run, depth + 1)
          run.spend(2)
          run.scan(part.length)
          run.room(whole.length + part.length)
          whole += part
        }
        return whole
      }
      return isRecord(value) ? json(value, run) : ""
    }
    default:
      return ""
  }
}

const requireShallow = (value: unknown, run: Run, depth: number): void => {
  run.spend(2)
  if (typeof value !== "object" || value === null) return
  if (depth === Limits.nesting) throw tooDeep()
  if (Array.isArray(value)) {
    for (const element of value) requireShallow(element, run, depth + 1)
    return
  }
  const record = value as Record<string, unknown>
  // The names alone come first: in a large object, which is a hash table, reading the members costs much more.
  const own = keys(record, run)
  run.spend(8 * own.length)
  for (const key of own) requireShallow(record[key], run, depth + 1)
}

/** JSON of any value, indented by `indent` (0 to 10) spaces. Nothing is `null`. */
export const json = (value: unknown, run: Run, indent = 0): string => {
  // Checks depth first, because depth also bounds indentation and the recursion of JSON.stringify.
  requireShallow(value, run, 0)
  let length = 0
  const made = JSON.stringify(
    value,
    (key, member: unknown) => {
      length += key.length + 8 + indent * Limits.nesting + (typeof member === "string" ? member.length : 0)
      run.spend(5)
      run.room(length)
      return member instanceof Emptiness || member instanceof Loop ? null : member
    },
    indent,
  ) ?? "null"
  run.scan(made.length)
  return made
}

/** The first characters of a text in quotes, for a message. */
const quoted = (text: string): string => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)

/**
 * Reads a text as a number. Any other text is `wrong`, and so is any text longer than `Limits.numberLength` or with a
 * number beyond the doubles.
 */
const numberOf = (text: string, run: Run): ReadValue<Decimal> => {
  const shortened = text.length > Limits.numberLength ? "" : text
  // The longest text costs a microsecond, because rounding needs all of its digits.
  run.scan(shortened.length, 5)
  if (isShortNumber(shortened)) return { value: Number(shortened) }
  run.spend(20)
  const written = readNumber(shortened)
  if ("wrong" in written) return { wrong: `${quoted(text)} ${written.wrong}` }
  const value = Decimals.read(written.value)
  return value === undefined ? { wrong: `${quoted(text)} is a number beyond 1.8e308` } : { value }
}

const plainDigits = /^-?\d+(?:\.\d+)?$/

/** Whether a text is a plain number that its double represents exactly. Nearly all numbers in texts are. */
const isShortNumber = (text: string): boolean => text.length <= 15 && plainDigits.test(text)

/**
 * Reads a number: a finite number, a text with a number, 1 for `true`, and 0 for `false` and nothing. Any other value
 * is `wrong`.
 */
export const readDecimal = (value: unknown, run: Run): ReadValue<Decimal> => {
  if (typeof value === "number") {
    return Number.isFinite(value) ? { value } : { wrong: "the value is not a finite number" }
  }
  if (typeof value === "string") return numberOf(value, run)
  if (value === true) return { value: 1 }
  return value === false || isNothing(value)
    ? { value: 0 }
    : { wrong: `${Array.isArray(value) ? "a list" : "the value"} is not a number` }
}

/**
 * Converts to an integer, rounded towards zero, or to `otherwise` for nothing and for values that are not numbers. The
 * latter are recorded with the name of the filter or tag.
 */
export const integer = <A>(value: unknown, run: Run, name: string, otherwise: A): number | A => {
  if (isNothing(value)) return otherwise
  const read = readDecimal(value, run)
  if ("value" in read) return Math.trunc(Decimals.toNumber(read.value))
  run.complain(`${name}: ${read.wrong}`)
  return otherwise
}

/** Whether two values are equal in Liquid. Charges every compared element. */
export const equals = (left: unknown, right: unknown, run: Run, depth = 0): boolean => {
  run.spend(1)
  if (left instanceof Emptiness) return left.matches(right, run)
  if (right instanceof Emptiness) return right.matches(left, run)
  if (isNothing(left)) return isNothing(right)
  if (typeof left === "string" && typeof right === "string") {
    if (left.length !== right.length) return false
    run.scan(left.length, 8)
    return left === right
  }
  if (Array.isArray(left) && Array.isArray(right)) {
    if (left.length !== right.length) return false
    if (depth === Limits.nesting) throw tooDeep()
    return left.every((element, index) => equals(element, right[index], run, depth + 1))
  }
  return left === right
}

/**
 * The number that a value is sorted as: a number, or a text of digits with a point and a sign if it has them. Undefined
 * for any other value.
 */
export const plainDecimal = (value: unknown): Decimal | undefined => {
  if (typeof value === "number") return value
  return typeof value === "string" && value.length <= Limits.numberLength && plainDigits.test(value)
    ? Decimals.read(value)
    : undefined
}

/**
 * Negative, zero or positive if `left` sorts before, with or after `right`. NaN if the two cannot be compared. Two texts
 * are compared by their characters.
 */
export const order = (left: unknown, right: unknown, run: Run): number => {
  run.spend(1)
  if (typeof left === "string" && typeof right === "string") {
    run.scan(Math.min(left.length, right.length), 8)
    return left < right ? -1 : left > right ? 1 : 0
  }
  if (typeof left === "number" && typeof right === "number") return left === right ? 0 : left - right
  if (!isScalar(left) || !isScalar(right)) return NaN
  const first = readDecimal(left, run)
  const second = readDecimal(right, run)
  return "value" in first && "value" in second ? Decimals.compare(first.value, second.value) : NaN
}

const isScalar = (value: unknown): boolean =>
  typeof value === "number" || typeof value === "string" || typeof value === "boolean"

/**
 * Like `order`, but two texts are compared as numbers if both are. Records a text that is compared with a number and is
 * neither a number nor blank.
 */
export const compare = (left: unknown, right: unknown, run: Run): number => {
  if (typeof left === "string" && typeof right === "string") {
    const first = plainDecimal(left)
    const second = first === undefined ? undefined : plainDecimal(right)
    if (first !== undefined && second !== undefined) {
      run.scan(left.length + right.length, 5)
      return Decimals.compare(first, second)
    }
  }
  const ordered = order(left, right, run)
  if (!Number.isNaN(ordered)) return ordered
  const word = typeof left === "number" ? right : typeof right === "number" ? left : undefined
  if (typeof word === "string" && word.trim() !== "") {
    const read = readDecimal(word, run)
    if ("wrong" in read) run.complain(`comparison: ${read.wrong}`)
  }
  return ordered
}

/** Whether the list has an equal element, or the text contains the other text. */
export const contains = (whole: unknown, part: unknown, run: Run): boolean => {
  if (Array.isArray(whole)) return whole.some((element) => equals(element, part, run))
  if (typeof whole !== "string" || isNothing(part)) return false
  const needle = text(part, run)
  run.search(whole.length, needle.length)
  return whole.includes(needle)
}

/**
 * A member of a value: only own properties, plus `size`, `first` and `last` unless the data has such a member.
 * `undefined` if missing.
 */
export const member = (value: unknown, key: unknown, run: Run): unknown => {
  if (typeof key !== "string" && typeof key !== "number") {
    return typeof key === "boolean" ? member(value, String(key), run) : undefined
  }
  if (Array.isArray(value)) {
    if (typeof key === "number") return value.at(key)
    if (key === "size" || key === "length") return value.length
    if (key === "first") return value[0]
    if (key === "last") return value.at(-1)
    return Object.hasOwn(value, key) ? value[Number(key)] : undefined
  }
  if (typeof value === "string") {
    if (key === "size" || key === "length") return value.length
    return typeof key === "number" ? value[key] : undefined
  }
  if (value instanceof Loop) return value.get(key)
  if (!isRecord(value)) return undefined
  if (Object.hasOwn(value, key)) return value[key]
  return key === "size" ? keys(value, run).length : undefined
}

/** Returns the member of an element at a path such as `price.amount`. Without a path, the element itself. */
export const memberAt = (path: unknown, run: Run): (element: unknown) => unknown => {
  if (isNothing(path)) return (element) => element
  const whole = text(path, run)
  run.scan(whole.length, 2)
  const keys = whole.split(".")
  return (element) => {
    run.spend(keys.length)
    return keys.reduce((value: unknown, key) => member(value, key, run), element)
  }
}

/** The values of a loop: a list's elements, an object's `[key, value]` pairs, or a non-empty text once. */
export const elements = (value: unknown, run: Run): ReadonlyArray<unknown> => {
  if (Array.isArray(value)) return value
  if (typeof value === "string") return value === "" ? [] : [value]
  if (!isRecord(value)) return []
  const own = keys(value, run)
  run.spend(8 * own.length)
  return own.map((key) => [key, value[key]])
}

/**
 * Converts a value to a list for list filters: a list is returned unchanged, nothing is an empty list, and any other
 * value is a list of one element.
 */
export const list = (value: unknown, run: Run): ReadonlyArray<unknown> => {
  if (!Array.isArray(value)) return isNothing(value) ? [] : [value]
  run.spend(value.length)
  return value
}

/** The elements of a list, with nested lists flattened. */
export const flat = (parts: ReadonlyArray<unknown>, run: Run, depth = 0): ReadonlyArray<unknown> => {
  if (!parts.some((part) => Array.isArray(part))) return parts
  if (depth === Limits.nesting) throw tooDeep()
  return parts.flatMap((part) => {
    if (!Array.isArray(part)) return [part]
    run.spend(part.length)
    return flat(part, run, depth + 1)
  })
}
