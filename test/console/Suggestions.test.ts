import { assert } from "@effect/vitest"
import { afterAll, it } from "vitest"
import { completion, drafts, startChatModel } from "../api/chatModel.ts"
import { describeShop } from "./shop.ts"

const model = startChatModel()
afterAll(() => model.close())

const settings = "/console/o/shop/settings/suggestions"
const template = "/console/o/shop/templates/cart"

describeShop("Pages of suggestions", (shop) => {
  it("choose a model, say what is sent, show the drafts, and keep or discard each", async () => {
    await shop.manage("POST", "/organizations/shop/templates", {
      id: "cart",
      name: "Cart",
      variants: [{ id: "plain", name: "Plain", vars: { subject: "Your cart" } }],
    })
    const [editor, admin] = [await shop.signIn("editor@example.com"), await shop.signIn("admin@example.com")]
    assert.notInclude((await editor.get(template)).text, "Suggest variants")
    assert.include((await editor.get(`${template}/suggestions`)).text, "No model is configured")

    const form = {
      endpoint: "own",
      url: model.url,
      model: "tiny <b>",
      key: "secret-key",
      tone: "",
      forbidden_words: "cheap\nbargain",
      required_phrases: "",
      max_lengths: "subject",
    }
    assert.strictEqual((await editor.post(settings, form)).status, 403)
    const faulty = await admin.post(settings, form)
    assert.strictEqual(faulty.status, 400)
    assert.include(faulty.text, "Maximum lengths: must be")
    await admin.post(settings, { ...form, max_lengths: "subject: 60" })
    const stored = (await admin.get(settings)).text
    assert.include(stored, "cheap\nbargain</textarea>")
    assert.include(stored, "subject: 60</textarea>")
    assert.notInclude(stored, "secret-key")

    assert.include((await editor.get(template)).text, `href="${template}/suggestions"`)
    assert.include((await editor.get(`${template}/variants/plain`)).text, `href="${template}/suggestions"`)
    assert.include((await editor.get(`${template}/new-variant`)).text, `href="${template}/suggestions"`)
    const page = (await editor.get(`${template}/suggestions`)).text
    assert.include(page, `<b>tiny &lt;b></b> at <b>${new URL(model.url).host}</b>`)
    assert.include(page, "Show the whole request")
    assert.notInclude(page, "their format is text")
    await shop.manage("POST", "/organizations/shop/templates/cart/variants", {
      id: "marked",
      name: "Marked",
      active: false,
      vars: { subject: "Your cart", body: "<p>Hello</p>" },
    })
    assert.include(
      (await editor.get(`${template}/suggestions`)).text,
      "These texts contain HTML, and their format is text: Body of Marked.",
    )
    await shop.manage("DELETE", "/organizations/shop/templates/cart/variants/marked")

    model.answers(() => new Response("<script>no</script>", { status: 500 }))
    const failed = (await editor.post(`${template}/suggestions`, { instructions: "", base: "", count: "3" })).text
    assert.include(failed, "answered 500: &lt;script>no&lt;/script>. Try again later. No draft was stored.")
    model.answers(
      () => completion(drafts(["<i>One", { subject: "Still there?" }], ["Two", { subject: "A bargain" }])),
      () => completion(drafts(["Three", { subject: "Come back" }])),
    )
    const answered = (await editor.post(`${template}/suggestions`, { instructions: "", base: "", count: "2" })).text
    assert.include(answered, "2 drafts passed the checks. 2,000 input tokens and 400 output tokens.")
    assert.include(answered, "contains the forbidden &quot;bargain&quot;")
    assert.include(answered, "&lt;i>One")

    const [first, second] = [...answered.matchAll(/suggestions\/(v_\w+)\/keep/g)].map(([, id]) => id!)
    const kept = await editor.post(`${template}/suggestions/${first}/keep`, {})
    assert.strictEqual(kept.headers.get("location"), `${template}/variants/${first}?done=suggestion-kept`)
    const discarded = await editor.post(`${template}/suggestions/${second}/discard`, {})
    assert.strictEqual(discarded.headers.get("location"), `${template}/suggestions?done=suggestion-discarded`)
    assert.notInclude((await editor.get(`${template}/suggestions`)).text, "Keep as draft")
    assert.include((await editor.get(template)).text, "Suggested by tiny")
  })

  it("hide the query of an own URL from everybody, and keep it when the form is saved", async () => {
    const at = "/organizations/shop/suggestion-setup"
    const full = `${model.url}?api-key=query-secret`
    const own = await shop.manage("PATCH", at, { endpoint: "own", url: full, model: "tiny", key: "k" })
    assert.strictEqual(own.url, `${model.url}?…`)
    const viewer = await shop.signIn("viewer@example.com")
    const [admin, log] = [await shop.signIn("admin@example.com"), "/console/o/shop/audit"]
    for (const page of [await viewer.get(settings), await admin.get(settings), await admin.get(log)]) {
      assert.notInclude(page.text, "query-secret")
    }
    const same = await shop.manage("PATCH", at, { url: `${model.url}?…`, tone: "warm" })
    assert.deepStrictEqual([same.url, same.has_key], [`${model.url}?…`, true])
    const asked: Array<string> = []
    model.answers(({ path }) => {
      asked.push(path)
      return completion(drafts(["Four", { subject: "Come again" }]))
    })
    await shop.manage("POST", "/organizations/shop/templates/cart/suggestions", { count: 1 })
    assert.deepStrictEqual(asked, ["/v1/chat/completions?api-key=query-secret"])
    for (const url of ["https://other.example/v1?…", `${model.url}?a=b\tc`, `${model.url}\n?a=b`]) {
      const { body, status } = await shop.service.manage("PATCH", at, { url })
      assert.strictEqual(status, 400, JSON.stringify(body))
    }
  })
}, { OUTBOUND_ALLOW: "127.0.0.1" })
