import { Buffer, isUtf8 } from "node:buffer"

// Names the encoding that bytes look like if they are not UTF-8, so that their author knows what to change.

/** Why bytes cannot be read as text. */
export interface EncodingFault {
  /** Position of the first byte that is not UTF-8. Begins at 1. */
  readonly line: number
  /** Begins at 1. Unit: UTF-16 code units. */
  readonly column: number
  /** The encoding that fits the bytes, such as `Windows-1252`. Undefined if no known encoding fits. */
  readonly looksLike: string | undefined
}

/** Maximum number of bytes that the guess reads. */
const sampleBytes = 65_536

/** Beginnings of files that are not text, or are text in another Unicode encoding. */
const beginnings: ReadonlyArray<readonly [name: string, bytes: ReadonlyArray<number>]> = [
  ["UTF-32", [0xff, 0xfe, 0x00, 0x00]],
  ["UTF-32", [0x00, 0x00, 0xfe, 0xff]],
  ["UTF-16 LE", [0xff, 0xfe]],
  ["UTF-16 BE", [0xfe, 0xff]],
  ["an Excel workbook or a ZIP archive", [0x50, 0x4b, 0x03, 0x04]],
  ["an old Excel or Word document", [0xd0, 0xcf, 0x11, 0xe0]],
  ["gzip", [0x1f, 0x8b]],
  ["a PDF document", [0x25, 0x50, 0x44, 0x46, 0x2d]],
]

const startsWith = (bytes: Uint8Array, beginning: ReadonlyArray<number>): boolean =>
  beginning.every((byte, index) => bytes[index] === byte)

/**
 * Returns `UTF-16 LE` or `UTF-16 BE` for text without a byte order mark: at least `share` of its bytes are NUL, on one
 * side of each pair.
 */
const utf16Of = (bytes: Uint8Array, share: number): string | undefined => {
  const sample = bytes.subarray(0, 4_096)
  let even = 0
  let odd = 0
  for (let at = 0; at < sample.length; at++) if (sample[at] === 0) at % 2 === 0 ? even++ : odd++
  const nul = even + odd
  if (nul === 0 || nul < sample.length * share || nul > sample.length * 0.6) return undefined
  return odd > 9 * even ? "UTF-16 LE" : even > 9 * odd ? "UTF-16 BE" : undefined
}

/** Number of bytes that are checked at once. */
const chunkBytes = 4_096

/** Returns the start of the character that the byte at `at` continues. */
const startOf = (bytes: Uint8Array, at: number): number => {
  let start = at
  while (start > 0 && at - start < 3 && (bytes[start]! & 0xc0) === 0x80) start--
  return start
}

const lengthOf = (first: number): number => first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4

/** Returns the index of the first character that is not UTF-8, in bytes that are not UTF-8. */
const firstBadByte = (bytes: Uint8Array): number => {
  let at = 0
  while (at < bytes.length) {
    const end = at + chunkBytes < bytes.length ? startOf(bytes, at + chunkBytes) : bytes.length
    if (!isUtf8(bytes.subarray(at, end))) break
    at = end
  }
  while (at < bytes.length) {
    const end = at + lengthOf(bytes[at]!)
    if (!isUtf8(bytes.subarray(at, end))) break
    at = end
  }
  return at
}

/** Signs alone, next to a space or a digit. */
const aloneSigns = /^[“”‘’„‚‹›«»–—…•€£¥¢©®™°§¶·×÷½¼¾²³¹ºª¿¡†\u00a0]$/u
/** Signs between two letters. */
const innerSigns = /^[’'‘·–—\u00a0]$/u

const isLetter = (text: string | undefined): boolean => text !== undefined && /^\p{L}$/u.test(text)
const isUpper = (text: string): boolean => /^\p{Lu}$/u.test(text)
const isLower = (text: string | undefined): boolean => text !== undefined && /^\p{Ll}$/u.test(text)

/** Whether a character other than ASCII is where texts have it. */
const isPlausible = (before: string | undefined, character: string, after: string | undefined): boolean => {
  const isInner = isLetter(before) && isLetter(after)
  if (!isLetter(character)) return (isInner ? innerSigns : aloneSigns).test(character)
  if (isUpper(character)) {
    return !isLower(before) && !(isLetter(before) && isLower(after)) &&
      (isLetter(after) || isLetter(before) || /^[ÀÁÉÈÊÓÍÖÄÜÅÆØ]$/.test(character))
  }
  return isLetter(before) || isLetter(after) || /^[àáéèìíòóùúýøåæçñß]$/.test(character)
}

/** Share of the characters other than ASCII that are where texts have them. */
const plausibility = (text: string): number => {
  const characters = [...text]
  let all = 0
  let plausible = 0
  for (const [index, character] of characters.entries()) {
    if (character < "\u0080") continue
    all++
    if (isPlausible(characters[index - 1], character, characters[index + 1])) plausible++
  }
  return all === 0 ? 0 : plausible / all
}

/** Share of the characters other than ASCII that match `pattern`. */
const shareOf = (text: string, pattern: RegExp): number => {
  const characters = text.match(/[^\0-\u007f]/gu) ?? []
  return characters.length === 0 ? 0 : characters.filter((one) => pattern.test(one)).length / characters.length
}

/** Decodes bytes, or returns undefined if they are not valid in this encoding or contain control characters. */
const decoded = (bytes: Uint8Array, label: string): string | undefined => {
  try {
    const text = new TextDecoder(label, { fatal: true }).decode(bytes)
    return /[\u0080-\u009f\ufffd\p{Co}]/u.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

/** Encodings of scripts other than Latin, with the share of characters that shows them. */
const otherScripts: ReadonlyArray<readonly [name: string, label: string, pattern: RegExp, share: number]> = [
  ["Shift-JIS", "shift_jis", /^[\u3041-\u30ff]$/u, 0.2],
  ["EUC-JP", "euc-jp", /^[\u3041-\u30ff]$/u, 0.2],
  ["EUC-KR", "euc-kr", /^[\uac00-\ud7a3]$/u, 0.9],
  ["Windows-1251", "windows-1251", /^[а-яё]$/u, 0.6],
  ["KOI8-R", "koi8-r", /^[а-яё]$/u, 0.6],
  ["GBK", "gbk", /^[\u4e00-\u9fff\u3000-\u301f\uff00-\uffef]$/u, 0.95],
  ["Shift-JIS", "shift_jis", /^[\u4e00-\u9fff\u3000-\u30ff\uff00-\uff60]$/u, 0.95],
  ["Big5", "big5", /^[\u4e00-\u9fff\u3000-\u301f\uff00-\uffef]$/u, 0.95],
]

const latin: ReadonlyArray<readonly [name: string, label: string]> = [
  ["Windows-1252", "windows-1252"],
  ["Mac Roman", "macintosh"],
  ["Windows-1250", "windows-1250"],
]

/**
 * Whether most letters are not ASCII, as in Cyrillic or Chinese. Latin words with accents have more letters of ASCII.
 */
const isOtherScript = (bytes: Uint8Array): boolean => {
  const words = Buffer.from(bytes).toString("latin1").match(/[a-z]*[\u0080-\u00ff][a-z\u0080-\u00ff]*/gi) ?? []
  const letters = words.join("")
  const others = letters.replace(/[a-z]/gi, "").length
  return others > 2 && others > 0.55 * letters.length
}

const guess = (bytes: Uint8Array): string | undefined => {
  if (isOtherScript(bytes)) {
    const isDouble = bytes.every((byte) => byte < 0x80 || byte > 0xa0)
    for (const [name, label, pattern, share] of otherScripts) {
      const text = label === "euc-kr" && !isDouble ? undefined : decoded(bytes, label)
      if (text === undefined || shareOf(text, pattern) < share) continue
      // In Cyrillic, capitals inside of words show the wrong encoding.
      if (!/^(?:windows|koi8)/.test(label) || plausibility(text) >= 0.9) return name
    }
  }
  const best = latin.map(([name, label]) => [name, plausibility(decoded(bytes, label) ?? "")] as const)
    .reduce((best, one) => one[1] > best[1] ? one : best)
  return best[1] >= 0.7 ? best[0] : undefined
}

/** Returns the lines of `bytes` from the one that contains `at`, up to the size of a sample. */
const sampleAt = (bytes: Uint8Array, at: number): Uint8Array => {
  const start = bytes.lastIndexOf(0x0a, at) + 1
  const sample = bytes.subarray(Math.max(start, at - 1_024), at + sampleBytes)
  // A character at the end may be cut.
  const end = sample.lastIndexOf(0x0a)
  return sample.length < sampleBytes || end < 0 ? sample : sample.subarray(0, end)
}

const utf8 = new TextDecoder()

/** Returns the line and the column of a byte. */
const positionOf = (bytes: Uint8Array, at: number): { readonly line: number; readonly column: number } => {
  let line = 1
  let start = 0
  for (let index = 0; index < at; index++) {
    if (bytes[index] === 0x0a || (bytes[index] === 0x0d && bytes[index + 1] !== 0x0a)) {
      line++
      start = index + 1
    }
  }
  return { line, column: utf8.decode(bytes.subarray(start, at)).length + 1 }
}

/** Whether the bytes from `at` are the beginning of a character whose end is missing. */
const isCut = (bytes: Uint8Array, at: number): boolean =>
  at + lengthOf(bytes[at]!) > bytes.length && bytes[at]! >= 0xc2 &&
  bytes.subarray(at + 1).every((byte) => (byte & 0xc0) === 0x80)

/**
 * Returns why bytes are not text in UTF-8, or undefined for UTF-8. UTF-16 of ASCII text is valid UTF-8 with NUL
 * characters, and is a fault nevertheless.
 */
export const encodingFault = (bytes: Uint8Array): EncodingFault | undefined => {
  const beginning = beginnings.find(([, beginning]) => startsWith(bytes, beginning))?.[0]
  const isValid = isUtf8(bytes)
  const unicode = beginning ?? utf16Of(bytes, isValid ? 0.35 : 0)
  if (unicode !== undefined) return { line: 1, column: 1, looksLike: unicode }
  if (isValid) return undefined
  const at = firstBadByte(bytes)
  const hasUtf8 = bytes.subarray(0, at).some((byte) => byte >= 0x80)
  const looksLike = hasUtf8 && isCut(bytes, at) ? "UTF-8 whose end is missing" : guess(sampleAt(bytes, at))
  return { ...positionOf(bytes, at), looksLike }
}

/** Returns what the bytes look like in words, such as `: it looks like Windows-1252`. Empty if that is unknown. */
export const guessText = ({ looksLike }: Pick<EncodingFault, "looksLike">): string =>
  looksLike === undefined ? "" : `: it looks like ${looksLike}`

/** Returns the fault of a request's body that is not UTF-8, or undefined for UTF-8. */
export const bodyEncodingFault = (bytes: Uint8Array): string | undefined => {
  const fault = encodingFault(bytes)
  return fault === undefined ? undefined : "The body is not valid UTF-8 " +
    `at line ${fault.line}, column ${fault.column}${guessText(fault)}. Send it as UTF-8`
}
