import { assert, it } from "@effect/vitest"
import { adminToken } from "../support/service.ts"
import { startReceiver } from "../delivery/receiver.ts"
import { type Sender, suiteOnSending } from "./deliverySuite.ts"
import { type Answer, assertProblem, type Json, pointersOf, read } from "./harness.ts"

suiteOnSending("Bulk actions", (bench) => {
  const message = (email: string, more: Json = {}) => ({
    template_id: "t",
    email,
    fields: { name: email },
    ...more,
  })

  /** A request with a body and headers of its own. */
  const post = async (path: string, headers: Record<string, string>, body: unknown): Promise<Answer> =>
    read(
      await bench.service.request(path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    )

  const audit = async (org: Sender) =>
    (await org.manage("GET", "/audit")).json.entries.filter(({ action }: Json) => action.startsWith("deliveries "))

  it("retries all failed messages of a preview, records the action once, and sends each message once", async () => {
    let works = false
    const server = await startReceiver({
      fault: () => works ? undefined : { status: 422, body: { error: "closed for maintenance" } },
    })
    const org = await bench.sender("retried-all", { connection: { settings: { url: server.url }, paused: false } })
    for (let i = 0; i < 7; i++) await org.deliver(message(`p${i}@example.com`))
    await org.untilCounted("failed", 7)
    const preview = await org.manage("POST", "/deliveries/retry", { dry_run: true, reason: "MAINTENANCE" })
    assert.strictEqual(preview.status, 200, preview.text)
    assert.deepInclude(preview.json, { matched: 7, changed: 0, action: null })
    assert.deepInclude(preview.json.preview, { erased: 0, expired: 0, sampled: 7, suppressed: 0 })
    assert.deepStrictEqual(preview.json.preview.connections, [{ value: "main", count: 7 }])
    const [{ count, value }] = preview.json.preview.reasons
    assert.strictEqual(count, 7)
    assert.strictEqual((await org.deliveries(`?reason=${encodeURIComponent(value)}`)).length, 7)
    assert.deepStrictEqual(await audit(org), [], "a preview changes nothing")
    works = true
    const asked = { reason: "maintenance", until: preview.json.until }
    const bearer = { authorization: `Bearer ${adminToken}`, "idempotency-key": "press" }
    const path = "/console/api/organizations/retried-all/deliveries/retry"
    const [first, second] = await Promise.all([post(path, bearer, asked), post(path, bearer, asked)])
    for (const { json } of [first, second]) assert.deepInclude(json, { matched: 7, changed: 7, until: asked.until })
    assert.strictEqual(first.json.action.id, second.json.action.id)
    assert.deepInclude(first.json.action, { kind: "retry", state: "done", filter: asked, requested_by: "Admin token" })
    assertProblem(await post(path, bearer, {}), 409, "idempotency-key-reused")
    await org.untilCounted("sent", 7)
    assert.lengthOf(server.arrivals, 7)
    const entries = await audit(org)
    assert.lengthOf(entries, 1)
    assert.strictEqual(entries[0].action, "deliveries retried")
    assert.deepStrictEqual(entries[0].details, { ...asked, matched: 7, bulk_action: first.json.action.id })
    const read = await org.manage("GET", `/bulk-actions/${first.json.action.id}`)
    assert.deepStrictEqual(read.json, first.json.action)
    assert.deepStrictEqual((await org.manage("GET", "/bulk-actions")).json, { actions: [read.json] })
    await server.close()
  })

  it("cancels all queued messages, by the management API and by a key with the scope deliver", async () => {
    const org = await bench.sender("cancelled-all")
    const other = await bench.sender("cancelled-other")
    const narrow = await bench.sender("cancelled-narrow", { scopes: ["generate"] })
    const later = new Date(Date.now() + 3_600_000).toISOString()
    for (let i = 0; i < 4; i++) await org.deliver(message(`p${i}@example.com`, i === 0 ? { send_at: later } : {}))
    const byKey = (key: string, slug: string, body: unknown, more = {}) =>
      post(`/api/deliveries/cancel/${slug}`, { "x-api-key": key, ...more }, body)
    assertProblem(await byKey(other.key, "cancelled-all", {}), 403, "forbidden")
    assertProblem(await byKey(narrow.key, "cancelled-narrow", {}), 403, "forbidden")
    assertProblem(await byKey("", "cancelled-all", {}), 401, "unauthorized")
    assertProblem(await byKey(org.key, "cancelled-all", { state: "failed" }), 400)
    assert.deepInclude((await byKey(org.key, "cancelled-all", { dry_run: true })).json, { matched: 4, changed: 0 })
    const one = await byKey(org.key, "cancelled-all", { email: "p1@example.com" }, { "idempotency-key": "k" })
    assert.deepInclude(one.json, { matched: 1, changed: 1 })
    assert.match(one.json.action.requested_by, /^API key /)
    assert.deepInclude((await byKey(other.key, "cancelled-other", {})).json, { matched: 0, changed: 0 })
    const all = await org.manage("POST", "/deliveries/cancel", { state: "queued", template_id: "t" })
    assert.deepInclude(all.json, { matched: 3, changed: 3 })
    assert.deepStrictEqual((await org.deliveries()).map(({ state }) => state), Array(4).fill("cancelled"))
    assert.deepInclude((await org.manage("GET", "/delivery-summary")).json, { cancelled: 4, queued: 0, scheduled: 0 })
    const entries = await audit(org)
    assert.deepStrictEqual(entries.map(({ details }: Json) => details.matched), [3, 1])
    assert.match(entries[1].actor, /^API key /)
    assert.lengthOf(await audit(other), 1)
    assertProblem(await other.manage("GET", `/bulk-actions/${all.json.action.id}`), 404, "bulk-action-not-found")
  })

  it("rejects unknown members with every fault, so that no filter is wider than intended", async () => {
    const org = await bench.sender("refused-all")
    await org.deliver(message("a@example.com"))
    for (const kind of ["retry", "cancel"]) {
      const wrong = await org.manage("POST", `/deliveries/${kind}`, {
        state: "sent",
        since: "yesterday",
        until: "2026-02-31",
        reason: "",
        template: "t",
        dry_run: "no",
        connection: "a\u0000",
      })
      assertProblem(wrong, 400)
      assert.deepStrictEqual(pointersOf(wrong), [
        "/connection",
        "/dry_run",
        "/reason",
        "/since",
        "/state",
        "/template",
        "/until",
      ])
      assertProblem(await org.manage("POST", `/deliveries/${kind}`, []), 400)
      const misplaced = await org.manage("POST", `/deliveries/${kind}?dry_run=true&reason=full`, {})
      assertProblem(misplaced, 400)
      assert.deepStrictEqual(pointersOf(misplaced), ["dry_run", "reason"])
      assertProblem(
        await post(
          `/console/api/organizations/refused-all/deliveries/${kind}`,
          { authorization: `Bearer ${adminToken}`, "idempotency-key": "x".repeat(256) },
          {},
        ),
        400,
      )
    }
    assert.deepStrictEqual((await org.deliveries()).map(({ state }) => state), ["queued"])
    assert.deepStrictEqual(await audit(org), [])
  })

  it("lists deliveries by reason, template, connection and time", async () => {
    const org = await bench.sender("narrowed")
    await org.deliver(message("a@example.com"))
    const [{ queued_at }] = await org.deliveries()
    const after = new Date(Date.parse(queued_at) + 1).toISOString()
    for (
      const [query, found] of [
        ["template_id=t", 1],
        ["template_id=u", 0],
        ["connection=main", 0],
        ["reason=x", 0],
        [`since=${queued_at}`, 1],
        [`since=${after}`, 0],
        [`until=${queued_at}`, 0],
        [`until=${after}&state=queued&email=a@example.com`, 1],
      ] as const
    ) {
      assert.lengthOf(await org.deliveries(`?${query}`), found, query)
    }
    const wrong = await org.manage("GET", "/deliveries?since=now&until=&reason=&state=lost")
    assertProblem(wrong, 400)
    assert.deepStrictEqual(pointersOf(wrong), ["reason", "since", "state", "until"])
  })
})
