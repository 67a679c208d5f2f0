import { assert } from "@effect/vitest"
import { describe, it } from "vitest"
// @ts-types="./mjmlComponents.d.ts"
import { components } from "mjml-preset-core"
import { compileMjml, loadMjml } from "../../../src/checker/Mjml.ts"
import { attributeTypes, endingTags } from "../../../src/checker/mjml.js"
import {
  add,
  addSnippet,
  alone,
  apply,
  duplicate,
  type Edit,
  elementKinds,
  move,
  moveTo,
  remove,
  sectionKinds,
  setAttribute,
  setContent,
} from "../../../src/console/blocks/Edits.ts"
import { fieldsOf, initialValues, shownValue, titleOf } from "../../../src/console/blocks/Forms.ts"
import { type Block, type Outline, outlineOf, textElements, valueOf } from "../../../src/console/blocks/Outline.ts"
import { bodyOf } from "../../../src/console/pages/snippets/BlockHtml.ts"
import { messages } from "./messages.ts"

const outlined = (source: string): Outline => {
  const outline = outlineOf(source)
  assert.isDefined(outline, source)
  return outline!
}

const message = (name: string) => outlined(messages.get(name)!)

/** All blocks below `mj-body`. */
const all = ({ body }: Outline): ReadonlyArray<Block> => {
  const below = (block: Block): ReadonlyArray<Block> => block.children.flatMap((child) => [child, ...below(child)])
  return below(body)
}

/** The outline as lines, each indented by its depth. */
const shown = (outline: Outline): ReadonlyArray<string> => {
  const lines = (block: Block, depth: number): ReadonlyArray<string> =>
    block.children.flatMap((child) => {
      const { excerpt, name } = titleOf(outline, child)
      return [`${"  ".repeat(depth)}${name}${excerpt && `: ${excerpt}`}`, ...lines(child, depth + 1)]
    })
  return lines(outline.body, 0)
}

describe("outline of a message", () => {
  it("shows sections, columns, elements and the Liquid around them", () => {
    assert.deepStrictEqual(shown(message("offer")), [
      "Section",
      "Section",
      "  Column",
      "    Text: Your company",
      "Section",
      "  Column",
      "    Heading: 20% off, until Sunday",
      "    Text: Hello there, we chose these for you.",
      "For each product in products limit: 3",
      "  Section",
      "    Column",
      "      Only if product.image_url",
      "        Image: product.name",
      "    Column",
      "      Text: product.name",
      "      Text: product.price",
      "      Button: View",
      "Section",
      "  Column",
      "    Text: Your code: WELCOME20",
      "    Button: Shop the offer",
      "Section",
      "  Column",
      "    Text: Your company · Street 1, 12345 City You get this e-mail because you subscribed …",
    ])
    assert.deepStrictEqual(shown(message("branches")), [
      'Only if tier == "gold"',
      "  Section",
      "    Column",
      "      Text: Gold for first_name",
      '  otherwise, if tier == "<silver>"',
      "  Section",
      "    Column",
      "      Text: Silver",
      "  otherwise",
      "  Section",
      "    Column",
      "      Text: All",
      "Code: {% assign year = 2026 %}",
      "Code: {% render 'footer', year: year %}",
      "Section",
      "  Column",
      "    Depending on plan",
      '      if "a"',
      "      Text: A",
      "      otherwise",
      "      Text: B",
    ])
    assert.deepStrictEqual(shown(message("elements without a form")).map((line) => line.trim()), [
      "Section",
      "Column",
      "Code: social",
      "Code: table",
      "Code: raw",
      "Image: Shoes",
      "Section",
      "Column",
      "Code: navbar",
    ])
  })

  it("has the places of blocks in the source, with the comments before them", () => {
    for (const [name, source] of messages) {
      const outline = outlined(source)
      for (const { attributes, children, content, from, kind, name: element, tag, to } of all(outline)) {
        const text = source.slice(from, to)
        if (element === "") assert.match(text, /^\{%[^]*%\}$|^\{\{/, name)
        else {
          assert.match(text.replace(/^(?:<!--[^]*?-->\s*)*/, ""), new RegExp(`^<${element}[^]*>$`, "i"), name)
          assert.match(source.slice(...tag), /^<[^]*>$/, name)
        }
        for (const one of attributes) assert.include(source.slice(one.from, one.to).toLowerCase(), one.name, name)
        assert.isTrue(
          children.every((child) => child.from >= content![0] && child.to <= content![1]),
          `${name} ${kind}`,
        )
      }
    }
    const { source } = message("comments and Windows lines")
    const [first, second] = message("comments and Windows lines").body.children
    assert.isTrue(source.slice(first!.from).startsWith("<!-- Header"))
    assert.isTrue(source.slice(second!.from).startsWith("<!-- Two"))
  })

  it("shows blocks as code where Liquid opens in one element and closes in another", () => {
    const uneven = outlined(
      `<mjml><mj-body><mj-section><mj-column>{% if a %}</mj-column><mj-column>{% endif %}</mj-column>
      </mj-section><mj-section><mj-column><mj-text>{% if a %}</mj-text><mj-text>{% endif %}</mj-text></mj-column>
      </mj-section></mj-body></mjml>`,
    )
    assert.deepStrictEqual(shown(uneven), ["Code: section", "Section", "  Code: column"])
  })

  it("refuses sources that it cannot read, in linear time", () => {
    const deep = (count: number) => "<mj-section>".repeat(count) + "</mj-section>".repeat(count)
    for (
      const source of [
        "",
        "<p>Hello</p>",
        "<mjml></mjml>",
        "<mjml><mj-body/></mjml>",
        "<mjml><mj-body><mj-section></mj-body></mjml>",
        "<mjml><mj-body><mj-section></mj-column></mj-body></mjml>",
        "<mjml><mj-body><mj-text>",
        '<mjml><mj-body><mj-text color="></mj-text></mj-body></mjml>',
        "<mjml><mj-body>{% if a %}</mj-body></mjml>",
        "<mjml><mj-body>{% endif %}</mj-body></mjml>",
        "<mjml><mj-body>{% else %}</mj-body></mjml>",
        `<mjml><mj-body>${deep(50)}</mj-body></mjml>`,
        `<mjml><mj-body>${"<mj-section>".repeat(10_000)}`,
        `<mjml><mj-body>${"<!--".repeat(20_000)}`,
        `<mjml ${'a="'.repeat(20_000)}`,
        `<mjml><mj-body>${"{% if a %}".repeat(10_000)}</mj-body></mjml>`,
      ]
    ) assert.isUndefined(outlineOf(source), source.slice(0, 80))
    const odd = outlined(
      `<mjml><mj-body>text {{ x }}<__proto__ a=1></__proto__><constructor /><mj-{{ x }}></mj-{{ x }}><mj-section constructor="a" /></mj-body></mjml>`,
    )
    assert.deepStrictEqual(odd.body.children.map(({ kind }) => kind), ["code", "code", "code", "code", "section"])
  })

  it("knows the elements whose content MJML keeps, and the defaults of a message", () => {
    assert.deepStrictEqual([...textElements].sort(), [...endingTags].sort())
    const outline = message("announcement")
    const heading = all(outline).find(({ kind }) => kind === "text")!
    assert.strictEqual(valueOf(outline, heading, "font-size"), "20px")
    assert.strictEqual(valueOf(outline, heading, "font-family"), "Helvetica, Arial, sans-serif")
    assert.strictEqual(shownValue(outline, heading, "padding-top"), "0")
    assert.strictEqual(shownValue(outline, heading, "padding-bottom"), "16px")
    assert.isUndefined(shownValue(outline, heading, "width"))
  })

  it("knows the values of classes, the last class first, and the own values of MJML", () => {
    const outline = outlineOf(
      '<mjml><mj-head><mj-attributes><mj-class name="small" font-size="11px" color="#111111" />' +
        '<mj-class name="loud" color="#ff0000" padding="5px 0 7px" /><mj-text font-size="15px" align="right" />' +
        "</mj-attributes></mj-head><mj-body><mj-section><mj-column>" +
        '<mj-text mj-class="small loud gone">a</mj-text><mj-text color="red">b</mj-text><mj-spacer /></mj-column></mj-section></mj-body></mjml>',
    )!
    const [first, second, spacer] = outline.body.children[0]!.children[0]!.children
    const shown = (block: Block | undefined, ...names: ReadonlyArray<string>) =>
      names.map((name) => shownValue(outline, block!, name))
    assert.deepStrictEqual(
      shown(first, "font-size", "color", "align", "padding-top", "padding-bottom"),
      ["11px", "#ff0000", "right", "5px", "7px"],
    )
    assert.deepStrictEqual(shown(second, "font-size", "color", "padding-top"), ["15px", "red", "10px"])
    assert.deepStrictEqual(shown(spacer, "height"), ["20px"])
    for (const component of components) {
      const values = component.defaultAttributes ?? {}
      assert.deepEqual({ ...values, ...initialValues[component.getTagName()] }, values, component.getTagName())
    }
  })
})

describe("blocks as snippets", () => {
  const html = (source: string) => {
    const { faults, html = "" } = compileMjml(source)
    assert.deepStrictEqual(faults, [])
    return html
  }

  it("are compiled alone, with the defaults of the message", async () => {
    await loadMjml()
    for (const [name, source] of messages) {
      const outline = outlined(source)
      for (const block of all(outline)) {
        if (block.kind === "branch" || block.from === outline.body.from) continue
        const text = bodyOf(html(alone(outline, block.from)!))
        assert.isTrue(text.startsWith("<") || text.startsWith("{"), `${name} ${block.kind} ${text.slice(0, 80)}`)
        assert.notMatch(text, /<\/?(?:mj-|body|html)/)
      }
    }
    const outline = message("announcement")
    const button = all(outline).find(({ kind }) => kind === "button")!
    const text = bodyOf(html(alone(outline, button.from)!))
    assert.include(text, "See what is new")
    assert.notInclude(text, "Say in two sentences")
    assert.notInclude(text, "<style>")
  })

  it("keep the widths of columns beside each other", async () => {
    await loadMjml()
    const two = outlined(
      "<mjml><mj-body><mj-section><mj-column><mj-text>a</mj-text></mj-column><mj-column><mj-text>b</mj-text></mj-column></mj-section></mj-body></mjml>",
    )
    const text = bodyOf(html(alone(two, two.body.children[0]!.from)!))
    assert.match(
      text,
      /^<style>@media only screen and \(min-width:480px\)[^]*mj-column-per-50[^]*<\/style>\n[^]*class="mj-column-per-50/,
    )
  })

  it("are inserted as a text without own space", async () => {
    await loadMjml()
    const outline = message("announcement")
    const button = all(outline).find(({ kind }) => kind === "button")!
    const tag = "{% render 'promo', name: name %}"
    const inColumn = apply(outline.source, addSnippet(outline, button.from, tag, false)!)
    assert.include(inColumn, `</mj-button>\n        <mj-text padding="0">${tag}</mj-text>`)
    const section = outline.body.children[0]!
    const between = apply(outline.source, addSnippet(outline, section.from, tag, true)!)
    assert.include(
      between,
      `<mj-section padding="0"><mj-column><mj-text padding="0">${tag}</mj-text></mj-column></mj-section>`,
    )
    for (const source of [inColumn, between]) assert.include(html(source), tag)
    const titles = all(outlined(between)).map((block) => titleOf(outlined(between), block))
    assert.deepInclude(titles, { name: "Snippet", excerpt: "promo" })
  })
})

describe("edits of blocks", () => {
  const edited = (outline: Outline, edit: Edit | undefined) => apply(outline.source, edit!)

  it("leave the rest of the source as it is, and can be undone by their opposite", () => {
    for (const [name, source] of messages) {
      const outline = outlined(source)
      for (const block of all(outline)) {
        if (block.kind === "branch") continue
        const label = `${name}: ${source.slice(block.from, block.from + 40)}`
        for (const by of [-1, 1] as const) {
          const moved = move(outline, block.from, by)
          if (moved === undefined) continue
          const after = outlined(edited(outline, moved))
          const own = all(after).find(({ from }) => from === moved.at)
          assert.strictEqual(after.source.slice(own!.from, own!.to), source.slice(block.from, block.to), label)
          const sorted = (text: string) => [...text.replace(/\s/g, "")].sort().join("")
          assert.strictEqual(sorted(after.source), sorted(source), label)
          const siblings = all(outline).find(({ children }) => children.includes(block)) ?? outline.body
          if (siblings.children[siblings.children.indexOf(block) + by] === undefined) continue
          const back = move(after, moved.at, by === 1 ? -1 : 1)
          assert.strictEqual(edited(after, back), source, label)
          assert.strictEqual(back!.at, block.from, label)
        }
        const copied = duplicate(outline, block.from)!
        const copy = outlined(edited(outline, copied))
        assert.strictEqual(all(copy).length, all(outline).length + all({ ...outline, body: block }).length + 1, label)
        assert.strictEqual(edited(copy, remove(copy, copied.at)), source, label)
        assert.isTrue(outlineOf(edited(outline, remove(outline, block.from))) !== undefined, label)
      }
    }
  })

  it("move the last element of a column to the next one, and a section out of a condition", () => {
    const outline = message("comments and Windows lines")
    const divider = all(outline).find(({ kind }) => kind === "divider")!
    const right = edited(outline, move(outline, divider.from, 1))
    assert.include(right, '<mj-column width="50%"><mj-text>Left</mj-text></mj-column>')
    assert.include(right, '<mj-column width="50%">\r\n        <mj-divider /></mj-column>')
    const branches = message("branches")
    const all_ = branches.body.children[0]!
    const moved = edited(branches, move(branches, all_.children.at(-1)!.from, 1))
    assert.include(moved, "{% else %}\n    {%- endif -%}\n    <mj-section><mj-column><mj-text>All<")
    assert.isUndefined(move(branches, branches.body.children.at(-1)!.from, 1))
    const first = outlined(
      "<mjml><mj-body><mj-section><mj-column><mj-text>a</mj-text></mj-column><mj-column/></mj-section></mj-body></mjml>",
    )
    const text = all(first).find(({ kind }) => kind === "text")!
    assert.isUndefined(move(first, text.from, -1))
    assert.include(
      edited(first, move(first, text.from, 1)),
      "<mj-column></mj-column><mj-column><mj-text>a</mj-text></mj-column>",
    )
  })

  it("move a block to any place of its kind, by dragging", () => {
    for (const name of ["announcement", "wrapper and hero", "comments and Windows lines", "branches"]) {
      const outline = message(name)
      const { source } = outline
      const blocks = all(outline).filter(({ kind }) => kind !== "branch")
      for (const block of blocks) {
        for (const target of blocks) {
          for (const isBefore of [true, false]) {
            const edit = moveTo(outline, block.from, target.from, isBefore)
            if (edit === undefined) continue
            const after = outlined(edited(outline, edit))
            const own = source.slice(block.from, block.to)
            assert.strictEqual(after.source.slice(edit.at, edit.at + own.length), own, name)
            assert.strictEqual(all(after).length, all(outline).length, name)
          }
        }
      }
    }
    const outline = message("offer")
    const find = (kind: string, index = 0) => all(outline).filter((one) => one.kind === kind)[index]!.from
    assert.isDefined(moveTo(outline, find("button"), find("text"), true))
    assert.isDefined(moveTo(outline, outline.body.children[0]!.from, find("section", 3), true))
    assert.isUndefined(moveTo(outline, find("button"), outline.body.children[0]!.from, true))
    assert.isUndefined(moveTo(outline, find("section"), find("button"), true))
    assert.isUndefined(moveTo(outline, find("column"), find("column", 3), true), "columns stay in their section")
    assert.isUndefined(moveTo(outline, find("liquid"), find("section", 3), true), "not into itself")
  })

  it("add blocks with the indentation and the colors of their neighbors", () => {
    const outline = message("announcement")
    const button = all(outline).find(({ kind }) => kind === "button")!
    for (const kind of elementKinds) {
      const edit = add(outline, button.from, kind)!
      const after = outlined(edited(outline, edit))
      const added = all(after).find(({ from }) => from === edit.at)!
      assert.strictEqual(added.kind, kind === "heading" ? "text" : kind)
      assert.match(after.source.slice(0, added.from), /<\/mj-button>\n {8}$/)
    }
    const section = outline.body.children[1]!
    for (const kind of sectionKinds) {
      const after = outlined(edited(outline, add(outline, section.from, kind)))
      const added = after.body.children[2]!
      assert.strictEqual(added.children.length, kind === "section" ? 1 : 2)
      assert.deepStrictEqual(added.attributes.map(({ name }) => name), ["css-class", "background-color"])
    }
    const empty = outlined("<mjml><mj-body></mj-body></mjml>")
    assert.strictEqual(outlined(edited(empty, add(empty, empty.body.from, "section"))).body.children.length, 1)
    const column = outlined("<mjml><mj-body><mj-section><mj-column /></mj-section></mj-body></mjml>")
    const edit = add(column, all(column)[1]!.from, "text")
    assert.include(edited(column, edit), "<mj-column ><mj-text>Write your text here.</mj-text></mj-column>")
  })

  it("keep the slash of a tag without quotation marks", () => {
    const outline = outlined("<mjml><mj-body><mj-section background-color=red/></mj-body></mjml>")
    const edit = setAttribute(outline, outline.body.children[0]!, "background-color", "blue")
    assert.include(edited(outline, edit), '<mj-section background-color="blue"/>')
  })

  it("keep other blocks apart from unfinished Liquid and closing tags", () => {
    const outline = outlined(
      "<mjml><mj-body><mj-section><mj-column><mj-button>a</mj-button><mj-text>{{ b }}</mj-text></mj-column></mj-section></mj-body></mjml>",
    )
    const button = all(outline).find(({ kind }) => kind === "button")!
    const kinds = all(outline).map(({ kind }) => kind)
    for (const text of ["{{", "{{ a", "{% if a %}", "{% raw %}", "</mj-button>", "<mj-button>", "{{ '"]) {
      const contents = outlined(edited(outline, setContent(button, text)))
      assert.deepStrictEqual(all(contents).map(({ kind }) => kind), kinds, text)
      const attributes = outlined(edited(outline, setAttribute(outline, button, "href", text)))
      assert.deepStrictEqual(all(attributes).map(({ kind }) => kind), kinds, text)
    }
  })

  it("change one attribute or one text", () => {
    const outline = message("announcement")
    const button = all(outline).find(({ kind }) => kind === "button")!
    const set = (name: string, value: string, block = button) =>
      edited(outline, setAttribute(outline, block, name, value))
    assert.include(
      set("href", 'https://a.example/?q="<x>&b={{ a | default: "b" }}'),
      `<mj-button href="https://a.example/?q=&quot;&lt;x>&b={{ a | default: "b" }}">`,
    )
    assert.include(set("color", "#000000"), '{{ link | default: "https://example.com/" }}" color="#000000">See')
    assert.include(set("href", ""), "<mj-button>See what is new")
    assert.strictEqual(set("color", ""), outline.source)
    const image = all(outline).find(({ kind }) => kind === "image")!
    assert.include(set("width", "300px", image), 'border-radius="6px" width="300px" />')
    assert.include(edited(outline, setContent(button, "Go {{ first_name }}")), '}}">Go {{ first_name }}</mj-button>')
    const closed = outlined(
      "<mjml><mj-body><mj-section><mj-column><mj-text /></mj-column></mj-section></mj-body></mjml>",
    )
    assert.include(edited(closed, setContent(all(closed)[2]!, "a")), "<mj-text >a</mj-text>")
  })

  it("make messages that compile, as the messages before them do", async () => {
    await loadMjml()
    const compiles = (source: string) => assert.deepStrictEqual(compileMjml(source).faults, [], source)
    for (const source of messages.values()) compiles(source)
    let outline = message("announcement")
    for (const kind of [...elementKinds, ...sectionKinds]) {
      const near = (sectionKinds as ReadonlyArray<string>).includes(kind)
        ? outline.body.children[1]!
        : all(outline).find(({ kind }) => kind === "button")!
      outline = outlined(edited(outline, add(outline, near.from, kind)))
    }
    compiles(outline.source)
  })

  it("have forms whose attributes MJML has", () => {
    for (const [kind, form] of Object.entries(fieldsOf)) {
      for (const { attribute } of [...form.main, ...form.look]) assert.property(attributeTypes[`mj-${kind}`], attribute)
    }
  })
})
