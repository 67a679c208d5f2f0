import { Schema, SchemaAST } from "effect"
import { assert, describe, it } from "vitest"
import { Api } from "../../src/api/Api.ts"
import { endpoints } from "../../src/cli/Endpoints.ts"
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

  it("return values that need no decoding", () => {
    const coded: Array<string> = []
    for (const [group, { endpoints: members }] of Object.entries(Api.groups)) {
      for (const [name, { success }] of Object.entries(members)) {
        if (!Object.hasOwn(endpoints, group) || !Object.hasOwn(endpoints[group as keyof typeof endpoints], name)) {
          continue
        }
        const schemas = [...success] as ReadonlyArray<Schema.Top>
        if (!schemas.every(({ ast }) => isPlain(SchemaAST.toType(ast)))) coded.push(name)
      }
    }
    assert.deepStrictEqual(coded, [])
  })
})
