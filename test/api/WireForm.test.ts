import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { wireForm } from "../../src/api/http/WireForm.ts"

const Delivery = Schema.Struct({
  id: Schema.String,
  template_id: Schema.String,
  finished_at: Schema.NullOr(Schema.String),
  note: Schema.optionalKey(Schema.String),
  formats: Schema.Record(Schema.String, Schema.String),
})

describe("the wire form of a domain object", () => {
  it("has the names and the order of the schema, and times in ISO 8601", () => {
    const write = wireForm(Schema.Struct({ deliveries: Schema.Array(Delivery), next: Schema.NullOr(Schema.Int) }))
    const finishedAt = new Date("2026-05-04T09:30:00Z")
    const domain = { finishedAt, templateId: "welcome", id: "a", formats: { plainText: "x" } }
    assert.strictEqual(
      JSON.stringify(write({ next: undefined, deliveries: [domain] })),
      '{"deliveries":[{"id":"a","template_id":"welcome","finished_at":"2026-05-04T09:30:00.000Z",' +
        '"formats":{"plainText":"x"}}],"next":null}',
    )
  })

  it("omits members outside the schema, and optional members without a value", () => {
    const write = wireForm(Delivery)
    const domain = { id: "a", templateId: "b", finishedAt: null, note: undefined, formats: {}, secret: "s", body: "x" }
    assert.deepStrictEqual(write(domain), { id: "a", template_id: "b", finished_at: null, formats: {} })
  })

  it("is unchanged for an object with the names of the schema", () => {
    const wire = { id: "a", template_id: "b", finished_at: "2026-05-04", note: "n", formats: { text: "t" } }
    assert.deepStrictEqual(wireForm(Delivery)(wire), wire)
  })

  it("prefers a member under the schema's name over one under the domain's name", () => {
    const write = wireForm(Delivery)
    const domain = { id: "a", templateId: "domain", template_id: "wire", finished_at: null, formats: {} }
    assert.deepStrictEqual(write(domain), { id: "a", template_id: "wire", finished_at: null, formats: {} })
  })

  it("follows a recursive schema", () => {
    interface Tree {
      readonly saved_at: string
      readonly parts: ReadonlyArray<Tree>
    }
    const Tree = Schema.Struct({
      saved_at: Schema.String,
      parts: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree)),
    })
    const savedAt = new Date(0)
    assert.deepStrictEqual(wireForm(Tree)({ savedAt, parts: [{ savedAt, parts: [] }] }), {
      saved_at: "1970-01-01T00:00:00.000Z",
      parts: [{ saved_at: "1970-01-01T00:00:00.000Z", parts: [] }],
    })
  })

  it("is unchanged for a schema of any value", () => {
    assert.deepStrictEqual(wireForm(Schema.Unknown)({ someName: [1] }), { someName: [1] })
  })
})
