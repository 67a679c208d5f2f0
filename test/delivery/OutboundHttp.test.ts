import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { LookupFunction } from "node:net"
import { AddressGuard } from "../../src/settings/AddressGuard.ts"
import * as OutboundHttp from "../../src/delivery/OutboundHttp.ts"
import { brazeKey, startBraze, startWebhook } from "../support/platformServers/PlatformServer.ts"
import { layerLoopback, server } from "./connections/support.ts"

const post = (url: string): OutboundHttp.OutboundRequest => ({
  method: "POST",
  url: new URL(url),
  headers: {},
  body: "{}",
})

/** Resolves each name to the next of these addresses. */
const answering = (...answers: ReadonlyArray<string>): LookupFunction => {
  const left = [...answers]
  return (_host, _options, done) => done(null, [{ address: left.shift() ?? "127.0.0.1", family: 4 }])
}

describe("OutboundHttp", () => {
  for (
    const url of [
      "http://127.0.0.1:1/",
      "http://localhost:1/",
      "https://127.0.0.1:1/",
      "https://localhost:1/",
      "https://2130706433:1/",
      "https://0x7f.1:1/",
      "https://[::1]:1/",
      "https://[::ffff:7f00:1]:1/",
      "https://169.254.169.254/latest/meta-data",
      "ftp://8.8.8.8/",
      "http://8.8.8.8/",
    ]
  ) {
    it.effect(`does not connect to ${url}`, () =>
      Effect.gen(function* () {
        const http = yield* OutboundHttp.make
        const loss = yield* Effect.flip(http.request(post(url)))
        assert.deepStrictEqual([loss.kind, loss.sent], ["address", false])
      }).pipe(Effect.provide(AddressGuard.layer())))
  }

  it.effect("refuses a connection if a second DNS answer is a private address", () =>
    Effect.gen(function* () {
      const target = yield* server(() => startWebhook())
      const http = yield* OutboundHttp.make
      const url = `http://rebinding.example:${target.port}/`
      assert.strictEqual((yield* http.request(post(url))).status, 401)
      yield* Effect.promise(() => target.close())
      const loss = yield* Effect.flip(http.request(post(url)))
      assert.deepStrictEqual([loss.kind, loss.sent], ["address", false])
      assert.include(loss.detail, "169.254.169.254")
    }).pipe(Effect.provide(AddressGuard.layer(["127.0.0.1"], answering("127.0.0.1", "169.254.169.254")))))

  it.effect("does not follow redirects", () =>
    Effect.gen(function* () {
      const target = yield* server(() => startWebhook())
      const redirecting = yield* server(() =>
        startWebhook({ faults: [{ status: 307, headers: { location: `${target.url}/inner` } }] })
      )
      const http = yield* OutboundHttp.make
      assert.strictEqual((yield* http.request(post(redirecting.url))).status, 307)
      assert.strictEqual(target.requests.length, 0)
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("refuses an untrusted certificate", () =>
    Effect.gen(function* () {
      const target = yield* server(() => startWebhook({ tls: true }))
      const http = yield* OutboundHttp.make
      const loss = yield* Effect.flip(http.request(post(target.url)))
      assert.deepStrictEqual([loss.kind, loss.sent], ["certificate", false])
      assert.strictEqual(target.requests.length, 0)
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("reports that no data was sent to a closed port", () =>
    Effect.gen(function* () {
      const target = yield* server(() => startWebhook())
      yield* Effect.promise(() => target.close())
      const http = yield* OutboundHttp.make
      const loss = yield* Effect.flip(http.request(post(target.url)))
      assert.deepStrictEqual([loss.kind, loss.sent], ["unreachable", false])
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("reuses a connection, and does not repeat a request when it is reset", () =>
    Effect.gen(function* () {
      const target = yield* server(() => startBraze({ faults: [undefined, undefined, { how: "lose" }] }))
      const http = yield* OutboundHttp.make
      const request = {
        ...post(`${target.url}/messages/send`),
        headers: { authorization: `Bearer ${brazeKey}` },
        body: JSON.stringify({
          external_user_ids: ["u"],
          messages: { email: { app_id: "a", from: "f", subject: "s", body: "b", extras: { tracking_id: "t" } } },
        }),
      }
      yield* http.request(request)
      yield* http.request(request)
      assert.strictEqual(target.connections(), 1)
      const loss = yield* Effect.flip(http.request(request))
      assert.deepStrictEqual([loss.kind, loss.sent], ["broken", true])
      // Another request on a new connection would come after a second one of the lost request.
      yield* http.request(request)
      assert.strictEqual(target.arrivals.length, 4)
    }).pipe(Effect.provide(layerLoopback)))

  for (const how of ["hang", "drip"] as const) {
    it.effect(`times out after 30 seconds if the server would ${how}`, () =>
      Effect.gen(function* () {
        const target = yield* server(() => startWebhook({ faults: [{ how }] }))
        const http = yield* OutboundHttp.make
        const fiber = yield* Effect.forkChild(Effect.flip(http.request(post(target.url))))
        yield* Effect.promise(() => target.until(() => target.requests.length === 1))
        yield* TestClock.adjust("30 seconds")
        const loss = yield* Fiber.join(fiber)
        assert.deepStrictEqual([loss.kind, loss.sent], ["timeout", true])
        yield* Effect.promise(() => target.until(() => target.connections() === 0))
      }).pipe(Effect.provide(layerLoopback)))
  }

  it.effect("times out and stops reading where the request says so", () =>
    Effect.gen(function* () {
      const target = yield* server(() =>
        startWebhook({ faults: [{ how: "drip" }, { status: 500, body: "x".repeat(5_000_000) }] })
      )
      const http = yield* OutboundHttp.make
      const request = { ...post(target.url), timeout: Duration.minutes(2), maxBytes: 1_000_000 }
      const fiber = yield* Effect.forkChild(Effect.flip(http.request(request)))
      yield* Effect.promise(() => target.until(() => target.requests.length === 1))
      yield* TestClock.adjust("119 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber)).detail, "no answer within 120 seconds")
      assert.strictEqual((yield* http.request(request)).body.length, 1_000_000)
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("reads at most 64 KiB of a response", () =>
    Effect.gen(function* () {
      const target = yield* server(() => startWebhook({ faults: [{ status: 500, body: "x".repeat(5_000_000) }] }))
      const http = yield* OutboundHttp.make
      const answer = yield* http.request(post(target.url))
      assert.deepStrictEqual([answer.status, answer.body.length], [500, 65_536])
      yield* Effect.promise(() => target.until(() => target.connections() === 0))
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("closes the connection of an interrupted request", () =>
    Effect.gen(function* () {
      const target = yield* server(() => startWebhook({ faults: [{ how: "hang" }] }))
      const http = yield* OutboundHttp.make
      const fiber = yield* Effect.forkChild(http.request(post(target.url)))
      yield* Effect.promise(() => target.until(() => target.requests.length === 1))
      yield* Fiber.interrupt(fiber)
      yield* Effect.promise(() => target.until(() => target.connections() === 0))
    }).pipe(Effect.provide(layerLoopback)))

  it.effect("closes idle and busy connections when its scope closes", () =>
    Effect.gen(function* () {
      const target = yield* server(() => startWebhook({ faults: [undefined, undefined, { how: "hang" }] }))
      const scope = yield* Scope.make()
      const http = yield* Effect.provideService(OutboundHttp.make, Scope.Scope, scope)
      yield* Effect.all([http.request(post(target.url)), http.request(post(target.url))], { concurrency: 2 })
      const fiber = yield* Effect.forkChild(Effect.flip(http.request(post(target.url))))
      yield* Effect.promise(() => target.until(() => target.requests.length === 3))
      assert.isAbove(target.connections(), 0)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(fiber)).kind, "broken")
      yield* Effect.promise(() => target.until(() => target.connections() === 0))
    }).pipe(Effect.provide(layerLoopback)))
})
