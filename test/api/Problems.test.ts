import { assert, it } from "@effect/vitest"
import { adminToken } from "../support/service.ts"
import { type Answer, assertProblem, type Json, pointersOf, read, suiteOnService, variants } from "./harness.ts"

const problems = {
  "invalid-request": 400,
  unauthorized: 401,
  forbidden: 403,
  "not-found": 404,
  "template-not-found": 404,
  "template-archived": 404,
  "variant-not-found": 404,
  "draft-not-found": 404,
  "version-not-found": 404,
  "version-conflict": 409,
  "tracking-id-reused": 409,
  "sample-person-not-found": 404,
  "report-not-found": 404,
  "view-not-found": 404,
  "suggestion-not-found": 404,
  "suggestions-busy": 429,
  "suggestions-failed": 502,
  "snippet-not-found": 404,
  "image-not-found": 404,
  "proposal-not-found": 404,
  "proposal-conflict": 409,
  "comment-not-found": 404,
  "share-not-found": 404,
  "test-group-not-found": 404,
  "organization-not-found": 404,
  "key-not-found": 404,
  "inbox-entry-not-found": 404,
  "source-not-found": 404,
  "connection-not-found": 404,
  "dkim-key-not-found": 404,
  "delivery-not-found": 404,
  "bulk-action-not-found": 404,
  "suppression-not-found": 404,
  "erasure-not-found": 404,
  "account-not-found": 404,
  "invitation-not-found": 404,
  "group-role-not-found": 404,
  "passkey-not-found": 404,
  "tracking-key-not-found": 404,
  "session-not-found": 404,
  "webhook-endpoint-not-found": 404,
  "method-not-allowed": 405,
  "request-timeout": 408,
  conflict: 409,
  "delivery-fixed": 409,
  "idempotency-key-reused": 409,
  "payload-too-large": 413,
  "headers-too-large": 431,
  "unsupported-media-type": 415,
  unprocessable: 422,
  "held-out": 422,
  "send-nothing": 422,
  "recipient-suppressed": 422,
  "message-expired": 422,
  "too-many-attempts": 429,
  "too-many-test-messages": 429,
  "rate-limited": 429,
  "too-many-connections": 429,
  "quota-exceeded": 429,
  "internal-error": 500,
  unavailable: 503,
}

const mebibyte = 1024 * 1024

suiteOnService("Problems", (bench) => {
  const admin = { authorization: `Bearer ${adminToken}`, "content-type": "application/json" }
  const call = async (path: string, init?: RequestInit): Promise<Answer> =>
    read(await bench.service.request(path, init))
  const manage = (method: string, path: string, body?: unknown) =>
    call(`/console/api${path}`, {
      method,
      headers: admin,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })

  it("report all faults of a Generate body at once with pointers", async () => {
    const org = await bench.organization("faults")
    await org.template({ id: "t", variants: variants("a") })
    const cases: ReadonlyArray<readonly [body: Json, pointers: ReadonlyArray<string>]> = [
      [{}, ["/template_id"]],
      [{ template_id: null }, ["/template_id"]],
      [{ template_id: "", user_id: 5, tracking_id: ["x"], fields: "f", attrs: 1 }, [
        "/attrs",
        "/fields",
        "/template_id",
        "/tracking_id",
        "/user_id",
      ]],
      [{ template_id: "t", fields: [], attrs: [] }, ["/attrs", "/fields"]],
      [{ template_id: "t", attrs: { a: { b: 1 }, "x/y~z": [1, [2]], fine: 1 } }, ["/attrs/a", "/attrs/x~1y~0z/1"]],
      [{ template_id: "t".repeat(201), tracking_id: "\u0000", user_id: "a\nb" }, [
        "/template_id",
        "/tracking_id",
        "/user_id",
      ]],
      [{ template_id: "t", tracking_id: "", user_id: "u".repeat(201) }, ["/tracking_id", "/user_id"]],
      [[], [""]],
      ["text", [""]],
      [5, [""]],
      [null, [""]],
    ]
    for (const [body, pointers] of cases) {
      const answer = await org.post(JSON.stringify(body))
      assertProblem(answer, 400, "invalid-request", JSON.stringify(body))
      assert.deepStrictEqual(pointersOf(answer), pointers, answer.text)
      for (const { detail } of answer.json.errors) assert.isTrue(typeof detail === "string" && detail !== "")
    }
    const texts = { "/template_id": `"template_id":"\\ud800"`, "/attrs/a": `"template_id":"t","attrs":{"a":1e400}` }
    for (const [pointer, text] of Object.entries(texts)) {
      const answer = await org.post(`{${text}}`)
      assertProblem(answer, 400, "invalid-request", text)
      assert.deepStrictEqual(pointersOf(answer), [pointer])
    }
    assert.deepStrictEqual(await org.decisions(), [])
  })

  it("report all faults of a batch body and of management bodies", async () => {
    const org = await bench.organization("faults-more")
    const batch = await org.batch({
      requests: [{}],
      attrs: { a: {} },
      fields: 1,
      epsilon: 2,
      lookback_days: 0,
      offset_days: -1,
      trace: 1,
    })
    assertProblem(batch, 400, "invalid-request")
    assert.deepStrictEqual(pointersOf(batch), [
      "/attrs/a",
      "/epsilon",
      "/fields",
      "/lookback_days",
      "/offset_days",
      "/requests/0/template_id",
      "/trace",
    ])
    const cases: ReadonlyArray<
      readonly [method: string, path: string, body: unknown, pointers: ReadonlyArray<string>]
    > = [
      ["POST", "/organizations", { slug: "Not A Slug", time_zone: "Mars/Base" }, ["/name", "/slug", "/time_zone"]],
      ["PATCH", `/organizations/${org.slug}`, { name: "", exploration_floor: 0.5 }, ["/exploration_floor", "/name"]],
      ["POST", `/organizations/${org.slug}/keys`, { scopes: ["root"], expires_at: "soon" }, [
        "/expires_at",
        "/name",
        "/scopes/0",
      ]],
      ["POST", `/organizations/${org.slug}/templates`, { id: "", sticky_hours: -1, variants: [{ vars: { s: 1 } }] }, [
        "/id",
        "/name",
        "/sticky_hours",
        "/variants/0/vars/s",
      ]],
    ]
    for (const [method, path, body, pointers] of cases) {
      const answer = await manage(method, path, body)
      assertProblem(answer, 400, "invalid-request", path)
      assert.deepStrictEqual(pointersOf(answer), pointers, answer.text)
    }
    const liquid = await manage("POST", `/organizations/${org.slug}/templates`, {
      name: "T",
      variants: [{ vars: { a: "{{ x", b: "{% nope %}" } }, { vars: { c: "fine" } }],
    })
    assertProblem(liquid, 400, "invalid-request")
    assert.deepStrictEqual(pointersOf(liquid), ["/variants/0/vars/a", "/variants/0/vars/b"])
  })

  it("reject every body that is not JSON in UTF-8", async () => {
    const org = await bench.organization("bodies")
    await org.template({ id: "t", variants: variants("a") })
    const headers = { "x-api-key": org.key, "content-type": "application/json" }
    const utf16 = new Uint8Array([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00])
    const bodies: ReadonlyArray<BodyInit | null> = [
      null,
      "",
      " ",
      "{",
      "nope",
      `{"template_id":"t"} x`,
      `{"template_id":"t",}`,
      `{'template_id':'t'}`,
      `{"template_id":NaN}`,
      "template_id=t",
      "[".repeat(10_000),
      new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]),
      utf16,
    ]
    for (const path of ["generate", "batch-generate"]) {
      for (const body of bodies) {
        const answer = await call(`/api/${path}/${org.slug}`, { method: "POST", headers, body })
        assertProblem(answer, 400, "invalid-request", String(body).slice(0, 50))
        assert.deepStrictEqual(pointersOf(answer), [""])
      }
    }
    const bom = await call(`/api/generate/${org.slug}`, {
      method: "POST",
      headers,
      body: `\ufeff{"template_id":"t","template_id":"t"}`,
    })
    assert.strictEqual(bom.status, 200, "a byte order mark and a repeated member are nothing to refuse")
  })

  it("reject a body declared as another type than plain JSON in UTF-8", async () => {
    const org = await bench.organization("media")
    await org.template({ id: "t", variants: variants("a") })
    const post = (headers: Record<string, string>) =>
      call(`/api/generate/${org.slug}`, {
        method: "POST",
        headers: { "x-api-key": org.key, ...headers },
        body: new TextEncoder().encode(`{"template_id":"t"}`),
      })
    const refused: ReadonlyArray<Record<string, string>> = [
      { "content-type": "text/plain" },
      { "content-type": "application/x-www-form-urlencoded" },
      { "content-type": "application/jsonx" },
      { "content-type": "multipart/form-data; boundary=x" },
      { "content-type": "application/json; charset=utf-16" },
      { "content-type": "application/json; charset=iso-8859-1" },
      { "content-type": "application/json", "content-encoding": "gzip" },
      { "content-type": "application/json", "content-encoding": "br" },
    ]
    for (const headers of refused) {
      assertProblem(await post(headers), 415, "unsupported-media-type", JSON.stringify(headers))
    }
    const taken: ReadonlyArray<Record<string, string>> = [
      {},
      { "content-type": "application/json" },
      { "content-type": "APPLICATION/JSON; Charset=UTF-8" },
      { "content-type": `application/json;charset="utf-8"` },
      { "content-type": "application/vnd.acme+json" },
      { "content-type": "application/json", "content-encoding": "identity" },
    ]
    for (const headers of taken) assert.strictEqual((await post(headers)).status, 200, JSON.stringify(headers))
  })

  it("reject a body over 1 MiB, or 8 MiB with templates, declared or in chunks, and accept one of exactly 1 MiB", async () => {
    const org = await bench.organization("sizes")
    await org.template({ id: "t", variants: variants("a") })
    const bodyOf = (bytes: number) => {
      const [head, tail] = [`{"template_id":"t","pad":"`, `"}`]
      return head + "x".repeat(bytes - head.length - tail.length) + tail
    }
    const chunked = (text: string) =>
      new ReadableStream<Uint8Array>({
        start: (controller) => {
          for (let at = 0; at < text.length; at += 65_536) {
            controller.enqueue(new TextEncoder().encode(text.slice(at, at + 65_536)))
          }
          controller.close()
        },
      })
    const send = (path: string, body: BodyInit) =>
      call(path, { method: "POST", headers: { ...admin, "x-api-key": org.key, authorization: "" }, body })
    assert.strictEqual((await send(`/api/generate/${org.slug}`, bodyOf(mebibyte))).status, 200)
    assert.strictEqual((await send(`/api/generate/${org.slug}`, chunked(bodyOf(mebibyte)))).status, 200)
    for (const path of ["generate", "batch-generate"]) {
      for (const body of [bodyOf(mebibyte + 1), chunked(bodyOf(mebibyte + 1)), chunked(bodyOf(2 * mebibyte))]) {
        assertProblem(await send(`/api/${path}/${org.slug}`, body), 413, "payload-too-large", path)
      }
    }
    const managed = await call(`/console/api/organizations/${org.slug}/templates`, {
      method: "POST",
      headers: admin,
      body: bodyOf(8 * mebibyte + 1),
    })
    assertProblem(managed, 413, "payload-too-large")
  })

  it("answer 405 with the allowed methods", async () => {
    const org = await bench.organization("methods")
    const cases: ReadonlyArray<readonly [path: string, refused: ReadonlyArray<string>, allow: string]> = [
      [`/api/generate/${org.slug}`, ["HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"], "GET, POST"],
      [`/api/delay/${org.slug}`, ["POST", "PUT"], "GET, HEAD"],
      [`/api/batch-generate/${org.slug}`, ["GET", "HEAD", "PUT", "DELETE"], "POST"],
      ["/console/api/organizations", ["PUT", "DELETE"], "GET, HEAD, POST"],
      [`/console/api/organizations/${org.slug}/templates/t`, ["POST", "PUT"], "DELETE, GET, HEAD, PATCH"],
      ["/healthz", ["POST"], "GET, HEAD"],
      ["/openapi.json", ["PUT"], "GET, HEAD"],
    ]
    for (const [path, refused, allow] of cases) {
      for (const method of refused) {
        const answer = await call(path, { method, headers: { ...admin, "x-api-key": org.key } })
        assert.strictEqual(answer.status, 405, `${method} ${path}`)
        assert.strictEqual(answer.headers.get("allow"), allow, `${method} ${path}`)
        if (method !== "HEAD") assertProblem(answer, 405, "method-not-allowed")
      }
    }
  })

  it("answer 404 under every unknown path", async () => {
    const paths = [
      "/",
      "/api",
      "/api/generate",
      "/api/generate/a/b",
      "/API/generate/a",
      "/api/nope/a",
      "/problems/nope",
      "/favicon.png",
      "/.env",
      "/console/api",
      "/api/generate/a/",
    ]
    for (const path of paths) {
      for (const method of ["GET", "POST"]) {
        if (path === "/problems/nope" && method === "POST") continue
        // Leads to the console.
        if (path === "/" && method === "GET") continue
        assertProblem(await call(path, { method }), 404, "not-found", `${method} ${path}`)
      }
    }
  })

  it("require a key if the path names no organization", async () => {
    const org = await bench.organization("empty-slug")
    for (const path of ["generate", "batch-generate"]) {
      assertProblem(await call(`/api/${path}/`, { method: "POST", body: "{}" }), 401, "unauthorized", path)
      const answer = await call(`/api/${path}/`, { method: "POST", headers: { "x-api-key": org.key }, body: "{}" })
      assertProblem(answer, 403, "forbidden", path)
    }
  })

  it("treat a very long organization in the path like any other wrong one", async () => {
    const org = await bench.organization("long-path")
    for (const length of [200, 1900, 2100, 8000]) {
      const answer = await call(`/api/generate/${"a".repeat(length)}`, {
        method: "POST",
        headers: { "x-api-key": org.key },
        body: "{}",
      })
      assert.include([403, 404], answer.status, `${length} characters`)
      assertProblem(answer, answer.status)
      assert.isBelow(answer.text.length, 1000)
    }
  })

  it("refuse a request without a valid key with 401, WWW-Authenticate and the reason", async () => {
    const org = await bench.organization("keys")
    const other = await bench.organization("keys-other")
    await org.template({ id: "t", variants: variants("a") })
    const make = async (more: Json = {}) =>
      (await manage("POST", `/organizations/${org.slug}/keys`, { name: "k", ...more })).json
    const revoked = await make()
    assert.strictEqual((await manage("DELETE", `/organizations/${org.slug}/keys/${revoked.id}`)).status, 204)
    const expired = await make({ expires_at: "2001-01-01T00:00:00Z" })
    const last = org.key.at(-1) === "0" ? "1" : "0"
    const wrong = org.key.slice(0, -1) + last
    const unknown = `plk_${"0".repeat(16)}_${org.key.slice(21)}`
    const cases: Record<string, Record<string, string>> = {
      missing: {},
      empty: { "x-api-key": "" },
      "empty Bearer": { authorization: "Bearer " },
      "wrong secret": { "x-api-key": wrong },
      "wrong secret as Bearer": { authorization: `Bearer ${wrong}` },
      "unknown id": { "x-api-key": unknown },
      "no key at all": { "x-api-key": "hello" },
      "in quotes": { "x-api-key": `"${org.key}"` },
      "upper case": { "x-api-key": org.key.toUpperCase() },
      "scheme Basic": { authorization: `Basic ${btoa(`${org.key}:`)}` },
      "scheme Token": { authorization: `Token ${org.key}` },
      "scheme missing": { authorization: org.key },
      revoked: { "x-api-key": revoked.key },
      expired: { authorization: `Bearer ${expired.key}` },
      "10 kB": { "x-api-key": "x".repeat(10_240) },
      "10 kB that begins well": { authorization: `Bearer ${org.key}${"x".repeat(10_240)}` },
      "two that disagree": { "x-api-key": org.key, authorization: `Bearer ${other.key}` },
      "two of which one is wrong": { "x-api-key": wrong, authorization: `Bearer ${org.key}` },
      "the admin token": { "x-api-key": adminToken },
    }
    const details: Record<string, string> = {}
    for (const [name, headers] of Object.entries(cases)) {
      for (const [method, path] of [["POST", "generate"], ["GET", "generate"], ["POST", "batch-generate"]] as const) {
        const url = `/api/${path}/${org.slug}?template_id=t&api_key=${org.key}&x-api-key=${org.key}`
        const body = method === "POST" ? { body: `{"template_id":"t","requests":[{"template_id":"t"}]}` } : {}
        const answer = await call(url, { method, headers, ...body })
        assertProblem(answer, 401, "unauthorized", `${name} ${method} ${path}`)
        assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer\b/)
        assert.notInclude(answer.text, org.key)
        details[name] = answer.json.detail
      }
    }
    assert.strictEqual(details["wrong secret"], details["unknown id"], "whether an id exists is not told")
    assert.match(details["expired"]!, /expired/)
    assert.match(details["revoked"]!, /revoked/)
    assert.deepStrictEqual(await org.decisions(), [])
    const accepted: ReadonlyArray<Record<string, string>> = [
      { "x-api-key": org.key },
      { authorization: `Bearer ${org.key}` },
      { authorization: `bearer ${org.key}` },
      { "x-api-key": org.key, authorization: `Bearer ${org.key}` },
    ]
    for (const headers of accepted) {
      assert.strictEqual(
        (await call(`/api/generate/${org.slug}?template_id=t`, { headers })).status,
        200,
        JSON.stringify(headers),
      )
    }
  })

  it("are checked in the order key, organization, body, so that callers without a key learn nothing about bodies", async () => {
    const org = await bench.organization("order")
    for (const path of ["generate", "batch-generate"]) {
      assertProblem(await call(`/api/${path}/${org.slug}`, { method: "POST", body: "{" }), 401, "unauthorized", path)
    }
    assertProblem(await call(`/api/generate/${org.slug}`), 401, "unauthorized", "GET without parameters")
  })

  it("refuse a key of another organization, without the scope, or for an unknown organization with the same 403", async () => {
    const org = await bench.organization("scopes")
    const other = await bench.organization("scopes-other")
    await other.template({ id: "t", variants: variants("a") })
    const deliver = await bench.organization("scopes-deliver", { scopes: ["deliver", "events"] })
    await deliver.template({ id: "t", variants: variants("a") })
    const ask = (slug: string, key: string) =>
      call(`/api/generate/${slug}`, { method: "POST", headers: { "x-api-key": key }, body: `{"template_id":"t"}` })
    const somebody = await ask(other.slug, org.key)
    const nobody = await ask("scopes-nobody", org.key)
    assertProblem(somebody, 403, "forbidden")
    assertProblem(nobody, 403, "forbidden")
    assert.strictEqual(nobody.text.replaceAll("scopes-nobody", "X"), somebody.text.replaceAll(other.slug, "X"))
    for (const slug of ["__proto__", "%00", "SCOPES", "scopes%2F", "%22%3E"]) {
      assertProblem(await ask(slug, org.key), 403, "forbidden", slug)
    }
    const scope = await ask(deliver.slug, deliver.key)
    assertProblem(scope, 403, "forbidden")
    assert.include(scope.json.detail, "generate")
    assertProblem(await deliver.batch({ requests: [{ template_id: "t" }] }), 403, "forbidden")
  })

  it("name missing and existing ids in the management API", async () => {
    const org = await bench.organization("managed")
    await org.template({ id: "t", variants: variants("a") })
    const at = `/organizations/${org.slug}`
    const cases: ReadonlyArray<
      readonly [method: string, path: string, status: number, slug: keyof typeof problems, body?: unknown]
    > = [
      ["GET", "/organizations/nobody", 404, "organization-not-found"],
      ["PATCH", "/organizations/nobody", 404, "organization-not-found", {}],
      ["POST", "/organizations/nobody/keys", 404, "organization-not-found", { name: "k" }],
      ["POST", "/organizations/nobody/templates", 404, "organization-not-found", { name: "T" }],
      ["DELETE", `${at}/keys/${"0".repeat(16)}`, 404, "key-not-found"],
      ["DELETE", "/tracking-keys/nope", 404, "tracking-key-not-found"],
      ["DELETE", "/tracking-keys/first", 409, "conflict"],
      ["GET", `${at}/templates/nope`, 404, "template-not-found"],
      ["DELETE", `${at}/templates/nope`, 404, "template-not-found"],
      ["POST", `${at}/templates/nope/variants`, 404, "template-not-found", { vars: {} }],
      ["GET", `${at}/templates/t/variants/nope`, 404, "variant-not-found"],
      ["PATCH", `${at}/templates/t/variants/nope`, 404, "variant-not-found", {}],
      ["POST", `${at}/templates/t/preview`, 404, "variant-not-found", { copy_id: "nope" }],
      ["GET", `${at}/templates/t/draft?variant=a`, 404, "draft-not-found"],
      ["POST", `${at}/templates/t/draft/publish`, 404, "draft-not-found"],
      ["GET", `${at}/templates/t/variants/a/versions/0`, 404, "version-not-found"],
      ["GET", `${at}/proposals/1`, 404, "proposal-not-found"],
      ["DELETE", `${at}/templates/t/comments/1`, 404, "comment-not-found"],
      ["DELETE", `${at}/templates/t/result-shares/nope`, 404, "share-not-found"],
      ["GET", `${at}/test-groups/nope`, 404, "test-group-not-found"],
      ["GET", `${at}/webhook-endpoints/nope/events`, 404, "webhook-endpoint-not-found"],
      ["POST", "/organizations", 409, "conflict", { slug: org.slug, name: "again" }],
      ["POST", `${at}/templates`, 409, "conflict", { id: "t", name: "again" }],
      ["POST", `${at}/templates/t/variants`, 409, "conflict", { id: "a", vars: {} }],
      ["GET", `${at}/templates?limit=0`, 400, "invalid-request"],
    ]
    for (const [method, path, status, slug, body] of cases) {
      assertProblem(await manage(method, path, body), status, slug, `${method} ${path}`)
    }
  })

  it("report a parameter that occurs twice", async () => {
    const org = await bench.organization("twice")
    for (const name of ["limit", "after"]) {
      const answer = await manage("GET", `/organizations/${org.slug}/templates?${name}=1&${name}=2`)
      assertProblem(answer, 400, "invalid-request", name)
      assert.deepStrictEqual(pointersOf(answer), [name])
    }
  })

  it("are each served as a page under their type", async () => {
    const index = await call("/problems")
    assert.strictEqual(index.status, 200)
    for (const [slug, status] of Object.entries(problems)) {
      const page = await call(`/problems/${slug}`)
      assert.strictEqual(page.status, 200, slug)
      assert.match(page.headers.get("content-type") ?? "", /^text\/html/)
      assert.include(page.text, `/problems/${slug}`)
      assert.include(page.text, String(status))
      assert.include(index.text, `href="/problems/${slug}"`)
    }
    const declared = [...index.text.matchAll(/href="\/problems\/([a-z-]+)"/g)].map((match) => match[1]!)
    assert.deepStrictEqual(declared.sort(), Object.keys(problems).sort())
  })
})
