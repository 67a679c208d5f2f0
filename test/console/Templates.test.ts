import { assert } from "@effect/vitest"
import { it } from "vitest"
import { undoCookieOf, undoOn } from "./found.ts"
import { base, describeShop, variantForm } from "./shop.ts"

const script = `<script>document.title="owned"</script>`

describeShop("Templates in the console", (shop) => {
  it("creates a template and a variant exactly as typed, and changes them", async () => {
    const editor = await shop.signIn("editor@example.com")
    const created = await editor.post(`${base}/-/new`, {
      id: "cart",
      name: "Cart reminder",
      objective: "mix",
      click: "1",
      conversion: "5",
      negative: "-2",
      open: "",
      revenue: "0.1",
      revenue_cap: "250",
      sticky_hours: "24",
      runner_up_floor: "10",
      holdout: "even",
      holdout_share: "5",
      holdout_copy_id: "left over",
      tracking: "clicks",
      list_unsubscribe: "list_unsubscribe",
      strict: "strict",
      link_domains: "shop.example\r\nmail.example",
    })
    assert.strictEqual(created.headers.get("location"), `${base}/cart?done=template-created`)
    const made = await shop.manage("GET", "/organizations/shop/templates/cart")
    assert.deepInclude(made, {
      objective: { click: 1, conversion: 5, negative: -2, revenue: 0.1, revenue_cap: 250 },
      sticky_hours: 24,
      runner_up_floor: 0.1,
      holdout: { share: 0.05, content: "even" },
      tracking: { opens: false, clicks: true },
      list_unsubscribe: true,
      strict: true,
      link_domains: ["shop.example", "mail.example"],
    })

    const variant = await editor.post(`${base}/cart/new-variant`, {
      ...variantForm({
        id: "warm",
        var_1_name: "body_html",
        var_1_format: "html",
        var_1_source: "\r\n<p>Two\r\nlines</p>",
        components: "subject: A question: why?\r\n\r\n image:shoe ",
        condition_0_attribute: "tier",
        condition_0_op: "in",
        condition_0_values: 'gold\r\n\r\n" silver "\r\n7',
        condition_1_attribute: "age",
        condition_1_op: "gte",
        condition_1_values: "18",
        condition_2_attribute: "email",
        condition_2_op: "exists",
        condition_2_values: "ignored",
        condition_3_attribute: "",
        condition_3_op: "is",
        condition_3_values: "",
        season_0_starts_at: "2026-11-15T09:00",
        season_0_ends_at: "",
        season_0_annual_from: "11-15",
        season_0_annual_to: "01-06",
        season_0_hours_from: "9",
        season_0_hours_to: "",
        season_1_starts_at: "",
        season_1_ends_at: "",
      }),
    })
    assert.strictEqual(variant.headers.get("location"), `${base}/cart?at=warm&done=variant-created`, variant.text)
    const stored = await shop.manage("GET", "/organizations/shop/templates/cart/variants/warm")
    assert.deepStrictEqual(stored.vars, { subject: "Hello {{ name }}", body_html: "\n<p>Two\nlines</p>" })
    assert.deepStrictEqual(stored.formats, { body_html: "html" })
    assert.deepStrictEqual(stored.targeting, [
      { attribute: "tier", op: "in", values: ["gold", " silver ", "7"] },
      { attribute: "age", op: "gte", values: [18] },
      { attribute: "email", op: "exists", values: [] },
    ])
    assert.deepStrictEqual(stored.components, { subject: "A question: why?", image: "shoe" })
    assert.deepStrictEqual(stored.seasons, [{
      starts_at: "2026-11-15T09:00",
      annual: { from: "11-15", to: "01-06" },
      hours: { from: 9, to: 24 },
    }])

    const shown = await editor.get(`${base}/cart/variants/warm`)
    assert.include(shown.text, `name="base" value="${stored.updated_at}"`)
    assert.include(shown.text, "\n\n&lt;p>Two\nlines&lt;/p>", "a first line break outlives the text area")
    const saved = await editor.post(
      `${base}/cart/variants/warm`,
      variantForm({ name: "Warmer", base: stored.updated_at }),
    )
    assert.strictEqual(saved.headers.get("location"), `${base}/cart/variants/warm?done=variant-saved`)
    const after = await shop.manage("GET", "/organizations/shop/templates/cart/variants/warm")
    assert.deepInclude(after, { name: "Warmer", targeting: [], seasons: [], formats: {} })

    // Opened before the change above: saving would undo it unseen.
    const stale = variantForm({ name: "Mine", base: stored.updated_at })
    const conflict = await editor.post(`${base}/cart/variants/warm`, stale)
    assert.strictEqual(conflict.status, 409)
    assert.include(conflict.text, "Saved by somebody else meanwhile")
    const newer = /name="over" value="([^"]+)"/.exec(conflict.text)![1]!
    assert.strictEqual((await editor.post(`${base}/cart/variants/warm`, { ...stale, over: newer })).status, 303)

    for (const [active, word] of [["false", "off"], ["true", "on"]] as const) {
      const switched = await editor.post(`${base}/cart/variants/warm/state`, { active })
      assert.include(switched.headers.get("location")!, `done=variant-${word}`)
      assert.strictEqual(
        (await shop.manage("GET", "/organizations/shop/templates/cart/variants/warm")).active,
        active === "true",
      )
    }
    await editor.post(`${base}/cart/variants/warm/duplicate`, {})
    const { variants } = await shop.manage("GET", "/organizations/shop/templates/cart")
    assert.deepInclude(variants[1], { name: "Copy of Mine", active: false, vars: { subject: "Hello {{ name }}" } })

    // The variant of a holdout is chosen by its name.
    const settings = (await editor.get(`${base}/cart/settings`)).text
    assert.match(settings, /<select[^>]*name="holdout_copy_id"[^>]*>.*<option value="warm">Mine \(warm\)<\/option>/)

    const page = (await editor.get(`${base}/cart`)).text
    for (const deed of ["template created", "variant created", "variant changed", "variant deactivated"]) {
      assert.include(page, deed)
    }
    assert.include(page, "editor@example.com")
    assert.include((await editor.get(`${base}/cart/history`)).text, "variant activated")
    const path = "/organizations/shop/templates/cart/history"
    const { changes, next } = await shop.manage("GET", `${path}?limit=2`)
    assert.deepStrictEqual(
      changes.map(({ action, actor, subject }: Record<string, string>) => [action, actor, subject]),
      [["variant created", "editor@example.com", `cart / ${variants[1].id}`], [
        "variant changed",
        "editor@example.com",
        "cart / warm",
      ]],
    )
    const older = await shop.manage("GET", `${path}?before=${next}`)
    assert.strictEqual(older.changes.at(-1).action, "template created")
    assert.isNull(older.next)
    assert.strictEqual((await shop.service.manage("GET", `${path}?before=x`)).status, 400)
    assert.strictEqual((await shop.service.manage("GET", "/organizations/shop/templates/none/history")).status, 404)
    for (const copy of ["cart-copy", "cart-copy-2"]) {
      const duplicated = await editor.post(`${base}/cart/duplicate`, { duplicated: "true" })
      assert.strictEqual(duplicated.headers.get("location"), `${base}/${copy}?done=template-duplicated`)
    }
    assert.include((await editor.get(`${base}/cart-copy`)).text, "template created as a copy of cart")
    const copied = await shop.manage("GET", "/organizations/shop/templates/cart-copy")
    assert.deepInclude(copied, { name: "Copy of Cart reminder", sticky_hours: 24, strict: true })
    assert.deepStrictEqual(copied.variants.map(({ active }: { active: boolean }) => active), [true, false])
    assert.include((await editor.get(`${base}/cart`)).text, "template duplicated")

    assert.strictEqual((await editor.post(`${base}/cart/delete`, {})).status, 303)
    assert.strictEqual((await shop.service.manage("GET", "/organizations/shop/templates/cart")).status, 404)
  })

  it("shows every fault at its field and keeps the typed text", async () => {
    const editor = await shop.signIn("editor@example.com")
    const template = await editor.post(`${base}/-/new`, {
      id: "i".repeat(201),
      name: "",
      objective: "mix",
      click: "x",
      revenue: "1",
      revenue_cap: "0",
      sticky_hours: "-1",
      holdout: "fixed",
      holdout_share: "half",
      link_domains: "https://shop.example",
    })
    assert.strictEqual(template.status, 400)
    for (const id of ["id", "name", "click", "revenue_cap", "sticky_hours", "holdout_share", "link_domains"]) {
      assert.include(template.text, `id="${id}-error"`)
    }

    await shop.manage("POST", "/organizations/shop/templates", { id: "faulty", name: "Faulty" })
    const liquid = await editor.post(
      `${base}/faulty/new-variant`,
      variantForm({ var_0_source: "Hi\r\n{{ name | nope }}", var_1_name: "subject", var_1_source: "twice" }),
    )
    assert.strictEqual(liquid.status, 400)
    assert.include(liquid.text, "is the name of another variable")
    const alone = await editor.post(
      `${base}/faulty/new-variant`,
      variantForm({ var_0_source: "Hi\r\n{{ name | nope }}" }),
    )
    assert.strictEqual(alone.status, 400)
    assert.match(
      alone.text,
      /id="var_0_source-error"[^>]*><p class="error">line 2, column \d+: there is no filter &quot;nope&quot;/,
    )
    assert.include(alone.text, "{{ name | nope }}\n")
    const rest = await editor.post(
      `${base}/faulty/new-variant`,
      variantForm({
        name: "",
        condition_0_attribute: "age",
        condition_0_op: "gt",
        condition_0_values: "old",
        season_0_starts_at: "2026-02-30T09:00",
        season_0_ends_at: "",
        season_0_annual_from: "13-01",
        season_0_annual_to: "",
      }),
    )
    for (const id of ["condition_0_values", "season_0_starts_at", "season_0_annual_from", "season_0_annual_to"]) {
      assert.match(rest.text, new RegExp(`id="${id}-error"[^>]*><p class="error">`), id)
    }
    assert.include(rest.text, `id="name-error"`)
    const { variants } = await shop.manage("GET", "/organizations/shop/templates/faulty")
    assert.deepStrictEqual(variants, [])
  })

  it("renames and duplicates a template on its page, and labels the parts of an e-mail", async () => {
    await shop.manage("POST", "/organizations/shop/templates", {
      id: "labelled",
      name: "Labelled",
      variants: [{ id: "a", vars: { subject: "S", preheader: "P", body: "B", push_title: "T" } }],
    })
    const editor = await shop.signIn("editor@example.com")
    const renamed = await editor.post(`${base}/labelled/rename`, { name: " Autumn " })
    assert.strictEqual(renamed.headers.get("location"), `${base}/labelled?done=template-saved`)
    const page = (await editor.get(`${base}/labelled`)).text
    assert.include(page, ">Autumn</h1>")
    assert.include(page, `action="${base}/labelled/duplicate"`)
    const refused = await editor.post(`${base}/labelled/rename`, { name: "" })
    assert.strictEqual(refused.status, 400)
    assert.include(refused.text, `<p class="error" id="name-error">`)
    const form = (await editor.get(`${base}/labelled/variants/a`)).text
    const labels = [...form.matchAll(/<label for="var_\d_source"[^>]*>([^<]*)</g)].map(([, label]) => label)
    assert.deepStrictEqual(labels, ["Subject", "Preheader", "Body", "push_title"])
    const viewer = await shop.signIn("viewer@example.com")
    assert.strictEqual((await viewer.post(`${base}/labelled/rename`, { name: "x" })).status, 403)
    assert.notInclude((await viewer.get(`${base}/labelled`)).text, "Rename")
  })

  it("adds and removes rows of the form without saving", async () => {
    const editor = await shop.signIn("editor@example.com")
    await shop.manage("POST", "/organizations/shop/templates", {
      id: "rows",
      name: "Rows",
      variants: [{ id: "a", vars: { subject: "stored" } }],
    })
    const draft = `${base}/rows/variants/a/draft`
    const grown = await editor.post(draft, variantForm({ do: "add-condition" }))
    assert.include(grown.text, 'name="condition_0_attribute"')
    assert.include(grown.text, "Hello {{ name }}")
    const more = variantForm({ var_1_name: "second", var_1_format: "text", var_1_source: "two" })
    const shrunk = await editor.post(draft, { ...more, do: "remove-var-0" })
    assert.include(shrunk.text, 'value="second"')
    assert.notInclude(shrunk.text, 'name="var_1_name"')
    assert.include((await editor.post(draft, { ...more, do: "remove-var-99" })).text, 'name="var_1_name"')
    const stored = await shop.manage("GET", "/organizations/shop/templates/rows/variants/a")
    assert.deepStrictEqual(stored.vars, { subject: "stored" })
    assert.notInclude((await editor.get(`${base}/rows`)).text, "variant changed")
  })

  it("previews typed texts, html in its own frame, faults with their position, and matching people", async () => {
    const viewer = await shop.signIn("viewer@example.com")
    await shop.manage("POST", "/organizations/shop/templates", {
      id: "seen",
      name: "Seen",
      variants: [{
        id: "a",
        vars: { subject: "Hello {{ name }}", body_html: `<p>{{ name }}</p>${script}` },
        formats: { body_html: "html" },
        targeting: [{ attribute: "tier", op: "is", values: ["gold"] }],
      }],
    })
    const preview = await viewer.post(
      `${base}/seen/preview`,
      variantForm({
        var_1_name: "broken",
        var_1_format: "text",
        var_1_source: "{{ x | nope }}",
        fields: '{"name": "<b>Ann</b>"}',
        attrs: '{"tier": "silver", "age": 20}',
        at: "2026-12-24T12:00",
        condition_0_attribute: "tier",
        condition_0_op: "is",
        condition_0_values: "gold",
        condition_1_attribute: "age",
        condition_1_op: "gte",
        condition_1_values: "18",
        season_0_starts_at: "",
        season_0_ends_at: "",
        season_0_annual_from: "11-15",
        season_0_annual_to: "01-06",
      }),
    )
    assert.strictEqual(preview.status, 200)
    assert.include(preview.text, "Hello &lt;b>Ann&lt;/b>")
    assert.include(preview.text, 'data-fault="var_1_source"')
    assert.match(preview.text, /no match<\/span> <span>tier is gold/)
    assert.match(preview.text, />match<\/span> <span>age is at least 18/)
    assert.match(preview.text, />match<\/span> <span>every year from 15 Nov until 6 Jan/)
    assert.include(preview.text, "does not get it")
    const [, matches] = preview.text.split("Saved variants for this person</h2>")
    assert.match(matches!, /no match<\/span> <b>a<\/b> <span class="muted">[^<]*tier/)
    const policy = preview.headers.get("content-security-policy")!
    assert.include(policy, "default-src 'none'")
    assert.notInclude(policy, "script-src")

    const stored = await viewer.get(`${base}/seen/variants/a/preview?${new URLSearchParams({
      fields: '{"name":"Ann"}',
      attrs: '{"tier":"Gold"}',
    })}`)
    assert.include(stored.text, "gets this variant")
    assert.match(
      stored.text,
      /<iframe sandbox(="")? srcdoc="[^"]*&lt;p>Ann[^"]*&lt;style>:where\(body\){font-family:Arial/,
    )

    const message = await viewer.get(
      `${base}/seen/variants/a/message?name=body_html&fields=%7B%22name%22%3A%22%3Ci%3E%22%7D`,
    )
    const font = "<style>:where(body){font-family:Arial,Helvetica,sans-serif}</style>"
    assert.strictEqual(message.text, `<p>&lt;i&gt;</p>${script}${font}<base target="_blank">`)
    assert.match(
      message.headers.get("content-security-policy")!,
      /default-src 'none'; img-src 'self' data: https:; style-src 'unsafe-inline'; sandbox;/,
    )
    assert.strictEqual((await viewer.get(`${base}/seen/variants/a/message?name=subject`)).status, 404)

    const bad = await viewer.post(`${base}/seen/preview`, variantForm({ fields: "{", attrs: '{"a":{}}', at: "soon" }))
    for (const id of ["fields", "attrs", "at"]) assert.include(bad.text, `data-fault="${id}"`)
    const foreign = await viewer.post(`${base}/seen/preview`, variantForm({ _csrf: "other" }))
    assert.strictEqual(foreign.status, 403)
    assert.strictEqual((await viewer.post(`${base}/none/preview`, variantForm())).status, 404)
  })

  it("archives a template, which is served to nobody, keeps all data, and can be restored", async () => {
    const at = "/organizations/shop/templates/old"
    await shop.manage("POST", "/organizations/shop/templates", {
      id: "old",
      name: "Old one",
      sticky_hours: 24,
      variants: [{ id: "only", vars: { subject: "Hello" } }],
    })
    const { key } = await shop.manage("POST", "/organizations/shop/keys", {
      name: "k",
      scopes: ["generate", "deliver"],
    })
    await shop.manage("PUT", "/organizations/shop/connections/out", {
      platform: "webhook",
      settings: { url: "https://hooks.example.com/in" },
      secrets: { signing_secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" },
      paused: true,
    })
    const call = async (path: string, body?: unknown) => {
      const answer = await shop.service.request(path, {
        method: body === undefined ? "GET" : "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: answer.status, json: await answer.json() }
    }
    const ask = { template_id: "old", user_id: "ann", tracking_id: "first" }
    const ways = () =>
      Promise.all([
        call("/api/generate/shop", ask),
        call("/api/generate/shop?template_id=old&user_id=ann"),
        call("/api/generate/shop", { ...ask, tracking_id: "second" }),
        call("/api/deliver/shop", { template_id: "old", email: "ann@example.com" }),
        call("/api/deliver/shop", { template_id: "old", email: "ann@example.com", copy_id: "only" }),
      ])
    assert.deepStrictEqual((await ways()).map(({ status }) => status), [200, 200, 200, 200, 200])

    const editor = await shop.signIn("editor@example.com")
    assert.include((await editor.get(`${base}/old/settings`)).text, `href="${base}/old/archive"`)
    assert.include((await editor.get(`${base}/old/archive`)).text, "Archive Old one?")
    const archived = await editor.post(`${base}/old/archive`, {})
    assert.strictEqual(archived.headers.get("location"), `${base}/old?done=template-archived`)
    const noticed = await editor.get(`${base}/old?done=template-archived`, undoCookieOf(archived))
    assert.strictEqual(undoOn(noticed.text)?.action, `${base}/old/restore`)
    for (const { json, status } of await ways()) {
      assert.deepStrictEqual([status, json.type], [404, "/problems/template-archived"])
      assert.include(json.detail, "archived")
    }
    const batch = await call("/api/batch-generate/shop", { requests: [{ template_id: "old" }], user_id: "ann" })
    assert.deepInclude(batch.json.old, { copy: {}, message: "Template archived" })

    const stored = await shop.manage("GET", at)
    assert.isString(stored.archived_at)
    assert.isTrue(stored.variants[0].active)
    await shop.manage("PATCH", at, { archived: true })
    assert.strictEqual((await shop.manage("GET", at)).archived_at, stored.archived_at, "since the first time")
    const idsOf = async (path: string) =>
      (await shop.manage("GET", `/organizations/shop/${path}`)).templates.map(({ id }: { id: string }) => id)
    for (const list of ["templates", "template-index"]) {
      assert.notInclude(await idsOf(list), "old")
      assert.deepStrictEqual(await idsOf(`${list}?archived=true`), ["old"])
      assert.include(await idsOf(`${list}?archived=all`), "old")
      const wrong = await shop.service.manage("GET", `/organizations/shop/${list}?archived=some`)
      assert.deepStrictEqual(wrong.body.errors.map(({ pointer }: { pointer: string }) => pointer), ["archived"])
    }
    assert.notInclude((await editor.get(base)).text, "Old one")
    assert.include((await editor.get(`${base}?archived=true`)).text, "1 archived template")
    assert.include((await editor.get(`${base}?archived=true&q=nothing`)).text, "No matching templates")
    const page = (await editor.get(`${base}/old`)).text
    assert.include(page, "it is not served, even if variants are active")
    assert.include(page, "template archived")
    assert.strictEqual((await editor.get(`${base}/old/results`)).status, 200)
    const { decisions } = (await shop.manage("GET", `${at}/results`)).variants[0]
    assert.isNumber(decisions)

    // A file says so too; one that does not brings the template back.
    const file = (await editor.get(`${base}/old/export`)).text
    assert.include(file, "archived: true")
    assert.include((await editor.get(`${base}/-/export?format=json`)).text, '"archived": true')
    assert.include((await editor.post(`${base}/-/import`, { text: file })).text, "Unchanged: 1")
    const back = await editor.post(`${base}/-/import`, { text: file.replace("    archived: true\n", "") })
    assert.include(back.text, "Changed: 1")
    assert.isNull((await shop.manage("GET", at)).archived_at)
    assert.include((await editor.post(`${base}/-/import`, { text: file })).text, "Changed: 1")
    assert.strictEqual((await call("/api/generate/shop", ask)).status, 404)

    assert.include((await editor.get(`${base}/old`)).text, "Restore the template")
    const restored = await editor.post(`${base}/old/restore`, { archived: "false" })
    assert.strictEqual(restored.headers.get("location"), `${base}/old?done=template-restored`)
    assert.deepStrictEqual((await ways()).map(({ status }) => status), [200, 200, 200, 200, 200])
    const { changes } = await shop.manage("GET", `${at}/history`)
    assert.deepStrictEqual(changes.map(({ action }: { action: string }) => action), [
      "template restored",
      "template archived",
      "template restored",
      "template changed",
      "template archived",
      "template created",
    ])
  })

  it("shows pages to viewers, and refuses everybody else", async () => {
    await shop.manage("POST", "/organizations/shop/templates", {
      id: "odd / <id>?#%",
      name: script,
      variants: [{ id: "a/b", name: script, vars: { [script]: script } }],
    })
    const odd = `${base}/${encodeURIComponent("odd / <id>?#%")}`
    const variant = `${odd}/variants/${encodeURIComponent("a/b")}`
    const viewer = await shop.signIn("viewer@example.com")
    const stranger = await shop.signIn("stranger@example.com")
    const reads = [base, odd, `${odd}/history`, variant, `${variant}/preview`, `${odd}/export`, `${base}/-/export`]
    for (const path of reads) {
      const answer = await viewer.get(path)
      assert.strictEqual(answer.status, 200, path)
      if (!path.endsWith("/export")) assert.notInclude(answer.text, script, path)
      assert.notMatch(answer.text, /<form method="post" action="\/console\/o\/shop/, path)
      assert.strictEqual((await stranger.get(path)).status, 403, path)
    }
    const writes: ReadonlyArray<readonly [string, boolean]> = [
      [`${base}/-/new`, true],
      [`${base}/-/import`, true],
      [`${odd}/settings`, true],
      [`${odd}/delete`, true],
      [`${odd}/new-variant`, true],
      [`${variant}/delete`, true],
      [`${variant}/state`, false],
      [`${variant}/duplicate`, false],
      [`${odd}/duplicate`, false],
      [`${odd}/archive`, true],
      [`${odd}/restore`, false],
    ]
    const editor = await shop.signIn("editor@example.com")
    for (const [path, hasPage] of writes) {
      if (hasPage) {
        assert.strictEqual((await viewer.get(path)).status, 403, path)
        const page = await editor.get(path)
        assert.strictEqual(page.status, 200, path)
        assert.notInclude(page.text, script, path)
      }
      assert.strictEqual((await viewer.post(path, variantForm())).status, 403, path)
      assert.strictEqual((await editor.post(path, variantForm(), { origin: "https://evil.example" })).status, 403, path)
    }
    assert.strictEqual((await viewer.post(variant, variantForm())).status, 403)
    assert.strictEqual(
      (await shop.manage("GET", "/organizations/shop/templates/odd%20%2F%20%3Cid%3E%3F%23%25")).variants.length,
      1,
    )
    for (
      const path of [`${base}/nope`, `${base}/nope/settings`, `${odd}/variants/nope`, `${odd}/variants/nope/preview`]
    ) {
      assert.strictEqual((await editor.get(path)).status, 404, path)
    }
  })

  it("imports copy as CSV on the page of template files", async () => {
    const editor = await shop.signIn("editor@example.com")
    const text = "template,variant,subject\r\nSheet,warm,Hello\r\n"
    assert.include((await editor.post(`${base}/-/import`, { text, preview: "true" })).text, "Create sheet")
    assert.include((await editor.post(`${base}/-/import`, { text })).text, "The file has been imported")
    const faulty = await editor.post(`${base}/-/import`, { text: `${text}Sheet,,x` })
    assert.include(faulty.text, "row 3, column B (variant)")
  })
})
