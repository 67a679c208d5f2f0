import { assert, describe, it } from "@effect/vitest"
import { Option, Result } from "effect"
import { checkSources } from "../../src/rendering/CheckSources.ts"
import { convert } from "../../src/rendering/conversion/Conversion.ts"
import { strftimeOf } from "../../src/rendering/conversion/DatePatterns.ts"
import { NoEquivalent } from "../../src/rendering/conversion/Expression.ts"
import { refusalOf } from "../../src/rendering/conversion/Refusal.ts"
import * as Renderer from "../../src/rendering/Renderer.ts"
import { jinjaMessages, klaviyoMessages } from "./conversion/djangoMessages.ts"
import { iterableMessages, sendgridMessages } from "./conversion/handlebarsMessages.ts"
import { brazeMessages, customerioMessages, otherLiquidMessages } from "./conversion/liquidMessages.ts"
import { foundMessages } from "./conversion/foundMessages.ts"
import type { Message } from "./conversion/message.ts"
import { publishedMessages } from "./conversion/publishedMessages.ts"
import { ampScriptMessages, mergeTagMessages, placeholderMessages } from "./conversion/otherMessages.ts"

const all: ReadonlyArray<readonly [string, Message]> = Object.entries({
  Braze: brazeMessages,
  "Customer.io": customerioMessages,
  "other Liquid": otherLiquidMessages,
  Iterable: iterableMessages,
  "other Handlebars": sendgridMessages,
  Klaviyo: klaviyoMessages,
  Jinja: jinjaMessages,
  Mailchimp: mergeTagMessages,
  "Marketing Cloud": ampScriptMessages,
  placeholders: placeholderMessages,
  published: publishedMessages,
  found: foundMessages,
}).flatMap(([group, messages]) =>
  Object.entries(messages).map(([name, message]) => [`${group}, ${name}`, message] as const)
)

/** The snippets that messages render. Each shows its id and its year. */
const snippetsOf = (liquid: string) =>
  new Map(
    [...liquid.matchAll(/render '([^']+)'/g)].map((
      [, id],
    ) => [id!, { text: `SNIPPET ${id}{{ year | default: "" }}`, format: "html" as const }]),
  )

const rendered = (liquid: string, format: "text" | "html", fields: Readonly<Record<string, unknown>>): string => {
  const parsed = Result.getOrThrow(Renderer.parseVars({ text: liquid }, { text: format }))
  return Result.getOrThrow(
    Renderer.render(parsed, fields, { strict: false, now: 0, snippets: snippetsOf(liquid) }),
  )["text"]!
}

describe("conversion", () => {
  it.each(all)(
    "converts or refuses with its remedy: %s",
    (_, { check = [], format = "html", from, mend = [], shows = [], source }) => {
      const { findings, liquid } = convert(source, from, format)
      const found = findings.filter(({ state }) => state === "mend").map(({ message }) => message)
      assert.strictEqual(found.length, mend.length, `${liquid}\n${found.join("\n")}`)
      for (const [at, words] of mend.entries()) assert.match(found[at]!, words)
      const doubts = findings.filter(({ state }) => state === "check").map(({ message }) => message).join("\n")
      for (const words of check) assert.match(doubts, words)
      const snippets = snippetsOf(liquid)
      const { faults } = checkSources({ vars: { text: liquid }, formats: { text: format }, snippets })
      assert.strictEqual(faults.length === 0, mend.length === 0, `${liquid}\n${JSON.stringify(faults)}`)
      for (const [fields, text] of shows) assert.strictEqual(rendered(liquid, format, fields), text, liquid)
    },
  )
})

describe("a converted message", () => {
  it.each(all)("is the same after a second conversion: %s", (_, { format = "html", from, source }) => {
    const { liquid } = convert(source, from, format)
    assert.strictEqual(convert(liquid, from, format).liquid, liquid)
  })
})

/** Returns numbers from 0 to `below`, the same in each run. */
const randomFrom = (seed: number) => {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % below
  }
}

type Fields = Readonly<Record<string, unknown>>
interface Tested {
  readonly python: string
  readonly amp: string
  readonly holds: (fields: Fields) => boolean
}

const isMissing = (value: unknown) =>
  value === undefined || value === null || value === false || value === 0 || value === "" ||
  (Array.isArray(value) && value.length === 0)

const randomTest = (random: (below: number) => number, depth: number): Tested => {
  const name = "abcd"[random(4)]!
  if (depth === 0 || random(4) === 0) {
    if (random(2) === 0) {
      return { python: name, amp: `NOT Empty(@${name})`, holds: (fields) => !isMissing(fields[name]) }
    }
    return { python: `${name} == 1`, amp: `@${name} == 1`, holds: (fields) => fields[name] === 1 }
  }
  const left = randomTest(random, depth - 1)
  if (random(4) === 0) {
    return { python: `not (${left.python})`, amp: `NOT (${left.amp})`, holds: (fields) => !left.holds(fields) }
  }
  const right = randomTest(random, depth - 1)
  const isAnd = random(2) === 0
  const joined = (one: string, other: string) => `(${one}) ${isAnd ? "and" : "or"} (${other})`
  return {
    python: joined(left.python, right.python),
    amp: joined(left.amp, right.amp),
    holds: isAnd
      ? (fields) => left.holds(fields) && right.holds(fields)
      : (fields) => left.holds(fields) || right.holds(fields),
  }
}

describe("conditions", () => {
  it("hold for the same people as on their platform, in all groupings", () => {
    const values = [undefined, null, 0, 1, "", "0", "x", [], ["x"], false, true]
    const random = randomFrom(7)
    for (let round = 0; round < 150; round++) {
      const { amp, holds, python } = randomTest(random, 3)
      const jinja = convert(`{% if x == 1 %}-{% elif ${python} %}A{% else %}B{% endif %}`, "hubspot", "text").liquid
      const script = convert(
        `%%[ IF @x == 1 THEN ]%%-%%[ ELSEIF ${amp} THEN ]%%A%%[ ELSE ]%%B%%[ ENDIF ]%%`,
        "sfmc",
        "text",
      )
      for (let person = 0; person < 6; person++) {
        const fields = Object.fromEntries([..."abcd"].flatMap((name) => {
          const value = values[random(values.length)]
          return value === undefined ? [] : [[name, value]]
        }))
        const expected = holds(fields) ? "A" : "B"
        assert.strictEqual(rendered(jinja, "text", fields), expected, `${python}\n${jinja}\n${JSON.stringify(fields)}`)
        // Marketing Cloud has no number 0 that is missing.
        if (Object.values(fields).includes(0)) continue
        assert.strictEqual(rendered(script.liquid, "text", fields), expected, `${amp}\n${script.liquid}`)
      }
    }
  })
})

describe("date patterns", () => {
  it.each(
    [
      ["java", "EEEE, dd.MM.yyyy 'um' HH:mm", "%A, %d.%m.%Y um %H:%M"],
      ["java", "YYYY-DDD", "%G-%j"],
      ["moment", "dddd, MMMM Do YYYY [at] h:mm a", "%A, %B %-d%q %Y at %-I:%M %P"],
      ["net", "dddd d MMM yyyy h:mm tt", "%A %-d %b %Y %-I:%M %p"],
      ["php", "l, jS F Y \\a\\t g:i a", "%A, %-d%q %B %Y at %-I:%M %P"],
      ["django", "D j M y", "%a %-d %b %y"],
    ] as const,
  )("become directives: %s %s", (style, pattern, expected) => {
    assert.strictEqual(strftimeOf(pattern, style), expected)
  })

  it.each([["django", "P"], ["net", "f"], ["java", "QQQ"], ["moment", "dd"]] as const)(
    "are refused with a letter that has no directive: %s %s",
    (style, pattern) => {
      const refused = Result.try({ try: () => strftimeOf(pattern, style), catch: (error) => error })
      assert.instanceOf(Result.getFailure(refused).pipe(Option.getOrThrow), NoEquivalent)
    },
  )
})

describe("hostile copy", () => {
  it("is refused if it is no text or too long", () => {
    assert.match(refusalOf("\u0000\u0001PNG")!, /no text: the character U\+0000 is at offset 0/)
    assert.match(refusalOf("a\ufffd")!, /U\+FFFD is at offset 1/)
    assert.match(refusalOf("x".repeat(524_289))!, /longer than 524288 characters/)
    assert.isUndefined(refusalOf("Grüße\r\n\t👋"))
  })

  const bombs: ReadonlyArray<readonly [string, string]> = [
    ["open blocks", "{{#if a}}".repeat(300)],
    ["open tags", "{% if a %}{% for x in y %}".repeat(200)],
    ["open merge tags", "*|IF:A|*".repeat(1_000)],
    ["open AMPscript", `%%[ ${"IF @a == 1 THEN ".repeat(1_000)} ]%%`],
    ["brackets", `{{ ${"(".repeat(5_000)}a }}{{#if ${"(not ".repeat(5_000)}a}}`],
    ["nested functions", `%%=${"Concat(".repeat(1_500)}=%%`],
    ["negations", `{% if ${"not ".repeat(1_500)}a %}x{% endif %}`],
    ["unclosed braces", "{{".repeat(5_000)],
    ["unclosed comments", "{{!--".repeat(5_000)],
    ["half tags", "{% {{ {# %%[ %%= *| [[ ".repeat(300)],
    ["quotes", `{{ a|default:"${"'".repeat(5_000)} }}`],
    ["closing tags", "{{/if}}{% endif %}%%[ENDIF]%%*|END:IF|*".repeat(200)],
    [
      "names of objects",
      "{{ constructor.prototype }} {{__proto__}} {{#each constructor}}{{toString}}{{/each}} %%=constructor(1)=%%",
    ],
  ]

  it.each(bombs)("ends with findings and never with an exception: %s", (_, source) => {
    for (const from of ["braze", "iterable", "klaviyo", "mailchimp", "sfmc", "activecampaign"] as const) {
      const { findings, liquid } = convert(source, from, "html")
      assert.isAtMost(findings.length, 200)
      assert.isAtMost(liquid.length, source.length * 20 + 1_000)
    }
  })
})
