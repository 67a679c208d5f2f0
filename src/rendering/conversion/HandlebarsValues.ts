import { comparisons, helperWord, operators } from "../dialects/Handlebars.ts"
import { fetchFirst, isUsualField, sendToFewer, writeOut } from "../dialects/Notation.ts"
import type { scopesOf } from "./Braces.ts"
import {
  compare,
  compareAnyType,
  type CopyOperator,
  type CopyTest,
  filter,
  isLoopState,
  literal,
  NoEquivalent,
  not,
  path,
  type Value,
} from "./Expression.ts"
import { type Call, CallReader, type Param, splitUp } from "./HandlebarsCalls.ts"
import { formattedNumber, helperNames, operations } from "./HandlebarsOperations.ts"
import { type Part, partsOfPath, pathText } from "./Names.ts"
import { dated, literalOf, operate, orDefault } from "./Operations.ts"
import { Expressions, type Speech } from "./Pythonic.ts"
import type { Result } from "./Result.ts"

/** A context in which names are read: the item of a loop, or the object of `with`. */
export interface Frame {
  readonly parts: ReadonlyArray<Part>
  readonly isLoop: boolean
  /** The key and value of an object are the two elements of the item. */
  readonly isPair: boolean
}

export const root: Frame = { parts: [], isLoop: false, isPair: false }

const readOutside = (name: string): string =>
  `Write {{ ${name} }} if it is a field of the person: Iterable reads a name that an item lacks outside of the loop`

/** Reads the values and conditions of Handlebars in the context of a place. */
export class HandlebarsValues {
  /** The contexts, innermost last. */
  readonly frames: Array<Frame> = [root]
  /** Offset of the part that is converted. */
  at = 0
  /** Names of items that were reported, because Iterable may read them outside of the loop. */
  readonly #inner = new Set<string>()

  constructor(
    readonly result: Result,
    readonly speech: Speech,
    /** Whether a name that the item of a loop lacks is read outside of it. */
    readonly looksOutside: boolean,
    /** Loops that use keys, and names read at the top level. In Iterable, a name that an item lacks is read there. */
    readonly scopes: ReturnType<typeof scopesOf>,
  ) {}

  /** Reads the inside of an output: a path, or a helper with parameters. */
  expression(inner: string): Value {
    const tokens = splitUp(inner)
    const [first = ""] = tokens
    if (tokens.length === 1 && !/^["'(]/.test(first) && !helperNames.has(helperWord(first))) return this.#path(first)
    return this.#call(new CallReader(tokens.slice(1)).call(first))
  }

  value(param: Param | undefined): Value {
    if (param === undefined) throw new NoEquivalent("Write the values of the helper")
    if (param.kind === "value") return param.value
    return param.kind === "path" ? this.#path(param.text) : this.#call(param.call)
  }

  /** Returns the value of a path in the current context. */
  #path(text: string): Value {
    const { names } = this.speech
    let frames = this.frames
    let rest = text.replace(/\//g, (slash, at: number) => text[at - 1] === "." ? slash : ".")
    while (rest.startsWith("../")) {
      if (frames.length > 1) frames = frames.slice(0, -1)
      rest = rest.slice(3)
    }
    const frame = frames.at(-1)!
    const isOuter = frames.length !== this.frames.length
    if (/^@(?:index|first|last|key)$/.test(rest)) return this.#loopValue(rest.slice(1), isOuter, frame)
    if (rest.startsWith("@root.")) return this.#named(partsOfPath(rest.slice(6)), text)
    if (rest.startsWith("@")) throw new NoEquivalent(`Pass the value as a field: ${rest} has no equivalent`)
    const isThis = /^(?:this|\.)(?:$|[./])/.test(rest)
    const inner = rest.replace(/^(?:this|\.)(?:[./]|$)/, "").replace(/\.length$/, ".size")
    const parts = inner === "" ? [] : partsOfPath(inner)
    if (parts === undefined) throw new NoEquivalent(`Write the path in Liquid: "${text}" is not understood`)
    if (parts.length > 0 && !isThis && names.local(parts[0]!) !== undefined) return names.value(parts, text)
    const base = frame.isPair ? [...frame.parts, 1] : frame.parts
    if (base.length === 0) return this.#named(parts, text)
    const item = path(pathText([...base, ...parts]))
    if (!this.looksOutside || isThis || isOuter || parts.length === 0) return item
    const name = String(parts[0])
    if (!this.scopes.top.has(name) && !isUsualField(name)) {
      if (!this.#inner.has(name)) this.result.find("check", this.at, text, readOutside(name))
      this.#inner.add(name)
      return item
    }
    return { kind: "choice", test: compare(item, "!=", path("nil")), yes: item, no: this.#named(parts, text) }
  }

  #named(parts: ReadonlyArray<Part> | undefined, text: string): Value {
    if (parts === undefined || parts.length === 0) {
      throw new NoEquivalent("Name the field: the whole data cannot be shown")
    }
    return this.speech.names.value(parts, text)
  }

  #loopValue(name: string, isOuter: boolean, frame: Frame): Value {
    if (name === "key") return path(pathText([...frame.parts, 0]))
    if (isOuter) throw new NoEquivalent("Set a variable in the outer loop, as in {% assign outer = forloop.index0 %}")
    return path(`forloop.${name === "index" ? "index0" : name}`)
  }

  #call({ name, named, params }: Call): Value {
    const word = helperWord(name)
    const given = (at: number) => this.value(params[at])
    switch (word) {
      case "sendskip":
        throw new NoEquivalent(sendToFewer)
      case "snippet":
        throw new NoEquivalent(writeOut)
      case "catalog":
      case "collection":
        throw new NoEquivalent(fetchFirst)
      case "insert": {
        const otherwise =
          params.flatMap((one) =>
            one.kind === "value" && one.value.kind === "literal" && /^default=/.test(String(one.value.value))
              ? String(one.value.value).slice(8)
              : []
          )[0]
        return otherwise === undefined ? given(0) : orDefault(given(0), literal(otherwise), "blank")
      }
      case "math": {
        const sign = literalOf(given(1), "the sign")
        if (operators[sign] === undefined) throw new NoEquivalent(`Use a filter: "${sign}" has no equivalent`)
        return filter(given(0), operators[sign], given(2))
      }
      case "dateformat":
      case "formatdate": {
        const pattern = named.get("format") ?? params[1]
        const zone = named.get("tz") ?? params[2]
        const input = zone === undefined ? given(0) : filter(given(0), "time_zone", this.value(zone))
        return dated(input, pattern === undefined ? undefined : this.value(pattern), this.speech.dates)
      }
      case "numberformat": {
        const format = named.get("format") ?? params[1]
        const locale = params[2] === undefined ? undefined : given(2)
        return formattedNumber(
          given(0),
          format === undefined ? "" : literalOf(this.value(format), "the format"),
          locale,
        )
      }
      case "now": {
        const format = named.get("format") ?? params[0]
        const zone = named.get("tz")
        const now = zone === undefined ? literal("now") : filter(literal("now"), "time_zone", this.value(zone))
        return dated(now, format === undefined ? undefined : this.value(format), this.speech.dates)
      }
      case "date":
      case "timestamp":
        return dated(literal("now"), params[0] === undefined ? literal("%Y-%m-%d") : given(0), "php")
      case "concat":
        return { kind: "joined", parts: params.map((one) => this.value(one)) }
      case "unsub":
        return path("unsubscribe_url")
    }
    const take = (key: string, otherwise: string | boolean): Value => {
      const value = named.get(key)
      return value === undefined ? literal(otherwise) : this.value(value)
    }
    if (comparisons[word] !== undefined || word === "not") {
      return { kind: "choice", test: this.#test(word, params), yes: take("yes", true), no: take("no", false) }
    }
    if (word === "join" && named.size > 0) {
      const joined = operate(name, given(0), params.slice(1).map((one) => this.value(one)), this.speech, operations)
      return { kind: "joined", parts: [take("prefix", ""), joined, take("suffix", "")] }
    }
    const [unknown] = named.keys()
    if (unknown !== undefined) {
      throw new NoEquivalent(`Compute the value before the call, and pass it as a field: ${unknown}= has no equivalent`)
    }
    if (params.length === 0) throw new NoEquivalent("Compute the value before the call, and pass it as a field")
    const args = params.slice(1).map((one) => this.value(one))
    return operate(name, given(0), args, this.speech, operations)
  }

  /** The condition of a helper that compares. */
  #test(word: string, params: ReadonlyArray<Param>): CopyTest {
    if (word === "not" || word === "ifnot") return not(this.#paramTest(params[0]))
    const operator = comparisons[word]!
    if (operator === "and" || operator === "or") {
      return { kind: operator, parts: params.map((one) => this.#paramTest(one)) }
    }
    const [left, right] = [this.value(params[0]), this.value(params[1])]
    // Iterable compares 100 and "100" as equal.
    return (this.looksOutside ? compareAnyType : compare)(left, operator as CopyOperator, right)
  }

  #paramTest(param: Param | undefined): CopyTest {
    if (param?.kind === "helper") {
      const word = helperWord(param.call.name)
      if (comparisons[word] !== undefined || word === "not") return this.#test(word, param.call.params)
    }
    const value = this.value(param)
    return {
      kind: "truth",
      value,
      truth: value.kind === "literal" || isLoopState(value) ? "liquid" : this.speech.truth,
    }
  }

  truth(source: string): CopyTest {
    if (source.trim().startsWith("`")) {
      const expression = new Expressions(source.trim().replaceAll("`", ""), this.speech)
      const test = expression.condition()
      expression.finish()
      return test
    }
    const tokens = splitUp(source)
    const call = new CallReader(tokens).call("if")
    if (call.params.length === 1) {
      const includesZero = call.named.get("includeZero")
      const test = this.#paramTest(call.params[0])
      return includesZero !== undefined && test.kind === "truth" ? { ...test, truth: "blank" } : test
    }
    const [first] = call.params
    const word = first?.kind === "path" ? helperWord(first.text) : ""
    if (comparisons[word] !== undefined || word === "not") return this.#test(word, call.params.slice(1))
    throw new NoEquivalent(`Write the condition in Liquid: "${source.slice(0, 40)}" is not understood`)
  }

  /** The condition of a block or branch that names its helper. Undefined if the helper is no condition. */
  blockTest(source: string): CopyTest | undefined {
    const [, name = "", rest = ""] = /^(\w+)\s*([^]*)$/.exec(source.trim()) ?? []
    const word = helperWord(name)
    if (word === "if") return this.truth(rest)
    if (word === "unless") return not(this.truth(rest))
    const params = () => new CallReader(splitUp(rest)).call(name).params
    if (comparisons[word] !== undefined || word === "not" || word === "ifnot") return this.#test(word, params())
    if (word === "ifmodeq") {
      const [value, divisor, remainder] = params()
      return compare(
        filter(this.value(value), "modulo", this.value(divisor)),
        "==",
        remainder === undefined ? literal(0) : this.value(remainder),
      )
    }
    if (word === "ifcond" || word === "compare") {
      const [left, sign, right] = params()
      const operator = literalOf(this.value(sign), "the operator").replace(/^={2,3}$/, "==").replace(/^!==$/, "!=")
      if (!/^(?:==|!=|<|>|<=|>=)$/.test(operator)) {
        throw new NoEquivalent(`Use an operator of Liquid, not "${operator}"`)
      }
      return compare(this.value(left), operator as CopyOperator, this.value(right))
    }
    return undefined
  }
}
