import { NoEquivalent, path, type Value } from "./Expression.ts"
import type { Result } from "./Result.ts"

const plainName = /^[A-Za-z_]\w*$/
const words = new Set(["true", "false", "nil", "null", "empty", "blank", "and", "or", "not", "contains"])

/** A name or index of a path. */
export type Part = string | number

/** Returns a path in Liquid: `person['Loyalty Points']`, `items[0].title`. */
export const pathText = (parts: ReadonlyArray<Part>): string =>
  parts.map((part, at) => {
    if (typeof part === "number") return `[${part}]`
    if (plainName.test(part) && !(at === 0 && words.has(part))) return at === 0 ? part : `.${part}`
    if (part.includes("'") || part === "" || /[\n\r]|\}\}|%\}/.test(part)) {
      throw new NoEquivalent(`Pass the value as a field with a plain name: Liquid cannot read the name "${part}"`)
    }
    return `['${part}']`
  }).join("")

/**
 * Reads a path such as `items.0.title`, `items[0]` or `person["First Name"]`. Undefined for anything else. With
 * `hasBareKeys`, a name in brackets needs no quotes.
 */
export const partsOfPath = (text: string, hasBareKeys = true): ReadonlyArray<Part> | undefined => {
  const parts: Array<Part> = []
  const token = /\.?([\p{L}_$@][\p{L}\p{N}_$@-]*)|\.(\d+)(?!\w)|\.?\[\s*(?:(\d+)|"([^"]*)"|'([^']*)'|([^\]"']+))\s*\]/uy
  for (let at = 0; at < text.length; at = token.lastIndex) {
    token.lastIndex = at
    const found = token.exec(text)
    if (found === null || (at === 0 && found[0].startsWith("."))) return undefined
    const [, name, dotted, index, double, single, bare] = found
    const number = dotted ?? index
    if (bare !== undefined && !hasBareKeys) return undefined
    parts.push(number === undefined ? (name ?? double ?? single ?? bare?.trim())! : Number(number))
  }
  return parts.length === 0 ? undefined : parts
}

/** Names of a platform: the object of ours for its data, empty for the top level, a value, or a remedy. */
export type Roots = Readonly<Record<string, "" | "event" | { readonly means: Value } | { readonly remedy: string }>>

/** Resolves names to fields of the caller and to variables of the source. */
export class CopyNames {
  readonly #locals: Array<Map<string, ReadonlyArray<Part>>> = [new Map()]

  constructor(readonly result: Result, readonly roots: Roots) {}

  /** Opens a scope in which `names` mean other paths. */
  enter(names: ReadonlyArray<readonly [name: string, means: ReadonlyArray<Part>]>): void {
    this.#locals.push(new Map(names))
  }

  leave(): void {
    if (this.#locals.length > 1) this.#locals.pop()
  }

  /** Defines a variable in the current scope. */
  define(name: string, means: ReadonlyArray<Part> = [name]): void {
    this.#locals.at(-1)!.set(name, means)
  }

  local(name: Part): ReadonlyArray<Part> | undefined {
    for (let at = this.#locals.length - 1; at >= 0; at--) {
      const found = this.#locals[at]!.get(String(name))
      if (found !== undefined) return found
    }
    return undefined
  }

  /** Fails with `NoEquivalent` if a variable has the name of a field of the top level. */
  failIfHidden(name: string): void {
    if (this.local(name) !== undefined) {
      throw new NoEquivalent(`Rename the variable ${name}: the field ${name} of the person has the same name`)
    }
  }

  /** Returns the value of a path. `written` is its text in the source. */
  value(parts: ReadonlyArray<Part>, written: string): Value {
    const [first = "", ...rest] = parts
    const local = this.local(first)
    if (local !== undefined) return path(pathText([...local, ...rest]))
    if (first === "forloop") return path(pathText(parts))
    const root = Object.hasOwn(this.roots, String(first)) ? this.roots[String(first)] : undefined
    if (typeof root === "object") {
      if ("remedy" in root) throw new NoEquivalent(root.remedy)
      return root.means
    }
    if (root === "" && rest.length === 0) {
      throw new NoEquivalent(`Name a member of ${first}, such as ${first}.first_name`)
    }
    if (root === "") this.failIfHidden(String(rest[0]))
    const target = root === undefined ? parts : root === "" ? rest : [root, ...rest]
    return path(this.result.field(written, pathText(target)))
  }
}
