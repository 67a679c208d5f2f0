import { hash } from "node:crypto"
import { type Document, firstSentence, type Hit, type Library } from "./Library.ts"
import { escapeHtml } from "./Markdown.ts"

// Plain HTML pages of the documents: no script, no external files, readable with a light or dark theme and without a
// mouse.

const style = `
:root { color-scheme: light dark; --line: #8886; --soft: #8881; --link: light-dark(#0b57d0, #8ab4f8); }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0; }
a { color: var(--link); }
.page { display: grid; grid-template-columns: 16rem minmax(0, 1fr); gap: 2rem; max-width: 76rem; margin: 0 auto; padding: 1rem; }
nav ul { list-style: none; margin: 0; padding: 0; } nav li { margin: 0.2rem 0; } nav summary, nav h2 { font-size: 0.9rem; font-weight: 700; margin: 1rem 0 0.3rem; }
nav a { text-decoration: none; } nav a[aria-current] { font-weight: 700; } nav .sub { padding-left: 0.8rem; font-size: 0.9rem; }
form { display: flex; gap: 0.4rem; } input { font: inherit; padding: 0.3rem 0.5rem; min-width: 0; flex: 1; } button { font: inherit; }
h1 { font-size: 1.8rem; line-height: 1.2; } h2 { font-size: 1.3rem; margin-top: 2.2rem; border-bottom: 1px solid var(--line); } h3 { font-size: 1.1rem; }
code, pre { font: 0.88em/1.5 ui-monospace, monospace; background: var(--soft); border-radius: 4px; }
code { padding: 0.1em 0.3em; overflow-wrap: anywhere; } pre { padding: 0.8rem; overflow-x: auto; } pre code { padding: 0; background: none; overflow-wrap: normal; }
.table { overflow-x: auto; } table { border-collapse: collapse; } th, td { text-align: left; padding: 0.35rem 0.6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
@media (max-width: 50rem) { .page { display: block; } }
`

/** Pages load no files and run no script. The only stylesheet is in the page, and named by its digest. */
export const contentSecurityPolicy = `default-src 'none'; style-src 'sha256-${
  hash("sha256", style, "base64")
}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

const groups: ReadonlyArray<readonly [start: string, title: string]> = [
  ["guide/", "Guide"],
  ["integrations/", "Integrations"],
  ["operations/", "Operations"],
  ["decisions/", "Decisions"],
]

/** Returns the heading for a document in lists, by its path. */
export const groupOf = (path: string): string => groups.find(([start]) => path.startsWith(start))?.[1] ?? "Reference"

/** Returns links to the sections of the open document. */
const sectionsOf = ({ headings }: Document): string => {
  const links = headings.filter(({ level }) => level === 2)
    .map(({ id, text }) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>`)
  return links.length === 0 ? "" : `<ul class="sub" aria-label="On this page">${links.join("")}</ul>`
}

/** Returns the table of contents, with the sections of the open document. */
const contents = (library: Library, open: Document | undefined): string => {
  const byGroup = Map.groupBy(library.values(), ({ path }) => groupOf(path))
  const item = (document: Document) =>
    `<li><a href="/docs/${escapeHtml(document.path)}"${document === open ? ' aria-current="page"' : ""}>${
      escapeHtml(document.title)
    }</a>${document === open ? sectionsOf(document) : ""}</li>`
  const names = ["Guide", "Integrations", "Operations", "Reference", "Decisions"]
  return names.flatMap((name) => {
    const documents = byGroup.get(name)
    if (documents === undefined) return []
    const isOpen = name !== "Decisions" || (open !== undefined && groupOf(open.path) === name)
    return [
      `<details${isOpen ? " open" : ""}><summary>${name}</summary><ul>${documents.map(item).join("")}</ul></details>`,
    ]
  }).join("")
}

interface Page {
  readonly library: Library
  readonly title: string
  readonly body: string
  readonly open?: Document
  readonly query?: string
}

const page = ({ body, library, open, query = "", title }: Page): string =>
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Parlance</title><style>${style}</style></head>
<body><div class="page"><nav aria-label="Documentation">
<form action="/docs/search" role="search"><input type="search" name="q" value="${
    escapeHtml(query)
  }" maxlength="200" aria-label="Search the documentation" placeholder="Search"><button>Search</button></form>
<p><a href="/docs/">Documentation</a> · <a href="/docs">API reference</a> · <a href="/console">Console</a></p>
${contents(library, open)}</nav><main>${body}</main></div></body></html>
`

/** Returns the page of a document. */
export const documentPage = (library: Library, document: Document): string =>
  page({ library, title: document.title, body: document.html, open: document })

/** Returns the start page: every document with its first sentence. */
export const startPage = (library: Library): string => {
  const list = [...library.values()].filter(({ path }) => !path.startsWith("decisions/")).map((document) => {
    const sentence = firstSentence(document)
    return `<li><a href="/docs/${escapeHtml(document.path)}">${escapeHtml(document.title)}</a>${
      sentence === "" ? "" : `: ${escapeHtml(sentence)}`
    }</li>`
  })
  return page({
    library,
    title: "Documentation",
    body:
      `<h1>Documentation</h1><p>Start with the <a href="/docs/guide/quickstart">quickstart</a>. The <a href="/docs">API
reference</a> lists every path, and <a href="/problems">problems</a> every error.</p><ul>${list.join("")}</ul>`,
  })
}

/** Returns the page of search results. */
export const searchPage = (library: Library, query: string, hits: ReadonlyArray<Hit>): string => {
  const list = hits.map(({ document, excerpt, id, title }) =>
    `<li><p><a href="/docs/${escapeHtml(document.path)}${id === "" ? "" : `#${escapeHtml(id)}`}">${
      escapeHtml(title === "" || title === document.title ? document.title : `${document.title}: ${title}`)
    }</a><br>${escapeHtml(excerpt)}</p></li>`
  )
  const found = query.trim() === ""
    ? "<p>Enter one or more words.</p>"
    : hits.length === 0
    ? `<p>No section contains all words of “${escapeHtml(query)}”. Try fewer words.</p>`
    : `<ol>${list.join("")}</ol>`
  return page({ library, title: "Search", body: `<h1>Search</h1>${found}`, query })
}
