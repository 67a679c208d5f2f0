import type { VNode } from "preact"
import { pixelsOf, shownValue } from "../../blocks/Forms.ts"
import { type Block, type Outline, outlineOf } from "../../blocks/Outline.ts"
import { excerptOf } from "../../blocks/RichText.ts"
import type { Layout } from "../../../templates/Layouts.ts"

// A drawing of a layout, made from its MJML: lines for texts, and boxes for images, buttons and panels.

/** The width of messages. Unit: pixels. */
const width = 600
/** The part of a message that is drawn. Unit: pixels. */
const height = 640

interface Drawn {
  readonly shapes: ReadonlyArray<VNode>
  /** The height of the drawn block. Unit: pixels. */
  readonly height: number
}

const space = (outline: Outline, block: Block, side: "top" | "bottom"): number =>
  Number(pixelsOf(shownValue(outline, block, `padding-${side}`) ?? "") ?? 10)

/** Draws bars for the words of a text, about as long as the text. */
const drawText = (outline: Outline, block: Block, x: number, y: number, columnWidth: number): Drawn => {
  const source = block.content === undefined ? "" : outline.source.slice(...block.content)
  const heading = Number(/font-size:(\d+)px/.exec(source)?.[1] ?? 0)
  const size = heading || Number(pixelsOf(shownValue(outline, block, "font-size") ?? "") ?? 16)
  const isCentered = shownValue(outline, block, "align") === "center"
  const line = size * 1.55
  const room = columnWidth - 64
  const length = excerptOf(source).length * size * 0.5
  const lines = Math.max(1, Math.ceil(length / room))
  const shapes = Array.from({ length: lines }, (_, index) => {
    const own = index === lines - 1 ? Math.max(60, Math.min(room, length - index * room)) : room
    return (
      <rect
        class={heading > 18 || size > 18 ? "heading" : "line"}
        x={isCentered ? x + (columnWidth - own) / 2 : x + 32}
        y={y + index * line + line * 0.25}
        width={own}
        height={size * 0.6}
        rx={size * 0.2}
      />
    )
  })
  return { shapes, height: lines * line }
}

const drawElement = (outline: Outline, block: Block, x: number, y: number, columnWidth: number): Drawn => {
  const inner = columnWidth - 64
  switch (block.kind) {
    case "text":
      return drawText(outline, block, x, y, columnWidth)
    case "button": {
      const isCentered = shownValue(outline, block, "align") === "center"
      const wide = Math.min(190, inner)
      const left = isCentered ? x + (columnWidth - wide) / 2 : x + 32
      return { shapes: [<rect class="button-shape" x={left} y={y} width={wide} height="46" rx="8" />], height: 46 }
    }
    case "image":
      return {
        shapes: [
          <rect class="image-shape" x={x + 32} y={y} width={inner} height="150" rx="8" />,
          <path
            class="image-mark"
            d={`M${x + 56} ${y + 126}l${inner * 0.25} -60 ${inner * 0.18} 40 ${inner * 0.12} -24 ${inner * 0.2} 44z`}
          />,
        ],
        height: 150,
      }
    case "divider":
      return { shapes: [<rect class="line" x={x + 32} y={y} width={inner} height="3" />], height: 3 }
    default:
      return { shapes: [], height: 10 }
  }
}

/** Draws blocks below each other. */
const drawColumn = (
  outline: Outline,
  blocks: ReadonlyArray<Block>,
  x: number,
  y: number,
  columnWidth: number,
): Drawn => {
  const shapes: Array<VNode> = []
  let at = y
  for (const block of blocks) {
    const isElement = block.kind !== "liquid" && block.kind !== "branch"
    if (isElement) at += space(outline, block, "top")
    const drawn = isElement
      ? drawElement(outline, block, x, at, columnWidth)
      : drawColumn(outline, block.children, x, at, columnWidth)
    shapes.push(...drawn.shapes)
    at += drawn.height + (isElement ? space(outline, block, "bottom") : 0)
  }
  return { shapes, height: at - y }
}

const drawSection = (outline: Outline, section: Block, y: number): Drawn => {
  const top = y + space(outline, section, "top")
  const children = section.children.flatMap((child) => child.kind === "section" ? child.children : [child])
  const shares = children.map((column) => {
    const share = /^(\d+)%$/.exec(shownValue(outline, column, "width") ?? "")?.[1]
    return share === undefined ? 1 / children.length : Number(share) / 100
  })
  let x = 0
  const columns = children.map((column, index) => {
    const own = drawColumn(
      outline,
      column.children,
      x,
      top + (column.attributes.some(({ name }) => name === "padding") ? 16 : 0),
      width * shares[index]!,
    )
    x += width * shares[index]!
    return own
  })
  const tall = top - y + Math.max(0, ...columns.map((one) => one.height)) + space(outline, section, "bottom")
  const isPanel = shownValue(outline, section, "background-color") !== undefined
  return {
    shapes: [
      ...(isPanel ? [<rect class="panel-shape" x="0" y={y} width={width} height={tall + 1} />] : []),
      ...columns.flatMap(({ shapes }) => shapes),
    ],
    height: tall,
  }
}

/** Sections in the order in which a message shows them: a list of three products as two of them. */
const sectionsOf = (blocks: ReadonlyArray<Block>): ReadonlyArray<Block> =>
  blocks.flatMap((block) =>
    block.kind === "liquid"
      ? [...sectionsOf(block.children), ...sectionsOf(block.children)]
      : block.kind === "section"
      ? [block]
      : []
  )

/** The drawing of a layout. It is hidden from screen readers, which read the name and the description. */
export const LayoutPicture = ({ layout }: { readonly layout: Layout }) => {
  const outline = outlineOf(layout.body)
  if (outline === undefined) return null
  let y = 0
  const shapes = sectionsOf(outline.body.children).flatMap((section) => {
    const drawn = drawSection(outline, section, y)
    y += drawn.height
    return drawn.shapes
  })
  return <svg class="layout-picture" viewBox={`-40 0 ${width + 80} ${height}`} aria-hidden="true">{shapes}</svg>
}

/** The drawing of a message without content. */
export const EmptyPicture = () => (
  <svg class="layout-picture" viewBox={`-40 0 ${width + 80} ${height}`} aria-hidden="true">
    <rect class="panel-shape" x="0" y="16" width={width} height={height} />
    <path class="plus" d="M300 250v140M230 320h140" />
  </svg>
)
