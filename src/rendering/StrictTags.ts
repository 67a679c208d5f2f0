import type { TagToken } from "liquidjs"
import { isSnippetId, snippetIdRule } from "../domain/Snippet.ts"
import { tagNames } from "./Grammar.ts"
import { Refused } from "./Refused.ts"
import type { StrictReader } from "./StrictReader.ts"

/** Reads what follows the name of a tag. */
type Form = (reader: StrictReader) => void

const spaceless = 'a name has no spaces and only one value follows it, as in {% assign first_name = "Ann" %}'

const condition: Form = (reader) => {
  reader.value("in a condition", "condition")
  reader.finish("condition")
}

const nothing = (name: string): Form => (reader) => {
  if (name === "else" && /^\s*if\b/.test(reader.rest())) reader.refuse("has else if: write {% elsif … %}")
  reader.finishWith(`behind ${name}`, "delete it, because the tag has no values")
}

const value = (where: string): Form => (reader) => {
  reader.skipBlank()
  const begin = reader.at
  reader.value(where, "value")
  reader.finish("value", reader.source.slice(begin, reader.at).trim())
}

const assign: Form = (reader) => {
  reader.ownName("assign")
  if (!reader.take("=")) reader.finishWith("behind the name of assign, where = is expected", spaceless)
  else if (reader.rest().startsWith("=")) reader.refuse("has == where assign needs one =")
  const begin = reader.at
  reader.value("behind =", "value")
  if (!reader.isAtEnd() && reader.rest().startsWith(",")) {
    reader.refuse("has a comma behind the value: assign one name in a tag, and build a list with split")
  }
  reader.finish("value", reader.source.slice(begin, reader.at).trim())
}

const capture: Form = (reader) => {
  if (reader.text() === undefined) reader.ownName("capture")
  reader.finishWith("behind the name of capture", spaceless)
}

const counter = (tag: string): Form => (reader) => {
  reader.ownName(tag)
  reader.finishWith(`behind the name of ${tag}`, spaceless)
}

const when: Form = (reader) => {
  do {
    reader.checkSeen(reader.operand("in when"))
  } while (reader.take(",") || reader.takeWord("or"))
  if (!reader.isAtEnd() && /^\|(?!\|)/.test(reader.rest())) {
    reader.refuse("has a filter: when compares plain values, so assign the filtered value before the case")
  }
  reader.finishWith("behind a value of when", "write a comma or the word or between two values")
}

const cycle: Form = (reader) => {
  const { at } = reader
  reader.operand("in cycle")
  if (!reader.take(":")) reader.back(at)
  do {
    reader.value("in cycle", "value")
  } while (reader.take(","))
  reader.finishWith("behind a value of cycle", "write a comma between two values")
}

const parameters = { for: ["limit", "offset", "reversed"], tablerow: ["cols", "limit", "offset"] } as const

const parametersOf = (tag: "for" | "tablerow", reader: StrictReader): void => {
  const known: ReadonlyArray<string> = parameters[tag]
  const seen = new Set<string>()
  while (!reader.isAtEnd()) {
    if (reader.take(",")) {
      if (reader.isAtEnd()) reader.unexpected("behind the comma")
      continue
    }
    const { at } = reader
    if (reader.rest().startsWith("|")) {
      reader.refuse(
        `has a filter, which ${tag} does not apply: write {% assign list = items | slice: 0, 3 %} before it`,
      )
    }
    const name = /^[\w-]/.test(reader.rest()) ? reader.name() : undefined
    if (name === undefined) return reader.unexpected(`behind the list of ${tag}`)
    if (!known.includes(name)) {
      reader.refuse(
        `has ${JSON.stringify(name)} behind the list: ${tag} has only the parameters ${known.join(", ")}`,
        at,
      )
    }
    if (seen.has(name)) reader.refuse(`has the parameter ${name} twice`, at)
    seen.add(name)
    const hasValue = reader.take(":")
    if (name === "reversed") {
      if (hasValue) reader.refuse("has a value for reversed, which takes none: delete it", at)
    } else if (!hasValue) reader.refuse(`has no colon behind ${name}: write ${name}: 3`, at)
    else if (!(tag === "for" && name === "offset" && reader.takeWord("continue"))) {
      const { begin, literal = 0 } = reader.operand(`behind ${name}:`)
      if (!/^\s*\d+\s*$/.test(String(literal))) {
        reader.refuse(`needs a whole number for ${name}: write ${name}: 3`, begin)
      }
    }
  }
}

const loop = (tag: "for" | "tablerow"): Form => (reader) => {
  if (reader.isAtEnd()) reader.refuse(`is incomplete: write {% ${tag} item in items %}`)
  const begin = reader.at
  reader.ownName(tag)
  if (reader.take(",")) reader.refuse(`has two names: a loop has one, as in {% ${tag} item in items %}`, begin)
  if (!reader.takeWord("in")) reader.finishWith(`behind the name of ${tag}`, `write {% ${tag} item in items %}`)
  reader.operand(`behind in`)
  parametersOf(tag, reader)
}

/** Reads the arguments of a snippet, such as `year: 2026, name: name`, and returns their names. */
const argumentsOf = (reader: StrictReader, example: string): ReadonlyArray<string> => {
  const names: Array<string> = []
  while (!reader.isAtEnd()) {
    if (reader.take(",") && reader.isAtEnd()) reader.unexpected("behind the comma")
    if (reader.rest().startsWith("|")) {
      reader.refuse("has a filter, which render does not apply: assign the filtered value before the tag")
    }
    const { at } = reader
    const name = /^[\w-]/.test(reader.rest()) ? reader.name() : undefined
    if (name === undefined) reader.unexpected("behind the snippet", undefined, "", `write ${example}`)
    if (!reader.take(":")) {
      reader.refuse(`has no colon behind ${name}: write ${name}: and its value, as in ${example}`, at)
    }
    if (names.includes(name!)) reader.refuse(`has the argument ${name} twice`, at)
    names.push(name!)
    reader.operand(`behind ${name}:`)
  }
  return names
}

const render: Form = (reader) => {
  reader.skipBlank()
  const begin = reader.at
  const { literal } = reader.text() ??
    reader.refuse("needs the id of a snippet in quotes: write {% render 'footer' %}")
  const id = String(literal)
  if (!isSnippetId(id)) {
    reader.refuse(
      `has ${JSON.stringify(id)}, which is no id of a snippet: it ${snippetIdRule}`,
      begin,
    )
  }
  const names: Array<string> = []
  if (/^(?:with|for)\b(?!\s*:)/.test((reader.skipBlank(), reader.rest()))) {
    reader.name()
    reader.operand("in render")
    names.push(reader.takeWord("as") ? reader.ownName("render") : id)
  }
  names.push(...argumentsOf(reader, `{% render '${id}', year: 2026 %}`))
  reader.found.renders.push({ id, begin, tag: reader.source.lastIndexOf("{%", begin), names })
}

/** The forms of all tags, by name. A test compares them with the tags of the parser. */
export const forms: ReadonlyMap<string, Form> = new Map<string, Form>([
  ["assign", assign],
  ["capture", capture],
  ["case", value("in case")],
  // The words behind `comment` are part of the comment.
  ["comment", () => {}],
  ["cycle", cycle],
  ["decrement", counter("decrement")],
  ["echo", (reader) => reader.isAtEnd() ? undefined : value("in echo")(reader)],
  ["elsif", condition],
  ["for", loop("for")],
  ["if", condition],
  ["increment", counter("increment")],
  ["render", render],
  ["tablerow", loop("tablerow")],
  ["unless", condition],
  ["when", when],
  ...[
    "break",
    "continue",
    "else",
    "endcapture",
    "endcase",
    "endcomment",
    "endfor",
    "endif",
    "endraw",
    "endtablerow",
    "endunless",
    "raw",
  ].map((name) => [name, nothing(name)] as const),
])

/** Reads the inside of an output. */
export const output: Form = value("in an output")

interface Open {
  readonly name: string
  hasElse: boolean
  /** Whether a `when` was seen. Its absence hides the text. */
  hasWhen: boolean
}

/** Follows blocks, and refuses parts that the parser skips because of their place. */
export class BlockOrder {
  readonly #open: Array<Open> = []
  #hasUnknown = false

  /** Enters, continues or leaves a block. */
  tag({ begin, name }: Pick<TagToken, "begin" | "name">): void {
    const block = this.#open.at(-1)
    if (/^(?:cycle|decrement|echo|for|if|increment|liquid|raw|render|tablerow|unless)$/.test(name)) this.shown(begin)
    if (name === "else" || name === "elsif" || name === "when") {
      if (block === undefined) {
        const opening = name === "when" ? "case" : "if"
        return this.#misplaced(
          `has no open ${opening} before it: write {% ${opening} … %} before it, or delete it`,
          begin,
        )
      }
      if (block.hasElse) {
        throw new Refused(
          name === "else"
            ? `is the second else of one ${block.name}: delete one`
            : `follows else, so that it is never reached: move {% ${name} … %} before {% else %}`,
          begin,
        )
      }
      if (name === "else") block.hasElse = true
      if (name === "when" || name === "else") block.hasWhen = true
    } else if (/^(?:capture|case|for|if|tablerow|unless)$/.test(name)) {
      this.#open.push({ name, hasElse: false, hasWhen: false })
    } else if (block !== undefined && name === `end${block.name}`) this.#open.pop()
    else if (!tagNames.includes(name)) this.#hasUnknown = true
    else if (/^end(?:capture|case|for|if|tablerow|unless)$/.test(name)) {
      this.#misplaced(
        block === undefined
          ? `closes no ${name.slice(3)}: write {% ${name.slice(3)} … %} before it, or delete it`
          : `stands where ${block.name} is open: close it first with {% end${block.name} %}`,
        begin,
      )
    }
  }

  /** Refuses a tag that does not belong here. After an unknown tag, the parser reports that tag. */
  #misplaced(message: string, begin: number): void {
    if (!this.#hasUnknown) throw new Refused(message, begin)
  }

  /** Refuses a text or output that is not shown because it precedes the first `when`. */
  shown(begin: number, text?: string): void {
    const block = this.#open.at(-1)
    if (block?.name !== "case" || block.hasWhen || text?.trim() === "") return
    throw new Refused("is between case and the first when, where it is never shown: move it before {% case … %}", begin)
  }
}
