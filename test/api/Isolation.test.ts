import { assert, it } from "@effect/vitest"
import { adminToken } from "../support/service.ts"
import { type Answer, assertProblem, type Json, type Organization, read, suiteOnService } from "./harness.ts"

interface Route {
  readonly method: string
  readonly path: string
  readonly operation: Json
}

const secret = "only-for-b"

suiteOnService("Isolation", (bench) => {
  const call = async (path: string, init?: RequestInit): Promise<Answer> =>
    read(await bench.service.request(path, init))
  const document = async (): Promise<Json> => (await call("/openapi.json")).json
  const routes = async (): Promise<ReadonlyArray<Route>> =>
    Object.entries<Json>((await document()).paths).flatMap(([path, item]) =>
      Object.entries<Json>(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation }))
    )
  const opened = (route: Route): ReadonlyArray<string> =>
    (route.operation.security ?? []).flatMap((schemes: Json) => Object.keys(schemes))
  const dataPlane = async () =>
    (await routes()).filter((route) => route.path.startsWith("/api/") && opened(route).includes("ApiKeyHeader"))
  const management = async () => (await routes()).filter(({ path }) => path.startsWith("/console/api/"))
  const fill = (path: string, values: Record<string, string>) =>
    path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? "t"))

  /** Organization B with one of everything, all of it marked with the secret word. */
  const furnished = async (slug: string): Promise<Organization & { keyId: string; trackingId: string }> => {
    const org = await bench.organization(slug)
    const variants = [{ id: `copy-${secret}`, vars: { s: `words ${secret}` } }]
    await org.template({ id: `t-${secret}`, name: `name ${secret}`, sticky_hours: 1, variants })
    const trackingId = `tracking-${secret}`
    await org.post({ template_id: `t-${secret}`, tracking_id: trackingId, user_id: `user-${secret}` })
    const { body } = await bench.service.manage("GET", `/organizations/${slug}/keys`)
    return { ...org, keyId: body.keys[0].id, trackingId }
  }

  const bodies = (b: { readonly trackingId: string }): ReadonlyArray<Json> => [
    { template_id: `t-${secret}`, requests: [{ template_id: `t-${secret}` }] },
    {
      template_id: `t-${secret}`,
      copy_id: `copy-${secret}`,
      tracking_id: b.trackingId,
      user_id: `user-${secret}`,
      email: "someone@example.com",
      requests: [{ template_id: `t-${secret}`, copy_id: `copy-${secret}`, tracking_id: b.trackingId }],
      trace: true,
      org: "iso-b",
      org_slug: "iso-b",
    },
    {},
  ]

  it("refuses a key of one organization on every route of another", async () => {
    const a = await bench.organization("iso-a")
    const b = await furnished("iso-b")
    const before = await b.decisions()
    const found = await dataPlane()
    assert.isAtLeast(found.length, 3)
    for (const { method, path } of found) {
      for (const auth of [{ "x-api-key": a.key }, { authorization: `Bearer ${a.key}` }]) {
        for (const org of [b.slug, "iso-nobody"]) {
          for (const body of bodies(b)) {
            const query = `?template_id=t-${secret}&tracking_id=${b.trackingId}&delay_id=copy-${secret}`
            const answer = await call(fill(path, { org }) + query, {
              method,
              headers: { "content-type": "application/json", ...auth },
              ...(method === "GET" ? {} : { body: JSON.stringify(body) }),
            })
            // Deliver takes no Bearer key, and says so before anything else.
            assert.include([401, 403], answer.status, `${method} ${path} ${answer.text}`)
            assertProblem(answer, answer.status)
            assert.notInclude(answer.text, secret)
          }
        }
      }
    }
    assert.deepStrictEqual(await b.decisions(), before)
  })

  it("reveals nothing about another organization's ids on the caller's own routes", async () => {
    const a = await bench.organization("own-a")
    const b = await furnished("own-b")
    const paths: ReadonlyArray<readonly [method: string, path: string]> = [["POST", "generate"], ["GET", "generate"], [
      "POST",
      "batch-generate",
    ]]
    for (const [method, path] of paths) {
      const ask = (id: string) => {
        const body = {
          template_id: `t-${id}`,
          requests: [{ template_id: `t-${id}`, copy_id: `copy-${id}`, tracking_id: `tracking-${id}` }],
        }
        return call(`/api/${path}/${a.slug}?template_id=t-${id}&tracking_id=tracking-${id}&user_id=user-${id}`, {
          method,
          headers: { "x-api-key": a.key, "content-type": "application/json" },
          ...(method === "GET" ? {} : { body: JSON.stringify(body) }),
        })
      }
      const [real, made] = [await ask(secret), await ask("x".repeat(secret.length))]
      assert.strictEqual(real.status, made.status)
      assert.strictEqual(real.text.replaceAll(secret, "x".repeat(secret.length)), made.text)
    }
    assert.deepStrictEqual(await a.decisions(), [])
    assert.strictEqual((await b.decisions()).length, 1)
  })

  it("separates decisions, users and templates with equal ids", async () => {
    const [a, b] = [await bench.organization("equal-a"), await bench.organization("equal-b")]
    for (const org of [a, b]) {
      await org.template({ id: "t", sticky_hours: 1, variants: [{ id: org.slug, vars: { s: org.slug } }] })
    }
    for (const org of [a, b, a, b]) {
      const { json } = await org.post({ template_id: "t", tracking_id: "x", user_id: "u" })
      assert.deepStrictEqual(json, { tracking_id: "x", copy: { id: org.slug, vars: { s: org.slug } } })
    }
    assert.strictEqual((await a.decisions()).length, 1)
    await bench.service.manage("DELETE", `/organizations/${a.slug}/templates/t`)
    assertProblem(await a.post({ template_id: "t" }), 404, "template-not-found")
    assert.strictEqual((await b.post({ template_id: "t" })).status, 200)
  })

  it("refuses every management route without the admin token", async () => {
    const b = await furnished("admin-b")
    const values = { org: b.slug, template: `t-${secret}`, variant: `copy-${secret}`, key: b.keyId }
    const wrong: ReadonlyArray<Record<string, string>> = [
      {},
      { authorization: "" },
      { authorization: "Bearer" },
      { authorization: "Bearer " },
      { authorization: `Bearer ${adminToken}x` },
      { authorization: `Bearer ${adminToken.slice(0, -1)}` },
      { authorization: `Basic ${btoa(`admin:${adminToken}`)}` },
      { authorization: `Digest ${adminToken}` },
      { authorization: adminToken },
      { "x-api-key": adminToken },
      { cookie: `session=${adminToken}; admin=1` },
    ]
    const found = await management()
    assert.isAtLeast(found.length, 18)
    for (const { method, path } of found) {
      const send = (headers: Record<string, string>) =>
        call(`${fill(path, values)}?token=${adminToken}`, {
          method,
          headers: { "content-type": "application/json", ...headers },
          ...(method === "GET" || method === "DELETE" ? {} : { body: "{}" }),
        })
      for (const headers of [{ authorization: `Bearer ${b.key}` }, { "x-api-key": b.key }]) {
        const answer = await send(headers)
        assertProblem(answer, 403, "forbidden", `${method} ${path} with a key without a scope of the management API`)
        assert.notInclude(answer.text, secret)
      }
      for (const headers of wrong) {
        const answer = await send(headers)
        assertProblem(answer, 401, "unauthorized", `${method} ${path} ${JSON.stringify(headers)}`)
        assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer\b/)
        assert.notInclude(answer.text, secret)
      }
    }
    assert.strictEqual((await b.post({ template_id: `t-${secret}` })).status, 200)
  })

  it("returns the data of an organization only under that organization, even with the admin token", async () => {
    const a = await bench.organization("paths-a")
    const b = await furnished("paths-b")
    const values = { org: a.slug, template: `t-${secret}`, variant: `copy-${secret}`, key: b.keyId }
    const bodyOf: Record<string, Json> = {
      PATCH: { name: "taken" },
      POST: { name: "taken", vars: {} },
      PUT: { member: "nobody@example.com" },
    }
    for (const { method, path } of await management()) {
      if (!/\{(template|key)\}/.test(path)) continue
      const { status } = await bench.service.manage(
        method,
        fill(path, values).replace("/console/api", ""),
        bodyOf[method],
      )
      assert.strictEqual(status, 404, `${method} ${path}`)
    }
    const { body } = await bench.service.manage("GET", `/organizations/${b.slug}/templates/t-${secret}`)
    assert.strictEqual(body.name, `name ${secret}`)
    for (const list of ["templates", "keys"]) {
      const own = await bench.service.manage("GET", `/organizations/${a.slug}/${list}`)
      assert.notInclude(JSON.stringify(own.body), secret)
    }
    assert.strictEqual((await b.post({ template_id: `t-${secret}` })).status, 200, "its key was not revoked")
  })

  it("never returns a key's secret or digest again", async () => {
    const org = await bench.organization("secrets")
    const { body } = await bench.service.manage("GET", `/organizations/${org.slug}/keys`)
    assert.deepStrictEqual(Object.keys(body.keys[0]).sort(), [
      "created_at",
      "expires_at",
      "id",
      "kind",
      "last_used_at",
      "name",
      "rate_limit",
      "revoked_at",
      "scopes",
    ])
    const secretOf = org.key.slice(-46)
    for (const path of ["/metrics", "/readyz", "/openapi.json"]) assert.notInclude((await call(path)).text, secretOf)
  })

  it("documents exactly the routes that answer", async () => {
    const b = await furnished("inventory")
    const values = {
      org: b.slug,
      template: `t-${secret}`,
      variant: `copy-${secret}`,
      key: "0".repeat(16),
      slug: "not-found",
      segment: "provider_a",
      id: "1",
      account: "acc_none",
      invitation: "inv_none",
      session: "ses_none",
      connection: "main",
      delivery: "00000000-0000-7000-8000-000000000000",
    }
    const found = await routes()
    const { components } = await document()
    for (const { method, operation, path } of found) {
      // The requests are not authenticated, so they change nothing. They only test that the path exists.
      const answer = await call(fill(path, values), { method })
      assert.notStrictEqual(answer.json?.type, "/problems/not-found", `${method} ${path}`)
      assert.notStrictEqual(answer.status, 405, `${method} ${path}`)
      const response = operation.responses[answer.status]
      assert.isDefined(response, `${method} ${path} answers ${answer.status}`)
      for (const [name, { required }] of Object.entries<Json>(components.headers)) {
        const [isDeclared, isThere] = [response.headers[name] !== undefined, answer.headers.has(name)]
        assert.isTrue(isDeclared ? isThere || required !== true : !isThere, `${method} ${path} ${name}`)
      }
    }
    const listed = new Set(found.map(({ method, path }) => `${method} ${path}`))
    const promised = [
      "POST /api/generate/{org}",
      "GET /api/generate/{org}",
      "POST /api/batch-generate/{org}",
      "GET /healthz",
      "GET /readyz",
      "GET /metrics",
      "GET /openapi.json",
      "GET /docs",
      "POST /console/api/organizations",
      "GET /console/api/organizations",
      "POST /console/api/organizations/{org}/keys",
      "DELETE /console/api/organizations/{org}/keys/{key}",
      "POST /console/api/organizations/{org}/templates",
      "PATCH /console/api/organizations/{org}/templates/{template}",
      "POST /console/api/organizations/{org}/templates/{template}/variants",
      "POST /console/api/organizations/{org}/templates/{template}/preview",
    ]
    for (const route of promised) assert.isTrue(listed.has(route), route)
    // A path may fit two patterns: `import` is a template's id to every method but POST.
    const documented = (method: string, path: string) =>
      found.some((route) =>
        route.method === method && new RegExp(`^${route.path.replace(/\{\w+\}/g, "[^/]+")}$`).test(path)
      )
    for (const path of new Set(found.map((route) => fill(route.path, values)))) {
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
        if (documented(method, path)) continue
        assert.strictEqual((await call(path, { method })).status, 405, `${method} ${path} is not documented`)
      }
    }
  })

  it("serves an OpenAPI 3.1 document with resolvable references and unique operation ids", async () => {
    const spec = await document()
    assert.match(spec.openapi, /^3\.1\.\d+$/)
    assert.isTrue(spec.info.title !== "" && spec.info.version !== "")
    const references: Array<string> = []
    const walk = (node: Json): void => {
      if (node === null || typeof node !== "object") return
      if (typeof node.$ref === "string") references.push(node.$ref)
      Object.values(node).forEach(walk)
    }
    walk(spec)
    assert.isAbove(references.length, 0)
    for (const reference of references) {
      const steps = reference.replace(/^#\//, "").split("/").map((step) =>
        decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~")
      )
      assert.isDefined(steps.reduce((node: Json, step) => node?.[step], spec), reference)
    }
    const ids = (await routes()).map(({ operation }) => operation.operationId)
    assert.strictEqual(new Set(ids).size, ids.length)
    for (const { method, operation, path } of await routes()) {
      const named = new Set(
        (operation.parameters ?? []).filter((one: Json) => one.in === "path").map((one: Json) => one.name),
      )
      for (const [, name] of path.matchAll(/\{(\w+)\}/g)) assert.isTrue(named.has(name), `${method} ${path} ${name}`)
      for (const scheme of opened({ method, path, operation })) {
        assert.isDefined(spec.components.securitySchemes[scheme], scheme)
      }
    }
  })
})
