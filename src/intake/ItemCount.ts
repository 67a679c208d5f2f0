import { Effect } from "effect"
import { isUtf8 } from "node:buffer"
import * as Json from "../json/Json.ts"
import { letOthersRun } from "../runtime/letOthersRun.ts"
import { wrapperKeys } from "./CustomEvents.ts"
import type { NotUnderstood } from "../domain/DryRun.ts"
import { bodyEncodingFault } from "../text/Encodings.ts"

// Counts the items of a webhook body for the response. Parsing a body of 8 MiB takes up to a second and would delay all
// other requests. This scan only skips over the bytes, and yields to other requests after each 64 KiB. A request needs
// several turns of the event loop, so a turn must be a small part of its allowed latency.

const utf8 = new TextDecoder()

/** Bytes that are scanned in one turn, in about 2 ms. A number or white space is scanned to its end. */
const turn = 2 ** 16

/** The body is not valid JSON. */
class Fault extends Error {}

const isSpace = (code: number | undefined) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
const isDigit = (code: number | undefined) => code !== undefined && code >= 0x30 && code <= 0x39
const isHex = (code: number | undefined) =>
  code !== undefined && (isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66))

const quote = 0x22
const colon = 0x3a
const backslash = 0x5c
const byteOrderMark = [0xef, 0xbb, 0xbf]
const escapes: ReadonlySet<number> = new Set(Array.from('"\\/bfnrt', (character) => character.charCodeAt(0)))

/** Maximum length of an escaped name of a wrapper, with every character escaped. */
const maxName = 6 * Math.max(...wrapperKeys.map(({ length }) => length)) + 2

const isArray = 0
const isObject = 1

/** The tokens that may follow. */
type Next =
  | "value"
  | "first element"
  | "first name"
  | "name"
  | "rest of string"
  | "rest of name"
  | "colon"
  | "end of value"

/** Scans JSON of any depth, in UTF-8, without building values. */
class Scan {
  private at = 0
  private next: Next = "value"
  private depth = 0
  /** Kinds of the open containers. */
  private kinds = new Uint8Array(64)
  private elements = 0
  /**
   * Number of elements of each member of the outermost object that may contain the items; undefined if it is not an
   * array.
   */
  private readonly wrapped: Array<number | undefined> = wrapperKeys.map(() => undefined)
  /** Index of the member being read; -1 for other members. */
  private wrapper = -1

  /** Start of the string that is being skipped. */
  private begin = 0
  private until = 0

  constructor(private readonly bytes: Uint8Array) {
    if (byteOrderMark.every((byte, at) => bytes[at] === byte)) this.at = byteOrderMark.length
  }

  /** Scans for one turn. Returns whether the end of the body was reached. */
  advance(): boolean {
    this.until = this.at + turn
    while (this.at < this.until) {
      if (this.next === "rest of string" || this.next === "rest of name") {
        this.string()
        continue
      }
      const code = this.skipSpace()
      if (this.next === "end of value") {
        if (this.depth > 0) this.separator(code)
        else if (this.at < this.bytes.length) this.fail("the end of the text")
        else return true
      } else if (this.next === "first name" || this.next === "name") this.member(code)
      else if (this.next === "colon") {
        if (code !== colon) this.fail('":"')
        this.at++
        this.next = "value"
      } else if (this.next === "first element" && code === 0x5d) this.close()
      else this.value(code)
    }
    return false
  }

  items(): number {
    if (this.kinds[0] === isArray && this.isContainer) return this.elements
    return this.wrapped.find((count) => count !== undefined) ?? 1
  }

  private isContainer = false

  private value(code: number | undefined): void {
    if (this.depth === 1 && this.kinds[0] === isArray) this.elements++
    if (this.depth === 2 && this.wrapper >= 0 && this.kinds[1] === isArray) {
      this.wrapped[this.wrapper] = (this.wrapped[this.wrapper] ?? 0) + 1
    }
    this.next = "end of value"
    if (code === quote) this.beginString("rest of string")
    else if (code === 0x7b) this.open(isObject)
    else if (code === 0x5b) this.open(isArray)
    else if (code === 0x74) this.word("true")
    else if (code === 0x66) this.word("false")
    else if (code === 0x6e) this.word("null")
    else this.number(code)
  }

  private open(kind: number): void {
    this.at++
    if (this.depth === 0) this.isContainer = true
    if (this.depth === 1 && this.wrapper >= 0 && kind === isArray) this.wrapped[this.wrapper] = 0
    if (this.depth === this.kinds.length) {
      const kinds = new Uint8Array(2 * this.depth)
      kinds.set(this.kinds)
      this.kinds = kinds
    }
    this.kinds[this.depth++] = kind
    this.next = kind === isObject ? "first name" : "first element"
  }

  private close(): void {
    this.at++
    this.depth--
    this.next = "end of value"
  }

  private separator(code: number | undefined): void {
    const inObject = this.kinds[this.depth - 1] === isObject
    if (code === 0x2c) {
      this.at++
      this.next = inObject ? "name" : "value"
    } else if (code === (inObject ? 0x7d : 0x5d)) this.close()
    else this.fail(inObject ? '"," or "}"' : '"," or "]"')
  }

  private member(code: number | undefined): void {
    if (code === 0x7d && this.next === "first name") return this.close()
    if (code !== quote) this.fail("a name in quotes")
    this.beginString("rest of name")
  }

  private enterMember(): void {
    const length = this.at - this.begin
    const name = length > maxName
      ? undefined
      : Json.parse(utf8.decode(this.bytes.subarray(this.begin, this.at))) as string
    this.wrapper = name === undefined ? -1 : wrapperKeys.indexOf(name)
    // If a name occurs twice, the last value counts.
    if (this.wrapper >= 0) this.wrapped[this.wrapper] = undefined
  }

  private beginString(next: "rest of string" | "rest of name"): void {
    this.begin = this.at++
    this.next = next
    this.string()
  }

  /** Scans a string up to its end or to the end of the turn. */
  private string(): void {
    const { bytes, until } = this
    let at = this.at
    for (let code = bytes[at]; code !== quote; code = bytes[++at]) {
      // `code` is undefined after the end of the body.
      if (!(code! >= 0x20)) {
        this.at = at
        this.fail(at < bytes.length ? "no control character" : "the end of a string")
      }
      if (code === backslash) at = this.escape(at + 1)
      if (at >= until) {
        this.at = at + 1
        return
      }
    }
    this.at = at + 1
    if (this.next === "rest of name") {
      this.next = "colon"
      if (this.depth === 1) this.enterMember()
    } else this.next = "end of value"
  }

  /**
   * Skips the characters of an escape sequence after the backslash at `from`. Returns the position of the last byte.
   */
  private escape(from: number): number {
    const code = this.bytes[from]
    if (code === 0x75) {
      for (let at = from + 1; at <= from + 4; at++) {
        if (isHex(this.bytes[at])) continue
        this.at = at
        this.fail("four hexadecimal digits")
      }
      return from + 4
    }
    if (code === undefined || !escapes.has(code)) {
      this.at = from
      this.fail("an escape sequence")
    }
    return from
  }

  private word(word: string): void {
    for (let i = 0; i < word.length; i++) {
      if (this.bytes[this.at + i] !== word.charCodeAt(i)) this.fail("a value")
    }
    this.at += word.length
  }

  private number(first: number | undefined): void {
    let code = first
    if (code === 0x2d) code = this.bytes[++this.at]
    if (!isDigit(code)) this.fail("a value")
    if (code === 0x30) this.at++
    else this.digits()
    if (this.bytes[this.at] === 0x2e) {
      this.at++
      this.digits()
    }
    if ((this.bytes[this.at]! | 0x20) === 0x65) {
      const sign = this.bytes[++this.at]
      if (sign === 0x2b || sign === 0x2d) this.at++
      this.digits()
    }
  }

  private digits(): void {
    const begin = this.at
    while (isDigit(this.bytes[this.at])) this.at++
    if (this.at === begin) this.fail("a digit")
  }

  private skipSpace(): number | undefined {
    let code = this.bytes[this.at]
    while (isSpace(code)) code = this.bytes[++this.at]
    return code
  }

  private fail(expected: string): never {
    const characters = utf8.decode(this.bytes.subarray(0, this.at)).length
    throw new Fault(`expected ${expected} at character ${characters + 1}`)
  }
}

/** Counts the items of a JSON body like `CustomEvents.countItems`, or returns why the body is not valid JSON. */
export const countItems = Effect.fnUntraced(function* (
  body: Uint8Array,
): Effect.fn.Return<{ readonly items: number } | NotUnderstood> {
  if (!isUtf8(body)) return { reason: bodyEncodingFault(body)! }
  const scan = new Scan(body)
  try {
    while (!scan.advance()) yield* letOthersRun
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault
    return { reason: bodyEncodingFault(body) ?? `The body is not valid JSON: ${fault.message}` }
  }
  return { items: scan.items() }
})
