import { liquidParts, type Span } from "../../checker/MjmlTokens.ts"

// Tags of Liquid that need an end. Pure.

const pairs: ReadonlySet<string> = new Set(["if", "unless", "case", "for", "tablerow", "capture", "comment", "raw"])

/** Whether a tag of this name ends another one. */
export const isEnd = (name: string): boolean => name.startsWith("end") && pairs.has(name.slice(3))

/** Returns the name of a tag, such as `if`. Empty for an output. */
export const tagNameOf = (liquid: string): string => /^\{%-?\s*(\w+)/.exec(liquid)?.[1] ?? ""

/** Returns the tags in a text whose beginning or end is not in this text. */
const unpaired = (source: string, parts: ReadonlyArray<Span>): ReadonlySet<Span> => {
  const open: Array<{ readonly name: string; readonly span: Span }> = []
  const found = new Set<Span>()
  for (const span of parts) {
    const part = source.slice(...span)
    const name = tagNameOf(part)
    // `raw` and `comment` are one part with their end.
    if (part.indexOf("%}") < part.length - 2) continue
    if (pairs.has(name)) open.push({ name, span })
    else if (isEnd(name)) {
      if (open.at(-1)?.name === name.slice(3)) open.pop()
      else found.add(span)
    }
  }
  for (const { span } of open) found.add(span)
  return found
}

/** Whether each tag of Liquid in a text that needs an end has it in this text. */
export const isBalanced = (source: string): boolean => unpaired(source, liquidParts(source)).size === 0

const isFinished = (liquid: string): boolean => /^(?:\{\{[^]*\}\}|\{%[^]*%\})$/.test(liquid)

/** Returns the places of the outputs and tags of a text. An unfinished one, which somebody may be typing, is left out. */
export const finishedLiquid = (source: string): ReadonlyArray<Span> =>
  liquidParts(source).filter((span) => isFinished(source.slice(...span)))

/**
 * Returns a text whose Liquid ends in the text. The braces of an unfinished output or tag, and of a tag without its
 * counterpart, become character references. While somebody types Liquid, it would otherwise include the elements behind it.
 */
export const closed = (source: string): string => {
  const parts = liquidParts(source)
  const loose = unpaired(source, parts.filter((span) => isFinished(source.slice(...span))))
  const pieces: Array<string> = []
  let copied = 0
  for (const span of parts) {
    if (!loose.has(span) && isFinished(source.slice(...span))) continue
    pieces.push(source.slice(copied, span[0]), source.slice(...span).replace(/\{(?=[{%])/g, "&#123;"))
    copied = span[1]
  }
  return pieces.join("") + source.slice(copied)
}
