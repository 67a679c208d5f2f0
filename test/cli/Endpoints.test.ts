import { Schema, SchemaAST } from "effect"
import { assert, describe, it } from "vitest"
import { Api } from "../../src/api/Api.ts"
import endpoints from "../../src/cli/endpoints.json" with { type: "json" }
import { inputOf } from "../../src/cli/Client.ts"
import { endpointsOf } from "../../scripts/writeEndpoints.ts"

/** Whether JSON has these values in the form that programs have: no dates, maps or other classes. */
const isPlain = (ast: SchemaAST.AST, seen = new Set<SchemaAST.AST>()): boolean => {
  if (seen.has(ast)) return true
  seen.add(ast)
  const plain = (one: SchemaAST.AST) => isPlain(one, seen)
  switch (ast._tag) {
    case "Declaration":
    case "BigInt":
    case "Symbol":
      return false
    case "Objects":
      return ast.propertySignatures.every(({ type }) => plain(type)) &&
        ast.indexSignatures.every(({ type }) => plain(type))
    case "Arrays":
      return ast.elements.every(plain) && ast.rest.every(plain)
    case "Union":
      return ast.types.every(plain)
    case "Suspend":
      return plain(ast.thunk())
    default:
      return true
  }
}

describe("the endpoints of commands", () => {
  it("equal the events of the API; otherwise run scripts/writeEndpoints.ts", () => {
    assert.deepStrictEqual<unknown>(endpoints, endpointsOf())
  })

  it("have names that no two groups share", () => {
    const names = Object.values(Api.groups).flatMap(({ endpoints }) => Object.keys(endpoints))
    assert.strictEqual(new Set(names).size, names.length)
  })

  it("decide which members of a request are in the path, the query, the headers and the body", () => {
    assert.deepStrictEqual(
      inputOf("updateVariant", { template: "cart", variant: "warm", "if-match": "2026", name: "W", active: false }),
      {
        params: { template: "cart", variant: "warm" },
        query: {},
        headers: { "if-match": '"2026"' },
        payload: { name: "W", active: false },
      },
    )
    assert.deepStrictEqual(inputOf("putDraft", { template: "cart", variant: "warm", change: { name: "W" } }), {
      params: { template: "cart" },
      query: { variant: "warm" },
      headers: {},
      payload: { change: { name: "W" } },
    })
    assert.deepStrictEqual(
      inputOf("publishDraft", { template: "cart", variant: "warm", author: undefined }),
      { params: { template: "cart" }, query: { variant: "warm" }, headers: {}, payload: undefined },
    )
  })

  it("omit switches that are off from a query", () => {
    assert.deepStrictEqual(inputOf("listNotifications", { member: "ann", unread: false, limit: 50 }).query, {
      member: "ann",
      limit: "50",
    })
    assert.deepStrictEqual(inputOf("listNotifications", { member: "ann", unread: true }).query, {
      member: "ann",
      unread: "true",
    })
  })

  it("send an empty body where an operation has a body", () => {
    assert.deepStrictEqual(inputOf("createDkimKey", { connection: "main" }).payload, {})
  })

  it("return values that need no decoding", () => {
    const coded: Array<string> = []
    for (const { endpoints: members } of Object.values(Api.groups)) {
      for (const [name, { success }] of Object.entries(members)) {
        if (!Object.hasOwn(endpoints, name)) continue
        const schemas = [...success] as ReadonlyArray<Schema.Top>
        if (!schemas.every(({ ast }) => isPlain(SchemaAST.toType(ast)))) coded.push(name)
      }
    }
    assert.deepStrictEqual(coded, [])
  })
})
