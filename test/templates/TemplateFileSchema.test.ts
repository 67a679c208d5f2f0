import { assert, describe, it } from "@effect/vitest"
import { Result, Schema, SchemaRepresentation } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { parse } from "yaml"
import { templateFileSchema } from "../../src/templates/TemplateFileSchema.ts"

const root = new URL("../../", import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), "utf8")
const path = "schema/template-file.schema.json"

describe("The JSON Schema of template files", () => {
  it("equals the file in the repository", () => {
    assert.deepStrictEqual(
      JSON.parse(read(path)),
      JSON.parse(JSON.stringify(templateFileSchema())),
      `${path} is out of date: deno run --allow-write --allow-read --allow-env scripts/writeTemplateSchema.ts`,
    )
  })

  const { $defs, $schema: _, patternProperties, ...schema } = JSON.parse(read(path))
  const imported = SchemaRepresentation.fromJsonSchemaDocument({ dialect: "draft-2020-12", schema, definitions: $defs })
  const decode = Schema.decodeUnknownResult(imported as Schema.Codec<unknown>, { onExcessProperty: "error" })
  const accepts = (file: unknown) => Result.isSuccess(decode(file))

  it("has a place for shared parts at the top", () => assert.deepStrictEqual(Object.keys(patternProperties), ["^x-"]))

  it("accepts the examples, which refer to it", () => {
    const names = readdirSync(new URL("examples/", root)).filter((name) => name.endsWith(".yaml"))
    assert.isAbove(names.length, 3)
    for (const name of names) {
      const text = read(`examples/${name}`)
      assert.isTrue(text.startsWith(`# yaml-language-server: $schema=../${path}\n`), name)
      assert.isTrue(accepts(parse(text)), name)
    }
  })

  it("rejects unknown members, values of another type, and values out of range", () => {
    const template = (more: object) => ({ templates: [{ id: "t", name: "T", ...more }] })
    const variant = (more: object) => template({ variants: [{ id: "v", vars: { s: "x" }, ...more }] })
    for (const sound of [template({}), variant({}), template({ objective: { click: 1 }, holdout: null })]) {
      assert.isTrue(accepts(sound), JSON.stringify(sound))
    }
    const faulty = [
      {},
      { templates: [], more: 1 },
      { templates: [{ id: "t" }] },
      template({ nam: "T" }),
      template({ sticky_hours: 9_000 }),
      template({ objective: "clicks" }),
      template({ objective: { clicks: 1 } }),
      template({ variants: [{ id: "v" }] }),
      variant({ formats: { s: "markdown" } }),
      variant({ vars: { s: 1 } }),
      variant({ targeting: [{ attribute: "tier", op: "equals", values: ["gold"] }] }),
      variant({ seasons: [{ hours: { from: 24, to: 6 } }] }),
    ]
    for (const file of faulty) assert.isFalse(accepts(file), JSON.stringify(file))
  })

  it("allows no other members in objects with declared members", () => {
    const walk = (node: unknown): void => {
      if (node === null || typeof node !== "object") return
      if ("properties" in node && "type" in node) assert.propertyVal(node, "additionalProperties", false)
      Object.values(node).forEach(walk)
    }
    walk(JSON.parse(read(path)))
  })

  it("describes every member of a template and a variant", () => {
    for (const name of ["TemplateInput", "VariantInput", "Condition", "Season"]) {
      for (const [member, one] of Object.entries<Record<string, unknown>>($defs[name].properties)) {
        assert.isString(one["description"], `${name}.${member}`)
      }
    }
  })
})
