import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { decoder } from "../../src/domain/Faults.ts"
import { plainMessage } from "../../src/text/FaultMessages.ts"

const Body = Schema.Struct({
  template_id: Schema.NonEmptyString,
  fields: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))),
  format: Schema.optionalKey(Schema.Literals(["text", "html"])),
  epsilon: Schema.optionalKey(Schema.Number.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
  days: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))),
  variants: Schema.optionalKey(Schema.Array(Schema.String).check(Schema.isMaxLength(2))),
  active: Schema.optionalKey(Schema.Boolean),
})

const decode = decoder(Body)

const faultsOf = (input: unknown) => {
  const decoded = decode(input)
  return Result.isFailure(decoded) ? decoded.failure.map(({ detail, pointer }) => `${pointer} ${detail}`) : []
}

describe("Faults", () => {
  it("describes the required form in words that follow the name of the member", () => {
    assert.deepStrictEqual(
      faultsOf({ fields: 5, format: "markdown", epsilon: 2, days: 0, variants: ["a", "b", "c"], active: "yes" }).sort(),
      [
        "/active must be true or false",
        "/days must be at least 1",
        "/epsilon must be between 0 and 1",
        "/fields must be an object",
        '/format must be "text" or "html"',
        "/template_id is required",
        "/variants must have a length of at most 2",
      ],
    )
  })

  it("describes faults of the whole body and of empty strings", () => {
    assert.deepStrictEqual(faultsOf([]), [" must be an object"])
    assert.deepStrictEqual(faultsOf({ template_id: "" }), ["/template_id must not be empty"])
    assert.deepStrictEqual(faultsOf({ template_id: 5 }), ["/template_id must be a string"])
  })

  it("keeps a schema's own messages, and vertical bars within quotes", () => {
    assert.strictEqual(plainMessage("must be a domain"), "must be a domain")
    assert.strictEqual(plainMessage('Expected "a|b" | "c"'), 'must be "a|b" or "c"')
    assert.strictEqual(plainMessage("Expected TemplateInput"), "must be an object")
    assert.strictEqual(plainMessage("Expected null"), "must be null")
    assert.strictEqual(plainMessage("Expected a UUID"), "must be a UUID")
    assert.strictEqual(plainMessage("Expected <filter>"), "is not valid")
  })
})
