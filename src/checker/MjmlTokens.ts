import { eachLiquid } from "../rendering/Places.ts"

// Reads MJML that contains Liquid, for the checks of a source and for the blocks of the editor. Pure.

/** A part of a source. Unit: UTF-16 code units. */
export type Span = readonly [from: number, to: number]

const blockName = /\{%-?\s*(raw|comment|capture)\b/y

/** Returns the parts of a source that are Liquid. `raw`, `comment` and `capture` without MJML are one part each. */
export const liquidParts = (source: string): ReadonlyArray<Span> => {
  const parts: Array<Span> = []
  let read = 0
  eachLiquid(source, (from, to) => {
    if (from < read) return
    read = to
    blockName.lastIndex = from
    const name = blockName.exec(source)?.[1]
    if (name !== undefined) {
      const last = new RegExp(`\\{%-?\\s*end${name}\\s*-?%\\}`, "g")
      last.lastIndex = to
      const end = last.exec(source) === null ? to : last.lastIndex
      if (!/<\/?mj/i.test(source.slice(to, end))) read = end
    }
    parts.push([from, read])
  })
  return parts
}

/** A character that takes the place of Liquid while a source is read. Sources of mails have no use for it. */
export const blank = "\ue000"

/** Returns a source with `blank` in the place of each character of Liquid, so that offsets stay equal. */
export const blanked = (source: string, parts: ReadonlyArray<Span> = liquidParts(source)): string => {
  const pieces: Array<string> = []
  let copied = 0
  for (const [from, to] of parts) {
    pieces.push(source.slice(copied, from), blank.repeat(to - from))
    copied = to
  }
  return pieces.join("") + source.slice(copied)
}

/** A comment, a closing tag, an opening tag or a text of a source without Liquid. Fails in linear time. */
export const token =
  /<!--(?<comment>[^]*?)-->|<\/(?<close>[^\s>]*)[^>]*>|<(?<open>[^\s/>]+)(?=[\s/>])(?<attributes>(?:[^"'>]|"[^"]*"|'[^']*')*)>|(?<text>[^<]+)/y

/** An attribute of an opening tag. */
export const attribute = /(?<name>[^\s=/"']+)(?:\s*=\s*(?<value>"[^"]*"|'[^']*'|[^\s"']+))?/g
