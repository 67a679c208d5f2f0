import { assert } from "@effect/vitest"
import { it } from "vitest"
import { base, describeShop, variantForm } from "./shop.ts"

/** The text of a text area. */
const textOf = (html: string, name: string): string =>
  new RegExp(`<textarea[^>]* name="${name}"[^>]*>([^<]*)<`).exec(html)![1]!.replaceAll("&quot;", '"')

describeShop("People of the preview", (shop) => {
  it("are saved from the sample, selected, replaced and deleted, without an entry in the audit log", async () => {
    await shop.manage("POST", "/organizations/shop/templates", { id: "people", name: "People" })
    const path = `${base}/people/new-variant`
    const editor = await shop.signIn("editor@example.com")
    const ann = { fields: '{"name": "Ann Arbor"}', attrs: '{"tier": "gold"}' }
    const saved = await editor.post(`${path}/save-person`, variantForm({ ...ann, person_name: " Gold member " }))
    assert.strictEqual(saved.status, 200, saved.text)
    assert.include(saved.text, "Gold member has been saved.")
    assert.include(saved.text, '<option value="saved:gold-member" selected>Gold member</option>')
    assert.include(saved.text, ">Hello {{ name }}</textarea>", "the text stays")

    const chosen = await editor.post(`${path}/draft`, variantForm({ do: "use-person", person: "saved:gold-member" }))
    assert.deepStrictEqual(JSON.parse(textOf(chosen.text, "fields")), { name: "Ann Arbor" })
    assert.deepStrictEqual(JSON.parse(textOf(chosen.text, "attrs")), { tier: "gold" })
    await editor.post(`${path}/save-person`, variantForm({ fields: '{"name": "Bo"}', person_name: "Gold member" }))
    await editor.post(`${path}/save-person`, variantForm({ fields: '{"name": "Cy"}', person_name: "gold-member" }))
    const again = await editor.post(`${path}/draft`, variantForm({ do: "use-person", person: "saved:gold-member" }))
    assert.deepStrictEqual(JSON.parse(textOf(again.text, "fields")), { name: "Bo" })
    assert.include(again.text, 'value="saved:gold-member-2"')

    for (const fields of [{ person_name: "" }, { person_name: "x".repeat(201) }, { person_name: "A", fields: "[" }]) {
      const refused = await editor.post(`${path}/save-person`, variantForm(fields))
      assert.strictEqual(refused.status, 400, JSON.stringify(fields))
      assert.include(refused.text, ">Hello {{ name }}</textarea>")
    }
    const deleted = await editor.post(`${path}/delete-person`, variantForm({ person: "saved:gold-member" }))
    assert.include(deleted.text, "The person has been deleted.")
    assert.notInclude(deleted.text, 'value="saved:gold-member"')
    const gone = await editor.post(`${path}/delete-person`, variantForm({ person: "saved:gold-member" }))
    assert.strictEqual(gone.status, 400)
    const viewer = await shop.signIn("viewer@example.com")
    assert.strictEqual((await viewer.post(`${path}/save-person`, variantForm({ person_name: "A" }))).status, 403)
    const { entries } = await shop.manage("GET", "/organizations/shop/audit")
    assert.include(JSON.stringify(entries), "sample person saved")
    assert.notInclude(JSON.stringify(entries), "Ann Arbor")
  })

  it("are found among recent recipients, with attributes from decisions and profiles", async () => {
    await shop.manage("POST", "/organizations/shop/templates", {
      id: "sent",
      name: "Sent",
      variants: [{ id: "a", vars: { subject: "A" } }, { id: "b", vars: { subject: "B" } }],
    })
    const { key } = await shop.manage("POST", "/organizations/shop/keys", { name: "Shop" })
    for (const [user, tier] of [["u-1", "gold"], ["u-2", "none"], ["u-1", "silver"]] as const) {
      const answer = await shop.service.generate("shop", key, { template_id: "sent", user_id: user, attrs: { tier } })
      assert.strictEqual(answer.status, 200)
    }
    const editor = await shop.signIn("editor@example.com")
    const path = `${base}/sent/new-variant`
    assert.notInclude((await editor.get(path)).text, "recent:u-1", "until they are requested")
    const find = () => editor.post(`${path}/draft`, variantForm({ do: "recent-people" }))
    await shop.service.untilStored(
      "the decisions are stored",
      ["decisions"],
      async () => (await find()).text.includes("recent:u-2"),
    )
    const found = (await find()).text
    assert.lengthOf([...found.matchAll(/value="recent:u-1"/g)], 1)
    const chosen = await editor.post(
      `${path}/draft`,
      variantForm({ do: "use-person", person: "recent:u-1", people: "recent" }),
    )
    assert.deepStrictEqual(JSON.parse(textOf(chosen.text, "attrs")), { tier: "silver" })
    assert.include(chosen.text, '<option value="recent:u-1" selected>')
    const preview = await editor.post(`${base}/sent/preview`, variantForm({ attrs: textOf(chosen.text, "attrs") }))
    assert.include(preview.text, "Saved variants for this person")
    const unknown = await editor.post(`${path}/draft`, variantForm({ do: "use-person", person: "recent:nobody" }))
    assert.strictEqual(textOf(unknown.text, "attrs"), "{}")
  })
})
