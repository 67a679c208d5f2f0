import { assert } from "@effect/vitest"
import { it } from "vitest"
import { base, describeShop, variantForm } from "./shop.ts"

const script = `<script>document.title="owned"</script>`

// deno-lint-ignore no-explicit-any -- what a test reads of an answer it also asserts
type Json = any

describeShop("What was changed, in the console", (shop) => {
  const log = "/console/o/shop/settings/audit"
  /** Changes alone: sign-ins are recorded a few seconds later, between whatever is changed then. */
  const entries = async (path = "/organizations/shop/audit"): Promise<ReadonlyArray<Json>> =>
    (await shop.manage("GET", `${path}?limit=200`)).entries.filter(({ action }: Json) => action !== "signed in")

  it("finds entries by actor, action and subject", async () => {
    for (let n = 0; n < 30; n++) {
      await shop.manage("POST", "/organizations/shop/keys", { name: `Key ${n}` })
    }
    const admin = await shop.signIn("admin@example.com")
    const first = (await admin.get(`${log}?action=API+key+created`)).text
    assert.include(first, "30 changes, newest first")
    const [, next] = /href="([^"]+)" rel="next"/.exec(first)!
    assert.match(next!, /\?action=API\+key\+created&amp;cursor=\d+$/)
    const second = (await admin.get(next!.replaceAll("&amp;", "&"))).text
    assert.strictEqual(second.match(/class="change-head"/g)?.length, 10)
    assert.include((await admin.get(`${log}?actor=nobody@example.com`)).text, "No matching changes")
    assert.include((await admin.get(`${log}?actor=Admin+token&subject=Key+3`)).text, "1 change, newest first")
    assert.strictEqual((await admin.get(`${log}?actor=%00&action=%00&subject=%00`)).status, 200)
  })

  it("lists keys page by page, and finds them by name and state", async () => {
    const keys = "/console/o/shop/settings/keys"
    const admin = await shop.signIn("admin@example.com")
    const { keys: all } = await shop.manage("GET", "/organizations/shop/keys")
    const { text } = await admin.get(keys)
    assert.strictEqual(text.match(/>Revoke<\/a>/g)?.length, 25)
    assert.include(text, `1–25 of ${all.length}`)
    const sought = all.find(({ name }: Json) => name === "Key 17")
    await admin.post(`${keys}/${sought.id}/revoke`, {})
    const found = (await admin.get(`${keys}?q=key+17&state=revoked`)).text
    assert.include(found, `1 key of ${all.length}`)
    assert.include((await admin.get(`${keys}?q=key+17&state=active`)).text, "No matching keys")
  })

  it("shows a variant's text line by line, and other fields before and after", async () => {
    const at = "/organizations/shop/templates/letter"
    const long = Array.from({ length: 900 }, (_, n) => `<p>Line ${n} of the letter</p>`)
    await shop.manage("POST", "/organizations/shop/templates", {
      id: "letter",
      name: "Letter",
      variants: [{ id: "a", name: "First", vars: { subject: "Hello", body: long.join("\n") } }],
    })
    const editor = await shop.signIn("editor@example.com")
    const { updated_at: updatedAt } = await shop.manage("GET", `${at}/variants/a`)
    const changed = long.with(700, `<p>${script}</p>`).join("\n")
    const saved = await editor.post(
      `${base}/letter/variants/a`,
      variantForm({
        name: "First",
        base: updatedAt,
        var_0_source: "Hello {{ name }}",
        var_1_name: "body",
        var_1_format: "text",
        var_1_source: changed,
        condition_0_attribute: "tier",
        condition_0_op: "is",
        condition_0_values: "gold",
      }),
    )
    assert.strictEqual(saved.status, 303, saved.text)
    const { changes: [latest] } = await shop.manage("GET", `${at}/history?limit=1`)
    assert.deepInclude(latest, { actor: "editor@example.com", action: "variant changed", subject: "letter / a" })
    const fields: Record<string, Json> = Object.fromEntries(
      latest.changes.fields.map(({ field, ...rest }: Json) => [field, rest]),
    )
    assert.deepStrictEqual(Object.keys(fields), ["/vars/subject", "/vars/body", "/targeting"])
    assert.deepStrictEqual(fields["/vars/subject"], { before: "Hello", after: "Hello {{ name }}" })
    assert.strictEqual(fields["/vars/body"].line, 698, "only what is around the change is kept")
    assert.strictEqual(fields["/vars/body"].before.split("\n").length, 7)
    const page = (await editor.get(`${base}/letter/history`)).text
    assert.include(page, `<del><span class="visually-hidden">before: </span>Hello</del>`)
    assert.include(page, `<ins><span class="visually-hidden">after: </span>tier is gold</ins>`)
    assert.match(page, /removed: <\/span>&lt;p>Line 700 of the letter/)
    assert.match(page, /added: <\/span>&lt;p>&lt;script>/)
    assert.include(page, "from line 698")
    assert.notInclude(page, script)
    assert.isBelow(page.length, 150_000)

    // Created and removed objects are kept as well, as far as there is room.
    const whole = (await editor.get(`${base}/letter/history/${latest.id}`)).text
    assert.include(whole, "What changed")
    assert.include(whole, "tier is gold")
    for (const entry of ["0", "x", "99999999", "1e999"]) {
      assert.strictEqual((await editor.get(`${base}/letter/history/${entry}`)).status, 404, entry)
    }
    for (let n = 0; n < 45; n++) {
      await shop.manage("PATCH", `${at}/variants/a`, { vars: { subject: `${n} ${"<b>".repeat(2000)}`, body: script } })
    }
    const full = await editor.get(`${base}/letter/history`)
    assert.isBelow(full.text.length, 150_000)
    assert.include(full.text, "Show the whole change")
    const older = /href="([^"]*history\?cursor=\d+)"/.exec(full.text)![1]!
    assert.include((await editor.get(older)).text, "template created")
    await shop.manage("DELETE", at)
    const gone = (await entries())[0]
    assert.deepInclude(gone, { action: "template deleted", subject: "letter" })
    assert.deepInclude(gone.changes.fields[0], { field: "/name", before: "Letter" })
    assert.isBelow(JSON.stringify(gone.changes).length, 50_000)
  })

  it("contains one entry per template changed by an import, for every way of importing", async () => {
    const template = (id: string, subject: string) => ({
      id,
      name: id,
      variants: [{ id: "a", vars: { subject } }],
    })
    await shop.manage("POST", "/organizations/shop/templates/import", {
      templates: [template("one", "x"), template("two", "x")],
    })
    await shop.manage("POST", "/organizations/shop/templates/import", {
      templates: [template("one", "y"), template("two", "x")],
    })
    const [second, , , ...rest] = await entries()
    assert.deepInclude(second, { action: "template changed", subject: "one", details: { by: "import" } })
    assert.deepStrictEqual(second.changes.fields, [{ field: "/variants/a/vars/subject", before: "x", after: "y" }])
    assert.isAbove(rest.length, 0)
    const { changes } = await shop.manage("GET", "/organizations/shop/templates/one/history")
    assert.deepStrictEqual(changes.map(({ action }: Json) => action), ["template changed", "template created"])
    const { changes: others } = await shop.manage("GET", "/organizations/shop/templates/two/history")
    assert.deepStrictEqual(others.map(({ action }: Json) => action), ["template created"], "unchanged: no entry")
    const viewer = await shop.signIn("viewer@example.com")
    const page = (await viewer.get(`${base}/one/history`)).text
    assert.include(page, "template changed by an import")
    assert.include(page, "a · subject")
  })

  it("shows settings of organizations, sources and connections before and after, but never a secret", async () => {
    const at = "/organizations/shop"
    const quiet = { from: "21:00", to: "08:00" }
    await shop.manage("PATCH", at, { name: "Shop & Co", quiet_hours: quiet })
    const [organization] = await entries()
    assert.deepStrictEqual(organization.changes, {
      fields: [
        { field: "/name", before: "Shop", after: "Shop & Co" },
        { field: "/quiet_hours", before: null, after: quiet },
      ],
      omitted: 0,
    })
    const secrets = ["first-secret-value", "second-secret-value"]
    for (const secret of secrets) {
      await shop.manage("PUT", `${at}/webhooks/provider_d`, { secret, settings: { scheme: "token" } })
    }
    const [source] = await entries()
    assert.deepStrictEqual(source.changes.fields, [{ field: "/secret", before: "set", after: "replaced" }])
    const signing = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"]
    for (const [n, secret] of signing.entries()) {
      await shop.manage("PUT", `${at}/connections/main`, {
        platform: "webhook",
        settings: { url: `https://hooks.example.com/in?token=hidden-${n}` },
        secrets: { signing_secret: secret },
        paused: n === 1,
      })
    }
    const [connection] = await entries()
    assert.deepStrictEqual(connection.changes.fields, [
      { field: "/paused", before: false, after: true },
      { field: "/settings/url", before: "•••", after: "••• (changed)" },
      { field: "/secrets/signing_secret", before: "set", after: "replaced" },
    ])
    await shop.manage("DELETE", `${at}/connections/main`)
    await shop.manage("DELETE", `${at}/webhooks/provider_d`)
    const all = JSON.stringify(await entries())
    const admin = await shop.signIn("admin@example.com")
    const page = (await admin.get(log)).text
    for (const secret of [...secrets, ...signing, "hidden-"]) {
      assert.notInclude(all, secret)
      assert.notInclude(page, secret)
    }
    assert.include(page, "from 21:00 until 08:00")
    assert.include((await admin.get(`${log}/${organization.id}`)).text, "Shop &amp; Co")
    await shop.manage("POST", "/organizations", { slug: "other", name: "Other" })
    const [foreign] = await entries("/organizations/other/audit")
    assert.strictEqual((await admin.get(`${log}/${foreign.id}`)).status, 404)
    const editor = await shop.signIn("editor@example.com")
    assert.strictEqual((await editor.get(log)).status, 403)
  })

  it("shows entries without an organization to administrators of the installation only", async () => {
    const { id } = await shop.manage("POST", "/accounts", { email: "gone@example.com", name: script })
    await shop.manage("POST", `/accounts/${id}/reset`)
    await shop.manage("DELETE", `/accounts/${id}`)
    await shop.manage("POST", "/organizations", { slug: "newer", name: "Newer" })
    await shop.manage("POST", "/accounts", {
      email: "root@example.com",
      name: "Root",
      password: "four unrelated words here",
      administrator: true,
    })
    const found = await entries("/audit")
    assert.deepStrictEqual(found.slice(0, 5).map(({ action, subject }) => [action, subject]), [
      ["account created", "root@example.com"],
      ["organization created", "newer"],
      ["account removed", "gone@example.com"],
      ["link for a new password made", id],
      ["account created", "gone@example.com"],
    ])
    assert.notInclude(JSON.stringify(found), "four unrelated")
    const page = await shop.manage("GET", "/audit?limit=2")
    assert.strictEqual(page.next, page.entries[1].id)
    assert.strictEqual((await shop.service.manage("GET", "/audit?limit=0&before=x")).body.errors.length, 2)
    const { path } = await shop.manage("POST", "/organizations/shop/invitations", {
      email: "invited@example.com",
      role: "viewer",
    })
    const post = (to: string, fields: Record<string, string>) =>
      shop.service.request(to, { method: "POST", redirect: "manual", body: new URLSearchParams(fields) })
    const token = new URLSearchParams(path.split("?")[1]).get("token")!
    const joined = await post("/console/invitation", { token, name: "Invited", password: "four unrelated words here" })
    assert.strictEqual(joined.status, 303)
    const accounts: ReadonlyArray<Json> = (await shop.manage("GET", "/accounts")).accounts
    const invited = accounts.find(({ email }) => email === "invited@example.com").id
    const link = await shop.manage("POST", `/accounts/${invited}/reset`)
    const reset = new URLSearchParams(link.path.split("?")[1]).get("token")!
    assert.strictEqual(
      (await post("/console/password", { token: reset, password: "five other unrelated words" })).status,
      303,
    )
    assert.deepStrictEqual((await entries("/audit")).slice(0, 3).map(({ action, actor }) => [action, actor]), [
      ["password chosen by a link", "invited@example.com"],
      ["link for a new password made", "Admin token"],
      ["account created by an invitation", "invited@example.com"],
    ])
    assert.deepInclude((await entries())[0], { action: "invitation accepted", actor: "invited@example.com" })
    const root = await shop.signIn("root@example.com")
    await root.post("/console/account", { name: "Root Admin" })
    const listed = (await root.get("/console/accounts/audit")).text
    for (const words of ["own account changed", "link for a new password made", "organization created"]) {
      assert.include(listed, words)
    }
    assert.notInclude(listed, script)
    assert.include((await root.get("/console/accounts")).text, 'href="/console/accounts/audit"')
    assert.strictEqual((await root.get(`/console/accounts/audit/${found[0].id}`)).status, 200)
    const admin = await shop.signIn("admin@example.com")
    for (const path of ["/console/accounts/audit", `/console/accounts/audit/${found[0].id}`]) {
      assert.strictEqual((await admin.get(path)).status, 403)
    }
  })
})
