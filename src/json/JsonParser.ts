import { controlNamesIn, hasControl } from "./ControlNames.ts"
import { exactNumber } from "./ExactNumber.ts"
import { NameCost } from "./NameCost.ts"

// `JSON.parse` must not parse texts from outside of this process, for two reasons:
//
// - V8 15 mistakes names with escapes (nodejs/node#63785): if an earlier object of the same shape continued with
//   another name, `JSON.parse` compares that name with the escaped text, so that one caller's names change the
//   names of another caller.
// - It enters every name and every string of up to 10 characters into V8's table of strings, which the whole process
//   shares. Deno's V8 hashes integer-like strings by their value, and other strings with a seed that is the same in
//   every process, so a body of 1 MB can hold 80,000 strings that collide, and parsing it takes seconds to minutes.
//
// The parser below enters only names into the table, and stops when they collide.

/** The member names of the text collide in V8's table of strings, so parsing stopped. */
export class NamesCollide extends Error {
  override readonly name = "NamesCollide"
  constructor() {
    super("has too many member names that collide. Send fewer distinct names")
  }
}

/** Member names of a request have control characters. */
export class ControlNames extends Error {
  override readonly name = "ControlNames"
  constructor(
    /** JSON pointers to the members, up to 100. */
    readonly pointers: ReadonlyArray<string>,
  ) {
    super("has member names with control characters. Remove these characters from the names")
  }
}

/**
 * Parses JSON in time linear in the length of the text. Accepts any depth. Keeps `__proto__` as an ordinary member. If
 * a name is repeated, keeps the last value at the first place. An integer beyond 2^53 becomes a string of its digits.
 * Without `cost`, the text comes from the store: its names may collide, and large doubles may have no exponent.
 *
 * Throws a `SyntaxError` with the position of the first fault, or `NamesCollide`.
 */
export const parse = (text: string, cost: NameCost | undefined): unknown => new Parser(text, cost).parse()

/** Parses JSON as `parse` does. Also throws `ControlNames`. */
export const parseRequest = (text: string): unknown => {
  const parser = new Parser(text, new NameCost())
  const value = parser.parse()
  // Members with such names may be gone from the value, because a repeated name replaced their parent.
  const pointers = parser.hasControlName ? controlNamesIn(value) : []
  if (pointers.length > 0) throw new ControlNames(pointers)
  return value
}

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const backslash = 0x5c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
const isDigit = (code: number) => code >= 0x30 && code <= 0x39
const isHex = (code: number) => isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66)

/** The characters of one-letter escapes, by the code of the letter. */
const escapes: ReadonlyMap<number, string> = new Map(
  Object.entries({ '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" })
    .map(([letter, character]) => [letter.charCodeAt(0), character]),
)

const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y

/** V8 copies slices of up to 12 characters. A longer slice keeps the whole text in memory. */
const maxCopied = 12

/**
 * Maximum length of a string with escapes that this parser decodes. An escape has up to 6 characters, so a longer string
 * has more than 10 characters, and `JSON.parse` does not enter it into V8's table.
 */
const maxDecoded = 60

/** Integers of up to 15 digits are exact as doubles. */
const maxExactDigits = 15

/** The significant digits of a number: without sign, decimal point, exponent and trailing zeros. */
const significant = (text: string): string => text.replace(/e.*/, "").replace(/[-.]/g, "").replace(/0+$/, "")

/**
 * The value of a JSON number. Large doubles of stored texts remain numbers: PostgreSQL writes them without an exponent.
 */
const numberOf = (text: string, isStored: boolean): number | string => {
  const value = Number(text)
  if (text.length <= maxExactDigits) return value
  return isStored && significant(text) === significant(value.toExponential()) ? value : exactNumber(text)
}

/** A cache of recent names, two for each hash of a few characters. Most texts repeat the names of earlier texts. */
const recentNames: Array<string> = new Array(512).fill("")
const maxRecent = 64

class Parser {
  private at = 0
  /** Whether the latest string has escapes. */
  private escaped = false
  /** Elements of the open arrays, and names and values of the open objects. */
  private readonly pending: Array<unknown> = []
  /** The positions in `pending` where the open containers begin, with their kinds: see `enter`. */
  private readonly outer: Array<number> = []
  private start = 0
  private inObject = false
  /** Whether the object has a name that is not in `recentNames`. */
  private hasNewName = false
  hasControlName = false

  constructor(private readonly text: string, private readonly cost: NameCost | undefined) {}

  parse(): unknown {
    for (;;) {
      // Begins a value. A container that is not empty begins another value.
      let value = this.value()
      if (value === undefined) continue
      // Ends the value, and all containers that end with it.
      for (;;) {
        const code = this.skipSpace()
        if (this.outer.length === 0) {
          if (this.at < this.text.length) this.fail("the end of the text")
          return value
        }
        this.pending.push(value)
        if (code === comma) {
          this.at++
          if (this.inObject) this.member()
          break
        }
        if (code !== (this.inObject ? closeBrace : closeBracket)) this.fail(this.inObject ? '"," or "}"' : '"," or "]"')
        this.at++
        value = this.leave()
      }
    }
  }

  /** Reads a scalar or an empty container. Enters any other container and returns `undefined`. */
  private value(): unknown {
    const code = this.skipSpace()
    switch (code) {
      case quote:
        return this.string()
      case openBrace:
        this.at++
        if (this.skipSpace() === closeBrace) {
          this.at++
          return {}
        }
        this.enter(true)
        this.member()
        return undefined
      case openBracket:
        this.at++
        if (this.skipSpace() === closeBracket) {
          this.at++
          return []
        }
        this.enter(false)
        return undefined
      case 0x74:
        return this.word("true", true)
      case 0x66:
        return this.word("false", false)
      case 0x6e:
        return this.word("null", null)
      default:
        return this.number(code)
    }
  }

  private enter(inObject: boolean): void {
    this.outer.push(this.start * 4 + (this.inObject ? 2 : 0) + (this.hasNewName ? 1 : 0))
    this.start = this.pending.length
    this.inObject = inObject
    this.hasNewName = false
  }

  /** Builds the innermost container and continues in its parent. */
  private leave(): object {
    const { pending, start } = this
    const container = this.inObject ? this.object() : pending.slice(start)
    pending.length = start
    const around = this.outer.pop()!
    this.hasNewName = (around & 1) !== 0
    this.inObject = (around & 2) !== 0
    this.start = Math.floor(around / 4)
    return container
  }

  private object(): object {
    const { pending } = this
    const object: Record<string, unknown> = {}
    const cost = this.hasNewName ? this.cost : undefined
    let began = cost === undefined ? 0 : performance.now()
    let names = 0
    for (let i = this.start; i < pending.length; i += 2) {
      const name = pending[i] as string
      const value = pending[i + 1]
      if (name === "__proto__") {
        Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
      } else object[name] = value
      names++
      if (cost !== undefined && (names >= cost.namesPerStep || i + 2 === pending.length)) {
        const now = performance.now()
        if (cost.add(names, now - began)) throw new NamesCollide()
        began = now
        names = 0
      }
    }
    return object
  }

  /** Reads the name and the colon of a member. */
  private member(): void {
    if (this.skipSpace() !== quote) this.fail("a member name in double quotes")
    this.pending.push(this.memberName())
    if (this.skipSpace() !== colon) this.fail('":"')
    this.at++
  }

  private memberName(): string {
    const { text } = this
    const start = this.at + 1
    const end = this.passString()
    const length = end - start
    if (this.escaped || length === 0 || length > maxRecent) return this.newName(start, end)
    const slot = (length * 31 + text.charCodeAt(start) * 7 + text.charCodeAt(end - 1) * 3) & (recentNames.length - 2)
    const last = recentNames[slot]!
    if (last.length === length && text.startsWith(last, start)) return last
    const earlier = recentNames[slot + 1]!
    if (earlier.length === length && text.startsWith(earlier, start)) return earlier
    const name = this.newName(start, end)
    // A name with control characters is not cached, so cached names need no search.
    if (hasControl(name)) return name
    recentNames[slot + 1] = last
    return recentNames[slot] = name
  }

  private newName(start: number, end: number): string {
    this.hasNewName = true
    const name = this.escaped ? this.unescaped(start, end) : this.copied(start, end)
    if (hasControl(name)) this.hasControlName = true
    return name
  }

  private string(): string {
    const start = this.at + 1
    const end = this.passString()
    return this.escaped ? this.unescaped(start, end) : this.copied(start, end)
  }

  /** The string between two positions, with decoded escapes. */
  private unescaped(start: number, end: number): string {
    const { text } = this
    // Concatenation would keep two objects of V8 for each escape. `JSON.parse` returns a string in one piece.
    if (end - start > maxDecoded) return JSON.parse(text.slice(start - 1, end + 1))
    let whole = ""
    let from = start
    for (let at = text.indexOf("\\", start); at !== -1 && at < end; at = text.indexOf("\\", from)) {
      if (at > from) whole += this.copied(from, at)
      const code = text.charCodeAt(at + 1)
      const isHexadecimal = code === 0x75
      whole += isHexadecimal ? String.fromCharCode(parseInt(text.slice(at + 2, at + 6), 16)) : escapes.get(code)!
      from = at + (isHexadecimal ? 6 : 2)
    }
    return from < end ? whole + this.copied(from, end) : whole
  }

  /** Copies the characters between two positions of the text, which have no escapes. */
  private copied(start: number, end: number): string {
    const { text } = this
    if (end - start <= maxCopied) return text.slice(start, end)
    // `JSON.parse` is the fastest way to copy a string, and safe for a text without member names.
    const isQuoted = text.charCodeAt(start - 1) === quote && text.charCodeAt(end) === quote
    return JSON.parse(isQuoted ? text.slice(start - 1, end + 1) : `"${text.slice(start, end)}"`)
  }

  /** Checks a string and moves behind its closing quote. Returns the position of that quote. */
  private passString(): number {
    const { text } = this
    this.escaped = false
    for (let at = this.at + 1;; at++) {
      const code = text.charCodeAt(at)
      if (code === quote) {
        this.at = at + 1
        return at
      }
      if (code === backslash) {
        this.escaped = true
        at = this.passEscape(at + 1)
      } else if (!(code >= 0x20)) {
        this.at = at
        this.fail(Number.isNaN(code) ? "a closing quote" : "an escape such as \\n for a control character")
      }
    }
  }

  /** Validates an escape sequence after the backslash and returns the position of its last character. */
  private passEscape(at: number): number {
    const code = this.text.charCodeAt(at)
    if (escapes.has(code)) return at
    this.at = at
    if (code !== 0x75) this.fail('an escape, one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u')
    for (let digit = 0; digit < 4; digit++) {
      this.at++
      if (!isHex(this.text.charCodeAt(this.at))) this.fail("four hexadecimal digits after \\u")
    }
    return this.at
  }

  private number(first: number): number | string {
    const { text } = this
    let code = first
    let at = this.at
    let value = 0
    while (isDigit(code)) {
      value = value * 10 + code - 0x30
      code = text.charCodeAt(++at)
    }
    // Nearly every number is a short integer, whose value is computed exactly, digit by digit.
    const digits = at - this.at
    const isInteger = digits > 0 && digits <= maxExactDigits && code !== 0x2e && (code | 0x20) !== 0x65
    if (isInteger && (first !== 0x30 || digits === 1)) {
      this.at = at
      return value
    }
    number.lastIndex = this.at
    const match = number.exec(text)
    if (match === null) this.fail("a value")
    this.at = number.lastIndex
    return numberOf(match[0], this.cost === undefined)
  }

  private word<A>(word: string, value: A): A {
    if (!this.text.startsWith(word, this.at)) this.fail("a value")
    this.at += word.length
    return value
  }

  /** Moves to the next character that is no white space, and returns its code. Returns NaN at the end of the text. */
  private skipSpace(): number {
    const { text } = this
    let code = text.charCodeAt(this.at)
    while (code <= 0x20 && isSpace(code)) code = text.charCodeAt(++this.at)
    return code
  }

  private fail(expected: string): never {
    const { at, text } = this
    const found = text.codePointAt(at)
    const before = text.slice(0, at)
    const line = before.split("\n").length
    const place = `at position ${at} (line ${line} column ${at - before.lastIndexOf("\n")})`
    throw new SyntaxError(
      found === undefined
        ? `expected ${expected}, but the text ends ${place}`
        : `expected ${expected}, found ${JSON.stringify(String.fromCodePoint(found))} ${place}`,
    )
  }
}
