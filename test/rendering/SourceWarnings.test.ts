import { assert, describe, it } from "@effect/vitest"
import { checkSources } from "../../src/rendering/CheckSources.ts"
import { sourceWarnings } from "../../src/rendering/SourceWarnings.ts"

describe("warnings about sources", () => {
  it("name the variable, the line and the column, in the order of the text", () => {
    const warnings = sourceWarnings({ a: "fine {{ name }}", b: "x\n  {{ unsubscribeUrl }} {{unsubscribe_link}}" }, {})
    assert.deepStrictEqual(warnings.map(({ column, line, variable }) => [variable, line, column]), [
      ["b", 2, 3],
      ["b", 2, 24],
    ])
  })

  it("name what a translation inserts otherwise than the default text", () => {
    const warningsOf = (text: string, translation: string) => {
      const sources = { vars: { text }, formats: {}, locale: "en", locales: { de: { text: translation } } }
      return checkSources(sources).warnings.map(({ column, locale, message }) => [locale, column, message])
    }
    assert.deepStrictEqual(warningsOf("Hi {{ name }}", "Hallo {{ Name }}"), [
      ["de", 1, 'does not insert "name" as the text in the default locale does'],
      ["de", 7, 'inserts "Name", which is not in the text in the default locale: correct the name, or send the field'],
    ])
    for (
      const [text, translation] of [
        ["Hi {{ name | default: 'you' }}", "{{- name -}}, hallo"],
        ["{% if name %}{{ name }}{% endif %} {{ count }}", "{% assign n = count | plus: 1 %}{{ n }} {{ name }}"],
        ["{% assign n = name %}Hi {{ n }}", "Hallo {{ name }}"],
        ["Hi {{ user.name }}", "Hallo {{ user.first_name }} {{ 'du' }}"],
      ] as const
    ) assert.deepStrictEqual(warningsOf(text, translation), [], translation)
  })

  it("name elements of MJML in HTML", () => {
    const warningsOf = (text: string) => checkSources({ vars: { text }, formats: { text: "html" } }).warnings
    for (const text of ["<mjml>", "<p>a</p><mj-section>", "<mj-image/>"]) {
      assert.match(warningsOf(text)[0]!.message, /^This is MJML/)
    }
    assert.deepStrictEqual(warningsOf("<mj>mjml</mj>"), [])
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
