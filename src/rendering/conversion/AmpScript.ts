import { marketingCloudStrings } from "../dialects/TextNotations.ts"
import { AmpReader, attributeOf, now, timeFormat, type Variables } from "./AmpExpressions.ts"
import { filter, NoEquivalent } from "./Expression.ts"
import { linkTo, targetOf } from "./Links.ts"
import type { Result } from "./Result.ts"

// AMPscript and personalization strings of Marketing Cloud. Names and keywords are read in any case.

/** The beginning of a block or of a function, a string, or the beginning of a script of the server. */
const opening =
  /%%(\[|=)|(?<![\d%])%%([A-Za-z_][\w.-]{0,80}(?: [\w.-]{1,80}){0,6})%%(?!%)|(<script)\b[^>]{0,200}\brunat\s*=\s*["']?server/gi

interface Part {
  readonly kind: "block" | "inline" | "string" | "script"
  readonly at: number
  readonly text: string
  readonly inner: string
}

/** Finds the parts of a source in linear time. An unclosed part is text. */
const partsOf = (source: string): ReadonlyArray<Part> => {
  const parts: Array<Part> = []
  const missing = new Set<string>()
  opening.lastIndex = 0
  for (let match = opening.exec(source); match !== null; match = opening.exec(source)) {
    const [text, sign, string] = match
    const at = match.index
    if (string !== undefined) {
      parts.push({ kind: "string", at, text, inner: string })
      continue
    }
    const [kind, end] = sign === "["
      ? ["block", "]%%"] as const
      : sign === "="
      ? ["inline", "=%%"] as const
      : ["script", "</script>"] as const
    const close = missing.has(end) ? -1 : source.indexOf(end, at + text.length)
    if (close === -1) missing.add(end)
    else {
      opening.lastIndex = close + end.length
      parts.push({ kind, at, text: source.slice(at, opening.lastIndex), inner: source.slice(at + 3, close) })
    }
  }
  return parts
}

/** Converts one source. */
export class AmpScript {
  readonly #variables: Variables

  constructor(readonly result: Result) {
    const fields = new Set<string>()
    const names = /%%([A-Za-z_][\w. -]*)%%|\[([A-Za-z_][\w. -]*)\](?!%%)|AttributeValue\(\s*["']([^"']+)["']/gi
    for (const [, string, attribute, named] of result.source.matchAll(names)) {
      fields.add(attributeOf((string ?? attribute ?? named)!.trim()))
    }
    this.#variables = { names: new Map(), fields }
  }

  convert(): void {
    const { result } = this
    let from = 0
    for (const { at, inner, kind, text } of partsOf(result.source)) {
      if (at > from) result.emit(result.source.slice(from, at), from)
      from = at + text.length
      if (kind === "block") this.#block(inner, text, at)
      else if (kind === "inline") this.#inline(inner, text, at)
      else if (kind === "string") this.#string(inner, text, at)
      else result.keep(text, at, "Compute the values before the call, and pass them as fields")
    }
    if (from < result.source.length) result.emit(result.source.slice(from), from)
    result.finish()
  }

  #string(name: string, text: string, at: number): void {
    const { result } = this
    const known = marketingCloudStrings[name.toLowerCase()]
    const target = targetOf(name)
    if (target !== undefined) return result.emit(`{{ ${linkTo(result, target, text, at)} }}`, at)
    if (known !== undefined && !known.startsWith("{{")) return result.keep(text, at, known)
    result.convert(text, at, () => known ?? `{{ ${result.field(text, attributeOf(name))} }}`)
  }

  #inline(code: string, text: string, at: number): void {
    this.result.convert(text, at, () => {
      // The name of a content block is a path of folders.
      const [, key] =
        /^\s*ContentBlockBy(?:Key|Name|Id)\(\s*["']?(?:[^"')]*\\)?([^"')\\]+)["']?\s*\)\s*$/i.exec(code) ?? []
      if (key !== undefined) return this.result.snippet(key, text, at)
      const reader = new AmpReader(code, this.result, this.#variables)
      const value = reader.value()
      if (reader.next !== undefined) reader.fail()
      return this.result.show(value === now ? filter(now, "date", timeFormat) : value)
    })
  }

  /** Converts the statements of a block. A statement without an equivalent remains in a block of its own. */
  #block(code: string, text: string, at: number): void {
    const begin = at + 3
    let reader: AmpReader
    try {
      reader = new AmpReader(code, this.result, this.#variables)
    } catch (error) {
      if (!(error instanceof NoEquivalent)) throw error
      return this.result.keep(text, at, error.remedy)
    }
    for (const [, words] of code.matchAll(/\/\*([^]*?)\*\//g)) {
      this.result.emit(`{% comment %}${words!.replaceAll("%}", "% }")}{% endcomment %}`, at)
    }
    while (reader.next !== undefined) {
      if (reader.takeSign(";")) continue
      const first = reader.next
      const end = endOfStatement(reader)
      const source = code.slice(first.begin, reader.tokens[end - 1]!.end)
      this.#statement(reader, source, begin + first.begin, end)
      reader.skipTo(end)
    }
  }

  #statement(reader: AmpReader, source: string, at: number, end: number): void {
    const { result } = this
    const kept = `%%[ ${source} ]%%`
    const test = () => {
      const made = reader.condition()
      reader.takeWord("then")
      if (reader.place < end) reader.fail()
      return made
    }
    const word = reader.takeWord("var", "set", "if", "elseif", "else", "endif", "for", "next", "output", "outputline")
    switch (word) {
      case "var":
        return
      case "set":
        return void result.convert(kept, at, () => this.#set(reader, end))
      case "if":
        return result.openIf("if", kept, at, test)
      case "elseif":
        return result.branch(kept, at, test)
      case "else":
        return result.branch(kept, at)
      case "endif":
        return result.block?.name === "if" ? result.close(kept, at) : result.keep(kept, at, "Remove it: no IF is open")
      case "next":
        return result.block?.name === "for"
          ? result.close(kept, at)
          : result.keep(kept, at, "Remove it: no FOR is open")
      case "for":
        return result.open("for", kept, at, "{% endfor %}", () => this.#loop(reader))
      case "output":
      case "outputline":
        return void result.convert(kept, at, () => {
          if (!reader.takeSign("(")) reader.fail()
          const value = reader.value()
          return result.show(value)
        })
    }
    result.convert(kept, at, () => {
      reader.value()
      throw new NoEquivalent("Write this part in Liquid: a function alone shows nothing")
    })
  }

  /** Returns the name of a variable in Liquid. A field with this name gets precedence. */
  #define(name: string): string {
    const known = this.#variables.names.get(name.toLowerCase())
    if (known !== undefined) return known
    const made = this.#variables.fields.has(name) ? this.result.newName(name) : name
    this.#variables.names.set(name.toLowerCase(), made)
    return made
  }

  #set(reader: AmpReader, end: number): string {
    const variable = reader.take()
    if (variable?.kind !== "variable" || !reader.takeSign("=")) reader.fail()
    // The value is read before the variable is known, because it may be the field of this name.
    const value = reader.value()
    if (reader.place < end) reader.fail()
    return this.result.writer.assign(this.#define(variable!.text), value)
  }

  #loop(reader: AmpReader): string {
    const variable = reader.take()
    if (variable?.kind !== "variable" || !reader.takeSign("=")) reader.fail()
    const from = this.result.writer.operand(reader.value())
    const direction = reader.takeWord("to", "downto") ?? reader.fail()
    const to = this.result.writer.operand(reader.value())
    reader.takeWord("do")
    const name = this.#define(variable!.text)
    const range = direction === "to" ? `(${from.text}..${to.text})` : `(${to.text}..${from.text}) reversed`
    return `${from.before}${to.before}{% for ${name} in ${range} %}`
  }
}

const begins = new Set(["var", "set", "if", "elseif", "else", "endif", "for", "next", "output", "outputline"])

/** Returns the place of the token behind a statement. A statement has no sign at its end. */
const endOfStatement = (reader: AmpReader): number => {
  const { tokens } = reader
  const word = tokens[reader.place]!.text.toLowerCase()
  let depth = 0
  for (let at = reader.place + 1; at < tokens.length; at++) {
    const { kind, text } = tokens[at]!
    if (kind === "sign" && text === "(") depth++
    if (kind === "sign" && text === ")") depth--
    if (depth > 0) continue
    if (kind === "sign" && text === ";") return at
    const lower = kind === "word" ? text.toLowerCase() : ""
    if ((word === "if" || word === "elseif") && lower === "then") return at + 1
    if (word === "for" && lower === "do") return at + 1
    if (word === "next" && kind === "variable") continue
    if (word === "else" || word === "endif") return at
    if (begins.has(lower)) return at
    // A function behind a whole value begins a statement.
    const before = tokens[at - 1]!
    const isWhole = before.kind !== "sign" ? before.kind !== "word" || at - 1 > reader.place : before.text === ")"
    if (
      word !== "var" && isWhole && kind === "word" && tokens[at + 1]?.text === "(" && !/^(?:and|or|not)$/.test(lower) &&
      !/^(?:and|or|not|to|downto)$/i.test(before.text)
    ) return at
  }
  return tokens.length
}
