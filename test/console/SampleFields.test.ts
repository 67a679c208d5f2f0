import { assert } from "@effect/vitest"
import { describe, it } from "vitest"
import { sampleFields } from "../../src/console/pages/templates/SampleFields.ts"

describe("sampleFields", () => {
  it("returns examples of the fields used by the sources, but not of their own variables", () => {
    assert.deepStrictEqual(
      sampleFields([{
        subject: "{{ first_name }} {% assign own = 1 %}{{ own }} {{ true }}",
        body: "{% for item in cart.items %}{{ item.title }} {{ item.price }} {{ forloop.index }}{% endfor %}" +
          "{{ cart.url }}{% if user.vip %}{% endif %}{{ tags.first }} {{ cart.items.first.title }}",
      }]),
      {
        first_name: "Ann",
        cart: { items: [{ title: "Title", price: 49.9 }], url: "https://example.com/" },
        user: { vip: "Vip" },
        tags: ["Tag"],
      },
    )
  })

  it("returns examples of the values that are passed to snippets", () => {
    assert.deepStrictEqual(
      sampleFields([{ body: "{% render 'footer', year: 2026, link: unsubscribe_url, person: user.name %}" }]),
      { unsubscribe_url: "https://example.com/", user: { name: "Ann" } },
    )
  })

  it("returns a date or a number for a name that says nothing, if a filter needs one", () => {
    assert.deepStrictEqual(
      sampleFields([{
        body: '{{ due | date: "%d %B" }} {{ fee|money: "EUR" }} {{ city | date: "%d" }} {{ note | upcase }}',
      }]),
      { due: "2026-11-15", fee: 49.9, city: "Berlin", note: "Note" },
    )
  })

  it("returns a number for a field that is counted, calculated with or compared with a number", () => {
    assert.deepStrictEqual(
      sampleFields([{
        body: '{{ guests | plural: one: "guest", other: "guests" }} {{ limit | default: 10 | minus: used }}' +
          "{% assign rest = seats | minus: taken %}{{ rest }}{% if level >= 2 %}{% endif %}{{ user | plus: 1 }}" +
          '{{ title | append: "" }}',
      }]),
      { guests: 3, limit: 49.9, seats: 49.9, user: 49.9, title: "Title", used: 3, taken: 3, level: 3 },
    )
  })

  it("takes linear time for text that is nearly Liquid", () => {
    assert.deepStrictEqual(
      sampleFields([{
        a: "{%".repeat(30_000),
        b: "{{ a.".repeat(13_000),
        c: `{%for x in ${" ".repeat(60_000)}{{ a${" ".repeat(60_000)}`,
      }]),
      { a: "A" },
    )
  })
})
