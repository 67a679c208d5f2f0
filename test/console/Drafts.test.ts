import { assert } from "@effect/vitest"
import { it } from "vitest"
import { combineForms } from "../../src/templates/CombinedForm.ts"
import { blankOf } from "../../src/console/pages/templates/NewDraft.ts"
import { base, describeShop, type Shop, variantForm } from "./shop.ts"

const hidden = (html: string, name: string): string => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)![1]!

const warm = {
  id: "warm",
  name: "Warm",
  vars: { subject: "Hello", body: "<p>One</p>\n<p>Two</p>" },
  formats: { body: "html" },
}

/** A template with one variant, and the fields that the editor sends of it. */
const furnish = async (shop: Shop, template: string) => {
  await shop.manage("POST", "/organizations/shop/templates", { id: template, name: template, variants: [warm] })
  const path = `/organizations/shop/templates/${template}`
  const form = (stored: { readonly updated_at: string }, more: Record<string, string> = {}) => ({
    ...variantForm({
      var_0_source: "Hello",
      var_1_name: "body",
      var_1_format: "html",
      var_1_source: "<p>One</p>\r\n<p>Two</p>",
      base: stored.updated_at,
      over: stored.updated_at,
      draft: "",
    }),
    ...more,
  })
  const variant = () => shop.manage("GET", `${path}/variants/warm`)
  const drafts = async () => (await shop.manage("GET", `${path}/drafts`)).drafts
  return { drafts, form, path, page: `${base}/${template}/variants/warm`, variant }
}

describeShop("Drafts in the editor", (shop) => {
  it("are stored next to the live variant, shown when the editor is reopened, and published on save", async () => {
    const { drafts, form, page, variant } = await furnish(shop, "beside")
    const editor = await shop.signIn("editor@example.com")
    const live = await variant()
    const kept = await editor.post(`${page}/autosave`, form(live, { var_0_source: "Hello you", name: "" }))
    assert.strictEqual(kept.status, 200, kept.text)
    const { saved_at: savedAt } = JSON.parse(kept.text)
    assert.deepStrictEqual(await variant(), live, "nothing of it is live")

    const shown = (await editor.get(page)).text
    assert.include(shown, "Your draft")
    assert.include(shown, ">Hello you</textarea>")
    assert.strictEqual(hidden(shown, "draft"), savedAt)
    assert.include((await editor.get(`${base}/beside`)).text, "Drafts")

    // A second window does not overwrite what it has not seen.
    const other = await editor.post(`${page}/autosave`, form(live, { var_0_source: "Elsewhere" }))
    assert.strictEqual(other.status, 409)
    const without = await editor.post(`${page}/save-draft`, form(live, { var_0_source: "Elsewhere" }))
    assert.strictEqual(without.status, 400)
    assert.include(without.text, ">Elsewhere</textarea>", "the text stays in the page")
    const next = await editor.post(`${page}/save-draft`, form(live, { var_0_source: "Hello all", draft: savedAt }))
    assert.strictEqual(next.headers.get("location"), `${page}?done=draft-saved`)

    const changes = (await editor.get(`${page}/draft`)).text
    assert.include(changes, "Hello all")
    const [{ saved_at: latest }] = await drafts()
    const saved = await editor.post(page, form(live, { var_0_source: "Hello all", draft: latest }))
    assert.strictEqual(saved.headers.get("location"), `${page}?done=variant-saved`, saved.text)
    assert.deepStrictEqual(await drafts(), [])
    assert.strictEqual((await variant()).vars.subject, "Hello all")
    // A request that was under way while the form was saved stores nothing.
    const late = await editor.post(`${page}/autosave`, form(live, { var_0_source: "Hello all", draft: latest }))
    assert.strictEqual(JSON.parse(late.text).saved_at, "")
    assert.deepStrictEqual(await drafts(), [])
    const { entries } = await shop.manage("GET", "/organizations/shop/audit")
    assert.lengthOf(entries.filter(({ action }: { readonly action: string }) => /draft/.test(action)), 0)
  })

  it("are kept for a new variant until it is created, and can be discarded", async () => {
    const { drafts } = await furnish(shop, "fresh")
    const editor = await shop.signIn("editor@example.com")
    const path = `${base}/fresh/new-variant`
    assert.strictEqual((await editor.post(`${path}/save-draft`, variantForm({ name: "Half" }))).status, 303)
    const shown = (await editor.get(path)).text
    assert.include(shown, `value="Half"`)
    await editor.post(`${path}/discard-draft`, { draft: hidden(shown, "draft") })
    assert.deepStrictEqual(await drafts(), [])
    assert.notInclude((await editor.get(path)).text, `value="Half"`)
    await editor.post(`${path}/save-draft`, variantForm({ name: "Whole" }))
    const [{ saved_at: draft }] = await drafts()
    assert.strictEqual((await editor.post(path, variantForm({ name: "Whole", draft }))).status, 303)
    assert.deepStrictEqual(await drafts(), [])
  })

  it("are shown to a colleague, who can continue and publish them", async () => {
    const { drafts, form, page, variant } = await furnish(shop, "colleague")
    const [editor, admin] = [await shop.signIn("editor@example.com"), await shop.signIn("admin@example.com")]
    const live = await variant()
    await editor.post(`${page}/save-draft`, form(live, { var_0_source: "By the editor" }))
    const opened = (await admin.get(page)).text
    assert.include(opened, "Draft by editor@example.com")
    assert.include(opened, ">Hello</textarea>", "the live text")
    const query = "?draft=editor%40example.com"
    assert.include((await admin.get(`${page}${query}`)).text, ">By the editor</textarea>")
    assert.include((await admin.get(`${page}/draft?author=editor%40example.com`)).text, "By the editor")
    const viewer = await shop.signIn("viewer@example.com")
    assert.include((await viewer.get(`${page}/draft?author=editor%40example.com`)).text, "By the editor")
    assert.strictEqual((await viewer.post(`${page}/publish-draft`, { author: "editor@example.com" })).status, 403)
    assert.strictEqual((await viewer.post(`${page}/autosave`, form(live))).status, 403)
    const published = await admin.post(`${page}/publish-draft`, { author: "editor@example.com" })
    assert.include(published.headers.get("location")!, "done=variant-saved")
    assert.strictEqual((await variant()).vars.subject, "By the editor")
    assert.deepStrictEqual(await drafts(), [])
    assert.strictEqual((await admin.get(`${page}/draft?author=editor%40example.com`)).status, 404)
  })

  it("show both texts and combine them if somebody else has saved since", async () => {
    const { drafts, form, page, path, variant } = await furnish(shop, "both")
    const editor = await shop.signIn("editor@example.com")
    const live = await variant()
    const admin = await shop.signIn("admin@example.com")
    const theirs = { var_1_source: "<p>One</p>\r\n<p>Second</p>", name: "Warmer" }
    assert.strictEqual((await admin.post(page, form(live, theirs))).status, 303)
    const mine = { var_0_source: "Hello from me" }
    const conflict = await editor.post(page, form(live, mine))
    assert.strictEqual(conflict.status, 409)
    assert.include(conflict.text, "admin@example.com saved this variant")
    assert.include(conflict.text, "Second")
    assert.include(conflict.text, ">Hello from me</textarea>")
    assert.lengthOf(await drafts(), 1, "the text is stored before the page is left")
    const reopened = (await editor.get(page)).text
    assert.include(reopened, "Saved by somebody else meanwhile", "and the question is asked again")
    const [over, draft] = [hidden(reopened, "over"), hidden(reopened, "draft")]

    const publish = await editor.post(`${page}/publish-draft`, { author: "editor@example.com" })
    assert.strictEqual(publish.status, 400)
    assert.include(publish.text, "Somebody has saved the variant since")
    const combined = await editor.post(`${page}/draft`, { ...form(live, mine), over, draft, do: "combine" })
    assert.include(combined.text, "The form has the changes of both texts.")
    assert.include(combined.text, ">Hello from me</textarea>")
    assert.include(combined.text, "&lt;p>Second&lt;/p></textarea>")
    assert.include(combined.text, `value="Warmer"`)
    assert.notInclude(combined.text, "Saved by somebody else meanwhile")

    const saved = await editor.post(page, form(live, { ...mine, over, draft }))
    assert.strictEqual(saved.status, 303, "mine, over theirs")
    assert.strictEqual((await variant()).vars.body, "<p>One</p>\n<p>Two</p>")
    assert.deepStrictEqual(await drafts(), [])
    await shop.manage("PATCH", `${path}/variants/warm`, { name: "Once more" })
    await editor.post(page, form(live, { ...mine, over }))
    await editor.post(`${page}/discard-draft`, { draft: (await drafts())[0].saved_at })
    assert.include((await editor.get(page)).text, `value="Once more"`, "theirs")
  })

  it("are stored and saved by the author of a proposal before its variant is live", async () => {
    const { form, page, path } = await furnish(shop, "approved")
    await shop.manage("PATCH", "/organizations/shop", { template_approval: "editor" })
    const editor = await shop.signIn("editor@example.com")
    await editor.post(`${base}/approved/new-variant`, variantForm({ name: "Proposed" }))
    const proposed = `${base}/approved/variants/proposed`
    const shown = (await editor.get(proposed)).text
    assert.include(shown, "your change that waits for approval")
    assert.include((await editor.get(`${proposed}/preview`)).text, "Hello ")
    const base_ = { base: hidden(shown, "base"), over: hidden(shown, "over") }
    const kept = await editor.post(`${proposed}/autosave`, variantForm({ ...base_, var_0_source: "Hi" }))
    assert.strictEqual(kept.status, 200, kept.text)
    const draft = JSON.parse(kept.text).saved_at
    const again = await editor.post(proposed, variantForm({ ...base_, var_0_source: "Hi", draft }))
    assert.match(again.headers.get("location")!, /\/reviews\/\d+\?done=change-proposed$/)
    assert.deepStrictEqual((await shop.manage("GET", `${path}/drafts`)).drafts, [])

    const { updated_at } = await shop.manage("GET", `${path}/variants/warm`)
    await editor.post(`${page}/save-draft`, form({ updated_at }, { active: "true", var_0_source: "To be approved" }))
    await editor.post(`${page}/publish-draft`, { author: "editor@example.com" })
    assert.deepStrictEqual((await shop.manage("GET", `${path}/drafts`)).drafts, [])
    assert.strictEqual((await shop.manage("GET", `${path}/variants/warm`)).vars.subject, "Hello")
    await shop.manage("PATCH", "/organizations/shop", { template_approval: "none" })
  })

  it("convert pasted copy, and show the Liquid next to the original", async () => {
    const editor = await shop.signIn("editor@example.com")
    await shop.manage("POST", "/organizations/shop/templates", { id: "pasted", name: "Pasted" })
    const form = variantForm({
      var_0_name: "subject",
      var_0_format: "text",
      var_0_source: "{{#if firstName}}{{firstName}}{{/if}}\r\n{{sendSkip}}",
    })
    const page = await editor.post(`${base}/pasted/new-variant/draft`, {
      ...form,
      do: "convert",
      convert_from: "iterable",
    })
    const { text } = page
    assert.strictEqual(page.status, 200)
    assert.include(text, "Converted from Iterable")
    assert.include(text, "1 place without an equivalent")
    assert.include(text, "subject, line 2, column 1")
    assert.include(text, "{{#if firstName}}{{firstName}}{{/if}}")
    assert.match(text, /<textarea[^>]*name="var_0_source"[^>]*>\s*\{% if firstName != blank and firstName != 0 %\}/)
    const unknown = await editor.post(`${base}/pasted/new-variant/draft`, {
      ...form,
      do: "convert",
      convert_from: "fax",
    })
    assert.include(unknown.text, "choose a platform")
    const binary = await editor.post(`${base}/pasted/new-variant/draft`, {
      ...form,
      var_0_source: "\u0001PNG",
      do: "convert",
      convert_from: "braze",
    })
    assert.include(binary.text, "is no text: the character U+0001")
  })
})

describeShop("Versions of a variant", (shop) => {
  it("are listed, compared with the current variant, and restored unless somebody else saves", async () => {
    const { page, path, variant } = await furnish(shop, "versions")
    const editor = await shop.signIn("editor@example.com")
    for (let n = 1; n <= 31; n++) {
      await shop.manage("PATCH", `${path}/variants/warm`, { vars: { ...warm.vars, subject: `Text ${n}` } })
    }
    assert.include((await editor.get(page)).text, `href="${page}/versions"`)
    const list = (await editor.get(`${page}/versions`)).text
    const [, next] = /href="([^"]+[?]cursor=\d+)"/.exec(list) ?? []
    const oldest = (await editor.get(next!.replaceAll("&amp;", "&"))).text
    const [first] = [...oldest.matchAll(/versions\/(\d+)"/g)].map(([, id]) => id).slice(-1)
    const shown = await editor.get(`${page}/versions/${first}`)
    assert.include(shown.text, "Restoring it makes these changes")
    assert.include(shown.text, "Text 31")
    const over = hidden(shown.text, "over")
    await shop.manage("PATCH", `${path}/variants/warm`, { vars: { ...warm.vars, subject: "Meanwhile" } })
    const refused = await editor.post(`${page}/versions/${first}/restore`, { over })
    assert.strictEqual(refused.status, 400)
    assert.include(refused.text, "Somebody has saved the variant meanwhile")
    assert.include(refused.text, "Meanwhile")
    const restored = await editor.post(`${page}/versions/${first}/restore`, { over: hidden(refused.text, "over") })
    assert.strictEqual(restored.headers.get("location"), `${page}?done=version-restored`)
    assert.deepStrictEqual((await variant()).vars, warm.vars)
    assert.include((await editor.get(`${page}/versions/${first}`)).text, "Restoring it changes nothing")
    const viewer = await shop.signIn("viewer@example.com")
    assert.notInclude((await viewer.get(`${page}/versions/${first}`)).text, "Restore this version")
    assert.strictEqual((await viewer.post(`${page}/versions/${first}/restore`, { over })).status, 403)
    for (const id of ["0", "x", "9".repeat(20)]) {
      assert.strictEqual((await editor.get(`${page}/versions/${id}`)).status, 404, id)
    }
  })
})

describeShop("Text of an expired session", (shop) => {
  it("stays in the page until the same account signs in again, and is not stored for another account", async () => {
    const { drafts, form, page, variant } = await furnish(shop, "expired")
    const live = await variant()
    const sent = form(live, { var_0_source: 'Typed "before"\r\n<b>', _account: "editor@example.com" })
    const post = (path: string, headers: Record<string, string>) =>
      shop.service.request(path, {
        method: "POST",
        redirect: "manual",
        headers: { origin: shop.service.url, ...headers },
        body: new URLSearchParams({ _csrf: "of-the-session-before", ...sent }),
      })
    for (const path of [page, `${page}/save-draft`, `${page}/test`, `${page}/draft`]) {
      const asked = await post(path, {})
      assert.strictEqual(asked.status, 401, path)
      const text = await asked.text()
      assert.include(text, "Sign in as editor@example.com in a new tab")
      assert.include(text, `action="${path}"`)
      assert.include(text, 'name="var_0_source" value="Typed &quot;before&quot;\r\n&lt;b>"')
      assert.notInclude(text, "of-the-session-before")
    }
    const foreign = await post(page, { origin: "https://elsewhere.example" })
    assert.strictEqual(foreign.status, 303, "forms of other sites are not kept")

    const editor = await shop.signIn("editor@example.com")
    const resumed = await editor.post(page, { ...sent, _csrf: "of-the-session-before" })
    assert.strictEqual(resumed.status, 200, resumed.text)
    assert.include(resumed.text, "You are signed in again, and your text is here.")
    assert.include(resumed.text, "Typed &quot;before&quot;\n&lt;b></textarea>")
    for (const other of ["admin@example.com", "stranger@example.com"]) {
      const refused = await (await shop.signIn(other)).post(page, { ...sent, _csrf: "of-the-session-before" })
      assert.strictEqual(refused.status, 403)
      assert.include(refused.text, `You are signed in as ${other}, and this text was written as editor@example.com.`)
    }
    assert.deepStrictEqual(await variant(), live)
    assert.deepStrictEqual(await drafts(), [])
    assert.include((await editor.get("/console/signed-in")).text, "go back to the one with your text")
    const saved = await editor.post(page, sent)
    assert.strictEqual(saved.status, 303)
  })
})

describeShop("A form of an expired session", (shop) => {
  const post = (path: string, fields: Record<string, string>, session = { _account: "admin@example.com" }) =>
    shop.service.request(path, {
      method: "POST",
      redirect: "manual",
      headers: { origin: shop.service.url },
      body: new URLSearchParams({ _csrf: "of-the-session-before", ...session, ...fields }),
    })

  it("comes back with its text after signing in, and changes nothing", async () => {
    const admin = await shop.signIn("admin@example.com")
    await shop.manage("POST", "/organizations/shop/templates", { id: "sale", name: "Sale" })
    for (
      const [path, fields, shown] of [
        ["/console/o/shop/templates/sale/rename", { name: "Typed sale" }, 'value="Typed sale"'],
        ["/console/o/shop/templates/-/new", { name: "Typed before", id: "typed" }, 'value="Typed before"'],
        ["/console/o/shop/settings/keys/new", { name: "Key <x>", kind: "test" }, 'value="Key &lt;x>"'],
        ["/console/o/shop/snippets/-/new", { name: "Foot", text: "<b>typed</b>" }, "&lt;b>typed&lt;/b>"],
        ["/console/o/shop/suppressions", { email: "typed@example.com", reason: "manual" }, 'value="typed@example.com"'],
        ["/console/o/shop/settings", { name: "Typed shop" }, 'value="Typed shop"'],
      ] as const
    ) {
      const asked = await post(path, fields)
      assert.strictEqual(asked.status, 401, path)
      const text = await asked.text()
      assert.include(text, `action="${path}"`)
      assert.notInclude(text, "of-the-session-before")
      const kept = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [
        name!,
        value!.replaceAll("&lt;", "<"),
      ])
      const back = await admin.post(path, { ...Object.fromEntries(kept), _csrf: "" })
      assert.strictEqual(back.status, 200, path)
      assert.include(back.text, shown, path)
      assert.include(back.text, 'class="note good"', path)
    }
    assert.deepStrictEqual((await shop.manage("GET", "/organizations/shop/keys")).keys, [])
    assert.strictEqual((await shop.manage("GET", "/organizations/shop")).name, "Shop")
  })

  it("keeps each ticked box and the lines of a text", async () => {
    const scopes = ["generate", "deliver", "events"]
    const asked = await shop.service.request("/console/o/shop/settings/keys/new", {
      method: "POST",
      headers: { origin: shop.service.url },
      body: new URLSearchParams([
        ["_account", "admin@example.com"],
        ["name", "first\r\nsecond"],
        ...scopes.map((scope) => ["scopes", scope]),
      ]),
    })
    // Browsers send a value with a line feed as one value with a carriage return.
    assert.deepStrictEqual(
      [...(await asked.text()).matchAll(/name="(name|scopes)" value="([^"]*)"/g)].map(([, , value]) => value),
      ["first\r\nsecond", ...scopes],
    )
  })

  it("keeps no password and no secret", async () => {
    const path = "/console/o/shop/connections/-/new/smtp"
    const form = (await (await shop.signIn("admin@example.com")).get(path)).text
    const secrets = [...form.matchAll(/name="_secrets" value="([^"]+)"/g)].map(([, name]) => name!)
    assert.isAbove(secrets.length, 0)
    assert.strictEqual(secrets.length, [...form.matchAll(/type="password"/g)].length)
    const typed = Object.fromEntries(secrets.map((name) => [name, "hunter2-secret"]))
    const text = await (await post(path, { name: "Typed mail", ...typed, _secrets: secrets.join("\n") })).text()
    assert.include(text, 'value="Typed mail"')
    assert.notInclude(text, "hunter2-secret")
    const passwords = { current_password: "hunter2-secret", _secrets: "current_password" }
    assert.strictEqual((await post("/console/account/password", passwords)).status, 303)
  })

  it("with a button alone leads to the sign-in page", async () => {
    const members = (await (await shop.signIn("admin@example.com")).get("/console/o/shop/settings/members")).text
    assert.notInclude(members, 'name="_account"')
    const asked = await post("/console/o/shop/settings/members/second-factor", { require: "yes" }, {} as never)
    assert.strictEqual(asked.status, 303)
  })
})

describeShop("Two texts that began from one", () => {
  it("are combined by field, and list the fields that both changed", () => {
    const begun = {
      ...blankOf({ variants: [] } as never),
      name: "A",
      variables: [
        { name: "subject", format: "text", source: "one" },
        { name: "body", format: "html", source: "two" },
        { name: "old", format: "text", source: "three" },
      ],
    }
    const at = (index: number, source: string) =>
      begun.variables.map((row, i) => i === index ? { ...row, source } : row)
    const own = { ...begun, name: "Mine", variables: at(0, "my one") }
    const other = { ...begun, name: "Theirs", active: true, variables: at(1, "their two").slice(0, 2) }
    const { both, form } = combineForms(begun, own, other)
    assert.deepStrictEqual(both, ["name"])
    assert.deepInclude(form, { name: "Mine", active: true })
    assert.deepStrictEqual(form.variables, [
      { name: "subject", format: "text", source: "my one" },
      { name: "body", format: "html", source: "their two" },
    ])
    assert.deepStrictEqual(combineForms(begun, begun, other).form.variables, other.variables)
    const { base: _, ...mine } = own
    assert.deepStrictEqual<unknown>(combineForms(begun, own, begun).form, mine)
  })
})
