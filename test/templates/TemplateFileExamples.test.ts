import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { empty, parse as parseAttributes } from "../../src/domain/Attributes.ts"
import { renderedFormats, type TemplateInput } from "../../src/domain/Template.ts"
import { parseVars, render } from "../../src/rendering/Renderer.ts"
import * as Seasonality from "../../src/templates/Seasonality.ts"
import * as Targeting from "../../src/templates/Targeting.ts"
import * as TemplateFile from "../../src/templates/TemplateFile.ts"

const folder = new URL("../../examples/", import.meta.url)
const files = readdirSync(folder).filter((name) => name.endsWith(".yaml"))
const read = (name: string) => readFileSync(new URL(name, folder), "utf8")

const templatesOf = (name: string): ReadonlyArray<TemplateInput> =>
  Result.getOrThrowWith(TemplateFile.parse(read(name), name), (faults) => new Error(JSON.stringify(faults, null, 2)))

const fields = {
  name: "Ann",
  first_name: "Ann",
  code: "ANN10",
  code_expires_on: "2026-12-04",
  shop_url: "https://fernweh-outdoor.example",
  unsubscribe_url: "https://fernweh-outdoor.example/u?a=1&b=2",
  month: "November",
  articles: [{ title: "Hut to hut", teaser: "Five days.", url: "https://fernweh-outdoor.example/a", minutes: 4 }],
  cart: {
    url: "https://fernweh-outdoor.example/cart",
    total: "214.90",
    expires_on: "2026-11-20",
    items: [{
      title: "Boots <Karwendel>",
      quantity: 2,
      price: "189.00",
      url: "https://fernweh-outdoor.example/p",
      image_url: "https://fernweh-outdoor.example/i.jpg",
    }],
  },
}

describe("the example template files", () => {
  it("are listed in their README", () => {
    assert.isAbove(files.length, 3)
    const readme = readFileSync(new URL("README.md", folder), "utf8")
    for (const name of files) assert.include(readme, `\`${name}\``)
  })

  it("have unique template ids across all files", () => {
    const ids = files.flatMap(templatesOf).map(({ id }) => id)
    assert.notInclude(ids, undefined)
    assert.strictEqual(new Set(ids).size, ids.length)
  })

  for (const name of files) {
    it(`${name} can be imported, with at least three variants in each template`, () => {
      for (const { id, variants = [] } of templatesOf(name)) {
        assert.isAtLeast(variants.length, 3, id)
        for (const variant of variants) assert.isDefined(variant.id)
      }
    })

    it(`${name} round-trips through an export`, () => {
      const templates = templatesOf(name)
      for (const form of ["yaml", "json"] as const) {
        const text = TemplateFile.format(templates, form)
        assert.deepStrictEqual(Result.getOrThrow(TemplateFile.parse(text, name)), templates)
      }
    })

    it(`${name} renders with all fields and without fields`, () => {
      for (const { variants = [] } of templatesOf(name)) {
        for (const { formats = {}, vars } of variants) {
          const parsed = Result.getOrThrow(parseVars(vars, renderedFormats(formats)))
          for (const given of [fields, {}]) {
            const rendered = Result.getOrThrow(render(parsed, given, { strict: false, now: 0 }))
            assert.isAbove(rendered["subject"]!.length, 5)
            for (const text of Object.values(rendered)) assert.notMatch(text, /\{\{|\{%|undefined|\[object/)
          }
          const { body = "" } = Result.getOrThrow(render(parsed, fields, { strict: true, now: 0 }))
          assert.notInclude(body, "<Karwendel>")
        }
      }
    })

    it(`${name} has a variant for everybody at any time of the year`, () => {
      const anybody = [
        empty,
        ...[{ language: "de" }, { language: "en", country: "ch" }].map((attrs) =>
          Result.getOrThrow(parseAttributes(attrs))
        ),
      ]
      for (const { id, variants = [] } of templatesOf(name)) {
        for (const attributes of anybody) {
          for (let month = 0; month < 12; month++) {
            const nowMs = Date.UTC(2026, month, 1, 3)
            const eligible = variants.filter(({ seasons = [], targeting = [] }) =>
              Targeting.compile(targeting).holds(attributes) &&
              Seasonality.compile(seasons, "Europe/Berlin").holds(nowMs)
            )
            assert.isNotEmpty(eligible, `${id} in month ${month + 1}`)
          }
        }
      }
    })
  }
})
