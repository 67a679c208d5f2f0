// Divides a source with braces into texts, outputs, tags and comments, in linear time.

/** A part of a source with braces. */
export interface BracePart {
  readonly kind: "text" | "output" | "tag" | "comment"
  readonly begin: number
  /** With its braces. */
  readonly text: string
  /** Between the braces, without signs for white space. */
  readonly inner: string
  /** Signs for white space: `-` of Liquid and Jinja, `~` of Handlebars. */
  readonly stripsBefore: boolean
  readonly stripsAfter: boolean
}

interface Kind {
  readonly kind: BracePart["kind"]
  readonly open: string
  readonly close: string
}

/** Forms of parts. Longer beginnings come first. */
export type BraceForms = ReadonlyArray<Kind>

export const pythonic: BraceForms = [
  { kind: "output", open: "{{", close: "}}" },
  { kind: "tag", open: "{%", close: "%}" },
  { kind: "comment", open: "{#", close: "#}" },
]

export const handlebars: BraceForms = [
  { kind: "comment", open: "{{!--", close: "--" },
  { kind: "comment", open: "{{~!--", close: "--" },
  { kind: "comment", open: "{{!", close: "}}" },
  { kind: "output", open: "{{{", close: "}}}" },
  { kind: "output", open: "{{", close: "}}" },
]

/** Divides a source. An unclosed part is text. */
export const bracePartsOf = (source: string, forms: BraceForms): ReadonlyArray<BracePart> => {
  const parts: Array<BracePart> = []
  const missing = new Set<string>()
  let from = 0
  const add = (kind: BracePart["kind"], begin: number, end: number) => {
    if (begin === end) return
    const text = source.slice(begin, end)
    const inside = kind === "text" ? text : text.replace(/^\{\{\{?|^\{[%#]/, "").replace(/\}\}\}?$|[%#]\}$/, "")
    const inner = kind === "text" ? text : inside.replace(/^[-~]|[-~]$/g, "").trim()
    parts.push({
      kind,
      begin,
      text,
      inner,
      stripsBefore: kind !== "text" && /^[-~]/.test(inside),
      stripsAfter: kind !== "text" && /[-~]$/.test(inside),
    })
  }
  for (let at = source.indexOf("{"); at !== -1; at = source.indexOf("{", at)) {
    const form = forms.find(({ open }) => source.startsWith(open, at))
    if (form === undefined || missing.has(form.close)) {
      at++
      continue
    }
    let close = source.indexOf(form.close, at + form.open.length)
    if (close !== -1 && form.close === "--") close = source.indexOf("}}", close)
    if (close === -1) {
      missing.add(form.close)
      at++
      continue
    }
    const end = close + (form.close === "--" ? 2 : form.close.length)
    add("text", from, at)
    add(form.kind, at, end)
    from = at = end
  }
  add("text", from, source.length)
  return parts
}

/** Returns Liquid with the signs for white space of a part at its outer braces. */
export const withSpaceSigns = (liquid: string, { stripsAfter, stripsBefore }: BracePart): string => {
  const begun = stripsBefore ? liquid.replace(/^\{([{%])(?!-)/, "{$1-") : liquid
  return stripsAfter ? begun.replace(/(?<!-)([}%])\}$/, "-$1}") : begun
}

/** Whether a part of Handlebars is no output. Its signs for white space apply to the texts around it. */
export const isHandlebarsBlock = ({ inner, kind }: BracePart): boolean =>
  kind === "comment" || /^(?:[#/^>]|else\b)/.test(inner)

/** Applies the signs for white space of parts for which `isMeant` holds to the texts around them. `inner` stays whole. */
export const withSpaceControl = (
  parts: ReadonlyArray<BracePart>,
  isMeant: (part: BracePart) => boolean,
): ReadonlyArray<BracePart> =>
  parts.map((part, place) => {
    if (part.kind !== "text") return part
    const [before, after] = [parts[place - 1], parts[place + 1]]
    const begun = before?.stripsAfter === true && isMeant(before) ? part.text.trimStart() : part.text
    const text = after?.stripsBefore === true && isMeant(after) ? begun.trimEnd() : begun
    return { ...part, begin: part.begin + part.text.length - begun.length, text }
  })

/** Finds the loops of Handlebars that use the keys of an object, and the names that are read outside of loops. */
export const scopesOf = (parts: ReadonlyArray<BracePart>) => {
  const pairs = new Set<BracePart>()
  const top = new Set<string>()
  /** The open loops and objects. */
  const open: Array<BracePart> = []
  for (const part of parts) {
    if (part.kind !== "output") continue
    if (/^#(?:each|with)\b/.test(part.inner)) open.push(part)
    else if (/^\/\s*(?:each|with)\b/.test(part.inner)) open.pop()
    else if (/@key\b/.test(part.inner) && open.length > 0) pairs.add(open.at(-1)!)
    if (open.length === 0) {
      for (const [name] of part.inner.matchAll(/[A-Za-z_]\w*/g)) top.add(name)
    }
  }
  return { pairs, top }
}
