// Values and conditions of all families of languages, before they are written as Liquid.

/** A value of another language. Names of filters are ours. */
export type Value =
  /** A path in Liquid, such as `items[0].title`. */
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "literal"; readonly value: string | number | boolean | null }
  | { readonly kind: "filter"; readonly input: Value; readonly name: string; readonly args: ReadonlyArray<Value> }
  /** Texts that are joined. */
  | { readonly kind: "joined"; readonly parts: ReadonlyArray<Value> }
  | { readonly kind: "choice"; readonly test: CopyTest; readonly yes: Value; readonly no: Value }

/**
 * Which values count as missing: `liquid`, absent values and `false`; `blank`, also empty texts and lists; `zero`, also
 * the number 0.
 */
export type Truth = "liquid" | "blank" | "zero"

/** An operator that compares two values. */
export type CopyOperator = "==" | "!=" | "<" | ">" | "<=" | ">=" | "contains"

/** A condition of another language. */
export type CopyTest =
  | { readonly kind: "truth"; readonly value: Value; readonly truth: Truth }
  | { readonly kind: "compare"; readonly operator: CopyOperator; readonly left: Value; readonly right: Value }
  | { readonly kind: "and" | "or"; readonly parts: ReadonlyArray<CopyTest> }
  | { readonly kind: "not"; readonly of: CopyTest }

/** A part has no equivalent in Liquid. The message says what to do instead. */
export class NoEquivalent {
  constructor(readonly remedy: string) {}
}

export const literal = (value: string | number | boolean | null): Value => ({ kind: "literal", value })

export const path = (text: string): Value => ({ kind: "path", path: text })

export const filter = (input: Value, name: string, ...args: ReadonlyArray<Value>): Value => ({
  kind: "filter",
  input,
  name,
  args,
})

export const compare = (left: Value, operator: CopyOperator, right: Value): CopyTest => ({
  kind: "compare",
  operator,
  left,
  right,
})

/** Compares values of platforms for which a number, true and false equal their text, such as 100 and "100". */
export const compareAnyType = (left: Value, operator: CopyOperator, right: Value): CopyTest => {
  if (left.kind === "literal" && right.kind !== "literal") {
    if (operator === "==" || operator === "!=") return compareAnyType(right, operator, left)
  }
  const text = right.kind === "literal" ? String(right.value) : ""
  const isEquality = operator === "==" || operator === "!="
  const plain = /^(?:true|false)$/.test(text) ? text === "true" : Number(text)
  if (!isEquality || left.kind === "literal" || text !== String(plain)) return compare(left, operator, right)
  const parts = [literal(plain), literal(text)].map((one) => compare(left, operator, one))
  return { kind: operator === "==" ? "or" : "and", parts }
}

export const not = (of: CopyTest): CopyTest => ({ kind: "not", of })

/** Returns the value with the first letter in upper case and the others unchanged. */
export const capitalFirst = (value: Value): Value => ({
  kind: "joined",
  parts: [
    filter(filter(value, "slice", literal(0)), "upcase"),
    filter(value, "slice", literal(1), literal(1_000_000)),
  ],
})

/** Returns the length of a list or text, which is 0 for an absent value. */
export const sizeOf = (value: Value): Value => filter(value, "size")

/** Returns the length as a path, which is nothing for an absent value. */
const sizePathOf = (value: Value): Value =>
  value.kind === "filter" && value.name === "size" && value.input.kind === "path"
    ? path(`${value.input.path}.size`)
    : value

/** Whether a value is the state of a loop, which is always true or false. */
export const isLoopState = (value: Value): boolean =>
  value.kind === "path" && /^forloop\.(?:first|last)$/.test(value.path)

/** Returns a literal in Liquid. A text needs a quotation mark that it does not contain. */
export const literalText = (value: string | number | boolean | null): string => {
  if (value === null) return "nil"
  if (typeof value !== "string") return String(value)
  if (value.includes('"') && value.includes("'")) {
    throw new NoEquivalent("Write the text with one kind of quotation marks: Liquid cannot have both in one text")
  }
  if (/\}\}|%\}/.test(value)) throw new NoEquivalent("Write the text without braces: a tag of Liquid ends at them")
  return value.includes('"') ? `'${value}'` : `"${value}"`
}

const opposite: Readonly<Partial<Record<CopyOperator, CopyOperator>>> = { "==": "!=", "!=": "==" }

/** Returns a condition in which `not` is only before single tests. */
const withoutNot = (condition: CopyTest, negated = false): CopyTest => {
  if (condition.kind === "not") return withoutNot(condition.of, !negated)
  if (condition.kind === "and" || condition.kind === "or") {
    const kind = negated === (condition.kind === "and") ? "or" : "and"
    return { kind, parts: condition.parts.map((part) => withoutNot(part, negated)) }
  }
  if (condition.kind === "truth" && condition.truth !== "liquid") {
    const operator = negated ? "==" as const : "!=" as const
    const value = sizePathOf(condition.value)
    const blank = compare(value, operator, path("blank"))
    if (condition.truth === "blank") return blank
    return { kind: negated ? "or" : "and", parts: [blank, compare(value, operator, literal(0))] }
  }
  if (!negated) return condition
  if (condition.kind === "compare" && opposite[condition.operator] !== undefined) {
    return { ...condition, operator: opposite[condition.operator]! }
  }
  return not(condition)
}

const joinsOf = (condition: CopyTest) =>
  condition.kind === "and" || condition.kind === "or" ? condition.parts.length : 0

/** Whether a value is the time of sending, or a time to which seconds were added. */
const isTime = (value: Value): boolean =>
  value.kind === "filter"
    ? /^(?:plus|minus)$/.test(value.name) && value.input.kind === "filter" && value.input.name === "date"
    : value.kind === "literal"
    ? value.value === "now"
    : value.kind === "path" && value.path === '"now"'

/** Text in Liquid, and the tags that must come before it. */
export interface Written {
  readonly before: string
  readonly text: string
}

/** Writes values and conditions as Liquid. `newName` returns a name that occurs nowhere in the source. */
export class ExpressionWriter {
  constructor(readonly newName: () => string) {}

  /** Writes a value as an operand: a path or a literal. Other values are assigned before it. */
  operand(value: Value): Written {
    if (value.kind === "path") return { before: "", text: value.path }
    if (value.kind === "literal") return { before: "", text: literalText(value.value) }
    const name = this.newName()
    return { before: this.assign(name, value), text: name }
  }

  /** Writes a value with its filters, for an output or an assignment. */
  filtered(value: Value): Written {
    if (value.kind === "filter") {
      const input = this.filtered(value.input)
      const args = value.args.map((arg) => this.operand(arg))
      const list = args.length === 0 ? "" : `: ${args.map(({ text }) => text).join(", ")}`
      return {
        before: input.before + args.map(({ before }) => before).join(""),
        text: `${input.text} | ${value.name}${list}`,
      }
    }
    if (value.kind !== "joined") return this.operand(value)
    const [first = literal(""), ...rest] = value.parts
    return this.filtered(rest.reduce((made: Value, part) => filter(made, "append", part), first))
  }

  /** Returns tags that set a variable. */
  assign(name: string, value: Value): string {
    if (value.kind === "choice") {
      const { before, text } = this.condition(value.test)
      const no = `{% else %}${this.assign(name, value.no)}{% endif %}`
      return `${before}{% if ${text} %}${this.assign(name, value.yes)}${no}`
    }
    const { before, text } = this.filtered(value)
    return `${before}{% assign ${name} = ${text} %}`
  }

  /** Returns Liquid that shows a value. `raw` inserts it into HTML unchanged. */
  output(value: Value, raw = false, open = "{{", close = "}}"): string {
    if (value.kind === "literal") return typeof value.value === "string" ? value.value : String(value.value ?? "")
    if (value.kind === "joined") return value.parts.map((part) => this.output(part, raw, open, close)).join("")
    if (value.kind === "choice") {
      const { before, text } = this.condition(value.test)
      const no = this.output(value.no, raw, open, close)
      const otherwise = no === "" ? "" : `{% else %}${no}`
      return `${before}{% if ${text} %}${this.output(value.yes, raw, open, close)}${otherwise}{% endif %}`
    }
    const { before, text } = this.filtered(value)
    return `${before}${open} ${text}${raw ? " | raw" : ""} ${close}`
  }

  /**
   * Writes a condition. Liquid groups `and` and `or` to the right and has no brackets: a part that has both is set
   * before the condition, unless it can be the last part.
   */
  condition(condition: CopyTest): Written {
    return this.#chain(withoutNot(condition))
  }

  #chain(condition: CopyTest): Written {
    if (condition.kind === "not") {
      const { before, text } = this.#chain(condition.of)
      return { before, text: `not ${text}` }
    }
    if (condition.kind === "truth") return this.operand(condition.value)
    if (condition.kind === "compare") {
      if (/[<>]/.test(condition.operator) && [condition.left, condition.right].some(isTime)) {
        throw new NoEquivalent(
          'Compare seconds, as in {% assign end = expires_at | date: "%s" | plus: 0 %}: dates are compared as texts',
        )
      }
      const left = this.operand(condition.operator === ">" ? sizePathOf(condition.left) : condition.left)
      const right = this.operand(condition.right)
      return { before: left.before + right.before, text: `${left.text} ${condition.operator} ${right.text}` }
    }
    const flat = condition.parts.flatMap((part) => part.kind === condition.kind ? part.parts : [part])
    if (flat.length !== condition.parts.length) return this.#chain({ kind: condition.kind, parts: flat })
    const simple = flat.filter((part) => joinsOf(part) === 0)
    const joined = flat.filter((part) => joinsOf(part) > 0)
    const last = joined.pop()
    const written = [...simple.map((part) => this.#chain(part)), ...joined.map((part) => this.#flag(part))]
    if (last !== undefined) written.push(this.#chain(last))
    return {
      before: written.map(({ before }) => before).join(""),
      text: written.map(({ text }) => text).join(` ${condition.kind} `),
    }
  }

  /** Sets a variable to whether a condition holds. */
  #flag(condition: CopyTest): Written {
    const name = this.newName()
    const value: Value = { kind: "choice", test: condition, yes: literal(true), no: literal(false) }
    return { before: this.assign(name, value), text: name }
  }
}
