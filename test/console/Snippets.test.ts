import { assert } from "@effect/vitest"
import { it } from "vitest"
import { describeShop } from "./shop.ts"

const path = "/console/o/shop/snippets"
const footer = { name: "Footer", id: "", format: "html", text: "<p>© {{ year }}</p>" }

describeShop("Pages of snippets", (shop) => {
  it("create, edit, preview, restore and delete a snippet, and show where it is used", async () => {
    const editor = await shop.signIn("editor@example.com")
    assert.include((await editor.get(path)).text, "No snippets yet")
    const made = await editor.post(`${path}/-/new`, footer)
    assert.strictEqual(made.headers.get("location"), `${path}/footer?done=snippet-saved`)
    assert.include((await editor.get(path)).text, "{% render 'footer' %}")
    const again = await editor.post(`${path}/-/new`, { ...footer, id: "footer", text: "other" })
    assert.strictEqual(again.status, 400)
    assert.include(again.text, "is the id of another snippet")
    assert.include(again.text, ">\nother</textarea>")

    assert.include((await editor.get(path)).text, `data-tag="{% render 'footer', year: year %}"`)
    const block = (text: string) =>
      editor.post(`${path}/-/from-block`, {
        text: `<mjml><mj-body><mj-section><mj-column>${text}</mj-column></mj-section></mj-body></mjml>`,
      })
    const compiled = await block("<mj-text>Hi {{ name }}</mj-text>")
    assert.strictEqual(compiled.status, 200)
    assert.match(
      compiled.text,
      /action="\/console\/o\/shop\/snippets\/-\/new"[^]*&lt;div[^]*>Hi {{ name }}&lt;\/div>[^]*<\/textarea>/,
    )
    const refused = await block("<mj-txt>Hi</mj-txt>")
    assert.strictEqual(refused.status, 400)
    assert.include(refused.text, "is not an element of MJML")

    await shop.manage("POST", "/organizations/shop/templates", {
      id: "welcome",
      name: "Welcome",
      variants: [{
        id: "a",
        vars: { body: "Hi {% render 'footer', year: 2026 %}" },
        formats: { body: "html" },
      }],
    })
    const page = (await editor.get(`${path}/footer`)).text
    assert.include(page, ">Welcome</a>")
    assert.include(page, 'name="argument_year"')
    assert.include(page, '<input type="hidden" name="format" value="html"')
    const seen = /name="base" value="([^"]+)"/.exec(page)![1]!

    const preview = await editor.post(`${path}/-/preview?snippet=footer`, {
      ...footer,
      text: "<b>{{ year }} {{ city }}</b>",
      argument_year: "1999",
    })
    assert.include(preview.text, "&lt;b>1999 ")
    assert.include(preview.text, "Saving it changes these templates")
    assert.include(preview.text, "the snippet &quot;footer&quot; needs &quot;city&quot;")
    const faulty = await editor.post(`${path}/footer`, { ...footer, text: "{{ year" })
    assert.strictEqual(faulty.status, 400)
    assert.include(faulty.text, "not closed")
    assert.include(faulty.text, ">\n{{ year</textarea>")

    await editor.post(`${path}/footer`, { ...footer, text: "<p>(c) {{ year }}</p>", base: seen })
    const outdated = await editor.post(`${path}/footer`, { ...footer, text: "x", base: seen })
    assert.include(outdated.text, "Somebody has saved the snippet")
    const versions = (await editor.get(`${path}/footer/versions`)).text
    assert.include(versions, "Restore this version")
    await editor.post(`${path}/footer`, footer)
    assert.strictEqual((await shop.manage("GET", "/organizations/shop/snippets/footer")).text, footer.text)

    assert.include((await editor.get(`${path}/footer/delete`)).text, "It is used in 1 place")
    await shop.manage("DELETE", "/organizations/shop/templates/welcome")
    const deleted = await editor.post(`${path}/footer/delete`, {})
    assert.strictEqual(deleted.headers.get("location"), `${path}?done=snippet-deleted`)
    const viewer = await shop.signIn("viewer@example.com")
    assert.strictEqual((await viewer.post(`${path}/-/new`, footer)).status, 403)
    assert.notInclude((await viewer.get(path)).text, "Create snippet")
  })

  it("show a proposed change, which its author cannot approve and somebody else can", async () => {
    await shop.manage("PUT", "/organizations/shop/snippets/legal", { text: "one" })
    await shop.manage("POST", "/organizations/shop/templates", {
      id: "live",
      name: "Live",
      variants: [{ id: "a", vars: { body: "{% render 'legal' %}" } }],
    })
    await shop.manage("PATCH", "/organizations/shop", { template_approval: "editor" })
    const editor = await shop.signIn("editor@example.com")
    const proposed = await editor.post(`${path}/legal`, { name: "legal", text: "two", format: "text" })
    assert.strictEqual(proposed.headers.get("location"), `${path}/legal?done=snippet-proposed`)
    const review = "/console/o/shop/reviews/-/snippets/legal"
    const own = await editor.post(`${review}/approve`, { version: "1" })
    assert.include(own.text, "You proposed this change. Somebody else has to approve it")
    const admin = await shop.signIn("admin@example.com")
    assert.include((await admin.get(`${path}/legal`)).text, `href="${review}"`)
    assert.include((await admin.get("/console/o/shop/reviews")).text, `<a href="${review}" dir="auto">legal</a>`)
    assert.include((await admin.get("/console/o/shop")).text, "1 change waits for approval")
    const shown = (await admin.get(review)).text
    for (const part of [/Approve and make live/, />one</, />two</, />Live<\/a>/]) assert.match(shown, part)
    const approved = await admin.post(`${review}/approve`, { version: "1", comment: "Good" })
    assert.strictEqual(approved.headers.get("location"), "/console/o/shop/reviews?done=snippet-approved")
    await editor.post(`${path}/legal`, { name: "legal", text: "three", format: "text" })
    const dismissed = await editor.post(`${review}/dismiss`, {})
    assert.strictEqual(dismissed.headers.get("location"), "/console/o/shop/reviews?done=snippet-dismissed")
    assert.strictEqual((await admin.get(review)).status, 404)
    await editor.post(`${path}/legal`, { name: "legal", text: "four", format: "text" })
    await admin.post(`${review}/dismiss`, { comment: "Too short" })
    assert.notInclude((await admin.get("/console/o/shop/reviews")).text, review)
    const notified = (await admin.get("/console/o/shop/notifications")).text
    const asked = /href="([^"]+)" dir="auto">editor@example\.com asks for a review of the snippet legal</.exec(notified)
    assert.strictEqual((await admin.get(asked![1]!)).headers.get("location"), review)
    const answered = (await editor.get("/console/o/shop/notifications")).text
    assert.include(answered, "admin@example.com approved your change of the snippet legal")
    assert.include(answered, "admin@example.com rejected your change of the snippet legal")
    assert.include(answered, "Too short")
    assert.strictEqual((await shop.manage("GET", "/organizations/shop/snippets/legal")).text, "two")
  })
})
