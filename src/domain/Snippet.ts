import { Schema } from "effect"
import { DisplayName } from "./Ids.ts"
import { LiquidSource, RenderedFormat, textsInAll, type Variant } from "./Template.ts"

/** Maximum length of a snippet. Unit: UTF-16 code units. */
export const snippetLength = 65_536

/** Maximum number of snippets of an organization. */
export const maxSnippets = 200

/** The rule of `isSnippetId` in words. */
export const snippetIdRule =
  "must be 1 to 64 lowercase letters, digits, hyphens or underscores, starting with a letter or digit"

/** Whether a text is a valid id of a snippet. */
export const isSnippetId = (text: string): boolean => /^[a-z0-9][a-z0-9_-]{0,63}$/.test(text)

const content = {
  name: DisplayName.annotate({ description: "Display name" }),
  text: LiquidSource.check(Schema.isMaxLength(snippetLength)).annotate({
    description: "Liquid, at most 65,536 characters. It sees only the arguments of the tag that renders it",
  }),
  format: RenderedFormat.annotate({ description: "`html` escapes values. A snippet in use keeps its format" }),
}

/** A snippet to save. */
export const SnippetInput = Schema.Struct({
  name: Schema.optionalKey(content.name).annotate({ description: "Display name. Default: the id" }),
  text: content.text,
  format: Schema.optionalKey(content.format).annotate({ description: "Default `text`" }),
}).annotate({ identifier: "SnippetInput" })
export type SnippetInput = typeof SnippetInput.Type

/** A snippet in a template file or an import. */
export const SnippetFileInput = Schema.Struct({
  id: Schema.String.annotate({ description: "The id in `{% render 'id' %}`" }),
  ...SnippetInput.fields,
}).annotate({ identifier: "SnippetFileInput" })
export type SnippetFileInput = typeof SnippetFileInput.Type

/** A block of an organization, which variants and other snippets insert with `{% render 'id' %}`. */
export const Snippet = Schema.Struct({
  id: Schema.String,
  ...content,
  created_at: Schema.String,
  updated_at: Schema.String,
}).annotate({ identifier: "Snippet" })
export type Snippet = typeof Snippet.Type

/** A template whose variants render a snippet, also through other snippets. */
export const SnippetUser = Schema.Struct({
  template_id: Schema.String,
  name: Schema.String,
  copy_ids: Schema.Array(Schema.String).annotate({ description: "The variants that render it, by id" }),
  served: Schema.Boolean.annotate({ description: "Whether a change affects live messages" }),
}).annotate({ identifier: "SnippetUser" })
export type SnippetUser = typeof SnippetUser.Type

/** A change of a snippet that awaits approval. */
export const SnippetProposal = Schema.Struct({
  name: content.name,
  text: content.text,
  author: Schema.String,
  version: Schema.Int.annotate({ description: "Rises with each change; an approval names the version that was seen" }),
  updated_at: Schema.String,
}).annotate({ identifier: "SnippetProposal" })
export type SnippetProposal = typeof SnippetProposal.Type

/** A snippet with the places that render it. */
export const SnippetDetail = Schema.Struct({
  ...Snippet.fields,
  templates: Schema.Array(SnippetUser).annotate({
    description: "Templates that render it, also through other snippets",
  }),
  snippets: Schema.Array(Schema.String).annotate({
    description: "Ids of the snippets that render it, directly or not",
  }),
  proposal: Schema.NullOr(SnippetProposal).annotate({ description: "A change that awaits approval" }),
}).annotate({ identifier: "SnippetDetail" })
export type SnippetDetail = typeof SnippetDetail.Type

/** A version of a snippet: its content after a change. */
export const SnippetVersion = Schema.Struct({
  id: Schema.Int,
  name: content.name,
  text: content.text,
  format: content.format,
  saved_at: Schema.String,
  author: Schema.NullOr(Schema.String).annotate({ description: "As in the audit log" }),
}).annotate({ identifier: "SnippetVersion" })
export type SnippetVersion = typeof SnippetVersion.Type

/** The source of a snippet. */
export type SnippetSource = Pick<Snippet, "text" | "format">

/** SnippetSources by id. */
export type SnippetSources = ReadonlyMap<string, SnippetSource>

export const noSnippets: SnippetSources = new Map()

/** Maximum number of snippets inside each other. */
export const snippetDepth = 5

const renderTag = /\brender\s*(["'])([a-z0-9][a-z0-9_-]{0,63})\1/g

/**
 * Returns the ids of the snippets that texts render, each once. Finds tags by their words, also in comments, so that no
 * use is missed.
 */
export const renderedIds = (texts: Iterable<string>): ReadonlyArray<string> => {
  const ids = new Set<string>()
  for (const text of texts) {
    // Most texts render nothing, and a search is faster than the pattern.
    if (text.includes("render")) { for (const [, , id] of text.matchAll(renderTag)) ids.add(id!) }
  }
  return [...ids]
}

/** Returns the ids of the snippets that variants render in all their locales, each once. */
export const renderedBy = (variants: ReadonlyArray<Parameters<typeof textsInAll>[0]>): ReadonlyArray<string> =>
  renderedIds(variants.flatMap(textsInAll).flatMap((texts) => Object.values(texts)))

/** Returns the existing snippets among `ids`, with the snippets that they render. */
export const reachedFrom = (snippets: SnippetSources, ids: ReadonlyArray<string>): SnippetSources => {
  if (ids.length === 0) return noSnippets
  const reached = new Map<string, SnippetSource>()
  const waiting = [...ids]
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const snippet = snippets.get(id)
    if (snippet === undefined || reached.has(id)) continue
    reached.set(id, snippet)
    waiting.push(...renderedIds([snippet.text]))
  }
  return reached
}

/** Returns the snippets that templates render, as a template file has them. */
export const snippetsForFile = (
  all: ReadonlyArray<Snippet>,
  templates: ReadonlyArray<{ readonly variants: ReadonlyArray<Pick<Variant, "locales" | "vars">> }>,
): ReadonlyArray<SnippetFileInput> => {
  const ids = renderedBy(templates.flatMap(({ variants }) => variants))
  const reached = reachedFrom(new Map(all.map((one) => [one.id, one])), ids)
  return all.filter(({ id }) => reached.has(id)).map(({ format, id, name, text }) => ({ id, name, format, text }))
}

/** Returns the ids of the snippets through which a snippet is rendered, the snippet itself included. */
export const usersOf = (snippets: SnippetSources, id: string): ReadonlyArray<string> => {
  const rendered = [...snippets].map(([user, { text }]) => [user, renderedIds([text])] as const)
  const users = new Set([id])
  // A set visits elements that are added during the iteration.
  for (const used of users) for (const [user, ids] of rendered) if (ids.includes(used)) users.add(user)
  return [...users]
}

/** Returns why a snippet cannot be saved: it renders itself, or is nested too deeply. Undefined if neither holds. */
export const nestingFault = (snippets: SnippetSources, id: string): string | undefined => {
  const longest = new Map<string, ReadonlyArray<string>>()
  let cycle: ReadonlyArray<string> | undefined
  /** Returns the longest chain of snippets inside each other that begins with one. */
  const chainFrom = (one: string, above: ReadonlyArray<string>): ReadonlyArray<string> => {
    const known = longest.get(one)
    if (known !== undefined) return known
    const at = above.indexOf(one)
    if (at !== -1) cycle = [...above.slice(at), one]
    if (cycle !== undefined) return []
    let inside: ReadonlyArray<string> = []
    for (const next of renderedIds([snippets.get(one)?.text ?? ""])) {
      const chain = chainFrom(next, [...above, one])
      if (chain.length > inside.length) inside = chain
    }
    const whole = [one, ...inside]
    longest.set(one, whole)
    return whole
  }
  const shown = (chain: ReadonlyArray<string>) => chain.map((one) => JSON.stringify(one)).join(" renders ")
  for (const user of usersOf(snippets, id)) {
    const chain = chainFrom(user, [])
    if (cycle !== undefined) return `renders itself: ${shown(cycle)}. Remove one of these tags`
    if (chain.length > snippetDepth) {
      return `is nested too deeply: ${shown(chain)}. At most ${snippetDepth} snippets can be inside each other`
    }
  }
  return undefined
}
