import { assert, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { placeOf } from "../../src/bandit/Holdout.ts"
import { adminToken, waitUntil } from "../support/service.ts"
import { suiteOnSending } from "./deliverySuite.ts"
import { type Answer, assertProblem, type Json, parallel, pointersOf, read } from "./harness.ts"

suiteOnSending("Deliver", (bench) => {
  const message = { template_id: "t", email: "ada@example.com", fields: { name: "Ada" } }
  const post = async (path: string, headers: Record<string, string>, body: BodyInit = JSON.stringify(message)) =>
    read(await bench.service.request(path, { method: "POST", headers, body }))

  it("answers ok once the message is queued, and the message arrives with its text", async () => {
    const org = await bench.sender("ok", { connection: { paused: false } })
    const answer = await org.deliver(message)
    assert.strictEqual(answer.status, 200, answer.text)
    assert.deepStrictEqual(answer.json, { status: "ok" })
    assert.isNull(answer.headers.get("idempotent-replayed"))
    await org.untilCounted("sent", 1)
    const arrived = bench.server.requests.find(({ json }) => json.data?.org === "ok")!.json.data
    const [delivery] = await org.deliveries()
    assert.deepInclude(arrived, {
      tracking_id: delivery.id,
      email: "ada@example.com",
      template_id: "t",
      copy_id: "a",
      vars: { subject: "Hi Ada" },
      attempt: 1,
    })
    assert.deepInclude(delivery, { state: "sent", connection: "main", message_id: `wm-${delivery.id}`, reason: null })
  })

  it("keeps the digits of long integers, and refuses names with control characters", async () => {
    const org = await bench.sender("long", { connection: { paused: false } })
    const answer = await org.deliver(
      '{"template_id":"t","email":"a@example.com","fields":{"name":12345678901234567890}}',
    )
    assert.strictEqual(answer.status, 200, answer.text)
    await org.untilCounted("sent", 1)
    const arrived = bench.server.requests.find(({ json }) => json.data?.org === "long")!.json.data
    assert.strictEqual(arrived.vars.subject, "Hi 12345678901234567890")
    const refused = await org.deliver('{"template_id":"t","email":"a@example.com","fields":{"na\\u0001me":"x"}}')
    assertProblem(refused, 400, "invalid-request")
    assert.deepStrictEqual(pointersOf(refused), ["/fields/na\u0001me"])
  })

  it("accepts every documented field, null for an absent one, and ignores unknown fields", async () => {
    const org = await bench.sender("fields")
    const full = {
      ...message,
      copy_id: "a",
      attrs: { tier: "gold", tags: ["x", 1, true] },
      lookback_days: 7,
      offset_days: 0,
      use_cache: false,
      epsilon: 0.1,
      send_at: new Date(Date.now() + 3_600_000).toISOString(),
      expires_at: new Date(Date.now() + 7_200_000).toISOString(),
      priority: "transactional",
      tracking_id: "mine",
      user_id: "u",
    }
    const absent = {
      ...message,
      copy_id: null,
      attrs: null,
      fields: null,
      epsilon: null,
      send_at: null,
      expires_at: null,
      priority: null,
    }
    for (const body of [full, absent, { ...message, send_at: "2001-01-01T00:00:00+01:00" }]) {
      const answer = await org.deliver(body)
      assert.strictEqual(answer.status, 200, answer.text)
    }
    const rows = await org.deliveries()
    assert.strictEqual(rows.length, 3)
    assert.notInclude(rows.map(({ id }) => id), "mine", "the id of a delivery is ours")
    assert.deepStrictEqual(
      rows.flatMap(({ due_at, expires_at, priority }) => due_at === full.send_at ? [[expires_at, priority]] : []),
      [[full.expires_at, "transactional"]],
    )
    assert.deepStrictEqual(rows.map(({ priority }) => priority).sort(), ["bulk", "bulk", "transactional"])
  })

  it("rejects held-out recipients who receive no message, and records the decision", async () => {
    const holdout = { share: 0.5, content: "no_message" }
    for (const sticky_hours of [0, 1]) {
      const slug = `held-out-${sticky_hours}`
      const org = await bench.sender(slug, { template: { holdout, sticky_hours } })
      const isHeldOut = (email: string) => placeOf({ org: slug, userId: email, trackingId: "" }).draw < 0.5
      const people = Array.from({ length: 40 }, (_, i) => `p${i}@example.com`)
      const email = people.find(isHeldOut)!
      for (let i = 0; i < 2; i++) {
        const answer = await org.deliver({ ...message, email })
        assertProblem(answer, 422, "held-out")
      }
      assert.deepStrictEqual(await org.deliveries(), [])
      const { json } = await org.manage("GET", "/templates/t/decisions")
      assert.deepStrictEqual(
        json.decisions.map(({ copy_id, mode }: Json) => [copy_id, mode]),
        Array(sticky_hours === 0 ? 2 : 1).fill(["", "control"]),
      )
      const keyed = { "idempotency-key": "once" }
      for (const headers of [keyed, keyed, { "idempotency-key": "again" }]) {
        assertProblem(await org.deliver({ ...message, email }, headers), 422, "held-out")
      }
      const { json: { decisions } } = await org.manage("GET", "/templates/t/decisions")
      assert.lengthOf(decisions, sticky_hours === 0 ? 4 : 1, "a decision for each key, however often it comes")
      const other = await org.deliver({ ...message, email: people.find((one) => !isHeldOut(one)) })
      assert.strictEqual(other.status, 200, other.text)
      const forced = await org.deliver({ ...message, email, copy_id: "a" })
      assert.strictEqual(forced.status, 200, forced.text)
    }
  })

  it("rejects an expired message, but repeats the answer to one that was queued in time", async () => {
    const org = await bench.sender("expired")
    const expires_at = "2026-05-04T09:30:00+02:00"
    const answer = await org.deliver({ ...message, expires_at })
    assertProblem(answer, 422, "message-expired")
    assert.strictEqual(answer.json.expires_at, "2026-05-04T07:30:00.000Z")
    assert.match(answer.json.detail, /expires_at, 2026-05-04T07:30:00\.000Z, has passed\. Nothing was queued/)
    assert.deepStrictEqual(await org.deliveries(), [])
    const { json } = await org.manage("GET", "/templates/t/decisions")
    assert.deepStrictEqual(json.decisions, [], "nothing is decided")
    const body = JSON.stringify({ ...message, expires_at })
    const digest = createHash("sha256").update(body).digest("hex")
    await bench.run(bench.sql`
      INSERT INTO idempotency_keys (org_slug, key, digest, delivery_id, created_at)
      VALUES ('expired', 'once', ${digest}, 'd-1', now())`)
    const again = await org.deliver(body, { "idempotency-key": "once" })
    assert.strictEqual(again.status, 200, again.text)
    assert.deepStrictEqual(
      [again.headers.get("idempotent-replayed"), again.headers.get("parlance-delivery-id")],
      ["true", "d-1"],
    )
  })

  it("accepts the key in X-Api-Key only, and explains this to a caller that sends it as Bearer", async () => {
    const org = await bench.sender("bearer")
    const bearer = await post("/api/deliver/bearer", { authorization: `Bearer ${org.key}` })
    assertProblem(bearer, 401, "unauthorized")
    assert.match(bearer.json.detail, /X-Api-Key.*Bearer/)
    assert.match(bearer.headers.get("www-authenticate") ?? "", /\w/)
    const cases: ReadonlyArray<Record<string, string>> = [
      {},
      { "x-api-key": "" },
      { "x-api-key": `${org.key}x` },
      { "x-api-key": adminToken },
      { authorization: `Bearer ${adminToken}` },
      { authorization: `Basic ${btoa(`${org.key}:`)}` },
      { cookie: `session=${org.key}` },
    ]
    for (const headers of cases) {
      const answer = await post("/api/deliver/bearer", headers, "{")
      assertProblem(answer, 401, "unauthorized", JSON.stringify(headers))
      assert.notInclude(answer.text, org.key)
    }
    assert.deepStrictEqual(await org.deliveries(), [])
  })

  it("rejects a key without the scope or of another organization, and an unknown key, in the same way", async () => {
    const org = await bench.sender("own")
    const other = await bench.sender("foreign")
    const narrow = await bench.sender("narrow", { scopes: ["generate", "events"] })
    const scope = await narrow.deliver(message)
    assertProblem(scope, 403, "forbidden")
    assert.include(scope.json.detail, "deliver")
    const somebody = await post("/api/deliver/foreign", { "x-api-key": org.key })
    const nobody = await post("/api/deliver/nobody-at-all", { "x-api-key": org.key })
    assertProblem(somebody, 403, "forbidden")
    assertProblem(nobody, 403, "forbidden")
    assert.strictEqual(nobody.text.replaceAll("nobody-at-all", "X"), somebody.text.replaceAll("foreign", "X"))
    for (const one of [org, other, narrow]) assert.deepStrictEqual(await one.deliveries(), [])
  })

  it("reports every fault of a request at once with its pointer", async () => {
    const org = await bench.sender("faults")
    const soon = new Date(Date.now() + 8 * 86_400_000).toISOString()
    const hour = new Date(Date.now() + 3_600_000).toISOString()
    const cases: ReadonlyArray<readonly [body: Json, pointers: ReadonlyArray<string>]> = [
      [{}, ["/email", "/template_id"]],
      [null, [""]],
      [[], [""]],
      [{ template_id: "", email: 5, copy_id: 1, fields: [], attrs: 2 }, [
        "/attrs",
        "/copy_id",
        "/email",
        "/fields",
        "/template_id",
      ]],
      [{ ...message, lookback_days: 0, offset_days: -1, use_cache: "yes", epsilon: 2, send_at: 5 }, [
        "/epsilon",
        "/lookback_days",
        "/offset_days",
        "/send_at",
        "/use_cache",
      ]],
      [{ ...message, attrs: { a: { b: 1 } }, send_at: "tomorrow" }, ["/attrs/a", "/send_at"]],
      [{ ...message, send_at: "2026-05-04T09:30:00" }, ["/send_at"]],
      [{ ...message, send_at: soon }, ["/send_at"]],
      [{ ...message, priority: "urgent" }, ["/priority"]],
      [{ ...message, send_at: "tomorrow", expires_at: 5 }, ["/expires_at", "/send_at"]],
      [{ ...message, send_at: soon, expires_at: "2026-05-04" }, ["/expires_at"]],
      [{ ...message, email: "nobody", expires_at: "2026-05-04T09:30:00" }, ["/email", "/expires_at"]],
      [{ ...message, expires_at: "2026-02-30T99:00:00Z" }, ["/expires_at"]],
      [{ ...message, send_at: hour, expires_at: hour }, ["/expires_at"]],
      [{ ...message, send_at: soon, expires_at: hour }, ["/expires_at", "/send_at"]],
    ]
    for (const [body, pointers] of cases) {
      const answer = await org.deliver(JSON.stringify(body))
      assertProblem(answer, 400, "invalid-request", JSON.stringify(body))
      assert.deepStrictEqual(pointersOf(answer), pointers, answer.text)
    }
    for (const key of ["", "ä", "x".repeat(256)]) {
      const answer = await org.deliver({ ...message, email: "nobody" }, { "idempotency-key": key })
      assertProblem(answer, 400, "invalid-request", key)
      assert.deepStrictEqual(pointersOf(answer), ["/email", "Idempotency-Key"], key)
    }
    assert.deepStrictEqual(await org.deliveries(), [])
  })

  it("accepts one address only, and no text that could inject a header", async () => {
    const org = await bench.sender("addresses")
    const wrong = [
      "",
      "ada",
      "ada@",
      "@example.com",
      "ada@example.com, bob@example.com",
      "ada@example.com;bob@example.com",
      "Ada <ada@example.com>",
      "ada@example.com\r\nBcc: bob@example.com",
      "ada@example.com\n",
      "ada\u0000@example.com",
      "ada\u202e@example.com",
      "ada @example.com",
      `${"a".repeat(300)}@example.com`,
    ]
    for (const email of wrong) {
      const answer = await org.deliver({ ...message, email })
      assertProblem(answer, 400, "invalid-request", JSON.stringify(email))
      assert.deepStrictEqual(pointersOf(answer), ["/email"])
    }
    for (const email of ["ada@example.com", "a.d+a@mail.example.com", "o'hara@example.com"]) {
      assert.strictEqual((await org.deliver({ ...message, email })).status, 200, email)
    }
  })

  it("rejects other media types, larger bodies and invalid JSON", async () => {
    const org = await bench.sender("media")
    const headers = { "x-api-key": org.key, "content-type": "application/json" }
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16"]) {
      assertProblem(
        await post("/api/deliver/media", { ...headers, "content-type": type }),
        415,
        "unsupported-media-type",
      )
    }
    assertProblem(await post("/api/deliver/media", { ...headers, "content-encoding": "gzip" }), 415)
    const large = JSON.stringify({ ...message, pad: "x".repeat(1024 * 1024) })
    assertProblem(await post("/api/deliver/media", headers, large), 413, "payload-too-large")
    for (const body of ["", "{", "nope", `${JSON.stringify(message)} x`]) {
      assertProblem(await post("/api/deliver/media", headers, body), 400, "invalid-request", body)
    }
    const get = await read(await bench.service.request("/api/deliver/media", { headers }))
    assertProblem(get, 405, "method-not-allowed")
    assert.strictEqual(get.headers.get("allow"), "POST")
    assert.deepStrictEqual(await org.deliveries(), [])
  })

  it("answers 422 if the request cannot be fulfilled, and 404 for an unknown template", async () => {
    const none = await bench.sender("not-enabled", { connection: null })
    const notEnabled = await none.deliver(message)
    assertProblem(notEnabled, 422, "unprocessable")
    assert.match(notEnabled.json.detail, /not enabled for delivery.*connection/)
    const off = await bench.sender("switched-off", { connection: { enabled: false } })
    assertProblem(await off.deliver(message), 422, "unprocessable")
    const org = await bench.sender("undone", {
      template: {
        strict: true,
        variants: [{
          id: "a",
          vars: { subject: "Hi {{ name }}" },
          targeting: [{ attribute: "tier", op: "is", values: ["gold"] }],
        }],
      },
    })
    const noCandidate = await org.deliver(message)
    assertProblem(noCandidate, 422, "unprocessable")
    assert.match(noCandidate.json.detail, /No candidates found/)
    const notRendered = await org.deliver({ ...message, fields: {}, attrs: { tier: "GOLD" } })
    assertProblem(notRendered, 422, "unprocessable")
    assert.include(notRendered.text, "name")
    assertProblem(await org.deliver({ ...message, template_id: "nope" }), 404, "template-not-found")
    assertProblem(await org.deliver({ ...message, copy_id: "nope" }), 404, "variant-not-found")
    for (const one of [none, off, org]) assert.deepStrictEqual(await one.deliveries(), [])
    assert.strictEqual((await org.deliver({ ...message, attrs: { tier: "GOLD" } })).status, 200)
  })

  it("sends one message for 1,000 parallel requests with one key, and marks the repetitions", async () => {
    const org = await bench.sender("once", { connection: { paused: false } })
    const before = bench.server.requests.length
    // An overloaded service answers 503, so repeat the request with the same key.
    const persistently = async (): Promise<Answer> => {
      const answer = await org.deliver(message, { "idempotency-key": "order 7: confirmed" })
      return answer.status === 503 ? await persistently() : answer
    }
    const answers = await parallel(1_000, persistently)
    assert.deepStrictEqual(
      new Set(answers.map(({ status, text }) => `${status} ${text}`)),
      new Set(['200 {"status":"ok"}']),
    )
    const fresh = answers.filter(({ headers }) => headers.get("idempotent-replayed") === null)
    assert.strictEqual(fresh.length, 1)
    await org.untilCounted("sent", 1)
    assert.strictEqual((await org.deliveries()).length, 1)
    assert.strictEqual(bench.server.requests.length - before, 1)
  })

  it("rejects an idempotency key with a different body", async () => {
    const org = await bench.sender("reuse")
    const key = { "idempotency-key": "k" }
    assert.strictEqual((await org.deliver(message, key)).status, 200)
    for (const body of [{ ...message, email: "bob@example.com" }, `${JSON.stringify(message)} `]) {
      assertProblem(await org.deliver(body, key), 409, "idempotency-key-reused")
    }
    assert.strictEqual((await org.deliver(message, key)).headers.get("idempotent-replayed"), "true")
    assert.strictEqual((await org.deliver(message)).headers.get("idempotent-replayed"), null)
    assert.strictEqual((await org.deliveries()).length, 2)
  })

  it("answers 503 with Retry-After while the database is unavailable, and queues nothing afterwards", async () => {
    const org = await bench.sender("outage")
    await bench.run(bench.sql`ALTER TABLE deliveries RENAME TO deliveries_away`)
    const answers = await parallel(10, () => org.deliver(message))
    await bench.run(bench.sql`ALTER TABLE deliveries_away RENAME TO deliveries`)
    for (const answer of answers) {
      assertProblem(answer, 503, "unavailable")
      assert.isNotNull(answer.headers.get("retry-after"))
    }
    await waitUntil("it takes messages again", async () => (await org.deliver(message)).status === 200)
    assert.strictEqual((await org.deliveries()).length, 1)
  })

  it("is described with its fields, its answer and its refusals", async () => {
    const { components, paths } = (await read(await bench.service.request("/openapi.json"))).json
    const operation = paths["/api/deliver/{org}"].post
    assert.includeMembers(Object.keys(operation.responses), [
      "200",
      "400",
      "401",
      "403",
      "404",
      "409",
      "413",
      "415",
      "422",
    ])
    const text = JSON.stringify([operation, components.schemas.DeliverRequest])
    for (
      const name of [
        "template_id",
        "email",
        "copy_id",
        "fields",
        "attrs",
        "send_at",
        "expires_at",
        "epsilon",
        "Idempotency-Key",
      ]
    ) {
      assert.include(text.toLowerCase(), name.toLowerCase(), name)
    }
    assert.deepStrictEqual(operation.security.flatMap(Object.keys), ["ApiKeyHeader"], "no Bearer key")
  })
})

suiteOnSending("Deliveries with an API key", (bench) => {
  const message = { template_id: "t", email: "ada@example.com", fields: { name: "Ada" } }
  const ask = async (key: string, path: string, method = "GET") =>
    read(await bench.service.request(path, { method, headers: { "x-api-key": key } }))

  it("are named in the headers of the answer to Deliver, for a repeated request by the first id", async () => {
    const org = await bench.sender("named")
    const first = await org.deliver(message, { "idempotency-key": "k" })
    const id = first.headers.get("parlance-delivery-id")
    assert.strictEqual((await org.deliveries())[0].id, id)
    assert.strictEqual(first.headers.get("parlance-tracking-id"), id)
    const again = await org.deliver(message, { "idempotency-key": "k" })
    assert.strictEqual(again.headers.get("parlance-delivery-id"), id)
    assert.isNull((await org.deliver({ ...message, email: "" })).headers.get("parlance-delivery-id"))
  })

  it("are listed, read and cancelled with the scope deliver", async () => {
    const org = await bench.sender("keyed", { scopes: ["deliver"] })
    const id = (await org.deliver(message)).headers.get("parlance-delivery-id")
    const listed = await ask(org.key, "/api/deliveries/keyed?state=queued")
    assert.deepStrictEqual(listed.json.deliveries.map((one: Json) => one.id), [id])
    assert.deepInclude((await ask(org.key, `/api/deliveries/${id}/keyed`)).json, { id, vars: { subject: "Hi Ada" } })
    const cancelled = await ask(org.key, `/api/deliveries/${id}/cancel/keyed`, "POST")
    assert.deepInclude(cancelled.json, { id, state: "cancelled" })
  })

  it("are not accessible with a key of another organization or scope, and the key opens nothing else", async () => {
    const org = await bench.sender("closed")
    const other = await bench.sender("curious")
    const narrow = await bench.sender("narrower", { scopes: ["generate", "events"] })
    const id = (await org.deliver(message)).headers.get("parlance-delivery-id")
    for (const path of ["/api/deliveries/closed", `/api/deliveries/${id}/closed`, "/api/deliveries/nobody-at-all"]) {
      assertProblem(await ask(other.key, path), 403, "forbidden")
    }
    assertProblem(await ask(other.key, `/api/deliveries/${id}/cancel/closed`, "POST"), 403, "forbidden")
    assertProblem(await ask(other.key, `/api/deliveries/${id}/curious`), 404, "delivery-not-found")
    const scope = await ask(narrow.key, "/api/deliveries/narrower")
    assertProblem(scope, 403, "forbidden")
    assert.include(scope.json.detail, "deliver")
    const unknown = await ask(`${org.key}x`, "/api/deliveries/closed")
    assertProblem(unknown, 401, "unauthorized")
    assert.include(unknown.json.detail, "unknown")
    assertProblem(await ask("", "/api/deliveries/closed"), 401, "unauthorized")
    assertProblem(await ask(org.key, "/console/api/organizations/closed/deliveries"), 403, "forbidden")
    assert.deepStrictEqual((await org.deliveries()).map(({ state }) => state), ["queued"])
  })
})
