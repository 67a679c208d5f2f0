import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { Operator } from "../../src/domain/Targeting.ts"
import * as TemplateFile from "../../src/templates/TemplateFile.ts"
import { fullContent, parsed } from "./fullContent.ts"

/** The faults of a file as a terminal would show them. */
const faults = (text: string): ReadonlyArray<string> =>
  Result.match(TemplateFile.parse(text, "file.yaml"), {
    onSuccess: () => [],
    onFailure: (all) =>
      all.map(({ column, file, line, message, path }) => {
        assert.strictEqual(file, "file.yaml")
        return `${line}:${column} ${path}: ${message}`
      }),
  })

/** The faults of the given members of a variant, which start at line 5, column 9. */
const variantFaults = (members: string) =>
  faults(`templates:\n  - id: t\n    name: T\n    variants:\n      - id: v\n        vars: {}\n        ${members}\n`)

const full = `
# Comments are welcome.
templates:
  - id: welcome-en
    name: Welcome
    tags: [spring, "no"]
    owner: ada@example.com
    archived: true
    strict: true
    locale: {field: user.language, default: en}
    sticky_hours: 12.5
    runner_up_floor: 0.05
    objective: {click: 1, conversion: 5, negative: -2, revenue: 0.1, revenue_cap: 200}
    send_nothing: true
    holdout: {share: 0.05, content: fixed, copy_id: welcome-en-warm}
    ignore_unsubscribes: true
    tracking: {opens: false, clicks: true}
    list_unsubscribe: true
    link_domains: [shop.example, "on"]
    conversion_events: [trial_started, "no"]
    variants:
      - id: welcome-en-warm
        name: Warm
        active: false
        vars:
          subject: "Welcome, {{ name | default: 'you' }}"
          body_html: |
            <p>Hello</p>
            <p>Bye</p>
        locales:
          de: {subject: Willkommen}
          zh-Hant:
            body_html: |
              <p>您好</p>
        formats: {body_html: html}
        components: {subject: question, image: "A shoe: red"}
        targeting:
          - {attribute: tier, op: in, values: [Gold, 3, true]}
          - {attribute: email, op: exists}
        seasons:
          - {starts_at: 2026-11-15, ends_at: 2027-01-06T09:00, annual: {from: 11-15, to: 01-06}}
          - {days: [sat, sun], hours: {from: 22, to: 06}}
      - vars: {}
  - name: Without more
`

describe("TemplateFile.parse", () => {
  it("reads every member of the format", () => {
    assert.deepStrictEqual(parsed(full), fullContent)
  })

  it("reads JSON with any indentation", () => {
    for (const indent of [undefined, 1, 2, "\t", "    "]) {
      assert.deepStrictEqual(parsed(JSON.stringify({ templates: fullContent }, null, indent)), fullContent)
    }
  })

  it("reads the escapes of JSON", () => {
    assert.deepStrictEqual(
      parsed(
        String.raw`{"templates":[{"name":"\u00dc\ud83d\ude00\/\"\\","variants":[{"vars":{"a":"\t\r\n\u0007"}}]}]}`,
      ),
      [{ name: 'Ü😀/"\\', variants: [{ vars: { a: "\t\r\n\u0007" } }] }],
    )
  })

  it("reads a file with a byte order mark and Windows line ends", () => {
    assert.deepStrictEqual(parsed(`\ufeff${full.trimStart().replaceAll("\n", "\r\n")}`), fullContent)
  })

  it("reads a file without templates", () => {
    assert.deepStrictEqual(parsed("templates: []"), [])
  })

  it("reads no, on, off, yes and days of the year as text for every YAML version", () => {
    for (const version of ["", "%YAML 1.1\n---\n"]) {
      assert.deepStrictEqual(
        parsed(
          `${version}templates: [{id: no, name: on, variants: [{vars: {yes: off}, seasons: [{annual: {from: 11-15, to: 01-06}}]}]}]`,
        ),
        [{
          id: "no",
          name: "on",
          variants: [{ vars: { yes: "off" }, seasons: [{ annual: { from: "11-15", to: "01-06" } }] }],
        }],
      )
    }
  })

  it("expands aliases", () => {
    const text = `templates:
  - name: A
    variants:
      - {vars: {a: x}, targeting: &gold [{attribute: tier, op: is, values: [gold]}]}
${"      - {vars: {a: x}, targeting: *gold}\n".repeat(900)}`
    const [template] = Result.getOrThrow(TemplateFile.parse(text, "file.yaml"))
    assert.strictEqual(template!.variants!.length, 901)
    assert.deepStrictEqual(template!.variants![900]!.targeting, [{ attribute: "tier", op: "is", values: ["gold"] }])
  })

  it("reports every fault with its position in the order of the file", () => {
    const text = `templates:
  - id: welcome-en
    nme: Welcome
    strict: yes
    sticky_hours: -1
    objective: clicks
    variants:
      - id: v1
        vars: {subject: 123, body:, "a b": true}
        formats: {body: htm, boddy: html}
        targeting:
          - {attribute: zip, op: in, values: [01067, 1.50, 0x1F, null]}
          - {attribute: zip, op: is}
          - {attribute: zip, op: equals, values: [x]}
        seasons: [{annual: {from: 11-15, to: 13-06}, days: [], hours: {from: 25}, day: mon}]
      - id: v1
        name: x
        name: y
        __proto__: {active: false}
        vars: {__proto__: a, constructor: b}
  - id: welcome-en
    name: A
    objective: {click: -1}
    variants:
      v1: {vars: {}}
  - 5
  - name: B
    objective: {revenue: 1}
  - name: C
    objective: {revenue: 1, revenue_cap: 0}
`
    const condition = "templates[0].variants[0].targeting"
    assert.deepStrictEqual(faults(text), [
      "2:5 templates[0].name: is missing",
      "3:5 templates[0].nme: is unknown. Known members: id, name, strict, locale, sticky_hours, runner_up_floor, objective, send_nothing, holdout, tracking, list_unsubscribe, link_domains, ignore_unsubscribes, conversion_events, tags, owner, archived and variants",
      "4:13 templates[0].strict: must be true or false: write true",
      "5:19 templates[0].sticky_hours: must be a value between 0 and 8760",
      '6:16 templates[0].objective: must be "click", "open" or "conversion"',
      '9:25 templates[0].variants[0].vars.subject: must be text: put 123 in quotes, "123"',
      '9:35 templates[0].variants[0].vars.body: must be text, but nothing is there: write "" for no text',
      '9:44 templates[0].variants[0].vars["a b"]: must be text: put true in quotes, "true"',
      '10:25 templates[0].variants[0].formats.body: must be "text", "html" or "mjml"',
      "10:30 templates[0].variants[0].formats.boddy: names no variable of this variant",
      `12:47 ${condition}[0].values[0]: would be compared as 1067: put 01067 in quotes`,
      `12:54 ${condition}[0].values[1]: would be compared as 1.5: put 1.50 in quotes`,
      `12:60 ${condition}[0].values[2]: would be compared as 31: put 0x1F in quotes`,
      `12:66 ${condition}[0].values[3]: must be text, a number or true or false`,
      `13:13 ${condition}[1].values: must have exactly one value for \`is\``,
      `14:34 ${condition}[2].op: must be ${
        [...Operator.literals].map((op) => `"${op}"`).join(", ").replace(/, ([^,]*)$/, " or $1")
      }`,
      "15:46 templates[0].variants[0].seasons[0].annual.to: must be a day of the year as MM-DD, such as 11-15",
      "15:60 templates[0].variants[0].seasons[0].days: must not be empty",
      "15:71 templates[0].variants[0].seasons[0].hours.to: is missing",
      "15:78 templates[0].variants[0].seasons[0].hours.from: must be a value between 0 and 23",
      "15:83 templates[0].variants[0].seasons[0].day: is unknown. Known members: starts_at, ends_at, annual, days and hours",
      "16:13 templates[0].variants[1].id: is the id of another variant of this template",
      "18:9 templates[0].variants[1].name: occurs twice",
      "19:9 templates[0].variants[1].__proto__: is not a name that can be used",
      "20:16 templates[0].variants[1].vars.__proto__: is not a name that can be used",
      "21:9 templates[1].id: is the id of another template of this file",
      "23:16 templates[1].objective: must give at least one outcome a weight above zero",
      '25:7 templates[1].variants: must be a list: begin each element with "- " on a line of its own',
      "26:5 templates[2]: must be a mapping",
      "28:16 templates[3].objective.revenue_cap: is required with `revenue`: the most that one decision counts for",
      "30:42 templates[4].objective.revenue_cap: must be a value between 0.001 and 1000000000",
    ])
    assert.isUndefined(({} as Record<string, unknown>)["active"])
  })

  it.each([
    ["", "1:1 : must be a mapping with the member `templates`"],
    ["# nothing\n", "1:1 : must be a mapping with the member `templates`"],
    ["- id: a\n  name: A", "1:1 : must be a mapping with the member `templates`"],
    ["just text", "1:1 : must be a mapping with the member `templates`"],
    ["templates:", "1:11 templates: must be a list"],
    ["templates: []\n---\ntemplates: []", "3:1 : the file must be one document: everything after `---` is another"],
    ["templates: []\n? [a]\n: b", "2:3 : a name must be text, not a list, a mapping or an alias"],
    ["templates:\n  - !secret {name: A}", "2:5 : Unresolved tag: !secret"],
    [
      "templates: *gone",
      '1:12 templates: no &gone before this alias. If it is a text, put the text in quotes: "*gone"',
    ],
    ["templates: &all [*all]", "1:18 templates[0]: *all contains itself"],
  ])("refuses %j with its reason", (text, fault) => assert.deepStrictEqual(faults(text), [fault]))

  it("reports only syntax faults with their positions if there are any", () => {
    assert.deepStrictEqual(faults('templates:\n  - id: "open\n  - nme: x\n'), [
      '2:9 : the quotation mark is never closed: put the text in quotes: "open"',
    ])
    const all = faults("templates:\n  - a: [1, 2\n    b: 3\n\tc: 4\n")
    assert.isAbove(all.length, 1)
    for (const fault of all) assert.match(fault, /^[234]:\d+ : /)
  })

  it.each([
    ["name: |\n          a\n          b", "7:15 templates[0].variants[0].name: must not contain control characters"],
    ["active: on", "7:17 templates[0].variants[0].active: must be true or false: write true"],
    [
      "targeting: {attribute: a, op: exists}",
      '7:20 templates[0].variants[0].targeting: must be a list: begin each element with "- " on a line of its own',
    ],
    [
      "seasons: [{starts_at: 2026-06-01, ends_at: 2026-01-01}]",
      "7:52 templates[0].variants[0].seasons[0].ends_at: must be after `starts_at`",
    ],
    [
      "targeting: [{attribute: a, op: gt, values: [many]}]",
      "7:53 templates[0].variants[0].targeting[0].values[0]: must be a decimal number for `gt`",
    ],
    [
      "targeting: [{attribute: a, op: is, values: [12345678901234567890]}]",
      "7:53 templates[0].variants[0].targeting[0].values[0]: would be compared as 12345678901234567000: put 12345678901234567890 in quotes",
    ],
    [
      "targeting: [{attribute: a, op: is, values: [.inf]}]",
      "7:53 templates[0].variants[0].targeting[0].values[0]: would be compared as Infinity: put .inf in quotes",
    ],
  ])("places the fault of %j", (members, fault) => assert.include(variantFaults(members), fault))

  it("reports a fault behind an anchor once at its origin", () => {
    assert.deepStrictEqual(
      variantFaults("targeting: &t [{attribute: a, op: like, values: [x]}]\n      - {vars: {}, targeting: *t}")
        .map((fault) => fault.slice(0, fault.indexOf(": must"))),
      ["7:43 templates[0].variants[0].targeting[0].op"],
    )
  })

  it("rejects endless nesting of every kind in linear time", () => {
    for (const opening of ["[", "{a: ", "- ", "? ", "[{a: ", "!a [", "&a ["]) {
      const all = faults(`templates: []\nx:\n  ${opening.repeat(200_000)}`)
      assert.strictEqual(all.length, 1)
      assert.match(all[0]!, /^3:\d+ : values must be nested at most 50 deep$/)
    }
    const blocks = Array.from({ length: 60 }, (_, i) => `${" ".repeat(i)}a:\n`).join("")
    assert.match(faults(blocks)[0]!, /: values must be nested at most 50 deep$/)
  })

  it("ignores brackets in text", () => {
    const text = "[".repeat(1_000)
    const indented = `${text}\n            ${text}`
    assert.deepStrictEqual(
      parsed(
        `templates:\n  - name: A\n    variants:\n      - vars:\n          a: "${text}"\n          b: |\n            ${indented}\n`,
      ),
      [{ name: "A", variants: [{ vars: { a: text, b: `${text}\n${text}\n` } }] }],
    )
  })

  it("rejects aliases that multiply", () => {
    const levels = ["a: &a [1,1,1,1,1,1,1,1,1,1]"]
    for (const [before, name] of [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"], ["e", "f"], ["f", "g"]]) {
      levels.push(`${name}: &${name} [${Array(10).fill(`*${before}`).join(",")}]`)
    }
    const all = faults(levels.join("\n"))
    assert.strictEqual(all.filter((fault) => fault.includes("must not stand for more than 100,000 values")).length, 1)
  })

  it("accepts 8 MiB of UTF-8 and rejects one byte more", () => {
    const content = "templates: []\n#"
    const fill = (bytes: number) =>
      content + "é".repeat((bytes - content.length) / 2) + "x".repeat((bytes - content.length) % 2)
    assert.deepStrictEqual(parsed(fill(8 * 1024 * 1024)), [])
    assert.deepStrictEqual(faults(fill(8 * 1024 * 1024 + 1)), ["1:1 : the file must be at most 8 MiB"])
  })

  it("reports at most 1,000 faults", () => {
    assert.strictEqual(faults(`templates:\n${"  - {a: 1, b: 1}\n".repeat(900)}`).length, 1_000)
  })

  it("never throws for any text", () => {
    const fragment = fc.constantFrom(
      ..."templates:|- |id: a|name: A|variants:|vars: {a: b}|targeting: |values: [|\n|  |    |{|}|[|]|,|: |? |#|&a |*a|!x |\"|'|>\n|--- |...|%YAML|\t|\u0000|\ud800"
        .split("|"),
    )
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: "binary" }), fc.array(fragment, { maxLength: 30 }).map((all) => all.join(""))),
        (text) => {
          for (
            const { column, line } of Result.match(TemplateFile.parse(text, "x"), {
              onSuccess: () => [],
              onFailure: (all) => all,
            })
          ) {
            assert.isAtLeast(line, 1)
            assert.isAtLeast(column, 1)
            assert.isAtMost(line, text.split("\n").length + 1)
          }
        },
      ),
      { numRuns: 2_000 },
    )
  })
})
