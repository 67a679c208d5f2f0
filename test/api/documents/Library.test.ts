import { assert, describe, it } from "@effect/vitest"
import { addressOf, documentOf, libraryOf, search } from "../../../src/api/documents/Library.ts"
import { render, slugOf } from "../../../src/api/documents/Markdown.ts"
import { documentPage, searchPage } from "../../../src/api/documents/Pages.ts"

const library = libraryOf([
  documentOf(
    "docs/guide/api.md",
    "# API\n\nFour calls.\n\n## Deliver\n\nQueues one email. See [errors](#errors).\n\n## Errors\n\nA `type`.",
  )!,
  documentOf(
    "docs/glossary.md",
    "# Glossary\n\n| term | meaning |\n| --- | --- |\n| delivery | One email that Deliver queued |",
  )!,
])

describe("documents", () => {
  it("have the heading ids that GitHub assigns", () => {
    assert.strictEqual(slugOf("Lift and gain: 95 %"), "lift-and-gain-95-")
    assert.deepStrictEqual(render("# A b\n\n## A b", () => undefined).headings.map(({ id }) => id), ["a-b", "a-b-1"])
  })

  it("escape HTML, and replace links without a target by their text", () => {
    const { html } = render(
      "x <script>x</script> [a](../x.ts) [b](https://b.example/?a=1&b=2) ![c](c.png)",
      (href) => href.startsWith("https") ? href : undefined,
    )
    assert.notInclude(html, "<script")
    assert.notInclude(html, "<img")
    assert.include(html, 'a <a href="https://b.example/?a=1&amp;b=2">b</a> c')
  })

  it("link to one another at their served addresses", () => {
    assert.strictEqual(addressOf("docs/guide/api.md", "../model.md#choice"), "/docs/model#choice")
    assert.strictEqual(addressOf("docs/guide/api.md", "../../README.md"), "/docs/README")
    assert.strictEqual(addressOf("README.md", "docs/guide/api.md"), "/docs/guide/api")
    assert.strictEqual(addressOf("docs/guide/api.md", "#errors"), "#errors")
    assert.isUndefined(addressOf("docs/guide/api.md", "../../deploy/haproxy/haproxy.cfg"))
  })

  it("are found by all words of a query, matches in titles first", () => {
    const found = (query: string) => search(library, query).map(({ document, id }) => `${document.path}#${id}`)
    assert.deepStrictEqual(found("DELIVER email"), ["guide/api#deliver", "glossary#glossary"])
    assert.deepStrictEqual(found("deliver unicorn"), [])
    assert.deepStrictEqual(found("  "), [])
  })

  it("have pages with a table of contents and a search that shows the query as text", () => {
    const page = documentPage(library, library.get("guide/api")!)
    assert.include(page, '<a href="/docs/guide/api" aria-current="page">API</a>')
    assert.include(page, '<a href="#deliver">Deliver</a>')
    assert.notInclude(searchPage(library, `"><script>`, []), "<script>")
  })
})
