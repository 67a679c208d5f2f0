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

/**
 * Writes a template as SQL. An interpolated value is a quoted name of its code, so that equal values compare equal.
 * `literals` are the string constants of the file.
 */
const write = (
  template: Template,
  fragments: ReadonlyArray<Template>,
  literals: ReadonlyMap<string, string>,
): string =>
  template.parts.map((part) => {
    if (typeof part === "string") return part
    if (part.templates.length > 0) return part.templates.map((inner) => write(inner, fragments, literals)).join(" ")
    const literalName = /^sql\.literal\((\w+)\)$/.exec(part.code)?.[1]
    const text = literals.get(literalName ?? "")
    if (text !== undefined) return text
    const name = literalName ?? /^\w+/.exec(part.code)?.[0]
    const fragment = fragments.findLast((one) =>
      one.name === name && one.end < template.start && (one.isSql || literalName !== undefined)
    )
    return fragment === undefined ? `"$${part.code.replaceAll(/["\s]+/g, " ")}"` : write(fragment, fragments, literals)
  }).join("")

const isSql = /\b(?:FROM|JOIN|INTO|UPDATE)\s/

/** Returns the SQL of a source file, one text for each outer template literal, with fragments of the file inlined. */
export const statementsOf = (text: string): ReadonlyArray<string> => {
  const { found } = templatesIn(text, 0)
  const fragments = found.filter(({ name }) => name !== undefined)
  const literals = new Map([...text.matchAll(literal)].map(([, name, value]) => [name!, value!]))
  return found.map((template) => write(template, fragments, literals)).filter((sql) => isSql.test(sql))
}
