import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { filters } from "../../src/rendering/Filters.ts"
import { tagNames } from "../../src/rendering/Grammar.ts"
import { parseVars } from "../../src/rendering/Renderer.ts"
import { savingFaults } from "../../src/rendering/SavingFaults.ts"
import { forms } from "../../src/rendering/StrictTags.ts"
import { textOf } from "./variants.ts"

/** The place and message of the fault of a source, or undefined. */
const faultOf = (source: string): string | undefined => {
  const [fault] = savingFaults({ v: source }, {})
  return fault && `${fault.line}:${fault.column} ${fault.message}`
}

/** A source, the column of its fault, and a part of the message. */
type Refusal = readonly [source: string, column: number, words: string]

const refuses = (refusals: ReadonlyArray<Refusal>) => {
  for (const [source, column, words] of refusals) {
    const fault = faultOf(source) ?? "accepted"
    assert.include(fault, words, source)
    assert.strictEqual(fault.split(" ")[0], `1:${column}`, source)
  }
}

const accepts = (sources: ReadonlyArray<string>) => {
  for (const source of sources) {
    assert.strictEqual(faultOf(source), undefined, source)
    assert.isTrue(Result.isSuccess(parseVars({ v: source }, {})), source)
  }
}

describe("signs that look like other signs", () => {
  it("are refused by name instead of quotation marks", () =>
    refuses([
      [
        "Hi {{ name | default: ‘there’ }}",
        23,
        "a left single quotation mark (U+2018), which is not a sign of Liquid: write '",
      ],
      [
        "Hi {{ name | default: “there” }}",
        23,
        'a left double quotation mark (U+201C), which is not a sign of Liquid: write "',
      ],
      ["Hi {{ name | default: „dort“ }}", 23, "a double low-9 quotation mark (U+201E)"],
      ["Hi {{ name | default: «là» }}", 23, "a left-pointing double angle quotation mark (U+00AB)"],
      ["Hi {{ name | default: `there` }}", 23, "a grave accent (U+0060)"],
      ["Hi {{ name | default: ′there′ }}", 23, "a prime (U+2032)"],
      ["Hi {{ name | default: ＂there＂ }}", 23, "a fullwidth quotation mark (U+FF02)"],
      ["Hi {{ name | default: 「様」 }}", 23, "a left corner bracket (U+300C)"],
      ['Hi {{ name | default: "there” }}', 29, "a right double quotation mark (U+201D)"],
      ['{% assign a = "b” %}', 17, "a right double quotation mark (U+201D)"],
      ["{% if tier == “gold” %}{% endif %}", 15, "a left double quotation mark (U+201C)"],
      ["{% if tier == 'gold’ %}{% endif %}", 20, "a right single quotation mark (U+2019)"],
      ["{{ user[“first name”] }}", 9, "a left double quotation mark (U+201C)"],
      ["{{ ʻname }}", 4, "a modifier letter turned comma (U+02BB)"],
      ["{{ [‘first name’] }}", 5, "a left single quotation mark (U+2018)"],
    ]))

  it("are refused by name if they cannot be seen", () =>
    refuses([
      ["Hi {{ \u200bname }}!", 7, "an invisible character, a zero width space (U+200B): delete it"],
      ["Hi {{ na\u00adme }}!", 9, "an invisible character, a soft hyphen (U+00AD)"],
      ["Hi {{ name\ufeff }}!", 11, "an invisible character, a byte order mark (U+FEFF)"],
      ["Hi {{ \u200ename }}!", 7, "an invisible character, a left-to-right mark (U+200E)"],
      ["Hi {{ name\u202c }}!", 11, "an invisible character, a pop directional formatting (U+202C)"],
      ["Hi {{ name\u2060 }}!", 11, "an invisible character, a word joiner (U+2060)"],
      ["Hi {{ name\ufe0f }}!", 11, "an invisible character, a variation selector-16 (U+FE0F)"],
      ["Hi {{ name\u{e0001} }}!", 11, "an invisible character, U+E0001"],
      ["{%\u200b if name %}{% endif %}", 3, "a zero width space"],
      ["{% if\u200b name %}{% endif %}", 6, "a zero width space"],
      ["{% for\u00ad i in x %}{% endfor %}", 7, "a soft hyphen"],
      ["{% if name %}{% endif\u200b %}", 22, "a zero width space"],
      ["{{ name | up\u200bcase }}", 13, "a zero width space"],
      ['{{ ["first\u200b name"] }}', 11, "a zero width space"],
      ["{\u200b{ name }}", 2, "a zero width space"],
      ["{% if tier == 'gold\u200b' %}{% endif %}", 20, "a zero width space"],
      ["{% case tier %}{% when '\u200egold' %}{% endcase %}", 25, "a left-to-right mark"],
    ]))

  it("are refused by name instead of operators, braces and separators", () =>
    refuses([
      ["{% if a ≤ 1 %}{% endif %}", 9, "less-than or equal to sign (U+2264), which is not a sign of Liquid: write <="],
      ["{% if a ≠ 1 %}{% endif %}", 9, "write !="],
      ["{{ a | plus: –5 }}", 14, "an en dash (U+2013), which is not a sign of Liquid: write -"],
      ["{{ a | plus: −5 }}", 14, "a minus sign (U+2212)"],
      ["{{ a ｜ upcase }}", 6, "a fullwidth vertical line (U+FF5C), which is not a sign of Liquid: write |"],
      ["{{ a | append： b }}", 14, "a fullwidth colon (U+FF1A)"],
      ["{{ a | replace: b，c }}", 18, "a fullwidth comma (U+FF0C)"],
      [
        "{% for i in (1…3) %}{% endfor %}",
        15,
        "a horizontal ellipsis (U+2026), which is not a sign of Liquid: write ..",
      ],
      ["｛｛ name ｝｝", 1, "a fullwidth left curly bracket (U+FF5B), which is not a sign of Liquid: write {"],
      ["{％ if a %}", 2, "a fullwidth percent sign (U+FF05)"],
      ["{ { name } }", 1, "write {{ name }}"],
      ["{ % if name %}", 1, "write {% if"],
      ["{{ ５ | plus: 1 }}", 4, "digits that are not 0 to 9"],
    ]))

  it("stay as they are in texts, literals, comments and raw text", () => {
    const source =
      "“Hi”\u200b {{ a | append: '’\u200d«' }}{% comment %}{{ ‘ }}{% endcomment %}{% raw %}{{ “ }}{% endraw %} – ≤"
    accepts([
      source,
      "{{\u00a0name\u3000}}",
      "{{ 'a\u200b' | append: '\u00ad' }}",
      "{% if a == '👩\u200d💻' %}{% endif %}",
      "{{ имя }}{{ 名前 }}{{ prénom }}{{ 🎁 }}",
      '{{ ["it’s"] }}{{ ["❤️"] }}',
    ])
    assert.strictEqual(textOf(source, { a: "b" }), "“Hi”\u200b b’\u200d«{{ “ }} – ≤")
  })
})

describe("whatever follows a complete value", () => {
  it("is refused in every tag and output", () =>
    refuses([
      ["{{ a, b }}", 5, "write one output for each value"],
      ["{{ a b }}", 6, '["first name"]'],
      ["{{ a ) }}", 6, 'does not understand ")"'],
      ["{{ a | }}", 7, "is incomplete behind |"],
      ["{{ a | upcase: }}", 15, "is incomplete among the arguments of upcase"],
      ["{{ a. }}", 6, "is incomplete behind a dot"],
      ["{{ a[b c] }}", 5, "put a name with spaces in quotes"],
      ["{{ [first name] }}", 4, 'put the name in quotes, as in ["first name"]'],
      ["{{ [name] }}", 4, "write name for the name"],
      ["{% for i in ['a'] %}{% endfor %}", 13, 'split: ","'],
      ["{% if tags contains ['vip'] %}{% endif %}", 21, "For a list, split a text"],
      ["{% for i in x limit: 'all' %}{% endfor %}", 22, "needs a whole number for limit"],
      ["{% for i in x limit: -1 %}{% endfor %}", 22, "needs a whole number for limit"],
      ["{% echo a, b %}", 10, "write one output"],
      ["{% assign a = 1, b = 2 %}", 16, "assign one name in a tag"],
      ["{% assign a = ['a', 'b'] %}", 15, 'split: ","'],
      ["{% assign a = b = c %}", 17, "only {% assign name = value %} assigns"],
      ["{% capture a b %}{% endcapture %}", 14, "a name has no spaces"],
      ["{% capture a.b %}{% endcapture %}", 12, "without dots"],
      ["{% increment a b %}", 16, "a name has no spaces"],
      ["{% decrement a.b %}", 14, "without dots"],
      ["{% if a, b %}{% endif %}", 8, 'does not understand ", b"'],
      ["{% if a %}{% elsif b c %}{% endif %}", 22, 'does not understand "c"'],
      ["{% unless a, b %}{% endunless %}", 12, 'does not understand ", b"'],
      ["{% case a, b %}{% endcase %}", 10, 'does not understand ", b"'],
      ["{% case a %}{% when 1 2 %}{% endcase %}", 23, "write a comma or the word or"],
      ["{% case a %}{% when 1 | plus: 1 %}{% endcase %}", 23, "has a filter"],
      ["{% case a %}{% when %}{% endcase %}", 20, "is incomplete in when"],
      ["{% for i in x | slice: 0, 3 %}{% endfor %}", 15, "has a filter"],
      ["{% for i in x limit=3 %}{% endfor %}", 15, "write limit: 3"],
      ["{% for i in x cols: 3 %}{% endfor %}", 15, "only the parameters limit, offset, reversed"],
      ["{% for i in x reversed: false %}{% endfor %}", 15, "reversed"],
      ["{% for i in x limit: 2 limit: 3 %}{% endfor %}", 24, "twice"],
      ["{% for i in [1, 2] %}{% endfor %}", 13, "no lists in Liquid"],
      ["{% for i in 1..3 %}{% endfor %}", 14, "(1..5)"],
      ["{% tablerow i in x | reverse %}{% endtablerow %}", 20, "has a filter"],
      ["{% tablerow i in x columns: 3 %}{% endtablerow %}", 20, "only the parameters cols, limit, offset"],
      ["{% cycle 'a', 'b' 'c' %}", 19, "write a comma"],
      ["{% cycle 'a', 'b', %}", 19, "is incomplete in cycle"],
      ["{% if a %}{% else b %}{% endif %}", 19, "delete it"],
      ["{% if a %}{% else if b %}{% endif %}", 19, "elsif"],
      ["{% assign a = 'b %}", 15, "quotation mark without its partner"],
      ["{% liquid assign a = b, c %}", 23, "has a comma"],
    ]))

  it("is refused behind every tag that takes nothing", () => {
    for (
      const source of [
        "{% if a %}{% endif x %}",
        "{% unless a %}{% else x %}{% endunless %}",
        "{% unless a %}{% endunless x %}",
        "{% case a %}{% when 1 %}{% endcase x %}",
        "{% for i in a %}{% break x %}{% endfor %}",
        "{% for i in a %}{% continue x %}{% endfor %}",
        "{% for i in a %}{% endfor x %}",
        "{% tablerow i in a %}{% endtablerow x %}",
        "{% capture a %}{% endcapture x %}",
        "{% comment %}{% endcomment x %}",
        "{% raw x %}{% endraw %}",
        "{% raw %}{% endraw x %}",
      ]
    ) assert.include(faultOf(source), "the tag has no values", source)
  })

  it("is refused where the parser skips it because of its place", () =>
    refuses([
      ["{% case a %}text{% when 1 %}{% endcase %}", 13, "never shown"],
      ["{% case a %}{{ b }}{% when 1 %}{% endcase %}", 13, "never shown"],
      ["{% case a %}{% else %}{% when 1 %}{% endcase %}", 23, "never reached"],
      ["{% unless a %}{% else %}{% elsif b %}{% endunless %}", 25, "never reached"],
      ["{% unless a %}{% else %}{% else %}{% endunless %}", 25, "second else"],
      ["{% for i in a %}{% else %}{% else %}{% endfor %}", 27, "second else"],
    ]))

  it("has a form for every tag of the parser", () => {
    assert.deepStrictEqual([...forms.keys(), "liquid"].sort(), [...tagNames])
  })

  it("is refused as an argument of every filter beyond the arguments that the filter uses", () => {
    for (const [name, { named = [], needs, requires = [], takes = needs }] of filters) {
      const written = (args: ReadonlyArray<string>) =>
        `{{ a | ${name}${args.length === 0 ? "" : `: ${args.join(", ")}`} }}`
      const required = requires.map((key) => `${key}: c`)
      const use = (count: number) => written([...Array(count).fill("b"), ...required])
      for (const key of requires) assert.include(faultOf(written([])), `the filter ${name} needs the argument ${key}`)
      for (let count = needs; count <= takes; count++) accepts([use(count)])
      assert.include(faultOf(use(takes + 1)), `the filter ${name} takes`, name)
      const args = ["b: c", ...Array(needs).fill("b")].join(", ")
      assert.include(faultOf(`{{ a | ${name}: ${args} }}`), `the filter ${name} has no argument named b`, name)
      for (const key of named) accepts([written([...Array(needs).fill("b"), ...required, `${key}: c`])])
    }
  })
})

describe("operators of other languages", () => {
  it("are refused with the operator of Liquid", () =>
    refuses([
      ["{{ name or 'there' }}", 9, "write name | default: 'there'"],
      ["{{ user.name or first }}", 14, "write user.name | default: first"],
      ["{{ name || 'there' }}", 9, 'write name | default: "there"'],
      ["{% assign a = b or 'c' %}", 17, "write b | default: 'c'"],
      ["{% assign a = b and c %}", 17, "{% if b and … %}"],
      ["{% echo a or 'b' %}", 11, "default"],
      ["{% cycle a or 'b', 'c' %}", 12, "default"],
      ["{% if a && b %}{% endif %}", 9, "write and"],
      ["{% if a || b %}{% endif %}", 9, "write or"],
      ["{% if !a %}{% endif %}", 7, "write not"],
      ["{% if a = 1 %}{% endif %}", 9, "write =="],
      ["{% if a === 1 %}{% endif %}", 9, "write =="],
      ["{% if a => 1 %}{% endif %}", 9, "write >="],
      ["{% if a is 1 %}{% endif %}", 9, "write =="],
      ["{% if a AND b %}{% endif %}", 9, "write and"],
      ["{% if a &gt; 1 %}{% endif %}", 9, "&gt; is a sign of HTML: write >"],
      ["{% if a == True %}{% endif %}", 12, "write true"],
      ["{% if (a or b) and c %}{% endif %}", 7, "parentheses"],
      ["{% if a == 'x' or 'y' %}{% endif %}", 19, "repeat the comparison"],
      ["{% if 1 < a < 5 %}{% endif %}", 7, "join two comparisons with and"],
      ["{% if a == b | upcase %}{% endif %}", 14, "assign the filtered value first"],
      ["{{ a ? 'b' : 'c' }}", 6, "{% else %}"],
      ["{{ a + 1 }}", 6, "plus: 1"],
      ["{{ -a }}", 4, "minus: 1"],
      ["{{ a default: 'b' }}", 6, "write | before the filter default"],
      ["{{ a | default 'b' }}", 16, "write | default: with a colon"],
      ["{{ a | default('b') }}", 15, "write | default: and then the arguments"],
      ["{{ a | append: 'b' 'c' }}", 20, "write a comma"],
      ["{{ 1_000 | plus: 1 }}", 4, "not a number"],
      ["{% if tags contains 'a' and b contains %}{% endif %}", 39, "is incomplete behind contains"],
    ]))
})

describe("copy as people paste and write it", () => {
  it("is refused with the remedy for its mistake", () =>
    refuses([
      ["{% assign foo = “bar” %}", 17, "a left double quotation mark"],
      ["{% assign photo = https://shop.example/x.jpg %}", 24, "put a text, such as an address, in quotes"],
      ["{% assign foo = 1 + 2 %}", 19, "plus: 1"],
      ["{% assign foo = 'bar' offset:2 %}", 23, 'does not understand "offset:2"'],
      ["{% assign a := 1 %}", 13, "behind the name of assign"],
      ["{% assign a = {x: 1} %}", 15, "without further braces"],
      ['{% assign cf = tags | where: \\"name\\", \\"Market\\" %}', 30, "delete the backslash"],
      ["{% if foo %}{% else foo = 'blah' %}{% endif %}", 21, "the tag has no values"],
      ["{{ a | default: 'it's' }}", 21, 'in double quotes, as in "it\'s"'],
      ["{{ a | default: ''you'' }}", 19, "instead of two single ones"],
      ["{{ a | default: b or 'c' }}", 19, "name | default: nickname | default:"],
      ["{{ a, 'there' }}", 5, "write a | default: 'there'"],
      ["{{ | upcase }}", 4, "write a value before the filter"],
      ["{% if a | size > 2 %}{% endif %}", 16, "assign the filtered value first"],
      ["{% if a exists %}{% endif %}", 9, "a name alone holds"],
      ["{% name %}", 4, "to insert a value, write {{ name }}"],
      ["{% total = 5 %}", 4, "write {% assign total = … %}"],
      ["{% IF a %}{% ENDIF %}", 4, "write if, in lower case"],
      ["{% endif %}", 1, "closes no if: write {% if … %} before it"],
      ["{% else %}", 1, "has no open if before it"],
      ["{% unless a %}{% endif %}", 15, "close it first with {% endunless %}"],
      ["{% if count &gt; 1 %}s{% endif %}", 13, "&gt; is a sign of HTML: write >"],
      ["{% if x == &#x27;foo&#x27; %}{% endif %}", 12, "is a sign of HTML"],
      ["{{&nbsp;name }}", 3, "&nbsp; is a sign of HTML: write a space"],
      ["{{ first<b>_name</b> }}", 9, "move the tag of HTML out of the braces"],
      ["{{ <strong>name</strong> }}", 4, "move the tag of HTML out of the braces"],
      ['<img src="{{ url" alt="{{ text }}">', 17, "does not understand"],
      ['{{ name.first | default: "Friend}}', 26, "quotation mark without its partner"],
      ["{{ due | default:'Nov 30' date:'%b %d' }}", 27, "does not understand"],
      ["{{ 'It''s' }}", 8, "does not understand"],
      ['{{ "He said "hi"" }}', 14, "does not understand"],
      ["{{|test}}", 3, "does not understand"],
      ["{{ name|upcase| }}", 16, "is incomplete behind |"],
      ["{{ first_name | default: , 'there' }}", 26, "among the arguments of default"],
      ["{{ price | times: 1,19 }}", 21, "the filter times takes one argument, not 2"],
      ["{{ name | truncate(10) }}", 19, "without parentheses"],
      ["{{ name.upcase() }}", 15, "filters instead of calls"],
      ["{{ a[1:3] }}", 5, "does not understand [1:3]"],
      ["{{ user?.name }}", 8, "has ? before a member"],
      ["{{ a ?? 'b' }}", 6, "{% else %}"],
      ["{{ a if b else c }}", 6, "{% else %}"],
      ["{{ 'a' ~ b }}", 8, "append"],
      ["{{ a++ }}", 5, "plus"],
      ["{{ a == b or c }}", 11, "default"],
      ["{% for c in categories order:ascending %}{% endfor %}", 24, "only the parameters"],
      ["{% for item in items where item.x %}{% endfor %}", 22, "only the parameters"],
      ["{% for item in items as x %}{% endfor %}", 22, "only the parameters"],
      ["{% for item in event.Items|slice:':3' %}{% endfor %}", 27, "filter"],
      ["{% for key, value in map %}{% endfor %}", 8, "a loop has one"],
      ["{% tablerow i in (1..10) limit: foo=>bar %}{% endtablerow %}", 36, "does not understand"],
      ["{% if 1==1 and (5 > 1) %}{% endif %}", 16, "parentheses"],
      ["{% if a > 1 and < 5 %}{% endif %}", 17, "write a value also before this operator"],
      ["{% if a not contains b %}{% endif %}", 9, "write not before the first value"],
      ["{% if 'a' in tags %}{% endif %}", 11, "contains, with the list first"],
      ["{% if a then %}{% endif %}", 9, "delete it"],
      ["{% if day > 2026-01-01 %}{% endif %}", 13, "put a text in quotes"],
      ["{% if name } x {% endif %}", 12, "ends with %}"],
      ["{% unless a == 'b' || c %}{% endunless %}", 20, "write or"],
      ["{% case a %}{% when 'x' || 'y' %}{% endcase %}", 25, "a comma or the word or"],
      ["{% cycle 'a' | append: 'x', 'b' %}", 29, "the filter append takes one argument"],
    ]))
})

describe("complete tags and outputs", () => {
  it("are accepted in all their forms", () =>
    accepts([
      "{{ a }}{{- a.b[0].c['d e'][f.g] -}}{{ ['a b'].c }}{{ 'a' }}{{ -1.5 }}{{ true }}{{ (1..3) | join }}",
      "{{ a | default: 'b', allow_false: true | append: c.d | split: \",\" | first }}",
      "{{ a == 1 }}{{ not a }}{{ a.size }}{{ a.first_name? }}{{ items.0 }}{{ a-b }}{{ 2nd_name }}",
      "{% if a and b or not c %}{% elsif a.b contains 'c' %}{% else %}{% endif %}",
      "{% if a == empty or b != nil and c <> blank and d >= 1 and e<=2 and f>-1 %}{% endif %}",
      "{% unless a | size %}{% elsif b %}{% else %}{% endunless %}",
      "{% case a | upcase %} {% when 'A', b or 2 %}1{% when nil %}2{% else %}3{% endcase %}",
      "{% for i in (1..a.b) reversed limit: 2 offset: continue %}{% else %}{% endfor %}",
      "{% for i in a.b, limit: 2, offset: c.d %}{% break %}{% continue %}{% endfor %}",
      "{% tablerow i in a cols: 2 limit: 3 offset: 1 %}{% endtablerow %}",
      "{% cycle 'a', b | upcase, 3 %}{% cycle group: 'a', 'b' %}{% cycle 'g': 'a' %}",
      "{% assign a_b = c | split: ',' %}{% assign d=1 %}{% capture e %}{% endcapture %}{% capture 'f' %}{% endcapture %}",
      "{% increment a %}{% decrement a %}{% echo a | upcase %}{% echo %}{% # a, b or c %}",
      "{%- liquid\n  assign a = b | upcase\n  # a, b\n  if a == 'c'\n    echo a\n  endif\n-%}",
      "{% comment a, b %}{{ a or b }}{% if %}{% endcomment %}{% raw %}{{ a or b }}{% if %}{% endraw %}",
      "<style>@media print { .a { color: red } }</style><script>if (a) { { b() } }</script>",
    ]))

  it("leaves unknown tags, unknown filters and unclosed blocks to the parser", () => {
    for (
      const source of [
        "{% nope a, b %}",
        "{{ a | nope: 1, 2 }}",
        "{% if a %}",
        "{{ a",
        "{% ifs a %}{% endif %}",
        "{% liquid - %}",
      ]
    ) {
      assert.isUndefined(faultOf(source), source)
      assert.isTrue(Result.isFailure(parseVars({ v: source }, {})), source)
    }
  })
})
