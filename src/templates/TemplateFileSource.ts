import { Result } from "effect"
import { Composer, type Document, isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, Parser } from "yaml"
import { Buffer } from "node:buffer"
import type { Node, ParsedNode, YAMLMap, YAMLSeq } from "yaml"

/** A value of the file and its position. */
export interface Located {
  /** The plain value: `null`, boolean, number, string, array or object. */
  readonly value: unknown
  readonly offset: number
  /** The written form of a scalar, without its quotes. */
  readonly source?: string
  /** The members of an object, or the elements of an array by their index. */
  readonly members?: ReadonlyMap<string, FileMember>
  /** Number of scalars, arrays and objects in the value. Values of an alias count each time. */
  readonly size: number
}

/** A member of an object, with the position of its name. */
export interface FileMember {
  readonly keyOffset: number
  readonly at: Located
}

/** Maximum size of a file. Unit: bytes of UTF-8. */
const maxBytes = 8 * 1024 * 1024

/** Maximum nesting. The format needs nine levels. Composing is recursive, so the depth is checked before it. */
const maxDepth = 50

/** Maximum number of values that aliases may represent in one file. */
const maxAliased = 100_000

/** A fault by its position in the text. */
export interface PlacedFault {
  readonly offset: number
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}

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
  readonly #anchors = new Map<string, Located | "open">()
  #aliased = 0

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
    if (located === undefined || located === "open") {
      this.#fault(offset, path, located === "open" ? `*${name} contains itself` : `no &${name} before this alias`)
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

  #map(node: YAMLMap, offset: number, path: ReadonlyArray<PropertyKey>): Located {
    const value: { [name: string]: unknown } = {}
    const members = new Map<string, FileMember>()
    let size = 1
    for (const pair of node.items) {
      const key = pair.key as ParsedNode
      const keyOffset = key.range[0]
      // The composer has reported every other kind of key, so this code is never reached with one.
      const name = isScalar(key) ? String(key.value) : ""
      const at = this.read(pair.value as Node | null, keyOffset, [...path, name])
      size += at.size
      const known = members.get(name)
      if (known !== undefined) this.#fault(keyOffset, [...path, name], "occurs twice")
      // An assignment would set the object's prototype.
      else if (name === "__proto__") this.#fault(keyOffset, [...path, name], "is not a name that can be used")
      else {
        members.set(name, { keyOffset, at })
        value[name] = at.value
      }
    }
    return { value, offset, members, size }
  }

  #seq(node: YAMLSeq, offset: number, path: ReadonlyArray<PropertyKey>): Located {
    const value: Array<unknown> = []
    const members = new Map<string, FileMember>()
    let size = 1
    for (const [index, item] of node.items.entries()) {
      const at = this.read(item as Node | null, offset, [...path, index])
      size += at.size
      members.set(String(index), { keyOffset: at.offset, at })
      value.push(at.value)
    }
    return { value, offset, members, size }
  }
}

/**
 * Reads YAML 1.2 (core schema, so that `no` and `on` are text and `11-15` is not a date) or JSON, which is a part of
 * YAML. Limits: one document, 8 MiB, 50 levels of nesting, and 100,000 values from aliases. A repeated key, the key
 * `__proto__`, and tags outside the core schema are faults. Skips a byte order mark at the start.
 */
export const read = (input: string): FileSource => {
  const text = input.startsWith("\ufeff") ? input.slice(1) : input
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
  const composed = compose(text, lines)
  if (Result.isFailure(composed)) return refuse(composed.failure, "values must be nested at most 50 deep")
  const [document, second] = composed.success
  const problems = composed.success.flatMap(({ errors, warnings }) => [...errors, ...warnings])
  const faults = problems.map(({ code, message, pos }): PlacedFault => ({
    offset: pos[0],
    path: [],
    message: code === "NON_STRING_KEY" ? "a name must be text, not a list, a mapping or an alias" : message,
  }))
  if (second !== undefined) {
    const offset = second.contents?.range?.[0] ?? second.range[0]
    faults.push({ offset, path: [], message: "the file must be one document: everything after `---` is another" })
  }
  if (document === undefined || faults.length > 0) return { root: undefined, faults, positionOf }
  const reader = new Reader()
  const root = reader.read(document.contents, 0, [])
  return { root, faults: reader.faults, positionOf }
}
