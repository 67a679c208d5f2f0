import { assert } from "@effect/vitest"
import { it } from "vitest"
import { images } from "../support/testImages.ts"
import { base, describeShop, variantForm } from "./shop.ts"

const path = "/console/o/shop/images"

const fileOf = (name: string, content: Uint8Array | string) =>
  new File([content as BlobPart], name, { type: "image/png" })

describeShop("Pages of images", (shop) => {
  it("upload, show and delete images, and warn before an image in use is deleted", async () => {
    const editor = await shop.signIn("editor@example.com")
    assert.include((await editor.get(path)).text, "No images yet")
    const uploaded = await editor.upload(path, [fileOf("a&b.png", images.png), fileOf("x/logo.gif", images.gif)])
    assert.strictEqual(uploaded.headers.get("location"), `${path}?done=image-uploaded`)
    const { images: [, { id, url }] } = await shop.manage("GET", "/organizations/shop/images")
    const list = (await editor.get(path)).text
    for (const text of ["a&amp;b.png", "logo.gif", "6 × 4 px, 1 kB", "2 images of 500", `src="/i/shop/${id}.`]) {
      assert.include(list, text)
    }
    assert.include((await editor.get(`${path}/${id}`)).text, "Nothing uses it yet.")

    const { variants: [{ updated_at: over }] } = await shop.manage("POST", "/organizations/shop/templates", {
      id: "sale",
      name: "Summer sale",
      variants: [{ id: "a", vars: { body: `<img src="${url}">` }, formats: { body: "html" } }],
    })
    assert.include((await editor.get(`${path}/${id}`)).text, ">Summer sale</a>")
    assert.include((await editor.get(`${path}/${id}/delete`)).text, "<li>Summer sale (live)</li>")
    await shop.manage("PATCH", "/organizations/shop", { template_approval: "editor" })
    const proposed = await editor.post("/console/o/shop/templates/sale/variants/a", {
      ...variantForm({
        base: over,
        over,
        var_0_name: "body",
        var_0_format: "html",
        var_0_source: `<img src="${url}" alt="Sale">`,
      }),
    })
    assert.strictEqual(proposed.status, 303, proposed.text)
    const { proposals: [{ id: proposal }] } = await shop.manage("GET", "/organizations/shop/proposals")
    assert.deepStrictEqual((await shop.manage("GET", `/organizations/shop/images/${id}`)).proposals, [proposal])
    const asked = (await editor.get(`${path}/${id}/delete`)).text
    assert.include(asked, "It is used in 2 places. Replace it there first.")
    assert.include(asked, `href="/console/o/shop/reviews/${proposal}"`)
    assert.include((await editor.get(`${path}/${id}`)).text, `href="/console/o/shop/reviews/${proposal}"`)
    const refused = await editor.post(`${path}/${id}/delete`, {})
    assert.strictEqual(refused.status, 400)
    assert.include(refused.text, `the proposed change ${proposal}`)

    await editor.post(`/console/o/shop/reviews/${proposal}/withdraw`, {})

    // A draft would show the image, too.
    await shop.manage("PATCH", "/organizations/shop", { template_approval: "none" })
    await editor.post("/console/o/shop/templates/sale/variants/a", {
      ...variantForm({ base: over, over, var_0_name: "body", var_0_format: "html", var_0_source: "None" }),
    })
    const { variants: [{ updated_at: since }] } = await shop.manage("GET", "/organizations/shop/templates/sale")
    const draft = variantForm({
      base: since,
      over: since,
      draft: "",
      var_0_name: "body",
      var_0_format: "html",
      var_0_source: `<img src="${url}" alt="Draft">`,
    })
    const kept = await editor.post("/console/o/shop/templates/sale/variants/a/save-draft", draft)
    assert.strictEqual(kept.status, 303, kept.text)
    const { drafts, templates } = await shop.manage("GET", `/organizations/shop/images/${id}`)
    assert.deepStrictEqual([drafts, templates], [[{ template_id: "sale", name: "Summer sale" }], []])
    assert.include((await editor.get(`${path}/${id}`)).text, 'href="/console/o/shop/templates/sale"')
    const inDraft = await editor.post(`${path}/${id}/delete`, {})
    assert.strictEqual(inDraft.status, 400)
    assert.include(inDraft.text, "a draft of the template &quot;sale&quot;")
    await editor.post("/console/o/shop/templates/sale/variants/a/discard-draft", {})
    assert.deepStrictEqual((await shop.manage("GET", `/organizations/shop/images/${id}`)).drafts, [])

    // The change of a snippet also waits for approval.
    await shop.manage("PATCH", "/organizations/shop", { template_approval: "none" })
    await shop.manage("PUT", "/organizations/shop/snippets/logo", { text: "Logo", format: "html" })
    await shop.manage("POST", "/organizations/shop/templates", {
      id: "live",
      name: "Live",
      variants: [{ id: "a", vars: { body: "{% render 'logo' %}" }, formats: { body: "html" } }],
    })
    await shop.manage("PATCH", "/organizations/shop", { template_approval: "editor" })
    await editor.post("/console/o/shop/snippets/logo", { name: "logo", text: `<img src="${url}">`, format: "html" })
    assert.include((await editor.get(`${path}/${id}/delete`)).text, "<li>Snippet logo</li>")
    assert.include((await editor.post(`${path}/${id}/delete`, {})).text, "the snippet &quot;logo&quot;")
    await editor.post("/console/o/shop/reviews/-/snippets/logo/dismiss", {})

    // A change of a template that is deleted in the meantime blocks nothing.
    const { variants: [{ updated_at: now }] } = await shop.manage("GET", "/organizations/shop/templates/sale")
    await editor.post("/console/o/shop/templates/sale/variants/a", {
      ...variantForm({
        base: now,
        over: now,
        var_0_name: "body",
        var_0_format: "html",
        var_0_source: `<img src="${url}">.`,
      }),
    })
    assert.lengthOf((await shop.manage("GET", `/organizations/shop/images/${id}`)).proposals, 1)
    await shop.manage("PATCH", "/organizations/shop", { template_approval: "none" })
    await shop.manage("DELETE", "/organizations/shop/templates/sale")
    const deleted = await editor.post(`${path}/${id}/delete`, {})
    assert.strictEqual(deleted.headers.get("location"), `${path}?done=image-deleted`)
    assert.strictEqual((await editor.get(`${path}/${id}`)).status, 404)
  })

  it("show every refused file with its reason, and store the others", async () => {
    const editor = await shop.signIn("editor@example.com")
    const refused = await editor.upload(path, [
      fileOf("\u202Egnp.svg", "<svg onload=alert(1)>"),
      fileOf("page.gif", "<html><script>alert(1)</script>"),
      fileOf("photo.jpg", images.jpeg),
      fileOf("empty.png", ""),
    ])
    assert.strictEqual(refused.status, 400)
    assert.include(refused.text, "3 things need to be corrected")
    for (const reason of ["The file is an SVG", "page.gif: The file is an HTML page", "empty.png: The file is empty"]) {
      assert.include(refused.text, reason)
    }
    assert.include(refused.text, "photo.jpg")
    assert.notInclude(refused.text, "\u202E")
    assert.include((await editor.upload(path, [fileOf("", "")])).text, "Choose a file to upload")
    assert.strictEqual((await editor.upload(path, [fileOf("big.png", new Uint8Array(13 * 2 ** 20))])).status, 413)
  })

  it("are read by viewers, uploaded by editors, and closed to others", async () => {
    const viewer = await shop.signIn("viewer@example.com")
    const list = await viewer.get(path)
    assert.strictEqual(list.status, 200)
    assert.notInclude(list.text, "Upload</button>")
    const refused = await viewer.upload(path, [fileOf("a.webp", images.webp)])
    assert.include(refused.text, "This request requires the role editor")
    assert.strictEqual((await (await shop.signIn("stranger@example.com")).get(path)).status, 403)
  })

  it("are offered next to variables in HTML and MJML", async () => {
    const editor = await shop.signIn("editor@example.com")
    await shop.manage("POST", "/organizations/shop/templates", { id: "new", name: "New" })
    const page = await editor.post(
      `${base}/new/new-variant/draft`,
      variantForm({ var_1_name: "body", var_1_format: "mjml", var_1_source: "" }),
    )
    assert.deepStrictEqual(page.text.match(/data-insert-image="[^"]+"/g), ['data-insert-image="var_1"'])
  })
})
