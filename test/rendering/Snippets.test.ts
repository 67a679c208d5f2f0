import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import {
  nestingFault,
  reachedFrom,
  renderedIds,
  snippetsForFile,
  type SnippetSource,
  usersOf,
} from "../../src/domain/Snippet.ts"
import { checkSources } from "../../src/rendering/CheckSources.ts"
import { observe, parseVars, render } from "../../src/rendering/Renderer.ts"

type Texts = Readonly<Record<string, string | SnippetSource>>

const mapOf = (texts: Texts): ReadonlyMap<string, SnippetSource> =>
  new Map(
    Object.entries(texts).map(([id, one]) => [id, typeof one === "string" ? { text: one, format: "text" } : one]),
  )

const html = (text: string): SnippetSource => ({ text, format: "html" })

const resultOf = (source: string | SnippetSource, texts: Texts, fields = {}, strict = false) => {
  const { format, text } = typeof source === "string" ? { text: source, format: "text" as const } : source
  const parsed = Result.getOrThrow(parseVars({ v: text }, { v: format }))
  return render(parsed, fields, { strict, now: 0, snippets: mapOf(texts) })
}

const rendered = (source: string | SnippetSource, texts: Texts, fields = {}): string =>
  Result.getOrThrow(resultOf(source, texts, fields))["v"]!

const faults = (source: string | SnippetSource, texts: Texts, fields = {}, strict = false) =>
  Result.getOrThrow(Result.flip(resultOf(source, texts, fields, strict))).faults

const checked = (source: string | SnippetSource, texts: Texts) => {
  const { format, text } = typeof source === "string" ? { text: source, format: "text" as const } : source
  const { faults, warnings } = checkSources({ vars: { v: text }, formats: { v: format }, snippets: mapOf(texts) })
  return [...faults, ...warnings].map(({ column, line, message }) => `${line}:${column} ${message}`)
}

describe("render", () => {
  it("inserts a snippet with its arguments", () => {
    const texts = { footer: "© {{ year }} {{ company | default: 'Acme' }}" }
    assert.strictEqual(rendered("Bye. {% render 'footer', year: 2026 %}!", texts), "Bye. © 2026 Acme!")
    assert.strictEqual(rendered('{%- render "footer" year: y, company: c -%}', texts, { y: 1, c: "X" }), "© 1 X")
    assert.strictEqual(rendered("{% liquid\n  render 'footer', year: 2\n%}", texts), "© 2 Acme")
    assert.strictEqual(rendered("{% render 'empty' %}|", { empty: "" }), "|")
  })

  it("shows a snippet nothing but its arguments, and returns none of its names", () => {
    const texts = { inner: "[{{ name }}{{ own }}{{ item }}]{% assign own = 'x' %}{% increment n %}{% break %}" }
    const source = "{% assign own = 'o' %}{% increment n %}{% for item in (1..2) %}{% render 'inner' %}{{ own }}" +
      "{% endfor %}{% increment n %}"
    assert.strictEqual(rendered(source, texts, { name: "Ann" }), "0[]0o[]0o1")
  })

  it("binds one value with `with`, and each element of a list with `for`", () => {
    const texts = { card: "{{ card.n }}{{ p.n }}{{ forloop.index }}{{ currency }};" }
    assert.strictEqual(rendered("{% render 'card' with x %}", texts, { x: { n: 1 } }), "1;")
    assert.strictEqual(rendered("{% render 'card' with x as p, currency: '€' %}", texts, { x: { n: 1 } }), "1€;")
    const list = { list: [{ n: "a" }, { n: "b" }] }
    assert.strictEqual(rendered("{% render 'card' for list as p, currency: '€' %}", texts, list), "a1€;b2€;")
    assert.strictEqual(rendered("{% render 'card' for list %}", texts, list), "a1;b2;")
  })

  it("escapes values for the format of the snippet, and the text of a text snippet for its place", () => {
    const fields = { n: "<b>&" }
    const texts = { h: html("<i>{{ n }}</i>"), t: "A & B {{ n }}" }
    assert.strictEqual(rendered(html("{% render 'h', n: n %}"), texts, fields), "<i>&lt;b&gt;&amp;</i>")
    assert.strictEqual(rendered(html("{% render 't', n: n %}"), texts, fields), "A &amp; B &lt;b&gt;&amp;")
    assert.strictEqual(rendered("{% render 't', n: n %}", texts, fields), "A & B <b>&")
    assert.strictEqual(
      rendered(html("{% capture c %}<u>{{ n }}</u>{% endcapture %}{% render 'h', n: c %}"), texts, fields),
      "<i><u>&lt;b&gt;&amp;</u></i>",
    )
    assert.strictEqual(
      rendered(html("<a href=\"mailto:a@b.example?subject={% render 't', n: 'x' %}\">"), texts),
      '<a href="mailto:a@b.example?subject=A%20%26%20B%20x">',
    )
  })

  it("renders snippets in snippets", () => {
    const texts = { a: "a{% render 'b', x: x %}", b: "b{{ x }}" }
    assert.strictEqual(rendered("{% render 'a', x: 1 %}", texts), "ab1")
  })

  it("fails at the tag for a missing snippet, a cycle, HTML in a text, and a spent budget", () => {
    const at = (source: string, texts: Texts) => {
      const [{ column, kind, message } = {} as never] = faults(`ab {% render '${source}' %}`, texts)
      return `${column} ${kind} ${message}`
    }
    assert.strictEqual(at("gone", {}), '4 limit renders the snippet "gone", which does not exist')
    assert.strictEqual(at("a", { a: "{% render 'a' %}" }), "4 limit renders more than 5 snippets inside each other")
    assert.strictEqual(at("h", { h: html("x") }), '4 limit renders the snippet "h", which is HTML, in a text')
    assert.include(at("loop", { loop: "{% for i in (1..999999) %}{% endfor %}" }), "4 limit takes too much work")
    const doubling = {
      d: "{% capture a %}0123456789{% endcapture %}{% for i in (1..40) %}" +
        "{% capture a %}{{ a }}{{ a }}{% endcapture %}{% endfor %}",
    }
    assert.include(at("d", doubling), "4 limit renders to more than 1048576 characters")
  })

  it("reports a value that a snippet lacks in strict mode, and in a preview", () => {
    const texts = { f: "{{ year }}{% if b %}{% endif %}{{ c | default: 1 }}" }
    const [fault] = faults("x{% render 'f' %}", texts, {}, true)
    assert.deepInclude(fault, {
      kind: "undefined",
      column: 2,
      undefinedVariables: ["year"],
      message: 'the snippet "f" needs "year": write {% render \'f\', year: year %}',
    })
    assert.include(faults("{% render 'f', year: y %}", texts, {}, true)[0]!.message, 'gets no value for "year"')
    assert.strictEqual(
      Result.getOrThrow(resultOf("{% render 'f', year: 1 %}", texts, {}, true))["v"],
      "11",
    )
    const parsed = Result.getOrThrow(parseVars({ v: "{% render 'f' %}" }, {}))
    const [seen] = observe(parsed, {}, { now: 0, snippets: mapOf(texts) })
    assert.deepStrictEqual(seen!.missingInSnippets.map(({ missing }) => missing?.name), ["year"])
  })

  it("names the snippet in the warning of an unusable value", () => {
    const warnings: Array<string> = []
    const parsed = Result.getOrThrow(parseVars({ v: "a {% render 'f', n: n %}" }, {}))
    render(parsed, { n: "abc" }, {
      strict: false,
      now: 0,
      snippets: mapOf({ f: "{{ n | times: 2 }}" }),
      warn: ({ column, message }) => warnings.push(`${column} ${message}`),
    })
    assert.strictEqual(warnings.length, 1)
    assert.match(warnings[0]!, /^3 in the snippet "f": times: "abc" is not a number/)
  })
})

describe("a check of sources with snippets", () => {
  it("refuses snippets that do not exist, and HTML in a text or a script", () => {
    assert.deepStrictEqual(checked("x {% render 'gone' %}", {}), [
      '1:13 there is no snippet "gone": create it first, or correct the id',
    ])
    assert.include(checked("{% render 'h' %}", { h: html("x") })[0], "is HTML, and this is a text")
    assert.include(checked(html("<script>{% render 'h' %}</script>"), { h: html("x") })[0], "and this is a script")
    assert.deepStrictEqual(checked(html("{% render 'h' %}"), { h: html("x") }), [])
  })

  it("refuses tags that are not understood with what to write", () => {
    const refused: ReadonlyArray<readonly [tag: string, words: string]> = [
      ["render", "needs the id of a snippet in quotes"],
      ["render footer", "needs the id of a snippet in quotes"],
      ["render 'Footer'", "which is no id of a snippet"],
      ["render 'f' year", "has no colon behind year: write year: and its value"],
      ["render 'f', year = 1", "has no colon behind year"],
      ["render 'f', year: 1, year: 2", "has the argument year twice"],
      ["render 'f' with", "in render"],
      ["render 'f' for a.b as", "where render expects a name"],
      ["render 'f', year: 1 | plus: 1", "has a filter, which render does not apply"],
      ["render 'f',", "behind the comma"],
      ["render 'f', year: ‘x’", "a left single quotation mark"],
      ["include 'f'", "write {% render 'f' %}, which inserts a snippet"],
    ]
    for (const [tag, words] of refused) assert.include(checked(`{% ${tag} %}`, { f: "{{ year }}" })[0], words, tag)
  })

  it("warns of arguments that a snippet needs, also in a branch, and of arguments that it does not use", () => {
    const texts = { f: "{{ year }} {{ legal.name | default: 'x' }}" }
    assert.deepStrictEqual(checked("{% if vip %}{% render 'f', yaer: 1 %}{% endif %}", texts), [
      '1:23 the snippet "f" needs "year": write {% render \'f\', year: year %}',
      '1:23 the snippet "f" does not use "yaer": correct the name, or delete the argument',
    ])
    assert.deepStrictEqual(checked("{% render 'f', year: y, legal: company %}", texts), [])
  })
})

describe("the graph of snippets", () => {
  const texts = mapOf({ a: "{% render 'b' %}", b: '{%- render "c", x: 1 -%}', c: "c", d: "{% render 'c' %}" })

  it("finds what a text renders, what that renders, and through which snippets one is rendered", () => {
    assert.deepStrictEqual(renderedIds(["surrender 'x", "{% render 'a' %}{% render 'a' %}", "{% render\n'b' %}"]), [
      "a",
      "b",
    ])
    assert.deepStrictEqual([...reachedFrom(texts, ["a", "gone"]).keys()].sort(), ["a", "b", "c"])
    assert.deepStrictEqual([...usersOf(texts, "c")].sort(), ["a", "b", "c", "d"])
  })

  it("has the snippets of all locales in a template file", () => {
    const times = { created_at: "", updated_at: "" }
    const all = [...texts].map(([id, source]) => ({ id, name: id, ...source, ...times }))
    const variants = [{ vars: { v: "x" }, locales: { de: { v: "{% render 'b' %}" } } }]
    assert.deepStrictEqual(snippetsForFile(all, [{ variants }] as never).map(({ id }) => id), ["b", "c"])
  })

  it("refuses cycles, and more than five snippets inside each other", () => {
    const chain = (length: number) =>
      mapOf(Object.fromEntries(
        Array.from({ length }, (_, at) => [`s${at}`, at + 1 < length ? `{% render 's${at + 1}' %}` : "x"]),
      ))
    assert.strictEqual(nestingFault(texts, "a"), undefined)
    assert.strictEqual(nestingFault(chain(5), "s4"), undefined)
    assert.include(nestingFault(chain(6), "s5"), 'is nested too deeply: "s0" renders "s1"')
    const cycle = mapOf({ a: "{% render 'b' %}", b: "{% render 'a' %}" })
    assert.strictEqual(
      nestingFault(cycle, "a"),
      'renders itself: "a" renders "b" renders "a". Remove one of these tags',
    )
  })

  it("needs no time that grows with the number of paths", () => {
    const wide = mapOf(Object.fromEntries(
      Array.from({ length: 200 }, (_, at) => {
        const level = Math.floor(at / 40)
        const next = Array.from({ length: 40 }, (_, other) => `{% render 's${(level + 1) * 40 + other}' %}`)
        return [`s${at}`, level < 4 ? next.join("") : "x"]
      }),
    ))
    assert.strictEqual(nestingFault(wide, "s0"), undefined)
  })
})
