import { english, t, translated } from "../browser/language.ts"
import type { Block, BlockKind, Outline } from "./Outline.ts"
import { valueOf } from "./Outline.ts"
import { excerptOf, wordsOf } from "./RichText.ts"

// The words and the fields of each kind of block. Pure.

/** An input of a block: its text, or an attribute. `space` is one side of `padding`. */
export interface BlockField {
  readonly label: string
  readonly attribute: string
  readonly type: "text" | "pixels" | "color" | "align" | "image"
}

const field = (label: string, attribute: string, type: BlockField["type"]): BlockField => ({ label, attribute, type })

const spacing = [
  field(english("Space above"), "padding-top", "pixels"),
  field(english("Space below"), "padding-bottom", "pixels"),
]
const align = field(english("Align"), "align", "align")

/** Fields that most people change, and fields of the look. */
export const fieldsOf: {
  readonly [kind in BlockKind]?: {
    readonly hasText?: true
    readonly main: ReadonlyArray<BlockField>
    readonly look: ReadonlyArray<BlockField>
  }
} = {
  text: {
    hasText: true,
    main: [],
    look: [
      field(english("Text size"), "font-size", "pixels"),
      field(english("Color"), "color", "color"),
      align,
      ...spacing,
    ],
  },
  button: {
    hasText: true,
    main: [field(english("Link"), "href", "text")],
    look: [
      field(english("Background"), "background-color", "color"),
      field(english("Color of the text"), "color", "color"),
      align,
      ...spacing,
    ],
  },
  image: {
    main: [
      field(english("Address of the image"), "src", "image"),
      field(english("Description"), "alt", "text"),
      field(english("Link"), "href", "text"),
    ],
    look: [field(english("Width"), "width", "pixels"), align, ...spacing],
  },
  divider: {
    main: [],
    look: [
      field(english("Color"), "border-color", "color"),
      field(english("Thickness"), "border-width", "pixels"),
      ...spacing,
    ],
  },
  spacer: { main: [field(english("Height"), "height", "pixels")], look: [] },
  section: { main: [], look: [field(english("Background"), "background-color", "color"), ...spacing] },
  column: { main: [], look: [field(english("Background"), "background-color", "color"), ...spacing] },
}

const names: { readonly [kind in BlockKind]: string } = {
  section: english("Section"),
  group: english("Group of sections"),
  column: english("Column"),
  text: english("Text"),
  button: english("Button"),
  image: english("Image"),
  divider: english("Divider"),
  spacer: english("Empty space"),
  liquid: english("Condition"),
  branch: english("Condition"),
  code: english("Code"),
}

/** Returns the name of a block, such as `Text`, and a phrase that tells it from others of its kind. */
export const titleOf = ({ source }: Outline, block: Block): { readonly name: string; readonly excerpt: string } => {
  const { attributes, content, from, kind, name, tag, to } = block
  const cut = (text: string) => text.length > 80 ? `${text.slice(0, 79)}…` : text
  if (kind === "liquid" || kind === "branch") return { name: cut(wordsOf(source.slice(...tag))), excerpt: "" }
  const text = content === undefined ? "" : source.slice(...content)
  const [, snippet] = /^\s*\{%-?\s*render\s+["']([\w-]+)["'][^%]*%\}\s*$/.exec(text) ?? []
  if (kind === "text" && snippet !== undefined) return { name: "Snippet", excerpt: snippet }
  const words = kind === "text" || kind === "button"
    ? excerptOf(text)
    : kind === "image"
    ? attributes.find((one) => one.name === "alt")?.value ?? ""
    : kind === "code"
    ? name.replace(/^mj-/, "") || source.slice(from, to)
    : ""
  return {
    name: kind === "text" && /<h[1-6][\s>]/i.test(source.slice(from, to))
      ? t`Heading`
      : name === "mj-group"
      ? t`Columns`
      : translated(names[kind]),
    excerpt: cut(kind === "image" ? excerptOf(words) : words),
  }
}

/** Returns the side of a value such as `8px 32px 24px`. */
const sideOf = (padding: string, side: "top" | "bottom"): string | undefined => {
  const parts = padding.trim().split(/\s+/)
  return side === "bottom" && parts.length > 2 ? parts[2] : parts[0]
}

/** MJML's own values of the attributes that have a field. */
export const initialValues: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "mj-text": { "font-size": "13px", color: "#000000", align: "left", padding: "10px 25px" },
  "mj-button": { "background-color": "#414141", color: "#ffffff", align: "center", padding: "10px 25px" },
  "mj-image": { align: "center", padding: "10px 25px" },
  "mj-divider": { "border-color": "#000000", "border-width": "4px", padding: "10px 25px" },
  "mj-spacer": { height: "20px" },
  "mj-section": { padding: "20px 0" },
}

/** Returns the value that an attribute has in the message. Undefined if nothing sets the attribute. */
export const shownValue = (outline: Outline, block: Block, attribute: string): string | undefined => {
  const value = valueOf(outline, block, attribute)
  if (value !== undefined) return value
  const initial = initialValues[block.name]
  if (!attribute.startsWith("padding-")) return initial?.[attribute]
  const padding = valueOf(outline, block, "padding") ?? initial?.["padding"]
  return padding === undefined ? undefined : sideOf(padding, attribute === "padding-top" ? "top" : "bottom")
}

/** Returns a color as `#rrggbb`. Undefined for other notations. */
export const hexOf = (color: string): string | undefined =>
  /^#[0-9a-f]{6}$/i.test(color)
    ? color
    : /^#[0-9a-f]{3}$/i.test(color)
    ? color.replace(/[0-9a-f]/gi, (digit) => digit + digit)
    : undefined

/** Returns a number of pixels. Undefined for other values. `0` has no unit. */
export const pixelsOf = (value: string): string | undefined => /^(\d+(?:\.\d+)?)(?:px)?$/.exec(value.trim())?.[1]
