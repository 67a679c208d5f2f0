import { Effect } from "effect"
import * as Json from "../domain/Json.ts"
import { wrapperKeys } from "./CustomEvents.ts"
import type { NotUnderstood } from "./Sources.ts"

// The answer to a webhook says how many items came in. Parsing a body for that would hold up everybody else's requests, as
// one of 8 MiB takes up to a second: this only passes over it, and lets others have a turn after each million characters.

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Characters that are passed over in one turn. */
const turn = 2 ** 20

/** A body that is no JSON, from a position on. */
class Fault extends Error {}

const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
const isDigit = (code: number) => code >= 0x30 && code <= 0x39
const isHex = (code: number) => isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66)

const quote = 0x22
const backslash = 0x5c
const escapes: ReadonlySet<number> = new Set(Array.from('"\\/bfnrt', (character) => character.charCodeAt(0)))

/** The longest form in which a wrapper's name may be written, with every character escaped. */
const maxName = 6 * Math.max(...wrapperKeys.map(({ length }) => length)) + 2

const isArray = 0
const isObject = 1

/** What may come next. */
type Next = "value" | "first element" | "first name" | "name" | "end of value"

/** Passes over JSON of any depth without making anything of it. */
class Scan {
  private at = 0
  private next: Next = "value"
  private depth = 0
  /** Kinds of the containers that are open. */
  private kinds = new Uint8Array(64)
  private elements = 0
  /** Of the members of the outermost object that may hold the items: how many elements each has, if it is an array. */
  private readonly wrapped: Array<number | undefined> = wrapperKeys.map(() => undefined)
  /** Which of these is being read; -1 for another member. */
  private wrapper = -1

  constructor(private readonly text: string) {}

  /** Goes on for a turn; returns whether the text has been passed. */
  advance(): boolean {
    const until = this.at + turn
    while (this.at < until) {
      const code = this.skipSpace()
      if (this.next === "end of value") {
        if (this.depth > 0) this.separator(code)
        else if (this.at < this.text.length) this.fail("the end of the text")
        else return true
      } else if (this.next === "first name" || this.next === "name") this.member(code)
      else if (this.next === "first element" && code === 0x5d) this.close()
      else this.value(code)
    }
    return false
  }

  items(): number {
    if (this.kinds[0] === isArray && this.isContainer) return this.elements
    return this.wrapped.find((count) => count !== undefined) ?? 1
  }

  private isContainer = false

  private value(code: number): void {
    if (this.depth === 1 && this.kinds[0] === isArray) this.elements++
    if (this.depth === 2 && this.wrapper >= 0 && this.kinds[1] === isArray) {
      this.wrapped[this.wrapper] = (this.wrapped[this.wrapper] ?? 0) + 1
    }
    this.next = "end of value"
    if (code === quote) this.string()
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

  private separator(code: number): void {
    const inObject = this.kinds[this.depth - 1] === isObject
    if (code === 0x2c) {
      this.at++
      this.next = inObject ? "name" : "value"
    } else if (code === (inObject ? 0x7d : 0x5d)) this.close()
    else this.fail(inObject ? '"," or "}"' : '"," or "]"')
  }

  private member(code: number): void {
    if (code === 0x7d && this.next === "first name") return this.close()
    if (code !== quote) this.fail("a name in quotes")
    const begin = this.at
    this.string()
    if (this.depth === 1) this.enterMember(begin)
    if (this.skipSpace() !== 0x3a) this.fail('":"')
    this.at++
    this.next = "value"
  }

  private enterMember(begin: number): void {
    const length = this.at - begin
    const name = length > maxName ? undefined : Json.parse(this.text.slice(begin, this.at)) as string
    this.wrapper = name === undefined ? -1 : wrapperKeys.indexOf(name)
    // Of a name that is given twice the last value counts.
    if (this.wrapper >= 0) this.wrapped[this.wrapper] = undefined
  }

  private string(): void {
    const { text } = this
    let at = this.at + 1
    for (let code = text.charCodeAt(at); code !== quote; code = text.charCodeAt(++at)) {
      // Beyond the end the code is not a number.
      if (!(code >= 0x20)) {
        this.at = at
        this.fail(at < text.length ? "no control character" : "the end of a string")
      }
      if (code !== backslash) continue
      const escaped = text.charCodeAt(++at)
      if (escaped === 0x75) {
        for (let n = 0; n < 4; n++) {
          if (isHex(text.charCodeAt(++at))) continue
          this.at = at
          this.fail("four hexadecimal digits")
        }
      } else if (!escapes.has(escaped)) {
        this.at = at
        this.fail("an escape sequence")
      }
    }
    this.at = at + 1
  }

  private word(word: string): void {
    if (!this.text.startsWith(word, this.at)) this.fail("a value")
    this.at += word.length
  }

  private number(first: number): void {
    let code = first
    if (code === 0x2d) code = this.text.charCodeAt(++this.at)
    if (!isDigit(code)) this.fail("a value")
    if (code === 0x30) this.at++
    else this.digits()
    if (this.text.charCodeAt(this.at) === 0x2e) {
      this.at++
      this.digits()
    }
    if ((this.text.charCodeAt(this.at) | 0x20) === 0x65) {
      const sign = this.text.charCodeAt(++this.at)
      if (sign === 0x2b || sign === 0x2d) this.at++
      this.digits()
    }
  }

  private digits(): void {
    const begin = this.at
    while (isDigit(this.text.charCodeAt(this.at))) this.at++
    if (this.at === begin) this.fail("a digit")
  }

  private skipSpace(): number {
    let code = this.text.charCodeAt(this.at)
    while (isSpace(code)) code = this.text.charCodeAt(++this.at)
    return code
  }

  private fail(expected: string): never {
    throw new Fault(`expected ${expected} at character ${this.at + 1}`)
  }
}

/** How many items a body of JSON has, as `CustomEvents.countItems` counts them; or why it is no JSON. */
export const countItems = Effect.fnUntraced(function* (
  body: Uint8Array,
): Effect.fn.Return<{ readonly items: number } | NotUnderstood> {
  let text: string
  try {
    text = utf8.decode(body)
  } catch {
    return { reason: "The body is not valid UTF-8" }
  }
  const scan = new Scan(text)
  try {
    while (!scan.advance()) yield* Effect.yieldNow
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault
    return { reason: `The body is not valid JSON: ${fault.message}` }
  }
  return { items: scan.items() }
})
