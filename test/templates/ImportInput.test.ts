import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { Template, TemplateInput, VariantInput } from "../../src/domain/Template.ts"
import { decodeImport, inputFaults } from "../../src/templates/ImportInput.ts"
import { AuditRoom, planTemplate } from "../../src/templates/ImportPlan.ts"
import * as TemplateFile from "../../src/templates/TemplateFile.ts"

const faultsOf = (json: unknown) => decodeImport(json).faults

describe("decodeImport", () => {
  it("reports at most 100 faults over several templates", () => {
    const faults = faultsOf({ templates: [{ name: "A" }, { id: 5 }, { name: "B", variants: [{}] }] })
    assert.deepStrictEqual(faults.map(({ pointer }) => pointer), [
      "/templates/1/id",
      "/templates/1/name",
      "/templates/2/variants/0/vars",
    ])
    assert.lengthOf(faultsOf({ templates: Array.from({ length: 900 }, () => ({})) }), 100)
  })

  it("reports only the size of an import that is too large", () => {
    assert.deepStrictEqual(
      faultsOf({ templates: Array.from({ length: 300_000 }, () => 1) }).map(({ detail }) => detail),
      [
        "has 300000 templates. One import has at most 1000; split it into several",
      ],
    )
    const variants = Array.from({ length: 80_000 }, () => ({}))
    assert.lengthOf(faultsOf({ templates: [{ variants }] }), 1)
  })
})

describe("inputFaults", () => {
  it("stops after 1,000 faults", () => {
    let checked = 0
    const variants = Array.from({ length: 1_000 }, () => ({ vars: { s: "{{" } }) as VariantInput)
    const inputs = [0, 1].map((at) => ({ id: `t${at}`, name: "T", variants }) as unknown as TemplateInput)
    const faults = inputFaults(inputs, () => {
      checked++
      return [{ variable: "s", line: 1, column: 1, message: "not closed" }]
    })
    assert.lengthOf(faults, 1_000)
    assert.strictEqual(checked, 1_000)
  })
})

describe("faults in a template file", () => {
  const text = `templates:
  - id: a
    name: A
    variants:
      - id: v
        vars:
          "odd/name": x
`
  it("have the position of their pointer", () => {
    const read = TemplateFile.readFile(text, "f.yaml")
    if (Result.isFailure(read)) return assert.fail(JSON.stringify(read.failure))
    const { faultAt } = read.success
    assert.deepStrictEqual(faultAt({ pointer: "/templates/0/variants/0/vars/odd~1name", detail: "is odd" }), {
      file: "f.yaml",
      line: 7,
      column: 11,
      path: 'templates[0].variants[0].vars["odd/name"]',
      message: "is odd",
    })
    assert.deepInclude(faultAt({ pointer: "/templates/0/variants/0", detail: "" }), { line: 5, column: 9 })
  })

  it("are limited if the file is too large", () => {
    const parsed = TemplateFile.parse(`templates: [${"1,".repeat(5_000)}]`, "f.yaml")
    assert.deepStrictEqual(Result.isFailure(parsed) ? parsed.failure : [], [{
      file: "f.yaml",
      line: 1,
      column: 1,
      path: "templates",
      message: "has 5000 templates. One import has at most 1000; split it into several",
    }])
  })

  it("can be combined from parts", () => {
    const templates = ["a", "b", "c"].map((id) => ({
      id,
      name: id,
      variants: [{ id: "v", vars: { s: "x\ny" } }],
    })) as unknown as ReadonlyArray<TemplateInput>
    for (const as of ["yaml", "json"] as const) {
      const parts = [templates.slice(0, 2), templates.slice(2)].map((part) => TemplateFile.format(part, as))
      assert.strictEqual(TemplateFile.joined(parts, as), TemplateFile.format(templates, as))
      assert.strictEqual(TemplateFile.joined([TemplateFile.format([], as)], as), TemplateFile.format([], as))
    }
  })
})

describe("planTemplate", () => {
  const stored = {
    id: "t",
    name: "T",
    strict: false,
    sticky_hours: 0,
    runner_up_floor: 0.1,
    locale: null,
    objective: "click",
    send_nothing: false,
    holdout: null,
    tracking: null,
    list_unsubscribe: false,
    link_domains: [],
    ignore_unsubscribes: false,
    conversion_events: [],
    tags: [],
    owner: null,
    archived_at: null,
    revision: 1,
    created_at: "",
    updated_at: "",
    variants: ["a", "b"].map((id) => ({
      id,
      name: id,
      vars: { s: id },
      locales: {},
      formats: {},
      active: true,
      targeting: [],
      seasons: [],
      components: {},
      created_at: "",
      updated_at: "",
    })),
  } as unknown as Template

  const plan = (input: object) => planTemplate(input as TemplateInput, stored, new AuditRoom())

  it("returns unchanged if the template equals the input", () => {
    const variants = [{ id: "a", vars: { s: "a" } }]
    assert.deepStrictEqual(plan({ id: "t", name: "T", variants }), { outcome: "unchanged", id: "t" })
  })

  it("writes and records only the variants that differ", () => {
    const variants = [{ id: "a", vars: { s: "a" } }, { id: "b", vars: { s: "other" } }, { vars: { s: "new" } }]
    const planned = plan({ id: "t", name: "T", objective: "open", variants })
    if (planned.outcome !== "updated") return assert.fail(planned.outcome)
    assert.deepStrictEqual(planned.variants.map(({ vars }) => vars["s"]), ["other", "new"])
    assert.strictEqual(planned.variantCount, 3)
    assert.isTrue(planned.relearns)
    const added = planned.variants[1]!.id
    assert.deepStrictEqual(
      planned.difference.fields.map(({ field }) => field).filter((field) => !field.includes(added)),
      ["/objective", "/variants/b/vars/s"],
    )
  })
})
