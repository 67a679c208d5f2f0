import { comparisons, operators } from "../dialects/Handlebars.ts"
import { fetchFirst, sendToFewer, writeOut } from "../dialects/Notation.ts"
import { type BracePart, bracePartsOf, handlebars, withSpaceSigns } from "./Braces.ts"
import {
  compare,
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
import { linkTo, targetOf } from "./Links.ts"
import { type Part, partsOfPath, pathText } from "./Names.ts"
import { type CopyOperation, dated, literalOf, moneyOf, operate, orDefault } from "./Operations.ts"
import { Expressions, type Speech } from "./Pythonic.ts"
import type { Result } from "./Result.ts"

// Handlebars, as Iterable, SendGrid and Mandrill extend it.

/** A context in which names are read: the item of a loop, or the object of `with`. */
interface Frame {
  readonly parts: ReadonlyArray<Part>
  readonly isLoop: boolean
  /** The key and value of an object are the two elements of the item. */
  readonly isPair: boolean
}

const root: Frame = { parts: [], isLoop: false, isPair: false }

/** Operations whose meaning in Handlebars is their own. */
const operations: Readonly<Record<string, CopyOperation>> = {
  defaultifempty: (input, [otherwise = literal("")]) => orDefault(input, otherwise, "blank"),
  capitalize: (input) => filter(input, "titlecase"),
  capitalizefully: (input) => filter(input, "titlecase"),
  propercase: (input) => filter(input, "titlecase"),
  title: (input) => filter(input, "titlecase"),
  abbreviate: (input, args) => filter(input, "truncate", ...args),
  substring: (input, [from = literal(0), to]) => {
    const begin = Number(literalOf(from, "the begin"))
    const length = to === undefined ? 1_000_000 : Number(literalOf(to, "the end")) - begin
    return filter(input, "slice", literal(begin), literal(length))
  },
  striptags: (input) => filter(input, "strip_html"),
  urlencode: (input) => filter(input, "url_encode"),
  url: (input) => filter(input, "url_encode"),
  tojson: (input) => filter(input, "json"),
  json: (input) => filter(input, "json"),
  lookup: (input, [key = literal(0)]) => {
    if (input.kind !== "path" || key.kind === "filter") throw new NoEquivalent(fetchFirst)
    if (key.kind === "path") return path(`${input.path}[${key.path}]`)
    return path(`${input.path}${pathText(["x", literalOf(key, "the key")]).slice(1)}`)
  },
}

const own = new Set(["fetch", "sendskip", "snippet", "eachproperty", "catalog", "collection"])

/** Converts one source. */
export class Handlebars {
  readonly #frames: Array<Frame> = [root]
  readonly #parts: ReadonlyArray<BracePart>
  /** Parts whose loop uses the keys of an object. */
  readonly #pairs: ReadonlySet<BracePart>
  /** Names read at the top level. In Iterable, a name that an item lacks is read there. */
  readonly #top: ReadonlySet<string>

  /** Whether the source has a name that the variable of a loop would have. */
  readonly #hasItem: boolean

  constructor(
    readonly result: Result,
    readonly speech: Speech,
    /** Whether a name that the item of a loop lacks is read outside of it. */
    readonly looksOutside: boolean,
    /** Whether lines that have only a block tag are no lines of the text. */
    readonly isText: boolean,
  ) {
    this.#parts = bracePartsOf(result.source, handlebars)
    const pairs = new Set<BracePart>()
    const top = new Set<string>()
    /** The open loops and objects. */
    const open: Array<BracePart> = []
    for (const part of this.#parts) {
      if (part.kind !== "output") continue
      if (/^#(?:each|with)\b/.test(part.inner)) open.push(part)
      else if (/^\/\s*(?:each|with)\b/.test(part.inner)) open.pop()
      else if (/@key\b/.test(part.inner) && open.length > 0) pairs.add(open.at(-1)!)
      if (open.length === 0) {
        for (const [name] of part.inner.matchAll(/[A-Za-z_]\w*/g)) top.add(name)
      }
    }
    this.#hasItem = /\bitem\b/.test(result.source)
    this.#pairs = pairs
    this.#top = top
  }

  convert(): void {
    const { result } = this
    let skipsBreak = false
    for (const [place, part] of this.#parts.entries()) {
      if (part.kind === "text") {
        const before = this.#standsAlone(place + 1) ? part.text.replace(/[ \t]*$/, "") : part.text
        const skipped = skipsBreak ? /^[ \t]*\r?\n/.exec(before)?.[0].length ?? 0 : 0
        this.#text(before.slice(skipped), part.begin + skipped)
        skipsBreak = false
        continue
      }
      skipsBreak = this.#standsAlone(place)
      if (part.kind === "comment") {
        const words = part.inner.replace(/^!(?:--)?|--$/g, "").trim().replace(/([{%])(?=[{%}])/g, "$1 ")
        result.emit(`{% comment %} ${words} {% endcomment %}`, part.begin)
      } else this.#part(part)
    }
    result.finish()
  }

  /** Writes a text. In Iterable, double brackets in it are data of a feed. */
  #text(text: string, at: number): void {
    let from = 0
    for (const match of this.looksOutside ? text.matchAll(/\[\[\s*([^\]\n]{1,200}?)\s*\]\]/g) : []) {
      this.result.emit(text.slice(from, match.index), at + from)
      from = match.index + match[0].length
      this.result.keep(/^[#/]/.test(match[1]!) ? match[0] : `{{ ${match[1]} }}`, at + match.index, fetchFirst)
    }
    this.result.emit(text.slice(from), at + from)
  }

  /** Whether a block tag or comment is alone on its line. Handlebars removes such lines. */
  #standsAlone(place: number): boolean {
    const part = this.#parts[place]
    if (!this.isText || part === undefined || part.kind === "text") return false
    if (part.kind !== "comment" && !/^(?:[#/^]|else\b)/.test(part.inner)) return false
    const before = this.#parts[place - 1]
    const after = this.#parts[place + 1]
    const begins = before === undefined ? place === 0 : before.kind === "text" && /(?:^|\n)[ \t]*$/.test(before.text) &&
      (before.text.includes("\n") || place === 1)
    return begins && (after === undefined || (after.kind === "text" && /^[ \t]*\r?\n/.test(after.text)))
  }

  #part(part: BracePart): void {
    const { begin: at, inner, text } = part
    const isRaw = text.startsWith("{{{") || inner.startsWith("&")
    const [, sign, word] = /^(#\*?>?|\/|\^|>)\s*([^]*)$/.exec(inner) ?? []
    if (sign === "/") return this.#close(word!.trim(), text, at)
    if (sign === "#") return this.#block(part, word!)
    if (sign === "^" && word !== "") return this.result.openIf(word!, text, at, () => not(this.#truth(word!)))
    if (sign !== undefined && sign !== "^") {
      return void this.result.convert(text, at, () => this.result.snippet(word!.split(/\s/)[0]!, text, at))
    }
    if (inner === "else" || inner === "^") return this.result.branch(text, at)
    const [, otherwise] = /^else\s+([^]+)$/.exec(inner) ?? []
    if (otherwise !== undefined) {
      return this.result.branch(text, at, () => this.#blockTest(otherwise) ?? this.#truth(otherwise))
    }
    this.result.convert(text, at, () => withSpaceSigns(this.#output(inner.replace(/^&\s*/, ""), isRaw, text, at), part))
  }

  #output(inner: string, isRaw: boolean, text: string, at: number): string {
    // A bar is Liquid: Handlebars has no filters.
    if (inner.replace(/"[^"]*"|'[^']*'/g, "").includes("|")) return text
    if (/^snippet\s/.test(inner)) return this.#snippet(inner, text, at)
    const target = /^\w+$/.test(inner) && this.speech.names.local(inner) === undefined ? targetOf(inner) : undefined
    if (target !== undefined) return `{{ ${linkTo(this.result, target, text, at)} }}`
    return this.result.show(this.#expression(inner), isRaw)
  }

  /** Renders a snippet of Iterable with its variables. */
  #snippet(inner: string, text: string, at: number): string {
    const { named, params } = new CallReader(splitUp(inner).slice(1)).call("snippet")
    const [name, ...more] = params.map((one) => this.#value(one))
    const args = [...named].map(([key, value]) => {
      const { before, text } = this.result.writer.operand(this.#value(value))
      return { before, text: `${key}: ${text}` }
    })
    if (more.length > 0) throw new NoEquivalent(writeOut)
    return args.map(({ before }) => before).join("") +
      this.result.snippet(literalOf(name, "the name of the snippet"), text, at, args.map(({ text }) => text))
  }

  /** Reads the inside of an output: a path, or a helper with parameters. */
  #expression(inner: string): Value {
    const tokens = splitUp(inner)
    const [first = ""] = tokens
    if (tokens.length === 1 && !/^["'(]/.test(first) && !own.has(first.toLowerCase())) return this.#path(first)
    return this.#call(new CallReader(tokens.slice(1)).call(first))
  }

  #value(param: Param | undefined): Value {
    if (param === undefined) throw new NoEquivalent("Write the values of the helper")
    if (param.kind === "value") return param.value
    return param.kind === "path" ? this.#path(param.text) : this.#call(param.call)
  }

  /** Returns the value of a path in the current context. */
  #path(text: string): Value {
    const { names } = this.speech
    let frames = this.#frames
    let rest = text.replace(/\//g, (slash, at: number) => text[at - 1] === "." ? slash : ".")
    while (rest.startsWith("../")) {
      if (frames.length > 1) frames = frames.slice(0, -1)
      rest = rest.slice(3)
    }
    const frame = frames.at(-1)!
    const isOuter = frames.length !== this.#frames.length
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
    if (!this.looksOutside || isThis || isOuter || !this.#top.has(String(parts[0]))) {
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
    const word = name.toLowerCase()
    const given = (at: number) => this.#value(params[at])
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
        const input = zone === undefined ? given(0) : filter(given(0), "time_zone", this.#value(zone))
        return dated(input, pattern === undefined ? undefined : this.#value(pattern), this.speech.dates)
      }
      case "numberformat":
        return this.#number(given(0), params[1] === undefined ? "" : literalOf(given(1), "the format"), params[2])
      case "now":
      case "date":
      case "timestamp":
        return dated(literal("now"), params[0] === undefined ? literal("%Y-%m-%d") : given(0), "php")
      case "concat":
        return { kind: "joined", parts: params.map((one) => this.#value(one)) }
      case "unsub":
        return path("unsubscribe_url")
    }
    if (comparisons[word] !== undefined || word === "not") {
      return { kind: "choice", test: this.#test(word, params), yes: literal(true), no: literal(false) }
    }
    if (params.length === 0) throw new NoEquivalent("Compute the value before the call, and pass it as a field")
    const args = params.slice(1).map((one) => this.#value(one))
    return operate(name, given(0), args, this.speech, operations)
  }

  #number(input: Value, format: string, locale: Param | undefined): Value {
    if (format === "currency") return moneyOf(input, locale === undefined ? undefined : this.#value(locale))
    if (format === "integer") return filter(filter(input, "round"), "number_with_delimiter")
    if (format === "percent") {
      return filter(filter(filter(input, "times", literal(100)), "round"), "append", literal("%"))
    }
    if (format === "") return filter(input, "number_with_delimiter")
    throw new NoEquivalent('Write the number with a filter, such as money: "USD" or number_with_delimiter')
  }

  /** The condition of a helper that compares. */
  #test(word: string, params: ReadonlyArray<Param>): CopyTest {
    if (word === "not" || word === "ifnot") return not(this.#paramTest(params[0]))
    const operator = comparisons[word]!
    if (operator === "and" || operator === "or") {
      return { kind: operator, parts: params.map((one) => this.#paramTest(one)) }
    }
    const right = this.#value(params[1])
    return compare(this.#value(params[0]), operator as CopyOperator, right)
  }

  #paramTest(param: Param | undefined): CopyTest {
    if (param?.kind === "helper") {
      const word = param.call.name.toLowerCase()
      if (comparisons[word] !== undefined || word === "not") return this.#test(word, param.call.params)
    }
    const value = this.#value(param)
    return {
      kind: "truth",
      value,
      truth: value.kind === "literal" || isLoopState(value) ? "liquid" : this.speech.truth,
    }
  }

  #truth(source: string): CopyTest {
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
    const word = first?.kind === "path" ? first.text.toLowerCase() : ""
    if (comparisons[word] !== undefined || word === "not") return this.#test(word, call.params.slice(1))
    throw new NoEquivalent(`Write the condition in Liquid: "${source.slice(0, 40)}" is not understood`)
  }

  /** The condition of a block or branch that names its helper. Undefined if the helper is no condition. */
  #blockTest(source: string): CopyTest | undefined {
    const [, name = "", rest = ""] = /^(\w+)\s*([^]*)$/.exec(source.trim()) ?? []
    const word = name.toLowerCase()
    if (word === "if") return this.#truth(rest)
    if (word === "unless") return not(this.#truth(rest))
    const params = () => new CallReader(splitUp(rest)).call(name).params
    if (comparisons[word] !== undefined || word === "not" || word === "ifnot") return this.#test(word, params())
    if (word === "ifmodeq") {
      const [value, divisor, remainder] = params()
      return compare(
        filter(this.#value(value), "modulo", this.#value(divisor)),
        "==",
        remainder === undefined ? literal(0) : this.#value(remainder),
      )
    }
    if (word === "ifcond" || word === "compare" || word === "if_cond") {
      const [left, sign, right] = params()
      const operator = literalOf(this.#value(sign), "the operator").replace(/^={2,3}$/, "==").replace(/^!==$/, "!=")
      if (!/^(?:==|!=|<|>|<=|>=)$/.test(operator)) {
        throw new NoEquivalent(`Use an operator of Liquid, not "${operator}"`)
      }
      return compare(this.#value(left), operator as CopyOperator, this.#value(right))
    }
    return undefined
  }

  #block(part: BracePart, source: string): void {
    const { begin: at, text } = part
    const { result } = this
    const [, name = "", rest = ""] = /^(\w+)\s*([^]*)$/.exec(source.trim()) ?? []
    const word = name.toLowerCase()
    if (word === "each" || word === "foreach") return this.#each(part, rest)
    if (word === "with") return this.#with(rest, text, at)
    const capture = captures[word]
    if (capture !== undefined) return this.#capture(word, capture, text, at)
    if (word === "assign") {
      return result.open(word, text, at, "{% endcapture %}", () => {
        const variable = literalOf(this.#value(new CallReader(splitUp(rest)).call(name).params[0]), "the name")
        this.speech.names.define(variable)
        return `{% capture ${pathText([variable])} %}`
      })
    }
    if (word === "mininlist" || word === "maxinlist") return this.#extreme(word, rest, text, at)
    const remedy = /catalog|collection/.test(word)
      ? fetchFirst
      : word === "sendskip"
      ? sendToFewer
      : word === "ifmatchesregexstr"
      ? "Write contains, or pass the result as a field: Liquid has no patterns"
      : undefined
    if (remedy !== undefined) return result.openKept(word, text, at, remedy)
    result.openIf(word, text, at, () => {
      const test = this.#blockTest(source)
      if (test !== undefined) return test
      throw new NoEquivalent(`Write {% if ${name} != blank %}, or for a list {% for item in ${name} %}`)
    })
  }

  #close(name: string, text: string, at: number): void {
    const { block } = this.result
    if (block !== undefined && block.name.toLowerCase() !== name.toLowerCase()) {
      return this.result.keep(text, at, `Write {{/${block.name}}} first: this tag does not end the block that is open`)
    }
    this.result.close(text, at)
  }

  #enter(frame: Frame, locals: ReadonlyArray<readonly [string, ReadonlyArray<Part>]>): void {
    this.#frames.push(frame)
    this.speech.names.enter(locals)
  }

  readonly #leave = (): void => {
    this.#frames.pop()
    this.speech.names.leave()
  }

  #each(part: BracePart, rest: string): void {
    const { begin: at, text } = part
    const { result } = this
    const isPair = this.#pairs.has(part)
    let isEntered = false
    result.open("each", text, at, "{% endfor %}", () => {
      const { locals, params } = new CallReader(splitUp(rest)).call("each")
      const list = result.writer.operand(this.#value(params[0]))
      const name = locals[0] ?? this.#itemName()
      const own: Array<readonly [string, ReadonlyArray<Part>]> = locals.length === 0
        ? []
        : [[locals[0]!, isPair ? [name, 1] : [name]]]
      if (locals[1] !== undefined) own.push([locals[1], isPair ? [name, 0] : ["forloop", "index0"]])
      this.#enter({ parts: [name], isLoop: true, isPair }, own)
      isEntered = true
      return `${list.before}{% for ${name} in ${list.text} %}`
    }, this.#leave)
    if (!isEntered) this.#enter(this.#frames.at(-1)!, [])
  }

  #itemName(): string {
    const depth = this.#frames.filter(({ isLoop }) => isLoop).length
    return depth === 0 && !this.#hasItem ? "item" : this.result.newName("item")
  }

  #with(rest: string, text: string, at: number): void {
    let isEntered = false
    this.result.open("with", text, at, "{% endif %}", () => {
      const { locals, params } = new CallReader(splitUp(rest)).call("with")
      const { before, text: object } = this.result.writer.operand(this.#value(params[0]))
      const parts = partsOfPath(object)!
      this.#enter({ parts, isLoop: false, isPair: false }, locals[0] === undefined ? [] : [[locals[0], parts]])
      isEntered = true
      return `${before}{% if ${object} != blank %}`
    }, this.#leave)
    if (!isEntered) this.#enter(this.#frames.at(-1)!, [])
  }

  #extreme(word: string, rest: string, text: string, at: number): void {
    let isEntered = false
    this.result.open(word, text, at, "", () => {
      const { params } = new CallReader(splitUp(rest)).call(word)
      const sorted = filter(this.#value(params[0]), "sort", this.#value(params[1]))
      const name = this.result.newName("item")
      const assign = this.result.writer.assign(name, filter(sorted, word === "mininlist" ? "first" : "last"))
      this.#enter({ parts: [name], isLoop: false, isPair: false }, [])
      isEntered = true
      return assign
    }, this.#leave)
    if (!isEntered) this.#enter(this.#frames.at(-1)!, [])
  }

  #capture(word: string, filters: string, text: string, at: number): void {
    const name = this.result.newName("text")
    this.result.open(word, text, at, `{% endcapture %}{{ ${name} | ${filters} }}`, () => `{% capture ${name} %}`)
  }
}

/** Helpers around a text, with the filters for the text. */
const captures: Readonly<Record<string, string>> = {
  urlencode: "url_encode",
  breaklines: "newline_to_br",
  base64: "base64_encode",
  upper: "upcase",
  lower: "downcase",
  md5: "md5",
}
