import { assert } from "@effect/vitest"
import { it } from "vitest"
import { describeShop } from "./shop.ts"

describeShop("The page of translations", (shop) => {
  const path = "/console/o/shop/templates/sale/strings"
  const management = "/organizations/shop/templates/sale/strings"

  it("shows missing translations, and exports and imports files with a preview", async () => {
    await shop.manage("POST", "/organizations/shop/templates", {
      id: "sale",
      name: "Sale",
      locale: { attribute: "language", default: "en" },
      variants: [{ id: "warm", vars: { subject: "Hello", body: "Bye" }, locales: { de: { subject: "Hallo" } } }],
    })
    const editor = await shop.signIn("editor@example.com")
    assert.include((await editor.get("/console/o/shop/templates/sale")).text, `href="${path}"`)
    const page = (await editor.get(path)).text
    for (const part of ["German (de)", "1 of 2", "body of warm", "Export XLIFF"]) assert.include(page, part)

    const csv = await editor.get(`${path}/export?locales=de%2C+de-AT&format=csv`)
    assert.include(csv.headers.get("content-disposition") ?? "", "sale-strings.csv")
    assert.match(csv.text, /^variant,variable,en,de,de-AT,exported\r\nwarm,subject,Hello,Hallo,,de:\S+ de-AT:-\r\n/)
    const wrong = await editor.get(`${path}/export?locales=de_AT`)
    assert.strictEqual(wrong.headers.get("location"), `${path}?locales=de_AT`)
    assert.include((await editor.get(`${path}?locales=de_AT`)).text, "is not the usual form of a locale")

    const translated = csv.text.replace("Bye,,", "Bye,Tschüss,Servus")
    const preview = await editor.post(path, { text: translated, preview: "true" })
    for (const part of ["Nothing has been imported yet", "Tschüss", "Servus"]) assert.include(preview.text, part)
    const imported = await editor.post(path, { text: translated })
    assert.strictEqual(imported.headers.get("location"), `${path}?done=strings-imported`)
    assert.include((await editor.get(path)).text, "2 of 2")

    const old = await editor.post(path, { text: csv.text.replace("Bye,,", "Bye,Ciao,") })
    assert.include(old.text, "line 3: the translation of body to de has changed since the strings were exported")
    assert.include(old.text, "Ciao")
    const viewer = await shop.signIn("viewer@example.com")
    assert.notInclude((await viewer.get(path)).text, "Show changes")
  })

  it("has operations of the API with missing translations", async () => {
    const strings = await shop.manage("GET", `${management}?locales=fr&format=xliff`)
    assert.include(strings.text, 'target-language="fr"')
    assert.deepStrictEqual(strings.locales, [{
      locale: "fr",
      texts: 2,
      missing: [{ copy_id: "warm", variable: "subject" }, { copy_id: "warm", variable: "body" }],
    }])
    const text = "variant,variable,en,fr\nwarm,body,Bye,Salut\n"
    const tried = await shop.manage("POST", `${management}?dry_run=true`, { text })
    assert.deepStrictEqual([tried.variants, tried.changes.length], [1, 1])
    assert.deepInclude(await shop.manage("POST", management, { text }), { variants: 1, updated: ["sale"] })
    assert.deepInclude(await shop.manage("POST", management, { text }), { variants: 0, unchanged: ["sale"] })
    await shop.manage("POST", "/organizations/shop/templates", { id: "one", name: "One" })
    const admin = await shop.signIn("admin@example.com")
    assert.include((await admin.get("/console/o/shop/templates/one/strings")).text, "This template has one locale")
  })
})
