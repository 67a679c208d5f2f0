import { loopNames } from "../dialects/LiquidRelatives.ts"
import { foreignTags } from "../dialects/LiquidTags.ts"
import { type BracePart, bracePartsOf, pythonic, withSpaceControl, withSpaceSigns } from "./Braces.ts"
import { filter, literal, NoEquivalent, type Value } from "./Expression.ts"
import { linkTag, linkTo, targetOf } from "./Links.ts"
import type { Part } from "./Names.ts"
import { dated } from "./Operations.ts"
import { Expressions, type Speech } from "./Pythonic.ts"
import type { Result } from "./Result.ts"

// Tags of Django (Klaviyo) and Jinja (HubSpot, MoEngage).

const now = literal("now")

/** Whether a value is the time of the rendering, without a format. */
const isNow = (value: Value): boolean => value.kind === "literal" && value.value === "now"

/** Tags that are a value. */
const valueTags: Readonly<Record<string, (args: ReadonlyArray<Value>) => Value>> = {
  current_year: () => filter(now, "date", literal("%Y")),
  current_month_name: () => filter(now, "date", literal("%B")),
  current_month: () => filter(now, "date", literal("%m")),
  current_day: () => filter(now, "date", literal("%-d")),
  current_weekday: () => filter(now, "date", literal("%A")),
  today: ([format = literal("%Y-%m-%d")]) => dated(now, format, "django"),
  now: ([format = literal("Y-m-d")]) => dated(now, format, "django"),
}

/** Liquid, which the other languages do not have: a space behind the colon of a filter, and words of its own. */
const isLiquid = (source: string): boolean =>
  /\|\s*\w+:\s|^\[|\s(?:blank|nil|contains)(?:\s|$)|\s(?:limit|offset):/.test(
    source.replace(/"[^"]*"|'[^']*'/g, "''"),
  )

/** Tags of Liquid, which the other languages do not have. */
const ownTags = new Set("assign capture endcapture case when endcase echo increment decrement".split(" "))

/** Tags whose signs for white space are applied to the texts around them. */
const isConvertedTag = ({ inner, kind }: BracePart): boolean =>
  kind === "comment" || (kind === "tag" && !ownTags.has(/^\w*/.exec(inner)![0]))

/** Blocks whose content another platform makes. */
const keptBlocks: Readonly<Record<string, string>> = {
  catalog: "endcatalog",
  macro: "endmacro",
  call: "endcall",
  filter: "endfilter",
  module_block: "end_module_block",
  widget_block: "end_widget_block",
  blocktrans: "endblocktrans",
  blocktranslate: "endblocktranslate",
  cache: "endcache",
  block: "endblock",
}

/** Converts one source. */
export class Django {
  #number = 0
  /** How often a name occurs in the source. */
  readonly #counts = new Map<string, number>()

  constructor(readonly result: Result, readonly speech: Speech) {
    for (const [, name] of result.source.matchAll(/\{%-?\s*assign\s+(\w+)/g)) speech.flags.add(name!)
  }

  convert(): void {
    const { result } = this
    let until: string | undefined
    for (const part of withSpaceControl(bracePartsOf(result.source, pythonic), isConvertedTag)) {
      if (until !== undefined) {
        const isEnd = part.kind === "tag" && part.inner === until
        result.emit(isEnd ? (until === "endcomment" ? "{% endcomment %}" : "{% endraw %}") : part.text, part.begin)
        if (isEnd) until = undefined
      } else if (part.kind === "tag" && /^(?:comment|verbatim|raw)\b/.test(part.inner)) {
        until = `end${/^\w+/.exec(part.inner)![0]}`
        result.emit(until === "endcomment" ? "{% comment %}" : "{% raw %}", part.begin)
      } else this.#part(part)
    }
    result.finish()
  }

  #part(part: BracePart): void {
    const { begin, inner, kind, text } = part
    if (kind === "text") this.result.emit(text, begin)
    else if (kind === "comment") {
      this.result.emit(`{% comment %}${inner.replaceAll("%}", "% }")}{% endcomment %}`, begin)
    } else if (kind === "tag") this.#tag(part)
    else {
      this.result.convert(
        text,
        begin,
        () => withSpaceSigns(this.#output(inner, text, begin), part),
      )
    }
  }

  #output(inner: string, text: string, at: number): string {
    if (isLiquid(inner)) return text
    const isName = /^\w+$/.test(inner) && this.speech.names.local(inner) === undefined
    const target = isName ? targetOf(inner) : undefined
    if (target !== undefined) return `{{ ${linkTo(this.result, target, text, at)} }}`
    const value = this.#whole(inner)
    if (isNow(value)) throw new NoEquivalent("Write {{ 'now' | date: '%-d %B %Y' }} with the format to show")
    return this.result.show(value)
  }

  #read(source: string): Expressions {
    // Names of the state of a loop are written at once, because they are the same everywhere.
    const named = source.replace(
      /\b(?:forloop|loop)\.\w+(?:\.\w+)*/g,
      (name) => {
        if (/parentloop/.test(name)) {
          throw new NoEquivalent("Set a variable in the outer loop, as in {% assign outer = forloop.index %}")
        }
        const made = loopNames[name]
        const isOwn = name.startsWith("forloop.") || this.speech.names.local("loop") !== undefined
        if (made === undefined && !isOwn) {
          throw new NoEquivalent(`Compute the value before the call: ${name} has no equivalent`)
        }
        return made ?? name
      },
    )
    return new Expressions(named, this.speech)
  }

  #whole(source: string): Value {
    const expression = this.#read(source)
    const value = expression.value()
    expression.finish()
    return value
  }

  readonly #test = (source: string) => () => {
    const expression = this.#read(source)
    const test = expression.condition()
    expression.finish()
    return test
  }

  #tag(part: BracePart): void {
    const { begin: at, inner, text } = part
    const { result } = this
    const [, name = "", rest = ""] = /^(\w+)\s*([^]*)$/.exec(inner) ?? []
    if (ownTags.has(name)) return result.emit(text, at)
    switch (name) {
      case "if":
        if (isLiquid(inner)) return result.open("if", text, at, "{% endif %}", () => text)
        return result.openIf("if", text, at, this.#test(rest))
      case "unless":
        return result.openIf("unless", text, at, () => ({ kind: "not", of: this.#test(rest)() }))
      case "ifequal":
      case "ifnotequal":
        return result.openIf(name, text, at, this.#test(rest.replace(/\s+/, name === "ifequal" ? " == " : " != ")))
      case "elif":
      case "elseif":
      case "elsif":
        if (isLiquid(inner)) return result.emit(text, at)
        return result.branch(text, at, this.#test(rest))
      case "else":
      case "empty":
        return result.branch(text, at)
      case "for":
        return this.#loop(rest, text, at)
      case "with":
        return this.#with(rest, text, at)
      case "set":
        return this.#set(rest, text, at)
      case "autoescape":
        return this.#scope(name, at, () => result.find("check", at, text, foreignTags["autoescape"]!.write))
      case "spaceless":
        return this.#scope(name, at, () => {})
      case "load":
        return result.emit("", at)
      case "cycle":
        return void result.convert(text, at, () => {
          const words = rest.match(/"[^"]*"|'[^']*'/g) ?? []
          if (words.length === 0) throw new NoEquivalent("Write the values of cycle as texts in quotes")
          return `{% cycle ${words.join(", ")} %}`
        })
    }
    if (/^end/.test(name)) return this.#end(name, text, at)
    if (Object.hasOwn(valueTags, name)) {
      return void result.convert(text, at, () => result.show(valueTags[name]!(rest === "" ? [] : [this.#whole(rest)])))
    }
    const [, words = ""] = /^["']([^"']*)["']/.exec(rest) ?? []
    const link = linkTag(result, name, words, text, at)
    if (link !== undefined) return result.emit(link, at)
    const remedy = foreignTags[name]?.write ?? "Write this part in Liquid: the tag has no equivalent"
    const inWords = /^[{<]/.test(remedy) ? `Write ${remedy.replace("$1", rest.slice(0, 60))}` : remedy
    if (Object.hasOwn(keptBlocks, name)) return result.openKept(name, text, at, inWords)
    result.keep(text, at, inWords)
  }

  #scope(name: string, at: number, note: () => void): void {
    note()
    this.result.openScope(name, at)
  }

  #end(name: string, text: string, at: number): void {
    const { block } = this.result
    const opened = name.slice(3).replace(/^_/, "")
    const fits = block !== undefined && (block.name === opened || opened === "" || block.name.startsWith(opened))
    if (fits) this.result.close(text, at)
    else this.result.keep(text, at, "Write the tags in their order: this one does not end the block that is open")
  }

  #loop(rest: string, text: string, at: number): void {
    const { names } = this.speech
    const [, item = "", second, list = ""] = /^(\w+)(?:\s*,\s*(\w+))?\s+in\s+([^]+)$/.exec(rest) ?? []
    this.result.open("for", text, at, "{% endfor %}", () => {
      if (item === "") throw new NoEquivalent("Write {% for item in items %}")
      if (isLiquid(rest)) {
        names.enter([[item, [item]]])
        return text
      }
      const made = this.#list(second === undefined ? list : list.replace(/\.items$/, ""))
      const own = second === undefined ? item : this.result.newName("pair")
      const means: ReadonlyArray<readonly [string, ReadonlyArray<Part>]> = second === undefined
        ? [[item, [item]]]
        : [[item, [own, 0]], [second, [own, 1]]]
      names.enter(means)
      return `${made.before}{% for ${own} in ${made.text} %}`
    }, () => names.leave())
    if (this.result.block?.isKept === true) names.enter([])
  }

  /** The list of a loop: with `limit` and `offset` for a slice, and with the numbers of `range`. */
  #list(source: string): { readonly before: string; readonly text: string } {
    const [, from, to] = /^range\(\s*(?:(\d+)\s*,\s*)?(\d+)\s*\)$/.exec(source.trim()) ?? []
    if (to !== undefined) return { before: "", text: `(${from ?? 0}..${Number(to) - 1})` }
    const [, list = source, sign, first = "0", last] =
      /^([^|]+)\|\s*slice\s*:\s*(["'])(\d*):(\d*)\2$/.exec(source.trim()) ?? []
    const isReversed = /\s+reversed$/.test(list)
    const expression = this.#read(list.replace(/\s+reversed$/, ""))
    const written = this.result.writer.operand(expression.operand())
    expression.finish()
    const offset = Number(first || 0)
    const limit = sign === undefined || last === "" ? "" : ` limit: ${Number(last) - offset}`
    return {
      before: written.before,
      text: `${written.text}${isReversed ? " reversed" : ""}${offset === 0 ? "" : ` offset: ${offset}`}${limit}`,
    }
  }

  #with(rest: string, text: string, at: number): void {
    const { names } = this.speech
    const [, later, asName] = /^([^]+?)\s+as\s+(\w+)$/.exec(rest) ?? []
    const pairs = asName !== undefined ? [[asName, later!] as const] : rest.split(/\s+(?=\w+\s*=)/).flatMap((pair) => {
      const [, name, value] = /^(\w+)\s*=\s*([^]+)$/.exec(pair) ?? []
      return name === undefined ? [] : [[name, value!] as const]
    })
    this.result.open("with", text, at, "", () => {
      const own = pairs.map(([name, value]) => {
        // A name that means something else outside of the block gets another one.
        const isUsed = this.#usesIn(this.result.source, name) > this.#usesInBlock(name, at)
        const made = isUsed ? `${name}_${++this.#number}` : name
        return [name, made, this.result.writer.assign(made, this.#whole(value))] as const
      })
      names.enter(own.map(([name, made]) => [name, [made]]))
      return own.map(([, , assign]) => assign).join("")
    }, () => names.leave())
    if (this.result.block?.isKept === true) names.enter([])
  }

  #usesIn(text: string, name: string): number {
    const key = text === this.result.source ? name : undefined
    const known = key === undefined ? undefined : this.#counts.get(key)
    if (known !== undefined) return known
    const count = text.match(new RegExp(`(?<![.\\w])${name}\\b`, "g"))?.length ?? 0
    if (key !== undefined) this.#counts.set(key, count)
    return count
  }

  /** How often a name occurs in the block that begins at `at`. */
  #usesInBlock(name: string, at: number): number {
    const end = this.result.source.indexOf("endwith", at)
    return this.#usesIn(this.result.source.slice(at, end === -1 ? at + 10_000 : end), name)
  }

  #set(rest: string, text: string, at: number): void {
    const { result, speech: { names } } = this
    const [, name = "", value] = /^(\w+)\s*(?:=\s*([^]+))?$/.exec(rest) ?? []
    if (name !== "" && value === undefined) {
      names.define(name)
      return result.open("set", text, at, "{% endcapture %}", () => `{% capture ${name} %}`)
    }
    result.convert(text, at, () => {
      if (value === undefined) throw new NoEquivalent("Write {% assign name = value %}")
      const read = this.#whole(value)
      if (isNow(read)) {
        result.find("check", at, text, `Write {{ ${name} | date: '%-d %B %Y' }} where the date is shown`)
      }
      const made = result.writer.assign(name, read)
      names.define(name)
      return made
    })
    if (result.block?.name === "for" && new RegExp(`\\b${name}\\b`).test(value ?? "")) {
      result.find(
        "check",
        at,
        text,
        "Compare the values: a variable set in a loop keeps its value behind the loop here",
      )
    }
  }
}

/** Functions of HubSpot. */
export const hubspotFunctions = (names: Speech["names"]): Speech["functions"] => ({
  personalization_token: ([token, otherwise]) => {
    if (token?.kind !== "literal") throw new NoEquivalent("Name the property in quotes")
    const value = names.value(String(token.value).split("."), String(token.value))
    return otherwise === undefined ? value : filter(value, "default", otherwise)
  },
  today: () => now,
  now: () => now,
})
