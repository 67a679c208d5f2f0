import * as Limits from "./Limits.ts"
import { canBeInName, invisible, lookalikeFault } from "./Lookalikes.ts"
import { Refused } from "./Refused.ts"
import { remedyOf } from "./Remedies.ts"

/** An operand in the source: a literal, a name with its members, or a range. */
export interface Operand {
  readonly begin: number
  readonly end: number
  /** The value of a text or number. Absent for names, ranges and words such as `nil`. */
  readonly literal?: string | number
  /** The first name of a variable, such as `user` in `user.name`. */
  readonly root?: string
}

/** A filter in the source, with its arguments. */
export interface FilterUse {
  readonly name: string
  readonly begin: number
  /** The filtered operand of the first filter. Undefined for later filters. */
  readonly input: Operand | undefined
  readonly args: ReadonlyArray<Operand>
  readonly named: ReadonlyMap<string, Operand>
}

/** A tag that renders a snippet. */
export interface SnippetUse {
  readonly id: string
  /** Offset of the id. */
  readonly begin: number
  /** Offset of the tag. */
  readonly tag: number
  /** Names that the snippet gets. */
  readonly names: ReadonlyArray<string>
}

/** The parts of a source that checks read, in the order of the source. */
export interface SourceParts {
  readonly filters: Array<FilterUse>
  /** Offsets of conditions with `or` behind `and`, which group to the right. */
  readonly groupings: Array<number>
  readonly renders: Array<SnippetUse>
}

/** Where a value is used: in a condition, or as a value that is shown or assigned. */
export type Purpose = "condition" | "value"

const blank = /[\t-\r \u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/
const wordSign = /[\w?-]/
const asciiName = /[\w?-]*/y
/** The place behind a value to which nothing can be added. */
const complete = "behind a complete value"
const comparisons = ["==", "!=", "<>", ">=", "<=", ">", "<", "contains"]
const plainName = /^[a-z_]\w*$/i
const words = new Set(["true", "false", "nil", "null", "empty", "blank"])
/** Operators, which cannot be names where a value begins. */
const operators = new Set(["and", "or", "not", "contains"])
const numberForm = /^[-+]?\d+(?:\.\d*)?$/
/** A number or date in a form that Liquid reads as the name of a variable. */
const numberLike = /^\d[\d_-]*(?:e[-+]?\d+)?$|^0x[\da-f]+$/i
/** Words of other languages, which Liquid reads as names of variables. */
const foreignWords: ReadonlyMap<string, string> = new Map([
  ["True", "true"],
  ["TRUE", "true"],
  ["False", "false"],
  ["FALSE", "false"],
])
/** A tag of HTML inside a tag or output, which editors of formatted text insert. */
const markup =
  /^<\/?(?:a|b|br|code|div|em|font|i|p|small|span|strong|sub|sup|u)(?:\s+[\w-]+=(?:"[^"]*"|'[^']*'))*\s*\/?>/i

const excerpt = (text: string): string => {
  const line = text.trim().replace(/\s+/g, " ")
  return JSON.stringify(line.length > 40 ? `${line.slice(0, 40)}…` : line)
}

/**
 * Reads the inside of a tag or output, and refuses whatever is not completely understood. The parser of liquidjs, which
 * renders, skips such parts. The methods throw `Refused`.
 */
export class StrictReader {
  #at: number
  #depth = 0

  /** The reader adds the parts that it reads to `found`. */
  constructor(
    readonly source: string,
    begin: number,
    readonly end: number,
    readonly found: SourceParts,
  ) {
    this.#at = begin
  }

  get at(): number {
    return this.#at
  }

  /** The next code point, or the empty text at the end. */
  #sign(at = this.#at): string {
    return at >= this.end ? "" : String.fromCodePoint(this.source.codePointAt(at)!)
  }

  skipBlank(): void {
    while (this.#at < this.end && blank.test(this.source[this.#at]!)) this.#at++
  }

  isAtEnd(): boolean {
    this.skipBlank()
    return this.#at >= this.end
  }

  /** Continues at an earlier place. */
  back(at: number): void {
    this.#at = at
  }

  rest(): string {
    return this.source.slice(this.#at, this.end)
  }

  refuse(message: string, at = this.#at): never {
    throw new Refused(message, at)
  }

  /**
   * Refuses the next part. `where` describes its place, such as `behind a complete value`. Without `remedy`, the text of
   * the part and the value `before` it decide the remedy.
   */
  unexpected(where: string, purpose?: Purpose, before = "", remedy?: string): never {
    this.skipBlank()
    const rest = this.rest()
    if (rest === "") return this.refuse(`is incomplete ${where}: write the missing part, or delete the part before it`)
    const fault = lookalikeFault(this.#sign())
    if (fault !== undefined) return this.refuse(fault)
    const known = remedy ?? remedyOf({ rest, purpose, before, isValueNext: before === "" && where !== complete })
    return this.refuse(`does not understand ${excerpt(rest)} ${where}${known === undefined ? "" : `: ${known}`}`)
  }

  /** Requires that nothing follows a value. */
  finish(purpose: Purpose, before = ""): void {
    if (!this.isAtEnd()) this.unexpected(complete, purpose, before)
  }

  /** Requires that nothing follows in a tag without values. */
  finishWith(where: string, remedy: string): void {
    if (!this.isAtEnd()) this.unexpected(where, undefined, "", remedy)
  }

  /** Skips a sign, such as `,`, if it comes next. */
  take(sign: string): boolean {
    this.skipBlank()
    if (!this.source.startsWith(sign, this.#at) || this.#at + sign.length > this.end) return false
    this.#at += sign.length
    return true
  }

  /** Skips a word if it comes next, and no name that begins with it. */
  takeWord(word: string): boolean {
    this.skipBlank()
    const before = this.#at
    if (this.take(word) && !this.#isNameSign(this.#sign())) return true
    this.#at = before
    return false
  }

  #isNameSign(sign: string): boolean {
    return sign !== "" && (sign <= "\u007f" ? wordSign.test(sign) : !blank.test(sign))
  }

  /** Reads a name, or returns undefined if none comes next. Refuses signs that cannot be a part of a name. */
  name(): string | undefined {
    this.skipBlank()
    const begin = this.#at
    asciiName.lastIndex = begin
    this.#at = Math.min(begin + asciiName.exec(this.source)![0].length, this.end)
    for (let sign = this.#sign(); this.#isNameSign(sign); sign = this.#sign()) {
      if (sign > "\u007f" && !canBeInName(sign)) return this.refuse(lookalikeFault(sign)!)
      this.#at += sign.length
    }
    if (this.#at === begin) return undefined
    const name = this.source.slice(begin, this.#at)
    if (/^-|\?./.test(name) || name === "?") {
      this.#at = begin + Math.max(0, name.search(/\?./))
      return this.unexpected("in a name")
    }
    if (name.endsWith("?") && /^[.[]/.test(this.#sign())) {
      this.refuse("has ? before a member: delete it, because a member of a missing value is nothing", this.#at - 1)
    }
    if (/^\p{Nd}+$/u.test(name) && !/^\d+$/.test(name)) this.refuse(`has digits that are not 0 to 9: ${name}`, begin)
    return name
  }

  /** Reads the name of a variable that a tag sets, such as the name of `assign`. */
  ownName(tag: string): string {
    const begin = this.#at
    const name = this.name()
    if (name === undefined) return this.unexpected(`where ${tag} expects a name`)
    if (/^[.[]/.test(this.#sign())) {
      const whole = /^\S*/.exec(this.source.slice(begin, this.end).trimStart())![0]
      this.refuse(`cannot set a member: ${tag} needs a name without dots and brackets, not ${excerpt(whole)}`, begin)
    }
    return name
  }

  /** Reads a text in quotes. Returns undefined if no quotation mark comes next. */
  text(): Operand | undefined {
    this.skipBlank()
    const begin = this.#at
    const quote = this.source[begin]
    if (begin >= this.end || (quote !== '"' && quote !== "'")) return undefined
    for (let at = begin + 1; at < this.end; at++) {
      if (this.source[at] === "\\") at++
      else if (this.source[at] === quote) {
        this.#at = at + 1
        return { begin, end: this.#at, literal: this.source.slice(begin + 1, at) }
      }
    }
    const inside = this.source.slice(begin + 1, this.end)
    const curly = /[\u00ab\u00bb\u2018-\u201f\u2032\u2033\u2039\u203a\u301d-\u301f\uff02\uff07]/.exec(inside)
    if (curly !== null) this.refuse(lookalikeFault(curly[0])!, begin + 1 + curly.index)
    const isCut = /^\s*-?%\}/.test(this.source.slice(this.end, this.end + 20))
    return this.refuse(
      `has a quotation mark without its partner: ${excerpt(inside)}. Write ${quote} also at the end of the text` +
        (isCut ? ". A tag ends at the first %} even inside quotes" : ""),
    )
  }

  #number(): Operand | undefined {
    const [found] = /^[-+]?\d+(?:\.(?!\.)\d*)?/.exec(this.rest()) ?? []
    if (found === undefined || !numberForm.test(found)) return undefined
    const next = this.#sign(this.#at + found.length)
    if (this.#isNameSign(next)) return undefined
    if (next === "." && !this.source.startsWith("..", this.#at + found.length)) return undefined
    const begin = this.#at
    this.#at += found.length
    return { begin, end: this.#at, literal: Number(found) }
  }

  /** Reads `(1..5)`. Other parentheses are refused. */
  #range(): Operand | undefined {
    if (this.#sign() !== "(") return undefined
    const begin = this.#at
    this.#at++
    this.operand("behind (")
    if (!this.take("..")) {
      this.refuse(
        "does not understand parentheses: they only enclose ranges such as (1..5). " +
          "Use several conditions, one {% if %} inside the other, or {% assign %} for steps",
        begin,
      )
    }
    this.operand("behind ..")
    if (!this.take(")")) this.unexpected("in a range such as (1..5)")
    return { begin, end: this.#at }
  }

  /** Reads the members behind an operand: `.name`, `["first name"]`, `[0]`. */
  #members(): void {
    for (;;) {
      if (this.#sign() === "[") this.#bracket(false)
      else if (this.#sign() === "." && this.#sign(this.#at + 1) !== ".") {
        this.#at++
        if (this.name() === undefined) this.unexpected("behind a dot")
      } else return
    }
  }

  #bracket(isRoot: boolean): void {
    const begin = this.#at
    this.#at++
    if (isRoot) this.#checkRoot(begin)
    const key = this.operand("in brackets")
    this.checkSeen(key)
    if (!this.take("]")) {
      const inside = /^[^\]}%]*/.exec(this.source.slice(begin + 1, this.end))![0].trim()
      const fault = lookalikeFault(this.#sign())
      if (fault !== undefined) this.refuse(fault)
      this.refuse(`does not understand [${inside}]: put a name with spaces in quotes, as in ["first name"]`, begin)
    }
  }

  /** Refuses a bracket where a value begins, except a name in quotes that needs them. */
  #checkRoot(begin: number): void {
    const rest = this.rest()
    const [, , quoted] = /^\s*(["'])((?:(?!\1)[^\\]|\\.)*)\1\s*\]/.exec(rest) ?? []
    const isPlain = (name: string) => plainName.test(name) && !operators.has(name) && !words.has(name)
    if (quoted !== undefined && !isPlain(quoted)) return
    const inside = /^[^\]}%]*/.exec(rest)![0].trim()
    const outside = [...inside.replace(/"[^"]*"|'[^']*'/g, "")].find((sign) => lookalikeFault(sign) !== undefined)
    if (outside !== undefined) this.refuse(lookalikeFault(outside)!, this.source.indexOf(outside, begin))
    const split = (list: string) => `split a text, as in {% assign list = ${JSON.stringify(list)} | split: "," %}`
    if (quoted !== undefined || isPlain(inside)) {
      const name = quoted ?? inside
      this.refuse(`does not understand [${inside}]: write ${name} for the name. For a list, ${split(name)}`, begin)
    }
    if (inside === "" || inside.includes(",") || /^[\d-]/.test(inside)) {
      const items = inside.split(",").map((item) => item.trim().replace(/^["']|["']$/g, "")).join(",")
      this.refuse(
        `does not understand [${inside}]: there are no lists in Liquid. Instead, ${split(items || "a,b")}`,
        begin,
      )
    }
    this.refuse(`does not understand [${inside}]: put the name in quotes, as in [${JSON.stringify(inside)}]`, begin)
  }

  /** Refuses invisible characters in a text that is compared or is a name. Emoji and Persian words contain some. */
  checkSeen({ begin, literal = "" }: Operand): void {
    const unseen = [...String(literal)].find((sign) =>
      invisible.test(sign) && !/[\s\u200c\u200d\ufe0e\ufe0f]/.test(sign)
    )
    if (unseen !== undefined) this.refuse(lookalikeFault(unseen)!, this.source.indexOf(unseen, begin))
  }

  /** Reads one operand. `where` describes the place of a missing operand. */
  operand(where: string, purpose?: Purpose): Operand {
    if (++this.#depth > Limits.nesting) this.refuse(`is nested deeper than ${Limits.nesting} levels`)
    this.skipBlank()
    const begin = this.#at
    const value = this.text() ?? this.#number() ?? this.#range() ?? this.#root(where, purpose)
    this.#members()
    this.#depth--
    return this.#at === value.end
      ? value
      : { begin, end: this.#at, ...(value.root === undefined ? {} : { root: value.root }) }
  }

  #root(where: string, purpose?: Purpose): Operand {
    const begin = this.#at
    if (this.#sign() === "[") {
      this.#bracket(true)
      return { begin, end: this.#at }
    }
    const root = this.name()
    if (root === undefined || operators.has(root)) {
      this.#at = begin
      return this.unexpected(where, purpose)
    }
    const end = this.#at
    if (words.has(root)) return { begin, end }
    const word = this.#sign() === "." ? undefined : foreignWords.get(root)
    if (word !== undefined) this.refuse(`has ${root}, which is a word of other languages: write ${word}`, begin)
    if (numberLike.test(root)) {
      const written = /^[\w.+-]*/.exec(this.source.slice(begin, this.end))![0]
      this.refuse(
        `has ${written}, which is not a number: use digits and at most one point, as in 1250.5, or put a text in quotes`,
        begin,
      )
    }
    return { begin, end, root }
  }

  /** Reads a comparison operator if one comes next. */
  #comparison(): string | undefined {
    this.skipBlank()
    const rest = this.rest()
    if (/^(?:===|!==|==>|=<)/.test(rest)) return undefined
    if (markup.test(rest)) this.unexpected("inside a tag or output")
    return comparisons.find((operator) => operator === "contains" ? this.takeWord(operator) : this.take(operator))
  }

  /** Reads operands with operators. Returns the operand if it is only one. */
  expression(where: string, purpose: Purpose): Operand | undefined {
    this.skipBlank()
    const begin = this.#at
    let only: Operand | undefined
    let isOne = true
    let hasAnd = false
    for (;;) {
      while (this.takeWord("not")) isOne = false
      const left = this.operand(where, purpose)
      only ??= left
      const compared = this.#comparison()
      if (compared !== undefined) {
        isOne = false
        this.checkSeen(left)
        this.checkSeen(this.operand(`behind ${compared}`, purpose))
        if (this.#comparison() !== undefined) {
          this.refuse(
            "compares the result of a comparison: join two comparisons with and, as in a > 1 and a < 5",
            begin,
          )
        }
      }
      const here = (this.skipBlank(), this.#at)
      const joined = this.takeWord("and") ? "and" : this.takeWord("or") ? "or" : undefined
      if (compared === undefined && left.literal !== undefined && (joined !== undefined || !isOne)) {
        this.refuse(
          `has ${this.source.slice(left.begin, left.end)} as a condition, which always holds: ` +
            'repeat the comparison, as in tier == "gold" or tier == "silver"',
          left.begin,
        )
      }
      if (joined === undefined) return isOne ? only : undefined
      if (purpose === "value") this.#refuseJoined(begin, here, joined)
      if (joined === "and") hasAnd = true
      else if (hasAnd && this.found.groupings.at(-1) !== begin) this.found.groupings.push(begin)
      isOne = false
      where = `behind ${joined}`
    }
  }

  /** Refuses `and` and `or` where a value is shown or assigned, and names the filter that supplies another value. */
  #refuseJoined(begin: number, at: number, joined: string): never {
    const left = this.source.slice(begin, at).trim()
    if (joined === "and") this.refuse(`cannot join values with and: use {% if ${left} and … %}`, at)
    const [, right = '"there"'] = /^or\s*("[^"]*"|'[^']*'|[\w.-]+)/.exec(this.source.slice(at, this.end)) ?? []
    const remedy = /^[\w.[\]-]+$/.test(left)
      ? `write ${left} | default: ${right}`
      : 'use {% if … %} for a condition, or a filter for a missing value, as in name | default: "there"'
    return this.refuse(`"or" does not choose a value, it is a condition that is true or false: ${remedy}`, at)
  }

  /** Reads a value with its filters. With `isListed`, the caller continues at a comma. */
  value(where: string, purpose: Purpose): void {
    this.skipBlank()
    const begin = this.#at
    const initial = this.expression(where, purpose)
    const isOperation = initial === undefined
    let input = initial
    this.skipBlank()
    const firstPipe = this.#at
    while (this.#sign() === "|") {
      if (this.source.startsWith("||", this.#at)) {
        this.unexpected(complete, purpose, this.source.slice(begin, firstPipe).trim())
      }
      if (isOperation) {
        this.refuse(
          "has a filter behind a condition, which would apply to true or false: assign the filtered value first",
          firstPipe,
        )
      }
      this.#filter(input, purpose)
      input = undefined
      this.skipBlank()
    }
  }

  #filter(input: Operand | undefined, purpose: Purpose): void {
    this.#at++
    this.skipBlank()
    const begin = this.#at
    const name = this.name()
    if (name === undefined) return this.unexpected("behind |", purpose, "|")
    const args: Array<Operand> = []
    const named = new Map<string, Operand>()
    if (this.take(":")) {
      do {
        const arg = this.operand(`among the arguments of ${name}`, purpose)
        if (this.take(":")) {
          if (arg.root === undefined) {
            this.refuse(
              `has a colon behind ${
                excerpt(this.source.slice(arg.begin, arg.end))
              }, which is not the name of an argument`,
              arg.begin,
            )
          }
          named.set(arg.root, this.operand(`among the arguments of ${name}`, purpose))
        } else args.push(arg)
      } while (this.take(","))
    }
    this.found.filters.push({ name, begin, input, args, named })
    this.skipBlank()
    if (this.#at < this.end && !/[|,)]/.test(this.#sign())) {
      const signs = args.length === 0 && named.size === 0
      this.unexpected(`behind the filter ${name}`, signs ? undefined : purpose, signs ? `| ${name}` : `| ${name}:`)
    }
  }
}
