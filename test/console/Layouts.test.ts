import { assert } from "@effect/vitest"
import { it } from "vitest"
import { layouts } from "../../src/templates/Layouts.ts"
import { base, describeShop } from "./shop.ts"

const fields = {
  first_name: "Ann",
  unsubscribe_url: "https://links.example/u/1",
  products: [{
    name: "Shoes",
    price: "89 EUR",
    url: "https://shop.example/1",
    image_url: "https://shop.example/1.png",
  }],
  items: [{ name: "Shoes", price: "89 EUR", quantity: 2 }],
}

/** The settings that the form of a new template sends. */
const settings = { objective: "click", sticky_hours: "0", runner_up_floor: "0", holdout: "organization" }

describeShop("Layouts", (shop) => {
  it("are variants without a fault or a warning, with and without values", async () => {
    await shop.manage("POST", "/organizations/shop/templates", { id: "all", name: "All" })
    for (const { body, id, preheader, subject } of layouts) {
      const variant = { vars: { subject, preheader, body }, formats: { body: "mjml" } }
      const preview = (fields: object) =>
        shop.manage("POST", "/organizations/shop/templates/all/preview", { ...variant, fields })
      const { missing, vars, warnings } = await preview(fields)
      assert.deepStrictEqual([missing, warnings], [[], []], id)
      assert.include(vars.body, "Ann", id)
      assert.strictEqual(vars.body.includes(fields.unsubscribe_url), id !== "receipt", id)
      const { compiled, vars: bare } = await preview({})
      assert.isBelow(compiled.body, 30_000, id)
      assert.include(bare.body, "Hello there", id)
    }
  })

  it("are chosen for templates that get different ids at the same time", async () => {
    const editor = await shop.signIn("editor@example.com")
    const made = await Promise.all(
      Array.from({ length: 4 }, () => editor.post(`${base}/-/new`, { ...settings, name: "שלום", layout: "offer" })),
    )
    assert.deepStrictEqual(
      made.map(({ headers, text }) => headers.get("location")?.split("/new-variant")[0] ?? text).sort(),
      ["template", "template-2", "template-3", "template-4"].map((id) => `${base}/${id}`),
    )
  })

  it("are offered for a new template, and fill its first variant", async () => {
    const editor = await shop.signIn("editor@example.com")
    const page = (await editor.get(`${base}/-/new?layout=offer`)).text
    for (const { description, name } of layouts) assert.include(page, `${name}</label><span`, description)
    assert.match(page, /value="offer" checked/)
    const pictures = page.match(/<svg class="layout-picture"[^>]*>.*?<\/svg>/gs) ?? []
    assert.strictEqual(new Set(pictures).size, layouts.length + 1, "each choice has a picture of its own")
    for (const picture of pictures) assert.include(picture, 'aria-hidden="true"')
    const made = await editor.post(`${base}/-/new`, { ...settings, name: "Sale", layout: "offer" })
    const to = made.headers.get("location") ?? made.text
    assert.strictEqual(to, `${base}/sale/new-variant?layout=offer&done=template-created`)
    const variant = (await editor.get(to)).text
    assert.include(variant, '<option value="mjml" selected>mjml</option>')
    assert.include(variant, "{% for product in products limit: 3 %}")
    assert.include(variant, "Not saved yet.")
    assert.notInclude(variant, "Use this layout")
    const plain = await editor.post(`${base}/-/new`, { ...settings, name: "Plain", layout: "" })
    assert.strictEqual(plain.headers.get("location"), `${base}/plain?done=template-created`)
  })

  it("are offered in the editor of an empty body, and keep other variables", async () => {
    const editor = await shop.signIn("editor@example.com")
    await shop.manage("POST", "/organizations/shop/templates", { id: "empty", name: "Empty" })
    assert.include((await editor.get(`${base}/empty/new-variant`)).text, "Use this layout")
    const chosen = await editor.post(`${base}/empty/new-variant/draft`, {
      name: "Letter",
      var_0_name: "body",
      var_0_format: "html",
      var_0_source: "",
      var_1_name: "push",
      var_1_format: "text",
      var_1_source: "",
      layout: "letter",
      do: "layout",
    })
    assert.include(chosen.text, "Write as you would to one person.")
    assert.deepStrictEqual(
      chosen.text.match(/name="var_\d_name"[^>]*value="[^"]*"|value="(?:subject|preheader|body|push)"/g)?.length,
      4,
    )
  })
})
