import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Limits from "../../src/rendering/Limits.ts"
import { parse, parseVars, render } from "../../src/rendering/Renderer.ts"
import { faultOf, now, renderVars, sourceFaultOf, textOf } from "./variants.ts"

/** Source, fields and the rendered text. */
type Example = readonly [source: string, fields: Readonly<Record<string, unknown>>, expected: string]

const holds = (examples: ReadonlyArray<Example>) => {
  for (const [source, fields, expected] of examples) assert.strictEqual(textOf(source, fields), expected, source)
}

describe("rendering", () => {
  it("substitutes fields, nested members and elements", () =>
    holds([
      ["Hello {{ name }}!", { name: "Ada" }, "Hello Ada!"],
      ["{{user.address.city}}", { user: { address: { city: "Graz" } } }, "Graz"],
      ['{{ user["first name"] }} {{ ["odd key"] }}', { user: { "first name": "Ada" }, "odd key": "!" }, "Ada !"],
      ["{{ l[0] }}{{ l[-1] }}{{ l.first }}{{ l.last }}{{ l.size }}", { l: ["a", "b", "c"] }, "acac3"],
      ["{{ o[k].n }}", { o: { x: { n: 1 } }, k: "x" }, "1"],
      ["{{ a.b.c }}{{ a[1] }}|", { a: null }, "|"],
      ["{{ true }}{{ 1.50 }}{{ -3 }}{{ 'q' }}{{ nil }}", {}, "true1.5-3q"],
    ]))

  it("renders a list as its joined elements, and an object as JSON", () =>
    holds([
      ["{{ l }}", { l: [1, "a", [true, null, [2]]] }, "1atrue2"],
      ["{{ o }}", { o: { a: 1, b: ["x"] } }, '{"a":1,"b":["x"]}'],
      ["{{ l }}", { l: [{ a: 1 }, { b: 2 }] }, '{"a":1}{"b":2}'],
      ["{{ o | append: '!' }}", { o: {} }, "{}!"],
      ["{{ x }}", { x: null }, ""],
      ["{{ n }} {{ m }}", { n: 1e21, m: 1.5e-7 }, "1000000000000000000000 0.00000015"],
    ]))

  it("compares texts as numbers if they are compared with a number, or if both are numbers", () => {
    const compared = (operator: string) => `{% if a ${operator} b %}y{% else %}n{% endif %}`
    holds([
      [compared(">"), { a: "1,234.50", b: 100 }, "y"],
      [compared(">"), { a: "10.00", b: "9.00" }, "y"],
      [compared("<="), { a: "1.10", b: "1.1" }, "y"],
      [compared(">"), { a: "12345678901234567891", b: "12345678901234567890" }, "y"],
      [compared(">"), { a: "10a", b: "9" }, "n"],
      [compared(">"), { a: "gold", b: 1 }, "n"],
      [compared("<"), { a: "", b: 1 }, "n"],
      [compared("=="), { a: "5", b: 5 }, "n"],
    ])
  })

  it("reports a word that is compared with a number in strict mode, and no blank text", () => {
    const source = "{% if a > 3 %}y{% else %}n{% endif %}"
    assert.strictEqual(
      faultOf(source, { a: "gold" }, { strict: true }).faults[0]!.message,
      'comparison: "gold" is not a number: use a number, or a text such as 1234.50',
    )
    assert.strictEqual(textOf(source, { a: " " }, { strict: true }), "n")
  })

  it("branches with if, elsif, else, unless and case", () => {
    const tier = "{% if t == 'gold' %}G{% elsif t == 'silver' or t == 'grey' %}S{% else %}-{% endif %}"
    holds([
      [tier, { t: "gold" }, "G"],
      [tier, { t: "grey" }, "S"],
      [tier, {}, "-"],
      ["{% unless a %}no{% else %}yes{% endunless %}", { a: false }, "no"],
      ["{% case n %}{% when 1, 2 %}low{% when 3 or 4 %}mid{% else %}high{% endcase %}", { n: 4 }, "mid"],
      ["{% case n %}{% when 1 %}low{% else %}high{% endcase %}", { n: "1" }, "high"],
      ["{% if a and b or c %}y{% else %}n{% endif %}", { a: false, b: true, c: true }, "n"],
      ["{% if not a %}y{% endif %}", {}, "y"],
    ])
  })

  it("compares as Liquid does: only false and nothing are false, and numeric texts compare as numbers", () =>
    holds([
      ["{% if e %}1{% endif %}{% if z %}2{% endif %}{% if l %}3{% endif %}", { e: "", z: 0, l: [] }, "123"],
      ["{% if n >= 18 %}y{% endif %}{% if t >= 18 %}y{% endif %}", { n: 18, t: "18" }, "yy"],
      ["{% if x > 1 or x < 1 or x >= 0 %}y{% else %}n{% endif %}", { x: null }, "n"],
      ["{% if e == empty %}1{% endif %}{% if b == blank %}2{% endif %}{% if o == empty %}3{% endif %}", {
        e: [],
        b: " \n",
        o: {},
      }, "123"],
      ["{% if x == nil %}1{% endif %}{% if x == y %}2{% endif %}{% if x != 0 %}3{% endif %}", {}, "123"],
      ["{% if x <> 0 %}1{% endif %}{% if x <> y %}2{% endif %}", {}, "1"],
      ["{% if l contains 2 %}1{% endif %}{% if s contains 'da' %}2{% endif %}{% if n contains 1 %}3{% endif %}", {
        l: [1, 2],
        s: "Ada",
        n: 1,
      }, "12"],
      ["{% if a == b %}y{% endif %}", { a: [1, ["x"]], b: [1, ["x"]] }, "y"],
      ["{% if a == b %}y{% else %}n{% endif %}", { a: 1, b: "1" }, "n"],
    ]))

  it("loops over lists, ranges, objects and texts", () =>
    holds([
      ["{% for i in (1..4) %}{{ i }}{% endfor %}", {}, "1234"],
      ["{% for i in (a..b) %}{{ i }}{% endfor %}", { a: "2", b: 3.9 }, "23"],
      ["{% for i in l %}{{ i }},{% else %}none{% endfor %}", { l: [] }, "none"],
      ["{% for p in o %}{{ p[0] }}={{ p[1] }};{% endfor %}", { o: { a: 1, b: 2 } }, "a=1;b=2;"],
      ["{% for c in s %}[{{ c }}]{% endfor %}", { s: "abc" }, "[abc]"],
      ["{% for i in l limit: 2 offset: 1 %}{{ i }}{% endfor %}", { l: [1, 2, 3, 4] }, "23"],
      ["{% for i in l reversed %}{{ i }}{% endfor %}", { l: [1, 2, 3] }, "321"],
      [
        "{% for i in l limit: 2 %}{{ i }}{% endfor %}-{% for i in l offset: continue %}{{ i }}{% endfor %}",
        { l: [1, 2, 3, 4] },
        "12-34",
      ],
      [
        "{% for i in (1..9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}.",
        {},
        "13.",
      ],
      [
        "{% for i in l %}{{ forloop.index }}/{{ forloop.length }}{% unless forloop.last %}, {% endunless %}{% endfor %}",
        { l: ["a", "b"] },
        "1/2, 2/2",
      ],
      [
        "{% for a in (1..2) %}{% for b in (1..2) %}{{ a }}{{ b }}{{ forloop.rindex0 }} {% endfor %}{% endfor %}{{ a }}",
        {},
        "111 120 211 220 ",
      ],
      [
        "{% tablerow i in (1..3) cols: 2 %}{{ i }}{% endtablerow %}",
        {},
        '<tr class="row1"><td class="col1">1</td><td class="col2">2</td></tr><tr class="row2"><td class="col1">3</td></tr>',
      ],
    ]))

  it("assigns, captures, counts and cycles within one variable", () =>
    holds([
      ["{% assign a = n | plus: 1 %}{{ a }}", { n: 1 }, "2"],
      ["{% capture c %}<{{ n }}>{% endcapture %}{{ c }}{{ c }}", { n: 1 }, "<1><1>"],
      ["{% assign n = 2 %}{{ n }}", { n: 1 }, "2"],
      ["{% increment c %}{% increment c %}{{ c }}{% decrement d %}{% decrement d %}", {}, "012-1-2"],
      ["{% for i in (1..4) %}{% cycle 'a', 'b', 'c' %}{% endfor %}", {}, "abca"],
      ["{% cycle 'x': 1, 2 %}{% cycle 'y': 1, 2 %}{% cycle 'x': 1, 2 %}", {}, "112"],
      ["{% liquid\nassign a = 3\necho a | times: 2\nif a\n  echo '!'\nendif %}", {}, "6!"],
    ]))

  it("isolates variables from each other and from the fields", () => {
    const fields = { n: 5 }
    const source = "{% increment n %}{% increment k %}{{ a }}{% assign a = 1 %}{% cycle 'x', 'y' %}"
    const vars = { one: source, two: source }
    assert.deepStrictEqual(renderVars(vars, fields), Result.succeed({ one: "50x", two: "50x" }))
    assert.deepStrictEqual(fields, { n: 5 })
  })

  it("keeps raw blocks and omits comments", () =>
    holds([
      ["{% raw %}{{ a }} {% if %}{% endraw %}", { a: 1 }, "{{ a }} {% if %}"],
      ["a{% comment %}{{ x }} {% if a %}{% endif %}{% endcomment %}b{% # note %}c", {}, "abc"],
      ["a{% # one\n # two\n\n # three %}b", {}, "ab"],
    ]))

  it("trims blanks at tags with a hyphen", () =>
    holds([
      ["a  {{- x -}}  b", { x: 1 }, "a1b"],
      ["a\n{%- if true -%}\n b \n{%- endif -%}\nc", {}, "abc"],
      ["a {{ x -}} \n b", { x: 1 }, "a 1b"],
    ]))

  it("preserves every script", () =>
    holds([
      ["{{ a }} – {{ b }}", { a: "Zoë Ünïcode", b: "שלום עולם" }, "Zoë Ünïcode – שלום עולם"],
      ["مرحبا {{ name | upcase }}", { name: "عمر" }, "مرحبا عمر"],
      ["{{ e }}{{ e | size }}{{ e | slice: 1 }}{{ e | first }}{{ e | truncate: 4 }}", { e: "👩‍👩‍👧😀" }, "👩‍👩‍👧😀10‍👩👩..."],
      ["{{ '日本' | append: x | split: '' | join: '-' }}", { x: "😀" }, "日-本-😀"],
      ["{{ naïve }}{{ 名前 }}", { naïve: 1, 名前: 2 }, "12"],
    ]))

  it("returns a text without Liquid unchanged in both formats", () => {
    const source = "5 < 6 & {a} } }} %} it's \u0000"
    assert.strictEqual(textOf(source), source)
    assert.strictEqual(textOf(source, {}, { format: "html" }), source)
  })

  it("renders an unknown variable as nothing", () =>
    holds([
      ["[{{ a }}{{ a.b.c }}{{ a[b] }}{{ a | upcase }}{{ a.size }}]", {}, "[]"],
      ["{% for x in a %}x{% endfor %}{% if a > 1 %}y{% endif %}{{ (1..a) | join }}", {}, ""],
      ["{{ a | default: 'friend' }}{{ b | default: 'x' }}{{ c | default: 'y', allow_false: true }}", {
        b: "",
        c: false,
      }, "friendxfalse"],
    ]))
})

describe("escaping", () => {
  const nasty = `<b a="1" c='2'>&</b>`
  const safe = "&lt;b a=&#34;1&#34; c=&#39;2&#39;&gt;&amp;&lt;/b&gt;"
  const html = (source: string, fields = {}) => textOf(source, { n: nasty, ...fields }, { format: "html" })

  it("applies to substituted values in html only", () => {
    assert.strictEqual(html("<p>{{ n }}</p> & co"), `<p>${safe}</p> & co`)
    assert.strictEqual(html("{% echo n %}"), safe)
    assert.strictEqual(html("{% cycle n, 'x' %}"), safe)
    assert.strictEqual(html("{{ n | upcase | downcase }}"), safe)
    assert.strictEqual(html("{{ l }}", { l: ["<", { a: "<" }] }), "&lt;{&#34;a&#34;:&#34;&lt;&#34;}")
    assert.strictEqual(html("{% for x in l %}<i>{{ x }}</i>{% endfor %}", { l: ["<"] }), "<i>&lt;</i>")
  })

  it("is skipped for a value whose last filter is raw", () => {
    assert.strictEqual(html("{{ n | raw }}"), nasty)
    assert.strictEqual(html("{% echo n | raw %}"), nasty)
    assert.strictEqual(html("{% cycle n | raw, 'x' %}"), nasty)
    assert.strictEqual(html("{{ n | raw | append: '' }}"), safe)
  })

  it("is not repeated after an escaping filter", () => {
    assert.strictEqual(html("{{ n | escape }}{{ n | xml_escape }}{{ n | escape_once }}"), safe.repeat(3))
    assert.strictEqual(html("{{ n | escape | append: n }}"), safe.replaceAll("&", "&amp;") + safe)
  })

  it("applies once to data in captured text, and not to the author's HTML", () => {
    const captured = "{% capture c %}<i>{{ n }}</i>\n{% endcapture %}"
    assert.strictEqual(html(`${captured}{{ c }}`), `<i>${safe}</i>\n`)
    assert.strictEqual(html(`${captured}{{ c | raw }}`), `<i>${safe}</i>\n`)
    assert.strictEqual(html(`${captured}{{ c | strip | append: "<br>" }}`), `<i>${safe}</i><br>`)
    assert.strictEqual(
      html(`${captured}{% assign d = c %}{% capture e %}{{ d }}!{% endcapture %}{{ e | strip }}`),
      `<i>${safe}</i>\n!`,
    )
    assert.strictEqual(html(`${captured}{% if c contains "<i>" %}yes{% endif %}{{ c.size }}`), `yes${safe.length + 8}`)
    assert.strictEqual(html(`${captured}{{ c | slice: 0, 3 }}`), "&lt;i&gt;")
    assert.strictEqual(textOf("{% capture c %}<i>{{ n }}</i>{% endcapture %}{{ c }}", { n: nasty }), `<i>${nasty}</i>`)
  })

  it("applies to data but not to literals joined with it", () => {
    assert.strictEqual(html("{{ '<br>' }}{% assign x = '<hr>' %}{{ x }}{% cycle '<b>' %}"), "<br><hr><b>")
    assert.strictEqual(html("{{ n | append: '<br>' }}"), `${safe}<br>`)
    assert.strictEqual(html("{{ n | prepend: '<br>' | append: n }}"), `<br>${safe}${safe}`)
    assert.strictEqual(html("{{ none | default: '<i>friend</i>' }}"), "<i>friend</i>")
    assert.strictEqual(html("{{ n | default: '<i>friend</i>' }}"), safe)
    assert.strictEqual(html("{{ l | join: '<br>' }}", { l: ["<", "b", ["<"]] }), "&lt;<br>b<br>&lt;")
    assert.strictEqual(html("{{ t | newline_to_br }}", { t: "<a>\nb" }), "&lt;a&gt;<br />\nb")
    assert.strictEqual(
      html("{{ n | append: '<br>' | upcase }}"),
      `${safe}&lt;br&gt;`.toUpperCase().replace(/&LT;|&GT;|&AMP;/g, (entity) => entity.toLowerCase()),
    )
    assert.strictEqual(html("{{ '<b>' | append: n | raw }}"), `<b>${nasty}`)
  })

  it("makes values of a script safe between the quotes of JSON and JavaScript", () => {
    const value = `Tom & "O'Neil" </script><!-- \u2028`
    const data = { v: value, l: [value, { a: 1 }] }
    const inScript = (body: string) =>
      html(`<p>{{ v }}</p><script type="application/ld+json">${body}</script>`, data).split('json">')[1]!
        .slice(0, -"</script>".length)
    for (
      const source of [
        `{"a":"{{ v }}","b":{{ l | json }}}`,
        `{% if v %}{"a":{{ v | json }},"b":{{ l | json }}}{% endif %}`,
      ]
    ) {
      const text = inScript(source)
      assert.notMatch(text, /<|\u2028/, source)
      assert.deepStrictEqual(JSON.parse(text), { a: value, b: data.l })
    }
    assert.deepStrictEqual(JSON.parse(`"${inScript("{{ v | json_escape }}")}"`), value)
    assert.notInclude(inScript("'{{ v }}'").slice(1, -1), "'")
    assert.strictEqual(inScript("{{ v | raw }}"), value)
    assert.strictEqual(html("<!-- <script> -->{{ n }}"), `<!-- <script> -->${safe}`)
    assert.strictEqual(html("<script>{{ 1 }}</script>{{ n }}"), `<script>1</script>${safe}`)
  })

  it.each([
    ["mailto:a@b.example?subject={{ v }}", "mailto:a@b.example?subject=Ann%20%26%20Co"],
    [
      "mailto:a@b.example?subject=Hi {{ v }}, yes&amp;body={{ v }}",
      "mailto:a@b.example?subject=Hi Ann%20%26%20Co, yes&amp;body=Ann%20%26%20Co",
    ],
    ["MAILTO:{{ to }}?cc={{ to }}", "MAILTO:a+b@c.example?cc=a%2Bb%40c.example"],
    ["sms:+1555&body={{ v }}", "sms:+1555&body=Ann%20%26%20Co"],
    ["tel:+49 30;ext={{ v }}", "tel:+49 30;ext=Ann%20%26%20Co"],
    ["mailto:a@b.example?subject={{ v | url_param_escape }}", "mailto:a@b.example?subject=Ann%20%26%20Co"],
    ["mailto:a@b.example?subject={{ v | url_encode }}", "mailto:a@b.example?subject=Ann+%26+Co"],
    [
      "mailto:a@b.example?subject={% assign w = v | url_param_escape %}{{ w }}",
      "mailto:a@b.example?subject=Ann%20%26%20Co",
    ],
    ["mailto:a@b.example?{{ q }}", "mailto:a@b.example?subject=x&amp;body=y"],
    ["mailto:a@b.example?subject={{ none | default: 'Hi%20you' }}", "mailto:a@b.example?subject=Hi%20you"],
    ["https://shop.example/?q={{ v }}", "https://shop.example/?q=Ann &amp; Co"],
    ["https://shop.example/?{{ q }}", "https://shop.example/?subject=x&amp;body=y"],
  ])("encodes values of parameters of mail and phone links: %s", (href, expected) => {
    const data = { v: "Ann & Co", to: "a+b@c.example", q: "subject=x&body=y" }
    assert.strictEqual(html(`<a href="${href}">{{ v }}</a>`, data), `<a href="${expected}">Ann &amp; Co</a>`)
    assert.strictEqual(
      html(`<a title="{{ v | append: '>' }}" href='${href}'>`, data).split("href=")[1],
      `'${expected}'>`,
    )
    const left = '<a clicktracking=off href="'
    assert.strictEqual(html(`${left}${href}">`, data), `${left}${expected}">`)
  })

  it("never applies to text", () => {
    assert.strictEqual(textOf("{{ n }}{{ n | raw }}", { n: nasty }), nasty + nasty)
    assert.strictEqual(textOf("{{ n | escape }}", { n: nasty }), safe)
  })

  it("follows the format of each variable, which is text by default", () => {
    const rendered = renderVars({ a: "{{ n }}", b: "{{ n }}", c: "{{ n }}" }, { n: "<" }, { b: "html", c: "text" })
    assert.deepStrictEqual(rendered, Result.succeed({ a: "<", b: "&lt;", c: "<" }))
  })
})

describe("data", () => {
  it("is never parsed as Liquid", () => {
    const fields = { a: "{{ 7 | times: 7 }}", b: "{% assign x = 1 %}{{ x }}", c: "{%- raw -%}" }
    const source = "{{ a }} {{ b }} {% assign d = a | append: b %}{{ d }} {% capture e %}{{ c }}{% endcapture %}{{ e }}"
    assert.strictEqual(textOf(source, fields), `${fields.a} ${fields.b} ${fields.a}${fields.b} ${fields.c}`)
    assert.strictEqual(
      textOf("{{ a }}", { a: "{{ 7 | times: '7' }}" }, { format: "html" }),
      "{{ 7 | times: &#39;7&#39; }}",
    )
  })

  it("exposes its own properties of any name, and none of its prototypes", () => {
    const fields = JSON.parse(`{
      "__proto__": { "a": "own proto" }, "constructor": "own constructor", "toString": "own toString",
      "size": "own size", "o": { "__proto__": 1, "size": 2, "first": 3, "hasOwnProperty": 4 }, "p": {}, "l": []
    }`)
    holds([
      [
        "{{ __proto__.a }},{{ constructor }},{{ toString }},{{ size }}",
        fields,
        "own proto,own constructor,own toString,own size",
      ],
      ["{{ o.__proto__ }}{{ o.size }}{{ o.first }}{{ o.hasOwnProperty }}", fields, "1234"],
      ["{{ p.__proto__ }}{{ p.constructor }}{{ p.toString }}{{ p['hasOwnProperty'] }}{{ p.size }}", fields, "0"],
      ["{{ l.map }}{{ l.constructor }}{{ l.__proto__ }}{{ 'x'.constructor }}{{ 'x'.at }}{{ valueOf }}", fields, ""],
      ["{% for i in (1..1) %}{{ forloop.constructor }}{{ forloop.get }}{{ forloop.__proto__ }}{% endfor %}", {}, ""],
    ])
  })

  it("may use the names of object members for template variables", () => {
    const vars = JSON.parse('{ "__proto__": "a{{ x }}", "constructor": "b{{ x }}", "toString": "c" }')
    const rendered = Result.getOrThrow(renderVars(vars, { x: 1 }))
    assert.strictEqual(JSON.stringify(rendered), '{"__proto__":"a1","constructor":"b1","toString":"c"}')
    assert.strictEqual(Object.getPrototypeOf(rendered), Object.prototype)
  })
})

describe("strict rendering", () => {
  const strict = { strict: true } as const

  it("reports each unknown variable of every template variable once, at its first position", () => {
    const vars = {
      subject: "Hi {{ first }}\n  {{ user.name }} {{ first }}",
      body: "{{ known }}",
      footer: "{% for i in (1..3) %}{{ items[i].title }}{{ last }}{% endfor %}{{ k[missing] }}",
    }
    const result = renderVars(vars, { known: 1, user: {}, items: [], k: {} }, {}, strict)
    assert.deepStrictEqual(Result.getOrThrow(Result.flip(result)).faults, [
      {
        variable: "subject",
        kind: "undefined",
        message: "undefined variables: first, user.name",
        undefinedVariables: ["first", "user.name"],
        line: 1,
        column: 7,
      },
      {
        variable: "footer",
        kind: "undefined",
        message: "undefined variables: items.1, last, items.2, items.3, missing",
        undefinedVariables: ["items.1", "last", "items.2", "items.3", "missing"],
        line: 1,
        column: 25,
      },
    ])
  })

  it("renders normally if no variable is missing, and accepts null fields", () => {
    assert.strictEqual(textOf("{{ a }}{{ b.c }}{{ d }}", { a: 1, b: { c: "x" }, d: null }, strict), "1x")
  })

  it("allows a template to test whether a variable exists", () => {
    const source = "{{ a | default: 'x' }}{% if b %}{{ b }}{% endif %}{% unless c.d %}y{% endunless %}" +
      "{% case e %}{% when 1 %}{% else %}z{% endcase %}"
    assert.strictEqual(textOf(source, {}, strict), "xyz")
  })

  it("reports unknown variables in the argument of default and before other filters", () => {
    assert.deepStrictEqual(
      faultOf("{{ a | default: b }}{{ c | upcase | default: 'x' }}", {}, strict).faults[0]?.undefinedVariables,
      [
        "b",
        "c",
      ],
    )
  })

  it("rejects invalid input of a filter with its position", () => {
    const { faults } = faultOf(
      "{{ 1 | divided_by: n }}\n{{ 'a%' | url_decode }}{{ '?' | base64_decode }}",
      { n: 0 },
      strict,
    )
    assert.deepStrictEqual(
      faults.map(({ column, kind, line, message }) => [kind, line, column, message]),
      [
        ["invalid", 1, 1, "divided_by: the divisor is 0"],
        ["invalid", 2, 1, "url_decode: the text is not URL-encoded"],
        ["invalid", 2, 24, "base64_decode: the text is not Base64"],
      ],
    )
  })

  it("limits the number of reported unknown variables", () => {
    const source = "{% for i in (1..1000) %}{{ o[i] }}{% endfor %}"
    assert.strictEqual(faultOf(source, { o: {} }, strict).faults[0]?.undefinedVariables.length, Limits.complaints)
  })
})

describe("parsing", () => {
  const place = (source: string) => {
    const { column, line, message } = sourceFaultOf(source)
    return `${line}:${column} ${message}`
  }

  it("reports faults with their positions", () => {
    assert.strictEqual(place("a\nb {{ x"), '2:3 output "{{ x" not closed')
    assert.strictEqual(place("{% if a %}x"), "1:1 tag {% if a %} not closed")
    assert.strictEqual(place("x\n {% nope %}"), '2:5 there is no tag "nope"')
    assert.strictEqual(place("ab {{ x | nope }}"), '1:11 there is no filter "nope"')
    assert.strictEqual(place("{{ x | UpCase }}"), '1:8 there is no filter "UpCase": write upcase')
    assert.strictEqual(place("{{ x | capitalise }}"), '1:8 there is no filter "capitalise": write capitalize')
    assert.strictEqual(place(`{{ x | append: "| nope" | nope }}`), '1:27 there is no filter "nope"')
    assert.strictEqual(place("{% assign a = b | nope %}"), '1:19 there is no filter "nope"')
    assert.strictEqual(place("{{ x | append }}"), '1:8 the filter "append" needs an argument')
    assert.strictEqual(place("{{ first name }}"), '1:1 cannot be read as a value: "{{ first name }}"')
    assert.strictEqual(place("{% if a == %}{% endif %}"), '1:1 cannot be read as a value: "{% if a == %}"')
    assert.strictEqual(place("{% for x of y %}{% endfor %}"), "1:1 illegal tag: {% for x of y %}")
    assert.strictEqual(place("{% # a\n b %}"), "1:1 every line of an inline comment must start with #")
  })

  it("rejects tags that read other templates", () => {
    for (const source of ['{% include "a" %}', '{% layout "a" %}', "{% block a %}{% endblock %}"]) {
      assert.match(sourceFaultOf(source).message, /^the tag "\w+" is not available/)
    }
  })

  it("rejects filters that evaluate expressions or select at random", () => {
    for (const name of ["where_exp", "reject_exp", "group_by_exp", "has_exp", "find_exp", "find_index_exp", "sample"]) {
      assert.strictEqual(sourceFaultOf(`{{ a | ${name}: "x", "x" }}`).message, `there is no filter "${name}"`)
    }
  })

  it("accepts a source of 512 KiB and rejects a longer one", () => {
    assert.strictEqual(sourceFaultOf("a".repeat(524_289)).message, "is longer than 524288 characters")
    assert.strictEqual(textOf(`{{ x }}${"a".repeat(524_281)}`).length, 524_281)
  })

  it("reports the faults of all variables in their order", () => {
    const faults = Result.getOrThrow(Result.flip(parseVars({ a: "{{", b: "ok", c: "\n{% x %}" }, {}))).faults
    assert.deepStrictEqual(faults.map(({ line, variable }) => [variable, line]), [["a", 1], ["c", 2]])
  })

  it("returns the same parsed form for the same source and format", () => {
    const [first, again, html] = [parse("{{ same }}", "text"), parse("{{ same }}", "text"), parse("{{ same }}", "html")]
    assert.strictEqual(Result.getOrThrow(first), Result.getOrThrow(again))
    assert.notStrictEqual(Result.getOrThrow(first), Result.getOrThrow(html))
  })
})

describe("rendering at a given time", () => {
  it("uses the time and the zone of its options", () => {
    const parsed = Result.getOrThrow(parseVars({ v: '{{ "now" | date: "%F %R" }}' }, {}))
    const at = (timeZone?: string) =>
      Result.getOrThrow(render(parsed, {}, { strict: true, now, ...(timeZone === undefined ? {} : { timeZone }) }))["v"]
    assert.deepStrictEqual([at(), at("Asia/Tokyo")], ["2026-03-14 15:09", "2026-03-15 00:09"])
  })
})

describe("long integers", () => {
  const long = "12345678901234567890"

  it("keep their digits in the source and in data, and compare as numbers", () =>
    holds([
      [`{{ ${long} }}|{{ -${long} }}|{{ 9007199254740993 }}`, {}, `${long}|-${long}|9007199254740993`],
      [`{% if n == ${long} %}y{% endif %}`, { n: long }, "y"],
      [`{% if n == 12345678901234567891 %}y{% else %}n{% endif %}`, { n: long }, "n"],
      ["{% if n > 1000 %}y{% endif %}{% if 1000 < n %}y{% endif %}", { n: long }, "yy"],
      [`{% if 3 < ${long} %}y{% endif %}`, {}, "y"],
      [`{% case n %}{% when ${long} %}y{% endcase %}`, { n: long }, "y"],
      ["{{ n | number_with_delimiter }}", { n: long }, "12,345,678,901,234,567,890"],
      ["{{ n | minus: 12345678901234567000 | abs | at_most: 5000 }}", { n: long }, "890"],
      ["{{ n | json }} {{ o }}", { n: long, o: { n: long } }, `"${long}" {"n":"${long}"}`],
      ["{{ n | slice: -4, 4 }} {{ n | append: '!' }} {{ n | url_encode }}", { n: long }, `7890 ${long}! ${long}`],
      ["{{ n | default: 'none' }}", { n: long }, long],
    ]))
})
