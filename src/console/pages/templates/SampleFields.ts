import type { Vars } from "../../../domain/Template.ts"

const examples: ReadonlyArray<readonly [RegExp, unknown]> = [
  [/(^|_)(first_?name|name|user|customer)$/i, "Ann"],
  [/(^|_)last_?name$/i, "Arbor"],
  [/e?mail$/i, "ann@example.com"],
  [/(url|link|href)$/i, "https://example.com/"],
  [/(image|img|photo|picture|logo)$/i, "https://example.com/picture.png"],
  [/currency$/i, "EUR"],
  [/(price|total|amount|sum|cost|discount|value)$/i, 49.9],
  [/(quantity|count|number|points|days|hours|age|stock|percent)$/i, 3],
  [/(date|_at|_on|time|until|deadline)$/i, "2026-11-15"],
  [/city$/i, "Berlin"],
  [/country$/i, "Germany"],
]

/** Examples by the first of these filters, for names that say nothing. A filter of numbers needs a number. */
const examplesByFilter: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...["date", "time_zone"].map((filter) => [filter, "2026-11-15"] as const),
  ...[
    "money",
    "plus",
    "minus",
    "times",
    "divided_by",
    "modulo",
    "round",
    "ceil",
    "floor",
    "abs",
    "number_with_delimiter",
  ]
    .map((filter) => [filter, 49.9] as const),
  ...["plural", "pluralize", "at_least", "at_most"].map((filter) => [filter, 3] as const),
])

const exampleOf = (name: string, filter: string | undefined): unknown => {
  const found = examples.find(([pattern]) => pattern.test(name))
  const fitting = examplesByFilter.get(filter ?? "")
  if (found !== undefined && (typeof fitting !== "number" || typeof found[1] === "number")) return found[1]
  if (fitting !== undefined) return fitting
  const words = name.replaceAll(/[_-]+/g, " ").trim()
  return words === "" ? "example" : words[0]!.toUpperCase() + words.slice(1)
}

type Node = { readonly members: Map<string, Node>; isList: boolean; filter?: string | undefined }

const node = (): Node => ({ members: new Map(), isList: false })

const path = String.raw`[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*`
const output = new RegExp(
  String.raw`\{(?:\{-?|%-?\s*assign\s+[\w-]+\s*=)\s*(${path})((?:\s*\|[^|}]*)*)`,
  "g",
)
/** A value that a filter of numbers takes, or that is compared with a number. */
const counted = new RegExp(
  String.raw`\|\s*(?:plus|minus|times|divided_by|modulo|at_least|at_most)\s*:\s*(${path})|(${path})\s*[<>]=?\s*\d`,
  "g",
)
const loop = new RegExp(String.raw`\{%-?\s*(?:for|tablerow)\s+([A-Za-z_][\w-]*)\s+in\s+(${path})`, "g")
const made = /\{%-?\s*(?:assign|capture|increment|decrement)\s+([A-Za-z_][\w-]*)/g
/** A tag that renders a snippet, and a value that it passes. */
const renderTag = /\{%-?\s*render\b[^%]{0,2000}%\}/g
const passed = new RegExp(String.raw`:\s*(${path})`, "g")
const tested = new RegExp(String.raw`\{%-?\s*(?:if|unless|elsif|case)\s+(${path})`, "g")

const lists = new Set(["first", "last", "size"])
const words = new Set(["true", "false", "nil", "null", "empty", "blank", "forloop", "tablerowloop"])
const maxPaths = 200
const maxVariants = 50

/** Most characters of sources that are searched. */
const maxSearched = 300_000

/** Sources from the beginning, up to the first that is too long together with those before it. */
const searched = (sources: ReadonlyArray<Vars>): ReadonlyArray<string> => {
  const all = sources.slice(0, maxVariants).flatMap((vars) => Object.values(vars))
  let length = 0
  const end = all.findIndex((source) => (length += source.length) > maxSearched)
  return end === -1 ? all : all.slice(0, end)
}

/**
 * Example values for the fields that the sources of a template use, guessed from their names and filters. A field that the search
 * misses renders blank. Searches at most 50 variants and 300,000 characters.
 */
export const sampleFields = (sources: ReadonlyArray<Vars>): Readonly<Record<string, unknown>> => {
  const root = node()
  let paths = 0
  const put = (segments: ReadonlyArray<string>, isList: boolean, filter?: string) => {
    if (++paths > maxPaths) return
    let at = root
    for (const segment of segments) {
      if (lists.has(segment) && at !== root) {
        at.isList = true
        if (segment === "size") return
        continue
      }
      let next = at.members.get(segment)
      if (next === undefined) at.members.set(segment, next = node())
      at = next
    }
    if (isList) at.isList = true
    at.filter ??= filter
  }
  for (const source of searched(sources)) {
    const own = new Set([...source.matchAll(made)].map(([, name]) => name!))
    const items = new Map<string, ReadonlyArray<string>>()
    const resolve = (text: string): ReadonlyArray<string> | undefined => {
      const [head, ...rest] = text.split(".")
      const item = items.get(head!)
      if (item !== undefined) return [...item, ...rest]
      return own.has(head!) || words.has(head!) ? undefined : [head!, ...rest]
    }
    for (const [, name, list] of source.matchAll(loop)) {
      const segments = resolve(list!)
      if (segments === undefined) own.add(name!)
      else {
        put(segments, true)
        items.set(name!, segments)
      }
    }
    const find = (text: string, filter?: string) => {
      const segments = resolve(text)
      if (segments !== undefined) put(segments, false, filter)
    }
    for (const [, text, filters = ""] of source.matchAll(output)) {
      find(text!, [...filters.matchAll(/\|\s*(\w+)/g)].find(([, name]) => examplesByFilter.has(name!))?.[1])
    }
    for (const [tag] of source.matchAll(/\{[{%][^}]{0,2000}\}/g)) {
      for (const [, argument, compared] of tag.matchAll(counted)) find((argument ?? compared)!, "plural")
    }
    for (const [, text] of source.matchAll(tested)) find(text!)
    for (const [tag] of source.matchAll(renderTag)) for (const [, text] of tag.matchAll(passed)) find(text!)
  }
  const valueOf = (name: string, { filter, isList, members }: Node): unknown => {
    const one = members.size === 0
      ? exampleOf(isList ? name.replace(/s$/, "") : name, filter)
      : Object.fromEntries([...members].map(([member, child]) => [member, valueOf(member, child)]))
    return isList ? [one] : one
  }
  return Object.fromEntries([...root.members].map(([name, child]) => [name, valueOf(name, child)]))
}
