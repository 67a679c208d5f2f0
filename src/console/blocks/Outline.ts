import { attribute, blank, blanked, liquidParts, type Span, token } from "../../checker/MjmlTokens.ts"
import { isBalanced, isEnd, tagNameOf } from "./Liquid.ts"

// The outline of an MJML source: its sections, columns and elements, with their places in the source. Pure.

/** Kinds of elements that the editor has a form for. Liquid around elements is `liquid`, and its `else` is `branch`. */
export type BlockKind =
  | "section"
  | "group"
  | "column"
  | "text"
  | "button"
  | "image"
  | "divider"
  | "spacer"
  | "liquid"
  | "branch"
  | "code"

/** An attribute, with its value as it is written between the quotation marks. */
export interface BlockAttribute {
  readonly name: string
  readonly value: string
  readonly from: number
  readonly to: number
}

/** A part of a message that can be moved as a whole. Positions are offsets in the source. Unit: UTF-16 code units. */
export interface Block {
  readonly kind: BlockKind
  /** Name of the element, such as `mj-text`. Empty for Liquid. */
  readonly name: string
  /** Begins with the comments before the element. */
  readonly from: number
  readonly to: number
  readonly attributes: ReadonlyArray<BlockAttribute>
  /** The opening tag. */
  readonly tag: Span
  /** The content. Undefined for an element without a closing tag. */
  readonly content: Span | undefined
  /** Blocks in the order of the source. Empty for kinds without blocks in them. */
  readonly children: ReadonlyArray<Block>
}

/** The outline of a source. */
export interface Outline {
  readonly source: string
  /** `mj-body`, whose children are the sections. */
  readonly body: Block
  /** Defaults of attributes by element, from `mj-attributes`. Defaults of a class have the key `.name`. */
  readonly defaults: ReadonlyMap<string, ReadonlyMap<string, string>>
}

const kinds: Readonly<Record<string, BlockKind>> = {
  "mj-body": "group",
  "mj-wrapper": "group",
  "mj-section": "section",
  "mj-group": "section",
  "mj-column": "column",
  "mj-hero": "column",
  "mj-text": "text",
  "mj-button": "button",
  "mj-image": "image",
  "mj-divider": "divider",
  "mj-spacer": "spacer",
}

const kindOf = (name: string): BlockKind => Object.hasOwn(kinds, name) ? kinds[name]! : "code"

/** Kinds that contain blocks. */
export const isContainer = ({ kind }: Pick<Block, "kind">): boolean =>
  kind === "group" || kind === "section" || kind === "column" || kind === "liquid"

/** Elements whose content MJML keeps as it is. */
export const textElements: ReadonlySet<string> = new Set([
  "mj-accordion-text",
  "mj-accordion-title",
  "mj-breakpoint",
  "mj-button",
  "mj-carousel-image",
  "mj-navbar-link",
  "mj-preview",
  "mj-raw",
  "mj-social-element",
  "mj-style",
  "mj-table",
  "mj-text",
  "mj-title",
])

/** Maximum depth of elements. Ordinary messages have 7 levels. */
const maxDepth = 40

/** Thrown where a source cannot be read as MJML. */
class Unreadable extends Error {}

const branches: ReadonlySet<string> = new Set(["else", "elsif", "when"])

/** A tag of Liquid between elements, which begins, divides or ends a block. */
interface LiquidTag {
  readonly tagName: string
  readonly from: number
  readonly to: number
}

const ofLiquid = (kind: BlockKind, from: number, to: number): Block => ({
  kind,
  name: "",
  from,
  to,
  attributes: [],
  tag: [from, to],
  content: undefined,
  children: [],
})

class Reader {
  readonly #source: string
  /** The source with `blank` in the place of Liquid. */
  readonly #text: string
  readonly #parts: ReadonlyArray<Span>
  #nextPart = 0
  #at = 0

  constructor(source: string) {
    this.#source = source
    this.#parts = liquidParts(source)
    this.#text = blanked(source, this.#parts)
  }

  /** Returns the outline. Throws `Unreadable`. */
  read(): Outline {
    this.#at = this.#text.search(/<mjml[\s>]/i)
    if (this.#at === -1) throw new Unreadable()
    this.#next()
    const { items } = this.#items("mjml", 1)
    const named = (name: string) => items.find((item): item is Block => "name" in item && item.name === name)
    const [head, body] = [named("mj-head"), named("mj-body")]
    if (body?.content === undefined || body.kind === "code") throw new Unreadable()
    return { source: this.#source, body, defaults: head === undefined ? new Map() : this.#defaults(head) }
  }

  #next(): RegExpExecArray {
    token.lastIndex = this.#at
    const match = token.exec(this.#text)
    if (match === null) throw new Unreadable()
    this.#at = token.lastIndex
    return match
  }

  /** Reads the content of the element `parent`, and its closing tag, which begins at `end`. */
  #items(parent: string, depth: number): { readonly items: ReadonlyArray<Block | LiquidTag>; readonly end: number } {
    if (depth > maxDepth) throw new Unreadable()
    const items: Array<Block | LiquidTag> = []
    /** Where the comments before the next element begin. */
    let begin: number | undefined
    for (;;) {
      const match = this.#next()
      const { attributes, close, comment, open, text } = match.groups!
      const { index } = match
      if (close !== undefined) {
        if (close.toLowerCase() !== parent) throw new Unreadable()
        return { items, end: index }
      }
      if (comment !== undefined && !match[0].includes(blank)) begin ??= index
      else if (open !== undefined) {
        items.push(this.#element(open.toLowerCase(), begin ?? index, index, attributes!, depth))
        begin = undefined
      } else if (text === undefined || text.trim() !== "") {
        items.push(...this.#bare(index, this.#at, begin))
        begin = undefined
      }
    }
  }

  /** Reads Liquid between elements. Other text becomes code together with it. */
  #bare(from: number, to: number, begin = from): ReadonlyArray<Block | LiquidTag> {
    const text = this.#text.slice(from, to)
    if (/[^\s\ue000]/.test(text)) {
      return [ofLiquid("code", begin, from + text.trimEnd().length)]
    }
    while (this.#nextPart < this.#parts.length && this.#parts[this.#nextPart]![0] < from) this.#nextPart++
    const items: Array<Block | LiquidTag> = []
    for (; this.#nextPart < this.#parts.length && this.#parts[this.#nextPart]![0] < to; this.#nextPart++) {
      const [start, end] = this.#parts[this.#nextPart]!
      const liquid = this.#source.slice(start, end)
      const tagName = tagNameOf(liquid)
      const first = items.length === 0 && begin < from ? begin : start
      if (branches.has(tagName) || isEnd(tagName) || !isBalanced(liquid)) items.push({ tagName, from: first, to: end })
      else items.push(ofLiquid("code", first, end))
    }
    return items
  }

  #element(name: string, begin: number, from: number, attributes: string, depth: number): Block {
    const tag = [from, this.#at] as const
    const base = { name, from: begin, attributes: this.#attributes(from + 1 + name.length, attributes), tag }
    const kind = kindOf(name)
    if (attributes.endsWith("/")) return { ...base, kind, to: tag[1], content: undefined, children: [] }
    if (textElements.has(name)) {
      const closing = new RegExp(`</${name}\\s*>`, "gi")
      closing.lastIndex = tag[1]
      const match = closing.exec(this.#text)
      if (match === null) throw new Unreadable()
      this.#at = closing.lastIndex
      return { ...base, kind, to: this.#at, content: [tag[1], match.index], children: [] }
    }
    const { end, items } = this.#items(name, depth + 1)
    const children = isContainer({ kind }) ? this.#fold(items) : undefined
    return {
      ...base,
      kind: children === undefined && (isContainer({ kind }) || items.length > 0) ? "code" : kind,
      to: this.#at,
      content: [tag[1], end],
      children: children ?? [],
    }
  }

  #attributes(base: number, text: string): ReadonlyArray<BlockAttribute> {
    // The slash of a closed tag is no part of a value without quotation marks.
    return [...text.replace(/\/$/, "").matchAll(attribute)].map(({ 0: whole, groups, index }) => {
      const [from, to] = [base + index, base + index + whole.length]
      const quoted = groups!["value"] === undefined ? "" : this.#source.slice(to - groups!["value"].length, to)
      return {
        name: groups!["name"]!.toLowerCase(),
        value: /^["']/.test(quoted) ? quoted.slice(1, -1) : quoted,
        from,
        to,
      }
    })
  }

  /** Puts elements into the blocks of Liquid around them. Undefined if Liquid opens here and closes elsewhere. */
  #fold(items: ReadonlyArray<Block | LiquidTag>): ReadonlyArray<Block> | undefined {
    const root: Array<Block> = []
    const open: Array<{ readonly tag: LiquidTag; readonly children: Array<Block> }> = []
    for (const item of items) {
      const list = open.at(-1)?.children ?? root
      if ("kind" in item) {
        if (!isContainer(item) && !isBalanced(this.#source.slice(item.from, item.to))) return undefined
        list.push(item)
      } else if (branches.has(item.tagName)) {
        if (open.length === 0) return undefined
        list.push(ofLiquid("branch", item.from, item.to))
      } else if (!isEnd(item.tagName)) open.push({ tag: item, children: [] })
      else {
        const block = open.pop()
        if (block?.tag.tagName !== item.tagName.slice(3)) return undefined
        const { children, tag } = block
        const whole = { ...ofLiquid("liquid", tag.from, item.to), tag: [tag.from, tag.to] as const, children }
        ;(open.at(-1)?.children ?? root).push({ ...whole, content: [tag.to, item.from] })
      }
    }
    return open.length === 0 ? root : undefined
  }

  #defaults({ from, to }: Block): Outline["defaults"] {
    const all = new Map<string, ReadonlyMap<string, string>>()
    const text = this.#text.slice(from, to)
    const begin = text.search(/<mj-attributes[\s>]/i)
    if (begin === -1) return all
    const described = text.slice(begin, text.toLowerCase().lastIndexOf("</mj-attributes"))
    for (
      const { 1: name = "", 2: text = "", index } of described.matchAll(/<(mj-[a-z-]+)((?:[^"'>]|"[^"]*"|'[^']*')*)>/gi)
    ) {
      const found = this.#attributes(from + begin + index + 1 + name.length, text)
      const values = new Map(found.map((one) => [one.name, one.value]))
      all.set(name.toLowerCase() === "mj-class" ? `.${values.get("name")}` : name.toLowerCase(), values)
    }
    return all
  }
}

/** Returns the outline of an MJML source. Undefined if it cannot be shown as blocks. Needs linear time. */
export const outlineOf = (source: string): Outline | undefined => {
  try {
    return new Reader(source).read()
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

/** Returns the block at a path of indexes from the body. Undefined if no block is there. */
export const blockAt = ({ body }: Outline, path: ReadonlyArray<number>): Block | undefined =>
  path.reduce<Block | undefined>((block, index) => block?.children[index], body)

/** Returns the value of an attribute of an element without its own, from its classes or defaults. Undefined without any. */
export const defaultOf = (
  { defaults }: Outline,
  { attributes, name }: Block,
  attribute: string,
): string | undefined => {
  const classes = attributes.find((one) => one.name === "mj-class")?.value.split(/\s+/) ?? []
  // The last class has precedence, as in MJML.
  return classes.reverse().map((one) => defaults.get(`.${one}`)?.get(attribute)).find((value) => value !== undefined) ??
    defaults.get(name)?.get(attribute) ?? defaults.get("mj-all")?.get(attribute)
}

/** Returns the value of an attribute, from the element, its classes or its defaults. Undefined without any. */
export const valueOf = (outline: Outline, block: Block, attribute: string): string | undefined =>
  block.attributes.find((one) => one.name === attribute)?.value ?? defaultOf(outline, block, attribute)
