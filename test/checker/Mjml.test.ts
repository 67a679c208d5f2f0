import { assert, beforeAll, describe, it } from "@effect/vitest"
import { renderEach } from "../../src/checker/Liquid.ts"
import { compileMjml, loadMjml } from "../../src/checker/Mjml.ts"
import { withoutBlockMarks } from "../../src/rendering/BlockMarks.ts"
import { checkVariant } from "../../src/checker/Variant.ts"
import { sourceLength } from "../../src/domain/Template.ts"

beforeAll(loadMjml)

const mail = (body: string, head = "") => `<mjml><mj-head>${head}</mj-head><mj-body>${body}</mj-body></mjml>`
const column = (content: string) => `<mj-section><mj-column>${content}</mj-column></mj-section>`

/** The HTML of a source, with each sequence of white space as one space. */
const htmlOf = (source: string): string => {
  const { faults, html } = compileMjml(source)
  assert.deepStrictEqual(faults, [])
  return html!.replace(/\s+/g, " ")
}

const refused = (source: string): ReadonlyArray<string> => {
  const { faults, html } = compileMjml(source)
  assert.isUndefined(html)
  return faults.map(({ column, line, message }) => `${line}:${column} ${message}`)
}

const only = (source: string): string => {
  const faults = refused(source)
  assert.lengthOf(faults, 1, faults.join("\n"))
  return faults[0]!
}

describe("Liquid in MJML", () => {
  it("stays in texts, attributes, comments and styles", () => {
    const html = htmlOf(mail(
      column(
        '<mj-text>Hi {{ name | default: "you" }}<table>{% for a in b %}<tr {% if c %}class="d"{% endif %}></tr>{% endfor %}</table></mj-text>' +
          `<mj-button href='https://x.example/?a={{ a }}&b={{ b | append: "c" }}' background-color="{{ color }}">Go</mj-button>` +
          '<mj-image src="{% if big %}big.png{% else %}small.png{% endif %}" alt="{{ alt }}" />',
      ) + "<!-- {% if secret %} --><!-- a note -->" + column("") + "<!-- {% endif %} -->",
      "<mj-title>{% if a %}A{% else %}B{% endif %}</mj-title><mj-style>.a { color: {{ css }} }</mj-style>",
    ))
    for (
      const part of [
        'Hi {{ name | default: "you" }}<table>{% for a in b %}<tr {% if c %}class="d"{% endif %}></tr>{% endfor %}</table>',
        'href="https://x.example/?a={{ a }}&b={{ b | append: "c" }}"',
        'bgcolor="{{ color }}"',
        'src="{% if big %}big.png{% else %}small.png{% endif %}"',
        "<!-- {% if secret %} -->",
        "<title>{% if a %}A{% else %}B{% endif %}</title>",
        ".a { color: {{ css }} }",
      ]
    ) assert.include(html, part)
    assert.notInclude(html, "a note")
    assert.notInclude(html, "liquidmark")
  })

  it.each([
    ["mj-body", column("")],
    ["mj-wrapper", column("")],
    ["mj-section", "<mj-column></mj-column>"],
    ["mj-group", "<mj-column></mj-column>"],
    ["mj-column", "<mj-text>a</mj-text>"],
    ["mj-hero", "<mj-text>a</mj-text>"],
    ["mj-social", '<mj-social-element name="x" href="y">a</mj-social-element>'],
    ["mj-navbar", '<mj-navbar-link href="x">a</mj-navbar-link>'],
    ["mj-accordion", "<mj-accordion-element><mj-accordion-title>t</mj-accordion-title></mj-accordion-element>"],
  ])("surrounds elements of %s, and conditions of Outlook are closed within", (name, child) => {
    const inner = `{% if a %}${child}{% else %}${child}{% endif %}`
    const element = `<${name}>${inner}</${name}>`
    const html = htmlOf(
      name === "mj-body"
        ? mail(inner)
        : ["mj-wrapper", "mj-section", "mj-hero"].includes(name)
        ? mail(element)
        : ["mj-group", "mj-column"].includes(name)
        ? mail(`<mj-section>${element}</mj-section>`)
        : mail(column(element)),
    )
    const [, first, second] = /\{% if a %\}(.*)\{% else %\}(.*)\{% endif %\}/.exec(html)!
    const tags = (text: string | undefined) => text!.match(/<!--\[if|<!\[endif\]-->|<\/?(?:table|td|tr|div)\b/g)
    assert.deepStrictEqual(tags(first), tags(second))
    const count = (pattern: RegExp) => first!.match(pattern)?.length ?? 0
    assert.strictEqual(count(/<table\b/g), count(/<\/table>/g))
    assert.strictEqual(count(/<!--\[if/g), count(/<!\[endif\]-->/g))
  })

  it("surrounds the document", () => {
    const html = htmlOf(`{% assign a = 1 %}\n${mail("")}\n{{ a }}`)
    assert.isTrue(html.startsWith("{% assign a = 1 %} <!doctype html>"))
    assert.isTrue(html.endsWith("{{ a }}"))
  })

  it("is kept in raw blocks, in captured texts and around captured elements", () => {
    const html = htmlOf(mail(
      column("<mj-text>{% raw %}{{ x }}{% endraw %}</mj-text>") + "{% capture note %}<b>hi</b>{% endcapture %}" +
        `{% capture part %}${column("<mj-text>{{ y }}</mj-text>")}{% endcapture %}{{ part }}`,
    ))
    assert.include(html, "{% raw %}{{ x }}{% endraw %}")
    assert.include(html, "{% capture note %}<b>hi</b>{% endcapture %}")
    assert.match(html, /\{% capture part %\}.*>\{\{ y \}\}<.*\{% endcapture %\} ?\{\{ part \}\}/)
  })

  it("is refused where MJML would drop it, with its place", () => {
    const refusals: ReadonlyArray<readonly [source: string, fault: RegExp]> = [
      [mail(column("\n  <mj-button {{ a }}>Go</mj-button>")), /^2:14 .*among the attributes of <mj-button>/],
      [mail("", '\n<mj-style inline="inline">.a{color:{{ c }}}</mj-style>'), /^2:36 .*inlined styles/],
      [mail("", "\n{{ a }}<mj-style>a</mj-style>"), /^2:1 .*between the elements of <mj-head>/],
      [mail(column("<mj-carousel>\n{{ a }}</mj-carousel>")), /^2:1 .*<mj-carousel>/],
      [mail(column('\n<mj-text mj-class="{{ c }}">a</mj-text>')), /^2:20 .*does not keep/],
      [
        mail(column('\n<mj-image src="a" width="{{ w }}px" />')),
        /^2:26 The attribute width of <mj-image> needs a fixed/,
      ],
      [mail("", '<mj-attributes>\n<mj-all padding="{{ p }}" /></mj-attributes>'), /^2:18 The attribute padding/],
      [mail(column("\n<mj-{{ a }}>a</mj-{{ a }}>")), /^2:1 Liquid cannot be in the name/],
    ]
    for (const [source, fault] of refusals) assert.match(only(source), fault)
  })
})

describe("MJML", () => {
  it("is refused where it is wrong, with its place and what to write", () => {
    const refusals: ReadonlyArray<readonly [source: string, fault: RegExp]> = [
      ["<p>Hi</p>", /^1:1 is not MJML: write <mjml>/],
      ["<mjml><mj-head></mj-head></mjml>", /^1:1 has no <mj-body>/],
      [mail("\n</mj-section>"), /^2:1 <\/mj-section> does not close <mj-body> of line 1/],
      ["<mjml><mj-body>\n<mj-section>", /^2:1 <mj-section> is not closed/],
      [mail('\n<mj-section css-class="a>'), /^2:1 This tag is not closed/],
      [mail("\n hello"), /^2:2 MJML drops text between elements/],
      [`${mail("")}\nrest`, /^2:1 MJML drops text outside/],
      [mail(column("\n<br>")), /^2:1 <br> is not an element of MJML/],
      [mail("{{ a\n}}\n <mj-text>a</mj-text>"), /^3:2 <mj-text>: mj-text cannot be used inside mj-body/],
      [mail(column('\n<mj-include path="/etc/passwd" />')), /^2:1 mj-include is not supported/],
      [`<mjml><mj-body></mj-body>\n<mj-body></mj-body></mjml>`, /^2:1 is the second <mj-body>/],
      [`<mjml>\n${column("")}<mj-body></mj-body></mjml>`, /^2:1 <mj-section> belongs into <mj-body>/],
    ]
    for (const [source, fault] of refusals) assert.match(only(source), fault)
  })

  it("is saved with warnings about attributes that MJML ignores", () => {
    const { html, warnings } = compileMjml(mail(column('\n<mj-text foo="1" color="nope">a</mj-text>')))
    assert.isString(html)
    assert.deepStrictEqual(warnings.map(({ column, line, message }) => `${line}:${column} ${message}`), [
      "2:1 <mj-text>: Attribute foo is illegal",
      "2:1 <mj-text>: Attribute color has invalid value: nope",
    ])
  })

  it("is saved with a warning if a condition holds a part of an element", () => {
    const whole = "<mj-section><mj-column><mj-text>a</mj-text></mj-column></mj-section>"
    const warningsOf = (body: string) => compileMjml(mail(body)).warnings.map(({ message }) => message)
    assert.match(
      warningsOf("{% if a %}<mj-section><mj-column>{% endif %}<mj-text>a</mj-text></mj-column></mj-section>").join(),
      /^This block contains the beginning of <mj-section> <mj-column>, and not its end/,
    )
    assert.match(warningsOf(column("<mj-text>{% if a %}</mj-text>") + "{% endif %}").join(), /the end of <mj-section>/)
    assert.match(warningsOf(`{% if a %}<mj-wrapper>{% else %}${whole}</mj-wrapper>{% endif %}`).join(), /the end of/)
    for (
      const even of [
        `{% if a %}<mj-wrapper>{% endif %}${whole}{%- if a %}</mj-wrapper>{% endif %}`,
        column("{% if a %}<mj-text>a</mj-text></mj-column><mj-column>{% else %}{% endif %}<mj-text>b</mj-text>"),
        `<mj-raw>{% if a %}</mj-raw>${whole}{% endif %}`,
        column("<mj-text>{% if a %}</mj-text><mj-text>{% endif %}</mj-text>"),
      ]
    ) assert.deepStrictEqual(warningsOf(even), [])
  })

  it("that HTML would read in another way is refused", () => {
    const quoted = mail(column(`<mj-image src="a" alt='Say "hi" {{ a | default: "b" }}' />`))
    assert.match(only(quoted), /^1:\d+ The attribute alt of <mj-image> contains ", which ends it in HTML: write &quot;/)
    assert.include(htmlOf(quoted.replace('"hi"', "&quot;hi&quot;")), 'alt="Say &quot;hi&quot; {{ a | default: "b" }}"')
    assert.match(only(mail(column("<mj-text><![CDATA[a]]></mj-text>"))), /<!\[CDATA\[ hides its content/)
  })

  it("that would need much time or memory is refused", () => {
    const sections = (count: number) => mail(column("<mj-text>a</mj-text>").repeat(count))
    assert.match(only(sections(1_000)), /more than 2000 elements/)
    assert.match(only(sections(400)), new RegExp(`compiles to HTML of \\d+ characters. The limit is ${sourceLength}`))
    assert.match(only(mail("<mj-wrapper>".repeat(20_000))), /more than 40 elements in one another/)
    const long = `<mj-text css-class="${"a".repeat(100_000)}">a</mj-text>`
    assert.match(only(mail(column(long))), /css-class is longer than 65536/)
    const many = Array.from({ length: 40_000 }, (_, index) => `a${index}="1"`).join(" ")
    assert.match(only(mail(column(`<mj-text ${many} />`))), /more than 100 attributes/)
    const copied = `<mj-attributes><mj-all font-family="${"f".repeat(1_100)}" /></mj-attributes>`
    assert.match(only(mail("", copied)), /font-family is longer than 1000/)
    assert.match(only(mail(column("<".repeat(100_000)))), /is not an element of MJML/)
    assert.match(only(mail(column("<!--".repeat(100_000)))), /is not an element of MJML/)
  })

  it("with styles that MJML would inline for seconds is refused", () => {
    const inlined = (css: string, tags: number, html = "<i></i>") =>
      mail(column(`<mj-text>${html.repeat(tags)}</mj-text>`), `<mj-style inline="inline">\n${css}</mj-style>`)
    const rules = (count: number) => Array.from({ length: count }, (_, index) => `i{a${index}:b}`).join(" ")
    assert.include(htmlOf(inlined(rules(50), 500)), 'style="a0: b;')
    const bombs: ReadonlyArray<readonly [source: string, fault: RegExp]> = [
      [
        inlined(rules(2_000), 4_000),
        /^1:\d+ \d+ characters of inlined styles cannot be written into about 40\d\d HTML/,
      ],
      [inlined(`i{${"a:b;".repeat(3_000)}}`, 500), /characters of inlined styles/],
      [inlined("p:nth-child(odd){a:b}".repeat(20), 5_000), /characters of inlined styles/],
      [inlined("q ~ i ~ i ~ i {a:b}", 60), /^2:3 Inlined styles cannot select the later siblings of an element \(~\)/],
      [inlined("div:has(div:has(q)){a:b}", 60), /^2:4 Inlined styles cannot select an element by its content/],
      [inlined(`i{a:${"x".repeat(900)}}`, 60), /^2:5 Inlined styles cannot contain a word of more than 100/],
      [inlined("b{a:b}", 5_000, "<b>"), /more than 1000 HTML elements in one another/],
      [
        mail(
          column(`<mj-raw>${"<p></p>".repeat(5_000)}</mj-raw>`),
          `<mj-html-attributes><mj-selector path="p"><mj-html-attribute name="x">${"y".repeat(2_000)}` +
            "</mj-html-attribute></mj-selector></mj-html-attributes>",
        ),
        /characters of inlined styles/,
      ],
    ]
    for (const [source, fault] of bombs) assert.match(only(source), fault)
    assert.include(htmlOf(inlined('[class~="a"]{a:b}', 1, '<i class="a"></i>')), 'style="a: b;"')
  })

  it("with defaults, classes, fonts or nested HTML that would need seconds is refused", () => {
    const classes = (count: number, uses: number) =>
      mail(
        column(`<mj-text mj-class="${"a ".repeat(uses)}" />`.repeat(20)),
        `<mj-attributes><mj-class name="a" ${Array.from({ length: count }, (_, at) => `b${at}="1"`).join(" ")} />` +
          "</mj-attributes>",
      )
    assert.isString(compileMjml(classes(90, 20)).html)
    assert.match(only(classes(90, 800)), /^1:\d+ has 91 defaults for 160\d\d elements and classes/)
    const fonts = (name: string, count: number) => mail("", `<mj-font name="${name}" href="a" />`.repeat(count))
    assert.isString(compileMjml(fonts("Open Sans", 10)).html)
    assert.match(only(fonts("a", 31)), /more than 30 fonts/)
    assert.match(only(fonts("(a+)+$", 1)), /name of a font can contain letters/)
    assert.match(only(mail(column(`<mj-text>${"<b>".repeat(100_000)}</mj-text>`))), /more than 1000 HTML elements/)
    assert.isString(compileMjml(mail(column(`<mj-table>${"<tr><td>x".repeat(5_000)}</mj-table>`))).html)
  })

  it("places faults of its HTML in the source", () => {
    const source = mail(
      `\n ${column('<mj-text>{{ first }}</mj-text>\n  <mj-button href="{{ second }}">Go</mj-button>')}`,
    )
    const { html, placeOf } = compileMjml(source)
    const lines = html!.split("\n")
    const line = lines.findIndex((one) => one.includes("{{ second }}"))
    assert.deepStrictEqual(placeOf(line + 1, lines[line]!.indexOf("{{ second }}") + 4), { line: 3, column: 23 })
    assert.deepStrictEqual(placeOf(1, 1), { line: 1, column: 1 })
  })

  it("is checked after its Liquid, and its HTML keeps the limits of Liquid", () => {
    const check = (body: string) => checkVariant({ vars: { body }, formats: { body: "mjml" } })
    const sound = check(mail(column("<mj-text>{{ name }}</mj-text>")))
    assert.deepStrictEqual([sound.faults, sound.compiled.length], [[], 1])
    assert.match(check(mail("{% if a %}")).faults[0]!.message, /if/)
    const repeated = `<mj-section background-url="{{ a${"a".repeat(60_000)} }}"></mj-section>`
    const { compiled, faults } = check(mail(repeated))
    assert.deepStrictEqual([faults.length, compiled], [1, []])
    assert.match(faults[0]!.message, /above 131072 characters/)
  })
})

describe("Marks of the blocks in a preview", () => {
  const source = mail(
    '<mj-section css-class="top"><mj-column><mj-text>Hi {{ name }}</mj-text><mj-button href="{{ url }}">Go</mj-button></mj-column></mj-section>' +
      '{% if vip %}<mj-wrapper><mj-section><mj-group><mj-column><mj-image src="a.png" /></mj-column></mj-group></mj-section></mj-wrapper>{% endif %}' +
      "<mj-hero><mj-text>Big</mj-text></mj-hero>",
  )

  it("name the offset of each element, and leave everything else as it is sent", () => {
    const { faults, html = "" } = compileMjml(source, true)
    assert.deepStrictEqual(faults, [])
    const names = [...html.matchAll(/<!--block (\d+)-->/g)].map(([, at]) =>
      /^<([\w-]+)/.exec(source.slice(Number(at)))?.[1]
    )
    assert.deepStrictEqual(names, [
      "mj-section",
      "mj-column",
      "mj-text",
      "mj-button",
      "mj-wrapper",
      "mj-section",
      "mj-group",
      "mj-column",
      "mj-image",
      "mj-hero",
      "mj-text",
    ])
    // Only Outlook reads the comments that the marks keep apart.
    const shown = (text: string) =>
      withoutBlockMarks(text).replace(/<!--\[if[^]*?<!\[endif\]-->/g, "").replace(/\s+/g, "")
    assert.strictEqual(shown(html), shown(htmlOf(source)))
    assert.notInclude(htmlOf(source), "<!--block")
  })

  it("are in the preview alone", () => {
    const [rendered] = renderEach({
      variants: [{ vars: { body: source, subject: "For {{ name }}" }, formats: { body: "mjml" } }],
      fields: '{"name":"Ann","url":"https://shop.example"}',
      strict: true,
      now: 0,
      timeZone: "UTC",
      check: "draft",
      showsBlocks: true,
    })
    assert.isTrue(rendered !== undefined && "vars" in rendered)
    const { compiled, marked, vars } = rendered as Extract<typeof rendered, { readonly vars: object }>
    assert.notInclude(JSON.stringify(vars), "<!--block")
    assert.deepStrictEqual(Object.keys(marked), ["body"])
    assert.include(marked["body"], `<!--block ${source.indexOf("<mj-text")}-->`)
    assert.strictEqual(compiled["body"], compileMjml(source).html!.length)
  })

  it("keep the places of warnings", () => {
    const wrong = mail(column('<mj-text colour="red">a</mj-text>'))
    assert.deepStrictEqual(compileMjml(wrong, true).warnings, compileMjml(wrong).warnings)
  })
})
