import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { RenderedFormat } from "../../src/domain/Template.ts"
import { marked, missingNames, previewWarnings } from "../../src/rendering/PreviewWarnings.ts"
import { observe, parseVars } from "../../src/rendering/Renderer.ts"
import type { Fields } from "./variants.ts"

/** Warnings of one text as `column message`. */
const warningsOf = (source: string, fields: Fields = {}, format: RenderedFormat = "text"): ReadonlyArray<string> => {
  const parsed = parseVars({ v: source }, { v: format })
  if (Result.isFailure(parsed)) throw parsed.failure
  return previewWarnings(observe(parsed.success, fields, { now: 0 }), { v: format })
    .map(({ column, message }) => `${column} ${message}`)
}

const oneOf = (source: string, fields: Fields = {}, format: RenderedFormat = "text"): string => {
  const warnings = warningsOf(source, fields, format)
  assert.lengthOf(warnings, 1, source)
  return warnings[0]!
}

describe("warnings of a preview", () => {
  it("name fields without a sample value at their place, with the text that people would read", () => {
    const warning = oneOf("Hi {{ first_name }}, welcome")
    assert.match(warning, /^4 "first_name" has no sample value: people would read "Hi , welcome"\. /)
    assert.include(warning, '{{ first_name | default: "…" }}')
    assert.include(oneOf("Hi {{ ['Loyalty Points'] }}!"), "{{ ['Loyalty Points'] | default")
    assert.match(oneOf("Hi{% for item in items %} {{ item }}{% endfor %}"), /^18 "items" has no sample value\. Add it/)
    assert.lengthOf(warningsOf("{{ a }} and {{ b }} and {{ a }}"), 2)
  })

  it("leave out fields with a default and fields that a condition tests", () => {
    for (
      const source of [
        "Hi {{ first_name | default: 'there' }}!",
        "Hi {{ first_name | default: '' }}!",
        "Hi {{ first_name | strip | capitalize | default: 'there' }}!",
        "Hi {{ nick | default: user.first_name | default: 'there' }}!",
        "{% assign x = first_name | strip | default: 'there' %}Hi {{ x }}!",
        "Hi{% if first_name %} {{ first_name }}{% endif %}!",
        "Hi{% unless first_name == blank %} {{ first_name }}{% endunless %}!",
      ]
    ) assert.deepStrictEqual(warningsOf(source), [], source)
    assert.deepStrictEqual(warningsOf("Hi {{ first_name }}!", { first_name: "Ann" }), [])
  })

  it("name the whole path of a field, and the field that a name is assigned from", () => {
    assert.match(oneOf("Hi {{ user.name }}!"), /^4 "user\.name" has no .* write \{\{ user\.name \| default: "…" \}\}$/)
    const [first, second] = warningsOf("{% assign x = nick %}Hi {{ x }}!")
    assert.match(first!, /^15 "nick" has no sample value\. Add it to the sample fields/)
    assert.match(second!, /^25 \{\{ x \}\} is empty: people would read "Hi !"/)
  })

  it("name words that are probably texts without quotation marks", () => {
    for (
      const source of [
        "{% if tier == gold %}A{% else %}B{% endif %}",
        "{% case tier %}{% when gold %}A{% else %}B{% endcase %}",
        "{{ tier | truncate: gold }}",
      ]
    ) assert.include(oneOf(source, { tier: "x" }), '"gold" has no sample value', source)
    assert.include(oneOf("{% if tier == gold %}A{% endif %}B", { tier: "x" }), 'write "gold" in quotes if it is a text')
    assert.deepStrictEqual(warningsOf("{% if gold == tier %}A{% endif %}B", { tier: "x" }), [])
  })

  it("name forloop outside of a loop", () => {
    assert.include(oneOf("No. {{ forloop.index }} x"), "only within a loop")
  })

  it("name outputs whose empty value leaves a gap in the sentence", () => {
    assert.match(
      oneOf("Hi {{ name }}, welcome", { name: "" }),
      /^4 \{\{ name \}\} is empty: people would read "Hi , welcome"/,
    )
    assert.include(oneOf("Dear {{ a.b }}!", { a: { b: null } }), '"Dear !"')
    assert.include(oneOf("<p>Hello {{ name }} and <b>you</b></p>", { name: "" }, "html"), '"Hello  and')
    assert.include(oneOf("Total: {{ total }}", { total: "" }), '"Total:"')
    assert.include(oneOf("{{ greeting }}, Ann", { greeting: "" }), '", Ann"')
    assert.include(oneOf("{% capture x %}{{ a }}{% endcapture %}Hi {{ x }}!", { a: "" }), "{{ x }} is empty")
    assert.deepStrictEqual(warningsOf("{{ first }}{{ second }} x", { first: "a", second: "" }), [])
  })

  it("leave out empty values that leave no gap", () => {
    assert.deepStrictEqual(warningsOf("<td>\n  {{ note }}\n</td><p>x</p>", { note: "" }, "html"), [])
    assert.deepStrictEqual(warningsOf('<p class="{{ kind }}">x</p>', { kind: "" }, "html"), [])
  })

  it("name a text that is empty as a whole", () => {
    assert.match(oneOf("{{ subject }}", { subject: "" }), /^1 The whole text is empty/)
  })

  it("name links without a target and images without an address in HTML", () => {
    const links = [
      '<a href="">x</a>',
      "<a class='b' href='#'>x</a>",
      '<a href="{{ url }}">x</a>',
      '<a href="https://">x</a>',
      '<a href="mailto:">x</a>',
      '<v:roundrect href="">x</v:roundrect>',
    ]
    for (const link of links) assert.match(oneOf(link, { url: "" }, "html"), /A link has no target \(href=/, link)
    assert.match(oneOf('<a title="t" href="{{ url }}">x</a>', { url: "" }, "html"), /^20 /)
    for (const image of ['<img alt="a">', '<img src="">', '<img src="{{ url }}" alt="">']) {
      assert.include(oneOf(image + "x", { url: "" }, "html"), "An image has no address", image)
    }
    const complete = '<a href="https://x.example">x</a> <a name="top">y</a> <a href="#top">z</a> <img src="cid:a">'
    assert.deepStrictEqual(warningsOf(complete, {}, "html"), [])
    assert.deepStrictEqual(warningsOf('<a href="">x</a>', {}, "text"), [])
  })
})

describe("marks of a preview", () => {
  const markedOf = (source: string, fields: Fields, format: RenderedFormat) => {
    const parsed = parseVars({ v: source }, { v: format })
    if (Result.isFailure(parsed)) throw parsed.failure
    const observed = observe(parsed.success, fields, { now: 0 })
    return { names: observed.flatMap(missingNames), text: marked(observed, { v: format })["v"] }
  }

  it("show each output of a name without a value, except within tags of HTML", () => {
    assert.deepStrictEqual(markedOf("Hi {{ first_name | upcase }}, {{ user.city }} {{ first_name }}!", {}, "text"), {
      names: ["first_name", "user.city"],
      text: "Hi [first_name], [user.city] [first_name]!",
    })
    const { text } = markedOf('<a href="{{ url }}">{{ name }}</a> {{ a["<b>"] }}{{ known }}', { known: "" }, "html")
    assert.include(text!, '<a href=""><mark style="background:#ffd84d;color:#1b1b1b">name</mark></a>')
    assert.notInclude(text!, "<b>")
    assert.strictEqual(text!.match(/<mark/g)?.length, 2)
  })

  it("leave variables with all values out", () => {
    assert.deepStrictEqual(markedOf("Hi {{ name | default: 'you' }}", {}, "text"), { names: [], text: undefined })
  })
})
