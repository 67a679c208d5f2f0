import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { TemplateInput, VariantInput } from "../../src/domain/Template.ts"
import { decoder } from "../../src/domain/Faults.ts"

const faults = <S extends Schema.ConstraintDecoder<unknown>>(schema: S, input: unknown) =>
  Result.match(decoder(schema)(input), { onSuccess: () => [], onFailure: (all) => all.map(({ pointer }) => pointer) })

describe("a variant in the author's form", () => {
  it("accepts any well-formed name of a variable up to 100 characters", () => {
    assert.deepStrictEqual(
      faults(VariantInput, { vars: { subject: "a", "betreff (lang)": "b", ["x".repeat(100)]: "c" } }),
      [],
    )
  })

  it("is rejected for every invalid name of a variable, without dropping any", () => {
    const long = "x".repeat(101)
    assert.deepStrictEqual(
      faults(VariantInput, { vars: { ok: "a", [long]: "b", "": "c" }, formats: { "a\u0000": "html" } }).sort(),
      ["/formats/a\u0000", `/vars/${long}`, "/vars/"].sort(),
    )
  })

  it("is rejected for Liquid that is too long", () => {
    assert.deepStrictEqual(faults(VariantInput, { vars: { body: "x".repeat(524_289) } }), ["/vars/body"])
  })
})

describe("a template in the author's form", () => {
  it("accepts weights only if at least one is positive", () => {
    assert.deepStrictEqual(faults(TemplateInput, { name: "T", objective: { click: 1, negative: -2 } }), [])
    assert.deepStrictEqual(faults(TemplateInput, { name: "T", objective: { negative: -2 } }), ["/objective"])
  })

  it("accepts revenue only with a cap above zero", () => {
    const objective = (value: unknown) => faults(TemplateInput, { name: "T", objective: value })
    assert.deepStrictEqual(objective({ revenue: 1, revenue_cap: 200 }), [])
    assert.deepStrictEqual(objective({ click: 1, revenue: -0.5, revenue_cap: 0.5, negative: -2 }), [])
    assert.deepStrictEqual(objective({ revenue: 1 }), ["/objective/revenue_cap"])
    assert.deepStrictEqual(objective({ click: 1, revenue_cap: 200 }), ["/objective/revenue_cap"])
    for (const cap of [0, -1, 2e9, "200", null]) {
      assert.deepStrictEqual(objective({ revenue: 1, revenue_cap: cap }), ["/objective/revenue_cap"])
    }
    // The cap is no weight.
    assert.deepStrictEqual(objective({ revenue: -1, revenue_cap: 200 }), ["/objective"])
    assert.deepStrictEqual(objective({ revenue: 1001, revenue_cap: 200 }), ["/objective/revenue"])
  })

  it("is rejected with all faults at once", () => {
    assert.deepStrictEqual(
      faults(TemplateInput, { id: "", sticky_hours: -1, strict: "no", variants: [{ vars: {}, active: 1 }] }).sort(),
      ["/id", "/name", "/sticky_hours", "/strict", "/variants/0/active"],
    )
  })
})
