import { assert } from "@effect/vitest"
import { it } from "vitest"
import { base, describeShop, variantForm } from "./shop.ts"

const connections = "/console/o/shop/connections"

describeShop("Warnings about content that Deliver cannot send", (shop) => {
  const template = (id: string, variants: ReadonlyArray<Record<string, unknown>>) =>
    shop.manage("POST", "/organizations/shop/templates", { id, name: id, variants })
  const connect = (name: string, change: unknown) =>
    shop.manage("PUT", `/organizations/shop/connections/${name}`, change)

  const unescaped = (page: string) => page.replaceAll("&quot;", '"')

  /** The warning that the editor shows. */
  const shownIn = (page: string) =>
    /<div id="send-warning"><div class="note warn"[^>]*>([^<]*)</.exec(unescaped(page))?.[1]

  it("appear in the editor, on the page of the template and in the preview", async () => {
    const editor = await shop.signIn("editor@example.com")
    await template("cart", [
      { id: "bare", name: "Bare", vars: { subject: "Hi", footer: "x" } },
      { id: "blank", name: "Blank", vars: { subject: "Hi", body: " \n" }, formats: { body: "html" } },
      { id: "mute", name: "Mute", vars: { body: "Text" } },
      { id: "off", name: "Off", vars: { footer: "x" }, active: false },
      { id: "good", name: "Good", vars: { subject: "Hi", body_html: "<p>Hi</p>" }, formats: { body_html: "html" } },
    ])
    const bare = (await editor.get(`${base}/cart/variants/bare`)).text
    assert.strictEqual(
      shownIn(bare),
      'Deliver cannot send the variant Bare: it has no body. Write the message in a variable "body" with the format html. ' +
        "Generate is not affected.",
    )
    assert.include(shownIn((await editor.get(`${base}/cart/variants/off`)).text)!, "no subject and no body")
    assert.isUndefined(shownIn((await editor.get(`${base}/cart/variants/good`)).text))
    const page = unescaped((await editor.get(`${base}/cart`)).text)
    assert.include(page, "Deliver cannot send 2 variants, because they have no body: Bare, Blank. Write the message")
    assert.include(page, 'Deliver cannot send the variant Mute: it has no subject. Write it in a variable "subject".')

    const draft = `${base}/cart/variants/good/draft`
    const removed = await editor.post(draft, variantForm({ name: "Good", base: "x" }))
    assert.include(shownIn(removed.text)!, "the variant Good: it has no body")
    const preview = async (more: Record<string, string>) => {
      const { text } = await editor.post(`${base}/cart/preview`, variantForm(more))
      return /<main class="preview" data-warning(?:="([^"]*)")?>/.exec(text)![1] ?? ""
    }
    assert.include(await preview({}), "the variant Warm: it has no body")
    assert.strictEqual(await preview({ var_1_name: "html", var_1_format: "text", var_1_source: "<p>Hi</p>" }), "")
    assert.strictEqual(await preview({ var_0_source: "" }), "", "nothing is written yet")
    assert.isUndefined(shownIn((await editor.get(`${base}/cart/new-variant`)).text))

    assert.strictEqual((await editor.post(`${base}/cart/archive`, { archived: "true" })).status, 303)
    assert.notInclude((await editor.get(`${base}/cart`)).text, "Deliver cannot send")
  })

  it("depend on the connection in use, and appear in its test", async () => {
    const admin = await shop.signIn("admin@example.com")
    await template("news", [{ id: "a", name: "A", vars: { title: "Hi", "content": "Hi" } }])
    await template("gone", [{ id: "b", name: "B", vars: {} }])
    await shop.manage("PATCH", "/organizations/shop/templates/gone", { archived: true })
    const settings = { host: "smtp.example.com", from: "news@example.com" }
    const tested = async (name: string) => unescaped((await admin.post(`${connections}/${name}/test`, {})).text)

    await connect("plain", { platform: "smtp", settings })
    assert.include((await admin.get(`${base}/news/variants/a`)).text, "no subject and no body")
    assert.include(
      await tested("plain"),
      'Deliver cannot send the variant news / a: it has no subject and no body. Write the subject in a variable "subject"',
    )
    assert.notInclude(await tested("plain"), "gone / b")
    assert.include((await admin.get(`${base}/news/variants/a`)).text, '<legend class="visually-hidden">title</legend>')
    await connect("named", {
      platform: "smtp",
      settings: { ...settings, variables: { subject: "title" } },
      default: true,
    })
    const subject = '<legend class="visually-hidden">Subject</legend>'
    assert.include((await admin.get(`${base}/news/variants/a`)).text, subject, "the variable that becomes the subject")
    const named = "it has no body. Write the message"
    assert.include((await admin.get(`${base}/news/variants/a`)).text, named)
    assert.include(await tested("named"), named)
    await connect("all", {
      platform: "iterable",
      settings: { campaign_id: 7, endpoint: "http://127.0.0.1:9" },
      secrets: { api_key: "k" },
      default: true,
    })
    assert.isUndefined(shownIn((await admin.get(`${base}/news/variants/a`)).text))
    assert.notInclude((await admin.get(`${base}/news`)).text, "Deliver cannot send")
    assert.notInclude(await tested("all"), "Deliver cannot send")
  })
}, { OUTBOUND_ALLOW: "127.0.0.1" })
