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

  it("name properties, currencies and Liquid with wrong quotation marks", () => {
    for (
      const [source, column, words] of [
        ["{{ items | map: title }}", 17, 'For the property, write map: "title"'],
        ["{% assign a = items | sort: price %}", 29, 'write sort: "price"'],
        ["{{ total | money: EUR }}", 19, 'For the currency, write money: "EUR"'],
        ['{{ "Hi {{ name }}" }}', 8, "{{ name }} in quotes is shown as it is"],
        ["{% assign a = 'Hi {{ name }}!' %}", 19, "{% capture text %}"],
      ] as const
    ) {
      const [found] = sourceWarnings({ a: source }, {})
      assert.strictEqual(found?.column, column, source)
      assert.include(found!.message, words, source)
    }
    for (
      const source of [
        "{% assign key = 'price' %}{{ items | sort: key }}{{ items | map: 'title' }}{{ items | map: a.b }}",
        "{{ total | money: currency }}",
        "{{ '{{' }} {{ name }} {{ \"}}\" }}",
        "{% raw %}{{ 'Hi {{ name }}' }}{% endraw %}",
        "<a href='{{ url }}' title=\"{{ title | default: 'x' }}\">",
      ]
    ) assert.deepStrictEqual(sourceWarnings({ a: source }, { a: "html" }), [], source)
  })

  it("leave names of our own alone", () => {
    for (
      const source of ["{{ unsubscribe_url }}", "{{ unsubscribe_url | default: '#' }}", "{{ url }}", "unsubscribeUrl"]
    ) {
      assert.deepStrictEqual(sourceWarnings({ a: source }, { a: "html" }), [], source)
    }
  })
})
