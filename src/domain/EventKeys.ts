import { isStorable } from "./Attributes.ts"
import { sha256 } from "../text/Sha256.ts"

// Names and keys of people, messages and events on platforms.

type Item = Readonly<Record<string, unknown>>

/** Maximum number of characters of an id, of a name and of a user id. */
export const maxName = 200

/** Maximum number of characters of a message key (`NormalizedEvent.messageKey`). */
const maxMessageKey = 400

/** Whether a text has a character other than white space. */
const isWritten = (text: string): boolean => {
  const first = text.charCodeAt(0)
  return (first > 0x20 && first < 0x7f) || text.trim() !== ""
}

/** Returns a text or a finite number as text; undefined for other values and blank texts. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === "string"
    ? isWritten(value) ? value : undefined
    : typeof value === "number" && Number.isFinite(value)
    ? String(value)
    : undefined

/** Whether text has no control character and no half of a surrogate pair. */
const isPlain = (text: string): boolean => {
  let hasSurrogate = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x20 || code === 0x7f) return false
    if ((code & 0xf800) === 0xd800) hasSurrogate = true
  }
  return !hasSurrogate || text.isWellFormed()
}

/**
 * Returns a text or number that can be an id or a name, as text: 1 to 200 characters, not blank, without control
 * characters and half surrogate pairs. Undefined for other values. `domain/Ids.ts` has the rules for the ids of
 * requests.
 */
export const nameOf = (value: unknown): string | undefined => {
  // The length comes first: a text of megabytes is not even trimmed.
  if (typeof value === "string" && value.length > maxName) return undefined
  const text = textOf(value)
  return text === undefined || !isPlain(text) ? undefined : text
}

interface Frame {
  readonly values: Item | ReadonlyArray<unknown>
  /** The object's sorted names; undefined for an array. */
  readonly names: ReadonlyArray<string> | undefined
  readonly length: number
  next: number
}

const frameOf = (values: object): Frame => {
  if (Array.isArray(values)) return { values, names: undefined, length: values.length, next: 0 }
  const names = Object.keys(values).sort()
  return { values: values as Item, names, length: names.length, next: 0 }
}

const scalarJson = (value: unknown): string =>
  typeof value === "string"
    ? JSON.stringify(value)
    : typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))
    ? String(value)
    : "null"

/** Number of levels of an object that are checked for sorted names. A deeper object takes the slow way. */
const comparedLevels = 4

/** Whether `JSON.stringify` returns the canonical form of a value: names are in order, and nothing is undefined. */
const isCanonical = (value: unknown, levels: number): boolean => {
  if (typeof value !== "object" || value === null) return value !== undefined
  if (levels === 0) return false
  if (Array.isArray(value)) return value.every((element) => isCanonical(element, levels - 1))
  let last = ""
  for (const name of Object.keys(value)) {
    if (name < last || !isCanonical((value as Item)[name], levels - 1)) return false
    last = name
  }
  return true
}

/**
 * Returns the JSON of an object without spaces, with the names sorted at every level and null for undefined. An object
 * with sorted names and without undefined values takes a third of the time.
 */
export const canonicalJson = (item: Item): string =>
  isCanonical(item, comparedLevels) ? JSON.stringify(item) : sortedJson(item)

/** Not recursive, because parsed JSON can be nested to any depth. */
const sortedJson = (item: Item): string => {
  const open: Array<Frame> = []
  let frame: Frame | undefined = frameOf(item)
  let json = "{"
  while (frame !== undefined) {
    const { names, next, values }: Frame = frame
    if (next === frame.length) {
      json += names === undefined ? "]" : "}"
      frame = open.pop()
      continue
    }
    if (next > 0) json += ","
    frame.next = next + 1
    let value: unknown
    if (names === undefined) {
      value = (values as ReadonlyArray<unknown>)[next]
    } else {
      json += `${JSON.stringify(names[next]!)}:`
      value = (values as Item)[names[next]!]
    }
    if (typeof value === "object" && value !== null) {
      json += Array.isArray(value) ? "[" : "{"
      open.push(frame)
      frame = frameOf(value)
    } else {
      json += scalarJson(value)
    }
  }
  return json
}

/** Returns `digest:` and the SHA-256 (base64url) of an object's content, independent of the order of its members. */
export const digestKey = (content: Item): string => `digest:${sha256(canonicalJson(content))}`

/**
 * Returns the same key as `digestKey` in half the time. The names of `content` must be sorted at every level, and no
 * value may be undefined.
 */
export const digestKeyOfSorted = (content: Item): string => `digest:${sha256(JSON.stringify(content))}`

/** Whether an id of a source can be the key of an event: at most 200 characters that can be stored. */
export const isEventId = (id: string): boolean => id.length <= maxName && isStorable(id)

/**
 * Returns the `key` of an event: `id:` and the source's id of the event; without an id, or with one that cannot be a
 * key (see `isEventId`), the digest of `content`. `content` is the whole item, or the members that distinguish it from
 * other items of its source.
 */
export const keyOf = (content: Item, id: string | undefined): string =>
  id !== undefined && isEventId(id) ? `id:${id}` : digestKey(content)

/**
 * Returns the `messageKey` of an event from the parts that identify its message and its recipient: a single part
 * unchanged, several parts as a JSON array, so that different lists have different keys. A key above 400 characters, or
 * one that cannot be stored, becomes a digest. Undefined if a part is missing.
 */
export const messageKeyOf = (...parts: ReadonlyArray<string | undefined>): string | undefined => {
  if (parts.length === 0 || parts.includes(undefined)) return undefined
  const key = parts.length === 1 ? parts[0]! : JSON.stringify(parts)
  return key.length <= maxMessageKey && isStorable(key) ? key : digestKey({ parts })
}

/**
 * Returns the `messageKey` of a message that a sender of e-mail accepted: its id of the message, with or without angle
 * brackets, and the recipient in any case. Undefined if one of them is missing.
 */
export const messageKeyOfRecipient = (messageId: unknown, recipient: string | undefined): string | undefined =>
  messageKeyOf(nameOf(withoutBrackets(messageId)), recipient?.toLowerCase())

/** Returns a message id without the angle brackets around it. Other values stay as they are. */
export const withoutBrackets = (messageId: unknown): unknown =>
  typeof messageId === "string" && messageId.startsWith("<") && messageId.endsWith(">")
    ? messageId.slice(1, -1)
    : messageId
