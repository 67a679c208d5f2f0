import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize, relative } from "node:path/posix"
import { fileURLToPath } from "node:url"
import { render, type RenderedDocument } from "./Markdown.ts"

/** A document of the product. */
export interface Document extends RenderedDocument {
  /** Path below `/docs/`, such as `guide/quickstart`. */
  readonly path: string
  readonly title: string
  /** Its Markdown source, for programs. */
  readonly markdown: string
}

/** Returns the first sentence of a document, for lists. Empty if it is longer than 200 characters. */
export const firstSentence = ({ sections }: Document): string => {
  const text = sections.find((section) => section.text.trim() !== "")?.text.replace(/\s+/g, " ").trim() ?? ""
  return /^.{0,200}?[.:](?=\s|$)/.exec(text)?.[0] ?? ""
}

/** Documents by path, in the order of the table of contents. */
export type Library = ReadonlyMap<string, Document>

/** A search result in a document. */
export interface Hit {
  readonly document: Document
  /** Id of the heading. Empty for the beginning. */
  readonly id: string
  readonly title: string
  readonly excerpt: string
}

/** Files outside `docs/` that are served with it. */
const others = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]

/** Order of the table of contents, by the start of a document's path. Other folders follow. */
const order = [
  "README",
  "guide/quickstart",
  "guide/concepts",
  "guide/api",
  "guide/templates",
  "guide/results",
  "guide/experiments",
  "guide/channels",
  "guide/marketers",
  "guide/team",
  "guide/",
  "integrations/README",
  "integrations/",
  "operations/checklist",
  "operations/",
  "architecture",
  "model",
  "glossary",
  "CHANGELOG",
  "CONTRIBUTING",
  "SECURITY",
]

const rankOf = (path: string): number => {
  const rank = order.findIndex((start) => path === start || (start.endsWith("/") && path.startsWith(start)))
  return rank < 0 ? order.length : rank
}

/**
 * Returns the path of a served file, such as `guide/api` for `docs/guide/api.md`. Undefined for files that are not
 * served.
 */
const servedPath = (file: string): string | undefined => {
  if (others.includes(file)) return file.slice(0, -".md".length)
  return file.startsWith("docs/") && file.endsWith(".md") ? file.slice("docs/".length, -".md".length) : undefined
}

/** Returns the address of a link in a file of the project. Undefined if it leads to a file that is not served. */
export const addressOf = (file: string, href: string): string | undefined => {
  if (/^(https?:|mailto:|#|\/)/.test(href)) return href
  const [target = "", anchor] = href.split("#")
  const path = servedPath(normalize(join(dirname(file), target)))
  return path === undefined ? undefined : `/docs/${path}${anchor === undefined ? "" : `#${anchor}`}`
}

/** Renders a file of the project, such as `docs/guide/api.md`. Undefined for files that are not served. */
export const documentOf = (file: string, markdown: string): Document | undefined => {
  const path = servedPath(file)
  if (path === undefined) return undefined
  const rendered = render(markdown, (href) => addressOf(file, href))
  return { ...rendered, path, title: rendered.headings[0]?.text ?? path, markdown }
}

/** Returns a library of documents, sorted for the table of contents. */
export const libraryOf = (documents: Iterable<Document>): Library =>
  new Map(
    [...documents].sort((a, b) => rankOf(a.path) - rankOf(b.path) || (a.path < b.path ? -1 : 1))
      .map((document) => [document.path, document]),
  )

/**
 * Reads and renders the documents of the installation, with pauses for other work. Needs about 0.2 s of processor time.
 */
export const readLibrary: Effect.Effect<Library> = Effect.gen(function* () {
  const root = fileURLToPath(new URL("../../../", import.meta.url))
  const names = readdirSync(join(root, "docs"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".md"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  const documents: Array<Document> = []
  for (const name of [...names, ...others]) {
    const document = documentOf(name, readFileSync(join(root, name), "utf8"))
    if (document !== undefined) documents.push(document)
    yield* Effect.sleep(0)
  }
  return libraryOf(documents)
})

const excerptLength = 200

/** Returns the text around the first word that it contains. */
const excerptOf = (text: string, words: ReadonlyArray<string>): string => {
  const flat = text.replace(/\s+/g, " ").trim()
  const lower = flat.toLowerCase()
  const first = Math.min(...words.map((word) => lower.indexOf(word)).map((at) => at < 0 ? Infinity : at))
  const from = Number.isFinite(first) ? Math.max(0, first - 60) : 0
  const start = from === 0 ? 0 : flat.indexOf(" ", from) + 1
  const cut = flat.slice(start, start + excerptLength)
  return `${start > 0 ? "… " : ""}${cut}${start + excerptLength < flat.length ? " …" : ""}`
}

const mostWords = 10
const mostHits = 30
const mostCounted = 5

/** Returns how often a text contains a word, up to 5 times. */
const countOf = (text: string, word: string): number => {
  let count = 0
  for (let at = text.indexOf(word); at >= 0 && count < mostCounted; at = text.indexOf(word, at + word.length)) count++
  return count
}

/** The sections of each document in lowercase, computed once for each library. */
const lowered = new WeakMap<
  Library,
  ReadonlyArray<{ document: Document; section: number; title: string; text: string }>
>()

const loweredOf = (library: Library) => {
  let sections = lowered.get(library)
  if (sections === undefined) {
    sections = [...library.values()].flatMap((document) =>
      document.sections.map(({ text, title }, section) => ({
        document,
        section,
        title: title.toLowerCase(),
        text: text.toLowerCase(),
      }))
    )
    lowered.set(library, sections)
  }
  return sections
}

/**
 * Returns up to 30 sections that contain all words of a query (ignoring case), best first: words in a section's title
 * count most, then words in the document's title, then the frequency of the words. Only the first 10 words of the query
 * count.
 */
export const search = (library: Library, query: string): ReadonlyArray<Hit> => {
  const words = [...new Set(query.toLowerCase().split(/\s+/).filter((word) => word !== ""))].slice(0, mostWords)
  if (words.length === 0) return []
  const hits: Array<Hit & { readonly score: number }> = []
  for (const { document, section, text, title } of loweredOf(library)) {
    const nameOfDocument = document.title.toLowerCase()
    let score = 0
    const hasAll = words.every((word) => {
      const count = countOf(text, word)
      score += (title.includes(word) ? 10 : 0) + (nameOfDocument.includes(word) ? 3 : 0) + count
      return count > 0 || title.includes(word)
    })
    if (!hasAll) continue
    const found = document.sections[section]!
    const weight = document.path.startsWith("decisions/") ? 0.3 : 1
    hits.push({
      document,
      id: found.id,
      title: found.title,
      excerpt: excerptOf(found.text, words),
      score: score * weight,
    })
  }
  return hits.sort((a, b) => b.score - a.score).slice(0, mostHits)
}
