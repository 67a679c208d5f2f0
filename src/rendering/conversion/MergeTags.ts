import { fetchFirst, fieldOf, ownWords } from "../dialects/Notation.ts"
import { mergeFilters, mergeTags } from "../dialects/TextNotations.ts"
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
  type Value,
} from "./Expression.ts"
import { linkTo } from "./Links.ts"
import { dated } from "./Operations.ts"
import type { Result } from "./Result.ts"

// Merge tags of Mailchimp and Mandrill.

const tag = /(?<!\d)\*\|([^|\n]{1,200}(?:\|[^|*\n]{1,100})?)\|\*/g

const links: Readonly<Record<string, "unsubscribe_url" | "preferences_url" | "browser_url">> = {
  UNSUB: "unsubscribe_url",
  ARCHIVE: "browser_url",
  UPDATE_PROFILE: "preferences_url",
}

/** Converts one source. */
export class MergeTags {
  constructor(readonly result: Result) {}

  convert(): void {
    const { result } = this
    let from = 0
    for (const match of result.source.matchAll(tag)) {
      const at = match.index
      if (at > from) result.emit(result.source.slice(from, at), from)
      from = at + match[0].length
      this.#tag(match[1]!.trim(), match[0], at)
    }
    if (from < result.source.length) result.emit(result.source.slice(from), from)
    result.finish()
  }

  #field(name: string): Value {
    const plain = name.trim()
    if (!/^[\p{L}_][\p{L}\p{N}_ -]*$/u.test(plain)) {
      throw new NoEquivalent(
        `Write this part in Liquid, or pass it as a field: "${plain.slice(0, 40)}" has no equivalent`,
      )
    }
    return path(this.result.field(plain, fieldOf(plain)))
  }

  #test(text: string): CopyTest {
    if (text.includes("*|")) {
      throw new NoEquivalent(
        "Pass the value of the inner tag as a field, and compare with it: a tag in a tag has no equivalent",
      )
    }
    const [, name, sign, right = ""] = /^([^=!<>]+?)\s*(!=|>=|<=|=|>|<)\s*(.*)$/.exec(text.trim()) ?? []
    if (name === undefined) return { kind: "truth", value: this.#field(text), truth: "blank" }
    const value = /^-?\d+(?:\.\d+)?$/.test(right)
      ? literal(Number(right))
      : literal(right.replace(/^(["'])(.*)\1$/, "$2"))
    const operator = (sign === "=" ? "==" : sign) as CopyOperator
    // Mailchimp has texts alone: a field that nobody filled in is an empty text, and 5 is "5".
    return right === ""
      ? compare(this.#field(name), operator, path("blank"))
      : compareAnyType(this.#field(name), operator, value)
  }

  #tag(inner: string, text: string, at: number): void {
    const { result } = this
    const [, head = "", rest = ""] = /^([A-Za-z_]+)(?::(.*))?$/s.exec(inner) ?? []
    const word = head.toUpperCase()
    if (word === "IF") return result.openIf("IF", text, at, () => this.#test(rest))
    if (word === "IFNOT") return result.openIf("IFNOT", text, at, () => not(this.#test(rest)))
    if (word === "ELSEIF") return result.branch(text, at, () => this.#test(rest))
    if (word === "ELSE") return result.branch(text, at)
    if (word === "END") return result.close(text, at)
    if (/^(?:INTERESTED|GROUPINGS?|GROUP)$/.test(word)) {
      const remedy = "Pass the groups as a field, and write {% if interests contains 'name' %}"
      return word === "INTERESTED" || word === "GROUPING"
        ? result.openKept(word, text, at, remedy)
        : result.keep(text, at, remedy)
    }
    if (/^(?:FEED|FEEDBLOCK|FEEDITEMS|RSS|RSSITEMS)$/.test(word)) {
      return /^(?:FEEDBLOCK|FEEDITEMS|RSSITEMS)$/.test(word) && !/^\|?END/i.test(rest)
        ? result.openKept(word, text, at, fetchFirst)
        : result.keep(text, at, fetchFirst)
    }
    result.convert(text, at, () => this.#value(inner, word, rest, text, at))
  }

  #value(inner: string, word: string, rest: string, text: string, at: number): string {
    const { result } = this
    const target = links[inner.toUpperCase()] ?? (word === "UNSUB" ? "unsubscribe_url" : undefined)
    if (target !== undefined) return `{{ ${linkTo(result, target, text, at)} }}`
    if (word === "DATE") return result.show(dated(literal("now"), literal(rest === "" ? "j F Y" : rest), "php"))
    const known = mergeTags[inner.toUpperCase()]
    if (known !== undefined && known.startsWith("{{")) return known
    if (known !== undefined) throw new NoEquivalent(known)
    if (word === "LIST" || (word === "HTML" && /^LIST/i.test(rest))) throw new NoEquivalent(ownWords)
    if (rest !== "" && mergeFilters[word] !== undefined) {
      return result.show(filter(this.#field(rest), mergeFilters[word]))
    }
    const [name = "", fallback] = inner.split("|")
    const value = this.#field(name)
    if (/^m?merge\d+$/i.test(name)) {
      result.find("check", at, text, "Name the field: the audience shows what this merge tag is")
    }
    return result.show(fallback === undefined ? value : filter(value, "default", literal(fallback)))
  }
}
