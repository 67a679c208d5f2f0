// Finds SQL in the template literals of a source file.

/** A template literal: its parts, the name of the constant that holds it, and whether it has the tag `sql`. */
interface Template {
  readonly start: number
  readonly end: number
  readonly name: string | undefined
  readonly isSql: boolean
  readonly parts: ReadonlyArray<string | Interpolation>
}

interface Interpolation {
  readonly code: string
  readonly templates: ReadonlyArray<Template>
}

/** Returns the index after the string or comment at `from`. Returns `from` if neither begins there. */
const skipText = (text: string, from: number): number => {
  const two = text.slice(from, from + 2)
  if (two === "//") return (text.indexOf("\n", from) + 1) || text.length
  if (two === "/*") return text.indexOf("*/", from) + 2
  const quote = text[from]
  if (quote !== '"' && quote !== "'") return from
  const found = /^(["'])(?:\\.|(?!\1)[^\\\n])*\1/.exec(text.slice(from, from + 2000))
  return found === null ? from : from + found[0].length
}

/** Reads templates from `from` up to the brace that closes this code, or the end of the text. */
const templatesIn = (text: string, from: number): { readonly found: ReadonlyArray<Template>; readonly end: number } => {
  const found: Array<Template> = []
  let depth = 0
  let i = from
  while (i < text.length) {
    const after = skipText(text, i)
    if (after > i) {
      i = after
      continue
    }
    if (text[i] === "`") {
      const template = readTemplate(text, i)
      found.push(template)
      i = template.end
      continue
    }
    if (text[i] === "{") depth++
    if (text[i] === "}" && depth-- === 0) break
    i++
  }
  return { found, end: i }
}

/** The beginning of a constant or property that is a template, or of a function that returns one. */
const beginning = /\b(\w+)(?:\s*=|:)\s*(?:\([^`=]*\)[^`=]*=>\s*)?(sql(?:<[^`]*>)?)?$/
const literal = /\bconst (\w+)\s*=\s*"([^"\n]*)"/g

const readTemplate = (text: string, start: number): Template => {
  const parts: Array<string | Interpolation> = []
  let i = start + 1
  let plain = i
  while (i < text.length && text[i] !== "`") {
    if (text[i] === "\\") i += 2
    else if (text.startsWith("${", i)) {
      const { end, found } = templatesIn(text, i + 2)
      parts.push(text.slice(plain, i), { code: text.slice(i + 2, end).trim(), templates: found })
      i = plain = end + 1
    } else i++
  }
  parts.push(text.slice(plain, i))
  const named = beginning.exec(text.slice(Math.max(0, start - 400), start))
  return { start, end: i + 1, name: named?.[1], isSql: named?.[2] !== undefined, parts }
}

/** Constants that a template may interpolate. */
interface Constants {
  /** Templates of the file. */
  readonly templates: ReadonlyArray<Template>
  /** Strings of the file, and strings and fragments that it imports. */
  readonly texts: ReadonlyMap<string, string>
}

/** Writes a template as SQL. An interpolated value is a quoted name of its code, so that equal values compare equal. */
const write = (template: Template, constants: Constants): string =>
  template.parts.map((part) => {
    if (typeof part === "string") return part
    if (part.templates.length > 0) return part.templates.map((inner) => write(inner, constants)).join(" ")
    const [, literalOf, name = ""] = /^(sql\.literal\()?(\w+)/.exec(part.code) ?? []
    const isText = literalOf !== undefined || !template.isSql
    const text = isText ? constants.texts.get(name) : undefined
    if (text !== undefined) return text
    const fragment = constants.templates.findLast((one) =>
      one.name === name && one.end < template.start && (one.isSql || isText)
    )
    return fragment === undefined ? `"$${part.code.replaceAll(/["\s]+/g, " ")}"` : write(fragment, constants)
  }).join("")

const constantsOf = (text: string, found: ReadonlyArray<Template>, shared: ReadonlyMap<string, string>): Constants => {
  const imported = [...text.matchAll(/^import \{([^}]*)\}/gm)].flatMap(([, names]) => names!.match(/\w+/g) ?? [])
  return {
    templates: found.filter(({ name }) => name !== undefined),
    texts: new Map([
      ...imported.flatMap((name) => shared.has(name) ? [[name, shared.get(name)!] as const] : []),
      ...[...text.matchAll(literal)].map(([, name, value]) => [name!, value!] as const),
    ]),
  }
}

/** Returns the SQL that a file exports as text or as a function that returns text, by the name of its constant. */
export const exportedTexts = (text: string, shared: ReadonlyMap<string, string>): ReadonlyMap<string, string> => {
  const { found } = templatesIn(text, 0)
  const constants = constantsOf(text, found, shared)
  const exported = new Set(
    [...text.matchAll(/^export const (\w+) = (?:\([^`=]*\)[^`=]*=>\s*)?["`]/gm)].map(([, name]) => name!),
  )
  const templates = found.flatMap((one) => one.name === undefined ? [] : [[one.name, write(one, constants)] as const])
  return new Map([...constants.texts, ...templates].filter(([name]) => exported.has(name)))
}

const isSql = /\b(?:FROM|JOIN|INTO|UPDATE)\s/

/**
 * Returns the SQL of a source file, one text for each outer template literal. Fragments of the file are inlined, and so
 * are the texts of other files in `shared`, by name.
 */
export const statementsOf = (
  text: string,
  shared: ReadonlyMap<string, string> = new Map(),
): ReadonlyArray<string> => {
  const { found } = templatesIn(text, 0)
  const constants = constantsOf(text, found, shared)
  return found.map((template) => write(template, constants)).filter((sql) => isSql.test(sql))
}
