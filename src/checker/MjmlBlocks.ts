import type { SourceFinding } from "../rendering/SourceFinding.ts"

/** An open element. `begin` is its offset in the source. */
export interface OpenElement {
  readonly name: string
  readonly begin: number
}

/** A part of a block, from its tag or `else` to the next `else` or the end, that opens or closes elements. */
interface Uneven extends SourceFinding {
  /** The tag with its condition. */
  readonly tag: string
  readonly opened: string
  readonly closed: string
}

const tagOf = /^\{%-?\s*(\w+)/
const blocks: ReadonlySet<string> = new Set(["if", "unless", "case", "for", "tablerow", "capture"])
const branches: ReadonlySet<string> = new Set(["else", "elsif", "when"])

/**
 * Finds blocks of Liquid that open an element of MJML without closing it, or close one without opening it, so that the
 * HTML is broken whenever the block is not rendered exactly once.
 */
export class MjmlBlocks {
  readonly #open: Array<{ readonly tag: string; readonly begin: number; from: ReadonlyArray<OpenElement> }> = []
  #uneven: ReadonlyArray<Uneven> = []

  /** Adds the next part of the source that is Liquid, with the elements that contain it. */
  add(liquid: string, begin: number, elements: ReadonlyArray<OpenElement>): void {
    const name = tagOf.exec(liquid)?.[1] ?? ""
    if (blocks.has(name)) {
      this.#open.push({ tag: liquid.replace(/[\s-]+/g, " "), begin, from: [...elements] })
      return
    }
    const block = this.#open.at(-1)
    if (block === undefined || (!branches.has(name) && !(name.startsWith("end") && blocks.has(name.slice(3))))) return
    this.#compare(block, elements)
    if (branches.has(name)) block.from = [...elements]
    else this.#open.pop()
  }

  #compare(
    { begin, from, tag }: { tag: string; begin: number; from: ReadonlyArray<OpenElement> },
    to: ReadonlyArray<OpenElement>,
  ): void {
    let same = 0
    while (same < from.length && from[same]!.begin === to[same]?.begin) same++
    const names = (elements: ReadonlyArray<OpenElement>) =>
      elements.slice(same).map(({ name }) => `<${name}>`).join(" ")
    const [closed, opened] = [names(from), names(to)]
    if (closed === opened) return
    // The same condition may surround the opening tag, and later the closing tag.
    const pair = this.#uneven.find((one) =>
      one.begin !== begin && one.tag === tag && one.opened === closed && one.closed === opened
    )
    if (pair !== undefined) {
      this.#uneven = this.#uneven.filter((one) => one !== pair)
      return
    }
    const message = `This block contains ${
      opened === "" ? `the end of ${closed}, and not its beginning` : `the beginning of ${opened}, and not its end`
    }: the HTML is broken if the block is not rendered. Put the whole element into the block`
    this.#uneven = [...this.#uneven, { begin, message, tag, opened, closed }]
  }

  get warnings(): ReadonlyArray<SourceFinding> {
    return this.#uneven.map(({ begin, message }) => ({ begin, message }))
  }
}
