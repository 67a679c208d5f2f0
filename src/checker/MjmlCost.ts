import { Parser } from "htmlparser2"
import type { SourceFinding } from "../rendering/SourceFinding.ts"

// Refuses sources that MJML would compile for seconds or minutes. Pure.

/**
 * Maximum number of characters of inlined styles, times the number of HTML elements. MJML needs up to 1 microsecond
 * for each: it compares every rule with every element, and writes it into each that matches.
 */
const maxInlining = 5_000_000

/** The number of characters that a position among siblings, such as `:nth-child`, needs as much time as. */
const positionCost = 400

/** Selectors and values of styles for which MJML needs more than linear time. */
const slowStyles: ReadonlyArray<readonly [pattern: RegExp, remedy: string]> = [
  [/~(?!=)/, "Inlined styles cannot select the later siblings of an element (~): give them a class"],
  [/:has\(/i, "Inlined styles cannot select an element by its content (:has): give it a class"],
  [
    /[a-z-]{101}/i,
    "Inlined styles cannot contain a word of more than 100 characters: write it in an <mj-style> without inline",
  ],
]
const position = /:(?:nth-|only-|(?:first|last)-of-)/gi

/** Number of HTML elements to which MJML compiles one of its own, on average. */
const htmlOfElement = 8

/** Maximum number of defaults in `mj-attributes`, times the number of elements and classes that receive them. */
const maxDefaults = 400_000

/** Maximum number of fonts. MJML searches the whole mail for each. */
const maxFonts = 30

/** Maximum depth of HTML in an element. MJML needs quadratic time for it. Nested tables of mails have 100 levels. */
const maxHtmlDepth = 1_000

/** Thrown to stop reading a source that is refused. */
class Refused extends Error {
  constructor(readonly finding: SourceFinding) {
    super(finding.message)
  }
}

/** Counts what MJML has to do for a source. */
class Costs {
  #elements = 0
  #defaults = 0
  #receivers = 0
  #fonts = 0
  #css = 0
  #styleBegin = 0
  #defaultsBegin = 0
  #path = ""
  #inline = false
  readonly #open: Array<string> = []
  readonly #parser = new Parser({
    onopentag: (name, attributes) => this.#begin(name, attributes),
    onclosetag: () => void this.#open.pop(),
    ontext: (text) => this.#text(text),
  }, { recognizeSelfClosing: true, decodeEntities: false })

  #refuse(begin: number, message: string): never {
    throw new Refused({ begin, message })
  }

  #addCss(css: string, times = 1): void {
    const begin = this.#parser.startIndex
    if (this.#css === 0) this.#styleBegin = begin
    for (const [pattern, remedy] of slowStyles) {
      const at = css.search(pattern)
      if (at !== -1) this.#refuse(begin + at, remedy)
    }
    this.#css += times * (css.length + positionCost * [...css.matchAll(position)].length)
  }

  #begin(name: string, attributes: Readonly<Record<string, string>>): void {
    const begin = this.#parser.startIndex
    const parents = this.#open.slice(0, 4)
    this.#open.push(name)
    if (this.#open.length > maxHtmlDepth) {
      this.#refuse(begin, `has more than ${maxHtmlDepth} HTML elements in one another. Close the elements`)
    }
    this.#elements += name.startsWith("mj-") ? htmlOfElement : 1
    if (parents.includes("mj-body")) this.#receivers += 1 + (attributes["mj-class"]?.split(" ").length ?? 0)
    if (parents.includes("mj-attributes")) {
      if (this.#defaults === 0) this.#defaultsBegin = begin
      this.#defaults += Object.keys(attributes).length
    }
    this.#inline = name === "mj-style" && attributes["inline"] === "inline"
    if (name === "mj-selector") this.#path = attributes["path"] ?? ""
    if (name === "mj-html-attribute") this.#addCss(this.#path)
    if (name === "mj-font") this.#font(begin, attributes["name"] ?? "")
  }

  #font(begin: number, name: string): void {
    if (++this.#fonts > maxFonts) this.#refuse(begin, `has more than ${maxFonts} fonts`)
    // MJML reads the name as a regular expression.
    if (/[^\w\s-]/.test(name)) this.#refuse(begin, "The name of a font can contain letters, digits, spaces, _ and -")
  }

  #text(text: string): void {
    if (this.#inline) this.#addCss(text.replaceAll(/\s+/g, " "))
    if (this.#open.at(-1) === "mj-html-attribute") this.#css += text.length
  }

  /** Returns the reason why the source is refused, if any. */
  read(source: string): SourceFinding | undefined {
    try {
      this.#parser.end(source)
    } catch (error) {
      if (error instanceof Refused) return error.finding
      throw error
    }
    if (this.#css * this.#elements > maxInlining) {
      const message = `${this.#css} characters of inlined styles cannot be written into about ${this.#elements} HTML ` +
        `elements. The limit is ${maxInlining} characters times elements: ` +
        "move rules into an <mj-style> without inline, or shorten the message"
      return { begin: this.#styleBegin, message }
    }
    if (this.#defaults * this.#receivers > maxDefaults) {
      const message = `has ${this.#defaults} defaults for ${this.#receivers} elements and classes. ` +
        `The limit is ${maxDefaults} defaults times elements: remove defaults and classes that the message does not need`
      return { begin: this.#defaultsBegin, message }
    }
    return undefined
  }
}

/** Returns the reason why MJML needs too much time for a source, if any. Expects MJML whose elements are closed. */
export const tooCostly = (source: string): SourceFinding | undefined => new Costs().read(source)
