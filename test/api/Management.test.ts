import { afterAll, beforeAll, describe, it } from "vitest"
import { assert } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { password } from "../console/furnished.ts"
import { signInTo } from "../console/shop.ts"
import { type Service, startInProcess } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"

describe("Management", () => {
  const scope = Scope.makeUnsafe()
  let service: Service
  const call = (method: string, path: string, body?: unknown) => service.manage(method, path, body)
  const organization = async (slug: string) => {
    assert.strictEqual((await call("POST", "/organizations", { slug, name: slug })).status, 201)
    return `/organizations/${slug}`
  }

  beforeAll(async () => {
    service = await Effect.runPromise(Scope.provide(startInProcess(temporaryEnvironment), scope))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  it("creates, lists, returns and changes organizations", async () => {
    const made = await call("POST", "/organizations", { slug: "acme", name: "Acme", time_zone: "Europe/Berlin" })
    assert.strictEqual(made.status, 201)
    assert.deepInclude(made.body, { slug: "acme", name: "Acme", time_zone: "Europe/Berlin", exploration_floor: 0.01 })
    assert.strictEqual((await call("POST", "/organizations", { slug: "acme", name: "Other" })).status, 409)
    const bad = await call("POST", "/organizations", { slug: "Not A Slug", name: "", time_zone: "+02:00" })
    assert.deepStrictEqual(
      bad.body.errors.map(({ pointer }: { pointer: string }) => pointer).sort(),
      ["/name", "/slug", "/time_zone"],
    )
    const changed = await call("PATCH", "/organizations/acme", { name: "Acme Ltd", exploration_floor: 0.1 })
    assert.deepInclude(changed.body, { name: "Acme Ltd", time_zone: "Europe/Berlin", exploration_floor: 0.1 })
    assert.deepEqual((await call("GET", "/organizations/acme")).body, changed.body)
    assert.include(
      (await call("GET", "/organizations")).body.organizations.map(({ slug }: { slug: string }) => slug),
      "acme",
    )
    assert.strictEqual((await call("GET", "/organizations/none")).status, 404)
    assert.strictEqual((await call("PATCH", "/organizations/none", {})).status, 404)
  })

  it("returns a key once, never again, and revokes it permanently", async () => {
    const org = await organization("keys")
    const { body: made, status } = await call("POST", `${org}/keys`, { name: "crm", scopes: ["generate"] })
    assert.strictEqual(status, 201)
    const listed = await call("GET", `${org}/keys`)
    assert.notInclude(JSON.stringify(listed.body), made.key)
    assert.deepInclude(listed.body.keys[0], { id: made.id, name: "crm", scopes: ["generate"], revoked_at: null })
    assert.strictEqual((await service.generate("keys", made.key, { template_id: "t" })).status, 404)
    assert.strictEqual((await call("DELETE", `${org}/keys/${made.id}`)).status, 204)
    assert.strictEqual((await service.generate("keys", made.key, { template_id: "t" })).status, 401)
    assert.strictEqual((await call("DELETE", `${org}/keys/${made.id}`)).status, 204)
    assert.strictEqual((await call("DELETE", `${org}/keys/none`)).status, 404)
    assert.strictEqual((await call("POST", "/organizations/none/keys", { name: "x" })).status, 404)
  })

  it("shows a form again and says which setting is missing if a secret cannot be encrypted", async () => {
    const org = await organization("secrets")
    await call("POST", `${org}/templates`, { id: "t", name: "T" })
    await call("POST", "/accounts", { email: "root@example.com", name: "Root", password, administrator: true })
    const { post } = await signInTo(service, "root@example.com")
    const url_slack = "https://hooks.slack.example/services/x"
    const answer = await post("/console/o/secrets/templates/t/results/report/slack", { url_slack })
    assert.strictEqual(answer.status, 400)
    assert.include(answer.text, "set SECRET_KEY to 64 hexadecimal digits")
    assert.include(answer.text, "Subscribe by Slack")
  })

  it("creates, returns, changes and deletes templates and their variants with immediate effect", async () => {
    const org = await organization("content")
    const key = (await call("POST", `${org}/keys`, { name: "k" })).body.key
    const ask = async () => (await service.generate("content", key, { template_id: "t", fields: { n: 1 } })).body
    const made = await call("POST", `${org}/templates`, {
      id: "t",
      name: "T",
      variants: [{ id: "a", vars: { s: "a{{ n }}" } }],
    })
    assert.strictEqual(made.status, 201)
    assert.deepInclude(made.body, { strict: false, sticky_hours: 0, objective: "click" })
    assert.deepInclude(made.body.variants[0], {
      id: "a",
      name: "a",
      active: true,
      targeting: [],
      seasons: [],
      formats: {},
      components: {},
    })
    assert.deepStrictEqual((await ask()).copy, { id: "a", vars: { s: "a1" } })
    const variants = `${org}/templates/t/variants`
    assert.strictEqual((await call("POST", variants, { id: "b", vars: { s: "b" } })).status, 201)
    assert.strictEqual((await call("POST", variants, { id: "b", vars: { s: "b" } })).status, 409)
    assert.match((await call("POST", variants, { vars: { s: "c" } })).body.id, /^v_[a-z0-9]{14}$/)
    assert.strictEqual((await call("PATCH", `${variants}/a`, { active: false })).body.active, false)
    assert.strictEqual((await call("GET", `${variants}/a`)).body.vars.s, "a{{ n }}")
    const components = { subject: "question", image: "shoe" }
    assert.deepStrictEqual((await call("PATCH", `${variants}/a`, { components })).body.components, components)
    assert.deepStrictEqual((await call("PATCH", `${variants}/a`, { name: "A" })).body.components, components)
    const refused = await call("PATCH", `${variants}/a`, {
      components: { "two words": "a", _cta: "b", image: " shoe", cta: "", long: "x".repeat(101) },
    })
    assert.strictEqual(refused.status, 400)
    assert.sameMembers(refused.body.errors.map(({ pointer }: { pointer: string }) => pointer), [
      "/components/two words",
      "/components/_cta",
      "/components/image",
      "/components/cta",
      "/components/long",
    ])
    const eleven = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`k${i}`, "v"]))
    assert.strictEqual((await call("PATCH", `${variants}/a`, { components: eleven })).status, 400)
    assert.strictEqual((await call("DELETE", `${variants}/a`)).status, 204)
    assert.strictEqual((await call("GET", `${variants}/a`)).status, 404)
    assert.strictEqual(
      (await call("PATCH", `${org}/templates/t`, { strict: true, objective: { conversion: 1 } })).status,
      200,
    )
    const shown = (await call("GET", `${org}/templates/t`)).body
    assert.deepInclude(shown, { strict: true, objective: { conversion: 1 }, name: "T" })
    const uncapped = await call("PATCH", `${org}/templates/t`, { objective: { revenue: 1 } })
    assert.strictEqual(uncapped.status, 400)
    assert.deepStrictEqual(uncapped.body.errors, [{
      pointer: "/objective/revenue_cap",
      detail: "is required with `revenue`: the most that one decision counts for",
    }])
    const revenue = { revenue: 1, revenue_cap: 200 }
    assert.deepInclude((await call("PATCH", `${org}/templates/t`, { objective: revenue })).body, { objective: revenue })
    assert.deepInclude((await call("PATCH", org, { currency: "EUR" })).body, { currency: "EUR" })
    assert.strictEqual((await call("PATCH", org, { currency: "euro" })).status, 400)
    assert.deepInclude((await call("PATCH", org, { currency: null })).body, { currency: null })
    assert.isAbove(shown.revision, made.body.revision)
    assert.strictEqual((await call("DELETE", `${org}/templates/t`)).status, 204)
    assert.strictEqual((await service.generate("content", key, { template_id: "t" })).status, 404)
    assert.strictEqual((await call("POST", `${org}/templates`, { id: "t", name: "again" })).status, 201)
    assert.strictEqual((await ask()).message, "No candidates found")
  })

  it("rejects Liquid that does not parse with its position, and saves nothing", async () => {
    const org = await organization("liquid")
    const refused = await call("POST", `${org}/templates`, {
      id: "t",
      name: "T",
      variants: [{ id: "a", vars: { ok: "fine", s: "line\n{{ name" } }, { id: "a", vars: { x: "{% include 'y' %}" } }],
    })
    assert.strictEqual(refused.status, 400)
    assert.deepStrictEqual(
      refused.body.errors.map(({ pointer }: { pointer: string }) => pointer),
      ["/variants/0/vars/s", "/variants/1/id", "/variants/1/vars/x"],
    )
    assert.match(refused.body.errors[0].detail, /^line 2, column 1: /)
    assert.strictEqual((await call("GET", `${org}/templates/t`)).status, 404)
  })

  it("imports atomically, keeps unnamed variants, and uses defaults for absent members", async () => {
    const org = await organization("imports")
    const template = (id: string, more: object = {}) => ({
      id,
      name: id,
      variants: [{ id: "a", vars: { s: "1" } }],
      ...more,
    })
    const path = `${org}/templates/import`
    const bad = await call("POST", path, {
      templates: [template("x"), template("x", { variants: [{ vars: { s: "{{" } }] })],
    })
    assert.strictEqual(bad.status, 400)
    assert.deepStrictEqual((await call("GET", `${org}/templates`)).body.templates, [])
    await call("POST", path, { templates: [template("x", { objective: "open", sticky_hours: 3 })] })
    await call("POST", `${org}/templates/x/variants`, { id: "by-hand", vars: { s: "2" } })
    const again = await call("POST", path, { templates: [template("x"), template("y")] })
    assert.deepStrictEqual(again.body, { created: ["y"], updated: ["x"], unchanged: [] })
    const shown = (await call("GET", `${org}/templates/x`)).body
    assert.deepInclude(shown, { objective: "click", sticky_hours: 0 })
    assert.deepStrictEqual(shown.variants.map(({ id }: { id: string }) => id), ["a", "by-hand"])
    assert.deepStrictEqual((await call("POST", path, { templates: [template("x")] })).body.unchanged, ["x"])
  })

  it("lists templates page by page", async () => {
    const org = await organization("pages")
    const templates = Array.from({ length: 5 }, (_, i) => ({ id: `t${i}`, name: "T" }))
    await call("POST", `${org}/templates/import`, { templates })
    const seen: Array<string> = []
    let next: string | null = ""
    while (next !== null) {
      const { body } = await call("GET", `${org}/templates?limit=2${next === "" ? "" : `&after=${next}`}`)
      assert.isAtMost(body.templates.length, 2)
      seen.push(...body.templates.map(({ id }: { id: string }) => id))
      next = body.next
    }
    assert.deepStrictEqual(seen, templates.map(({ id }) => id))
    for (const limit of ["0", "1001", "x", "1.5"]) {
      assert.strictEqual((await call("GET", `${org}/templates?limit=${limit}`)).status, 400)
    }
  })

  it("previews drafts and stored variants, and lists the eligible ones", async () => {
    const org = await organization("previews")
    const targeting = [{ attribute: "tier", op: "is", values: ["gold"] }]
    await call("POST", `${org}/templates`, {
      id: "t",
      name: "T",
      variants: [{ id: "gold", vars: { s: "Gold {{ n }}" }, targeting }, {
        id: "off",
        vars: { s: "x" },
        active: false,
      }],
    })
    const path = `${org}/templates/t/preview`
    const stored = await call("POST", path, { copy_id: "gold", fields: { n: "<1>" }, attrs: { tier: "Silver" } })
    assert.deepStrictEqual(stored.body, {
      vars: { s: "Gold <1>" },
      warnings: [],
      missing: [],
      checks: [],
      variants: [
        { id: "gold", eligible: false, reason: 'targeting: requires tier is "gold"' },
        { id: "off", eligible: false, reason: "not active" },
      ],
    })
    const written = await call("POST", path, {
      vars: { h: "<b>{{ n }}</b>" },
      formats: { h: "html" },
      fields: { n: "<1>" },
    })
    assert.deepStrictEqual(written.body.vars, { h: "<b>&lt;1&gt;</b>" })
    const sms = await call("POST", path, { vars: { sms: "Hi {{ n }}" }, fields: { n: "“Ann”" } })
    assert.deepInclude(sms.body.checks[0], { variable: "sms", channel: "sms", status: "ok", length: 8, segments: 1 })
    assert.strictEqual((await call("POST", path, { vars: { h: "{{" } })).body.errors[0].pointer, "/vars/h")
    const doubtful = await call("POST", path, { vars: { s: "x", h: "To stop:\n{{ unsubscribeUrl }}" } })
    assert.strictEqual(doubtful.status, 200)
    const [{ message, ...place }] = doubtful.body.warnings
    assert.deepStrictEqual(place, { variable: "h", line: 2, column: 1 })
    assert.include(message, "{{ unsubscribe_url }}")
    assert.strictEqual((await call("POST", path, { copy_id: "none" })).status, 404)
  })
})
