import { blockMark } from "../rendering/BlockMarks.ts"
import { placeOf } from "../rendering/Source.ts"
import type { SourceFinding } from "../rendering/SourceFinding.ts"
import { MjmlBlocks, type OpenElement } from "./MjmlBlocks.ts"
import { tooCostly } from "./MjmlCost.ts"
import { attribute, blank, blanked, liquidParts, type Span, token } from "./MjmlTokens.ts"

// Replaces the Liquid of an MJML source by marks that MJML keeps, because MJML drops Liquid in several places without
// an error. Pure.

/** The elements of MJML. */
export interface MjmlElements {
  /** Elements whose content is kept as it is, such as `mj-text`. */
  readonly endingTags: ReadonlySet<string>
  /** Elements that may contain `mj-raw`. */
  readonly rawParents: ReadonlySet<string>
  /** Types of attributes by element, such as `unit(px,%)`. */
  readonly attributeTypes: ReadonlyMap<string, Readonly<Record<string, string>>>
}

/**
 * How often a mark has to be in the HTML: `once`, in the order of the source; `used`, at least once, because MJML
 * repeats values of attributes; `any`, because MJML uses a default for any number of elements.
 */
type MarkKind = "once" | "used" | "any"

/** Liquid of a source, from `begin` to `end`. Unit: UTF-16 code units. */
export interface Mark {
  readonly kind: MarkKind
  readonly begin: number
  readonly end: number
}

/** An MJML source with marks in the place of its Liquid. */
export interface MarkedMjml {
  readonly text: string
  readonly marks: ReadonlyArray<Mark>
  /** The text before the number of a mark. The source does not contain it. */
  readonly sign: string
  /** Liquid before `<mjml>` and after `</mjml>`, which surrounds the HTML. */
  readonly before: string
  readonly after: string
  /** Liquid that breaks the HTML under some condition. */
  readonly warnings: ReadonlyArray<SourceFinding>
  /** Returns the line of the source for a line of the text. Both begin at 1. */
  readonly lineOf: (line: number) => number
}

/** Maximum number of elements of a source. MJML writes up to 2 kB for each. */
const maxElements = 2_000

/** Maximum depth of elements. Ordinary mails have 7 levels. */
const maxDepth = 40

/** Maximum number of attributes of an element. MJML needs quadratic time for them. */
const maxAttributes = 100

/** Maximum length of an attribute's value, which may be a picture in a `data:` address. Unit: characters. */
const maxValue = 65_536

/** Maximum length of a default of `mj-attributes`, which MJML copies into each element. Unit: characters. */
const maxDefault = 1_000

/** Elements without types of attributes. */
const plainElements: ReadonlySet<string> = new Set(["mjml", "mj-all", "mj-class", "mj-selector", "mj-html-attribute"])

/** Elements whose text MJML writes into several places. */
const repeatedTexts: ReadonlySet<string> = new Set(["mj-title", "mj-preview"])

/** Elements whose children describe other elements. */
const describing: ReadonlySet<string> = new Set(["mj-attributes", "mj-html-attributes"])

/** Thrown at a fault behind which the source cannot be read. */
class Unreadable extends Error {
  constructor(readonly finding: SourceFinding) {
    super(finding.message)
  }
}

/** Reads one source. */
class Marker {
  readonly faults: Array<SourceFinding> = []
  readonly marks: Array<Mark> = []
  readonly sign: string
  readonly #source: string
  /** The source with `blank` in the place of each character of Liquid, so that offsets are equal. */
  readonly #text: string
  readonly #elements: MjmlElements
  readonly #showsBlocks: boolean
  readonly #parts: ReadonlyArray<Span>
  readonly #ends: RegExp
  readonly #edits: Array<{ readonly begin: number; readonly end: number; readonly text: string }> = []
  readonly #open: Array<OpenElement> = []
  readonly #blocks = new MjmlBlocks()
  readonly #seen = new Set<string>()
  #nextPart = 0
  #count = 0
  #begin = 0
  #end = 0

  constructor(source: string, elements: MjmlElements, showsBlocks: boolean) {
    this.#source = source
    this.#showsBlocks = showsBlocks
    this.#elements = elements
    this.#parts = liquidParts(source)
    this.#text = blanked(source, this.#parts)
    this.#ends = new RegExp(`<(/?)(${[...elements.endingTags].join("|")})(?=[\\s/>])[^>]*>`, "gi")
    let sign = "liquidmark"
    while (source.toLowerCase().includes(sign)) sign += "x"
    this.sign = `${sign}n`
  }

  #stop(begin: number, message: string): never {
    throw new Unreadable({ begin, message })
  }

  #fault(begin: number, message: string): void {
    this.faults.push({ begin, message })
  }

  /** Returns the parts between two offsets. Calls have ascending offsets. */
  #partsWithin(from: number, to: number): ReadonlyArray<Span> {
    while (this.#nextPart < this.#parts.length && this.#parts[this.#nextPart]![0] < from) this.#nextPart++
    const first = this.#nextPart
    while (this.#nextPart < this.#parts.length && this.#parts[this.#nextPart]![0] < to) this.#nextPart++
    const parts = this.#parts.slice(first, this.#nextPart)
    for (const [begin, end] of parts) this.#blocks.add(this.#source.slice(begin, end), begin, this.#open)
    return parts
  }

  #mark(kind: MarkKind, begin: number, end: number): void {
    this.#edits.push({ begin, end, text: `${this.sign}${this.marks.length}z` })
    this.marks.push({ kind, begin, end })
  }

  /** Marks each part, or for repeated texts everything from the first part to the last. */
  #markAll(kind: MarkKind, parts: ReadonlyArray<Span>): void {
    if (kind === "once") { for (const [from, to] of parts) this.#mark(kind, from, to) }
    else if (parts.length > 0) this.#mark(kind, parts[0]![0], parts.at(-1)![1])
  }

  /** Reads the element `mjml`. Throws `Unreadable`. */
  read(): void {
    this.#begin = this.#text.search(/<mjml[\s>/]/i)
    if (this.#begin === -1) this.#stop(0, "is not MJML: write <mjml> with an <mj-body>, or choose the format html")
    this.#partsWithin(0, this.#begin)
    let at = this.#begin
    do {
      token.lastIndex = at
      const match = token.exec(this.#text)
      if (match === null) this.#unfinished(at)
      const { attributes, close, comment, open, text } = match.groups!
      const end = token.lastIndex
      at = end
      if (comment !== undefined) this.#comment(match.index, end)
      else if (close !== undefined) this.#close(match.index, close)
      else if (text !== undefined) this.#bare(match.index, end)
      else at = this.#element(match.index, open!.toLowerCase(), attributes!, end)
    } while (this.#open.length > 0)
    if (!this.#seen.has("mj-body")) this.#stop(this.#begin, "has no <mj-body>")
    this.#end = at
    const costly = tooCostly(this.#text)
    if (costly !== undefined) this.#stop(costly.begin, costly.message)
  }

  #unfinished(at: number): never {
    if (at < this.#text.length) {
      this.#stop(at, "This tag is not closed: write > at its end, and close its quotation marks")
    }
    const { begin, name } = this.#open.at(-1)!
    return this.#stop(begin, `<${name}> is not closed: write </${name}>`)
  }

  #close(begin: number, given: string): void {
    const { begin: opened, name } = this.#open.pop()!
    if (given.toLowerCase() === name) return
    this.#stop(
      begin,
      `</${given.slice(0, 100)}> does not close <${name}> of line ${placeOf(this.#source, opened).line}`,
    )
  }

  /** Leaves out comments without Liquid that no mail program reads. */
  #comment(begin: number, end: number): void {
    const parts = this.#partsWithin(begin, end)
    if (parts.length > 0) {
      if (this.#takesRaw(parts[0]![0])) this.#markAll("once", parts)
    } else if (!/^<!--\s*\[/.test(this.#text.slice(begin, begin + 20))) this.#edits.push({ begin, end, text: "" })
  }

  #isRawParent(name: string): boolean {
    return this.#elements.rawParents.has(name) && name !== "mjml" && name !== "mj-head"
  }

  /** Whether Liquid may be between the children of the open element. Otherwise adds a fault. */
  #takesRaw(begin: number): boolean {
    const { name } = this.#open.at(-1)!
    if (this.#isRawParent(name)) return true
    this.#fault(
      begin,
      `MJML drops Liquid between the elements of <${name}>. ` +
        (name === "mjml" || name === "mj-head"
          ? "Write it before <mjml> or in <mj-body>"
          : `Write it around <${name}>`) +
        ", or in a value or text of an element",
    )
    return false
  }

  /** Reads text between elements, which MJML drops. Liquid is kept by `mj-raw`. */
  #bare(begin: number, end: number): void {
    const parts = this.#partsWithin(begin, end)
    if (this.#open.at(-1)!.name === "mj-html-attribute") return this.#markAll("any", parts)
    const words = this.#text.slice(begin, end).search(/[^\s\ue000]/)
    if (words !== -1) {
      return this.#fault(begin + words, "MJML drops text between elements: put it into <mj-text> or <mj-raw>")
    }
    if (parts.length === 0 || !this.#takesRaw(parts[0]![0])) return
    const [from, to] = [parts[0]![0], parts.at(-1)![1]]
    this.#edits.push({ begin: from, end: from, text: "<mj-raw>" })
    this.#markAll("once", parts)
    this.#edits.push({ begin: to, end: to, text: "</mj-raw>" })
  }

  /** Reads an opening tag, and the content of an element that MJML keeps as it is. Returns the offset behind it. */
  #element(begin: number, name: string, attributes: string, end: number): number {
    if (name === "mj-include") {
      this.#stop(begin, "mj-include is not supported, because a template has no files: insert the content of the file")
    }
    if (this.#open.length <= 1) this.#ofRoot(begin, name, attributes)
    if (!plainElements.has(name) && !this.#elements.attributeTypes.has(name)) {
      this.#stop(
        begin,
        name.includes(blank)
          ? "Liquid cannot be in the name of an element. Write each element in a condition of its own"
          : `<${name.slice(0, 100)}> is not an element of MJML. HTML belongs into <mj-text>, <mj-table> or <mj-raw>`,
      )
    }
    if (++this.#count > maxElements) this.#stop(begin, `has more than ${maxElements} elements. Shorten the message`)
    if (this.#open.length >= maxDepth) this.#stop(begin, `has more than ${maxDepth} elements in one another`)
    if (this.#showsBlocks && this.#isRawParent(this.#open.at(-1)?.name ?? "")) {
      this.#edits.push({ begin, end: begin, text: `<mj-raw>${blockMark(begin)}</mj-raw>` })
    }
    const isInline = this.#attributes(name, begin + 1 + name.length, attributes)
    if (attributes.endsWith("/")) return end
    if (!this.#elements.endingTags.has(name)) {
      this.#open.push({ name, begin })
      return end
    }
    return this.#content(name, begin, end, isInline)
  }

  /** Refuses children of `mjml` that MJML drops: all but one head, one body, and text before the document. */
  #ofRoot(begin: number, name: string, attributes: string): void {
    if (this.#open.length === 0 || (name === "mj-raw" && /\bposition=["']?file-start\b/.test(attributes))) return
    if (name !== "mj-head" && name !== "mj-body") this.#stop(begin, `<${name.slice(0, 100)}> belongs into <mj-body>`)
    if (this.#seen.has(name)) this.#stop(begin, `is the second <${name}>: move its content into the first`)
    this.#seen.add(name)
  }

  /** Marks the Liquid of attributes. Returns whether they ask for an inlined style. */
  #attributes(element: string, begin: number, text: string): boolean {
    const isDefault = this.#open.some(({ name }) => describing.has(name))
    let isInline = false
    let count = 0
    for (const match of text.matchAll(attribute)) {
      if (++count > maxAttributes) this.#stop(begin, `<${element}> has more than ${maxAttributes} attributes`)
      const { name, value = "" } = match.groups as { name: string; value?: string }
      const from = begin + match.index
      const parts = this.#partsWithin(from, from + match[0].length)
      isInline ||= name === "inline" && /^["']?inline["']?$/.test(value)
      const max = isDefault ? maxDefault : maxValue
      if (value.length > max) this.#fault(from, `The attribute ${name} is longer than ${max} characters`)
      if (value.startsWith("'") && value.includes('"')) {
        this.#fault(from, `The attribute ${name} of <${element}> contains ", which ends it in HTML: write &quot;`)
      }
      if (parts.length === 0) continue
      if (name.includes(blank)) {
        this.#fault(
          from,
          `MJML drops Liquid among the attributes of <${element}>. Write it in the value of an attribute`,
        )
        continue
      }
      const fixed = this.#calculates(element, name)
      if (fixed) {
        this.#fault(
          parts[0]![0],
          `The attribute ${name} of <${element}> needs a fixed value, because MJML calculates with it. ` +
            "Write one element for each value, in conditions around the elements",
        )
      } else this.#markAll(isDefault ? "any" : "used", parts)
    }
    return isInline
  }

  /** Whether MJML reads the value of an attribute, instead of copying it. */
  #calculates(element: string, attribute: string): boolean {
    const own = this.#elements.attributeTypes.get(element)
    const all = own === undefined ? [...this.#elements.attributeTypes.values()] : [own]
    return all.some((types) => Object.hasOwn(types, attribute) && !/^(?:string|color)/i.test(types[attribute]!))
  }

  #content(name: string, begin: number, from: number, isInline: boolean): number {
    this.#ends.lastIndex = from
    for (let depth = 1, end = this.#ends.exec(this.#text); end !== null; end = this.#ends.exec(this.#text)) {
      if (end[1] === "/") depth--
      else if (!end[0].endsWith("/>")) depth++
      if (depth > 0) continue
      if (end[2]!.toLowerCase() !== name) break
      // Liquid of `mj-raw` is between elements.
      if (name !== "mj-raw") this.#open.push({ name, begin })
      const parts = this.#partsWithin(from, end.index)
      if (name !== "mj-raw") this.#open.pop()
      const section = this.#text.slice(from, end.index).indexOf("<![CDATA[")
      if (section !== -1) {
        this.#fault(from + section, "<![CDATA[ hides its content in HTML: write the content without <![CDATA[ and ]]>")
      }
      if (isInline && parts.length > 0) {
        this.#fault(parts[0]![0], "MJML drops Liquid in inlined styles. Write it in an <mj-style> without inline")
      } else this.#markAll(repeatedTexts.has(name) ? "used" : "once", parts)
      return this.#ends.lastIndex
    }
    return this.#stop(begin, `<${name}> is not closed: write </${name}>`)
  }

  /** Returns the text outside of the root element, which has to be Liquid. */
  #outside(from: number, to: number): string {
    const text = this.#text.slice(from, to)
    if (text.includes(blank)) return this.#source.slice(from, to).trim()
    const rest = text.replace(/<!--[^]*?-->|<[?!][^>]*>/g, (found) => " ".repeat(found.length)).search(/\S/)
    if (rest !== -1) this.#fault(from + rest, "MJML drops text outside of <mjml>")
    return ""
  }

  /** Returns the result of `read`. */
  marked(): MarkedMjml {
    const pieces: Array<string> = []
    /** Lines of the text behind which the source has more lines than the text, with their number. */
    const shifts: Array<readonly [behind: number, more: number]> = []
    const linesOf = (text: string) => text.split("\n").length - 1
    let copied = this.#begin
    let line = 1
    for (const { begin, end, text } of this.#edits) {
      const piece = this.#source.slice(copied, begin)
      line += linesOf(piece)
      pieces.push(piece, text)
      shifts.push([line, linesOf(this.#source.slice(begin, end))])
      copied = end
    }
    const first = placeOf(this.#source, this.#begin).line - 1
    return {
      text: pieces.join("") + this.#source.slice(copied, this.#end),
      marks: this.marks,
      sign: this.sign,
      before: this.#outside(0, this.#begin),
      after: this.#outside(this.#end, this.#source.length),
      warnings: this.#blocks.warnings,
      lineOf: (line) => shifts.reduce((sum, [behind, more]) => behind < line ? sum + more : sum, first + line),
    }
  }
}

/**
 * Marks the Liquid of a source without faults of Liquid, and its elements if `showsBlocks` is true (see `BlockMarks.ts`).
 * Returns the faults of its MJML if it cannot be compiled.
 */
export const markLiquid = (
  source: string,
  elements: MjmlElements,
  showsBlocks = false,
): MarkedMjml | { readonly faults: ReadonlyArray<SourceFinding> } => {
  const marker = new Marker(source, elements, showsBlocks)
  try {
    marker.read()
    const marked = marker.marked()
    return marker.faults.length === 0 ? marked : { faults: marker.faults }
  } catch (error) {
    if (error instanceof Unreadable) return { faults: [...marker.faults, error.finding] }
    throw error
  }
}
