import type { RenderedFormat } from "../../src/domain/Template.ts"

/** A template, or its data, that tries to take time or memory, or to reach hidden data. */
export interface Hostile {
  readonly name: string
  readonly source: string
  readonly format?: RenderedFormat
  readonly fields?: Readonly<Record<string, unknown>>
}

const block = (open: string, inner: string, close: string, times: number) =>
  open.repeat(times) + inner + close.repeat(times)
const chain = (start: string, filter: string, times: number) => `{{ ${start}${filter.repeat(times)} }}`
const lines = (line: string, times: number) => line.repeat(times)
const deepJson = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth))
const deepObject = (depth: number): unknown => JSON.parse('{"a":'.repeat(depth) + "1" + "}".repeat(depth))
const million = "a".repeat(1_000_000)
const loop = (count: number | string, body: string) => `{% for i in (1..${count}) %}${body}{% endfor %}`
const doubled = (rounds: number) =>
  `{% capture a %}0123456789{% endcapture %}${loop(rounds, "{% capture a %}{{ a }}{{ a }}{% endcapture %}")}`
/** Lists that hold the one before twice: 30 of them print as a thousand million elements. */
const folded = (name: string, rounds = 30) =>
  `{% assign ${name} = "x" | split: "," %}${
    loop(rounds, `{% assign pair = "" | split: "," | push: ${name} | push: ${name} %}{% assign ${name} = pair %}`)
  }`

/** Output that grows. */
const growth: ReadonlyArray<Hostile> = [
  { name: "capture that doubles itself", source: `${doubled(40)}{{ a }}` },
  { name: "capture that doubles itself and is not shown", source: doubled(60) },
  {
    name: "capture in a capture, doubled",
    source: `{% capture b %}${doubled(40)}{{ a }}{% endcapture %}{{ b | size }}`,
  },
  {
    name: "assign that appends itself",
    source: `{% assign a = "xx" %}${loop(60, "{% assign a = a | append: a %}")}{{ a }}`,
  },
  {
    name: "assign that prepends itself",
    source: `{% assign a = "xx" %}${loop(60, "{% assign a = a | prepend: a %}")}{{ a }}`,
  },
  { name: "replace of every character by a long text", source: `${doubled(15)}{{ a | replace: "0", a }}` },
  { name: "replace of nothing by a long text", source: `${doubled(15)}{{ a | replace: "", a }}` },
  { name: "replace chain", source: `{% assign a = "aaaaaaaa" %}${chain("a", ' | replace: "a", "aaaaaaaa"', 20)}` },
  {
    name: "newlines to breaks",
    source: "{{ a | newline_to_br | newline_to_br }}",
    fields: { a: "\n".repeat(500_000) },
  },
  { name: "URL encoding of itself", source: chain("a", " | url_encode", 200), fields: { a: "€".repeat(1000) } },
  { name: "Base64 of itself", source: chain("a", " | base64_encode", 300), fields: { a: "abc" } },
  { name: "escape of itself", source: chain("a", " | escape", 500), fields: { a: "&&&&" }, format: "html" },
  { name: "JSON of itself", source: chain("a", " | json", 60), fields: { a: '"' } },
  { name: "upper case that grows", source: chain("a", " | upcase", 10), fields: { a: "ŉ".repeat(400_000) } },
  { name: "a large field written a thousand times", source: loop(1000, "{{ a }}"), fields: { a: million } },
  { name: "join with a long separator", source: `{{ (1..1000) | join: a }}`, fields: { a: million } },
  {
    name: "sentence of long parts",
    source: "{{ list | array_to_sentence_string: a }}",
    fields: { a: million, list: [million, million, 1] },
  },
  { name: "truncate with a long end", source: "{{ a | truncate: 1, b }}", fields: { a: million, b: million } },
  {
    name: "JSON of large data with indentation",
    source: "{{ a | json: 1000000 }}",
    fields: { a: Array.from({ length: 50_000 }, () => ({ b: [1] })) },
  },
  { name: "nested JSON with indentation", source: "{{ a | json: 10 }}", fields: { a: deepJson(60) } },
  { name: "literal text around a loop", source: loop(100_000, "x".repeat(1000)) },
  { name: "tablerow of a long range", source: "{% tablerow i in (1..100000) cols: 1 %}{% endtablerow %}" },
  { name: "a hundred thousand cycles", source: loop(100_000, '{% cycle "a", "b" %}') },
  { name: "counting without end", source: loop("999999999", "{% increment a %}") },
  { name: "strftime width", source: '{{ "now" | date: "%99999999d" }}' },
  { name: "strftime width of nanoseconds", source: '{{ "now" | date: "%99999999N%88888888Y" }}' },
  { name: "strftime width beyond numbers", source: `{{ "now" | date: "%${"9".repeat(200)}d" }}` },
  { name: "strftime of many names", source: `{{ "now" | date: "${"%B%A%c".repeat(9000)}" }}` },
  { name: "strftime of many names from data", source: '{{ "now" | date: f }}', fields: { f: "%c".repeat(400_000) } },
]

/** Loops and work without output. */
const work: ReadonlyArray<Hostile> = [
  { name: "empty loop over a long range", source: loop("100000000", "") },
  { name: "empty tablerow over a long range", source: "{% tablerow i in (1..100000000) %}{% endtablerow %}" },
  { name: "range beyond exact integers", source: "{% for i in (9007199254740992..9007199254740994) %}x{% endfor %}" },
  {
    name: "range beyond exact integers from data",
    source: "{{ (low..high) | size }}",
    fields: { low: 1e300, high: 1e300 },
  },
  { name: "range from data", source: "{% for i in (1..n) %}{% endfor %}", fields: { n: 1e15 } },
  { name: "range to infinity", source: '{% assign n = "1e308" | times: 10 %}{% for i in (1..n) %}x{% endfor %}' },
  { name: "range from text", source: '{% for i in ("-1e12".."1e12") %}x{% endfor %}' },
  { name: "four nested loops", source: block("{% for i in (1..1000) %}", "", "{% endfor %}", 4) },
  { name: "ten nested loops", source: block("{% for i in (1..10) %}", "x", "{% endfor %}", 10) },
  {
    name: "loop over data in a loop over data",
    source: "{% for a in l %}{% for b in l %}{% if a == b %}{% endif %}{% endfor %}{% endfor %}",
    fields: { l: Array.from({ length: 5000 }, (_, i) => `item ${i}`) },
  },
  {
    name: "filters in a loop",
    source: loop(100_000, "{% assign b = a | upcase | downcase | strip %}"),
    fields: { a: "a".repeat(1000) },
  },
  {
    name: "sort in a loop",
    source: loop(10_000, "{% assign b = l | sort %}"),
    fields: { l: Array.from({ length: 1000 }, (_, i) => (i * 7919) % 1000) },
  },
  {
    name: "natural sort of long texts",
    source: "{{ l | sort_natural | size }}",
    fields: { l: Array.from({ length: 100 }, (_, i) => "a".repeat(9000) + i) },
  },
  {
    name: "comparison of long texts in a loop",
    source: loop(100_000, "{% if a == b %}{% endif %}"),
    fields: { a: million + "x", b: million + "y" },
  },
  {
    name: "order of long texts in a loop",
    source: loop(100_000, "{% if a < b %}{% endif %}"),
    fields: { a: million + "x", b: million + "y" },
  },
  {
    name: "blank test of a long text in a loop",
    source: loop(100_000, "{% if a == blank %}{% endif %}"),
    fields: { a: " ".repeat(1_000_000) },
  },
  {
    name: "contains with a needle that is slow to search",
    source: "{% if a contains b %}y{% endif %}",
    fields: { a: million, b: `${"a".repeat(150_000)}b${"a".repeat(150_000)}` },
  },
  {
    name: "replace with a needle that is slow to search",
    source: '{{ a | replace: b, "x" | size }}',
    fields: { a: million, b: `${"a".repeat(5000)}b${"a".repeat(5000)}` },
  },
  {
    name: "split by a needle that is slow to search",
    source: "{{ a | split: b | size }}",
    fields: { a: million, b: `${"a".repeat(5000)}b${"a".repeat(5000)}` },
  },
  {
    name: "last place of a needle that is slow to search",
    source: "{{ a | remove_last: b | size }}",
    fields: { a: million, b: `${"a".repeat(5000)}b${"a".repeat(5000)}` },
  },
  {
    name: "split into characters in a loop",
    source: loop(1000, '{% assign b = a | split: "" %}'),
    fields: { a: million },
  },
  { name: "strip_html of open brackets", source: "{{ a | strip_html | size }}", fields: { a: "<".repeat(350_000) } },
  {
    name: "strip_html of open comments and scripts",
    source: "{{ a | strip_html | size }}",
    fields: { a: "<script<style<!--".repeat(50_000) },
  },
  {
    name: "strip_html in a loop",
    source: loop(1000, "{% assign b = a | strip_html %}"),
    fields: { a: "<a>".repeat(300_000) },
  },
  {
    name: "slugify in a loop",
    source: loop(1000, "{% assign b = a | slugify %}"),
    fields: { a: "- ".repeat(400_000) },
  },
  {
    name: "squish of spaces in a loop",
    source: loop(1000, "{% assign b = a | squish %}"),
    fields: { a: " x".repeat(400_000) },
  },
  {
    name: "words of a long text in a loop",
    source: loop(1000, '{% assign b = a | truncatewords: 500000 | number_of_words: "cjk" %}'),
    fields: { a: "字 ".repeat(400_000) },
  },
  {
    name: "strip of a set of characters in a loop",
    source: loop(1000, '{% assign b = a | strip: "ab" %}'),
    fields: { a: million },
  },
  {
    name: "escape of special characters in a loop",
    source: loop(1000, "{% assign b = a | escape_once %}"),
    fields: { a: "<&>\"'".repeat(200_000) },
  },
  {
    name: "hash of a long text in a loop",
    source: loop(1000, "{% assign b = a | sha256 | hmac_sha256: a %}"),
    fields: { a: million },
  },
  {
    name: "pop and push in a loop",
    source: loop(100_000, "{% assign l = l | pop | push: i %}"),
    fields: { l: Array.from({ length: 10_000 }, (_, i) => i) },
  },
  {
    name: "group and map in a loop",
    source: loop(10_000, '{% assign g = l | group_by: "a.b" | map: "items" %}'),
    fields: { l: Array.from({ length: 1000 }, (_, i) => ({ a: { b: i } })) },
  },
  {
    name: "path of many parts",
    source: "{{ l | map: p | size }}",
    fields: { l: Array.from({ length: 1000 }, () => ({})), p: "a.".repeat(100_000) },
  },
  {
    name: "time zones that do not exist, in a loop",
    source: loop(100_000, '{% assign z = "Area/" | append: i %}{{ 0 | date: "%Y", z }}'),
  },
  { name: "dates in a loop", source: loop(100_000, '{% assign z = "2026-03-14 10:00" | date: "%c", "Asia/Tokyo" %}') },
  {
    name: "long offset of a loop, reversed",
    source: loop(5000, "{% for x in l reversed limit: 1 offset: 1 %}{% endfor %}"),
    fields: { l: Array.from({ length: 10_000 }, (_, i) => i) },
  },
  {
    name: "size of a large object in a loop",
    source: loop(100_000, "{% if o.size == 1 %}{% endif %}"),
    fields: { o: Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`k${i}`, i])) },
  },
  { name: "filters without end", source: chain("a", "|upcase", 9000), fields: { a: million } },
]

const twice = (body: string) => `{% for i in (1..1000) %}{% for j in (1..1000) %}${body}{% endfor %}{% endfor %}`
/** A text just below the least double: rounding it takes all of its digits. */
const tiny = (at: number) => `2.4703282292062327${"2082799".repeat(50)}${at % 10}e-324`
const digitTexts = Array.from({ length: 2_000 }, (_, i) => tiny(i))
const keyed = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`key ${i}`, i]))
const numbersAsText: Readonly<Record<string, string>> = {
  "sum": "{% assign s = l | sum %}",
  "sum of members": '{% assign s = o | sum: "a" %}',
  "plus": "{% assign s = d | plus: d | minus: d | times: d %}",
  "divided_by": "{% assign s = d | divided_by: d | modulo: d | round: d %}",
  "at_least": "{% assign s = d | at_least: d | at_most: d | abs | ceil | floor | to_integer %}",
  "order": "{% if d < 1 or d > 1 or d <= 1 or d >= 1 %}{% endif %}",
  "range": "{% assign s = (d..d) %}",
  "limit and offset": "{% for x in l limit: d offset: d %}{% endfor %}",
  "sort of texts and numbers": "{% assign s = m | sort %}",
  "slice and truncate": "{% assign s = d | slice: d, d | truncate: d | truncatewords: d %}",
}

/** Work that is one step by its look and takes long by its values. */
const underpriced: ReadonlyArray<Hostile> = [
  ...Object.entries(numbersAsText).map(([name, body]): Hostile => ({
    name: `${name}, of long digits in a loop`,
    source: twice(body),
    fields: {
      d: tiny(1),
      l: digitTexts,
      o: digitTexts.map((a) => ({ a })),
      m: digitTexts.map((text, i) => i % 2 === 0 ? text : i),
    },
  })),
  ...["json", "json: 10", "size", "inspect", 'map: "a"', 'group_by: "a"', 'where: "a"', "first"].map((
    filter,
  ): Hostile => ({
    name: `${filter} of an object of 60,000 members in a loop`,
    source: twice(`{% assign s = o | ${filter} %}`),
    fields: { o: keyed },
  })),
  ...["json", "uniq", "sort", "sort_natural", "reverse", 'where: "a", 1', 'group_by: "a"', 'join: ","'].map(
    (filter): Hostile => ({
      name: `${filter} of a long list in a loop`,
      source: twice(`{% assign s = l | ${filter} %}`),
      fields: { l: Array.from({ length: 60_000 }, (_, i) => ({ a: i % 100 })) },
    }),
  ),
  { name: "a loop over a large object in a loop", source: twice("{% for x in o %}{% endfor %}"), fields: { o: keyed } },
  { name: "a large object as the group of a cycle", source: twice("{% cycle o: 1, 2 %}"), fields: { o: keyed } },
  {
    name: "a large object as a key",
    source: twice("{% assign s = o[o] %}{% assign s = o.size %}"),
    fields: { o: keyed },
  },
  {
    name: "strip of a large set of characters in a loop",
    source: twice("{% assign s = a | strip: a | lstrip: a | rstrip: a %}"),
    fields: { a: "ŉxé".repeat(1_000) },
  },
  {
    name: "split into pieces by one character in a loop",
    source: twice('{% assign s = a | split: "a" %}'),
    fields: { a: million },
  },
  {
    name: "slugify of accents in a loop",
    source: twice('{% assign s = a | slugify: "latin" %}'),
    fields: { a: "é-ß".repeat(300_000) },
  },
  {
    name: "pairs of surrogates cut in a loop",
    source: twice("{% assign s = a | truncate: 400000 | slice: -100000, 100000 %}"),
    fields: { a: "😀".repeat(450_000) },
  },
  {
    name: "lone surrogates encoded in a loop",
    source: twice("{% assign s = a | url_encode | cgi_escape | uri_escape | base64_encode %}"),
    fields: { a: "\ud800".repeat(300_000) },
  },
  {
    name: "names of time zones in every spelling",
    source: twice('{% assign s = 0 | date: "%c", z[i] %}'),
    fields: {
      z: Array.from(
        { length: 1_000 },
        (_, i) =>
          "america/argentina".replace(/[a-z]/g, (sign, at: number) => i >> at & 1 ? sign.toUpperCase() : sign) +
          "/Ushuaia",
      ),
    },
  },
  {
    name: "a thousand undefined names in a loop",
    source: twice(Array.from({ length: 100 }, (_, i) => `{{ u${i}.x.y.z }}`).join("")),
  },
]

/** Lists that hold others many times over. */
const folds: ReadonlyArray<Hostile> = [
  { name: "printing a folded list", source: `${folded("a")}{{ a }}` },
  { name: "joining a folded list", source: `${folded("a")}{{ a | join: "" }}` },
  { name: "JSON of a folded list", source: `${folded("a")}{{ a | json }}` },
  { name: "comparing folded lists", source: `${folded("a")}${folded("b")}{% if a == b %}same{% endif %}` },
  { name: "a folded list compared with itself", source: `${folded("a")}{% if a == a %}same{% endif %}` },
  { name: "ordering folded lists", source: `${folded("a")}{{ a | sort | size }}{% if a < a %}x{% endif %}` },
  { name: "a folded list as a number", source: `${folded("a")}{{ a | plus: 1 }}{{ 1 | plus: a }}` },
  { name: "a folded list as a key", source: `${folded("a")}{{ o[a] }}{{ a[a] }}{{ [a] }}`, fields: { o: {} } },
  { name: "a folded list as a date", source: `${folded("a")}{{ a | date: "%Y" | size }}` },
  { name: "a folded list as a separator", source: `${folded("a")}{{ "x,y" | split: "," | join: a }}` },
  { name: "a folded list in case", source: `${folded("a")}{% case a %}{% when a %}x{% endcase %}` },
  { name: "a folded list as the end of a range", source: `${folded("a")}{{ (1..a) | size }}` },
  {
    name: "a list that holds itself deeply",
    source: `{% assign a = "x" | split: "," %}${
      loop(5000, '{% assign b = "" | split: "," | push: a %}{% assign a = b %}')
    }{{ a }}`,
  },
]

/** Pairs of braces that nothing closes, in a script. */
const openOutputs = `<script>{% raw %}${"{{".repeat(60_000)}{% endraw %}</script>${
  "<a href='mailto:?a=".repeat(19_000)
}`

/** Sources made to be slow or impossible to parse. */
const syntax: ReadonlyArray<Hostile> = [
  { name: "ten thousand nested conditions", source: block("{%if a%}", "", "{%endif%}", 3800) },
  { name: "nested liquid tags on one line", source: `{% liquid${" liquid".repeat(9000)} %}` },
  { name: "nested brackets", source: `{{ ${"a[".repeat(30_000)} }}` },
  { name: "nested and closed brackets", source: `{{ a${"[a".repeat(20_000)}${"]".repeat(20_000)} }}` },
  { name: "nested parentheses", source: `{{ ${"(".repeat(60_000)} }}` },
  { name: "inline comment of empty lines", source: `{% # a${"\n".repeat(60_000)}# %}` },
  { name: "as many outputs as fit", source: "{{a}}".repeat(26_000) },
  { name: "as many lines of a liquid tag as fit", source: `{% liquid\n${"echo\n".repeat(26_000)}%}` },
  { name: "raw text of open outputs between scripts", source: openOutputs, format: "html" },
  {
    name: "conditional comments never closed",
    source: `{{ a }}<script>${"<!--[if mso]>".repeat(39_000)}`,
    format: "html",
  },
  { name: "outputs never closed", source: "{{".repeat(260_000) },
  { name: "tags never closed", source: "{% if a".repeat(74_000) },
  { name: "raw never closed", source: `{% raw %}${"{% endraw".repeat(58_000)}` },
  { name: "a quote never closed", source: `{{ "${"\\".repeat(520_000)} }}` },
  { name: "operators without operands", source: `{% if ${"== ".repeat(20_000)} %}x{% endif %}` },
  { name: "a condition of ten thousand parts", source: `{% if a${" and a".repeat(10_000)} %}x{% endif %}` },
  { name: "a path of thirty thousand parts", source: `{{ a${".b".repeat(30_000)} }}`, fields: { a: deepObject(50) } },
  {
    name: "a thousand elsifs of ranges",
    source: `{% if (1..100000) == 1 %}${lines("{% elsif (1..100000) == 1 %}", 1000)}{% endif %}`,
  },
  { name: "a source beyond the limit", source: lines("{{ a }}", 80_000) },
  { name: "include", source: '{% include "/etc/passwd" %}' },
  { name: "render", source: '{% render "../../deno.json" %}' },
  { name: "layout", source: '{% layout "x" %}{% block a %}{% endblock %}' },
  {
    name: "block that holds itself",
    source: "{% block a %}{% block a %}{{ block.super }}{% endblock %}{% endblock %}",
  },
]

/** Reaching for objects that are not data. */
const reach: ReadonlyArray<Hostile> = [
  {
    name: "prototype chain",
    source: "{{ a.__proto__.constructor.constructor }}{{ __proto__ }}{{ constructor.name }}",
    fields: { a: {} },
  },
  {
    name: "filters called like members of Object",
    source: "{{ a | constructor }}{{ a | __proto__ }}{{ a | toString }}",
  },
  { name: "tags called like members of Object", source: "{% constructor %}{% __proto__ %}{% hasOwnProperty %}" },
  {
    name: "prototype of forloop",
    source: loop(3, "{{ forloop.__proto__.next }}{{ forloop.constructor }}{{ forloop.next }}{{ forloop.__proto__ }}"),
  },
  {
    name: "assigning to prototypes",
    source: '{% assign __proto__ = "x" %}{% capture constructor %}y{% endcapture %}{% increment __proto__ %}{{ o.x }}',
    fields: { o: {} },
  },
  {
    name: "loop variable called __proto__",
    source: "{% for __proto__ in l %}{{ __proto__.a }}{% endfor %}",
    fields: { l: [{ a: 1 }] },
  },
  { name: "expressions from data", source: '{{ l | where_exp: "x", e }}', fields: { l: [1], e: "x == 1" } },
  {
    name: "data that is Liquid",
    source: "{{ a }}{% assign b = a %}{{ b | upcase }}",
    fields: { a: "{% for i in (1..100000000) %}{{ 7 | times: 7 }}{% endfor %}" },
  },
  {
    name: "objects that refuse to be text",
    source: '{{ a }}{{ a | append: "x" }}{{ a | plus: a }}{{ a | date: a }}{{ a | slice: a, a }}',
    fields: { a: { toString: 1, valueOf: null, toJSON: "x", then: 1, next: 1, length: 1e9 } },
  },
  {
    name: "data nested a hundred thousand deep",
    source: "{{ a }}{{ a | json }}{{ a | inspect: 2 }}{% if a == a %}{% endif %}",
    fields: { a: deepJson(100_000) },
  },
  { name: "an object nested five thousand deep", source: "{{ a }}", fields: { a: deepObject(5_000) } },
  {
    name: "an array-like object",
    source: "{{ a | first }}{{ a | last }}{{ a | size }}{{ a | join }}{% for x in a %}{{ x }}{% endfor %}",
    fields: { a: { length: 1e9, 0: 1 } },
  },
]

export const hostile: ReadonlyArray<Hostile> = [...growth, ...work, ...underpriced, ...folds, ...syntax, ...reach]
