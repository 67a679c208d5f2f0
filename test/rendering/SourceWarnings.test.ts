import { assert, describe, it } from "@effect/vitest"
import { sourceWarnings } from "../../src/rendering/SourceWarnings.ts"

describe("warnings about sources", () => {
  it("name the variable, the line and the column, in the order of the text", () => {
    const warnings = sourceWarnings({ a: "fine {{ name }}", b: "x\n  {{ unsubscribeUrl }} {{unsubscribe_link}}" }, {})
    assert.deepStrictEqual(warnings.map(({ column, line, variable }) => [variable, line, column]), [
      ["b", 2, 3],
      ["b", 2, 24],
    ])
  })

  it("are at most 20 for a variable", () => {
    assert.lengthOf(sourceWarnings({ a: "{{ unsubscribeUrl }}".repeat(30) }, {}), 20)
  })

  it("name a condition with or behind and, which Liquid groups to the right", () => {
    const source = "{% if a and b or c %}{% elsif a or b and c %}{% elsif a == 1 and b or c and d or e %}{% endif %}"
    const warnings = sourceWarnings({ a: source }, {})
    assert.deepStrictEqual(warnings.map(({ column }) => column), [7, 55])
    assert.include(warnings[0]!.message, "a and b or c holds if a holds, and b or c")
  })

  it("leave names of our own alone", () => {
    for (
      const source of ["{{ unsubscribe_url }}", "{{ unsubscribe_url | default: '#' }}", "{{ url }}", "unsubscribeUrl"]
    ) {
      assert.deepStrictEqual(sourceWarnings({ a: source }, { a: "html" }), [], source)
    }
  })
})
