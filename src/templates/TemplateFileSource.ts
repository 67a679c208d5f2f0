import { Result } from "effect"
import { Composer, type Document, isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, Parser } from "yaml"
import { Buffer } from "node:buffer"
import type { Node, ParsedNode, YAMLMap, YAMLSeq } from "yaml"
import type { FileMember, Located, PlacedFault } from "./FileValues.ts"
import { PlainTexts } from "./PlainTexts.ts"
import { adviceOf, quoteAdvice } from "./YamlAdvice.ts"

/** Maximum size of a file. Unit: bytes of UTF-8. */
const maxBytes = 8 * 1024 * 1024

/** Maximum nesting. The format needs nine levels. Composing is recursive, so the depth is checked before it. */
const maxDepth = 50

/** Maximum number of values that aliases may represent in one file. */
const maxAliased = 100_000

/** The content of a text, with all YAML faults. */
interface FileSource {
  /** Absent if the text is not YAML, because faults of a guessed structure would be misleading. */
  readonly root: Located | undefined
  readonly faults: ReadonlyArray<PlacedFault>
  readonly positionOf: (offset: number) => { readonly line: number; readonly column: number }
}

const compose = (text: string, lines: LineCounter): Result.Result<ReadonlyArray<Document.Parsed>, number> => {
  const parser = new Parser(lines.addNewLine)
  const tokens = []
  lines.addNewLine(0)
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token)
    if (parser.stack.length > maxDepth) return Result.fail(parser.offset)
  }
  for (const token of parser.end()) tokens.push(token)
  // Keys are compared below, because the composer's own check needs quadratic time. `schema` overrides a `%YAML 1.1`
  // line, which would make booleans of `no` and `on`.
  const composer = new Composer({ schema: "core", stringKeys: true, uniqueKeys: false, resolveKnownTags: false })
  return Result.succeed([...composer.compose(tokens, true, text.length)])
}

/** Walks a document once, in its order, so that an alias finds the last anchor of its name before it. */
class Reader {
  readonly faults: Array<PlacedFault> = []
  readonly #plain: PlainTexts
  readonly #anchors = new Map<string, Located | "open">()
  readonly #used = new Set<string>()
  #aliased = 0

  constructor(text: string) {
    this.#plain = new PlainTexts(text)
  }

  /** Returns all faults of a document that was read to its end. */
  allFaults(): ReadonlyArray<PlacedFault> {
    return [...this.faults, ...this.#plain.faults(this.#used)]
  }

  read(node: Node | null, offset: number, path: ReadonlyArray<PropertyKey>): Located {
    if (node === null) return { value: null, offset, size: 1 }
    const start = node.range?.[0] ?? offset
    if (isAlias(node)) return this.#alias(node.source, start, path)
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, "open")
    const located = isMap(node)
      ? this.#map(node, start, path)
      : isSeq(node)
      ? this.#seq(node, start, path)
      : { value: node.value, offset: start, size: 1, ...(node.source === undefined ? {} : { source: node.source }) }
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, located)
    return located
  }

  #fault(offset: number, path: ReadonlyArray<PropertyKey>, message: string): void {
    this.faults.push({ offset, path, message })
  }

  #alias(name: string, offset: number, path: ReadonlyArray<PropertyKey>): Located {
    const located = this.#anchors.get(name)
    this.#used.add(name)
    if (located === undefined || located === "open") {
      const written = this.#plain.restFrom(offset).replace(/[,\]}].*$/, "")
      this.#fault(
        offset,
        path,
        located === "open"
          ? `*${name} contains itself`
          : `no &${name} before this alias. If it is a text, ${quoteAdvice(written)}`,
      )
      return { value: null, offset, size: 1 }
    }
    const before = this.#aliased
    this.#aliased += located.size
    if (this.#aliased > maxAliased) {
      if (before <= maxAliased) this.#fault(offset, path, "aliases must not stand for more than 100,000 values in all")
      return { value: null, offset, size: 1 }
    }
    return located
  }

  /** Adds the members of the mappings behind `<<` that `members` does not have. The first mapping takes precedence. */
  #merge({ at, keyOffset }: FileMember, path: ReadonlyArray<PropertyKey>, members: Map<string, FileMember>): void {
    const sources = Array.isArray(at.value) ? [...at.members!.values()].map((element) => element.at) : [at]
    for (const source of sources) {
      if (source.members === undefined || Array.isArray(source.value)) {
        this.#fault(keyOffset, path, "must be a mapping, such as *shared, or a list of mappings")
        return
      }
      for (const [name, member] of source.members) if (!members.has(name)) members.set(name, member)
    }
  }

  #map(node: YAMLMap, offset: number, path: ReadonlyArray<PropertyKey>): Located {
    const members = new Map<string, FileMember>()
    const merged: Array<FileMember> = []
    let size = 1
    for (const pair of node.items) {
      const key = pair.key as ParsedNode
      const keyOffset = key.range[0]
      // The composer has reported every other kind of key, so this code is never reached with one.
      const name = isScalar(key) ? String(key.value) : ""
      const value = pair.value as Node | null
      const read = this.read(value, keyOffset, [...path, name])
      const at = node.flow === true ? read : this.#plain.check(value, read, [...path, name], key.range[1], "key")
      size += at.size
      // The composer has set no other type for a key without quotes.
      const isMerge = name === "<<" && isScalar(key) && key.type === "PLAIN"
      if (isMerge) merged.push({ keyOffset, at })
      else if (members.has(name)) this.#fault(keyOffset, [...path, name], "occurs twice")
      // An assignment would set the object's prototype.
      else if (/^([“”„].*[“”]|[‘’‚].*[‘’]|[«»].*[«»])$/.test(name)) {
        const meant = JSON.stringify(name.slice(1, -1))
        this.#fault(keyOffset, [...path, name], `is in quotation marks that YAML does not know: write ${meant}`)
      } else if (name === "__proto__") this.#fault(keyOffset, [...path, name], "is not a name that can be used")
      else members.set(name, { keyOffset, at })
    }
    for (const member of merged) this.#merge(member, [...path, "<<"], members)
    const value: { [name: string]: unknown } = {}
    for (const [name, { at }] of members) value[name] = at.value
    return { value, offset, members, size }
  }

  #seq(node: YAMLSeq, offset: number, path: ReadonlyArray<PropertyKey>): Located {
    const value: Array<unknown> = []
    const members = new Map<string, FileMember>()
    let size = 1
    for (const [index, item] of node.items.entries()) {
      const read = this.read(item as Node | null, offset, [...path, index])
      const at = node.flow === true
        ? read
        : this.#plain.check(item as Node | null, read, [...path, index], read.offset, "dash")
      size += at.size
      members.set(String(index), { keyOffset: at.offset, at })
      value.push(at.value)
    }
    return { value, offset, members, size }
  }
}

/**
 * Returns the faults of a text that is not YAML: advice on texts that need quotes instead of the parser's messages
 * about their lines, and instead of its messages about all lines behind a quotation that is never closed.
 */
const withAdvice = (
  text: string,
  faults: ReadonlyArray<PlacedFault>,
  lineOf: (offset: number) => number,
): ReadonlyArray<PlacedFault> => {
  const faulty = new Set(faults.map(({ offset }) => lineOf(offset)))
  const advice = adviceOf(text).filter(({ isGuess, offset }) => isGuess !== true || faulty.has(lineOf(offset)))
  const lines = new Set(advice.map(({ offset }) => lineOf(offset)))
  const open = Math.min(Infinity, ...advice.filter(({ isOpen }) => isOpen).map(({ offset }) => lineOf(offset)))
  const others = faults.filter(({ offset }) => !lines.has(lineOf(offset)) && lineOf(offset) < open)
  return [...advice.map(({ message, offset }) => ({ message, offset, path: [] })), ...others]
}

/** Messages of the parser about columns, which are about its grammar and not about what to write. */
const aboutColumns = /same column|^Sequence item without|^A block sequence may not|compact mappings/

const inWords = (code: string, message: string): string =>
  aboutColumns.test(message)
    ? "begins in the wrong column: members of one mapping, and elements of one list, begin in the same column"
    : code === "NON_STRING_KEY"
    ? "a name must be text, not a list, a mapping or an alias"
    : message

/**
 * Reads YAML 1.2 (core schema, so that `no` and `on` are text and `11-15` is not a date) or JSON, which is a part of
 * YAML. Limits: one document, 8 MiB, 50 levels of nesting, and 100,000 values from aliases. A repeated key, the key
 * `__proto__`, and tags outside the core schema are faults, and so are plain texts of which YAML would read a part as a
 * comment, an anchor or a tag, and U+FFFD, which stands for a lost character. Merges the mappings behind `<<`. Skips a
 * byte order mark at the start. Reads a carriage return alone as the end of a line.
 */
export const read = (input: string): FileSource => {
  const text = (input.startsWith("\ufeff") ? input.slice(1) : input).replace(/\r(?!\n)/g, "\n")
  const lines = new LineCounter()
  const positionOf = (offset: number) => {
    const { col, line } = lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  const refuse = (offset: number, message: string): FileSource => ({
    root: undefined,
    faults: [{ offset, path: [], message }],
    positionOf,
  })
  if (text.length > maxBytes || Buffer.byteLength(text) > maxBytes) return refuse(0, "the file must be at most 8 MiB")
  const lost = text.indexOf("\ufffd")
  if (lost >= 0) {
    lines.addNewLine(0)
    for (let at = text.indexOf("\n"); at >= 0 && at < lost; at = text.indexOf("\n", at + 1)) lines.addNewLine(at + 1)
    return refuse(lost, "\ufffd stands for a character that was lost: save the original file as UTF-8")
  }
  const composed = compose(text, lines)
  if (Result.isFailure(composed)) return refuse(composed.failure, "values must be nested at most 50 deep")
  const [document, second] = composed.success
  const problems = composed.success.flatMap(({ errors, warnings }) => [...errors, ...warnings])
  const faults = problems.map(({ code, message, pos }): PlacedFault => ({
    offset: pos[0],
    path: [],
    message: inWords(code, message),
  }))
  if (second !== undefined) {
    const offset = second.contents?.range?.[0] ?? second.range[0]
    faults.push({ offset, path: [], message: "the file must be one document: everything after `---` is another" })
  }
  if (document === undefined || faults.length > 0) {
    return { root: undefined, faults: withAdvice(text, faults, (offset) => positionOf(offset).line), positionOf }
  }
  const reader = new Reader(text)
  const root = reader.read(document.contents, 0, [])
  return { root, faults: reader.allFaults(), positionOf }
}
