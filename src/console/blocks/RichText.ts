import { attribute, blanked, liquidParts, token } from "../../checker/MjmlTokens.ts"
import { t } from "../browser/language.ts"
import { closed } from "./Liquid.ts"

// Texts of messages as a tree that the editor shows without code, and back. Pure.

/** A text, Liquid or an element of a text. `html` is the text as it is written in the source, with character references. */
export type RichNode =
  | { readonly html: string }
  | { readonly liquid: string }
  | { readonly name: string; readonly tag: string; readonly children: ReadonlyArray<RichNode> }

/** Elements that the editor shows. */
export const richNames: ReadonlySet<string> = new Set(
  "a b br div em h1 h2 h3 h4 h5 h6 i li ol p s small span strong sub sup u ul".split(" "),
)

/** Splits a text into texts and Liquid. */
export const plainOf = (source: string): ReadonlyArray<RichNode> => {
  const nodes: Array<RichNode> = []
  let copied = 0
  const upTo = (end: number) => {
    if (end > copied) nodes.push({ html: source.slice(copied, end) })
  }
  for (const [from, to] of liquidParts(source)) {
    upTo(from)
    nodes.push({ liquid: source.slice(from, to) })
    copied = to
  }
  upTo(source.length)
  return nodes
}

/** Returns the tree of a text. Undefined if it contains HTML that the editor does not show. */
export const richOf = (source: string): ReadonlyArray<RichNode> | undefined => {
  const text = blanked(source)
  const root: Array<RichNode> = []
  const open: Array<{ readonly name: string; readonly children: Array<RichNode> }> = [{ name: "", children: root }]
  for (let at = 0; at < text.length;) {
    token.lastIndex = at
    const match = token.exec(text)
    if (match === null) return undefined
    const { close, open: name, text: words } = match.groups!
    const begin = at
    at = token.lastIndex
    const parent = open.at(-1)!
    if (words !== undefined) parent.children.push(...plainOf(source.slice(begin, at)))
    else if (close !== undefined) {
      if (open.length === 1 || close.toLowerCase() !== parent.name) return undefined
      open.pop()
    } else {
      const lower = name?.toLowerCase() ?? ""
      if (!richNames.has(lower)) return undefined
      const children: Array<RichNode> = []
      parent.children.push({ name: lower, tag: source.slice(begin, at), children })
      if (lower !== "br" && !match[0].endsWith("/>")) open.push({ name: lower, children })
      else if (lower !== "br") return undefined
    }
  }
  return open.length === 1 ? root : undefined
}

/** Returns the source of a tree. */
export const sourceOf = (nodes: ReadonlyArray<RichNode>): string =>
  nodes.map((node) =>
    "html" in node
      ? node.html
      : "liquid" in node
      ? node.liquid
      : node.name === "br"
      ? node.tag
      : `${node.tag}${sourceOf(node.children)}</${node.name}>`
  ).join("")

/** Returns the HTML of a typed text. Liquid in it stays Liquid. */
export const htmlOf = (text: string): string =>
  plainOf(text).map((node) =>
    "liquid" in node
      ? node.liquid
      : "html" in node
      ? node.html.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll(
        "\u00a0",
        "&nbsp;",
      )
      : ""
  ).join("")

/** A field of a person that a text contains, and the text for people without it. */
export interface FieldChip {
  readonly path: string
  readonly fallback: string
}

// A text with escape sequences other than `\\` is no field, because one line of an input cannot show it.
const fieldPattern =
  /^\{\{-?\s*([\p{L}_][\p{L}\p{N}_.-]*)\s*(?:\|\s*default:\s*("(?:[^"\\]|\\\\)*"|'(?:[^'\\]|\\\\)*')\s*)?-?\}\}$/u

/** Whether a field can have this path in Liquid, such as `first_name` or `cart.total`. */
export const isFieldPath = (path: string): boolean =>
  /^[\p{L}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_][\p{L}\p{N}_-]*)*$/u.test(path)

/** Returns the field of an output such as `{{ first_name | default: "there" }}`. Undefined for other Liquid. */
export const fieldOf = (liquid: string): FieldChip | undefined => {
  const [, path, quoted = '""'] = fieldPattern.exec(liquid) ?? []
  return path === undefined ? undefined : { path, fallback: quoted.slice(1, -1).replaceAll("\\\\", "\\") }
}

/** Returns the output of a field. Liquid has no sign for a quotation mark in a text, so that one kind is replaced. */
export const liquidOf = ({ fallback, path }: FieldChip): string => {
  if (fallback === "") return `{{ ${path} }}`
  const quote = fallback.includes('"') ? "'" : '"'
  const text = fallback.replaceAll("\\", "\\\\").replaceAll(quote, "’").replaceAll("}}", "} }")
  return `{{ ${path} | default: ${quote}${text}${quote} }}`
}

/** Returns short words for Liquid, for readers who do not know it. */
export const wordsOf = (liquid: string): string => {
  const field = fieldOf(liquid)
  if (field !== undefined) return field.fallback === "" ? field.path : field.fallback
  const inside = liquid.replace(/^\{[{%]-?\s*|\s*-?[%}]\}$/g, "").replace(/\s+/g, " ")
  const [, tag = "", rest = ""] = /^(\w+) ?(.*)$/.exec(inside) ?? []
  if (liquid.startsWith("{{")) return inside
  const words: Readonly<Record<string, string>> = {
    if: t`Only if ${rest}`,
    unless: t`Not if ${rest}`,
    elsif: t`otherwise, if ${rest}`,
    else: t`otherwise`,
    case: t`Depending on ${rest}`,
    when: t`if ${rest}`,
    for: t`For each ${rest}`,
    render: t`Snippet ${rest}`,
  }
  return Object.hasOwn(words, tag) ? words[tag]!.trim() : tag.startsWith("end") ? t`end of ${tag.slice(3)}` : inside
}

/** Returns the readable words of a text: without tags, with the texts for missing fields. */
export const excerptOf = (source: string): string =>
  blanked(source) === ""
    ? ""
    : plainOf(source).map((node) =>
      "liquid" in node ? (node.liquid.startsWith("{{") ? wordsOf(node.liquid) : "") : "html" in node ? node.html : ""
    ).join("").replace(/<[^<>]*>/g, " ").replace(/&nbsp;/g, " ").replace(/&lt;/g, "<").replace(/&gt;/g, ">")
      .replace(/&amp;/g, "&").replace(/\s+/g, " ").trim()

/** Returns the text of an attribute between quotation marks. Liquid stays Liquid. */
export const quoted = (value: string): string =>
  plainOf(closed(value)).map((node) =>
    "html" in node
      ? node.html.replace(/&(?=#(?!123;)|\w+(?![\w=]))/g, "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;")
      : sourceOf([node])
  ).join("")

/** Returns an opening tag with another value of an attribute. */
export const withAttribute = (tag: string, name: string, value: string): string => {
  const written = `${name}="${quoted(value)}"`
  const text = blanked(tag)
  const begin = /^<[^\s/>]+/.exec(text)![0].length
  for (const { 0: whole, groups, index } of text.slice(begin).matchAll(attribute)) {
    if (groups!["name"]!.toLowerCase() !== name) continue
    return tag.slice(0, begin + index) + written + tag.slice(begin + index + whole.length)
  }
  return `${tag.slice(0, begin)} ${written}${tag.slice(begin)}`
}

/** Returns the value of an attribute of an opening tag, as it is written between quotation marks. Empty without it. */
export const attributeOf = (tag: string, name: string): string => {
  const text = blanked(tag)
  for (const { groups, index, 0: whole } of text.matchAll(attribute)) {
    if (groups!["name"]!.toLowerCase() !== name || groups!["value"] === undefined) continue
    const end = index + whole.length
    return tag.slice(end - groups!["value"].length, end).replace(/^["']|["']$/g, "")
  }
  return ""
}
