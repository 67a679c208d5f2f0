import { assert } from "@effect/vitest"
import { describe, it } from "vitest"
import type { Template } from "../../src/domain/Template.ts"
import { inputsOf, madeUpSample, SampleInputs, sampleOf } from "../../src/console/pages/templates/SampleInputs.tsx"
import { textOf, valueAt, valueOf, withValue } from "../../src/console/pages/templates/SampleValues.ts"
import { emptyCondition } from "../../src/templates/VariantForm.ts"
import { h } from "preact"
import { renderToString } from "preact-render-to-string"

const draft = {
  id: "",
  name: "",
  active: true,
  components: "",
  base: "",
  seasons: [],
  variables: [{
    name: "body",
    format: "html",
    source: "{{ name }} {% for item in cart.items %}{{ item.price | money: 'EUR' }}{% endfor %} {{ unsubscribe_url }}",
  }],
  conditions: [{ ...emptyCondition, attribute: "tier" }],
}
const sample = {
  fields: '{"name": "Ann", "cart": {"items": [{"price": 3}, {"price": 4}]}}',
  attrs: '{"vip": true}',
  at: "",
}

/** The fields of the form that a page with a sample sends, after changes by the labels of inputs. */
const sent = (changes: Readonly<Record<string, string>>, json = sample) => {
  const inputs = inputsOf(draft, sample)
  const html = renderToString(h(SampleInputs, { inputs, sample })).replaceAll("&quot;", '"')
  const fields = new Map<string, string>([["fields", json.fields], ["attrs", json.attrs]])
  for (const [, name, value] of html.matchAll(/name="([^" ]+)" value="(.*?)"(?=\/?>| placeholder)/g)) {
    fields.set(name!, value!)
  }
  for (const [at, { label }] of inputs.entries()) {
    if (label in changes) fields.set(`sample_${at}`, changes[label]!)
  }
  const { attrs, fields: values } = sampleOf((name) => fields.get(name), { fields: "{}", attrs: "{}", at: "" })
  return { fields: JSON.parse(values), attrs: JSON.parse(attrs) }
}

describe("inputs of a sample", () => {
  it("are one for each field of the Liquid, each attribute of the audience, and each name that the rendering misses", () => {
    assert.deepStrictEqual(
      inputsOf(draft, sample, ["name", "cart", "town.name"]).map((
        { isNumber, label, text },
      ) => [label, text, isNumber]),
      [
        ["cart.items[0].price", "3", true],
        ["name", "Ann", false],
        ["town.name", "", false],
        ["tier", "", false],
        ["vip", "true", false],
      ],
    )
    assert.deepStrictEqual(inputsOf(draft, { ...sample, fields: "[" }), [])
  })

  it("replace the values of the JSON, and keep the others", () => {
    assert.deepStrictEqual(sent({}), { fields: JSON.parse(sample.fields), attrs: { vip: true } })
    assert.deepStrictEqual(sent({ name: "", "cart.items[0].price": "12.5", tier: "gold" }), {
      fields: { cart: { items: [{ price: 12.5 }, { price: 4 }] } },
      attrs: { vip: true, tier: "gold" },
    })
  })

  it("give way to a JSON that was changed", () => {
    const json = { ...sample, fields: '{"name": "Bo"}' }
    assert.deepStrictEqual(sent({ name: "Cy" }, json), { fields: { name: "Bo" }, attrs: { vip: true } })
  })

  it("change nothing at places that no page contains", () => {
    const places = [
      "{",
      "null",
      '["other",false,"a"]',
      '["fields",false,1]',
      JSON.stringify(["fields", false, ...Array(99).fill("a")]),
    ]
    const [input] = inputsOf(draft, sample)
    const [was] = /(?<=name="sample_was" value=")[^"]*/.exec(
      renderToString(h(SampleInputs, { inputs: [input!], sample })),
    )!
    for (const place of places) {
      const fields = new Map(Object.entries({ ...sample, sample_was: was, sample_0: "x", sample_0_at: place }))
      assert.deepStrictEqual(sampleOf((name) => fields.get(name), { fields: "{}", attrs: "{}", at: "" }), sample, place)
    }
    assert.deepStrictEqual(withValue({}, ["list", "4294967294"], 1), { list: { 4294967294: 1 } })
  })

  it("read and write values at any path", () => {
    assert.deepStrictEqual(withValue(undefined, ["a", "0", "b"], 1), { a: [{ b: 1 }] })
    assert.deepStrictEqual(withValue({ a: 1, b: 2 }, ["a"], undefined), { b: 2 })
    const odd = withValue({}, ["__proto__", "constructor"], "x")
    assert.strictEqual(valueAt(odd, ["__proto__", "constructor"]), "x")
    assert.isUndefined(valueAt({}, ["constructor", "name"]))
    assert.deepStrictEqual(["", "1.5", "1,5", "01x"].map((text) => valueOf(text, true)), [undefined, 1.5, "1,5", "01x"])
    assert.deepStrictEqual([undefined, null, "a", 1, [1]].map(textOf), ["", "", "a", "1", "[1]"])
  })
})

describe("made-up people", () => {
  const template = { variants: [] } as unknown as Template
  const made = (kind: string) =>
    JSON.parse(madeUpSample(kind, template, { body: draft.variables[0]!.source }, sample).fields)

  it("have everything, nothing, or long and foreign values", () => {
    assert.deepStrictEqual(made("all"), {
      name: "Ann",
      cart: { items: [{ price: 49.9 }] },
      unsubscribe_url: "https://example.com/",
    })
    assert.deepStrictEqual(made("none"), {})
    const long = made("long")
    assert.isAbove(long.name.length, 80)
    assert.match(long.name, /\p{Script=Arabic}/u)
    assert.lengthOf(long.cart.items, 12)
    assert.strictEqual(long.cart.items[11].price, 1_234_567.89)
  })
})
