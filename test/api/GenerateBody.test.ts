import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { attrsOf, GenerateBody, generateBody, quickGenerateBody } from "../../src/api/generate/GenerateWire.ts"
import { decoder } from "../../src/domain/Faults.ts"

const bySchema = decoder(GenerateBody)

/** Values that a member may have, good and bad. */
const ids = [undefined, null, "a", "a".repeat(200), "a".repeat(201), "", "a\0", "\ud800", "ü", 1, true, [], {}]
const objects = [undefined, null, {}, { name: "Ann" }, { deep: { list: [1, null, "x"] } }, [], "x", 1, true]
const attrs = [...objects, { tier: "gold" }, { tier: ["gold", null] }, { tier: {} }, { tier: "x".repeat(1001) }]

const withMembers = (members: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

const bodies: ReadonlyArray<unknown> = [
  undefined,
  null,
  [],
  "text",
  1,
  {},
  ...ids.map((template_id) => withMembers({ template_id })),
  ...ids.flatMap((tracking_id) =>
    ids.map((user_id) => withMembers({ template_id: "t", tracking_id, user_id, fields: { a: 1 } }))
  ),
  ...objects.flatMap((fields) => attrs.map((attrs) => withMembers({ template_id: "t", fields, attrs }))),
  { template_id: "t", other: 1 },
]

describe("The body of Generate", () => {
  it("is decoded without its schema exactly where the schema and the attributes have no fault", () => {
    let quickOnes = 0
    for (const body of bodies) {
      const quick = quickGenerateBody(body)
      const schema = bySchema(body)
      const isRight = Result.isSuccess(schema) && Result.isSuccess(attrsOf(body, ""))
      const at = JSON.stringify(body) ?? "undefined"
      assert.strictEqual(quick !== undefined, isRight, at)
      assert.strictEqual(Result.isSuccess(generateBody(body)), isRight, at)
      if (quick === undefined || !Result.isSuccess(schema)) continue
      quickOnes++
      const { fields, template_id, tracking_id, user_id } = schema.success
      assert.deepStrictEqual(
        { ...quick, attrs: undefined, fields: { ...quick.fields } },
        {
          templateId: template_id,
          trackingId: tracking_id ?? undefined,
          userId: user_id ?? undefined,
          fields: { ...fields },
          attrs: undefined,
        },
        at,
      )
    }
    assert.isAbove(quickOnes, 50)
  })
})
