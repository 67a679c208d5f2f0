import { assert, describe, it } from "@effect/vitest"
import { document } from "../../src/http/OperationsRoutes.ts"
import { docsPage } from "../../src/http/Pages.ts"

describe("The document of the API", () => {
  it("has a page that tells what every parameter means, and what bodies and answers look like", () => {
    const page = docsPage(document)
    const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;")
    let described = 0
    for (const item of Object.values(document.paths)) {
      for (const { parameters } of [item.get, item.post].flatMap((operation) => operation ?? [])) {
        for (const { description, schema } of parameters) {
          const text = description ?? ("description" in schema ? String(schema.description) : undefined)
          if (text === undefined) continue
          described++
          assert.include(page, `<td>${escaped(text)}</td>`)
        }
      }
    }
    assert.isAbove(described, 40)
    const [, generate = ""] = page.split("POST</span> <code>/api/generate/{org}</code>")
    const [asked = "", answered = ""] = generate.split("<h3>Answers</h3>")
    assert.include(asked, "&quot;template_id&quot;")
    assert.notInclude(asked, "&quot;copy&quot;")
    assert.include(answered, "&quot;copy&quot;")
  })

  it("lets members be added to what is asked and answered", () => {
    const text = JSON.stringify(document)
    assert.notInclude(text, '"additionalProperties":false')
    // What a record's values are is still said.
    assert.include(text, '"additionalProperties":{"type":"string"}')
  })
})
