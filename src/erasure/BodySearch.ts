import { Buffer } from "node:buffer"
import type { Names } from "./Names.ts"

// Finds names in stored bodies of any format: JSON, forms, text, and nested combinations. Addresses are found in any
// case, within `Name <a@b>`, JSON-escaped (`\u0040`, `\/`) and percent-encoded, once or repeatedly. Ids are found as
// whole JSON strings, as JSON numbers, and as values of parameters.

/** Size of a part of a body that is searched at once. Unit: bytes. */
export const partBytes = 64 * 1024

/**
 * Number of bytes at the end of a part with which the next part begins: more than the length of a name in any encoding.
 */
export const overlapBytes = 8 * 1024

/** Position of a part within its body. A name that may be cut off is found in the part that contains it completely. */
interface Part {
  readonly isFirst: boolean
  readonly isLast: boolean
}

/** Precedes a letter that may belong to an escape, such as the `n` of `\n`. */
const mark = "\u0001"

const utf8AsBytes = (text: string) => Buffer.from(text, "utf8").toString("latin1")

const codeOf = (hex: string) => String.fromCharCode(Number.parseInt(hex, 16))

/** Resolves the escapes of JSON, including JSON inside JSON strings. Every character is a byte. */
const withoutEscapes = (text: string): string =>
  text.includes("\\")
    ? text
      // First, so that no other pattern must scan a sequence of backslashes repeatedly.
      .replace(/\\{2,}/g, "\\")
      .replace(/\\u00([0-7][0-9a-f])/gi, (_, hex: string) => codeOf(hex))
      .replace(/(?:\\u[0-9a-f]{4})+/gi, (run) =>
        utf8AsBytes(Array.from({ length: run.length / 6 }, (_, i) => codeOf(run.slice(6 * i + 2, 6 * i + 6))).join("")))
      .replace(/\\([nrtbf])/g, `${mark}$1`)
      .replaceAll("\\", "")
    : text

/** Resolves percent-encoding that was applied once or repeatedly. Every character is a byte. */
const withoutPercents = (text: string): string =>
  text.includes("%") ? text.replace(/%(?:25)*([0-9a-f]{2})/gi, (_, hex: string) => codeOf(hex)) : text

/** The text of a part without any encoding. */
const plain = (bytes: Uint8Array): string => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1")
  // JSON in a form is encoded, and text in JSON can be encoded too.
  return Buffer.from(withoutEscapes(withoutPercents(withoutEscapes(text))), "latin1").toString("utf8")
}

const isDomainCode = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (code >= 0x30 && code <= 0x39) || code === 0x2d ||
  code === 0x2e || code >= 0x80

/**
 * Characters that end the part before the `@`: white space, control characters, quotes, brackets and `,` `:` `;` `@`.
 */
const localEnds = new Set(Array.from('"()<>[],:;@\\', (character) => character.charCodeAt(0)))
const isLocalCode = (code: number): boolean => code > 0x20 && code !== 0x7f && !localEnds.has(code)

/** Characters that an address may contain, and that can also precede one: `email=ann@example.com`. */
const boundaries = new Set("=&+/?|'*!{}^~#$%`")

const longestName = 320

/** The addresses by domain: lengths of the parts before the `@`. */
type Domains = ReadonlyMap<string, ReadonlySet<number>>

const domainsOf = (names: Names): Domains => {
  const domains = new Map<string, Set<number>>()
  for (const address of names.addresses()) {
    const at = address.lastIndexOf("@")
    const key = `#${address.slice(at + 1)}`
    const lengths = domains.get(key)
    if (lengths === undefined) domains.set(key, new Set([at]))
    else lengths.add(at)
  }
  return domains
}

/** Whether `run`, the text before an `@`, ends with the local part of an address: as a whole or after a boundary. */
const endsInName = (
  run: string,
  isMarked: boolean,
  lengths: ReadonlySet<number>,
  isName: (local: string) => boolean,
) => {
  for (const length of lengths) {
    const from = run.length - length
    if (from < 0 || (from > 0 && !boundaries.has(run[from - 1]!) && !(isMarked && from === 1))) continue
    if (isName(run.slice(from))) return true
  }
  return false
}

const hasAddress = (text: string, { isFirst, isLast }: Part, names: Names, domains: Domains): boolean => {
  for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    let end = at + 1
    while (end < text.length && end - at <= longestName && isDomainCode(text.charCodeAt(end))) end++
    if (end === text.length && !isLast) continue
    let last = end
    // Removes the punctuation at the end of a sentence.
    while (last > at + 1 && (text[last - 1] === "." || text[last - 1] === "-")) last--
    const domain = text.slice(at + 1, last).toLowerCase()
    const lengths = domains.get(`#${domain}`)
    if (lengths === undefined) continue
    let start = at
    while (start > 0 && at - start < longestName && isLocalCode(text.charCodeAt(start - 1))) start--
    if (start === 0 && !isFirst) continue
    const run = text.slice(start, at).toLowerCase()
    const isName = (local: string) => names.hasAddress(`${local}@${domain}`)
    if (endsInName(run, text[start - 1] === mark, lengths, isName)) return true
  }
  return false
}

/** Maximum length of an identifier. Unit: UTF-16 code units. */
const longestId = 200

const hasQuoted = (text: string, { isFirst, isLast }: Part, names: Names): boolean => {
  const quoted = text.split('"')
  for (let i = isFirst ? 0 : 1; i < quoted.length - (isLast ? 0 : 1); i++) {
    const one = quoted[i]!
    if (one.length > 0 && one.length <= longestId && names.has(one)) return true
  }
  return false
}

const hasMatch = (text: string, pattern: RegExp, names: Names): boolean => {
  for (const [, value] of text.matchAll(pattern)) if (names.has(value!)) return true
  return false
}

/** A search for names. */
export interface BodySearch {
  /** Whether a part of a body contains one of the names. The time is proportional to its length, for any content. */
  readonly isIn: (bytes: Uint8Array, part: Part) => boolean
}

/** Prepares a search. */
export const makeBodySearch = (names: Names): BodySearch => {
  const domains = domainsOf(names)
  const ids = names.ids()
  const hasNumbers = ids.some((id) => /^\d+$/.test(id))
  // A short id, or a number, is the value of many parameters that are unrelated to a user.
  const hasWords = ids.some((id) => id.length >= 4 && !/^\d+$/.test(id))
  const awkward = ids.filter((id) => /["\\%]/.test(id))
  return {
    isIn: (bytes, part) => {
      const text = plain(bytes)
      if (domains.size > 0 && hasAddress(text, part, names, domains)) return true
      if (hasQuoted(text, part, names)) return true
      if (hasNumbers && hasMatch(text, /:\s{0,8}(\d{1,200})(?=[\s,}\]])/g, names)) return true
      if (hasWords && hasMatch(text, /=([^&\s"<>#;,=\d][^&\s"<>#;,=]{3,199})(?=[&\s"<>#;,]|$)/g, names)) return true
      return awkward.length > 0 && hasAwkward(bytes, awkward)
    },
  }
}

/** Searches ids with quotes, backslashes or percent signs in their JSON form. */
const hasAwkward = (bytes: Uint8Array, ids: ReadonlyArray<string>): boolean => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return ids.some((id) => text.includes(JSON.stringify(id)) || text.includes(`"${id}"`))
}
