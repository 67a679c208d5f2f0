import * as Limits from "../Limits.ts"
import {
  compare,
  type CopyTest,
  filter,
  isLoopState,
  literal,
  NoEquivalent,
  not,
  path,
  type Truth,
  type Value,
} from "./Expression.ts"
import { type CopyNames, type Part, pathText } from "./Names.ts"
import { areTexts, type CopyOperation, joinTexts, type Manner, operate } from "./Operations.ts"

// Expressions of Django, Jinja and HubL: `a|default:'x'`, `a and b or c`, `x if y else z`, `'tea' in list`.

/** A parsed expression. Its meaning depends on whether a value or a condition is needed. */
type Node =
  | { readonly kind: "value"; readonly value: Value }
  | { readonly kind: "test"; readonly test: CopyTest }
  | { readonly kind: "and" | "or"; readonly left: Node; readonly right: Node }
  | { readonly kind: "path"; readonly parts: ReadonlyArray<Part>; readonly text: string }
  | { readonly kind: "list"; readonly items: ReadonlyArray<Node> }

/** Functions of a platform by name. */
export type Functions = Readonly<Record<string, (args: ReadonlyArray<Value>) => Value>>

const token =
  /\s*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(\d+(?:\.\d+)?)|([\p{L}_$][\p{L}\p{N}_$]*)|(==|!=|<>|<=|>=|\*\*|\/\/|&&|\|\||[-+*/%~<>=|:,.()[\]!?]))/uy

interface Token {
  readonly kind: "text" | "number" | "name" | "sign"
  readonly text: string
  readonly begin: number
  readonly end: number
}

/** Maximum number of signs in one expression. */
const maxTokens = 2_000

const tokensOf = (source: string): ReadonlyArray<Token> => {
  const found: Array<Token> = []
  const end = source.trimEnd().length
  for (let at = 0; at < end; at = token.lastIndex) {
    token.lastIndex = at
    const match = token.exec(source)
    if (match === null || found.length === maxTokens) {
      throw new NoEquivalent(
        `Write this part in Liquid: it is not understood from "${source.slice(at, at + 20).trim()}" on`,
      )
    }
    const [whole, text, number, name, sign] = match
    const kind = text !== undefined ? "text" : number !== undefined ? "number" : name !== undefined ? "name" : "sign"
    const word = (text ?? number ?? name ?? sign)!
    found.push({ kind, text: word, begin: at + whole.length - word.length, end: at + whole.length })
  }
  return found
}

const arithmetic: Readonly<Record<string, string>> = {
  "+": "plus",
  "-": "minus",
  "*": "times",
  "/": "divided_by",
  "%": "modulo",
}

/** The arguments of filters of Jinja in their order. */
const argumentNames: Readonly<Record<string, ReadonlyArray<string>>> = {
  default: ["default_value", "boolean"],
  join: ["d", "attribute"],
  map: ["attribute"],
  replace: ["old", "new", "count"],
  round: ["precision", "method"],
  sort: ["reverse", "case_sensitive", "attribute"],
  sum: ["attribute", "start"],
  truncate: ["length", "killwords", "end"],
  unique: ["attribute"],
  datetimeformat: ["format", "timezone", "locale"],
}

const comparisons = new Set(["==", "!=", "<>", "<", ">", "<=", ">="])

/** What a parser of expressions needs to know of its platform. */
export interface Speech extends Manner {
  readonly names: CopyNames
  readonly functions: Functions
  readonly operations: Readonly<Record<string, CopyOperation>>
  /** Variables that were set in Liquid, and are true or false. */
  readonly flags: Set<string>
}

/** Reads one expression. All methods fail with `NoEquivalent`. */
export class Expressions {
  readonly #tokens: ReadonlyArray<Token>
  #at = 0
  #depth = 0

  constructor(readonly source: string, readonly speech: Speech) {
    this.#tokens = tokensOf(source)
  }

  #is(text: string): boolean {
    const next = this.#tokens[this.#at]
    return next !== undefined && next.kind !== "text" && next.text === text
  }

  take(text: string): boolean {
    const found = this.#is(text)
    if (found) this.#at++
    return found
  }

  /** Takes a name that is no keyword. */
  name(): string | undefined {
    const next = this.#tokens[this.#at]
    if (next?.kind !== "name") return undefined
    this.#at++
    return next.text
  }

  isAtEnd(): boolean {
    return this.#at >= this.#tokens.length
  }

  fail(): never {
    const next = this.#tokens[this.#at]
    const rest = next === undefined ? "its end" : `"${this.source.slice(next.begin, next.begin + 30)}"`
    throw new NoEquivalent(`Write this part in Liquid: it is not understood at ${rest}`)
  }

  finish(): void {
    if (!this.isAtEnd()) this.fail()
  }

  value(): Value {
    return this.asValue(this.#ternary())
  }

  condition(): CopyTest {
    return this.asTest(this.#ternary())
  }

  /** Reads the list of a loop, without the condition behind it. */
  operand(): Value {
    return this.asValue(this.#filtered())
  }

  asValue(node: Node): Value {
    switch (node.kind) {
      case "value":
        return node.value
      case "path":
        return this.speech.names.value(node.parts, node.text)
      case "test":
        return { kind: "choice", test: node.test, yes: literal(true), no: literal(false) }
      case "or":
        return {
          kind: "choice",
          test: this.asTest(node.left),
          yes: this.asValue(node.left),
          no: this.asValue(node.right),
        }
      case "and":
        return {
          kind: "choice",
          test: this.asTest(node.left),
          yes: this.asValue(node.right),
          no: this.asValue(node.left),
        }
      case "list":
        throw new NoEquivalent('Write the list as a text that is split, as in {% assign list = "a,b" | split: "," %}')
    }
  }

  asTest(node: Node, truth: Truth = this.speech.truth): CopyTest {
    if (node.kind === "test") return node.test
    if (node.kind === "and" || node.kind === "or") {
      return { kind: node.kind, parts: [this.asTest(node.left), this.asTest(node.right)] }
    }
    const value = this.asValue(node)
    if (value.kind === "literal") {
      const isTrue = value.value !== 0 && value.value !== "" && value.value !== false && value.value !== null
      return { kind: "truth", value: literal(isTrue), truth: "liquid" }
    }
    if (value.kind === "choice" && value.yes.kind === "literal" && value.no.kind === "literal") {
      if (value.yes.value === true && value.no.value === false) return value.test
    }
    const isFlag = isLoopState(value) || (value.kind === "path" && this.speech.flags.has(value.path))
    return { kind: "truth", value, truth: isFlag ? "liquid" : truth }
  }

  #ternary(): Node {
    if (++this.#depth > Limits.nesting) {
      throw new NoEquivalent("Write shorter expressions: this one is nested too deeply")
    }
    const yes = this.#or()
    let made = yes
    if (this.take("if")) {
      const test = this.asTest(this.#or())
      const no = this.take("else") ? this.asValue(this.#ternary()) : literal("")
      made = { kind: "value", value: { kind: "choice", test, yes: this.asValue(yes), no } }
    } else if (this.take("?")) {
      const first = this.asValue(this.#ternary())
      if (!this.take(":")) this.fail()
      const no = this.asValue(this.#ternary())
      made = { kind: "value", value: { kind: "choice", test: this.asTest(yes), yes: first, no } }
    }
    this.#depth--
    return made
  }

  #or(): Node {
    let left = this.#and()
    while (this.take("or") || this.take("||")) left = { kind: "or", left, right: this.#and() }
    return left
  }

  #and(): Node {
    let left = this.#not()
    while (this.take("and") || this.take("&&")) left = { kind: "and", left, right: this.#not() }
    return left
  }

  #not(): Node {
    if (!this.take("not") && !this.take("!")) return this.#comparison()
    if (++this.#depth > Limits.nesting) {
      throw new NoEquivalent("Write shorter expressions: this one is nested too deeply")
    }
    const made: Node = { kind: "test", test: not(this.asTest(this.#not())) }
    this.#depth--
    return made
  }

  #comparison(): Node {
    const left = this.#sum()
    const next = this.#tokens[this.#at]
    if (next === undefined) return left
    if (next.kind === "sign" && comparisons.has(next.text)) {
      this.#at++
      const operator = next.text === "<>" ? "!=" : next.text as "=="
      return { kind: "test", test: compare(this.asValue(left), operator, this.asValue(this.#sum())) }
    }
    const isNot = this.#is("not") && this.#tokens[this.#at + 1]?.text === "in"
    if (isNot) this.#at++
    if (this.take("in")) {
      const test = this.#inside(left, this.#sum())
      return { kind: "test", test: isNot ? not(test) : test }
    }
    if (this.take("is")) return this.#is_(left)
    return left
  }

  /** `x in list`, where the list may be written out. */
  #inside(left: Node, right: Node): CopyTest {
    const value = this.asValue(left)
    if (right.kind !== "list") return compare(this.asValue(right), "contains", value)
    return { kind: "or", parts: right.items.map((item) => compare(value, "==", this.asValue(item))) }
  }

  #is_(left: Node): Node {
    const isNot = this.take("not")
    const word = this.name()?.toLowerCase() ?? this.fail()
    const nil = compare(this.asValue(left), "==", path("nil"))
    const even = compare(filter(this.asValue(left), "modulo", literal(2)), "==", literal(0))
    const tests: Readonly<Record<string, CopyTest>> = {
      none: nil,
      null: nil,
      undefined: nil,
      defined: not(nil),
      even,
      odd: not(even),
      divisibleby: even,
    }
    if (word === "divisibleby" || tests[word] === undefined) {
      throw new NoEquivalent(
        `Compute the condition before the call, and pass it as a field: "is ${word}" has no equivalent`,
      )
    }
    return { kind: "test", test: isNot ? not(tests[word]) : tests[word] }
  }

  #sum(): Node {
    let left = this.#product()
    for (;;) {
      const sign = ["+", "-", "~"].find((sign) => this.#is(sign))
      if (sign === undefined) return left
      this.#at++
      const right = this.#product()
      const [one, other] = [this.asValue(left), this.asValue(right)]
      const hasText = [one, other].some((side) => side.kind === "literal" && typeof side.value === "string")
      const isJoined = sign === "~" || (sign === "+" && (hasText || areTexts(one, other)))
      left = { kind: "value", value: isJoined ? joinTexts(one, other) : filter(one, arithmetic[sign]!, other) }
    }
  }

  #product(): Node {
    let left = this.#filtered()
    for (;;) {
      const sign = ["*", "/", "//", "%"].find((sign) => this.#is(sign))
      if (sign === undefined) return left
      this.#at++
      const right = this.asValue(this.#filtered())
      const args = sign === "//" ? [right, literal(true)] : [right]
      left = { kind: "value", value: filter(this.asValue(left), arithmetic[sign[0]!]!, ...args) }
    }
  }

  #filtered(): Node {
    let made = this.#primary()
    while (this.take("|")) {
      const name = this.name() ?? this.fail()
      const args: Array<Value> = []
      if (this.take("(")) args.push(...this.#arguments(name))
      else if (this.take(":")) {
        do {
          args.push(this.asValue(this.#primary()))
        } while (this.take(","))
      }
      made = this.#operate(made, name, args)
    }
    return made
  }

  #operate(input: Node, name: string, args: ReadonlyArray<Value>): Node {
    if (name === "lookup") {
      const [key] = args
      if (key?.kind !== "literal" || typeof key.value !== "string" || input.kind !== "path") {
        throw new NoEquivalent("Name the value in quotes, as in lookup:'Plan'")
      }
      return { kind: "path", parts: [...input.parts, key.value], text: `${input.text}|lookup:'${key.value}'` }
    }
    return { kind: "value", value: operate(name, this.asValue(input), args, this.speech, this.speech.operations) }
  }

  /** Reads arguments. Arguments of a filter may have names: `sort(attribute='price')`. */
  #arguments(filterName = ""): ReadonlyArray<Value> {
    const args: Array<Value> = []
    while (!this.take(")")) {
      const [name, sign] = [this.#tokens[this.#at], this.#tokens[this.#at + 1]]
      if (name?.kind === "name" && sign?.text === "=" && sign.kind === "sign") {
        const place = (argumentNames[filterName] ?? []).indexOf(name.text)
        if (place === -1) this.fail()
        this.#at += 2
        while (args.length < place) args.push(literal(null))
        args[place] = this.value()
      } else args.push(this.value())
      if (!this.#is(")") && !this.take(",")) this.fail()
    }
    return args
  }

  #primary(): Node {
    const next = this.#tokens[this.#at] ?? this.fail()
    this.#at++
    if (next.kind === "text") {
      return { kind: "value", value: literal(next.text.slice(1, -1).replace(/\\(["'\\])/g, "$1")) }
    }
    if (next.kind === "number") return { kind: "value", value: literal(Number(next.text)) }
    if (next.text === "-") {
      const value = this.asValue(this.#primary())
      return {
        kind: "value",
        value: value.kind === "literal" ? literal(-Number(value.value)) : filter(value, "times", literal(-1)),
      }
    }
    if (next.text === "(") {
      const inner = this.#ternary()
      if (this.#is(",")) return this.#list(")", [inner])
      if (!this.take(")")) this.fail()
      return inner
    }
    if (next.text === "[") return this.#bracketed()
    if (next.kind !== "name") {
      this.#at--
      return this.fail()
    }
    return this.#word(next)
  }

  /** A list, or a field of our Liquid such as `['Favorite Store'] == "Oslo"`, which a second conversion reads. */
  #bracketed(): Node {
    const list = this.#list("]", [])
    const [only, ...more] = list.kind === "list" ? list.items : []
    const isCompared = /^(?:[=!<>]=|[<>])$/.test(this.#tokens[this.#at]?.text ?? "")
    if (!isCompared || more.length > 0 || only?.kind !== "value" || only.value.kind !== "literal") return list
    const { value } = only.value
    return typeof value === "string" ? { kind: "value", value: path(pathText([value])) } : list
  }

  #list(end: string, items: Array<Node>): Node {
    if (items.length > 0) this.take(",")
    while (!this.take(end)) {
      items.push(this.#ternary())
      if (!this.#is(end) && !this.take(",")) this.fail()
    }
    return { kind: "list", items }
  }

  #word(word: Token): Node {
    const constant = ({ true: true, false: false, none: null, null: null } as const)[word.text.toLowerCase() as "true"]
    if (constant !== undefined && !this.#is(".")) return { kind: "value", value: literal(constant) }
    if (this.#is("(")) return this.#call(word.text)
    const parts: Array<Part> = [word.text]
    for (;;) {
      if (this.take(".")) {
        const member = this.#tokens[this.#at] ?? this.fail()
        this.#at++
        // `items.0.title` is read as the number 0 or 0.1 behind the dot.
        if (member.kind === "number") parts.push(...member.text.split(".").map(Number))
        else if (member.kind !== "name") this.fail()
        else if (this.#is("(")) return this.#method(parts, word, member.text)
        else parts.push(member.text)
      } else if (this.take("[")) {
        const key = this.value()
        if (!this.take("]")) this.fail()
        if (key.kind !== "literal" || key.value === null || typeof key.value === "boolean") {
          throw new NoEquivalent("Pass the value as a field: its name is known only when the message is sent")
        }
        parts.push(key.value)
      } else break
    }
    const last = this.#tokens[this.#at - 1]!
    return { kind: "path", parts, text: this.source.slice(word.begin, last.end) }
  }

  #call(name: string): Node {
    this.#at++
    const args = this.#arguments()
    const known = this.speech.functions[name]
    if (known === undefined) {
      throw new NoEquivalent(`Compute the value before the call, and pass it as a field: ${name}() has no equivalent`)
    }
    return { kind: "value", value: known(args) }
  }

  #method(parts: ReadonlyArray<Part>, word: Token, method: string): Node {
    this.#at++
    const args = this.#arguments()
    const input = this.speech.names.value(parts, this.source.slice(word.begin, word.end))
    if (method === "items") return { kind: "value", value: input }
    if (method === "get" && args[0]?.kind === "literal" && typeof args[0].value === "string") {
      const value = this.speech.names.value([...parts, args[0].value], parts.join("."))
      return { kind: "value", value: args[1] === undefined ? value : filter(value, "default", args[1]) }
    }
    return { kind: "value", value: operate(method, input, args, this.speech, this.speech.operations) }
  }
}
