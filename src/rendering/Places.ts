import { eachLink } from "../text/HtmlLinks.ts"

/**
 * The part of an HTML source in which an output is: `script`, the text of a script such as JSON-LD; `parameter`, the
 * value of a parameter of a `mailto:`, `sms:` or `tel:` link; otherwise `markup`. Values are escaped for their place.
 */
export type OutputPlace = "markup" | "script" | "parameter"

/** Returns the place of the output or tag that begins at an offset of the source. */
export type OutputPlaceOf = (offset: number) => OutputPlace

/** Calls `visit` with start and end of each tag and output. An unclosed one extends to the end of the source. */
export const eachLiquid = (source: string, visit: (from: number, to: number) => void): void => {
  let at = source.indexOf("{")
  while (at !== -1) {
    const kind = source[at + 1]
    if (kind !== "{" && kind !== "%") {
      at = source.indexOf("{", at + 1)
      continue
    }
    const close = source.indexOf(kind === "{" ? "}}" : "%}", at + 2)
    const to = close === -1 ? source.length : close + 2
    visit(at, to)
    at = source.indexOf("{", to)
  }
}

/** Returns a source with each tag and output replaced by as many letters. Calls `visit` with their starts. */
export const withoutLiquid = (source: string, visit: (from: number) => void = () => {}): string => {
  const parts: Array<string> = []
  let copied = 0
  eachLiquid(source, (from, to) => {
    visit(from)
    parts.push(source.slice(copied, from), "x".repeat(to - from))
    copied = to
  })
  return parts.join("") + source.slice(copied)
}

const scheme = /^\s*(?:mailto|sms|tel):/i

/** Whether the URL before an output ends in the value of a parameter, as in `mailto:a@b.example?subject=Hi `. */
const endsInValue = (before: string): boolean =>
  before.lastIndexOf("=") > Math.max(before.lastIndexOf("?"), before.lastIndexOf("&"))

const inMarkup: OutputPlaceOf = () => "markup"

/** Finds the places of all outputs of a parsed HTML source. Needs linear time. */
export const placesOf = (source: string): OutputPlaceOf => {
  if (!/<script|(?:mailto|sms|tel):/i.test(source)) return inMarkup
  const begins: Array<number> = []
  // Liquid may contain quotes and angle brackets, which are no part of the HTML around it.
  const html = withoutLiquid(source, (from) => begins.push(from))
  const places = new Map<number, OutputPlace>()
  let next = 0
  /** Marks the outputs between two offsets. Ranges come in ascending order. */
  const mark = (from: number, to: number, place: (begin: number) => OutputPlace) => {
    while (next < begins.length && begins[next]! < from) next++
    for (; next < begins.length && begins[next]! < to; next++) places.set(begins[next]!, place(begins[next]!))
  }
  eachLink(
    html,
    (from, to) => {
      const url = html.slice(from, to)
      if (scheme.test(url)) {
        mark(from, to, (begin) => endsInValue(url.slice(0, begin - from)) ? "parameter" : "markup")
      }
      return true
    },
    (from, to) => mark(from, to, () => "script"),
  )
  return (offset) => places.get(offset) ?? "markup"
}
