import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { noRules } from "../../src/domain/Suggestion.ts"
import {
  type CheckContext,
  checkRendered,
  checkSources,
  hostsIn,
  readDrafts,
  visibleText,
} from "../../src/suggestions/DraftChecks.ts"

const context: CheckContext = {
  variables: [{ name: "subject", format: "text", max_length: 20 }, { name: "body", format: "html" }],
  rules: { ...noRules, forbidden_words: ["free", "no risk", "50 % off"], required_phrases: ["Terms apply"] },
  existing: [{ name: "Plain", vars: { subject: "Hello there!", body: "<p>Hi</p>" } }],
  sources: ["{% if vip %}{{ user.first_name | default: 'you' }}{% endif %} https://shop.example/sale"],
}

const reasons = (subject: unknown, body: unknown = "<p>Text</p>") => {
  const result = checkSources({ name: "One", vars: { subject, body } }, context)
  return Result.isSuccess(result) ? [] : result.failure
}

describe("the answer of a model", () => {
  it("is read with text and code fences around it, and nothing else", () => {
    const drafts = [{ name: "A\nB", vars: { subject: 1 } }, { vars: {} }]
    const json = JSON.stringify({ drafts, tool: "rm" })
    const read = [{ name: "A B", vars: { subject: 1 } }, { name: "Suggestion 2", vars: {} }]
    assert.deepStrictEqual(readDrafts(json), read)
    assert.deepStrictEqual(readDrafts("Sure!\n```json\n" + json + "\n```\nAnything else?"), read)
    for (const text of ["", "I cannot", "[]", '{"drafts":{}}', '{"drafts":["x"]}', "}{", "{".repeat(100_000)]) {
      assert.isUndefined(readDrafts(text), text.slice(0, 20))
    }
    assert.strictEqual(readDrafts(JSON.stringify({ drafts: Array(100).fill({ vars: {} }) }))!.length, 8)
  })
})

describe("the source of a draft", () => {
  it("may use the fields and links of the template, and names of its own tags", () => {
    const body = "{% assign who = user.first_name %}{% for i in user.items %}{{ i }}{% endfor %}{{ who }} " +
      "<a href='https://shop.example/new'>{{ unsubscribe_url }}</a>"
    assert.deepStrictEqual(reasons("{{ user.first_name }}", body), [])
  })

  it("is refused for everything else", () => {
    assert.deepStrictEqual(reasons("", undefined), ["subject: has no text"])
    assert.deepStrictEqual(reasons({ toString: "x" }), ["subject: has no text"])
    assert.deepStrictEqual(reasons("a\u0000"), ["subject: contains characters that cannot be stored"])
    assert.deepStrictEqual(reasons("<b>Hi</b>"), ["subject: contains HTML, and its format is text"])
    assert.deepStrictEqual(reasons("{{ password }}"), [
      "subject: uses the field password, which no variant of the template uses",
    ])
    assert.deepStrictEqual(reasons("hello  THERE"), [])
    assert.deepStrictEqual(reasons("hello  THERE", "<p>hi</p>"), ['is the same as "Plain"'])
    assert.deepStrictEqual(reasons("It is FREE", "<p>No Risk, 50 % off</p>"), [
      'contains the forbidden "free"',
      'contains the forbidden "no risk"',
      'contains the forbidden "50 % off"',
    ])
    assert.deepStrictEqual(reasons("Freedom, freely"), [])
  })

  for (
    const liquid of [
      "{% assign x = password %}{{ x }}",
      "{% assign password = password %}{{ password }}",
      "{%echo password%}",
      "{{-password}}",
      '{{ "" | append: password }}',
      "{% for i in (1..password) %}x{% endfor %}",
      "{% if vip and password == 'x' %}x{% endif %}",
    ]
  ) {
    it(`is refused for ${liquid}`, () => {
      assert.include(reasons(liquid), "subject: uses the field password, which no variant of the template uses")
    })
  }

  it("is refused for a field whose name is hidden", () => {
    assert.include(reasons(`{{ "}}" | append: password }}`), 'subject: hides the name of a field with "')
    assert.include(reasons(`{{ ["password"] }}`), "subject: hides the name of a field with [")
  })

  it("may use filters, parameters, keywords and members", () => {
    const body =
      "{%- for i in user.items reversed limit: 3 offset:1 -%}{{ forloop.index |  plus: 1 }} {{ i['a b'].name }}" +
      "{%- endfor -%}{% if vip == true or user.x contains 'y' %}{{- user['z'] | default: 'it\"s', allow_false: true -}}{% endif %}"
    assert.deepStrictEqual(reasons("{% assign größe = 1 %}{{ größe }}", body), [])
  })

  for (
    const html of [
      "<script>x</script>",
      "< /script>",
      "<iframe src=x>",
      "<img src=x onerror=alert(1)>",
      "<a href='javascript:alert(1)'>x</a>",
      "<form action=/x>",
      "<svg/onload=alert(1)>",
      '<img src="x"onerror=alert(1)>',
      "<a href='java&#115;cript&colon;alert(1)'>x</a>",
      "<a href='java&Tab;script:alert(1)'>x</a>",
      "<a href='java\nscript:alert(1)'>x</a>",
      "<a href='data:text/html,x'>x</a>",
      "<base href=x>",
    ]
  ) {
    it(`is refused for ${html}`, () => {
      assert.include(reasons("Hi", html).join(), "body: contains a script, a form or an embedded page")
    })
  }

  for (
    const link of [
      "https://evil.example/",
      "HTTPS:evil.example",
      "https:\\\\evil.example",
      "//evil.example/x",
      "www.evil.example",
      "https://shop.example@evil.example/",
      "&#104;ttps&#x3a;//evil.example",
      "https&colon;&sol;&sol;evil&period;example",
    ]
  ) {
    it(`is refused for a link as ${link}`, () => {
      assert.match(reasons("Hi", `<a href="${link}">x</a>`).join(), /evil\.example, which no variant/)
    })
  }

  it("is checked in linear time", () => {
    const long = ["{{", "{%", "<", "< ", "<!--", "<style>", "https:", "//", "&#", " on", "{{ a"]
    for (const part of long) {
      const text = part.repeat(10_000)
      assert.isAtMost(hostsIn(text).size, 1)
      assert.isAtMost(visibleText(text).length, text.length)
      reasons(text.slice(0, 20_000), text.slice(0, 20_000))
    }
  })
})

describe("a rendered draft", () => {
  const check = (vars: Record<string, string>, fields = "{}", others = ["<p>Terms apply</p>"]) =>
    checkRendered(vars, { fields, others }, context)

  it("is measured as people see it", () => {
    const body = `<style>p { color: red }</style><!-- free --><p title="${"x".repeat(100)}">Hi&nbsp;<b>you</b></p>`
    assert.strictEqual(visibleText(body), "Hi you")
    assert.deepStrictEqual(check({ subject: "👋".repeat(20), body }), [])
    assert.deepStrictEqual(check({ subject: "x".repeat(21), body }), [
      "subject: has 21 characters, and at most 20 are allowed",
    ])
    assert.deepStrictEqual(check({ subject: "Hi", body: "<p> </p>" }), ["body: is empty once it is rendered"])
    assert.deepStrictEqual(check({ subject: "Hi", body: "<p>fr<b>ee</b></p>" }), ['contains the forbidden "free"'])
    assert.deepStrictEqual(check({ subject: "Hi", body }, "{}", []), ['lacks the required "Terms apply"'])
    assert.deepStrictEqual(check({ subject: "Hi, terms apply", body }, "{}", []), [])
    assert.deepStrictEqual(check({ subject: "Hi", body: "x".repeat(40_000) }), [
      "is longer than 40,000 characters once it is rendered",
    ])
  })

  it("may link to sites of the template and of the person's fields", () => {
    const linked = { subject: "Hi", body: "<a href='https://cdn.example/x'>x</a>" }
    assert.deepStrictEqual(check(linked), ["body: links to another site once it is rendered"])
    assert.deepStrictEqual(check(linked, JSON.stringify({ picture: "https://cdn.example/a.png" })), [])
  })
})
