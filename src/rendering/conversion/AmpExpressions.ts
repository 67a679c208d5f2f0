import { fetchFirst, fieldOf, isUsualField, sendToFewer, writeOut } from "../dialects/Notation.ts"
import * as Limits from "../Limits.ts"
import {
  compare,
  compareAnyType,
  type CopyOperator,
  type CopyTest,
  filter,
  literal,
  NoEquivalent,
  not,
  path,
  sizeOf,
  type Value,
} from "./Expression.ts"
import { addSeconds, dated, literalOf, moneyOf } from "./Operations.ts"
import type { Result } from "./Result.ts"

// Expressions of AMPscript.

const token =
  /\s*(?:\/\*[^]*?\*\/\s*)*(?:"((?:[^"]|"")*)"|'((?:[^']|'')*)'|(\d+(?:\.\d+)?)|@(\w+)|\[([^\]]+)\]|([A-Za-z_]\w*)|(==|!=|<>|<=|>=|[<>=(),;+*/-]))/y

interface Token {
  readonly kind: "text" | "number" | "variable" | "attribute" | "word" | "sign"
  readonly text: string
  /** Offset in the block. */
  readonly begin: number
  readonly end: number
}

const maxTokens = 5_000

const tokensOf = (source: string): ReadonlyArray<Token> => {
  const found: Array<Token> = []
  const code = source.replace(/(?:\s|\/\*[^]*?\*\/)+$/, "")
  for (let at = 0; at < code.length; at = token.lastIndex) {
    token.lastIndex = at
    const match = token.exec(code)
    if (match === null || found.length === maxTokens) {
      throw new NoEquivalent(
        `Write this part in Liquid: it is not understood from "${code.slice(at, at + 20).trim()}" on`,
      )
    }
    const [whole, double, single, number, variable, attribute, word, sign] = match
    const end = at + whole.length
    const add = (kind: Token["kind"], text: string) =>
      found.push({ kind, text, begin: end - whole.trimStart().length, end })
    if (double !== undefined) add("text", double.replaceAll('""', '"'))
    else if (single !== undefined) add("text", single.replaceAll("''", "'"))
    else if (number !== undefined) add("number", number)
    else if (variable !== undefined) add("variable", variable)
    else if (attribute !== undefined) add("attribute", attribute)
    else if (word !== undefined) add("word", word)
    else add("sign", sign!)
  }
  return found
}

const arithmetic: Readonly<Record<string, string>> = {
  add: "plus",
  subtract: "minus",
  multiply: "times",
  divide: "divided_by",
  mod: "modulo",
  uppercase: "upcase",
  lowercase: "downcase",
  propercase: "titlecase",
  trim: "strip",
  replace: "replace",
  md5: "md5",
  sha256: "sha256",
  base64encode: "base64_encode",
  urlencode: "url_param_escape",
}

const remedies: ReadonlyArray<readonly [RegExp, string]> = [
  [/^(?:insert|update|upsert|delete)\w*$/, "Write the data after the call: a text of this service changes no data"],
  [/^raiseerror$/, sendToFewer],
  [/^contentblockby|^contentarea|^treatascontent|^beginimpression/, writeOut],
  [/^(?:cloudpagesurl|micrositeurl)$/, "Pass the address of the page as a field, such as {{ page_url }}"],
  [/^(?:lookup|claim|http|retrieve|buildrowset|row|field|createobject|getsocial)/, fetchFirst],
]

const dateUnits: Readonly<Record<string, number>> = { d: 86_400, h: 3_600, mi: 60 }

const dateParts: Readonly<Record<string, string>> = {
  y: "%Y",
  year: "%Y",
  m: "%-m",
  month: "%-m",
  monthname: "%B",
  d: "%-d",
  day: "%-d",
  h: "%-H",
  hour: "%-H",
  mi: "%-M",
  minute: "%-M",
}

/** Variables of a message by their name in lower case. */
export interface Variables {
  readonly names: Map<string, string>
  /** Text of the fields of the source, by which a variable of the same name gets another one. */
  readonly fields: ReadonlySet<string>
}

/** Returns the field of an attribute, whose usual names are read in any case. */
export const attributeOf = (name: string): string => fieldOf(isUsualField(name) ? name.toUpperCase() : name)

/** Reads one block or inline function. All methods fail with `NoEquivalent`. */
export class AmpReader {
  #at = 0
  #depth = 0
  readonly tokens: ReadonlyArray<Token>

  constructor(readonly source: string, readonly result: Result, readonly variables: Variables) {
    this.tokens = tokensOf(source)
  }

  get next(): Token | undefined {
    return this.tokens[this.#at]
  }

  get place(): number {
    return this.#at
  }

  takeSign(sign: string): boolean {
    const found = this.next?.kind === "sign" && this.next.text === sign
    if (found) this.#at++
    return found
  }

  takeWord(...words: ReadonlyArray<string>): string | undefined {
    const { next } = this
    const word = next?.kind === "word" ? next.text.toLowerCase() : undefined
    if (word === undefined || !words.includes(word)) return undefined
    this.#at++
    return word
  }

  take(): Token | undefined {
    return this.tokens[this.#at++]
  }

  skipTo(place: number): void {
    this.#at = place
  }

  fail(): never {
    const rest = this.next === undefined ? "its end" : `"${this.source.slice(this.next.begin, this.next.begin + 30)}"`
    throw new NoEquivalent(`Write this part in Liquid: it is not understood at ${rest}`)
  }

  /** Returns the name of a variable in Liquid, which must differ from all names of fields. */
  variable(name: string): string | undefined {
    return this.variables.names.get(name.toLowerCase())
  }

  field(name: string): Value {
    const plain = name.trim()
    return path(this.result.field(plain, attributeOf(plain)))
  }

  condition(): CopyTest {
    if (++this.#depth > Limits.nesting) {
      throw new NoEquivalent("Write shorter conditions: this one is nested too deeply")
    }
    let left = this.#and()
    while (this.takeWord("or") !== undefined) left = { kind: "or", parts: [left, this.#and()] }
    this.#depth--
    return left
  }

  #and(): CopyTest {
    let left = this.#not()
    while (this.takeWord("and") !== undefined) left = { kind: "and", parts: [left, this.#not()] }
    return left
  }

  #not(): CopyTest {
    if (this.takeWord("not") === undefined) return this.#comparison()
    if (++this.#depth > Limits.nesting) {
      throw new NoEquivalent("Write shorter conditions: this one is nested too deeply")
    }
    const made = not(this.#not())
    this.#depth--
    return made
  }

  #comparison(): CopyTest {
    const begin = this.#at
    if (this.takeSign("(")) {
      const inner = this.condition()
      if (!this.takeSign(")")) this.fail()
      return inner
    }
    const call = this.takeWord("empty", "isnull", "isnullorempty", "isemailaddress", "indexof")
    if (call !== undefined && this.takeSign("(")) {
      const args = this.#arguments()
      if (call === "isemailaddress") {
        throw new NoEquivalent("Compute the condition before the call, and pass it as a field")
      }
      if (call === "indexof") {
        if (this.takeSign(">") && this.take()?.text === "0") {
          return compare(this.#lower(args[0]!), "contains", this.#lower(args[1]!))
        }
        this.#at = begin
        throw new NoEquivalent('Write contains, as in {% if name contains "x" %}')
      }
      const test = compare(args[0] ?? this.fail(), "==", call === "isnull" ? path("nil") : path("blank"))
      return this.#isCompared(test)
    }
    this.#at = begin
    const left = this.value()
    const sign = this.next
    if (sign?.kind !== "sign" || !/^(?:==|!=|<>|<=|>=|[<>])$/.test(sign.text)) {
      return compare(left, "==", literal(true))
    }
    this.#at++
    const right = this.value()
    const operator = (sign.text === "<>" ? "!=" : sign.text) as CopyOperator
    // Marketing Cloud has an empty text for a value that is not there.
    if ((operator === "==" || operator === "!=") && right.kind === "literal" && right.value === "") {
      return compare(left, operator, path("blank"))
    }
    // Marketing Cloud compares texts in any case, and true as a text.
    const isText = [left, right].some((one) => one.kind === "literal" && /[a-z]/i.test(String(one.value)))
    return isText && (operator === "==" || operator === "!=")
      ? compare(this.#lower(left), operator, this.#lower(right))
      : compareAnyType(left, operator, right)
  }

  /** `Empty(x) == "true"` is the condition itself. */
  #isCompared(test: CopyTest): CopyTest {
    const isEqual = this.takeSign("==")
    if (!isEqual && !this.takeSign("!=")) return test
    const isTrue = /^true$/i.test(this.take()?.text ?? "")
    return isTrue === isEqual ? test : not(test)
  }

  #lower(value: Value): Value {
    return value.kind === "literal" ? literal(String(value.value).toLowerCase()) : filter(value, "downcase")
  }

  #arguments(): ReadonlyArray<Value> {
    const args: Array<Value> = []
    while (!this.takeSign(")")) {
      args.push(this.value())
      if (this.next?.text !== ")" && !this.takeSign(",")) this.fail()
    }
    return args
  }

  value(): Value {
    if (++this.#depth > Limits.nesting) {
      throw new NoEquivalent("Write shorter expressions: this one is nested too deeply")
    }
    const made = this.#value()
    this.#depth--
    return made
  }

  #value(): Value {
    const next = this.take() ?? this.fail()
    if (next.kind === "text") return literal(next.text)
    if (next.kind === "number") return literal(Number(next.text))
    if (next.kind === "variable") {
      return path(this.variable(next.text) ?? this.result.field(`@${next.text}`, fieldOf(next.text)))
    }
    if (next.kind === "attribute") return this.field(next.text)
    if (next.kind !== "word") {
      this.#at--
      if (next.text === "-" && this.tokens[this.#at + 1]?.kind === "number") {
        this.#at += 2
        return literal(-Number(this.tokens[this.#at - 1]!.text))
      }
      return this.fail()
    }
    if (/^(?:true|false)$/i.test(next.text)) return literal(next.text.toLowerCase() === "true")
    return this.takeSign("(") ? this.#call(next.text.toLowerCase()) : this.field(next.text)
  }

  #call(name: string): Value {
    if (name === "iif") {
      const test = this.condition()
      const [yes, no] = this.takeSign(",") ? this.#arguments() : []
      return { kind: "choice", test, yes: yes ?? this.fail(), no: no ?? literal("") }
    }
    const remedy = remedies.find(([pattern]) => pattern.test(name))
    if (remedy !== undefined) throw new NoEquivalent(remedy[1])
    const args = this.#arguments()
    const [first = literal("")] = args
    if (Object.hasOwn(arithmetic, name)) return filter(first, arithmetic[name]!, ...args.slice(1))
    switch (name) {
      case "v":
      case "redirectto":
      case "wraplongurl":
      case "systemdatetolocaldate":
      case "localdatetosystemdate":
      case "dateparse":
      case "output":
        return first
      case "attributevalue":
      case "queryparameter":
      case "requestparameter":
        return this.field(literalOf(first, "the name"))
      case "concat":
        return { kind: "joined", parts: args }
      case "length":
        return sizeOf(first)
      case "substring":
        return filter(
          first,
          "slice",
          literal(Number(literalOf(args[1], "the place")) - 1),
          args[2] ?? literal(1_000_000),
        )
      case "now":
      case "getsendtime":
        return now
      case "formatdate":
        return timed(first, args.slice(1, 3), args[3])
      case "format":
        return /^[ncp]\d?$/i.test(literalOf(args[1], "the format"))
          ? numberOf(first, args[1], args[3])
          : timed(first, args.slice(1, 2), args[3])
      case "formatcurrency":
        return moneyOf(first, args[1])
      case "formatnumber":
        return numberOf(first, args[1], args[2])
      case "dateadd": {
        const unit = dateUnits[literalOf(args[2], "the unit").toLowerCase()]
        if (unit === undefined) throw new NoEquivalent("Compute the date before the call, and pass it as a field")
        return addSeconds(first, args[1] ?? this.fail(), unit)
      }
      case "datepart": {
        const format = dateParts[literalOf(args[1], "the part").toLowerCase()]
        if (format === undefined) {
          throw new NoEquivalent("Compute the part of the date before the call, and pass it as a field")
        }
        return filter(first, "date", literal(format))
      }
      case "char":
        return literal(String.fromCharCode(Number(literalOf(first, "the code"))))
      case "empty":
      case "isnull":
        return {
          kind: "choice",
          test: compare(first, "==", name === "empty" ? path("blank") : path("nil")),
          yes: literal(true),
          no: literal(false),
        }
    }
    throw new NoEquivalent(`Compute the value before the call, and pass it as a field: ${name}() has no equivalent`)
  }
}

/** The time of sending. Alone, Marketing Cloud shows it as in `8/5/2026 12:41:23 AM`. */
export const now = path('"now"')
export const timeFormat = literal("%-m/%-d/%Y %-I:%M:%S %p")

/** Writes a date with the patterns of the date and of the time. Names of months and days are English. */
const timed = (input: Value, patterns: ReadonlyArray<Value>, locale: Value | undefined): Value => {
  const pattern = patterns.map((one) => literalOf(one, "the format of the date")).filter((one) => one !== "").join(" ")
  const language = locale === undefined ? "en" : literalOf(locale, "the language")
  if (!/^en\b/i.test(language) && /MMM|ddd/.test(pattern)) {
    throw new NoEquivalent(
      "Write the month as a number, or pass the date as a field: names of months and days are English",
    )
  }
  return dated(input, literal(pattern), "net")
}

const numberOf = (input: Value, format: Value | undefined, locale: Value | undefined): Value => {
  const [, kind = "", digits = ""] = /^([NCP])(\d?)$/i.exec(literalOf(format, "the format")) ?? []
  if (/c/i.test(kind) && digits !== "0") return moneyOf(input, locale)
  if (/n/i.test(kind) && digits === "0") return filter(filter(input, "round"), "number_with_delimiter")
  if (/n/i.test(kind) && /^2?$/.test(digits) && locale === undefined) return filter(input, "money")
  throw new NoEquivalent('Write the number with a filter, such as money: "USD" or number_with_delimiter')
}
