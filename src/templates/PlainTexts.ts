import { isAlias, isScalar, type Node } from "yaml"
import type { Located, PlacedFault } from "./FileValues.ts"
import { because, commentIn, isText } from "./YamlAdvice.ts"

/** Members whose texts people read or compare. Next to other texts, which are words of the format, comments are usual. */
const freeTexts: ReadonlySet<PropertyKey> = new Set(["name", "tags", "vars", "components", "values"])

const isFree = (path: ReadonlyArray<PropertyKey>): boolean =>
  /^x-/.test(String(path[0])) || path.some((name) => freeTexts.has(name))

/** Finds texts without quotes of which YAML reads a part as a comment, an anchor or a tag. */
export class PlainTexts {
  readonly #text: string
  readonly #faults: Array<PlacedFault & { readonly anchor?: string }> = []

  constructor(text: string) {
    this.#text = text
  }

  /** Returns the faults. Anchors in `used` are no faults. */
  faults(used: ReadonlySet<string>): ReadonlyArray<PlacedFault> {
    return this.#faults.filter(({ anchor }) => anchor === undefined || !used.has(anchor))
      .map(({ message, offset, path }) => ({ message, offset, path }))
  }

  /** Returns the line from `offset` on, without white space at its end. */
  restFrom(offset: number): string {
    const end = this.#text.indexOf("\n", offset)
    return this.#text.slice(offset, end < 0 ? undefined : end).trimEnd()
  }

  /** Returns the offset behind the colon of a key that ends at `from`, or behind the dashes of the line of `from`. */
  #start(from: number, behind: "key" | "dash"): number {
    if (behind === "key") return this.#text.indexOf(":", from) + 1
    const start = this.#text.lastIndexOf("\n", from - 1) + 1
    return start + /^[ \t]*(?:-(?:[ \t]+|$))*/.exec(this.restFrom(start))![0].length
  }

  /**
   * Checks a value of a block. `from` is the end of its key, or a place in its line. Returns the value with its line if
   * it is no text.
   */
  check(
    node: Node | null,
    located: Located,
    path: ReadonlyArray<PropertyKey>,
    from: number,
    behind: "key" | "dash",
  ): Located {
    if (isAlias(node)) return located
    const begin = this.#start(from, behind)
    const rest = this.restFrom(begin)
    const line = rest.trimStart()
    const offset = begin + rest.length - line.length
    const before = this.#faults.length
    if (node === null || (isScalar(node) && node.type === "PLAIN")) this.#checkPlain(node, located, path, line, offset)
    // Another fault of a value without text has this place, so that only the first one is listed.
    const place = this.#faults.length > before ? { offset } : {}
    return typeof located.value === "string" ? located : { ...located, ...place, line }
  }

  #checkPlain(node: Node | null, { value }: Located, path: ReadonlyArray<PropertyKey>, line: string, offset: number) {
    const isEmpty = value === null && !/^(?:null|~)/i.test(line)
    const end = node?.range?.[1] ?? offset
    const comment = isEmpty ? commentIn(line) : /^[ \t]+#(.*)$/.exec(this.restFrom(end))?.[1]
    if (comment !== undefined && (isEmpty || typeof value === "string") && isFree(path) && isText(comment)) {
      const whole = isEmpty ? line : this.#text.slice(offset, end).replace(/\s*\n\s*/g, " ") + this.restFrom(end)
      this.#faults.push({ offset, path, message: because("#", whole) })
    } else if (/^![ \t]/.test(line)) this.#faults.push({ offset, path, message: because("!", line) })
    else if (node?.anchor !== undefined && line.startsWith("&")) {
      this.#faults.push({ offset, path, message: because("&", line), anchor: node.anchor })
    }
  }
}
