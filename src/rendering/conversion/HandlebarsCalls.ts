import { literal, NoEquivalent, type Value } from "./Expression.ts"

// Helpers of Handlebars with their parameters.

/** A parameter of a helper: a text, a number, a path, or another helper in brackets. */
export type Param =
  | { readonly kind: "value"; readonly value: Value }
  | { readonly kind: "path"; readonly text: string }
  | { readonly kind: "helper"; readonly call: Call }

export interface Call {
  readonly name: string
  readonly params: ReadonlyArray<Param>
  readonly named: ReadonlyMap<string, Param>
  /** The names behind `as`, without the bars. */
  readonly locals: ReadonlyArray<string>
}

const token =
  /\s*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(\|[\w\s]*\|)|([()=])|`([^`]*)`|((?:\.\.\/)*(?:\[[^\]]*\]|[^\s()=|"'`[\]])+(?:\.?\[[^\]]*\][^\s()=|"'`[\]]*)*))/y

/** Maximum number of signs in one helper. */
const maxTokens = 500

/** Splits the inside of a part into words. */
export const splitUp = (source: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  const end = source.trimEnd().length
  for (let at = 0; at < end; at = token.lastIndex) {
    token.lastIndex = at
    const match = token.exec(source)
    if (match === null || found.length === maxTokens) {
      throw new NoEquivalent(`Write this part in Liquid: it is not understood from "${source.slice(at, at + 20)}" on`)
    }
    found.push(match[0].trim())
  }
  return found
}

/** Reads the parameters behind the name of a helper. */
export class CallReader {
  #at = 0
  #depth = 0
  constructor(readonly tokens: ReadonlyArray<string>) {}

  call(name: string): Call {
    if (++this.#depth > 20) throw new NoEquivalent("Write shorter helpers: this one is nested too deeply")
    const params: Array<Param> = []
    const named = new Map<string, Param>()
    let locals: ReadonlyArray<string> = []
    while (this.#at < this.tokens.length && this.tokens[this.#at] !== ")") {
      const word = this.tokens[this.#at]!
      if (word === "as" && this.tokens[this.#at + 1]?.startsWith("|") === true) {
        locals = this.tokens[this.#at + 1]!.replaceAll("|", "").trim().split(/\s+/)
        this.#at += 2
      } else if (this.tokens[this.#at + 1] === "=") {
        this.#at += 2
        named.set(word, this.#param())
      } else params.push(this.#param())
    }
    this.#depth--
    return { name, params, named, locals }
  }

  #param(): Param {
    const word = this.tokens[this.#at++] ?? ""
    if (word === "(") {
      const name = this.tokens[this.#at++] ?? ""
      const call = this.call(name)
      if (this.tokens[this.#at++] !== ")") throw new NoEquivalent("Close the bracket of the helper")
      return { kind: "helper", call }
    }
    if (/^["']/.test(word)) return { kind: "value", value: literal(word.slice(1, -1).replace(/\\(["'\\])/g, "$1")) }
    if (/^-?\d+(?:\.\d+)?$/.test(word)) return { kind: "value", value: literal(Number(word)) }
    if (/^(?:true|false)$/.test(word)) return { kind: "value", value: literal(word === "true") }
    if (/^(?:null|undefined)$/.test(word)) return { kind: "value", value: literal(null) }
    return { kind: "path", text: word }
  }
}
