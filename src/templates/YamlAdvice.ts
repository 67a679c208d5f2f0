// Advice for template files whose author does not know YAML: which text to put in quotes, and how it looks then.

/** A place in a file with advice. */
export interface LineAdvice {
  readonly offset: number
  readonly message: string
  /** Whether the fault spoils the following lines for the parser, as a bracket or a quotation mark does. */
  readonly isOpen?: boolean
  /** Whether the value may end in a later line. */
  readonly isUnclosed?: boolean
  /** Whether the advice applies only if the parser finds a fault in the line. */
  readonly isGuess?: boolean
}

/** Maximum length of a quoted text in advice. Unit: characters. */
const maxQuoted = 120

/** Writes a text in quotes, so that YAML reads it unchanged. */
const inQuotes = (text: string): string =>
  /["\\]/.test(text) ? `'${text.replaceAll("'", "''")}'` : `"${text.replaceAll("\t", "\\t")}"`

/** Returns the text that somebody meant by a value whose quotation marks are wrong. */
const withoutOuterQuotes = (text: string): string => {
  const quote = text[0] ?? ""
  if (quote !== '"' && quote !== "'") return text
  if (text.length > 1 && text.endsWith(quote) && text.slice(1, -1).includes(quote)) {
    // `''quoted''` and `'it's here'`; but `"Sale" or "Bag"` begins and ends with a quotation of its own.
    return quote === "'" || !/^"[^"]*"\s.*\s"[^"]*"$/.test(text) ? text.slice(1, -1) : text
  }
  return text.indexOf(quote, 1) < 0 ? text.slice(1) : text
}

/** Returns the advice to put a text in quotes, with its written form. */
export const quoteAdvice = (text: string): string => {
  const trimmed = text.trim()
  return `put the ${trimmed.length > maxQuoted ? "whole text" : "text"} in quotes` +
    (trimmed.length > maxQuoted ? "" : `: ${inQuotes(withoutOuterQuotes(trimmed))}`)
}

const names: { readonly [sign: string]: string } = {
  "{": "{ begins a mapping",
  "[": "[ begins a list",
  "}": "} ends a mapping",
  "]": "] ends a list",
  ",": "a comma separates the values of a list",
  "&": "& begins an anchor",
  "*": "* begins an alias",
  "!": "! begins a tag, and no such tag is known",
  "|": "| begins a text of several lines, which stand below it",
  ">": "> begins a text of several lines, which stand below it",
  "%": "% begins a directive",
  "@": "@ is reserved",
  "`": "` is reserved",
  "#": "# begins a comment",
  "-": "- begins an element of a list",
  "?": "? begins a key",
  ":": '": " ends a key',
}

/** Says why a text that contains `sign` needs quotes, with its written form. */
export const because = (sign: string, text: string): string => `in YAML, ${names[sign]}: ${quoteAdvice(text)}`

/**
 * Whether what follows ` #` belongs to the text: it touches the sign, as in `Deal #1` and `#SALE`, or is empty, as in
 * `Learn C #`, or contains a placeholder or ends as a sentence. A comment begins with a space.
 */
export const isText = (afterSign: string): boolean =>
  /^\S/.test(afterSign) || afterSign.trim() === "" || /^ \d|\{[{%]|[!?]\s*$/.test(afterSign)

/** The comment of a plain value, without its sign. Undefined without one. */
export const commentIn = (value: string): string | undefined => /(?:^|[ \t])#(.*)$/.exec(value)?.[1]

const escapeFault = (quoted: string): string | undefined =>
  /\\[^0abtnvfreN_LP xuU"/\\\t]/.exec(quoted.replace(/\\\\/g, ""))?.[0]

/** Returns the rest of a value behind its quotation, or undefined if the quotation is not closed in this line. */
const behindQuotes = (value: string): string | undefined => {
  const quoted = value[0] === '"' ? /^"(?:[^"\\]|\\.)*"/.exec(value) : /^'(?:[^']|'')*'/.exec(value)
  return quoted === null ? undefined : value.slice(quoted[0].length)
}

/** Returns the rest of a value behind its brackets, or undefined if they are not closed in this line. */
const behindBrackets = (value: string): string | undefined => {
  let depth = 0
  for (const [index, sign] of [...value].entries()) {
    if (sign === "{" || sign === "[") depth++
    else if ((sign === "}" || sign === "]") && --depth === 0) return value.slice(index + 1)
  }
  return undefined
}

const isRest = (rest: string): boolean => rest.trim() === "" || /^[ \t]+#/.test(rest)

const quotedFault = (value: string): Omit<LineAdvice, "offset"> | undefined => {
  const rest = behindQuotes(value)
  if (rest === undefined) {
    return { message: `the quotation mark is never closed: ${quoteAdvice(value)}`, isOpen: true, isUnclosed: true }
  }
  if (!isRest(rest)) return { message: `text goes on behind the closing quotation mark: ${quoteAdvice(value)}` }
  const inner = value.slice(1, value.length - rest.length - 1)
  const escape = value[0] === '"' ? escapeFault(inner) : undefined
  if (escape === undefined) return undefined
  const written = inner.length > maxQuoted ? "" : `, '${inner.replaceAll("'", "''")}'`
  return { message: `${escape} is no escape sequence: use single quotes${written}` }
}

const bracketFault = (value: string): Omit<LineAdvice, "offset"> | undefined => {
  if (/^\{[{%#]/.test(value)) return { message: because("{", value), isOpen: true }
  const rest = behindBrackets(value)
  if (rest === undefined) {
    return {
      message: `in YAML, ${names[value[0]!]}, which is never closed: close it, or ${quoteAdvice(value)}`,
      isOpen: true,
      isUnclosed: true,
    }
  }
  if (!isRest(rest)) return { message: because(value[0]!, value), isOpen: true }
  const inner = value.slice(1, value.length - rest.length - 1)
  if (inner.trim() === "") return undefined
  const cut = /(?:^|[,:]\s*)([^,:"'{[\]}]*[ \t]#[^,"'\]}]*)/.exec(inner.slice(0, 1_000))?.[1]
  if (cut !== undefined) return { message: because("#", cut), isOpen: true }
  const item = /(?:^|[,:]\s*)([^,:"'{[\]}]*\{[{%][^,"']*)/.exec(inner.slice(0, 1_000))?.[1]
  const advice = item === undefined ? "put each text in quotes" : quoteAdvice(item)
  return { message: `between ${value[0] === "{" ? "{ and }" : "[ and ]"}, ${advice}`, isGuess: true }
}

/** Returns the fault of a value by the sign that it begins with. */
const signFault = (value: string, anchors: ReadonlySet<string>): string | undefined => {
  switch (value[0]) {
    case "|":
    case ">":
      return isBlockHeader(value) ? undefined : because(value[0], value)
    case "&": {
      const name = /^&([^\s,[\]{}]+)/.exec(value)?.[1]
      return name !== undefined && anchors.has(name) ? undefined : because("&", value)
    }
    case "*":
      return /^\*[\w-]+[ \t]*(?:#.*)?$/.test(value) ? undefined : because("*", value)
    case "!":
      // A tag before a mapping, a list or quotes is meant as a tag.
      return /^!!(?:str|int|float|bool|null|map|seq)\b|^!\S*[ \t]+[{["']/.test(value) ? undefined : because("!", value)
    case "%":
    case "@":
    case "`":
    case "}":
    case "]":
    case ",":
      return because(value[0], value)
    case "-":
    case "?":
    case ":":
      return /^.(?:[ \t]|$)/.test(value) ? because(value[0], value) : undefined
    default:
      return undefined
  }
}

const isBlockHeader = (value: string): boolean => /^[|>](?:[+-]?[1-9]?|[1-9][+-])[ \t]*(?:#.*)?$/.test(value)

/** Returns the fault of a value on one line, as its author wrote it behind `key: ` or `- `. */
const valueFault = (value: string, anchors: ReadonlySet<string>): Omit<LineAdvice, "offset"> | undefined => {
  if (value === "") return undefined
  if (value[0] === '"' || value[0] === "'") return quotedFault(value)
  if (value[0] === "{" || value[0] === "[") return bracketFault(value)
  const bySign = signFault(value, anchors)
  if (bySign !== undefined) return { message: bySign, isOpen: "}]".includes(value[0]!) }
  if ("|>&*!".includes(value[0]!)) return undefined
  const comment = commentIn(value)
  if (comment !== undefined && isText(comment)) return { message: because("#", value) }
  const plain = comment === undefined ? value : value.slice(0, value.length - comment.length - 1)
  if (!/:(?:[ \t]|$)/.test(plain.trimEnd())) return undefined
  return { message: because(":", value), isOpen: /[[\]{}"']/.test(plain) }
}

/** A line that is not part of a text of several lines. */
interface Line {
  /** The spaces and dashes before the key or the value. */
  readonly indent: string
  readonly key: string | undefined
  readonly value: string
  /** Column of the key, or of the last dash. Lines of a text of several lines begin behind it. */
  readonly column: number
}

const lineForm = /^([ \t]*(?:-[ \t]+)*)(?:("[^"]*"|'[^']*'|[^\s:#"'{}[\],&*!|>%@`][^:#]*):(?=[ \t]|$)[ \t]*)?(.*)$/

const lineOf = (text: string): Line => {
  const [, indent = "", key, rest = ""] = lineForm.exec(text) ?? []
  const value = rest.trimEnd()
  return {
    indent,
    key,
    value,
    column: key === undefined ? Math.max(indent.lastIndexOf("-"), 0) : indent.length,
  }
}

const indentOf = (line: string): number => /^ */.exec(line)![0].length

const indentFault = (line: string, { indent }: Line): string | undefined =>
  /^ *\t/.test(line)
    ? "begins with a tab: indent with spaces"
    : /^\s*[\u00a0\u2000-\u200b\u3000\ufeff]/.test(indent + line.slice(indent.length, indent.length + 1))
    ? "begins with a space that YAML does not know: indent with plain spaces"
    : /^[\w-]+:[^\s/\d]/.test(line.slice(indent.length)) && !/:[ \t]/.test(line)
    ? `write a space behind the colon: ${line.trim().replace(":", ": ").slice(0, maxQuoted)}`
    : undefined

/** Returns the fault of a line without a key or a dash, which is as far to the left as a key above it. */
const strayFault = (line: string): string =>
  `belongs to no key: ${
    /^\S+ ?[:=]/.test(line) ? "write `key: value`" : "indent the lines of a text further than its key"
  }`

/**
 * Returns advice for the lines of a text that is not YAML: texts that need quotes, tabs, and colons without a space.
 * Skips texts of several lines. Returns nothing for JSON.
 */
export const adviceOf = (text: string): ReadonlyArray<LineAdvice> => {
  if (/^\s*[{[]/.test(text)) return []
  const lines = text.split("\n")
  const anchors = new Set([...text.matchAll(/\*([\w-]+)/g)].map(([, name]) => name!))
  const found: Array<LineAdvice> = []
  let offset = 0
  let inside = -1
  /** Column of the last key or dash. */
  let column = -1
  for (const [index, written] of lines.entries()) {
    const at = offset
    offset += written.length + 1
    const line = written.trimEnd()
    if (line === "" || /^\s*#|^(?:---|\.\.\.)(?:\s|$)/.test(line)) continue
    if (indentOf(line) > inside && inside >= 0) continue
    inside = -1
    const read = lineOf(line)
    const wrongIndent = indentFault(line, read)
    if (wrongIndent !== undefined) {
      found.push({ offset: at + indentOf(line), message: wrongIndent })
      continue
    }
    if (isBlockHeader(read.value)) inside = read.column
    if (read.key === undefined && !read.indent.includes("-")) {
      if (indentOf(line) <= column && !/^\s*[?:](?:\s|$)/.test(line)) {
        found.push({ offset: at + indentOf(line), message: strayFault(line.trim()), isGuess: true })
      }
      continue
    }
    column = read.key === undefined ? read.column : read.indent.length
    const fault = valueFault(read.value, anchors)
    if (fault === undefined) continue
    let after = index + 1
    while (lines[after]?.trim() === "") after++
    const next = lines[after]
    if (fault.isUnclosed === true && next !== undefined && indentOf(next) > read.column) {
      inside = read.column
      continue
    }
    found.push({ offset: at + line.length - read.value.length, ...fault })
  }
  return found
}
