import { JsonPointer } from "effect"
import * as Json from "../../json/Json.ts"

/** A step of a path: a member by name, an element by index, or null for every element. */
export type Step = string | number | null

/** A path into JSON. */
interface Path {
  /** Whether the path begins at the whole body instead of the item. */
  readonly ofBody: boolean
  readonly steps: ReadonlyArray<Step>
}

/** Maximum number of steps of a path. */
const maxSteps = 32

const step = /\.([^.[\]"'\s]+)|\[(\d{1,9})\]|\[(\*)\]|\["((?:[^"\\]|\\.)*)"\]|\['([^'\\]*)'\]/y

const quoted = (text: string): string | undefined => {
  try {
    return Json.parse(`"${text}"`) as string
  } catch {
    return undefined
  }
}

/**
 * Parses a path: `$` (the item) or `$body`, followed by any of `.name`, `["any name"]` (or in single quotes), `[0]` and
 * `[*]`. A fault completes the sentence "The path …" with the error and its position.
 */
export const parsePath = (text: string): Path | { readonly fault: string } => {
  const root = /^\$(body(?=[.[]|$))?/.exec(text)
  if (root === null) return { fault: 'must begin with $, such as $.data.items[*] or $["a name"]' }
  const steps: Array<Step> = []
  let at = root[0].length
  while (at < text.length) {
    step.lastIndex = at
    const found = step.exec(text)
    const fault = `must go on with .name, ["name"], [0] or [*] at character ${at + 1}`
    if (found === null) return { fault }
    const [all, name, index, every, double, single] = found
    const next = every !== undefined
      ? null
      : index !== undefined
      ? Number(index)
      : double !== undefined
      ? quoted(double)
      : name ?? single
    if (next === undefined) return { fault }
    steps.push(next)
    at += all.length
  }
  return steps.length > maxSteps
    ? { fault: `must have at most ${maxSteps} steps` }
    : { ofBody: root[1] !== undefined, steps }
}

/** A value in JSON, and its pointer. */
interface Node {
  readonly value: unknown
  readonly pointer: string
}

const escaped = (name: string): string => JsonPointer.escapeToken(name.toWellFormed())

/**
 * Returns the values that steps lead to, in document order, at most `limit` at every step. Calls `spend` with the
 * number of values read. Reads only own members of objects, no inherited ones.
 */
export const valuesOf = (
  root: unknown,
  steps: ReadonlyArray<Step>,
  limit: number,
  spend: (steps: number) => void,
): ReadonlyArray<unknown> => {
  let values: ReadonlyArray<unknown> = [root]
  for (const step of steps) {
    spend(values.length)
    const next: Array<unknown> = []
    for (const value of values) {
      if (next.length >= limit) break
      if (typeof value !== "object" || value === null) continue
      if (Array.isArray(value)) {
        if (step === null) {
          const count = Math.min(value.length, limit - next.length)
          for (let i = 0; i < count; i++) next.push(value[i])
        } else if (typeof step === "number" && step < value.length) next.push(value[step])
      } else if (typeof step === "string" && Object.hasOwn(value, step)) {
        next.push((value as { readonly [name: string]: unknown })[step])
      }
    }
    if (next.length === 0) return next
    values = next
  }
  return values
}

/** Returns the nodes that steps lead to, like `valuesOf`. */
export const nodesOf = (
  root: unknown,
  steps: ReadonlyArray<Step>,
  limit: number,
  spend: (steps: number) => void,
): ReadonlyArray<Node> => {
  let nodes: ReadonlyArray<Node> = [{ value: root, pointer: "" }]
  for (const step of steps) {
    spend(nodes.length)
    const next: Array<Node> = []
    for (const { pointer, value } of nodes) {
      if (next.length >= limit) break
      if (typeof value !== "object" || value === null) continue
      if (Array.isArray(value)) {
        if (step === null) {
          const count = Math.min(value.length, limit - next.length)
          for (let i = 0; i < count; i++) next.push({ value: value[i] as unknown, pointer: `${pointer}/${i}` })
        } else if (typeof step === "number" && step < value.length) {
          next.push({ value: value[step] as unknown, pointer: `${pointer}/${step}` })
        }
      } else if (typeof step === "string" && Object.hasOwn(value, step)) {
        next.push({
          value: (value as { readonly [name: string]: unknown })[step],
          pointer: `${pointer}/${escaped(step)}`,
        })
      }
    }
    nodes = next
  }
  return nodes
}

/** Operators of a condition of a mapping. */
export const operators = ["is", "is_not", "in", "not_in", "exists", "not_exists", "starts_with", "contains"] as const
type Operator = (typeof operators)[number]

/**
 * Compiles a condition into a predicate on a text. An absent text meets only `is_not`, `not_in` and `not_exists`. Calls
 * `search` with the lengths of the searched text and of the search term.
 */
export const matcherOf = (
  op: Operator,
  values: ReadonlyArray<string>,
): (text: string | undefined, search: (haystack: number, needle: number) => void) => boolean => {
  const known = new Set(values)
  const [first = ""] = values
  switch (op) {
    case "is":
    case "in":
      return (text) => text !== undefined && known.has(text)
    case "is_not":
    case "not_in":
      return (text) => text === undefined || !known.has(text)
    case "exists":
      return (text) => text !== undefined
    case "not_exists":
      return (text) => text === undefined
    case "starts_with":
      return (text) => text?.startsWith(first) === true
    case "contains":
      return (text, search) => {
        if (text === undefined) return false
        search(text.length, first.length)
        return text.includes(first)
      }
  }
}
