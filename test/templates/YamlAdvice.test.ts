import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as TemplateFile from "../../src/templates/TemplateFile.ts"

const fileOf = (members: string, indent = 10) =>
  `templates:\n  - id: a\n    name: A\n    variants:\n      - id: v\n        vars:\n${" ".repeat(indent)}${members}\n`

const faultsOf = (text: string): ReadonlyArray<string> =>
  TemplateFile.examine(text, "f").faults.map(({ column, line, message }) => `${line}:${column} ${message}`)

/** The faults of a subject as its author wrote it, followed by another variable. */
const faultsOfSubject = (written: string) => faultsOf(fileOf(`subject: ${written}\n          body: x`))

const varsOf = (text: string) => {
  const parsed = TemplateFile.parse(text, "f")
  return Result.isSuccess(parsed) ? parsed.success[0]?.variants?.[0]?.vars : parsed.failure
}

/** Texts that need quotes in YAML, and the form that the advice suggests. */
const refused: ReadonlyArray<readonly [written: string, quoted: string]> = [
  ["Deal #1 for you", '"Deal #1 for you"'],
  ["dismech curation (issue #8889)", '"dismech curation (issue #8889)"'],
  ["We are # 1", '"We are # 1"'],
  ["Learn C #", '"Learn C #"'],
  ["Hello # {{ name }}", '"Hello # {{ name }}"'],
  ["#SALE today", '"#SALE today"'],
  ["Sale: 50% off", '"Sale: 50% off"'],
  ["Node.js Service: Order Processing API", '"Node.js Service: Order Processing API"'],
  ["Note:", '"Note:"'],
  ["Hi {{ name }}: bye", '"Hi {{ name }}: bye"'],
  ['Price "new": 5', `'Price "new": 5'`],
  ["{{ name }}, hello", '"{{ name }}, hello"'],
  ["{{ name }}", '"{{ name }}"'],
  ["{{first}} {{last}}", '"{{first}} {{last}}"'],
  ["{{ name | default: 'you' }}", `"{{ name | default: 'you' }}"`],
  ["{% if a %}x{% endif %}", '"{% if a %}x{% endif %}"'],
  ["[Sale] now", '"[Sale] now"'],
  ["[Sale]", '"[Sale]"'],
  ["{name: Ann}", '"{name: Ann}"'],
  ["*|FNAME|*, hi", '"*|FNAME|*, hi"'],
  ["*|FNAME|*", '"*|FNAME|*"'],
  ["*Only today*", '"*Only today*"'],
  ["**Sale** now", '"**Sale** now"'],
  ["*", '"*"'],
  ["%%FirstName%%", '"%%FirstName%%"'],
  ["% off", '"% off"'],
  ["@ann hi", '"@ann hi"'],
  ["`code`", '"`code`"'],
  ["!Sale now", '"!Sale now"'],
  ["!important", '"!important"'],
  ["! now", '"! now"'],
  ["!!! Sale", '"!!! Sale"'],
  ["&Sale now", '"&Sale now"'],
  ["&nbsp;Sale", '"&nbsp;Sale"'],
  ["&amp; more", '"&amp; more"'],
  ["& more", '"& more"'],
  ["> 50 % off", '"> 50 % off"'],
  [">50", '">50"'],
  ["| pipe", '"| pipe"'],
  ["|| x", '"|| x"'],
  ["- 20 %", '"- 20 %"'],
  ["-", '"-"'],
  ["? really", '"? really"'],
  ['"Sale" now', `'"Sale" now'`],
  ['"Sale" or "Bag"', `'"Sale" or "Bag"'`],
  ["'Sale' now", `"'Sale' now"`],
  ["'it's here'", `"it's here"`],
  ['"a"b"', `'a"b'`],
  ["''quoted''", `"'quoted'"`],
  ['"{{ name }}", hi', `'"{{ name }}", hi'`],
  ['"Sale', '"Sale"'],
  ["'Sale", '"Sale"'],
  ["{", '"{"'],
  ["[ 50 %", '"[ 50 %"'],
  ["}", '"}"'],
  ["] x", '"] x"'],
  [", a", '", a"'],
  ["true", '"true"'],
  ["null", '"null"'],
  ["~", '"~"'],
  ["50", '"50"'],
  ["01067", '"01067"'],
  ["1.50", '"1.50"'],
  ["1e3", '"1e3"'],
  ["0x1F", '"0x1F"'],
  ["+49", '"+49"'],
]

describe("advice on template files", () => {
  it("says which text needs quotes, where, and how it is written", () => {
    for (const [written, quoted] of refused) {
      const faults = faultsOfSubject(written)
      assert.strictEqual(faults.length, 1, `${written}: ${faults.join(" | ")}`)
      assert.isTrue(faults[0]!.startsWith("7:20 "), `${written}: ${faults[0]}`)
      assert.isTrue(faults[0]!.endsWith(quoted), `${written}: ${faults[0]}`)
      assert.match(faults[0]!, /put .* in quotes/)
      const vars = varsOf(fileOf(`subject: ${quoted}\n          body: x`)) as Record<string, string>
      assert.strictEqual(vars["body"], "x")
      assert.isTrue(written.includes(vars["subject"]!), "the suggested form has the words of the text")
    }
  })

  it("leaves texts that mean the same without quotes", () => {
    const texts = [
      "yes",
      "no",
      "on",
      "NO",
      "2026-11-01",
      "12:30",
      "=1+1",
      "=SUM(A1)",
      "-20 %",
      "?really",
      "it's ok",
      "“Sale” now",
      "http://a.b/#x",
      'Hello, "Ann"',
      "10 % off, {{ name }}",
      "${name}",
      "<%= name %>",
      "<p>Hi</p>",
      "C#",
      "x:y",
      "1,5",
    ]
    for (const text of texts) assert.deepStrictEqual(varsOf(fileOf(`subject: ${text}`)), { subject: text }, text)
  })

  it("accepts comments, anchors that are used, and texts of several lines", () => {
    const file = fileOf([
      "# the subject",
      "subject: Hello # a greeting",
      'body: "a: b" #quoted',
      "text: |",
      "  Deal #1: {{ name }}",
      '  *bold* &amp; "more',
      "folded: >- #folded",
      "  a",
      'long: "one',
      '  two: three"',
      "shared: &shared Hi",
      "again: *shared",
    ].join("\n          "))
    assert.deepStrictEqual(varsOf(file), {
      subject: "Hello",
      body: "a: b",
      text: 'Deal #1: {{ name }}\n*bold* &amp; "more\n',
      folded: "a",
      long: "one two: three",
      shared: "Hi",
      again: "Hi",
    })
    assert.isTrue(Result.isSuccess(TemplateFile.parse(`${file}    objective: click #the default\n`, "f")))
  })

  it("skips texts of several lines next to a fault", () => {
    const faults = faultsOf(fileOf([
      'long: "one',
      '  two: {{ three"',
      "text: |",
      "  {{ name }}, *hi*: 'x",
      "subject: {{ name }}",
      "more: Sale: 5",
    ].join("\n          ")))
    assert.deepStrictEqual(faults.map((fault) => fault.split(" ")[0]), ["11:20", "12:17"])
  })

  it("names tabs, colons without a space, unknown spaces and wrong escapes", () => {
    assert.match(faultsOf("templates:\n\t- id: a\n").join(), /2:1 begins with a tab: indent with spaces/)
    assert.match(
      faultsOf(fileOf("subject:Hello\n          body: x")).join(),
      /write a space behind the colon: subject: Hello/,
    )
    assert.match(faultsOf("templates:\n\u00a0\u00a0- id: a\n    name: A\n").join(), /2:1 .*indent with plain spaces/)
    assert.match(
      faultsOfSubject(String.raw`"C:\data"`).join(),
      /7:20 \\d is no escape sequence: use single quotes, 'C:\\data'/,
    )
  })

  it("names texts in lists and between braces", () => {
    const tags = (written: string) => faultsOf(`templates:\n  - name: A\n    tags:\n      - ${written}\n`)
    assert.deepStrictEqual(tags("#sale"), ['4:9 in YAML, # begins a comment: put the text in quotes: "#sale"'])
    assert.deepStrictEqual(tags("{{ name }}"), [
      '4:9 in YAML, { begins a mapping: put the text in quotes: "{{ name }}"',
    ])
    assert.deepStrictEqual(tags("Sale: 50"), ['4:9 must be text: put the text in quotes: "Sale: 50"'])
    const braces = faultsOf("templates:\n  - name: A\n    variants:\n      - vars: {s: Hi {{ name }}}\n")
    assert.strictEqual(braces.length, 1)
    assert.match(braces[0]!, /^4:15 .*in quotes/)
  })

  it("names lines in the wrong column", () => {
    const stray = "belongs to no key: indent the lines of a text further than its key"
    assert.deepStrictEqual(faultsOfSubject("Hello\n          dear Ann"), [`8:11 ${stray}`])
    assert.deepStrictEqual(faultsOfSubject("|\n          Hello"), [`8:11 ${stray}`])
    assert.deepStrictEqual(faultsOf("templates:\n  - id: a\n    name = A\n"), [
      "3:5 belongs to no key: write `key: value`",
    ])
    for (const text of ["templates:\n  - id: a\n   name: A\n", "templates:\n  - id: a\n  name: A\n"]) {
      assert.match(faultsOf(text).join(), /^3:1 begins in the wrong column: members of one mapping/)
    }
  })

  it("names comments between brackets, and placeholders behind a number sign", () => {
    assert.deepStrictEqual(faultsOf("templates:\n  - id: a\n    tags: [b, Sale #1]\n    name: A\n"), [
      '3:11 in YAML, # begins a comment: put the text in quotes: "Sale #1"',
    ])
    assert.include(faultsOfSubject("a {% comment %} # b {% endcomment %}")[0], "# begins a comment")
  })

  it("lists one fault for a colon before braces and quotes", () => {
    assert.deepStrictEqual(faultsOfSubject(`Hi {{ name | default: "you" }}`), [
      `7:20 in YAML, ": " ends a key: put the text in quotes: 'Hi {{ name | default: "you" }}'`,
    ])
  })

  it("refuses names in quotation marks of other languages", () => {
    for (const name of ["“subject”", "„subject“", "‘subject’", "«subject»"]) {
      assert.include(faultsOf(fileOf(`${name}: Hi`))[0], 'that YAML does not know: write "subject"', name)
    }
  })

  it("says how lists and mappings are written", () => {
    const template = (members: string) => faultsOf(`templates:\n  - id: a\n    name: A\n    ${members}\n`)
    assert.deepStrictEqual(template("link_domains: shop.example"), ["4:19 must be a list: write [shop.example]"])
    assert.deepStrictEqual(template("tags: 2026"), ['4:11 must be a list: write ["2026"]'])
    assert.deepStrictEqual(template("tags: a, b"), [
      '4:11 must be a list: begin each element with "- " on a line of its own',
    ])
    assert.deepStrictEqual(template("holdout:\n      - share: 0.1"), [
      '5:7 must be a mapping or null: write its members without "- "',
    ])
  })

  it("says how booleans and numbers are written", () => {
    const settings = (written: string) => faultsOf(`templates:\n  - name: A\n    ${written}\n`).join()
    assert.match(settings("strict: yes"), /must be true or false: write true/)
    assert.match(settings("strict: off"), /must be true or false: write false/)
    assert.match(settings('strict: "true"'), /write true without quotes/)
    assert.match(settings("sticky_hours: 1,5"), /must be a number: write 1\.5/)
    assert.match(settings('sticky_hours: "2"'), /must be a number: write 2/)
  })

  it("shortens long texts", () => {
    const [fault] = faultsOfSubject(`Sale: ${"x".repeat(200)}`)
    assert.strictEqual(fault, '7:20 in YAML, ": " ends a key: put the whole text in quotes')
  })

  it("does not judge JSON", () => {
    assert.isFalse(faultsOf('{"templates": [{"name": "A",\n"tags": ["a" "b"]}]}').join().includes("quotes"))
  })
})

describe("shared parts of template files", () => {
  it("are members that begin with x- and are used by aliases", () => {
    const file = `x-footer: &footer "<p>Our address</p>"
x-texts:
  greeting: &greeting Hello
templates:
  - name: A
    variants:
      - id: v
        vars: {footer: *footer, subject: *greeting}
x-unused: {any: [1, 2]}
`
    assert.deepStrictEqual(varsOf(file), { footer: "<p>Our address</p>", subject: "Hello" })
    assert.match(faultsOf("x-text: Deal #1\ntemplates: []\n").join(), /"Deal #1"/)
    assert.match(faultsOf("footer: a\ntemplates: []\n").join(), /is unknown/)
  })

  it("are merged by <<, where own members and earlier mappings take precedence", () => {
    const file = `x-base: &base {footer: base, subject: base}
x-more: &more {subject: more, text: more}
templates:
  - name: A
    variants:
      - id: v
        vars:
          footer: own
          <<: [*base, *more]
      - id: w
        vars:
          <<: *base
          "<<": quoted
`
    const parsed = TemplateFile.parse(file, "f")
    assert.deepStrictEqual(
      Result.isSuccess(parsed) && parsed.success[0]?.variants?.map(({ vars }) => vars),
      [{ footer: "own", subject: "base", text: "more" }, { footer: "base", subject: "base", "<<": "quoted" }],
    )
    assert.match(faultsOf("templates:\n  - name: A\n    <<: text\n").join(), /3:5 must be a mapping/)
  })

  it("are bounded if merges multiply", () => {
    const lines = ["x-0: &a0 {a: {b: c, d: e}, f: {g: h}}"]
    for (let n = 1; n < 30; n++) lines.push(`x-${n}: &a${n} {l: {<<: *a${n - 1}}, r: {<<: *a${n - 1}}}`)
    assert.match(faultsOf(`${lines.join("\n")}\ntemplates: []\n`).join(), /100,000 values/)
  })
})

describe("template files of other programs", () => {
  const lines = ["templates:", "  - name: Über", "    variants:", "      - id: v", "        vars: {s: x}", ""]

  it("may begin with a byte order mark and have any line ends", () => {
    for (const end of ["\n", "\r\n", "\r"]) {
      assert.deepStrictEqual(varsOf(`\ufeff${lines.join(end)}`), { s: "x" }, JSON.stringify(end))
    }
    assert.match(faultsOf(lines.join("\r").replace("s: x", "s: 5")).join(), /^5:19 must be text/)
  })

  it("are refused where a character was lost", () => {
    assert.deepStrictEqual(faultsOf(lines.join("\n").replace("Ü", "\ufffd")), [
      "2:11 \ufffd stands for a character that was lost: save the original file as UTF-8",
    ])
  })
})
