import { performance } from "node:perf_hooks"
import type { Fault } from "../../domain/Errors.ts"
import { controlFault, hasControl } from "../../json/ControlNames.ts"
import * as Json from "../../json/Json.ts"
import { NameCost } from "../../json/NameCost.ts"

// Parameters of a query that name a member of `fields` at any depth: `fields[user][name]=Ann`, `fields.user.name=Ann`,
// `fields[items][0]=a`, `fields[tags][]=a`.

/** Maximum number of keys in the name of a parameter. */
const maxDepth = 20

/** A value, or the values of a list that is written with `[]` or by a repeated name. */
interface Leaf {
  readonly parameter: string
  readonly values: ReadonlyArray<string>
  readonly isList: boolean
}

interface Branch {
  /** The first parameter of a member. */
  readonly parameter: string
  readonly members: Map<string, Leaf | Branch>
}

interface Path {
  readonly keys: ReadonlyArray<string>
  readonly isList: boolean
}

/**
 * Returns the keys in the name of a parameter, without its first word. A dot separates keys, also in brackets. Returns
 * undefined for an empty key and for brackets that are not closed.
 */
const pathOf = (keys: string): Path | undefined => {
  const isList = keys.endsWith("[]")
  const written = isList ? keys.slice(0, -2) : keys
  if (!/^(?:\[[^[\]]+\]|\.[^[\].]+)+$/.test(written)) return undefined
  const found = written.replace(/\[([^[\]]+)\]/g, ".$1").slice(1).split(".")
  return found.includes("") ? undefined : { keys: found, isList }
}

const isBranch = (node: Leaf | Branch): node is Branch => "members" in node

/** Sets a member. `__proto__` is an ordinary name. */
export const put = (target: object, name: string, value: unknown): void => {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
}

const conflict = (pointer: string, other: string): Fault => ({
  pointer,
  detail: `conflicts with ${other}: a member is either one value, a list, or has members`,
})

/** Adds a value to the tree, or returns why it does not fit. */
const insert = (root: Branch, { isList, keys }: Path, values: ReadonlyArray<string>, parameter: string) => {
  let branch = root
  for (const key of keys.slice(0, -1)) {
    const next = branch.members.get(key) ?? { parameter, members: new Map() }
    if (!isBranch(next)) return conflict(parameter, next.parameter)
    branch.members.set(key, next)
    branch = next
  }
  const last = keys.at(-1)!
  const before = branch.members.get(last)
  if (before !== undefined && isBranch(before)) return conflict(parameter, before.parameter)
  branch.members.set(last, {
    parameter: before?.parameter ?? parameter,
    values: [...before?.values ?? [], ...values],
    isList: isList || before?.isList === true,
  })
  return undefined
}

/** The values of one object, with the faults that were found in it. */
class Builder {
  readonly faults: Array<Fault> = []
  readonly cost = new NameCost()

  /** Returns the value of a node. An object whose names are 0, 1, 2 and so on is a list. */
  valueOf(node: Leaf | Branch): unknown {
    if (!isBranch(node)) return node.isList || node.values.length > 1 ? node.values : node.values[0]
    const names = [...node.members.keys()]
    const isList = node.members.has("0") && names.every((name) => /^(?:0|[1-9]\d{0,5})$/.test(name))
    if (!isList) return this.merge({}, node)
    const missing = names.findIndex((_, index) => !node.members.has(String(index)))
    if (missing >= 0) {
      this.faults.push({
        pointer: node.parameter,
        detail: `is in a list without the element ${missing}: number the elements 0, 1, 2 without gaps`,
      })
    }
    return names.map((_, index) => {
      const element = node.members.get(String(index))
      return element === undefined ? null : this.valueOf(element)
    })
  }

  /** Adds the members of a branch to an object, and replaces equal members that have no members of their own. */
  merge(target: object, branch: Branch): object {
    for (const [name, node] of branch.members) {
      const before: unknown = Object.hasOwn(target, name) ? (target as Record<string, unknown>)[name] : undefined
      const value = this.valueOf(node)
      const began = performance.now()
      if (!isBranch(node) || Array.isArray(value) || before === undefined) put(target, name, value)
      else if (typeof before === "object" && before !== null && !Array.isArray(before)) this.merge(before, node)
      else this.faults.push(conflict(node.parameter, "the JSON object"))
      if (this.cost.add(1, performance.now() - began)) throw new Json.NamesCollide()
    }
    return target
  }
}

const exampleOf = (word: string) => `must name one key, such as ${word}[key]=value or ${word}[user][name]=value`

/**
 * Adds the members that the parameters of `word` name to `target`, at any depth up to 20 keys. A repeated name forms a
 * list. Returns the faults: names without a key, control characters, and parameters that contradict each other.
 */
export const addNested = (query: URLSearchParams, word: string, target: object): ReadonlyArray<Fault> => {
  const root: Branch = { parameter: word, members: new Map() }
  const builder = new Builder()
  const { faults } = builder
  for (const name of new Set(query.keys())) {
    if (!name.startsWith(`${word}[`) && !name.startsWith(`${word}.`)) continue
    const path = pathOf(name.slice(word.length))
    const fault = path === undefined
      ? exampleOf(word)
      : hasControl(name)
      ? controlFault
      : path.keys.length > maxDepth
      ? `must have at most ${maxDepth} keys`
      : undefined
    if (path === undefined || fault !== undefined) {
      faults.push({ pointer: name, detail: fault ?? exampleOf(word) })
      continue
    }
    const began = performance.now()
    const clash = insert(root, path, query.getAll(name), name)
    if (clash !== undefined) faults.push(clash)
    if (builder.cost.add(path.keys.length, performance.now() - began)) {
      return [{ pointer: word, detail: new Json.NamesCollide().message }]
    }
  }
  try {
    builder.merge(target, root)
  } catch (error) {
    if (!(error instanceof Json.NamesCollide)) throw error
    return [{ pointer: word, detail: error.message }]
  }
  return faults
}
