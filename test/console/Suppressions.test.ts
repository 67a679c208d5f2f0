import { assert, it } from "@effect/vitest"
import { describeShop } from "./shop.ts"

const path = "/console/o/shop/suppressions"

describeShop("Suppressions in the console", (shop) => {
  it("are added by an editor, found, filtered, imported and exported, and removed by an admin", async () => {
    const editor = await shop.signIn("editor@example.com")
    assert.include((await editor.get(path)).text, "No suppressed addresses")
    const faulty = await editor.post(path, { email: "nobody", reason: "manual" })
    assert.strictEqual(faulty.status, 400)
    assert.include(faulty.text, 'id="email-error"')
    const added = await editor.post(path, { email: "Ada@example.com", reason: "complaint" })
    assert.strictEqual(added.status, 303)
    const imported = await editor.post(`${path}/import`, { text: "email,reason\r\nbob@example.com,unsubscribe\r\n" })
    assert.strictEqual(imported.status, 303, imported.text)
    const refused = await editor.post(`${path}/import`, { text: "email\nno address\n" })
    assert.strictEqual(refused.status, 400)
    assert.include(refused.text, "no address")

    const all = (await editor.get(path)).text
    for (const text of ["ada@example.com", "Spam complaint", "bob@example.com", "Unsubscribe"]) {
      assert.include(all, text)
    }
    assert.notInclude(all, "Remove ada@example.com", "an editor removes nobody")
    const found = (await editor.get(`${path}?address=ADA%40example.com`)).text
    assert.include(found, ">ada@example.com<")
    assert.notInclude(found, "bob@example.com")
    assert.include((await editor.get(`${path}?address=cy%40example.com`)).text, "not suppressed")
    assert.notInclude((await editor.get(`${path}?reason=unsubscribe`)).text, "ada@example.com")
    const file = await editor.get(`${path}/export`)
    assert.match(file.headers.get("content-disposition") ?? "", /shop-suppressions\.csv/)
    assert.lengthOf(file.text.trim().split("\r\n"), 3)
    assert.strictEqual(
      (await editor.post(`${path}/remove`, { email: "ada@example.com", reason: "complaint" })).status,
      403,
    )

    const admin = await shop.signIn("admin@example.com")
    assert.include((await admin.get(path)).text, "Remove ada@example.com")
    await admin.post(`${path}/remove`, { email: "ada@example.com", reason: "complaint" })
    assert.notInclude((await admin.get(path)).text, "ada@example.com")
    assert.include((await admin.get("/console/o/shop/settings/audit")).text, "suppression removed")

    const viewer = await shop.signIn("viewer@example.com")
    assert.notInclude((await viewer.get(path)).text, "Add an address")
    assert.strictEqual((await viewer.post(path, { email: "x@example.com", reason: "manual" })).status, 403)
    assert.strictEqual((await (await shop.signIn("stranger@example.com")).get(`${path}/export`)).status, 403)
  })
})
