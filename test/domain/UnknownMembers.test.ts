import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { TemplateInput } from "../../src/domain/Template.ts"
import { unknownMembersIn } from "../../src/domain/UnknownMembers.ts"

describe("unknown members", () => {
  it("are found at every depth, by their pointers", () => {
    const unknown = unknownMembersIn(TemplateInput)
    const variant = {
      id: "a",
      vars: { any: "x" },
      formats: { any: "html" },
      targeting: [{ attribute: "tier", op: "is", values: ["gold"] }],
      seasons: [{ annual: { from: "11-15", to: "01-06" } }],
    }
    assert.deepStrictEqual(unknown({ name: "T", objective: { click: 1, negative: -1 }, variants: [variant] }), [])
    const misspelt = {
      ...variant,
      targetting: [],
      targeting: [{ ...variant.targeting[0], value: 1 }],
      seasons: [{ kind: "annual", annual: { from: "11-15", to: "01-06", until: 1 } }, {}],
    }
    assert.deepStrictEqual(unknown({ name: "T", "a/b": 1, variants: [variant, misspelt] }).toSorted(), [
      "/a~1b",
      "/variants/1/seasons/0/annual/until",
      "/variants/1/seasons/0/kind",
      "/variants/1/targeting/0/value",
      "/variants/1/targetting",
    ])
  })

  it("are the unknown members of the best matching form of a union, and none of free values", () => {
    const Form = Schema.Struct({
      a: Schema.Union([Schema.String, Schema.Struct({ x: Schema.Int })]),
      free: Schema.Unknown,
    })
    const Other = Schema.Struct({ b: Schema.NullOr(Schema.Record(Schema.String, Schema.Struct({ y: Schema.Int }))) })
    const unknown = unknownMembersIn(Schema.Union([Form, Other, Schema.Array(Other)]))
    assert.deepStrictEqual(unknown({ a: { x: 1, z: 1 }, free: { any: { x: 1 } } }), ["/a/z"])
    assert.deepStrictEqual(unknown({ a: "text", free: [] }), [])
    assert.deepStrictEqual(unknown({ b: { any: { y: 1, z: 2 } }, c: 1 }), ["/b/any/z", "/c"])
    assert.deepStrictEqual(unknown([{ b: null }, { b: {}, d: 1 }]), ["/1/d"])
    assert.deepStrictEqual(unknownMembersIn(Schema.Union([Schema.Json, Form]))({ z: 1 }), [])
  })

  it("are ignored in values of another type, and limited to 100", () => {
    const unknown = unknownMembersIn(TemplateInput)
    for (const input of [null, "x", 5, [], { variants: {} }, { variants: [null, 5, "x", []] }, { objective: 5 }]) {
      assert.deepStrictEqual(unknown(input), [])
    }
    assert.lengthOf(unknown(Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`m${n}`, 1]))), 100)
  })
})
