import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import fc from "fast-check"
import { Liquid } from "liquidjs"
import * as Limits from "../../src/rendering/Limits.ts"
import { parseVars, render } from "../../src/rendering/Renderer.ts"
import { now, renderVars, textOf } from "./variants.ts"

const names = ["a", "b", "user", "items", "size", "__proto__", "constructor", "forloop", "i"]

/** Pieces of Liquid, whole and broken, that are put together at random. */
const pieces = fc.oneof(
  fc.constantFrom(
    ...[
      "{{",
      "}}",
      "{%",
      "%}",
      "{{-",
      "-}}",
      "{%-",
      "-%}",
      "{",
      "}",
      "|",
      ":",
      ",",
      ".",
      "..",
      "[",
      "]",
      "(",
      ")",
      "'",
      '"',
    ],
    ...[
      "\n",
      " ",
      "\\",
      "#",
      "==",
      "!=",
      "<",
      ">=",
      "and",
      "or",
      "not",
      "contains",
      "in",
      "=",
      "empty",
      "blank",
      "nil",
      "true",
    ],
    ...[
      "if",
      "elsif",
      "else",
      "endif",
      "unless",
      "endunless",
      "for",
      "endfor",
      "break",
      "continue",
      "case",
      "when",
      "endcase",
    ],
    ...[
      "assign",
      "capture",
      "endcapture",
      "cycle",
      "increment",
      "decrement",
      "echo",
      "liquid",
      "raw",
      "endraw",
      "comment",
    ],
    ...[
      "endcomment",
      "tablerow",
      "endtablerow",
      "include",
      "render",
      "layout",
      "block",
      "reversed",
      "limit",
      "offset",
      "cols",
    ],
  ),
  fc.constantFrom(...names),
  fc.constantFrom(
    ...[
      "{{ a }}",
      "{{ user.name | upcase }}",
      "{{ items | join: a }}",
      "{{ a | replace: b, a }}",
      "{% assign a = b %}",
    ],
    ...["{% for i in items %}", "{% for i in (1..20) %}", "{% endfor %}", "{% if a %}", "{% else %}", "{% endif %}"],
    ...[
      "{% capture a %}",
      "{{ a }}{{ a }}",
      "{% endcapture %}",
      "{% cycle a, b %}",
      "{% case a %}",
      "{% when b %}",
      "{% endcase %}",
    ],
    ...[
      "{% assign a = a | append: a %}",
      "{% assign items = items | push: items %}",
      "{{ items | json: 9 }}",
      "{% break %}",
    ],
    ...["{{ a | date: b, a }}", "{{ items | sort: a | map: b }}", "{% tablerow i in items %}", "{% endtablerow %}"],
  ),
  fc.integer({ min: -1e9, max: 1e18 }).map(String),
  fc.string({ unit: "binary", maxLength: 8 }),
)

const generated = fc.array(pieces, { maxLength: 60 }).map((parts) => parts.join(" "))

const data = fc.dictionary(
  fc.constantFrom(...names),
  fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.string({ unit: "binary" }),
    fc.array(fc.record({ name: fc.string(), n: fc.integer() }), { maxLength: 20 }),
    fc.constantFrom<unknown>("{{ a }}", "{% for i in (1..100000000) %}", 1e300, -1, "now", "2026-03-14"),
  ),
)

describe("ten thousand generated templates", () => {
  it("render within the limits or report faults with a position", () => {
    let parsed = 0
    fc.assert(
      // Data is made only for templates that parse.
      fc.property(
        generated,
        fc.gen(),
        fc.boolean(),
        fc.constantFrom("text", "html"),
        (source, make, strict, format) => {
          const one = parseVars({ v: source }, { v: format })
          if (Result.isFailure(one)) {
            const [fault] = one.failure.faults
            return fault !== undefined && fault.line >= 1 && fault.column >= 1 && fault.message !== ""
          }
          parsed++
          const rendered = render(one.success, make(() => data), { strict, now })
          if (Result.isSuccess(rendered)) return rendered.success["v"]!.length <= Limits.outputLength
          return rendered.failure.faults.every(({ column, kind, line, variable }) =>
            variable === "v" && line >= 1 && column >= 1 && (strict || kind === "limit")
          )
        },
      ),
      { numRuns: 10_000 },
    )
    // Guards the generator: that most of them fail to parse is wanted, that all do would test nothing.
    assert.isAbove(parsed, 300)
  })
})

// Without characters of two code units, which liquidjs sometimes takes apart.
const word = fc.string({ unit: fc.constantFrom(..."abcdefg ,-é字<&"), maxLength: 6 })
const integer = fc.integer({ min: -99, max: 99 }).map(String)
const literal = fc.oneof(word.map((text) => `'${text}'`), integer)
const variable = fc.constantFrom("s", "t", "n", "m", "f", "words", "missing", "o.k", "words.size", "words[1]", "o['k']")
const operand = fc.oneof(variable, literal)

// Only numbers: for liquidjs every other text is 0. Only halves, quarters and so on, which liquidjs calculates exactly.
const calculated = fc.tuple(
  fc.oneof(fc.constantFrom("n", "m", "words.size"), integer),
  fc.array(
    fc.constantFrom(
      "plus: 1",
      "minus: n",
      "times: 2",
      "divided_by: 4",
      "modulo: 5",
      "at_least: 3",
      "abs",
      "ceil",
      "floor",
    ),
    { minLength: 1, maxLength: 3 },
  ),
).map(([value, filters]) => [value, ...filters].join(" | "))

const filteredText = fc.tuple(
  operand,
  fc.array(
    fc.oneof(
      fc.constantFrom(
        "upcase",
        "downcase",
        "capitalize",
        "strip",
        "size",
        "escape",
        "strip_html",
        "url_encode",
        "squish",
      ),
      fc.constantFrom(
        "join: '-'",
        "first",
        "last",
        "reverse | join: ''",
        "sort | join: ','",
        "uniq | join",
        "compact | join",
      ),
      fc.constantFrom(
        "append: '' | truncate: 5",
        "truncatewords: 2",
        "slice: 1, 2",
        "slice: -2",
        "split: ',' | join: '+'",
        "default: '' | json",
      ),
      fc.constantFrom("newline_to_br", "remove_last: 'a'", "slugify", "number_of_words", "base64_encode", "sha256"),
      fc.tuple(fc.constantFrom("append", "prepend", "remove", "remove_first", "default"), literal)
        .map(([name, argument]) => `${name}: ${argument}`),
      fc.tuple(fc.constantFrom("replace", "replace_first", "replace_last"), literal, literal)
        .map(([name, first, second]) => `${name}: ${first}, ${second}`),
    ),
    { maxLength: 3 },
  ),
).map(([value, filters]) => [value, ...filters].join(" | "))

const filtered = fc.oneof(filteredText, calculated)

// Comparisons of lists are left out: liquidjs compares their joined elements, and here lists have no order. So are
// comparisons of numbers with blank texts, which are 0 for liquidjs.
const scalar = variable.filter((name) => name !== "words")
const filledLiteral = word.filter((text) => text.trim() !== "").map((text) => `'${text}'`)
const comparison = fc.oneof(
  fc.tuple(fc.constantFrom("n", "m", "f", "words.size"), fc.constantFrom(">", "<", ">=", "<="), integer),
  fc.tuple(scalar, fc.constantFrom(">", "<", ">=", "<="), filledLiteral),
  fc.tuple(variable, fc.constantFrom("==", "!=", "contains"), literal),
).map((parts) => parts.join(" "))
const condition = fc.array(fc.oneof(variable, comparison, variable.map((name) => `not ${name}`)), {
  minLength: 1,
  maxLength: 3,
})
  .chain((parts) => fc.constantFrom(" and ", " or ").map((word) => parts.join(word)))

const { template } = fc.letrec<{ template: string; part: string }>((tie) => ({
  template: fc.array(tie("part"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
  part: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    word,
    filtered.map((value) => `{{ ${value} }}`),
    filtered.map((value) => ` {{- ${value} -}} `),
    fc.tuple(fc.constantFrom("s", "t", "x"), filtered).map(([name, value]) =>
      `{% assign ${name} = ${value} | append: "" %}{{ ${name} }}`
    ),
    fc.tuple(fc.constantFrom("s", "x"), tie("template")).map(([name, body]) =>
      `{% capture ${name} %}${body}{% endcapture %}`
    ),
    fc.tuple(condition, tie("template"), condition, tie("template")).map(([first, one, second, two]) =>
      `{% if ${first} %}${one}{% elsif ${second} %}${two}{% else %}-{% endif %}`
    ),
    fc.tuple(condition, tie("template")).map(([test, body]) => `{%- unless ${test} -%}${body}{%- endunless -%}`),
    fc.tuple(variable, literal, tie("template")).map(([value, one, body]) =>
      `{% case ${value} %}{% when ${one}, 'a' %}${body}{% when 3 or n %}n{% else %}-{% endcase %}`
    ),
    fc.tuple(
      fc.constantFrom(
        "words",
        "(1..3)",
        "(n..5)",
        "missing",
        "s",
        "words reversed",
        "words limit: 2",
        "words offset: 1",
      ),
      tie("template"),
      fc.constantFrom("", "{% if forloop.first %}{% continue %}{% endif %}", "{% if i == 2 %}{% break %}{% endif %}"),
    ).map(([list, body, jump]) =>
      `{% for i in ${list} %}${jump}{{ i }}{{ forloop.index }}${body}{% else %}none{% endfor %}`
    ),
    fc.constantFrom(
      "{% cycle 'a', 'b', o.k %}",
      "{% increment k %}",
      "{% decrement k %}",
      "{% comment %}{{ s }}{% endcomment %}",
    ),
    tie("template").map((body) => `{% raw %}${body.replaceAll(/{%-? *(end)?raw *-?%}/g, "")}{% endraw %}`),
    tie("template").map((body) => `{% tablerow i in words cols: 2 %}${body}{% endtablerow %}`),
  ),
}))

describe("ordinary templates", () => {
  const oracle = new Liquid({ strictFilters: true, ownPropertyOnly: true })

  it("render as in liquidjs", () => {
    const fields = fc.record({
      s: word,
      t: word,
      n: fc.integer({ min: -3, max: 6 }),
      m: fc.constantFrom(0.5, 2.25, 10),
      f: fc.boolean(),
      words: fc.array(word, { maxLength: 4 }),
      o: fc.record({ k: word }),
    })
    fc.assert(
      fc.property(template, fields, (source, data) => {
        const rendered = renderVars({ v: source }, data)
        // A few grow beyond all limits, such as a loop that makes a text the JSON of itself.
        fc.pre(Result.isSuccess(rendered))
        const expected: string = oracle.parseAndRenderSync(source, structuredClone(data))
        // Numbers beyond what a double holds are 0 here, not the word "Infinity" in a message.
        fc.pre(!expected.includes("Infinity"))
        assert.deepStrictEqual(rendered.success, { v: expected })
      }),
      { numRuns: 5_000 },
    )
  })
})

describe("any value", () => {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" }
  const anyText = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(fc.constantFrom("{{", "}}", "{%", "%}", "7 | times: 7", "raw", "assign x = 1", "<", "&", "'")).map((all) =>
      all.join(" ")
    ),
  )

  it("is unchanged in text, and has its five special characters escaped in html", () => {
    fc.assert(
      fc.property(anyText, (value) => {
        const safe = value.replace(/[&<>"']/g, (sign) => entities[sign]!)
        assert.strictEqual(textOf("[{{ v }}]", { v: value }), `[${value}]`)
        assert.strictEqual(textOf("[{{ v }}]", { v: value }, { format: "html" }), `[${safe}]`)
        assert.strictEqual(textOf("[{{ v | raw }}]", { v: value }, { format: "html" }), `[${value}]`)
      }),
      { numRuns: 2_000 },
    )
  })

  it("is escaped in html through captures and filters that join data and literals", () => {
    const step = fc.constantFrom(
      "append: '<br>'",
      "prepend: '<i>'",
      "append: v",
      "prepend: v",
      "default: '<b>none</b>'",
      "strip",
      "squish",
      "newline_to_br",
      "strip_newlines",
      "split: ',' | join: '<hr>'",
      "upcase",
      "slice: 0, 40",
      "replace: 'a', '<u>'",
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 6 }), fc.array(step, { maxLength: 4 }), (inner, outer) => {
        const piped = (name: string, steps: ReadonlyArray<string>) => `{{ ${[name, ...steps].join(" | ")} }}`
        const source = `{% capture c %}<p>${piped("v", inner)}</p>{% endcapture %}${piped("c", outer)}${
          piped("v", outer)
        }`
        assert.notMatch(textOf(source, { v: '<x onload="a">,\n<x>' }, { format: "html" }), /<x/i)
      }),
      { numRuns: 2_000 },
    )
  })
})
