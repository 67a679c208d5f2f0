import type { ProblemPage } from "../Problems.ts"

// Pages about problems: plain HTML, no script, readable in light and dark.

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

const style = `
:root { color-scheme: light dark; --line: #8886; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
code { font: 0.9em/1.45 ui-monospace, monospace; background: var(--soft); border-radius: 4px; padding: 0.1em 0.3em; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: 0.35rem 0.6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
`

const page = (title: string, body: string): string =>
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title><style>${style}</style></head>
<body>${body}</body></html>
`

/** Returns the page of a problem type, with its status and remedy. */
export const problemPage = ({ advice, slug, status, title }: ProblemPage): string =>
  page(
    `${title} · Parlance`,
    `<p><a href="/problems">All problems</a></p><h1>${escape(title)}</h1>
<p>Type <code>/problems/${escape(slug)}</code>, status <code>${status}</code></p><p>${escape(advice)}</p>`,
  )

/** Returns the list of all problem types. */
export const problemsPage = (problems: ReadonlyArray<ProblemPage>): string =>
  page(
    "Problems · Parlance",
    `<h1>Problems</h1><p>Error responses have the media type <code>application/problem+json</code> (RFC 9457). These are their types:</p>
<table><thead><tr><th>Status</th><th>Type</th><th>Meaning</th></tr></thead><tbody>${
      problems.map(({ slug, status, title }) =>
        `<tr><td>${status}</td><td><a href="/problems/${escape(slug)}"><code>${escape(slug)}</code></a></td><td>${
          escape(title)
        }</td></tr>`
      ).join("")
    }</tbody></table>`,
  )
