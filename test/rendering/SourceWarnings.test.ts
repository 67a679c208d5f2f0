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

  it("leave names of our own alone", () => {
    for (
      const source of ["{{ unsubscribe_url }}", "{{ unsubscribe_url | default: '#' }}", "{{ url }}", "unsubscribeUrl"]
    ) {
      assert.deepStrictEqual(sourceWarnings({ a: source }, { a: "html" }), [], source)
    }
  })
})
