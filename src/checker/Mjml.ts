import * as Limits from "../rendering/Limits.ts"
import { type LiquidFault, placeOf } from "../rendering/Source.ts"
import type { SourceFinding } from "../rendering/SourceFinding.ts"
import { type MarkedMjml, markLiquid, type MjmlElements } from "./MjmlMarks.ts"
import type { MjmlError } from "./mjml.d.ts"

/** Liquid of a source in its HTML, from `from` to `to`; `begin` is its offset in the source. */
interface Restored {
  readonly from: number
  readonly to: number
  readonly begin: number
}

/** A compiled source. Faults and warnings have their places in the source. */
export interface CompiledMjml {
  /** Undefined if there are faults. */
  readonly html: string | undefined
  readonly faults: ReadonlyArray<LiquidFault>
  readonly warnings: ReadonlyArray<LiquidFault>
  /** Returns the place in the source for a place in the HTML: of its Liquid, otherwise of the beginning. */
  readonly placeOf: (line: number, column: number) => { readonly line: number; readonly column: number }
}

const start = { line: 1, column: 1 }

const refused = (
  source: string,
  findings: ReadonlyArray<SourceFinding>,
  warnings: ReadonlyArray<LiquidFault> = [],
): CompiledMjml => ({
  html: undefined,
  faults: findings.map(({ begin, message }) => ({ message, ...placeOf(source, begin) })),
  warnings,
  placeOf: () => start,
})

/**
 * Puts the Liquid back into compiled HTML. Returns the first part that MJML dropped, repeated or moved instead, if any.
 */
const restore = (
  source: string,
  html: string,
  { after, before, marks, sign }: MarkedMjml,
): { readonly html: string; readonly restored: ReadonlyArray<Restored> } | SourceFinding => {
  const pieces: Array<string> = before === "" ? [] : [before, "\n"]
  const restored: Array<Restored> = before === "" ? [] : [{ from: 0, to: before.length, begin: 0 }]
  const counts = marks.map(() => 0)
  const lost = (index: number): SourceFinding => ({
    begin: marks[index]!.begin,
    message: "MJML does not keep this Liquid where it is written. " +
      "Write it between elements, in the text of an element, or in an attribute that the mail shows",
  })
  let length = before === "" ? 0 : before.length + 1
  let copied = 0
  let last = -1
  const put = (text: string) => {
    pieces.push(text)
    length += text.length
  }
  // A parser writes a mark among attributes as an attribute without a value.
  for (const match of html.matchAll(new RegExp(`${sign}(\\d+)z(?:="")?`, "g"))) {
    const index = Number(match[1])
    const { begin, end, kind } = marks[index]!
    if (kind === "once") {
      if (index <= last) return lost(index)
      last = index
    }
    counts[index]!++
    put(html.slice(copied, match.index))
    restored.push({ from: length, to: length + end - begin, begin })
    put(source.slice(begin, end))
    copied = match.index + match[0].length
  }
  const missing = marks.findIndex(({ kind }, index) => kind !== "any" && counts[index] === 0)
  if (missing !== -1) return lost(missing)
  put(html.slice(copied))
  if (after !== "") {
    put("\n")
    restored.push({ from: length, to: length + after.length, begin: source.lastIndexOf(after) })
    put(after)
  }
  return { html: pieces.join(""), restored }
}

/** Findings of MJML that prevent compiling. It ignores the others, which concern attributes. */
const isFault = ({ message }: MjmlError): boolean => !message.toLowerCase().startsWith("attribute")

/** Returns the place of an element in a line of the source, and the message without names of the library's code. */
const faultOf = (source: string, marked: MarkedMjml, { line, message, tagName }: MjmlError): LiquidFault => {
  const at = marked.lineOf(line)
  const column = (source.split("\n", at)[at - 1] ?? "").indexOf(`<${tagName}`)
  return {
    line: at,
    column: Math.max(0, column) + 1,
    message: `<${tagName}>: ${message.replace(/ for type \w+ ?$/, "")}`,
  }
}

/** MJML needs 30 MB of memory and 0.2 seconds of processor time to load, so it is loaded with the first source. */
let loaded: { readonly elements: MjmlElements; readonly render: typeof import("./mjml.js").render } | undefined

/** Loads MJML. Call it before `compileMjml`. */
export const loadMjml = async (): Promise<void> => {
  if (loaded !== undefined) return
  const { attributeTypes, endingTags, rawParents, render } = await import("./mjml.js")
  const elements: MjmlElements = {
    endingTags: new Set(endingTags),
    rawParents: new Set(rawParents),
    attributeTypes: new Map(Object.entries(attributeTypes)),
  }
  loaded = { elements, render }
}

const placeIn =
  (source: string, html: string, restored: ReadonlyArray<Restored>): CompiledMjml["placeOf"] => (line, column) => {
    const offset = html.split("\n", line - 1).reduce((sum, { length }) => sum + length + 1, 0) + column - 1
    const part = restored.find(({ from, to }) => from <= offset && offset < to)
    return part === undefined ? start : placeOf(source, part.begin + offset - part.from)
  }

const compile = (source: string, showsBlocks: boolean): CompiledMjml => {
  const { elements, render } = loaded!
  const marked = markLiquid(source, elements, showsBlocks)
  if ("faults" in marked) return refused(source, marked.faults)
  let rendered: ReturnType<typeof render>
  try {
    rendered = render(marked.text)
  } catch (error) {
    const reason = error instanceof RangeError
      ? "its HTML elements are in one another too deeply. Close them, or do not inline styles"
      : error instanceof Error
      ? error.message
      : String(error)
    return refused(source, [{ begin: 0, message: `MJML cannot compile this source: ${reason.slice(0, 200)}` }])
  }
  // Liquid as a color is no color for MJML, which copies it as it is.
  const found = rendered.errors.filter(({ message }) => !message.includes(marked.sign))
  const warnings = [
    ...marked.warnings.map(({ begin, message }) => ({ message, ...placeOf(source, begin) })),
    ...found.filter((error) => !isFault(error)).map((error) => faultOf(source, marked, error)),
  ]
  const faults = found.filter(isFault)
  if (faults.length > 0) {
    return { ...refused(source, [], warnings), faults: faults.map((error) => faultOf(source, marked, error)) }
  }
  const result = restore(source, rendered.html, marked)
  if (!("html" in result)) return refused(source, [result], warnings)
  const { html, restored } = result
  if (html.length > Limits.sourceLength) {
    const message = `compiles to HTML of ${html.length} characters. The limit is ${Limits.sourceLength}`
    return refused(source, [{ begin: 0, message }], warnings)
  }
  return { html, faults: [], warnings, placeOf: placeIn(source, html, restored) }
}

/** Sources that were compiled last, because an editor previews one source many times and then saves it. */
const known = new Map<string, CompiledMjml>()
const maxKnown = 16

/**
 * Compiles an MJML source to HTML and keeps its Liquid. Expects Liquid without faults, and `loadMjml`. Reads no files:
 * `mj-include` is a fault. Needs 10 to 100 ms for ordinary mails. `showsBlocks` marks the elements (see `BlockMarks.ts`), for
 * previews only. Default: false.
 */
export const compileMjml = (source: string, showsBlocks = false): CompiledMjml => {
  const key = `${showsBlocks}${source}`
  const compiled = known.get(key) ?? compile(source, showsBlocks)
  known.delete(key)
  known.set(key, compiled)
  if (known.size > maxKnown) known.delete(known.keys().next().value!)
  return compiled
}
