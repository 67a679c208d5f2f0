import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as fc from "fast-check"
import { hasControl } from "../../src/json/ControlNames.ts"
import type { Operator } from "../../src/domain/Targeting.ts"
import { idFault } from "../../src/text/Placeholders.ts"
import { Template, TemplateInput } from "../../src/domain/Template.ts"
import * as TemplateFile from "../../src/templates/TemplateFile.ts"
import { fullContent, parsed } from "./fullContent.ts"

const words = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ maxLength: 10, unit: "binary" }).filter((text) => text.isWellFormed() && !text.includes("\u0000")),
  fc.array(
    fc.constantFrom(
      " ",
      "\n",
      "\t",
      "\r",
      "a",
      "- ",
      "#",
      ": ",
      "{{ x }}",
      "'",
      '"',
      "|",
      "\u0085",
      "\u2028",
      "\ufeff",
      "---",
    ),
    { maxLength: 12 },
  )
    .map((parts) => parts.join("")),
  fc.constantFrom(
    "no",
    "on",
    "true",
    "null",
    "~",
    "",
    "123",
    "0x1F",
    "1e3",
    "01067",
    ".inf",
    "11-15",
    "=",
    "<<",
    "...",
    "a: b",
    "*a",
    "&a",
    "!a",
  ),
)

const name = fc.oneof(
  fc.constantFrom("no", "123", "true", "- a", "a: b", "Winter", "'", "#1"),
  fc.stringMatching(/^[ -~]{1,20}$/),
)
/** An id that is no placeholder, which would be refused. */
const id = name.filter((text) => idFault(text) === undefined)
const variable = fc.oneof(fc.constantFrom("subject", "body_html", "1", "null", "constructor"), words)
  .filter((text) => text.length > 0 && text !== "__proto__" && !hasControl(text))
const value = fc.oneof(words, fc.boolean(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer())

const anyCondition = fc.oneof(
  fc.record({ attribute: name, op: fc.constantFrom<Operator>("exists", "not_exists"), values: fc.constant([]) }),
  fc.record({
    attribute: name,
    op: fc.constantFrom<Operator>("in", "not_in"),
    values: fc.array(value, { minLength: 1, maxLength: 12 }),
  }),
  fc.record({ attribute: name, op: fc.constantFrom<Operator>("is", "contains"), values: value.map((one) => [one]) }),
)
const optional = { requiredKeys: [] }
const anySeason = fc.record({
  starts_at: fc.constantFrom("2026-11-15", "2026-11-15T09:00:00.5Z"),
  ends_at: fc.constant("2027-01-06T09:00"),
  annual: fc.constant({ from: "11-15", to: "01-06" }),
  days: fc.constantFrom(["mon"], ["sat", "sun"]),
  hours: fc.record({ from: fc.nat(23), to: fc.nat(24) }),
}, optional).filter(({ ends_at, starts_at }) => ends_at === undefined || starts_at !== undefined)

/** A variant with translations of its variables alone. */
const translated = <A extends { readonly vars: object; readonly locales?: Readonly<Record<string, object>> }>(one: A) =>
  one.locales === undefined ? one : {
    ...one,
    locales: Object.fromEntries(
      Object.entries(one.locales).map(([tag, texts]) => [
        tag,
        Object.fromEntries(Object.entries(texts).filter(([name]) => Object.hasOwn(one.vars, name))),
      ]),
    ),
  }

const anyVariant = fc.record({
  id,
  name,
  active: fc.boolean(),
  vars: fc.dictionary(variable, words, { maxKeys: 4 }),
  locales: fc.dictionary(fc.constantFrom("de", "de-AT", "no"), fc.dictionary(variable, words, { maxKeys: 2 }), {
    maxKeys: 2,
  }),
  formats: fc.constant({}),
  targeting: fc.array(anyCondition, { maxLength: 3 }),
  seasons: fc.array(anySeason, { maxLength: 3 }),
  components: fc.dictionary(
    fc.stringMatching(/^[a-z][a-z0-9_.-]{0,7}$/),
    fc.constantFrom("a: b", "yes", "1e3", "#", "- é"),
    {
      maxKeys: 3,
    },
  ),
}, { requiredKeys: ["vars"] }).map(translated)

const anyTemplate = fc.record({
  id,
  name,
  archived: fc.boolean(),
  strict: fc.boolean(),
  sticky_hours: fc.oneof(fc.nat(8760), fc.double({ min: 0, max: 8760, noNaN: true })),
  runner_up_floor: fc.double({ min: 0, max: 0.2, noNaN: true }),
  objective: fc.oneof(
    fc.constantFrom("click", "open", "conversion"),
    fc.record({ click: fc.constant(1), negative: fc.integer({ min: -1000, max: 0 }) }, { requiredKeys: ["click"] }),
    fc.record({ revenue: fc.constant(1), revenue_cap: fc.double({ min: 0.001, max: 1e9, noNaN: true }) }),
  ),
  locale: fc.constantFrom(null, { attribute: "no", default: "no" }, { field: "user.locale", default: "en" }),
  send_nothing: fc.boolean(),
  holdout: fc.constantFrom(null, { share: 0.05, content: "even" }, { share: 0.5, content: "fixed", copy_id: "1e3" }),
  ignore_unsubscribes: fc.boolean(),
  tracking: fc.constantFrom(null, { opens: true, clicks: false }),
  list_unsubscribe: fc.boolean(),
  link_domains: fc.array(fc.constantFrom("shop.example", "no", "1", "1e3", "0x1f", "null"), { maxLength: 12 }),
  conversion_events: fc.array(fc.constantFrom("trial_started", "no", "1", "1e3", "null"), { maxLength: 12 }),
  tags: fc.subarray(["spring", "no", "1", "null", "# ä", "חגים 🎂"]),
  owner: fc.constantFrom(null, "ada@example.com"),
  variants: fc.uniqueArray(anyVariant, { maxLength: 3, selector: ({ id }) => id ?? Symbol() }),
}, { requiredKeys: ["name"] })

const anyTemplates = fc.uniqueArray(anyTemplate, { maxLength: 3, selector: ({ id }) => id ?? Symbol() }).map(
  (templates) => Schema.decodeUnknownSync(Schema.Array(TemplateInput))(JSON.parse(JSON.stringify(templates))),
)

const decoded = (input: unknown) => Schema.decodeUnknownSync(Schema.Array(TemplateInput))(input)

describe("TemplateFile.format", () => {
  it("writes YAML in a readable form", () => {
    assert.strictEqual(
      TemplateFile.format(decoded(fullContent), "yaml"),
      `templates:
  - id: welcome-en
    name: Welcome
    locale: { field: user.language, default: en }
    tags: [ spring, no ]
    owner: ada@example.com
    archived: true
    strict: true
    ignore_unsubscribes: true
    sticky_hours: 12.5
    runner_up_floor: 0.05
    objective: { click: 1, conversion: 5, negative: -2, revenue: 0.1, revenue_cap: 200 }
    send_nothing: true
    holdout: { share: 0.05, content: fixed, copy_id: welcome-en-warm }
    tracking: { opens: false, clicks: true }
    list_unsubscribe: true
    link_domains: [ shop.example, on ]
    conversion_events: [ trial_started, no ]
    variants:
      - id: welcome-en-warm
        name: Warm
        active: false
        components:
          subject: question
          image: "A shoe: red"
        vars:
          subject: "Welcome, {{ name | default: 'you' }}"
          body_html: |
            <p>Hello</p>
            <p>Bye</p>
        locales:
          de:
            subject: Willkommen
          zh-Hant:
            body_html: |
              <p>您好</p>
        formats:
          body_html: html
        targeting:
          - { attribute: tier, op: in, values: [ Gold, 3, true ] }
          - { attribute: email, op: exists }
        seasons:
          - { starts_at: 2026-11-15, ends_at: 2027-01-06T09:00, annual: { from: 11-15, to: 01-06 } }
          - { days: [ sat, sun ], hours: { from: 22, to: 6 } }
      - vars: {}
  - name: Without more
`,
    )
  })

  it("writes JSON with the same members in the same order", () => {
    const shuffled = decoded([{ variants: [{ vars: { b: "x", a: "y" }, name: "V", id: "v" }], name: "T", id: "t" }])
    assert.strictEqual(
      TemplateFile.format(shuffled, "json"),
      `${
        JSON.stringify(
          { templates: [{ id: "t", name: "T", variants: [{ id: "v", name: "V", vars: { b: "x", a: "y" } }] }] },
          null,
          2,
        )
      }\n`,
    )
    assert.match(TemplateFile.format(shuffled, "yaml"), /id: t\n.*name: T\n.*variants:\n.*id: v\n.*name: V\n/)
  })

  it("writes long lists with one value per line", () => {
    const text = TemplateFile.format(
      decoded([{
        name: "T",
        variants: [{ vars: {}, targeting: [{ attribute: "a", op: "in", values: [1, 2, 3, 4, 5, 6, 7, 8, 9] }] }],
      }]),
      "yaml",
    )
    assert.include(text, "            values:\n              - 1\n              - 2\n")
  })

  it("writes a repeated object twice instead of an alias", () => {
    const targeting = [{ attribute: "a", op: "exists" as const, values: [] }]
    const text = TemplateFile.format(
      decoded([{ name: "T", variants: [{ vars: {}, targeting }, { vars: {}, targeting }] }]),
      "yaml",
    )
    assert.notMatch(text, /[&*]a/)
  })

  it.each(["yaml", "json"] as const)("loses nothing in %s that parse would not give back", (as) => {
    fc.assert(
      fc.property(anyTemplates, (templates) => {
        const text = TemplateFile.format(templates, as)
        assert.isTrue(text.endsWith("\n"))
        assert.deepStrictEqual(parsed(text), templates)
        assert.strictEqual(TemplateFile.format(Result.getOrThrow(TemplateFile.parse(text, "x")), as), text)
      }),
      { numRuns: 200 },
    )
  })

  it("round-trips every short text of blanks, line breaks and YAML syntax", () => {
    for (const [signs, length] of [[" \n\ta", 6], ["\n -#:", 5], ["\n>|%'\"\\", 4]] as const) {
      let texts = [""]
      const all: Array<string> = []
      for (let i = 0; i < length; i++) {
        texts = texts.flatMap((text) => [...signs].map((sign) => text + sign))
        all.push(...texts)
      }
      const variants = Array.from({ length: Math.ceil(all.length / 100) }, (_, i) => {
        const some = all.slice(i * 100, i * 100 + 100)
        return {
          vars: Object.fromEntries(some.map((text, j) => [`v${j}`, text])),
          // As elements of a list too, and within a single line.
          targeting: [{ attribute: "a", op: "in", values: some }, {
            attribute: "a",
            op: "in",
            values: some.slice(0, 8),
          }],
        }
      })
      const templates = Array.from({ length: Math.ceil(variants.length / 50) }, (_, i) => ({
        name: `T${i}`,
        variants: variants.slice(i * 50, i * 50 + 50),
      }))
      assert.deepStrictEqual(parsed(TemplateFile.format(decoded(templates), "yaml")), templates)
    }
  })

  it("writes text of several lines as a block with any indentation", () => {
    for (
      const text of ["a\nb", "a\nb\n", "a\n\n\nb\n\n", "  a\nb", "\n  a\n    b\n", "<p>\n\t<b>x</b>\n</p>", "a \nb"]
    ) {
      const yaml = TemplateFile.format(decoded([{ name: "T", variants: [{ vars: { body: text } }] }]), "yaml")
      assert.match(yaml, /body: \|/, JSON.stringify(text))
      assert.deepStrictEqual(parsed(yaml), [{ name: "T", variants: [{ vars: { body: text } }] }])
    }
  })
})

describe("TemplateFile.inputOf", () => {
  const stored = {
    id: "t",
    name: "T",
    strict: false,
    sticky_hours: 0,
    runner_up_floor: 0.1,
    locale: null,
    objective: "click",
    send_nothing: false,
    holdout: null,
    tracking: null,
    list_unsubscribe: false,
    link_domains: [],
    ignore_unsubscribes: false,
    conversion_events: [],
    tags: [],
    owner: null,
    archived_at: null,
    revision: 3,
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
    variants: [{
      id: "v",
      name: "v",
      vars: { a: "x" },
      locales: {},
      formats: {},
      active: true,
      targeting: [],
      seasons: [],
      components: {},
      created_at: "2026-01-01T00:00:00.000Z",
      updated_at: "2026-01-01T00:00:00.000Z",
    }],
  }
  const template = (changes: object) => Schema.decodeUnknownSync(Template)({ ...stored, ...changes })

  it("omits defaults and members added by the database", () => {
    assert.deepStrictEqual<unknown>(TemplateFile.inputOf(template({})), {
      id: "t",
      name: "T",
      variants: [{ id: "v", vars: { a: "x" } }],
    })
    assert.deepStrictEqual<unknown>(TemplateFile.inputOf(template({ variants: [] })), { id: "t", name: "T" })
  })

  it("keeps all other members", () => {
    const changes = {
      strict: true,
      locale: { attribute: "language", default: "en" },
      sticky_hours: 1,
      runner_up_floor: 0.05,
      objective: { click: 1 },
      holdout: { share: 0.1, content: "no_message" },
      ignore_unsubscribes: true,
      tracking: { opens: true, clicks: true },
      list_unsubscribe: true,
      link_domains: ["shop.example"],
      conversion_events: ["trial_started"],
      tags: ["spring"],
      owner: "ada@example.com",
      variants: [{
        ...stored.variants[0],
        name: "V",
        active: false,
        locales: { de: { a: "y" } },
        formats: { a: "html" },
        targeting: [{ attribute: "a", op: "exists", values: [] }],
        seasons: [{ days: ["mon"] }],
        components: { image: "shoe" },
      }],
    }
    const { created_at: _, updated_at: __, ...variant } = changes.variants[0]!
    assert.deepStrictEqual<unknown>(TemplateFile.inputOf(template({ ...changes, archived_at: stored.created_at })), {
      id: "t",
      name: "T",
      archived: true,
      ...changes,
      variants: [variant],
    })
  })
})
