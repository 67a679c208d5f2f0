import { helperWord } from "../dialects/Handlebars.ts"
import { fetchFirst, writeOut } from "../dialects/Notation.ts"
import {
  type BracePart,
  bracePartsOf,
  handlebars,
  isHandlebarsBlock,
  scopesOf,
  withSpaceControl,
  withSpaceSigns,
} from "./Braces.ts"
import { filter, literal, NoEquivalent, not } from "./Expression.ts"
import { CallReader, splitUp } from "./HandlebarsCalls.ts"
import { linkTo, targetOf } from "./Links.ts"
import { type Part, partsOfPath, pathText } from "./Names.ts"
import { blockRemedies, captures } from "./HandlebarsOperations.ts"
import { literalOf, orDefault } from "./Operations.ts"
import { type Speech } from "./Pythonic.ts"
import type { Result } from "./Result.ts"
import { type Frame, HandlebarsValues } from "./HandlebarsValues.ts"

// Handlebars, as Iterable, SendGrid and Mandrill extend it.

/** Converts one source. */
export class Handlebars {
  readonly #parts: ReadonlyArray<BracePart>
  /** Loops that use keys, and names read at the top level. In Iterable, a name that an item lacks is read there. */
  readonly #scopes: ReturnType<typeof scopesOf>
  readonly #values: HandlebarsValues

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
    this.#parts = withSpaceControl(bracePartsOf(result.source, handlebars), isHandlebarsBlock)
    this.#hasItem = /\bitem\b/.test(result.source)
    this.#scopes = scopesOf(this.#parts)
    this.#values = new HandlebarsValues(result, speech, looksOutside, this.#scopes)
  }

  convert(): void {
    const { result } = this
    let skipsBreak = false
    let isLiteral = false
    for (const [place, part] of this.#parts.entries()) {
      if (part.kind !== "text" && (isLiteral || this.#isEscaped(place))) {
        result.emit(isLiteral ? part.text : `{% raw %}${part.text}{% endraw %}`, part.begin)
        continue
      }
      if (part.kind === "text") {
        const raw = part.text.lastIndexOf("{% raw %}")
        const end = part.text.lastIndexOf("{% endraw %}")
        isLiteral = raw > end || (isLiteral && end === -1)
        const before = this.#standsAlone(place + 1) ? part.text.replace(/[ \t]*$/, "") : part.text
        const skipped = skipsBreak ? /^[ \t]*\r?\n/.exec(before)?.[0].length ?? 0 : 0
        this.#text(
          before.slice(skipped, /\\$/.test(before) && place + 1 < this.#parts.length ? -1 : undefined),
          part.begin + skipped,
        )
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

  /** Whether a backslash makes a part a text. Two are one backslash before a part. */
  #isEscaped(place: number): boolean {
    const before = this.#parts[place - 1]
    return before?.kind === "text" && /(?:^|[^\\])\\$/.test(before.text)
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
    const begins = before === undefined
      ? place === 0
      : before.kind === "text" && /(?:^|\n)[ \t]*$/.test(before.inner) &&
        (before.inner.includes("\n") || place === 1)
    return begins && (after === undefined || (after.kind === "text" && /^[ \t]*\r?\n/.test(after.inner)))
  }

  #part(part: BracePart): void {
    const { begin: at, inner, text } = part
    this.#values.at = at
    const isRaw = text.startsWith("{{{") || inner.startsWith("&")
    const [, sign, word] = /^(#\*?>?|\/|\^|>)\s*([^]*)$/.exec(inner) ?? []
    if (sign === "/") return this.#close(word!.trim(), text, at)
    if (sign === "#") return this.#block(part, word!)
    if (sign === "^" && word !== "") return this.result.openIf(word!, text, at, () => not(this.#values.truth(word!)))
    if (sign !== undefined && sign !== "^") {
      return void this.result.convert(text, at, () => this.result.snippet(word!.split(/\s/)[0]!, text, at))
    }
    if (inner === "else" || inner === "^") return this.result.branch(text, at)
    const [, otherwise] = /^else\s+([^]+)$/.exec(inner) ?? []
    if (otherwise !== undefined) {
      return this.result.branch(text, at, () => this.#values.blockTest(otherwise) ?? this.#values.truth(otherwise))
    }
    this.result.convert(text, at, () => withSpaceSigns(this.#output(inner.replace(/^&\s*/, ""), isRaw, text, at), part))
  }

  #output(inner: string, isRaw: boolean, text: string, at: number): string {
    const [, name, words] = /^([^|"']+)\|\s*("[^"]*"|'[^']*')$/.exec(inner) ?? []
    if (name !== undefined) {
      const value = orDefault(this.#values.expression(name.trim()), literal(words!.slice(1, -1)), "blank")
      return this.result.show(value, isRaw)
    }
    // Another bar is Liquid: Handlebars has no filters.
    if (inner.replace(/"[^"]*"|'[^']*'/g, "").includes("|")) return text
    if (/^snippet\s/.test(inner)) return this.#snippet(inner, text, at)
    const target = /^\w+$/.test(inner) && this.speech.names.local(inner) === undefined ? targetOf(inner) : undefined
    if (target !== undefined) return `{{ ${linkTo(this.result, target, text, at)} }}`
    return this.result.show(this.#values.expression(inner), isRaw)
  }

  /** Renders a snippet of Iterable with its variables. */
  #snippet(inner: string, text: string, at: number): string {
    const { named, params } = new CallReader(splitUp(inner).slice(1)).call("snippet")
    const [name, ...more] = params.map((one) => this.#values.value(one))
    const args = [...named].map(([key, value]) => {
      const { before, text } = this.result.writer.operand(this.#values.value(value))
      return { before, text: `${key}: ${text}` }
    })
    if (more.length > 0) throw new NoEquivalent(writeOut)
    return args.map(({ before }) => before).join("") +
      this.result.snippet(literalOf(name, "the name of the snippet"), text, at, args.map(({ text }) => text))
  }

  #block(part: BracePart, source: string): void {
    const { begin: at, text } = part
    const { result } = this
    const [, name = "", rest = ""] = /^(\w+)\s*([^]*)$/.exec(source.trim()) ?? []
    const word = helperWord(name)
    if (word === "each" || word === "foreach") return this.#each(part, rest)
    if (word === "with") return this.#with(rest, text, at)
    const capture = captures[word]
    if (capture !== undefined) return this.#capture(word, capture, text, at)
    if (word === "assign") {
      return result.open(word, text, at, "{% endcapture %}", () => {
        const variable = literalOf(this.#values.value(new CallReader(splitUp(rest)).call(name).params[0]), "the name")
        this.speech.names.define(variable)
        return `{% capture ${pathText([variable])} %}`
      })
    }
    if (word === "mininlist" || word === "maxinlist") return this.#extreme(word, rest, text, at)
    const remedy = /catalog|collection/.test(word)
      ? fetchFirst
      : Object.hasOwn(blockRemedies, word)
      ? blockRemedies[word]
      : undefined
    if (remedy !== undefined) return result.openKept(word, text, at, remedy)
    result.openIf(name, text, at, () => {
      const test = this.#values.blockTest(source)
      if (test !== undefined) return test
      throw new NoEquivalent(
        rest.trim() === ""
          ? `Write {% if ${name} != blank %}, or for a list {% for item in ${name} %}`
          : `Write the condition in Liquid, such as {% if plan == "pro" %}: there is no helper ${name}`,
      )
    })
  }

  #close(name: string, text: string, at: number): void {
    const { block } = this.result
    if (block !== undefined && helperWord(block.name) !== helperWord(name)) {
      return this.result.keep(text, at, `Write {{/${block.name}}} first: this tag does not end the block that is open`)
    }
    this.result.close(text, at)
  }

  #enter(frame: Frame, locals: ReadonlyArray<readonly [string, ReadonlyArray<Part>]>): void {
    this.#values.frames.push(frame)
    this.speech.names.enter(locals)
  }

  readonly #leave = (): void => {
    this.#values.frames.pop()
    this.speech.names.leave()
  }

  #each(part: BracePart, rest: string): void {
    const { begin: at, text } = part
    const { result } = this
    const isPair = this.#scopes.pairs.has(part)
    let isEntered = false
    result.open("each", text, at, "{% endfor %}", () => {
      const { locals, params } = new CallReader(splitUp(rest)).call("each")
      const list = result.writer.operand(this.#values.value(params[0]))
      const name = locals[0] ?? this.#itemName()
      const own: Array<readonly [string, ReadonlyArray<Part>]> = locals.length === 0
        ? []
        : [[locals[0]!, isPair ? [name, 1] : [name]]]
      const [, second] = locals
      if (second !== undefined && !isPair && !/^(?:i|n|idx|index)$/i.test(second)) {
        result.find(
          "check",
          at,
          text,
          `Write {{ ${name}[0] }} for ${second}, and ${name}[1] for ${name}, if the list is an object`,
        )
      }
      if (second !== undefined) own.push([second, isPair ? [name, 0] : ["forloop", "index0"]])
      this.#enter({ parts: [name], isLoop: true, isPair }, own)
      isEntered = true
      return `${list.before}{% for ${name} in ${list.text} %}`
    }, this.#leave)
    if (!isEntered) this.#enter(this.#values.frames.at(-1)!, [])
  }

  #itemName(): string {
    const depth = this.#values.frames.filter(({ isLoop }) => isLoop).length
    return depth === 0 && !this.#hasItem ? "item" : this.result.newName("item")
  }

  #with(rest: string, text: string, at: number): void {
    let isEntered = false
    this.result.open("with", text, at, "{% endif %}", () => {
      const { locals, params } = new CallReader(splitUp(rest)).call("with")
      const { before, text: object } = this.result.writer.operand(this.#values.value(params[0]))
      const parts = partsOfPath(object)!
      this.#enter({ parts, isLoop: false, isPair: false }, locals[0] === undefined ? [] : [[locals[0], parts]])
      isEntered = true
      return `${before}{% if ${object} != blank %}`
    }, this.#leave)
    if (!isEntered) this.#enter(this.#values.frames.at(-1)!, [])
  }

  #extreme(word: string, rest: string, text: string, at: number): void {
    let isEntered = false
    this.result.open(word, text, at, "", () => {
      const { params } = new CallReader(splitUp(rest)).call(word)
      const sorted = filter(this.#values.value(params[0]), "sort", this.#values.value(params[1]))
      const name = this.result.newName("item")
      const assign = this.result.writer.assign(name, filter(sorted, word === "mininlist" ? "first" : "last"))
      this.#enter({ parts: [name], isLoop: false, isPair: false }, [])
      isEntered = true
      return assign
    }, this.#leave)
    if (!isEntered) this.#enter(this.#values.frames.at(-1)!, [])
  }

  #capture(word: string, filters: string, text: string, at: number): void {
    const name = this.result.newName("text")
    this.result.open(word, text, at, `{% endcapture %}{{ ${name} | ${filters} }}`, () => `{% capture ${name} %}`)
  }
}
