import type { Completion, CompletionSource } from "@codemirror/autocomplete"

// Completion of Liquid: filters and tags that this service has, and the fields of the organization's templates.

/** Liquid that is open at the cursor: in an output or a tag, and its text up to the cursor. */
interface OpenLiquid {
  readonly isTag: boolean
  readonly inside: string
}

/** Names that completion suggests. */
export interface SuggestedNames {
  /** Sample fields, whose members are suggested by their path. */
  readonly fields: unknown
  readonly filters: ReadonlyArray<string>
  readonly tags: ReadonlyArray<string>
}

/** The Liquid before the cursor, from the last tag or output that is still open; undefined outside of one. */
export const openLiquid = (before: string): OpenLiquid | undefined => {
  const [output, tag] = [before.lastIndexOf("{{"), before.lastIndexOf("{%")]
  const start = Math.max(output, tag)
  if (start === -1) return undefined
  const inside = before.slice(start + 2)
  return /\}\}|%\}/.test(inside) ? undefined : { isTag: tag > output, inside: inside.replace(/^-/, "") }
}

/** Number of characters before the cursor that are searched for the beginning of a tag. */
const searched = 2000

const option = (type: string) => (label: string): Completion => ({ label, type })

const membersOf = (fields: unknown, path: ReadonlyArray<string>): ReadonlyArray<string> => {
  let at = fields
  for (const name of path) {
    at = at !== null && typeof at === "object" && Object.hasOwn(at, name) ? Reflect.get(at, name) : undefined
  }
  return at !== null && typeof at === "object" && !Array.isArray(at) ? Object.keys(at) : []
}

/** Paths of fields: their names, and the names of their members after a dot. */
export const fieldPaths = (fields: unknown): ReadonlyArray<string> =>
  membersOf(fields, []).flatMap((name) => [name, ...membersOf(fields, [name]).map((member) => `${name}.${member}`)])

/** The names that can stand at the end of Liquid, and the part of the name that is written; undefined for none. */
export const namesAt = ({ fields, filters, tags }: SuggestedNames, { inside, isTag }: OpenLiquid) => {
  // Within a text in quotes.
  if ((inside.match(/"/g) ?? []).length % 2 === 1 || (inside.match(/'/g) ?? []).length % 2 === 1) return undefined
  const [, filter] = /\|\s*(\w*)$/.exec(inside) ?? []
  if (filter !== undefined) return { written: filter, options: filters.map(option("function")) }
  const [, tag] = isTag ? /^\s*(\w*)$/.exec(inside) ?? [] : []
  if (tag !== undefined) return { written: tag, options: tags.map(option("keyword")) }
  const [, path = "", name] = /((?:[A-Za-z_][\w-]*\.)*)([A-Za-z_][\w-]*)?$/.exec(inside) ?? []
  const parents = path.split(".").slice(0, -1)
  return { written: name ?? "", options: membersOf(fields, parents).map(option("variable")) }
}

/** A source of completions for CodeMirror. */
export const completeLiquid = (settings: SuggestedNames): CompletionSource => (context) => {
  const open = openLiquid(context.state.sliceDoc(Math.max(0, context.pos - searched), context.pos))
  if (open === undefined) return null
  const found = namesAt(settings, open)
  if (found === undefined || found.options.length === 0) return null
  if (found.written === "" && !context.explicit && !/[|.]\s*$/.test(open.inside)) return null
  return { from: context.pos - found.written.length, options: found.options, validFor: /^[\w-]*$/ }
}
