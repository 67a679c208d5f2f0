import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Buffer } from "node:buffer"
import { createHmac } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import {
  type GenerateOptions,
  isProblem,
  Parlance,
  ParlanceProblem,
  ParlanceUnavailable,
  ParlanceWebhookError,
  verifyWebhook,
} from "../../clients/typescript/src/index.ts"
import type { Service } from "../support/service.ts"
import { org, serviceForClients } from "./serviceForClients.ts"

const failed = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise
  } catch (error) {
    return error
  }
  return assert.fail("should have failed")
}

/** A server in front of the service, which treats requests as `answer` says; undefined passes them on. */
const front = (
  service: Service,
  answer: (request: IncomingMessage, response: ServerResponse) => boolean,
) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      new Promise<Server>((resolve) => {
        const server: Server = createServer((request, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => chunks.push(chunk)).on("end", async () => {
            const body = Buffer.concat(chunks)
            const passed = await service.request(request.url ?? "", {
              method: request.method ?? "GET",
              headers: request.headers as Record<string, string>,
              ...(body.length === 0 ? {} : { body }),
            })
            const text = await passed.text()
            // The service has processed the request, even if the answer is lost.
            if (answer(request, response)) return
            response.writeHead(passed.status, Object.fromEntries(passed.headers)).end(text)
          })
        }).listen(0, "127.0.0.1", () => resolve(server))
      })
    ),
    (server) =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      }),
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`))

const prepared = Effect.map(serviceForClients, ({ apiKey, service }) => ({
  service,
  apiKey,
  client: new Parlance({ url: `${service.url}/`, org, apiKey }),
}))

describe("The TypeScript client", () => {
  it.live(
    "generates, reports events, asks for send times and queues messages",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const { client } = yield* prepared
        yield* Effect.promise(async () => {
          const generated = await client.generate({ template_id: "welcome", user_id: "ann", fields: { name: "Ann" } })
          assert.deepInclude(generated, { copy_id: "only", held_out: false, message: undefined, fallback: undefined })
          assert.strictEqual(generated.vars["subject"], "Hi Ann")
          const named = await client.generate({ template_id: "welcome", tracking_id: "t-1" })
          assert.strictEqual(named.tracking_id, "t-1")

          const batch = await client.generateBatch({
            requests: [{ template_id: "welcome" }, { template_id: "nothing" }],
          })
          assert.strictEqual(batch["welcome"]?.copy_id, "only")
          assert.strictEqual(batch["nothing"]?.message, "Template not found")
          const many = Array.from({ length: 45 }, (_, n) => ({ template_id: `nothing-${n}` }))
          assert.strictEqual(Object.keys(await client.generateBatch({ requests: many })).length, 45)

          const { delay_id, delay_time } = await client.delay({ delay_id: "only", user_id: "ann" })
          assert.strictEqual(delay_id, "only")
          assert.isFalse(Number.isNaN(Date.parse(delay_time)))

          const { items } = await client.sendEvents([
            { event: "click", tracking_id: "t-1" },
            { event: "clik", tracking_id: "t-1" },
          ])
          assert.deepStrictEqual(items.map(({ status }) => status), ["accepted", "rejected"])
          assert.include(items[1]?.reason, "did you mean click?")

          const message = { template_id: "welcome", email: "ann@person.example" }
          const queued = await client.deliver(message, { idempotencyKey: "order-1" })
          const again = await client.deliver(message, { idempotencyKey: "order-1" })
          assert.deepStrictEqual([again.delivery_id, queued.repeated, again.repeated], [
            queued.delivery_id,
            false,
            true,
          ])
          assert.strictEqual((await client.delivery(queued.delivery_id)).email, "ann@person.example")
          assert.strictEqual((await client.deliveries({ state: "queued", limit: 5 })).deliveries.length, 1)
          assert.strictEqual((await client.cancelDelivery(queued.delivery_id)).state, "cancelled")
          assert.isTrue(isProblem(await failed(client.delivery("nothing")), "delivery-not-found"))
        })
      })),
    60_000,
  )

  it.live(
    "fails with the problem of the service, and uses a fallback only for missing content",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const { apiKey, client, service } = yield* prepared
        yield* Effect.promise(async () => {
          const faulty = await failed(client.generate({ template_id: "", attrs: { tier: [{}] as never } }))
          assert.instanceOf(faulty, ParlanceProblem)
          if (!isProblem(faulty, "invalid-request")) return assert.fail("another problem")
          assert.sameMembers(faulty.errors.map(({ pointer }) => pointer), ["/template_id", "/attrs/tier/0"])
          assert.include(faulty.message, "/template_id")
          assert.match(faulty.requestId ?? "", /^[\w-]{10,}$/)
          assert.include(faulty.message, `(request ${faulty.requestId})`)
          assert.strictEqual(faulty.status, 400)

          const fallback = { subject: "Hello" }
          const wrongKey = new Parlance({ url: service.url, org, apiKey: `${apiKey.slice(0, -1)}!` })
          const refused = await failed(wrongKey.generate({ template_id: "welcome" }, { fallback }))
          assert.isTrue(isProblem(refused, "unauthorized"), "a wrong key is not hidden by a fallback")

          const none = await client.generate({ template_id: "welcome", attrs: { tier: "none" } })
          assert.deepInclude(none, { copy_id: undefined, vars: {}, message: "No candidates found" })
          const instead = await client.generate({ template_id: "welcome", attrs: { tier: "none" } }, { fallback })
          assert.deepInclude(instead, { copy_id: undefined, vars: fallback, message: "No candidates found" })
          assert.include(instead.fallback?.message, "No candidates found")
          const lacking = await failed(client.generate({ template_id: "coded" }))
          assert.isTrue(isProblem(lacking, "unprocessable"), "no variant can be rendered")
          const replaced = await client.generate({ template_id: "coded" }, { fallback })
          assert.deepInclude(replaced, { copy_id: undefined, vars: fallback })
          assert.isTrue(isProblem(replaced.fallback, "unprocessable"))

          const nowhere = new Parlance({ url: "http://127.0.0.1:2", org, apiKey, retries: 1 })
          const unreachable = await failed(nowhere.generate({ template_id: "welcome" }))
          assert.instanceOf(unreachable, ParlanceUnavailable)
          assert.match(
            (unreachable as Error).message,
            /^http:\/\/127\.0\.0\.1:2 did not answer in 2 attempts: the connection was refused\. Check the address/,
          )
          assert.strictEqual((unreachable as ParlanceUnavailable).reason, "refused")
          const nameless = new Parlance({ url: "http://nowhere.invalid", org, apiKey, retries: 0 })
          assert.strictEqual((await failed(nameless.keys.list()) as ParlanceUnavailable).reason, "dns")
          const plain = new Parlance({ url: service.url.replace("http:", "https:"), org, apiKey, retries: 0 })
          const withoutTls = await failed(plain.keys.list()) as ParlanceUnavailable
          assert.strictEqual(withoutTls.reason, "tls")
          assert.include(withoutTls.message, "did not answer: the service answers without TLS")
          const survived = await nowhere.generate({ template_id: "welcome", tracking_id: "t-2" }, { fallback })
          assert.deepInclude(survived, { tracking_id: "t-2", vars: fallback })
          assert.instanceOf(survived.fallback, ParlanceUnavailable)
        })
      })),
    60_000,
  )

  it.live(
    "repeats requests without an answer, without a second decision, message or event",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const { apiKey, service } = yield* prepared
        const seen: Array<string> = []
        let faults: Array<"cut" | "busy"> = []
        const url = yield* front(service, (request, response) => {
          seen.push(request.url ?? "")
          const fault = faults.shift()
          if (fault === "cut") request.socket.destroy()
          else if (fault === "busy") {
            response.writeHead(503, { "content-type": "application/problem+json", "retry-after": "0" })
              .end(JSON.stringify({ type: "/problems/unavailable", title: "Busy", status: 503 }))
          }
          return fault !== undefined
        })
        yield* Effect.promise(async () => {
          const client = new Parlance({ url, org, apiKey })
          faults = ["cut", "busy"]
          const { tracking_id } = await client.generate({ template_id: "welcome" })
          const decisions = async () =>
            (await service.manage("GET", `/organizations/${org}/templates/welcome/decisions`)).body
              .decisions as ReadonlyArray<{ tracking_id: string }>
          assert.deepStrictEqual((await decisions()).map((decision) => decision.tracking_id), [tracking_id])

          faults = ["cut"]
          const { items } = await client.sendEvents([{ event: "click", tracking_id }])
          assert.deepStrictEqual(items.map(({ status }) => status), ["duplicate"], "the first attempt had arrived")

          faults = ["busy", "busy", "busy"]
          const before = seen.length
          assert.isTrue(isProblem(await failed(client.generate({ template_id: "welcome" })), "unavailable"))
          assert.strictEqual(seen.length - before, 3)
          faults = ["busy"]
          await failed(client.generate({ template_id: "welcome" }, { retries: 0 }))

          const aborted = await failed(
            client.generate({ template_id: "welcome" }, {
              signal: AbortSignal.abort(new Error("enough")),
              fallback: {},
            }),
          )
          assert.strictEqual((aborted as Error).message, "enough")
        })
      })),
    60_000,
  )

  it.live(
    "treats answers of proxies as temporary failures, and does not follow redirects",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const { apiKey, service } = yield* prepared
        const answers: Array<readonly [status: number, body: string, headers?: Record<string, string>]> = []
        let requests = 0
        const url = yield* front(service, (_, response) => {
          requests++
          const [status, body, headers] = answers.shift() ?? [200, "{}"]
          response.writeHead(status, { "content-type": "text/html", ...headers }).end(body)
          return true
        })
        yield* Effect.promise(async () => {
          const client = new Parlance({ url, org, apiKey })
          const fallback = { subject: "Hello" }
          const generate = (options: GenerateOptions = {}) => client.generate({ template_id: "welcome" }, options)
          const page = [200, "<html>Sign in to the network</html>"] as const
          answers.push(page, page, page, page)
          assert.instanceOf(await failed(generate()), ParlanceUnavailable)
          assert.strictEqual(requests, 3)
          assert.instanceOf((await generate({ fallback, retries: 0 })).fallback, ParlanceUnavailable)

          answers.push([502, '{"errors": ["bad gateway", null], "detail": ["x"]}'])
          const gateway = await failed(generate({ retries: 0 }))
          assert.deepInclude(gateway, { status: 502, type: "unknown", title: "The service answered 502", errors: [] })
          answers.push([408, ""])
          assert.strictEqual((await generate({ fallback, retries: 0 })).vars, fallback)

          requests = 0
          answers.push([307, "", { location: "https://elsewhere.example/" }])
          const redirect = await failed(generate({ fallback }))
          assert.include((redirect as Error).message, "It redirected to https://elsewhere.example/")
          assert.strictEqual(requests, 1, "the key was sent nowhere else")

          requests = 0
          answers.push([429, "", { "retry-after": "20" }])
          assert.isTrue(isProblem((await generate({ fallback })).fallback), "a fallback does not wait for 20 seconds")
          assert.strictEqual(requests, 1)
          answers.push([503, "", { "retry-after": "31" }])
          assert.isTrue(isProblem(await failed(generate())), "nor does any call for longer than 30")
          assert.strictEqual(requests, 2)

          requests = 0
          const twice = client.generateBatch({ requests: [{ template_id: "a" }, { template_id: "a" }] })
          assert.instanceOf(await failed(twice), TypeError)
          answers.push([200, '{"our_words": {"delay_id": "a", "delay_time": "2026-05-04T09:30:00Z"}}'])
          assert.strictEqual(
            (await client.delay({ delay_id: "a" })).delay_time,
            "2026-05-04T09:30:00Z",
            "SERVICE_WORDS",
          )
          assert.strictEqual(requests, 1)
        })
      })),
    60_000,
  )

  it.live(
    "rejects answers in another format for every call",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const { apiKey, service } = yield* prepared
        let body = ""
        let headers: Record<string, string> = {}
        let status = 200
        const ids: Array<unknown> = []
        const url = yield* front(service, (request, response) => {
          ids.push(request.headers["idempotency-key"])
          response.writeHead(status, { "content-type": "application/json", ...headers }).end(body)
          return true
        })
        yield* Effect.promise(async () => {
          const client = new Parlance({ url, org, apiKey, retries: 0, timeout: 20_000 })
          const fallback = { subject: "Hello" }
          const calls: ReadonlyArray<() => Promise<unknown>> = [
            () => client.generate({ template_id: "welcome" }),
            () => client.generateBatch({ requests: [{ template_id: "welcome" }] }),
            () => client.delay({ delay_id: "only" }),
            () => client.deliver({ template_id: "welcome", email: "ann@person.example" }),
            () => client.deliveries(),
            () => client.delivery("d"),
            () => client.cancelDelivery("d"),
            () => client.sendEvents([]),
          ]
          const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`
          const others = ["{}", "[]", "null", '{"copy": null, "tracking_id": 5}', '{"welcome": {}}', "{", deep]
          for (body of others) {
            for (const call of calls) assert.instanceOf(await failed(call()), ParlanceUnavailable, body.slice(0, 50))
            const instead = await client.generate({ template_id: "welcome" }, { fallback })
            assert.strictEqual(instead.vars, fallback)
          }
          body = `{"id": "${"x".repeat(33 * 1024 * 1024)}"}`
          const large = await failed(client.delivery("d"))
          assert.instanceOf(large, ParlanceUnavailable)
          assert.match(String((large as Error).cause), /larger than 33554432 bytes/)

          body = "{}"
          status = 503
          headers = { "retry-after": new Date(Date.now() - 5_000).toUTCString() }
          ids.length = 0
          const message = { template_id: "welcome", email: "ann@person.example" }
          assert.isTrue(isProblem(await failed(client.deliver(message, { retries: 1 }))), "a date that has passed")
          assert.lengthOf(ids, 2)
          assert.strictEqual(ids[0], ids[1])
          headers = { "retry-after": new Date(Date.now() + 60_000).toUTCString() }
          assert.isTrue(isProblem(await failed(client.deliver(message, { retries: 1 }))), "a date in a minute")
          assert.lengthOf(ids, 3)
        })
      })),
    60_000,
  )

  it("throws on invalid options, so that no fallback hides them", () => {
    const options = { url: "http://127.0.0.1:9", org, apiKey: "plk_x" }
    for (const fault of [{ url: "127.0.0.1:9" }, { apiKey: undefined as never }, { apiKey: "plk_x\n" }, { org: "" }]) {
      assert.throws(() => new Parlance({ ...options, ...fault }), TypeError)
    }
  })

  it("verifies signed webhooks", async () => {
    const bytes = Buffer.alloc(32, 9)
    const secret = `whsec_${bytes.toString("base64")}`
    const now = 1_800_000_000_000
    const body = '{"type":"message.send"}'
    const timestamp = String(now / 1000)
    const signature = createHmac("sha256", bytes).update(`m-1.${timestamp}.${body}`).digest("base64")
    const headers = {
      "webhook-id": "m-1",
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,AAAA v1,${signature}`,
    }
    const other = `whsec_${Buffer.alloc(32).toString("base64")}`
    const event = await verifyWebhook({ secrets: [other, secret], headers, body, now })
    assert.strictEqual(event.type, "message.send")
    const late = { secrets: [secret], headers: new Headers(headers), body, now: now + 299_000 }
    assert.deepStrictEqual(await verifyWebhook(late), event)
    const faultOf = async (request: Parameters<typeof verifyWebhook>[0]) => {
      const error = await failed(verifyWebhook(request))
      assert.instanceOf(error, ParlanceWebhookError)
      return (error as ParlanceWebhookError).fault
    }
    assert.strictEqual(await faultOf({ secrets: [secret], headers, body, now: now + 301_000 }), "timestamp", "too old")
    assert.strictEqual(await faultOf({ secrets: [other], headers, body, now }), "signature", "another secret")
    assert.strictEqual(
      await faultOf({ secrets: [secret], headers, body: `${body} `, now }),
      "signature",
      "another body",
    )
    const renamed = { ...headers, "webhook-id": "m-2" }
    assert.strictEqual(await faultOf({ secrets: [secret], headers: renamed, body, now }), "signature")
    assert.strictEqual(await faultOf({ secrets: [secret], headers: {}, body, now }), "headers")
    assert.strictEqual(await faultOf({ secrets: ["whsec_!"], headers, body, now }), "secret")
    const titled = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]))
    const bytesOfBody = new TextEncoder().encode(body)
    const inBytes = { secrets: secret, headers: titled, body: bytesOfBody, now }
    assert.deepStrictEqual(await verifyWebhook(inBytes), event, "one secret, bytes")
  })
})
