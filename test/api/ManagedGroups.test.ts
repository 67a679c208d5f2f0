import { assert, describe, it } from "@effect/vitest"
import { HttpApi } from "effect/http-api"
import { ServedApi } from "../../src/api/Api.ts"
import { suiteOnService } from "./harness.ts"

interface Declared {
  readonly schema: { readonly fields: Readonly<Record<string, object>> }
}

describe("The contract of the management API", () => {
  it("declares every parameter with its reader, except where the handler reads the query", () => {
    const others: Array<string> = []
    HttpApi.reflect(ServedApi, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }) => {
        const fields = (endpoint.query as unknown as Declared | undefined)?.schema.fields ?? {}
        if (!Object.values(fields).every((field) => "read" in field)) others.push(endpoint.identifier)
      },
    })
    assert.deepStrictEqual(others, ["templateResults", "exportResults", "templateSeries", "readyz"])
  })
})

suiteOnService("A group of the management API", (bench) => {
  const pointers = (answer: { readonly body: unknown }) =>
    (answer.body as { readonly errors: ReadonlyArray<{ readonly pointer: string }> }).errors.map(({ pointer }) =>
      pointer
    )

  it("names an unknown organization before the faults of a query or a body", async () => {
    const { service } = bench
    const query = await service.manage("GET", "/organizations/nowhere/templates/t/comments?limit=0")
    const body = await service.manage("POST", "/organizations/nowhere/templates/t/comments", {})
    for (const { body: problem, status } of [query, body]) {
      assert.strictEqual(status, 404)
      assert.strictEqual(problem.type, "/problems/organization-not-found")
    }
  })

  it("names the faults of a body before an unknown organization, if it is declared so", async () => {
    const answer = await bench.service.manage("POST", "/organizations/nowhere/webhook-endpoints", { url: 1 })
    assert.strictEqual(answer.status, 400)
    assert.deepStrictEqual(pointers(answer), ["/url"])
  })

  it("lists all faults of a query in the order of the contract", async () => {
    const { slug, template } = await bench.organization("faults")
    const id = await template({ id: "welcome" })
    const path = `/organizations/${slug}/templates/${id}/comments?limit=0&before=x&amp;y=1&state=closed`
    const answer = await bench.service.manage("GET", path)
    assert.strictEqual(answer.status, 400)
    assert.deepStrictEqual(pointers(answer), ["state", "before", "limit", "amp;y"])
  })

  it("names a missing resource before the faults of a body that would change it", async () => {
    const { slug } = await bench.organization("missing")
    const answer = await bench.service.manage("POST", `/organizations/${slug}/templates/none/comments`, {})
    assert.strictEqual(answer.status, 404)
    assert.strictEqual(answer.body.type, "/problems/template-not-found")
  })
})
