import { brazeRemedies } from "../dialects/LiquidRelatives.ts"
import { foreignTags } from "../dialects/LiquidTags.ts"
import { ofPlatform } from "../dialects/Notation.ts"
import { partsOf } from "../dialects/Parts.ts"
import { filters } from "../Filters.ts"
import { tagNames } from "../Grammar.ts"
import { literal, NoEquivalent, path, type Value } from "./Expression.ts"
import { linkTag, linkTo, targetOf } from "./Links.ts"
import { type CopyNames, partsOfPath, pathText } from "./Names.ts"
import { operate } from "./Operations.ts"
import type { Result } from "./Result.ts"

// Liquid of other platforms. A tag or output in which nothing differs stays byte for byte.

const token =
  /("[^"]*"|'[^']*')|((?:[A-Za-z_]\w*\s*\.\s*)?\$\{[^{}]*\}(?:\.[A-Za-z_][\w-]*|\[[^\]]*\])*)|([\p{L}_][\p{L}\p{N}_-]*(?:\.[\p{L}_][\p{L}\p{N}_-]*|\[(?:"[^"]*"|'[^']*'|[^\]"'$])*\])*\??)|(\{\{-?\s*|\s*-?\}\})|(\|)|([^])/gu

/** Words that are no names of values. */
const words = new Set(
  "and or not contains true false nil null empty blank in limit offset reversed cols by with as if elsif unless case when for assign capture echo cycle tablerow increment decrement"
    .split(" "),
)

const triggers = /^(?:event_properties|canvas_entry_properties|api_trigger_properties|context)$/

const knownTags: ReadonlySet<string> = new Set(tagNames)

/** Converts one source. */
export class LiquidFamily {
  /** Variables that tags before this place set, except the variable of the tag that is converted. */
  readonly #set = new Set<string>()

  constructor(readonly result: Result, readonly names: CopyNames, readonly hasWholeLinks = false) {}

  convert(): void {
    const { result } = this
    const { liquid, locals } = partsOf(result.source)
    for (const name of locals) this.names.define(name)
    let from = 0
    for (const { begin, inner, kind, text } of liquid) {
      if (begin > from) result.emit(result.source.slice(from, begin), from)
      from = begin + text.length
      const checked = /^(?:if|unless|case|for|capture|tablerow)\b/.test(inner)
        ? `{% ${/^\w+/.exec(inner)![0]} x %}`
        : ""
      if (kind === "output") result.convert(text, begin, () => this.#output(text, inner, begin))
      else {result.convert(text, begin, () =>
          this.#tag(text, inner, begin), checked === "{% for x %}" ? "{% for x in y %}" : checked)}
      const [, variable] = /^(?:assign|capture|for|tablerow)\s+([\w-]+)/.exec(kind === "tag" ? inner : "") ?? []
      if (variable !== undefined) this.#set.add(variable)
    }
    if (from < result.source.length) result.emit(result.source.slice(from), from)
  }

  #output(text: string, inner: string, at: number): string {
    const [, block, snippet] = sharedBlock.exec(inner) ?? []
    const name = block ?? snippet
    if (name !== undefined && this.names.local("snippets") === undefined) return this.result.snippet(name, text, at)
    const plain = /^\w+$/.test(inner) && inner !== "unsubscribe_url" ? targetOf(inner) : undefined
    if (plain !== undefined) return `{{ ${linkTo(this.result, plain, text, at)} }}`
    const { isChanged, value } = this.#pipeline(inner, at)
    if (!isChanged) return text
    const [open] = /^\{\{-?/.exec(text)!
    return this.result.writer.output(value, false, open, text.endsWith("-}}") ? "-}}" : "}}")
  }

  #tag(text: string, inner: string, at: number): string {
    const [, name = "", rest = ""] = /^(\w+)\s*([^]*)$/.exec(inner) ?? []
    if (name === "translation" || name === "endtranslation") {
      this.result.find(
        "check",
        at,
        text,
        "Make a variant for each language: the words are kept, and the translations are not here",
      )
      return ""
    }
    if (name === "cio_link") {
      const [, url] = /\burl:\s*["']?(\S+?)["']?(?:\s|$)/.exec(rest) ?? []
      if (/\btrack:\s*["']?false/.test(rest)) {
        const remedy = "Check the tracking of links in the settings of the template: this link was not tracked"
        this.result.find("check", at, text, remedy)
      }
      if (url !== undefined) return url
    }
    const link = knownTags.has(name)
      ? undefined
      : linkTag(this.result, name, this.#words(rest), text, at, this.hasWholeLinks)
    if (link !== undefined) return link
    if (!knownTags.has(name)) throw new NoEquivalent(remedyOf(name, rest))
    if (name === "assign" || name === "echo") {
      const [, head = "", pipeline = rest] = name === "echo" ? [] : /^([\w-]+\s*=\s*)([^]*)$/.exec(rest) ?? []
      const { isChanged, value } = this.#pipeline(pipeline, at)
      if (!isChanged) return text
      if (name === "echo") return this.result.writer.output(value)
      return this.result.writer.assign(head.replace(/\s*=\s*$/, ""), value)
    }
    const made = this.#rewritten(rest)
    return made === rest ? text : `${/^\{%-?/.exec(text)![0]} ${name} ${made} ${text.endsWith("-%}") ? "-%}" : "%}"}`
  }

  #words(rest: string): string {
    return rest.replace(/^["']|["']$/g, "").trim()
  }

  /** Rewrites names, and leaves everything else. */
  #rewritten(source: string): string {
    let made = ""
    let before = ""
    for (const [whole, text, braze, name, braces] of source.matchAll(token)) {
      if (braces !== undefined) continue
      if (text === undefined && braze !== undefined) made += this.#braze(braze)
      else if (text === undefined && name !== undefined && !words.has(name)) {
        const isArgument = /^\s*:/.test(source.slice(before.length + whole.length))
        made += isArgument ? whole : this.#name(name)
      } else made += whole
      before += whole
    }
    return made.trim() === source.trim() ? source : made.trim()
  }

  #braze(written: string): string {
    const [, from, name = "", tail = ""] = /^(?:(\w+)\s*\.\s*)?\$\{\s*([^{}]*?)\s*\}([^]*)$/.exec(written)!
    if (from !== undefined && Object.hasOwn(brazeRemedies, from)) throw new NoEquivalent(brazeRemedies[from]!)
    if (/unsubscribed?_url$/.test(name)) return "unsubscribe_url"
    if (/^set_user_to_/.test(name)) {
      throw new NoEquivalent(
        "Pass the address as a field, such as {{ subscribe_url }}: this service makes no such link",
      )
    }
    const parts = from !== undefined && triggers.test(from) ? ["event", name] : [name]
    if (parts.length === 1) this.#failIfSet(name)
    return this.result.field(written, pathText(parts) + tail)
  }

  #failIfSet(name: string): void {
    if (this.#set.has(name)) this.names.failIfHidden(name)
  }

  #name(written: string): string {
    const [, first = "", tail = ""] = /^([\p{L}_][\p{L}\p{N}_-]*)([^]*)$/u.exec(written)!
    const nested = Object.keys(this.names.roots).find((key) => key.includes(".") && written.startsWith(`${key}.`))
    if (nested !== undefined) return this.result.field(written, written.slice(nested.length + 1))
    const root = Object.hasOwn(this.names.roots, first) ? this.names.roots[first] : undefined
    if (this.names.local(first) !== undefined || first === "forloop" || first === "tablerowloop") return written
    if (root === undefined) return this.result.field(written, written)
    if (typeof root === "object") throw new NoEquivalent("remedy" in root ? root.remedy : ofPlatform)
    if (root !== "") return this.result.field(written, root + tail)
    const [, name, other] = /^(?:\.([A-Za-z_][\w-]*)|\[\s*(?:"([^"]*)"|'[^']*')\s*\])/.exec(tail) ?? []
    const parts = partsOfPath(tail.startsWith(".") ? tail.slice(1) : tail, false)
    this.#failIfSet(String(parts?.[0]))
    if (parts !== undefined) return this.result.field(written, pathText(parts))
    if (name === undefined && other === undefined) {
      throw new NoEquivalent(
        `Name a member of ${first}, such as {{ first_name }}: the top level has the fields of the person`,
      )
    }
    return this.result.field(written, tail.replace(/^\./, ""))
  }

  /** Reads a value with its filters. */
  #pipeline(source: string, at: number): { readonly value: Value; readonly isChanged: boolean } {
    const [first = "", ...rest] = splitAt(source, "|")
    const input = this.#rewritten(first)
    let isChanged = input !== first
    let value: Value = /^\s*(?:"[^"]*"|'[^']*')\s*$/.test(input)
      ? literal(input.trim().slice(1, -1))
      : path(input.trim())
    for (const written of rest) {
      const [, name = "", given = ""] = /^\s*([A-Za-z_]\w*)\s*(?::([^]*))?$/.exec(written) ?? []
      const args = given.trim() === "" ? [] : splitAt(given, ",").map((arg) => this.#rewritten(arg).trim())
      if (args.join(",") !== splitAt(given, ",").map((arg) => arg.trim()).join(",")) isChanged = true
      if (filters.has(name)) {
        if (name === "divided_by" && args.length === 1 && !/^-?\d+\.\d+$/.test(args[0]!)) {
          if (/^-?\d+$/.test(args[0]!)) args.push("true")
          isChanged = true
          this.result.find(
            "check",
            at,
            source,
            "Compare the quotient: Liquid of Ruby drops the decimals of whole numbers, which divided_by: 3, true does here for all numbers",
          )
        }
        value = { kind: "filter", input: value, name, args: args.map(path) }
        continue
      }
      isChanged = true
      if (name === "property_accessor" && value.kind === "path" && args[0] !== undefined) {
        value = path(`${value.path}[${args[0]}]`)
        continue
      }
      const values = args.map((arg) =>
        /^(["']).*\1$/s.test(arg) ? literal(arg.slice(1, -1)) : /^-?\d+$/.test(arg) ? literal(Number(arg)) : path(arg)
      )
      value = operate(name, value, values, { truth: "liquid", dates: "java" })
    }
    return { value, isChanged }
  }
}

/** A content block of Braze or a snippet of Customer.io. */
const sharedBlock = /^content_blocks\.\$\{\s*([^{}]+?)\s*\}(?:\s*\|\s*id:\s*['"][^'"]*['"])?$|^snippets\.([\w-]+)$/

const remedyOf = (name: string, rest: string): string => {
  const remedy = Object.hasOwn(foreignTags, name) ? foreignTags[name]!.write : undefined
  if (remedy === undefined) {
    return `Write this part in Liquid, or pass it as a field: the tag "${name}" has no equivalent`
  }
  return /^[{<]/.test(remedy) ? `Write ${remedy.replace("$1", rest.slice(0, 60))}` : remedy
}

/** Splits a text at a sign outside of quotes. */
const splitAt = (source: string, sign: string): ReadonlyArray<string> => {
  const parts: Array<string> = [""]
  for (const [whole, quoted] of source.matchAll(/("[^"]*"|'[^']*')|[^]/g)) {
    if (quoted === undefined && whole === sign) parts.push("")
    else parts.push(parts.pop()! + whole)
  }
  return parts
}
