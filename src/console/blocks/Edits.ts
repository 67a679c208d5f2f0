import { closed } from "./Liquid.ts"
import type { Block, Outline } from "./Outline.ts"
import { quoted } from "./RichText.ts"

// Changes of a source by the buttons and fields of blocks. Pure. All text outside of a change stays as it is.

/** A replacement in a source. Positions are offsets in the source before the edit. Unit: UTF-16 code units. */
export interface Change {
  readonly from: number
  readonly to: number
  readonly insert: string
}

/** Changes of one action, in the order of their positions. */
export interface Edit {
  readonly changes: ReadonlyArray<Change>
  /** Where the block of the action begins after the edit. */
  readonly at: number
}

/** A place of a block: the containers around it, the outermost first, and its index in the last of them. */
interface Place {
  readonly parents: ReadonlyArray<Block>
  readonly index: number
  readonly block: Block
}

/** Returns the place of the block that begins at an offset. Undefined if no block begins there. */
const placeOf = ({ body }: Outline, at: number): Place | undefined => {
  const search = (parents: ReadonlyArray<Block>): Place | undefined => {
    for (const [index, block] of parents.at(-1)!.children.entries()) {
      if (block.from === at) return { parents, index, block }
      const found = block.from < at && at < block.to ? search([...parents, block]) : undefined
      if (found !== undefined) return found
    }
    return undefined
  }
  return search([body])
}

/** Returns the source after an edit. */
export const apply = (source: string, { changes }: Pick<Edit, "changes">): string => {
  const pieces: Array<string> = []
  let copied = 0
  for (const { from, insert, to } of changes) {
    pieces.push(source.slice(copied, from), insert)
    copied = to
  }
  return pieces.join("") + source.slice(copied)
}

/** The line break and indentation before an offset. Empty if text of the same line is before it. */
const breakBefore = (source: string, at: number): string => /\r?\n[ \t]*$/.exec(source.slice(0, at))?.[0] ?? ""

/** Inserts a text as the first or last block of a container. */
const insertInto = (source: string, container: Block, isFirst: boolean, text: string): Edit => {
  const { children, content, from, name, tag } = container
  const next = isFirst ? children[0] : children.at(-1)
  const lead = next === undefined ? `${breakBefore(source, from)}  ` : breakBefore(source, next.from)
  const before = lead.trim() === "" && lead.length > 2 ? lead : ""
  if (content === undefined) {
    const begin = source.lastIndexOf("/", tag[1])
    const insert = `>${before}${text}${breakBefore(source, from)}</${name}>`
    return { changes: [{ from: begin, to: tag[1], insert }], at: begin + 1 + before.length }
  }
  const place = isFirst || next === undefined ? content[0] : next.to
  return { changes: [{ from: place, to: place, insert: before + text }], at: place + before.length }
}

const insertAfter = (source: string, block: Block, text: string): Edit => {
  const before = breakBefore(source, block.from)
  return {
    changes: [{ from: block.to, to: block.to, insert: before + text }],
    at: block.to + before.length,
  }
}

const insertBefore = (source: string, block: Block, text: string): Edit => ({
  changes: [{ from: block.from, to: block.from, insert: text + breakBefore(source, block.from) }],
  at: block.from,
})

/** The range of a block with the line break before it. */
const wholeOf = (source: string, { from, to }: Block): Omit<Change, "insert"> => ({
  from: from - breakBefore(source, from).length,
  to,
})

const swap = (source: string, first: Block, second: Block): ReadonlyArray<Change> => [
  { from: first.from, to: first.to, insert: source.slice(second.from, second.to) },
  { from: second.from, to: second.to, insert: source.slice(first.from, first.to) },
]

/** Takes a block out of its place and inserts it elsewhere. */
const relocate = (source: string, block: Block, target: Edit): Edit => {
  const gone = { ...wholeOf(source, block), insert: "" }
  const changes = [gone, ...target.changes].toSorted((a, b) => a.from - b.from || a.to - b.to)
  return { changes, at: target.at - (gone.from < target.changes[0]!.from ? gone.to - gone.from : 0) }
}

/** All columns in the order of the source, with the columns in conditions. */
const columnsOf = (block: Block): ReadonlyArray<Block> =>
  block.kind === "column" ? [block] : block.children.flatMap(columnsOf)

/**
 * Moves the block at an offset before the block above it or behind the block below it. The first and last block of a
 * column move to the neighboring column. The first and last block of a condition or a group move out of it. Undefined if the block cannot move.
 */
export const move = (outline: Outline, at: number, by: -1 | 1): Edit | undefined => {
  const { source } = outline
  const place = placeOf(outline, at)
  if (place === undefined) return undefined
  const { block, index, parents } = place
  const parent = parents.at(-1)!
  const other = parent.children[index + by]
  if (other !== undefined) {
    return by === -1
      ? { changes: swap(source, other, block), at: other.from }
      : { changes: swap(source, block, other), at: block.from + other.to - block.to }
  }
  const text = source.slice(block.from, block.to)
  if (parent.kind === "column") {
    const columns = columnsOf(outline.body)
    const column = columns[columns.indexOf(parent) + by]
    return column === undefined ? undefined : relocate(source, block, insertInto(source, column, by === 1, text))
  }
  if (parents.length === 1 || parent.kind === "section") return undefined
  if (by === 1) return relocate(source, block, insertAfter(source, parent, text))
  return relocate(source, block, insertBefore(source, parent, text))
}

/** The container that decides which blocks may be at a place. */
const ownerOf = ({ parents }: Place): Block => parents.findLast(({ kind }) => kind !== "liquid")!

/**
 * Moves the block at an offset before or behind the block at `to`. Elements move between columns, and sections between
 * groups. Undefined for a place that cannot contain the block.
 */
export const moveTo = (outline: Outline, at: number, to: number, isBefore: boolean): Edit | undefined => {
  const [place, target] = [placeOf(outline, at), placeOf(outline, to)]
  if (place === undefined || target === undefined) return undefined
  const { block } = place
  const [from, into] = [ownerOf(place), ownerOf(target)]
  const isAllowed = from === into || (from.kind === into.kind && from.kind !== "section")
  if (!isAllowed || target.block === block || target.parents.includes(block)) return undefined
  const text = outline.source.slice(block.from, block.to)
  const insert = isBefore ? insertBefore : insertAfter
  return relocate(outline.source, block, insert(outline.source, target.block, text))
}

/** Inserts a copy of the block at an offset behind it. */
export const duplicate = (outline: Outline, at: number): Edit | undefined => {
  const block = placeOf(outline, at)?.block
  return block && insertAfter(outline.source, block, outline.source.slice(block.from, block.to))
}

/** Removes the block at an offset. */
export const remove = (outline: Outline, at: number): Edit | undefined => {
  const place = placeOf(outline, at)
  if (place === undefined) return undefined
  const { block, index, parents } = place
  const { children, from } = parents.at(-1)!
  const range = wholeOf(outline.source, block)
  const next = children[index + 1]
  return {
    changes: [{ ...range, insert: "" }],
    at: next !== undefined ? next.from - (range.to - range.from) : children[index - 1]?.from ?? from,
  }
}

/** Kinds of blocks that can be added to a column. */
export const elementKinds = ["heading", "text", "button", "image", "divider", "spacer"] as const
/** Kinds of blocks that can be added to a message. */
export const sectionKinds = ["section", "columns"] as const
export type AddedKind = typeof elementKinds[number] | typeof sectionKinds[number]

const elements: { readonly [kind in typeof elementKinds[number]]: string } = {
  heading: '<mj-text><h2 style="margin:0;font-size:22px;line-height:1.3">A headline</h2></mj-text>',
  text: "<mj-text>Write your text here.</mj-text>",
  button: '<mj-button href="https://example.com/">Read more</mj-button>',
  image: '<mj-image src="" alt="" />',
  divider: "<mj-divider />",
  spacer: '<mj-spacer height="20px" />',
}

/** A new section in the colors of another one. */
const sectionLike = (model: Block | undefined, lead: string, columns: number): string => {
  const taken = model?.attributes.filter(({ name }) => name === "css-class" || name === "background-color") ?? []
  const attributes = taken.map(({ name, value }) => ` ${name}="${value}"`).join("")
  const column = `${lead}  <mj-column>${lead}    ${elements.text}${lead}  </mj-column>`
  return `<mj-section${attributes}>${column.repeat(columns)}${lead || "\n"}</mj-section>`
}

/** Inserts a section or an element behind the block at an offset, or as the last block of an empty container there. */
const insertAt = (
  outline: Outline,
  at: number,
  isSection: boolean,
  textFor: (block: Block, lead: string) => string,
): Edit | undefined => {
  const { body, source } = outline
  const block = at === body.from ? body : placeOf(outline, at)?.block
  if (block === undefined) return undefined
  const text = textFor(block, breakBefore(source, block.from))
  const isInside = block === body || (block.kind === "column" && !isSection)
  return isInside ? insertInto(source, block, false, text) : insertAfter(source, block, text)
}

/** Adds a block behind the block at an offset, or as the last block of an empty container there. */
export const add = (outline: Outline, at: number, kind: AddedKind): Edit | undefined => {
  if (kind !== "section" && kind !== "columns") return insertAt(outline, at, false, () => elements[kind])
  return insertAt(
    outline,
    at,
    true,
    (block, lead) => sectionLike(block.kind === "section" ? block : undefined, lead, kind === "section" ? 1 : 2),
  )
}

const inColumn = (text: string): string => `<mj-section padding="0"><mj-column>${text}</mj-column></mj-section>`

/** Adds the tag of a snippet like a block. The snippet has its own spacing. */
export const addSnippet = (outline: Outline, at: number, tag: string, isSection: boolean): Edit | undefined => {
  const text = `<mj-text padding="0">${tag}</mj-text>`
  return insertAt(outline, at, isSection, () => isSection ? inColumn(text) : text)
}

/** Returns the message with the block at an offset as its only content. Undefined if no block is there. */
export const alone = (outline: Outline, at: number): string | undefined => {
  const place = placeOf(outline, at)
  const { body: { content }, source } = outline
  if (place === undefined || content === undefined) return undefined
  const text = source.slice(place.block.from, place.block.to)
  const { kind } = ownerOf(place)
  const whole = kind === "group"
    ? text
    : kind === "section"
    ? `<mj-section padding="0">${text}</mj-section>`
    : inColumn(text)
  return source.slice(0, content[0]) + whole + source.slice(content[1])
}

/** Sets an attribute of a block to a value with unescaped quotation marks. An empty value removes it. */
export const setAttribute = (
  { source }: Outline,
  { attributes, from, name: element, tag }: Block,
  name: string,
  value: string,
): Edit => {
  const own = attributes.find((one) => one.name === name)
  if (own !== undefined) {
    const insert = value === "" ? "" : `${name}="${quoted(value)}"`
    const begin = value === "" && /\s/.test(source[own.from - 1]!) ? own.from - 1 : own.from
    return { changes: [{ from: begin, to: own.to, insert }], at: from }
  }
  const place = attributes.at(-1)?.to ?? tag[0] + 1 + element.length
  return {
    changes: value === "" ? [] : [{ from: place, to: place, insert: ` ${name}="${quoted(value)}"` }],
    at: from,
  }
}

/** Replaces the content of a text or a button. The text cannot end the element. */
export const setContent = ({ content, from, name, tag }: Block, text: string): Edit => {
  const insert = closed(text).replace(new RegExp(`<(?=/?${name}\\b)`, "gi"), "&lt;")
  return {
    changes: content === undefined
      ? [{ from: tag[1] - 2, to: tag[1], insert: `>${insert}</${name}>` }]
      : [{ from: content[0], to: content[1], insert }],
    at: from,
  }
}
