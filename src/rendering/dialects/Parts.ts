// Divides a source into its Liquid and the text around it, in linear time, also where it is no valid Liquid.

/** A tag or an output. */
export interface LiquidPart {
  readonly kind: "output" | "tag"
  /** Offset of the first brace. */
  readonly begin: number
  /** With its braces. */
  readonly text: string
  /** Between the braces, without signs for white space. */
  readonly inner: string
}

/** The parts of a source. Texts have the length of the source: everything else is replaced by spaces. */
export interface Parts {
  readonly liquid: ReadonlyArray<LiquidPart>
  /** Names that tags define, such as the variable of a loop. */
  readonly locals: ReadonlySet<string>
  readonly text: {
    /** Without Liquid, `raw` and comments. */
    readonly withoutLiquid: string
    /** Without Liquid, `raw` and comments, and without `pre`, `code`, `style` and `textarea`. */
    readonly withoutSamples: string
    /** In addition without scripts and texts in backticks. */
    readonly withoutCode: string
  }
}

const spaces = (length: number): string => " ".repeat(length)

/** Replaces elements by spaces, from each start tag to the next end tag. */
const withoutElement = (text: string, name: string): string => {
  const start = new RegExp(`<${name}\\b`, "gi")
  const end = new RegExp(`</${name}\\s{0,9}>`, "gi")
  let rest = ""
  let from = 0
  for (;;) {
    start.lastIndex = from
    const opened = start.exec(text)
    if (opened === null) break
    end.lastIndex = opened.index
    const closed = end.exec(text)
    if (closed === null) break
    const to = closed.index + closed[0].length
    rest += text.slice(from, opened.index) + spaces(to - opened.index)
    from = to
  }
  return rest + text.slice(from)
}

/** The end of an output that begins at `open`. Braces within it, as of Braze, belong to it. -1 if it is not closed. */
const endOfOutput = (source: string, open: number): number => {
  const close = source.indexOf("}}", open + 2)
  if (close === -1) return -1
  const inner = source.slice(open + 2, close)
  let end = close + 2
  for (
    let unclosed = inner.split("{").length - inner.split("}").length;
    unclosed > 0 && source[end] === "}";
    unclosed--
  ) end++
  return end
}

const skipped = /^(?:raw|comment|verbatim)\b/

const definition = /^(?:for|tablerow)\s+(\w+)\s+in\b|^(?:assign|capture)\s+(\w+)/

/** Divides a source. */
export const partsOf = (source: string): Parts => {
  const liquid: Array<LiquidPart> = []
  const locals = new Set<string>()
  let text = ""
  let from = 0
  let at = 0
  // Whether an end of each kind is ahead. Without this, many unclosed tags would take quadratic time.
  const ahead = { output: true, tag: true }
  while (ahead.output || ahead.tag) {
    const open = source.indexOf("{", at)
    if (open === -1) break
    const kind = source[open + 1] === "{" ? "output" : source[open + 1] === "%" ? "tag" : undefined
    at = open + 1
    if (kind === undefined || !ahead[kind]) continue
    let end = kind === "output" ? endOfOutput(source, open) : source.indexOf("%}", open + 2) + 2
    if (end < open) {
      ahead[kind] = false
      continue
    }
    const whole = source.slice(open, end)
    const inner = whole.slice(2, -2).replace(/^-|-$/g, "").trim()
    const [name] = kind === "tag" ? skipped.exec(inner) ?? [] : []
    if (name !== undefined && name !== "verbatim") {
      const ending = new RegExp(`\\{%-?\\s{0,99}end${name}\\s{0,99}-?%\\}`, "g")
      ending.lastIndex = end
      const closed = ending.exec(source)
      end = closed === null ? source.length : closed.index + closed[0].length
    } else {
      liquid.push({ kind, begin: open, text: whole, inner })
      const [, loop, assigned] = definition.exec(inner) ?? []
      if (kind === "tag" && (loop ?? assigned) !== undefined) locals.add((loop ?? assigned)!)
    }
    text += source.slice(from, open) + spaces(end - open)
    from = at = end
  }
  text += source.slice(from)
  const withoutSamples = ["style", "pre", "code", "textarea"].reduce(withoutElement, text)
  const withoutCode = withoutElement(withoutSamples, "script").replace(
    /`[^`\n]{0,200}`/g,
    (code) => spaces(code.length),
  )
  return { liquid, locals, text: { withoutLiquid: text, withoutSamples, withoutCode } }
}
