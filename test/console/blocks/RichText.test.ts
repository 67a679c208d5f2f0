import { assert } from "@effect/vitest"
import { Liquid } from "liquidjs"
import { describe, it } from "vitest"
import { closed } from "../../../src/console/blocks/Liquid.ts"
import { type Block, outlineOf } from "../../../src/console/blocks/Outline.ts"
import {
  attributeOf,
  excerptOf,
  fieldOf,
  htmlOf,
  isFieldPath,
  liquidOf,
  plainOf,
  richOf,
  sourceOf,
  withAttribute,
  wordsOf,
} from "../../../src/console/blocks/RichText.ts"
import { messages } from "./messages.ts"

describe("texts of blocks", () => {
  it("keep each character of their source", () => {
    const texts = [...messages.values()].flatMap((source) => {
      const below = (block: Block): ReadonlyArray<Block> => [block, ...block.children.flatMap(below)]
      return below(outlineOf(source)!.body)
        .filter(({ content, kind }) => (kind === "text" || kind === "button") && content !== undefined)
        .map(({ content }) => source.slice(...content!))
    })
    assert.isAbove(texts.length, 30)
    for (const text of [...texts, "", "<p>a<br>b</p>&amp; &copy; x", '<a href="{{ x | default: ">" }}">a</a>']) {
      assert.strictEqual(sourceOf(richOf(text)!), text)
    }
    assert.strictEqual(sourceOf(plainOf("a {{ b }}{% if c %}<d>")), "a {{ b }}{% if c %}<d>")
  })

  it("leave HTML that the editor does not show to the code", () => {
    for (
      const text of [
        "<img src=x onerror=alert(1)>",
        "<script>alert(1)</script>",
        "<p>a",
        "a</p>",
        "<b><i>a</b></i>",
        "<!-- a -->",
        "<table></table>",
        "<p/>",
        "<__proto__>a</__proto__>",
        '<a href="',
      ]
    ) assert.isUndefined(richOf(text), text)
  })

  it("escape typed characters outside of Liquid", () => {
    assert.strictEqual(
      htmlOf('a < b & {{ c | default: "<d>" }}\u00a0>'),
      'a &lt; b &amp; {{ c | default: "<d>" }}&nbsp;&gt;',
    )
  })

  it("know the names that a field can have", () => {
    for (const path of ["first_name", "cart.total", "items.0.name", "size-eu", "_a", "שם"]) {
      assert.isTrue(isFieldPath(path), path)
    }
    for (const path of ["", "first name", "1st", "cart.", "cart..total", ".cart", "cart.-total", "a|b", "a}}"]) {
      assert.isFalse(isFieldPath(path), path)
    }
  })

  it("show fields as words, and write them as Liquid", () => {
    for (const liquid of ["{{ first_name }}", '{{ user.name | default: "there" }}', "{{ a | default: 'say \"b\"' }}"]) {
      assert.strictEqual(liquidOf(fieldOf(liquid)!), liquid)
    }
    assert.deepStrictEqual(fieldOf("{{- größe|default:'x' -}}"), { path: "größe", fallback: "x" })
    assert.strictEqual(liquidOf({ path: "a", fallback: `"it's" }}` }), `{{ a | default: '"it’s" } }' }}`)
    const path = { path: "a", fallback: "C:\\new\\" }
    assert.strictEqual(liquidOf(path), String.raw`{{ a | default: "C:\\new\\" }}`)
    assert.deepStrictEqual(fieldOf(liquidOf(path)), path)
    assert.strictEqual(new Liquid().parseAndRenderSync(liquidOf(path)), path.fallback)
    for (
      const other of [String.raw`{{ a | default: "\n" }}`, "{{ a | upcase }}", "{% if a %}", '{{ "a" }}', "{{ a[0] }}"]
    ) {
      assert.isUndefined(fieldOf(other))
    }
    assert.strictEqual(wordsOf('{{ a | default: "there" }}'), "there")
    assert.strictEqual(wordsOf("{{ a | upcase }}"), "a | upcase")
    assert.strictEqual(wordsOf("{% if a == 1 %}"), "Only if a == 1")
    assert.strictEqual(wordsOf("{%- endif -%}"), "end of if")
    assert.strictEqual(wordsOf("{% constructor %}"), "constructor")
    assert.strictEqual(
      excerptOf("<b>Hello</b>&nbsp;{{ n | default: 'you' }}{% if a %}, &amp;{% endif %}"),
      "Hello you, &",
    )
  })

  it("end unfinished Liquid in the text, also while somebody types it", () => {
    const typed: ReadonlyArray<readonly [string, string]> = [
      ["{{", "&#123;{"],
      ["Hi {{ first_name", "Hi &#123;{ first_name"],
      ["{{ a }}{% if a", "{{ a }}&#123;% if a"],
      ["{{ x {% endif %}", "&#123;{ x &#123;% endif %}"],
      ["{% if a %}b", "&#123;% if a %}b"],
      ["{% if a %}{% for b in c %}d{% endif %}", "&#123;% if a %}&#123;% for b in c %}d&#123;% endif %}"],
      ["{% if b{% endif %}", "&#123;% if b&#123;% endif %}"],
      ["{% if a %}{{ x {% endif %}", "&#123;% if a %}&#123;{ x &#123;% endif %}"],
      ["{% raw %}{{", "&#123;% raw %}&#123;{"],
    ]
    for (const [text, written] of typed) assert.strictEqual(closed(text), written)
    for (const text of ["{", "a { b }", "{% if a %}{{ b }}{% else %}c{% endif %}", "{% raw %}{{{% endraw %}"]) {
      assert.strictEqual(closed(text), text)
    }
    assert.isFalse(closed("{".repeat(80_000)).includes("{{"))
    assert.strictEqual(excerptOf("<".repeat(80_000)).length, 80_000)
  })

  it("change an attribute of a tag", () => {
    const tag = `<a class="b" href='https://a.example/' style="color:red">`
    assert.strictEqual(attributeOf(tag, "href"), "https://a.example/")
    assert.strictEqual(withAttribute(tag, "href", 'x"y'), `<a class="b" href="x&quot;y" style="color:red">`)
    assert.strictEqual(withAttribute("<a>", "href", "x"), '<a href="x">')
    const link = `<a href="https://a.example/{{ u | default: "x" }}?a=1&b=2&amp;copy;&lt;">`
    assert.strictEqual(withAttribute("<a>", "href", 'https://a.example/{{ u | default: "x" }}?a=1&b=2&copy;<'), link)
    assert.strictEqual(withAttribute("<a>", "href", '{{ u | default: "'), '<a href="&#123;{ u | default: &quot;">')
    assert.strictEqual(attributeOf('<a href="{{ u | default: "x" }}">', "href"), '{{ u | default: "x" }}')
    assert.strictEqual(attributeOf("<a href>", "href"), "")
  })
})
