import { assert } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, describe, it } from "vitest"
import { sampleFields } from "../../src/console/pages/templates/SampleFields.ts"
import { adminToken, run, type Service, startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"

const password = "four unrelated words here"
const script = `<script>document.title="owned"</script>`

describe("sampleFields", () => {
  it("makes examples of what the sources use, and of nothing that they make themselves", () => {
    assert.deepStrictEqual(
      sampleFields([{
        subject: "{{ first_name }} {% assign own = 1 %}{{ own }} {{ true }}",
        body: "{% for item in cart.items %}{{ item.title }} {{ item.price }} {{ forloop.index }}{% endfor %}" +
          "{{ cart.url }}{% if user.vip %}{% endif %}{{ tags.first }} {{ cart.items.first.title }}",
      }]),
      {
        first_name: "Ann",
        cart: { items: [{ title: "Title", price: 49.9 }], url: "https://example.com/" },
        user: { vip: "Vip" },
        tags: ["Tag"],
      },
    )
  })

  it("is not held up by text that is nearly Liquid", () => {
    assert.deepStrictEqual(
      sampleFields([{ a: "{%".repeat(30_000), b: "{{ a.".repeat(13_000), c: `{%for x in ${" ".repeat(60_000)}` }]),
      { a: "A" },
    )
  })
})

describe("Templates in the console", () => {
  let scope: Scope.Closeable
  let service: Service

  beforeAll(async () => {
    scope = await Effect.runPromise(Scope.make())
    service = await Effect.runPromise(Scope.provide(startInProcess(temporaryEnvironment("embedded")), scope))
    await manage("POST", "/organizations", { slug: "shop", name: "Shop", time_zone: "Europe/Berlin" })
    for (const role of ["viewer", "editor", "admin"]) {
      const { id } = await manage("POST", "/accounts", { email: `${role}@example.com`, name: role, password })
      await manage("PUT", `/organizations/shop/members/${id}`, { role })
    }
    await manage("POST", "/accounts", { email: "stranger@example.com", name: "Stranger", password })
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  const manage = async (method: string, path: string, body?: unknown) => {
    const answer = await service.manage(method, path, body)
    assert.isBelow(answer.status, 300, `${method} ${path} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  /** Somebody who is signed in, without a browser. */
  const signIn = async (email: string) => {
    const signedIn = await service.request("/console/sign-in", {
      method: "POST",
      redirect: "manual",
      headers: { origin: service.url },
      body: new URLSearchParams({ email, password }),
    })
    const cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!
    const home = await (await service.request("/console/account", { headers: { cookie } })).text()
    const csrf = /name="_csrf" value="([^"]+)"/.exec(home)![1]!
    const read = async (response: Response) => ({
      status: response.status,
      headers: response.headers,
      text: await response.text(),
    })
    return {
      get: async (path: string) => read(await service.request(path, { headers: { cookie }, redirect: "manual" })),
      post: async (path: string, fields: Record<string, string>, more: Record<string, string> = {}) =>
        read(
          await service.request(path, {
            method: "POST",
            redirect: "manual",
            headers: { cookie, origin: service.url, ...more },
            body: new URLSearchParams({ _csrf: csrf, ...fields }),
          }),
        ),
    }
  }

  const base = "/console/o/shop/templates"

  /** The fields that the editor sends of a variant. */
  const form = (more: Record<string, string> = {}) => ({
    name: "Warm",
    active: "true",
    var_0_name: "subject",
    var_0_format: "text",
    var_0_source: "Hello {{ name }}",
    fields: "{}",
    attrs: "{}",
    at: "",
    ...more,
  })

  it("creates a template and a variant as they were typed, and changes them", async () => {
    const editor = await signIn("editor@example.com")
    const created = await editor.post(`${base}/-/new`, {
      id: "cart",
      name: "Cart reminder",
      objective: "mix",
      click: "1",
      conversion: "5",
      negative: "-2",
      open: "",
      sticky_hours: "24",
      strict: "strict",
      link_domains: "shop.example\r\nmail.example",
    })
    assert.strictEqual(created.headers.get("location"), `${base}/cart?done=template-created`)
    const made = await manage("GET", "/organizations/shop/templates/cart")
    assert.deepInclude(made, {
      objective: { click: 1, conversion: 5, negative: -2 },
      sticky_hours: 24,
      strict: true,
      link_domains: ["shop.example", "mail.example"],
    })

    const variant = await editor.post(`${base}/cart/new-variant`, {
      ...form({
        id: "warm",
        var_1_name: "body_html",
        var_1_format: "html",
        var_1_source: "\r\n<p>Two\r\nlines</p>",
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
    const stored = await manage("GET", "/organizations/shop/templates/cart/variants/warm")
    assert.deepStrictEqual(stored.vars, { subject: "Hello {{ name }}", body_html: "\n<p>Two\nlines</p>" })
    assert.deepStrictEqual(stored.formats, { body_html: "html" })
    assert.deepStrictEqual(stored.targeting, [
      { attribute: "tier", op: "in", values: ["gold", " silver ", "7"] },
      { attribute: "age", op: "gte", values: [18] },
      { attribute: "email", op: "exists", values: [] },
    ])
    assert.deepStrictEqual(stored.seasons, [{
      starts_at: "2026-11-15T09:00",
      annual: { from: "11-15", to: "01-06" },
      hours: { from: 9, to: 24 },
    }])

    const shown = await editor.get(`${base}/cart/variants/warm`)
    assert.include(shown.text, `name="base" value="${stored.updated_at}"`)
    assert.include(shown.text, "\n\n&lt;p>Two\nlines&lt;/p>", "a first line break outlives the text area")
    const saved = await editor.post(`${base}/cart/variants/warm`, form({ name: "Warmer", base: stored.updated_at }))
    assert.strictEqual(saved.headers.get("location"), `${base}/cart/variants/warm?done=variant-saved`)
    const after = await manage("GET", "/organizations/shop/templates/cart/variants/warm")
    assert.deepInclude(after, { name: "Warmer", targeting: [], seasons: [], formats: {} })

    // Opened before the change above: saving would undo it unseen.
    const stale = form({ name: "Mine", base: stored.updated_at })
    const conflict = await editor.post(`${base}/cart/variants/warm`, stale)
    assert.strictEqual(conflict.status, 400)
    assert.include(conflict.text, "Somebody has saved this variant since you opened it")
    const newer = /name="base" value="([^"]+)"/.exec(conflict.text)![1]!
    assert.strictEqual((await editor.post(`${base}/cart/variants/warm`, { ...stale, base: newer })).status, 303)

    for (const [active, word] of [["false", "off"], ["true", "on"]] as const) {
      const switched = await editor.post(`${base}/cart/variants/warm/state`, { active })
      assert.include(switched.headers.get("location")!, `done=variant-${word}`)
      assert.strictEqual(
        (await manage("GET", "/organizations/shop/templates/cart/variants/warm")).active,
        active === "true",
      )
    }
    await editor.post(`${base}/cart/variants/warm/duplicate`, {})
    const { variants } = await manage("GET", "/organizations/shop/templates/cart")
    assert.deepInclude(variants[1], { name: "Copy of Mine", active: false, vars: { subject: "Hello {{ name }}" } })

    const page = (await editor.get(`${base}/cart`)).text
    for (const deed of ["template created", "variant created", "variant changed", "variant switched off"]) {
      assert.include(page, deed)
    }
    assert.include(page, "editor@example.com")
    assert.include((await editor.get(`${base}/cart/history`)).text, "variant switched on")
    const path = "/organizations/shop/templates/cart/history"
    const { changes, next } = await manage("GET", `${path}?limit=2`)
    assert.deepStrictEqual(
      changes.map(({ action, actor, subject }: Record<string, string>) => [action, actor, subject]),
      [["variant created", "editor@example.com", "cart / warm"], [
        "variant changed",
        "editor@example.com",
        "cart / warm",
      ]],
    )
    const older = await manage("GET", `${path}?before=${next}`)
    assert.strictEqual(older.changes.at(-1).action, "template created")
    assert.isNull(older.next)
    assert.strictEqual((await service.manage("GET", `${path}?before=x`)).status, 400)
    assert.strictEqual((await service.manage("GET", "/organizations/shop/templates/none/history")).status, 404)
    for (const copy of ["cart-copy", "cart-copy-2"]) {
      const duplicated = await editor.post(`${base}/cart/duplicate`, { duplicated: "true" })
      assert.strictEqual(duplicated.headers.get("location"), `${base}/${copy}?done=template-duplicated`)
    }
    assert.include((await editor.get(`${base}/cart-copy`)).text, "template created as a copy of cart")
    await editor.post(`${base}/cart-copy/off`, { off: "true" })
    const copied = await manage("GET", "/organizations/shop/templates/cart-copy")
    assert.deepInclude(copied, { name: "Copy of Cart reminder", sticky_hours: 24, strict: true })
    assert.deepStrictEqual(copied.variants.map(({ active }: { active: boolean }) => active), [false, false])
    assert.include((await editor.get(`${base}/cart-copy`)).text, "all variants switched off")
    assert.include((await editor.get(`${base}/cart`)).text, "template duplicated")

    assert.strictEqual((await editor.post(`${base}/cart/delete`, {})).status, 303)
    assert.strictEqual((await service.manage("GET", "/organizations/shop/templates/cart")).status, 404)
  })

  it("shows every fault at its field and keeps what was typed", async () => {
    const editor = await signIn("editor@example.com")
    const template = await editor.post(`${base}/-/new`, {
      id: "",
      name: "",
      objective: "mix",
      click: "x",
      sticky_hours: "-1",
      link_domains: "https://shop.example",
    })
    assert.strictEqual(template.status, 400)
    for (const id of ["id", "name", "click", "sticky_hours", "link_domains"]) {
      assert.include(template.text, `id="${id}-error"`)
    }

    await manage("POST", "/organizations/shop/templates", { id: "faulty", name: "Faulty" })
    const liquid = await editor.post(
      `${base}/faulty/new-variant`,
      form({ var_0_source: "Hi\r\n{{ name | nope }}", var_1_name: "subject", var_1_source: "twice" }),
    )
    assert.strictEqual(liquid.status, 400)
    assert.include(liquid.text, "is the name of another variable")
    const alone = await editor.post(`${base}/faulty/new-variant`, form({ var_0_source: "Hi\r\n{{ name | nope }}" }))
    assert.strictEqual(alone.status, 400)
    assert.match(
      alone.text,
      /id="var_0_source-error"[^>]*><p class="error">line 2, column \d+: there is no filter &quot;nope&quot;/,
    )
    assert.include(alone.text, "{{ name | nope }}\n")
    const rest = await editor.post(
      `${base}/faulty/new-variant`,
      form({
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
    const { variants } = await manage("GET", "/organizations/shop/templates/faulty")
    assert.deepStrictEqual(variants, [])
  })

  it("adds and takes away rows of the form without saving anything", async () => {
    const editor = await signIn("editor@example.com")
    await manage("POST", "/organizations/shop/templates", {
      id: "rows",
      name: "Rows",
      variants: [{ id: "a", vars: { subject: "stored" } }],
    })
    const draft = `${base}/rows/variants/a/draft`
    const grown = await editor.post(draft, form({ do: "add-condition" }))
    assert.include(grown.text, 'name="condition_0_attribute"')
    assert.include(grown.text, "Hello {{ name }}")
    const more = form({ var_1_name: "second", var_1_format: "text", var_1_source: "two" })
    const shrunk = await editor.post(draft, { ...more, do: "remove-var-0" })
    assert.include(shrunk.text, 'value="second"')
    assert.notInclude(shrunk.text, 'name="var_1_name"')
    assert.include((await editor.post(draft, { ...more, do: "remove-var-99" })).text, 'name="var_1_name"')
    const stored = await manage("GET", "/organizations/shop/templates/rows/variants/a")
    assert.deepStrictEqual(stored.vars, { subject: "stored" })
    assert.notInclude((await editor.get(`${base}/rows`)).text, "variant changed")
  })

  it("previews what is typed: texts, html in a frame of its own, faults at their place, and who matches", async () => {
    const viewer = await signIn("viewer@example.com")
    await manage("POST", "/organizations/shop/templates", {
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
      form({
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
    assert.match(preview.text, /does not hold<\/span> <span>tier is gold/)
    assert.match(preview.text, /holds<\/span> <span>age is at least 18/)
    assert.match(preview.text, /holds<\/span> <span>every year from 15 Nov until 6 Jan/)
    assert.include(preview.text, "does not get it")
    const policy = preview.headers.get("content-security-policy")!
    assert.include(policy, "default-src 'none'")
    assert.notInclude(policy, "script-src")

    const stored = await viewer.get(`${base}/seen/variants/a/preview?${new URLSearchParams({
      fields: '{"name":"Ann"}',
      attrs: '{"tier":"Gold"}',
    })}`)
    assert.include(stored.text, "gets this variant")
    assert.match(stored.text, /<iframe sandbox(="")? srcdoc="&lt;p>Ann/)

    const message = await viewer.get(
      `${base}/seen/variants/a/message?name=body_html&fields=%7B%22name%22%3A%22%3Ci%3E%22%7D`,
    )
    assert.strictEqual(message.text, `<p>&lt;i&gt;</p>${script}`)
    assert.match(
      message.headers.get("content-security-policy")!,
      /default-src 'none'; img-src data: https:; style-src 'unsafe-inline'; sandbox;/,
    )
    assert.strictEqual((await viewer.get(`${base}/seen/variants/a/message?name=subject`)).status, 404)

    const bad = await viewer.post(`${base}/seen/preview`, form({ fields: "{", attrs: '{"a":{}}', at: "soon" }))
    for (const id of ["fields", "attrs", "at"]) assert.include(bad.text, `data-fault="${id}"`)
    const foreign = await viewer.post(`${base}/seen/preview`, form({ _csrf: "other" }))
    assert.strictEqual(foreign.status, 403)
    assert.strictEqual((await viewer.post(`${base}/none/preview`, form())).status, 404)
  })

  it("imports a file, says which lines are wrong, and exports what can be imported again", async () => {
    const editor = await signIn("editor@example.com")
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
    const good = await editor.post(`${base}/-/import`, { text })
    assert.strictEqual(good.status, 200)
    assert.include(good.text, "Created: 1")
    assert.include((await editor.post(`${base}/-/import`, { text })).text, "Unchanged: 1")
    assert.include((await editor.get(`${base}/filed`)).text, "template created by an import")

    const file = await editor.get(`${base}/filed/export`)
    assert.strictEqual(file.headers.get("content-disposition"), 'attachment; filename="filed.yaml"')
    assert.include((await editor.post(`${base}/-/import`, { text: file.text })).text, "Unchanged: 1")
    const all = await editor.get(`${base}/-/export?format=json`)
    const { templates } = await manage("GET", "/organizations/shop/templates")
    assert.strictEqual(JSON.parse(all.text).templates.length, templates.length)
  })

  it("finds templates by name or id, page by page, and says which can be sent", async () => {
    await manage("POST", "/organizations", { slug: "many", name: "Many" })
    const { id } = await manage("POST", "/accounts", { email: "many@example.com", name: "Many", password })
    await manage("PUT", "/organizations/many/members/" + id, { role: "viewer" })
    const viewer = await signIn("many@example.com")
    const list = "/console/o/many/templates"
    assert.include((await viewer.get(list)).text, "There is no template yet")
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
    await manage("POST", "/organizations/many/templates/import", { templates })
    const first = await viewer.get(list)
    assert.include(first.text, "60 templates")
    assert.include(first.text, "no active variant")
    assert.include(first.text, "out of season")
    assert.include(first.text, "?after=t-24")
    assert.notInclude(first.text, "t-25")
    const last = await viewer.get(`${list}?after=t-49`)
    assert.include(last.text, "t-59")
    assert.notInclude(last.text, "Next page")
    const found = await viewer.get(`${list}?q=mESSAGE+5`)
    assert.include(found.text, "11 templates with “mESSAGE 5”")
    assert.include((await viewer.get(`${list}?q=%25`)).text, "Nothing is called that")
    assert.strictEqual((await viewer.get(`${list}?q=%00&after=%00`)).status, 200)
    assert.isBelow(first.text.length, 150_000)

    const found5 = await manage("GET", "/organizations/many/template-index?search=MESSAGE%205&limit=6")
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
    const more = await manage("GET", `/organizations/many/template-index?search=message%205&after=${found5.next}`)
    assert.strictEqual(more.templates.length, 5)
    assert.isNull(more.next)
    const bad = await service.manage("GET", `/organizations/many/template-index?limit=0&search=${"x".repeat(201)}`)
    assert.deepStrictEqual(bad.body.errors.map(({ pointer }: { pointer: string }) => pointer), ["limit", "search"])
  })

  it("finds templates and tells of their changes on the command line as well", async () => {
    await manage("POST", "/organizations/shop/templates", { id: "told", name: "Told on the line" })
    await manage("PATCH", "/organizations/shop/templates/told", { strict: true })
    const parlance = async (...args: ReadonlyArray<string>) => {
      const child = run([...args, "--org", "shop"], {
        PARLANCE_URL: service.url,
        ADMIN_TOKEN: adminToken,
        DATA_DIR: "/nonexistent",
      })
      const { code } = await child.ended
      assert.strictEqual(code, 0, child.output())
      return child.output()
    }
    assert.match(await parlance("template", "find", "ON THE line"), /\ntold +Told on the line +0 +0 +0 /)
    const lines = (await parlance("template", "history", "told")).trim().split("\n").slice(2)
    assert.deepStrictEqual(lines.map((line) => line.split(/ {2,}/).slice(1)), [
      ["Admin token", "template changed", "told"],
      ["Admin token", "template created", "told"],
    ])
  })

  it("lets viewers look and nobody else in", async () => {
    await manage("POST", "/organizations/shop/templates", {
      id: "odd / <id>?#%",
      name: script,
      variants: [{ id: "a/b", name: script, vars: { [script]: script } }],
    })
    const odd = `${base}/${encodeURIComponent("odd / <id>?#%")}`
    const variant = `${odd}/variants/${encodeURIComponent("a/b")}`
    const viewer = await signIn("viewer@example.com")
    const stranger = await signIn("stranger@example.com")
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
      [`${odd}/off`, false],
    ]
    const editor = await signIn("editor@example.com")
    for (const [path, hasPage] of writes) {
      if (hasPage) {
        assert.strictEqual((await viewer.get(path)).status, 403, path)
        const page = await editor.get(path)
        assert.strictEqual(page.status, 200, path)
        assert.notInclude(page.text, script, path)
      }
      assert.strictEqual((await viewer.post(path, form())).status, 403, path)
      assert.strictEqual((await editor.post(path, form(), { origin: "https://evil.example" })).status, 403, path)
    }
    assert.strictEqual((await viewer.post(variant, form())).status, 403)
    assert.strictEqual(
      (await manage("GET", "/organizations/shop/templates/odd%20%2F%20%3Cid%3E%3F%23%25")).variants.length,
      1,
    )
    for (
      const path of [`${base}/nope`, `${base}/nope/settings`, `${odd}/variants/nope`, `${odd}/variants/nope/preview`]
    ) {
      assert.strictEqual((await editor.get(path)).status, 404, path)
    }
  })
})
