import { assert } from "@effect/vitest"
import { it } from "vitest"
import { runCommand } from "../support/cli.ts"
import { adminToken } from "../support/service.ts"
import { undoCookieOf, undoOn } from "./found.ts"
import { password } from "./furnished.ts"
import { base, describeShop, variantForm } from "./shop.ts"

describeShop("The list of templates in the console", (shop) => {
  it("imports a file, reports faulty lines, and exports a file that can be imported again", async () => {
    const editor = await shop.signIn("editor@example.com")
    const text =
      "templates:\r\n  - id: filed\r\n    name: Filed\r\n    variants:\r\n      - id: a\r\n        vars:\r\n" +
      "          subject: Hi {{ x }}\r\n"
    const bad = await editor.post(`${base}/-/import`, { text: text.replace("name: Filed", "nome: Filed") })
    assert.strictEqual(bad.status, 400)
    assert.include(bad.text, "Nothing was imported")
    assert.match(bad.text, /<th scope="row">line 3, column \d+<\/th>/)
    assert.include(bad.text, "nome: Filed")
    const liquid = await editor.post(`${base}/-/import`, { text: text.replace("{{ x }}", "{{ x | nope }}") })
    assert.match(liquid.text, /<th scope="row">line 7, column \d+<\/th>/)
    assert.include(liquid.text, "there is no filter &quot;nope&quot;")
    const preview = await editor.post(`${base}/-/import`, { text, preview: "true" })
    assert.include(preview.text, "Nothing has been imported yet")
    assert.include(preview.text, "Create filed")
    assert.strictEqual((await editor.get(`${base}/filed`)).status, 404)
    const faulty = await editor.post(`${base}/-/import`, {
      text: text.replace("{{ x }}", "{{ x | nope }}"),
      preview: "1",
    })
    assert.strictEqual(faulty.status, 400)
    const edit = await editor.post(`${base}/-/import`, { text, edit: "true" })
    assert.include(edit.text, "Show changes")
    assert.include(edit.text, "name: Filed")
    const good = await editor.post(`${base}/-/import`, { text })
    assert.strictEqual(good.status, 200)
    assert.include(good.text, "Created: 1")
    assert.include((await editor.post(`${base}/-/import`, { text })).text, "Unchanged: 1")
    const changed = await editor.post(`${base}/-/import`, {
      text: text.replace("name: Filed", "name: Renamed"),
      preview: "1",
    })
    assert.include(changed.text, "Change filed")
    assert.include(changed.text, "Renamed")
    const same = await editor.post(`${base}/-/import`, { text, preview: "true" })
    assert.include(same.text, "1 unchanged")
    assert.notInclude(same.text, ">Import</button>")
    assert.include((await editor.get(`${base}/filed`)).text, "template created by an import")

    const file = await editor.get(`${base}/filed/export`)
    assert.strictEqual(file.headers.get("content-disposition"), 'attachment; filename="filed.yaml"')
    assert.include((await editor.post(`${base}/-/import`, { text: file.text })).text, "Unchanged: 1")
    const all = await editor.get(`${base}/-/export?format=json`)
    const { templates } = await shop.manage("GET", "/organizations/shop/templates")
    assert.strictEqual(JSON.parse(all.text).templates.length, templates.length)
  })

  it("finds templates by name or id, page by page, and shows which can be sent", async () => {
    await shop.manage("POST", "/organizations", { slug: "many", name: "Many" })
    const { id } = await shop.manage("POST", "/accounts", { email: "many@example.com", name: "Many", password })
    await shop.manage("PUT", "/organizations/many/members/" + id, { role: "viewer" })
    const viewer = await shop.signIn("many@example.com")
    const list = "/console/o/many/templates"
    assert.include((await viewer.get(list)).text, "No templates yet")
    const templates = Array.from({ length: 60 }, (_, index) => ({
      id: `t-${String(index).padStart(2, "0")}`,
      name: `Message ${index}`,
      variants: [
        {
          id: "a",
          vars: { subject: "a" },
          active: index !== 7,
          seasons: index === 8 ? [{ ends_at: "2001-01-01" }] : [],
        },
      ],
    }))
    await shop.manage("POST", "/organizations/many/templates/import", { templates })
    const first = await viewer.get(list)
    assert.include(first.text, "60 templates")
    assert.include(first.text, "no active variant")
    assert.include(first.text, "out of season")
    assert.include(first.text, "?cursor=t-19")
    assert.notInclude(first.text, "t-20")
    const last = await viewer.get(`${list}?cursor=t-49`)
    assert.include(last.text, "t-59")
    assert.notInclude(last.text, "Next page")
    const found = await viewer.get(`${list}?q=mESSAGE+5`)
    assert.include(found.text, "11 templates of 60 with “mESSAGE 5”")
    assert.include((await viewer.get(`${list}?q=%25`)).text, "No matching templates")
    assert.strictEqual((await viewer.get(`${list}?q=%00&cursor=%00`)).status, 200)
    assert.isBelow(first.text.length, 150_000)

    const found5 = await shop.manage("GET", "/organizations/many/template-index?search=MESSAGE%205&limit=6")
    assert.deepStrictEqual(found5.templates.map(({ id }: { id: string }) => id), [
      "t-05",
      "t-50",
      "t-51",
      "t-52",
      "t-53",
      "t-54",
    ])
    assert.deepInclude(found5.templates[0], { name: "Message 5", variants: 1, active: 1, objective: "click" })
    assert.strictEqual(found5.templates[0].decisions.length, 14)
    const more = await shop.manage("GET", `/organizations/many/template-index?search=message%205&after=${found5.next}`)
    assert.strictEqual(more.templates.length, 5)
    assert.isNull(more.next)
    const bad = await shop.service.manage("GET", `/organizations/many/template-index?limit=0&search=${"x".repeat(201)}`)
    assert.deepStrictEqual(bad.body.errors.map(({ pointer }: { pointer: string }) => pointer), ["search", "limit"])
  })

  it("deactivates, activates, archives and restores several templates, each with its entry in the audit log", async () => {
    for (const id of ["first", "second"]) {
      await shop.manage("POST", "/organizations/shop/templates", {
        id,
        name: `Batch ${id}`,
        variants: [{ id: "a", vars: { subject: "a" } }, { id: "b", vars: { subject: "b" }, active: false }],
      })
    }
    const editor = await shop.signIn("editor@example.com")
    const ids = { id: "first\nsecond\nunknown" }
    const activeOf = async (template: string) => {
      const { variants } = await shop.manage("GET", `/organizations/shop/templates/${template}`)
      return variants.map(({ active }: { active: boolean }) => active)
    }
    const page = (await editor.get(base)).text
    for (const what of ["activate", "deactivate", "archive"]) assert.include(page, `formaction="${base}/-/${what}"`)

    const activated = await editor.post(`${base}/-/activate`, ids)
    assert.strictEqual(
      activated.headers.get("location"),
      `${base}?done=templates-activated&changed=2&left=1`,
      activated.text,
    )
    assert.deepStrictEqual([await activeOf("first"), await activeOf("second")], [[true, true], [true, true]])
    const flash = (await editor.get(activated.headers.get("location")!)).text
    assert.match(flash, /role="status">[^<]*2 templates[^<]*1 other template/)
    const again = await editor.post(`${base}/-/activate`, ids)
    assert.strictEqual(again.headers.get("location"), `${base}?done=templates-unchanged`)
    await editor.post(`${base}/-/deactivate`, { id: "first" })
    assert.deepStrictEqual([await activeOf("first"), await activeOf("second")], [[false, false], [true, true]])
    assert.match((await editor.get(`${base}?state=inactive&q=batch`)).text, /1 template of \d+ with “batch”/)

    await editor.post(`${base}/-/archive`, ids)
    assert.include((await editor.get(`${base}?archived=true&q=batch`)).text, "2 archived templates of 2 with “batch”")
    const restored = await editor.post(`${base}/-/restore`, { id: "second", back: `${base}?archived=true` })
    assert.strictEqual(
      restored.headers.get("location"),
      `${base}?archived=true&done=templates-restored&changed=1&left=0`,
    )
    const elsewhere = await editor.post(`${base}/-/restore`, { id: "second", back: "https://example.com/" })
    assert.strictEqual(elsewhere.headers.get("location"), `${base}?done=templates-unchanged`)
    assert.deepStrictEqual(await activeOf("second"), [true, true], "variants stay as they were")

    const { entries } = await shop.manage("GET", "/organizations/shop/audit?limit=7")
    const said = entries.map(({ action, subject }: { action: string; subject: string }) => `${action}: ${subject}`)
    assert.deepStrictEqual(said, [
      "template restored: second",
      "template archived: second",
      "template archived: first",
      "variant changed: first / b",
      "variant changed: first / a",
      "variant changed: second / b",
      "variant changed: first / b",
    ])

    const none = await editor.post(`${base}/-/archive`, {})
    assert.strictEqual(none.status, 400)
    assert.include(none.text, "No template is chosen")
    const viewer = await shop.signIn("viewer@example.com")
    assert.strictEqual((await viewer.post(`${base}/-/archive`, ids)).status, 403)
    assert.notInclude((await viewer.get(base)).text, "/-/archive")
  })

  it("offers once, and to the same session alone, to undo exactly what an action has changed", async () => {
    const active = (flags: ReadonlyArray<boolean>) =>
      flags.map((one, at) => ({ id: `${at}`, vars: { subject: "x" }, active: one }))
    await shop.manage("POST", "/organizations/shop/templates", {
      id: "u v",
      name: "U",
      variants: active([true, false]),
    })
    await shop.manage("POST", "/organizations/shop/templates", {
      id: "w",
      name: "W",
      tags: ["kept"],
      variants: active([true]),
    })
    const editor = await shop.signIn("editor@example.com")
    const other = await shop.signIn("admin@example.com")
    const state = async () =>
      (await Promise.all(["u%20v", "w"].map((id) => shop.manage("GET", `/organizations/shop/templates/${id}`))))
        .map(({ archived_at, owner, tags, variants }) => [
          variants.map((one: { readonly active: boolean }) => one.active),
          archived_at !== null,
          tags,
          owner,
        ])
    const before = await state()
    const back = `${base}?q=w`
    for (
      const [what, more] of [
        ["activate", {}],
        ["deactivate", {}],
        ["archive", {}],
        ["tag", { tag: "kept" }],
        ["owner", { owner: "admin@example.com" }],
      ] as const
    ) {
      const changed = await editor.post(`${base}/-/${what}`, { id: "u v\nw", back, ...more })
      assert.notDeepEqual(await state(), before, what)
      const at = changed.headers.get("location")!
      const seen = await editor.get(at, undoCookieOf(changed))
      assert.include(seen.headers.get("set-cookie"), "parlance_undo=;", "the next page has none")
      assert.isUndefined(undoOn((await other.get(at, undoCookieOf(changed))).text))
      assert.isUndefined(undoOn((await editor.get(`${base}?done=template-saved`, undoCookieOf(changed))).text))
      const { action, fields } = undoOn(seen.text)!
      const undone = await editor.post(action, fields)
      assert.match(undone.headers.get("location") ?? undone.text, /\?q=w&done=/)
      assert.deepStrictEqual(await state(), before, what)
    }
    const viewer = await shop.signIn("viewer@example.com")
    assert.strictEqual((await viewer.post(`${base}/-/switch`, { active: "true", variants: "w\t0" })).status, 403)
    assert.strictEqual((await editor.post(`${base}/-/switch`, { active: "true" })).status, 404)
  })

  it("is opened in the organization that was visited last, after each sign-in", async () => {
    await shop.manage("POST", "/organizations", { slug: "second", name: "Second" })
    await shop.manage("POST", "/accounts", { email: "all@example.com", name: "All", administrator: true, password })
    const { get } = await shop.signIn("all@example.com")
    assert.strictEqual((await get("/console")).headers.get("location"), "/console/organizations")
    const [kept] = (await get("/console/o/second")).headers.getSetCookie()
    assert.match(kept!, /^parlance_organization=second; Max-Age=31536000; Path=\/; HttpOnly; SameSite=Lax$/)
    const entered = async (email: string) => {
      const signedIn = await shop.service.request("/console/sign-in", {
        method: "POST",
        redirect: "manual",
        body: new URLSearchParams({ email, password }),
      })
      const cookie = [...signedIn.headers.getSetCookie(), kept!].map((text) => text.split(";")[0]).join("; ")
      const { headers } = await shop.service.request("/console", { headers: { cookie }, redirect: "manual" })
      return headers.get("location")
    }
    assert.strictEqual(await entered("all@example.com"), "/console/o/second")
    assert.strictEqual(await entered("viewer@example.com"), "/console/o/shop", "a member of another organization only")
  })

  it("finds templates and shows their changes on the command line", async () => {
    await shop.manage("POST", "/organizations/shop/templates", { id: "told", name: "Told on the line" })
    await shop.manage("PATCH", "/organizations/shop/templates/told", { strict: true })
    const parlance = async (...args: ReadonlyArray<string>) => {
      const settings = { PARLANCE_URL: shop.service.url, ADMIN_TOKEN: adminToken, DATA_DIR: "/nonexistent" }
      const { code, output } = await runCommand([...args, "--org", "shop"], settings)
      assert.strictEqual(code, 0, output)
      return output
    }
    assert.match(
      await parlance("template", "find", "ON THE line"),
      /\ntold +Told on the line +no-variants +0 +0 +none +no owner +0 /,
    )
    const lines = (await parlance("template", "history", "told")).trim().split("\n").slice(2)
    assert.deepStrictEqual(lines.map((line) => line.split(/ {2,}/).slice(1).map((cell) => cell.trim())), [
      ["Admin token", "template changed", "told", "strict"],
      ["Admin token", "template created", "told", "name, archived, objective, sticky_hours and 2 more"],
    ])
    assert.include(await parlance("template", "history", "told", "--changes"), "/strict\n    - false\n    + true\n")
    assert.include(await parlance("template", "archive", "told"), "Archived template told")
    assert.include(await parlance("template", "list", "--archived"), "Told on the line")
    assert.include(await parlance("template", "restore", "told"), "Restored template told")
    assert.match(await parlance("audit", "list", "--limit", "1"), /Admin token +template restored +told +archived/)
    assert.include(await parlance("audit", "list", "--installation"), "account created")
  })

  it("shows drafts and changes that wait for approval, and has the verbs of a template in the list and on its page", async () => {
    await shop.manage("POST", "/organizations/shop/templates", {
      id: "worked-on",
      name: "Worked on",
      variants: [{ id: "a", vars: { subject: "a" } }, { id: "b", vars: { subject: "b" } }],
    })
    await shop.manage("PATCH", "/organizations/shop", { template_approval: "editor" })
    const { get, post } = await shop.signIn("editor@example.com")
    await post(`${base}/worked-on/variants/a/save-draft`, variantForm())
    await post(`${base}/worked-on/variants/b/state`, { active: "false" })
    await shop.manage("PATCH", "/organizations/shop", { template_approval: "none" })
    const list = (await get(`${base}?q=worked-on`)).text
    assert.include(list, `<a class="sub" href="/console/o/shop/reviews">1 change waiting for approval</a>`)
    assert.include(list, `<a class="sub" href="${base}/worked-on">1 draft</a>`)
    for (const verb of ["/settings#name", "/results/ship", "/export", "/delete"]) {
      assert.include(list, `href="${base}/worked-on${verb}"`)
    }
    const page = (await get(`${base}/worked-on`)).text
    assert.include(page, ">Deactivate all variants</button>")
    const deactivated = await post(`${base}/-/deactivate`, { id: "worked-on", back: `${base}/worked-on` })
    assert.strictEqual(
      deactivated.headers.get("location"),
      `${base}/worked-on?done=templates-deactivated&changed=1&left=0`,
    )
  })

  it("saves its filter as a view, own or shared, with which it opens", async () => {
    const [admin, editor, viewer] = await Promise.all(
      ["admin@example.com", "editor@example.com", "viewer@example.com"].map(shop.signIn),
    )
    const views = "/console/o/shop/views"
    const narrowed = (await viewer!.get(`${base}?q=batch&state=active&cursor=first`)).text
    assert.include(narrowed, 'name="query" value="q=batch&amp;state=active"')
    assert.notInclude(narrowed, 'name="shared"')
    const save = { list: "templates", query: "q=batch&state=active" }
    const own = await viewer!.post(views, { ...save, name: "עגלות", start: "true" })
    assert.strictEqual(own.headers.get("location"), `${base}?q=batch&state=active&done=view-saved`)
    assert.strictEqual((await viewer!.get(base)).headers.get("location"), `${base}?q=batch&state=active`)
    assert.include((await viewer!.get(`${base}?q=x`)).text, `href="${base}?view=all">All</a>`)
    assert.notInclude((await admin!.get(base)).text, "עגלות")
    const id = /views\/(view[-\d]*)"/.exec((await viewer!.get(`${base}?state=active&q=batch`)).text)![1]!
    assert.strictEqual((await admin!.get(`${views}/${id}`)).status, 404)
    const refused = await viewer!.post(views, { ...save, name: "Shared", shared: "true" })
    assert.include(refused.text, "Only editors and admins share views")
    assert.include((await viewer!.post(views, { ...save, name: " " })).text, "a name of 1 to 200 characters")

    await editor!.post(views, { ...save, name: "Batch", shared: "true" })
    await editor!.post(views, { ...save, query: "q=first", name: "Batch", shared: "true" })
    const found = (await viewer!.get(`${base}?q=first`)).text
    assert.include(found, `<a href="${base}?q=first" aria-current="page"><bdi>Batch</bdi></a>`)
    assert.notInclude((await viewer!.get(`${views}/batch`)).text, 'name="shared"')
    await viewer!.post(`${views}/batch`, { name: "Mine", start: "true" })
    assert.strictEqual((await viewer!.get(base)).headers.get("location"), `${base}?q=first`)
    await editor!.post(`${views}/batch`, { name: "First batch", shared: "true" })
    assert.strictEqual((await viewer!.get(base)).headers.get("location"), `${base}?q=first`)
    assert.include((await editor!.get(`${views}/batch/delete`)).text, "Delete First batch?")
    assert.include((await viewer!.post(`${views}/batch/delete`, {})).text, "Only editors and admins share views")
    await editor!.post(`${views}/batch/delete`, {})
    assert.strictEqual((await viewer!.get(base)).status, 200)
    assert.match((await viewer!.get(`${views}/${id}`)).text, new RegExp(`href="${base}"[^>]* aria-current="page"`))
    await viewer!.post(`${views}/${id}`, { name: "Secret wish" })
    await viewer!.post(`${views}/${id}/delete`, {})
    const { entries } = (await shop.manage("GET", "/organizations/shop/audit?limit=100")) as {
      readonly entries: ReadonlyArray<{ readonly action: string; readonly subject: string; readonly details: unknown }>
    }
    const ofViews = entries.filter(({ action }) => action.includes("view"))
    assert.includeMembers(ofViews.map(({ subject }) => subject), ["batch", ""])
    assert.isEmpty(
      ofViews.filter(({ details, subject }) => !["batch", ""].includes(subject) || JSON.stringify(details) !== "{}"),
    )
  })

  it("has views like the lists of keys and members", async () => {
    const admin = await shop.signIn("admin@example.com")
    for (const [list, query] of [["keys", "kind=test"], ["members", "role=viewer"]] as const) {
      const at = `/console/o/shop/settings/${list}`
      assert.include((await admin.get(`${at}?${query}`)).text, `name="query" value="${query}"`)
      const saved = await admin.post("/console/o/shop/views", { list, query, name: "Some", start: "true" })
      assert.strictEqual(saved.headers.get("location"), `${at}?${query}&done=view-saved`)
      assert.strictEqual((await admin.get(at)).headers.get("location"), `${at}?${query}`)
      assert.include((await admin.get(`${at}?${query}`)).text, "<bdi>Some</bdi>")
      assert.strictEqual((await admin.get(`${at}?view=all`)).status, 200)
      await admin.post("/console/o/shop/views/some/delete", {})
    }
  })

  it("leads from a form of an ended session to its page after signing in, and says that it was not saved", async () => {
    const page = `${shop.service.url}/console/o/shop/suppressions?reason=manual`
    const post = (referer: string) =>
      shop.service.request("/console/o/shop/suppressions", {
        method: "POST",
        redirect: "manual",
        headers: { referer, "sec-fetch-site": "same-origin" },
        body: new URLSearchParams({ email: "ann@example.com" }),
      })
    const location = (await post(page)).headers.get("location")!
    const asked = new URL(location, shop.service.url).searchParams
    assert.strictEqual(asked.get("next"), "/console/o/shop/suppressions?reason=manual")
    const shown = await (await shop.service.request(location)).text()
    assert.include(shown, "the form was not saved")
    assert.include(shown, 'name="next" value="/console/o/shop/suppressions?reason=manual"')
    for (const foreign of ["", "not an address", "https://elsewhere.example/other"]) {
      assert.strictEqual((await post(foreign)).headers.get("location"), "/console/sign-in", foreign)
    }
  })

  it("has views of the API and the command line", async () => {
    const parlance = async (...args: ReadonlyArray<string>) => {
      const environment = { PARLANCE_URL: shop.service.url, ADMIN_TOKEN: adminToken }
      const { code, output } = await runCommand(["view", ...args, "--org", "shop"], environment)
      assert.strictEqual(code, 0, output)
      return output
    }
    const failed = ["set", "failed", "--list", "deliveries", "--name", "Failed", "--query", "state=failed"]
    assert.include(await parlance(...failed, "--shared"), "Saved failed (Failed), shared")
    await parlance(...failed.with(1, "mine"), "--member", "viewer@example.com")
    await parlance("start", "deliveries", "failed", "--member", "viewer@example.com")
    const { get } = await shop.signIn("viewer@example.com")
    const list = "/console/o/shop/deliveries"
    assert.strictEqual((await get(list)).headers.get("location"), `${list}?state=failed`)
    assert.match(await parlance("list", "--member", "viewer@example.com"), /failed +deliveries[^]*mine/)
    await parlance("start", "deliveries", "--member", "viewer@example.com")
    assert.strictEqual((await get(list)).status, 200)
    assert.notInclude(await parlance("list"), "mine")
    await parlance("delete", "mine", "--member", "viewer@example.com")
    const call = shop.service.manage
    const views = "/organizations/shop/views"
    const faulty = await call("PUT", `${views}/x`, { list: "variants", name: "", query: "a b#" })
    assert.deepStrictEqual(faulty.body.errors.map(({ pointer }: { pointer: string }) => pointer), [
      "/list",
      "/name",
      "/query",
    ])
    // Without a parameter, the list would lead to itself.
    const empty = await call("PUT", `${views}/x`, { list: "audit", name: "X", query: "&&", shared: true })
    assert.include(empty.body.detail, "with at least one parameter")
    const without = await call("PUT", `${views}/x`, { list: "audit", name: "X", query: "a=b" })
    assert.deepStrictEqual(without.body.errors, [{ pointer: "/shared", detail: "must be true if no member is named" }])
    const other = { list: "audit", name: "X", query: "a=b", shared: true, member: "stranger@example.com" }
    assert.strictEqual((await call("PUT", `${views}/x`, other)).body.type, "/problems/account-not-found")
    assert.strictEqual((await call("DELETE", `${views}/x`)).body.type, "/problems/view-not-found")
    const start = { view: "failed", member: "viewer@example.com" }
    assert.strictEqual((await call("PUT", "/organizations/shop/start-views/audit", start)).status, 404)
    assert.strictEqual((await call("PUT", "/organizations/shop/start-views/variants", start)).status, 400)
    await parlance("delete", "failed")
  })

  it("has the verbs of connections, snippets, test groups, keys, sources and endpoints in their lists", async () => {
    const org = "/organizations/shop"
    const { get } = await shop.signIn("admin@example.com")
    const key = await shop.manage("POST", `${org}/keys`, { name: "Shop", scopes: ["generate", "events"] })
    await shop.manage("PUT", `${org}/snippets/footer`, { name: "Footer", text: "Bye {{ year }}" })
    await shop.manage("PUT", `${org}/test-groups/design`, { name: "Design", emails: ["ann@x.example"] })
    await shop.manage("PUT", `${org}/webhooks/provider_b`, { secret: "a-token-of-some-length" })
    await shop.manage("PUT", `${org}/connections/sink`, { platform: "sink" })
    const { id } = await shop.manage("POST", `${org}/webhook-endpoints`, { url: "https://hooks.example.com/in" })
    const menus: ReadonlyArray<readonly [path: string, ...verbs: ReadonlyArray<string>]> = [
      ["connections", "connections/sink/switch", "connections/sink/remove"],
      ["snippets", "snippets/-/new?from=footer", "snippets/footer/delete"],
      ["settings/test-groups", "settings/test-groups/-/new?from=design", "settings/test-groups/design/delete"],
      ["settings/keys", `settings/keys/new?from=${key.id}`, `settings/keys/${key.id}/revoke`],
      ["sources", "sources/provider_b/disable", "sources/provider_b/remove"],
      [
        "webhook-endpoints",
        `webhook-endpoints/${id}/disable`,
        `webhook-endpoints/-/new?from=${id}`,
        `webhook-endpoints/${id}/remove`,
      ],
    ]
    for (const [path, ...verbs] of menus) {
      const { text } = await get(`/console/o/shop/${path}`)
      for (const verb of verbs) assert.match(text, new RegExp(`(action|href)="/console/o/shop/${RegExp.escape(verb)}"`))
    }
    const copied = async (path: string) => (await get(`/console/o/shop/${path}`)).text
    assert.match(await copied("snippets/-/new?from=footer"), /value="Copy of Footer"[^]*Bye {{ year }}/)
    assert.match(await copied("settings/test-groups/-/new?from=design"), /value="Copy of Design"[^]*ann@x.example/)
    assert.match(await copied(`webhook-endpoints/-/new?from=${id}`), /value="https:\/\/hooks.example.com\/in"/)
    const like = await copied(`settings/keys/new?from=${key.id}`)
    assert.include(like, 'value="Copy of Shop"')
    assert.match(like, /value="events"[^>]* checked/)
  })

  it("subscribe members to reports on Mondays, and keep the URLs secret", async () => {
    await shop.manage("POST", "/organizations/shop/templates", { id: "reported", name: "Reported" })
    const { get, post } = await shop.signIn("viewer@example.com")
    const path = `${base}/reported/results/report`
    assert.include((await get(`${base}/reported/results`)).text, `href="${path}"`)
    const faulty = await post(`${path}/slack`, { url_slack: "hooks.slack.com" })
    assert.strictEqual(faulty.status, 400)
    assert.include(faulty.text, '<a href="#url_slack">Webhook URL: must be a URL such as')
    const secret = "https://hooks.invalid/services/secret"
    const done = await post(`${path}/slack`, { url_slack: secret })
    assert.include(done.headers.get("location"), "done=report-subscribed")
    const subscribed = await get(path)
    assert.include(subscribed.text, `action="${path}/slack/end"`)
    assert.notInclude(subscribed.text, "services/secret")
    const sent = await post(`${path}/slack/send`, {})
    assert.match(sent.text, /class="note bad" role="status">The report was not sent\. /)
    assert.include((await post(`${path}/slack/end`, {})).headers.get("location"), "done=report-ended")
    assert.include((await get(path)).text, "Subscribe by Slack")
    assert.strictEqual((await shop.service.request("/console/report-mail?token=x")).status, 404)
  })
})
