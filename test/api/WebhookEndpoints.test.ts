import { assert, it } from "@effect/vitest"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { ParlanceWebhookError } from "../../clients/typescript/src/errors.ts"
import { verifyWebhook } from "../../clients/typescript/src/webhooks.ts"
import { adminToken } from "../support/service.ts"
import { startReceiver } from "../delivery/receiver.ts"
import { makeWatch } from "../support/platformServers/Watch.ts"
import { suiteOnSending } from "./deliverySuite.ts"
import { assertProblem, type Json, pointersOf, read } from "./harness.ts"

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly json: Json
}

/** A server that takes events and answers with `status()`. */
const receiver = async (status: () => number = () => 204) => {
  const received: Array<Received> = []
  const { changed, until } = makeWatch()
  const server = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (chunk: string) => body += chunk).on("end", () => {
      received.push({ headers: request.headers, body, json: JSON.parse(body) })
      response.writeHead(status()).end("thank you")
      changed()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${port}/hook`, received, until, [Symbol.asyncDispose]: close }
}

suiteOnSending("Webhook endpoints", (bench) => {
  const manage = async (method: string, path: string, body?: unknown) =>
    read(
      await bench.service.request(`/console/api/organizations/${path}`, {
        method,
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )

  const create = async (slug: string, url: string, events: ReadonlyArray<string> = []) => {
    const answer = await manage("POST", `${slug}/webhook-endpoints`, { url, events })
    assert.strictEqual(answer.status, 201, answer.text)
    return { ...answer.json, at: `${slug}/webhook-endpoints/${answer.json.id}` }
  }

  const isSigned = ({ body, headers }: Received, ...secrets: ReadonlyArray<string>) =>
    verifyWebhook({ secrets, body, headers: headers as Record<string, string> }).then(
      ({ type }) => typeof type === "string",
      (error: ParlanceWebhookError) => error.fault !== "signature",
    )

  it("receive signed events of their selected types, with a list of attempts", async () => {
    await using server = await receiver()
    await bench.sender("chosen")
    const all = await create("chosen", server.url)
    await create("chosen", server.url, ["person.unsubscribed"])
    assert.match(all.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.notProperty((await manage("GET", all.at)).json, "secret")
    for (const reason of ["manual", "unsubscribe"]) {
      await manage("POST", "chosen/suppressions", { email: "Ann@example.com", reason })
    }
    await server.until(() => server.received.length === 4)
    const types = server.received.map(({ json }) => json.type).sort()
    assert.deepStrictEqual(types, [
      "person.unsubscribed",
      "person.unsubscribed",
      "suppression.added",
      "suppression.added",
    ])
    const added = server.received.filter(({ json }) => json.type === "suppression.added")
    assert.sameMembers(added.map(({ json }) => json.data.reason), ["manual", "unsubscribe"])
    for (const one of added) {
      assert.deepInclude(one.json.data, { org: "chosen", address: "ann@example.com" })
      assert.isTrue(await isSigned(one, all.secret))
      assert.isFalse(await isSigned({ ...one, body: `${one.body} ` }, all.secret))
    }
    await bench.service.untilStored("they are delivered", ["outgoing_webhooks"], async () => {
      const { json } = await manage("GET", `${all.at}/events`)
      return json.events.every(({ state }: Json) => state === "delivered")
    })
    const first = (await manage("GET", `${all.at}/events?limit=2`)).json
    assert.lengthOf(first.events, 2)
    const second = (await manage("GET", `${all.at}/events?limit=2&before=${first.next}`)).json
    assert.lengthOf(second.events, 1)
    assert.isNull(second.next)
    assert.deepInclude(second.events[0].attempts[0], { status: 204, reason: null })
  })

  it("receive events of failed and expired messages, and of connections that break or refuse", async () => {
    await using server = await receiver()
    const told = (type: string) => server.received.filter(({ json }) => json.type === type).map(({ json }) => json.data)
    const faulty = async (slug: string, status: number) => {
      const platform = await startReceiver({ fault: () => ({ status }) })
      const org = await bench.sender(slug, { connection: { settings: { url: platform.url }, paused: false } })
      await create(slug, server.url)
      return { org, platform }
    }
    const message = { template_id: "t", email: "Ann@example.com", fields: { name: "Ann" } }

    const paused = await bench.sender("told-expired")
    await create("told-expired", server.url)
    const expires_at = new Date(Date.now() + 1_500).toISOString()
    assert.strictEqual((await paused.deliver({ ...message, expires_at })).status, 200)

    const broken = await faulty("told-broken", 401)
    assert.strictEqual((await broken.org.deliver(message)).status, 200)
    const refusing = await faulty("told-refusing", 422)
    for (let n = 0; n < 25; n++) {
      assert.strictEqual((await refusing.org.deliver({ ...message, email: `p${n}@${n}.example.com` })).status, 200)
    }
    await server.until(() =>
      told("connection.broken").length > 0 && told("connection.refusing").length > 0 &&
      told("delivery.failed").length >= 21
    )
    const [expired] = told("delivery.failed").filter(({ org }: Json) => org === "told-expired")
    assert.deepInclude(expired, { email: "Ann@example.com", template_id: "t", copy_id: "a", attempts: 0 })
    assert.match(expired.reason, /^Expired at/)
    assert.strictEqual(expired.id, (await paused.deliveries())[0].id)
    assert.deepInclude(told("connection.broken")[0], { org: "told-broken", connection: "main", platform: "webhook" })
    assert.deepInclude(told("connection.refusing")[0], { org: "told-refusing", connection: "main" })
    const failed = await refusing.org.deliveries("?state=failed&limit=100")
    const ids = told("delivery.failed").filter(({ org }: Json) => org === "told-refusing").map(({ id }: Json) => id)
    assert.sameMembers(ids, failed.map(({ id }: Json) => id), "each failed message once")
    await broken.platform.close()
    await refusing.platform.close()
  })

  it("receive selected events in signed batches, and no other events in batches", async () => {
    await using server = await receiver()
    const { slug } = await bench.sender("batched")
    const single = await create(slug, server.url)
    const batched = await create(slug, server.url, ["decision.made", "delivery.sent"])
    await bench.run(bench.sql`
      INSERT INTO decisions (org_slug, tracking_id, template_id, copy_id, user_id, mode, segment, policy, decided_at)
      SELECT ${slug}, 'id-' || i, 't', 'a', 'ann', 'bandit', '', '1', now() - i * interval '1 second' - interval '30 minutes'
      FROM generate_series(1, 3) i`)
    await bench.run(bench.sql`
      UPDATE late_rows SET noted_at = noted_at - interval '10 minutes' WHERE org_slug = ${slug}`)
    await bench.run(bench.sql`
      UPDATE webhook_feeds SET since = now() - interval '1 hour', cursor = NULL, due_at = now() WHERE org_slug = ${slug}`)
    await server.until(() => server.received.length === 1)
    const [batch] = server.received
    assert.isTrue(await isSigned(batch!, batched.secret))
    assert.strictEqual(batch!.json.type, "decision.made")
    assert.strictEqual(batch!.json.data.org, slug)
    assert.sameMembers(batch!.json.data.events.map(({ tracking_id }: Json) => tracking_id), ["id-1", "id-2", "id-3"])
    await bench.service.untilStored("it is delivered", ["outgoing_webhooks"], async () => {
      const { json: { events: [event] } } = await manage("GET", `${batched.at}/events`)
      return event.state === "delivered" && event.event_count === 3 && event.body === null
    })
    const { json: { events: [{ id }] } } = await manage("GET", `${batched.at}/events`)
    assert.deepStrictEqual((await manage("POST", `${batched.at}/replay`, { event_id: id })).json, { replayed: 1 })
    await server.until(() => server.received.length === 2)
    assert.strictEqual(server.received[1]!.body, batch!.body)
    assert.strictEqual(server.received[1]!.headers["webhook-id"], id)
    assert.deepStrictEqual((await manage("GET", `${single.at}/events`)).json.events, [])
  })

  it("receive two signatures for a day after the secret was replaced", async () => {
    await using server = await receiver()
    await bench.sender("rotated")
    const { at, secret: before } = await create("rotated", server.url)
    const { json: { secret: after } } = await manage("POST", `${at}/rotate`)
    const { json: { event_id } } = await manage("POST", `${at}/ping`)
    await server.until(() => server.received.length === 1)
    const [ping] = server.received
    assert.strictEqual(ping!.headers["webhook-id"], event_id)
    assert.deepInclude(ping!.json, { type: "ping" })
    assert.isTrue(await isSigned(ping!, before), "the secret before")
    assert.isTrue(await isSigned(ping!, after), "the new secret")
    assert.lengthOf(String(ping!.headers["webhook-signature"]).split(" "), 2)
  })

  it("receive an event again after a failure, and in a replay with the same id", async () => {
    let status = 500
    await using server = await receiver(() => status)
    await bench.sender("failing")
    const { at } = await create("failing", server.url)
    await manage("POST", "failing/suppressions", { email: "bob@example.com" })
    await bench.service.untilStored(
      "it has failed",
      ["webhook_endpoints"],
      async () => (await manage("GET", at)).json.failing_since !== null,
    )
    const [waiting] = (await manage("GET", `${at}/events`)).json.events
    assert.deepInclude(waiting, { state: "pending", type: "suppression.added" })
    assert.deepInclude(waiting.attempts[0], { status: 500, reason: "It answered 500: thank you" })
    const pause = Date.parse(waiting.next_attempt_at) - Date.parse(waiting.attempts[0].at)
    assert.isAbove(pause, 2_000)
    assert.isBelow(pause, 10_000)
    status = 200
    await bench.service.untilStored(
      "it has been sent again",
      ["webhook_endpoints"],
      async () => (await manage("GET", at)).json.failing_since === null,
    )
    const [delivered] = (await manage("GET", `${at}/events`)).json.events
    assert.deepStrictEqual(delivered.attempts.map(({ status }: Json) => status), [500, 200])
    assert.deepStrictEqual((await manage("POST", `${at}/replay`, { event_id: delivered.id })).json, { replayed: 1 })
    await server.until(() => server.received.length === 3)
    assert.strictEqual(new Set(server.received.map(({ headers }) => headers["webhook-id"])).size, 1)
    const since = new Date(Date.now() - 60_000).toISOString()
    await bench.service.untilStored(
      "all are replayed",
      ["outgoing_webhooks"],
      async () => (await manage("POST", `${at}/replay`, { since })).json.replayed === 1,
    )
    assertProblem(await manage("POST", `${at}/replay`, {}), 400, "invalid-request")
    assertProblem(await manage("POST", `${at}/replay`, { since: "yesterday" }), 400, "invalid-request")
  })

  it("are disabled by an answer 410, and enabled manually", async () => {
    await using server = await receiver(() => 410)
    await bench.sender("gone")
    const { at } = await create("gone", server.url)
    await manage("POST", `${at}/ping`)
    await bench.service.untilStored(
      "it is disabled",
      ["webhook_endpoints"],
      async () => !(await manage("GET", at)).json.enabled,
    )
    assert.include((await manage("GET", at)).json.disabled_reason, "410")
    await manage("POST", "gone/suppressions", { email: "bob@example.com" })
    assert.lengthOf((await manage("GET", `${at}/events`)).json.events, 1, "nothing is stored for a disabled endpoint")
    const enabled = await manage("PATCH", at, { enabled: true, description: "Ours" })
    assert.deepInclude(enabled.json, { enabled: true, disabled_reason: null, failing_since: null, description: "Ours" })
    assert.strictEqual((await manage("DELETE", at)).status, 204)
    assertProblem(await manage("GET", at), 404, "webhook-endpoint-not-found")
  })

  it("reject a forbidden address when it is entered, and say who can allow it", async () => {
    await bench.sender("entered")
    const { at } = await create("entered", "https://hooks.example.com/")
    const path = "entered/webhook-endpoints"
    const urls = ["https://10.1.2.3/hook", "https://0x7f.2/", "https://169.254.169.254/", "http://8.8.8.8/"]
    for (const url of urls) {
      for (const answer of [await manage("POST", path, { url }), await manage("PATCH", at, { url })]) {
        assertProblem(answer, 400, "invalid-request")
        assert.deepStrictEqual(pointersOf(answer), ["/url"])
        assert.match(answer.json.errors[0].detail, /^must be an allowed address: .* OUTBOUND_ALLOW/)
      }
    }
    assert.lengthOf((await manage("GET", path)).json.endpoints, 1)
    // OUTBOUND_ALLOW lists 127.0.0.1 here.
    for (const url of ["http://127.0.0.1:9/", "http://localhost:9/", "https://[::ffff:127.0.0.1]/"]) {
      assert.strictEqual((await manage("PATCH", at, { url })).json.url, url)
    }
  })

  it("never reach a private address that is not listed, and can then be disabled", async () => {
    await bench.sender("private")
    const { at, id } = await create("private", "https://hooks.example.com/")
    const url = "https://10.1.2.3/hook"
    await bench.run(bench.sql`UPDATE webhook_endpoints SET url = ${url} WHERE org_slug = 'private' AND id = ${id}`)
    await manage("POST", `${at}/ping`)
    await bench.service.untilStored(
      "it has failed",
      ["webhook_endpoints"],
      async () => (await manage("GET", at)).json.failing_since !== null,
    )
    const [event] = (await manage("GET", `${at}/events`)).json.events
    assert.deepInclude(event.attempts[0], { status: null })
    assert.include(event.attempts[0].reason, "private address")
    assert.strictEqual((await manage("PATCH", at, { url, enabled: false })).json.enabled, false)
  })

  it("reject invalid input and more than ten endpoints", async () => {
    await bench.sender("faulty")
    const faulty = await manage("POST", "faulty/webhook-endpoints", { url: "ftp://x", events: ["nothing"], enabled: 1 })
    assertProblem(faulty, 400, "invalid-request")
    assert.deepStrictEqual(pointersOf(faulty), ["/enabled", "/events/0", "/url"])
    for (let n = 0; n < 10; n++) await create("faulty", `https://example.com/${n}`)
    assertProblem(
      await manage("POST", "faulty/webhook-endpoints", { url: "https://example.com" }),
      400,
      "invalid-request",
    )
  })
})
