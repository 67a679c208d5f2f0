import { assert, it } from "@effect/vitest"
import { type Json, suiteOnService } from "./harness.ts"

const html = '<a href="{{ url }}">x</a> <a href="https://other.example/">y</a>'
const text = 'See https://shop.example/ or <a href="https://shop.example/">x</a>'
const input = {
  id: "t",
  link_domains: ["shop.example"],
  variants: [{ id: "a", vars: { subject: text, body: html }, formats: { body: "html" } }],
}
const fields = { url: "https://www.shop.example/?a=1&b=2#top" }
const other = '<a href="https://other.example/">y</a>'
const tagged = (id: string) =>
  `<a href="https://www.shop.example/?a=1&amp;b=2&amp;tracking_id=${id}#top">x</a> ${other}`
const untagged = `<a href="https://www.shop.example/?a=1&amp;b=2#top">x</a> ${other}`

suiteOnService("Links", (bench) => {
  const manage = async (method: string, path: string, body: unknown, status = 200): Promise<Json> => {
    const answer = await bench.service.manage(method, path, body)
    assert.strictEqual(answer.status, status, JSON.stringify(answer.body))
    return answer.body
  }

  it("carry the tracking id to the template's domains in html variables, but not in text variables", async () => {
    const org = await bench.organization("links")
    await org.template(input)
    const given = await org.post({ template_id: "t", tracking_id: "order 1/é", fields })
    assert.deepStrictEqual(given.json.copy.vars, { subject: text, body: tagged("order%201%2F%C3%A9") })
    const { json } = await org.post({ template_id: "t", fields })
    assert.strictEqual(json.copy.vars.body, tagged(json.tracking_id))
    const batch = await org.batch({ requests: [{ template_id: "t", tracking_id: "b1" }], fields })
    assert.strictEqual(batch.json.t.copy.vars.body, tagged("b1"))
  })

  it("carry the tracking id returned by a retry or a sticky repeat", async () => {
    const org = await bench.organization("links-again")
    await org.template({ ...input, sticky_hours: 1 })
    const ask = async (more: object) => (await org.post({ template_id: "t", fields, ...more })).json
    const first = await ask({ user_id: "u" })
    for (const again of [await ask({ user_id: "u" }), await ask({ user_id: "u", tracking_id: first.tracking_id })]) {
      assert.strictEqual(again.tracking_id, first.tracking_id)
      assert.strictEqual(again.copy.vars.body, tagged(first.tracking_id))
    }
    assert.strictEqual((await ask({ user_id: "u", tracking_id: "x2" })).copy.vars.body, tagged("x2"))
    for (let i = 0; i < 2; i++) assert.strictEqual((await ask({ tracking_id: "x3" })).copy.vars.body, tagged("x3"))
  })

  it("are unchanged without domains, and follow a change of the domains at once", async () => {
    const org = await bench.organization("links-changed")
    const { link_domains: _, ...without } = input
    await org.template(without)
    const path = "/organizations/links-changed/templates"
    const body = async () => (await org.post({ template_id: "t", tracking_id: "x", fields })).json.copy.vars.body
    assert.deepStrictEqual((await manage("GET", `${path}/t`, undefined)).link_domains, [])
    assert.strictEqual(await body(), untagged)
    const patched = await manage("PATCH", `${path}/t`, { link_domains: ["a.example", "shop.example"] })
    assert.deepStrictEqual(patched.link_domains, ["a.example", "shop.example"])
    assert.strictEqual(await body(), tagged("x"))
    assert.deepStrictEqual((await manage("PATCH", `${path}/t`, { name: "New" })).link_domains, patched.link_domains)
    assert.deepStrictEqual((await manage("PATCH", `${path}/t`, { link_domains: [] })).link_domains, [])
    assert.strictEqual(await body(), untagged)
  })

  it("are tagged by the domains of an import, and not tagged without domains", async () => {
    await bench.organization("links-import")
    const path = "/organizations/links-import/templates"
    const load = (template: Json) => manage("POST", `${path}/import`, { templates: [{ name: "T", ...template }] })
    const domains = async () => (await manage("GET", `${path}/t`, undefined)).link_domains
    assert.deepStrictEqual((await load(input)).created, ["t"])
    assert.deepStrictEqual(await domains(), ["shop.example"])
    assert.deepStrictEqual((await load(input)).unchanged, ["t"])
    assert.deepStrictEqual((await load({ ...input, link_domains: ["b.example"] })).updated, ["t"])
    assert.deepStrictEqual(await domains(), ["b.example"])
    const { link_domains: _, ...without } = input
    assert.deepStrictEqual((await load(without)).updated, ["t"])
    assert.deepStrictEqual(await domains(), [])
  })

  it("are unchanged in a preview, which has no tracking id", async () => {
    const org = await bench.organization("links-preview")
    await org.template(input)
    const shown = await manage("POST", "/organizations/links-preview/templates/t/preview", { copy_id: "a", fields })
    assert.strictEqual(shown.vars.body, untagged)
  })

  it("are rejected for domains that are no lowercase host names", async () => {
    await bench.organization("links-refused")
    const path = "/organizations/links-refused/templates"
    const wrong = [
      "https://a.example",
      "A.example",
      "a.example/",
      "a.example:80",
      "*.a.example",
      ".a.example",
      "",
      "a b",
      "é",
    ]
    const refused = await manage("POST", path, { name: "T", link_domains: ["ok.example", ...wrong] }, 400)
    assert.deepStrictEqual(
      refused.errors.map(({ pointer }: { pointer: string }) => pointer),
      wrong.map((_, index) => `/link_domains/${index + 1}`),
    )
    const many = Array.from({ length: 51 }, (_, index) => `d${index}.example`)
    await manage("POST", path, { name: "T", link_domains: many }, 400)
    await manage("POST", path, { name: "T", link_domains: many.slice(1) }, 201)
  })
})
