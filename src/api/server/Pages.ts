import type { OpenApi } from "effect/http-api"
import type { ProblemPage } from "../Problems.ts"

// The few pages that document the API: plain HTML, no script, readable in light and dark.

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

const style = `
:root { color-scheme: light dark; --line: #8886; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
code, pre { font: 0.9em/1.45 ui-monospace, monospace; background: var(--soft); border-radius: 4px; }
code { padding: 0.1em 0.3em; } pre { padding: 0.8rem; overflow-x: auto; }
details { border: 1px solid var(--line); border-radius: 6px; margin: 0.5rem 0; padding: 0.4rem 0.8rem; }
summary { cursor: pointer; } .method { display: inline-block; min-width: 4.2rem; font-weight: 700; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: 0.35rem 0.6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
`

const page = (title: string, body: string): string =>
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title><style>${style}</style></head>
<body>${body}</body></html>
`

/** The page of a problem type: the event and the remedy. */
export const problemPage = ({ advice, slug, status, title }: ProblemPage): string =>
  page(
    `${title} · Parlance`,
    `<p><a href="/problems">All problems</a></p><h1>${escape(title)}</h1>
<p>Type <code>/problems/${escape(slug)}</code>, status <code>${status}</code></p><p>${escape(advice)}</p>`,
  )

/** All problem types. */
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

type Document = OpenApi.OpenAPISpec

const operation = (method: string, path: string, spec: OpenApi.OpenAPISpecOperation, document: Document): string => {
  const parameters = (spec.parameters ?? []).map((parameter) =>
    `<tr><td><code>${escape(parameter.name)}</code></td><td>${escape(parameter.in)}${
      parameter.required ? ", required" : ""
    }</td><td>${escape(parameter.description ?? descriptionOf(parameter.schema))}</td></tr>`
  ).join("")
  const body = spec.requestBody?.content["application/json"]?.schema
  const answers = Object.entries(spec.responses ?? {}).map(([status, response]) =>
    `<tr><td>${escape(status)}</td><td>${escape(response.description ?? "")}</td></tr>`
  ).join("")
  const [success] = Object.entries(spec.responses ?? {}).flatMap(([status, { content }]) =>
    status.startsWith("2") ? [content?.["application/json"]?.schema] : []
  )
  return `<details><summary><span class="method">${method.toUpperCase()}</span> <code>${escape(path)}</code> ${
    escape(spec.summary ?? "")
  }</summary>
${spec.description === undefined ? "" : `<p>${escape(spec.description)}</p>`}
${parameters === "" ? "" : `<h3>Parameters</h3><table><tbody>${parameters}</tbody></table>`}
${body === undefined ? "" : `<h3>Body</h3>${shape(body, document)}`}
<h3>Responses</h3><table><tbody>${answers}</tbody></table>
${success === undefined ? "" : `<h3>Successful response</h3>${shape(success, document)}`}</details>`
}

const descriptionOf = (schema: object): string =>
  "description" in schema && typeof schema.description === "string" ? schema.description : ""

const shape = (schema: object, document: Document): string =>
  `<pre>${escape(JSON.stringify(resolve(schema, document), null, 2))}</pre>`

/** A schema with its top-level reference followed, so that its members can be read in place. */
const resolve = (schema: object, document: Document): object => {
  const reference = "$ref" in schema && typeof schema.$ref === "string" ? schema.$ref : undefined
  if (reference === undefined) return schema
  const name = reference.replace("#/components/schemas/", "")
  return (document.components.schemas as Record<string, object>)[name] ?? schema
}

const methods = ["get", "post", "put", "patch", "delete"] as const

/** The OpenAPI document for people. */
export const docsPage = (document: Document): string => {
  const groups = (document.tags ?? []).map(({ name }) => {
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      methods.flatMap((method) => {
        const spec = item[method]
        return spec !== undefined && spec.tags.includes(name) ? [operation(method, path, spec, document)] : []
      })
    )
    return `<h2>${escape(name)}</h2>${operations.join("")}`
  })
  return page(
    "Parlance API",
    `<h1>Parlance API</h1><p>${escape(document.info.description ?? "")}</p>
<p>Guides and operations: <a href="/docs/">documentation</a>. For machines: <a href="/openapi.json">openapi.json</a>. Errors:
<a href="/problems">problems</a>.</p>
${groups.join("")}`,
  )
}
