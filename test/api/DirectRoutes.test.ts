import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric, Random, type Scope } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { DirectRoutes } from "../../src/api/server/DirectRoutes.ts"
import { Gate } from "../../src/api/admission/LoadGate.ts"
import { install } from "../../src/api/admission/LoadShedding.ts"
import { isTraced, TraceShare } from "../../src/telemetry/Tracing.ts"

const traceparent = (flags: string) => `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-${flags}`

/** A server behind a gate with direct routes. All other requests are answered with `routed`. */
const serving = Effect.gen(function* () {
  const { respond } = yield* DirectRoutes
  const gate = new Gate(32)
  const traced: Array<boolean> = []
  const share = yield* TraceShare
  const random = yield* Random.Random
  const server = createServer((request, response) => {
    if (share !== undefined) traced.push(isTraced(request, {}, share, random))
    request.resume().on("end", () => response.end("routed"))
  })
  install(server, gate, { respond })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      }),
  )
  const { port } = server.address() as AddressInfo
  const ask = (path: string, init: RequestInit = {}) =>
    Effect.promise(async () => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { ...init, redirect: "manual" })
      return { status: response.status, headers: response.headers, body: await response.text() }
    })
  return { ask, gate, traced }
})

const layerOf = (share: number | undefined) =>
  DirectRoutes.layer.pipe(Layer.provideMerge(Layer.succeed(TraceShare, share)))

const test = (name: string, share: number | undefined, body: Effect.Effect<void, never, DirectRoutes | Scope.Scope>) =>
  it.live(name, () => body.pipe(Effect.scoped, Effect.provide(layerOf(share))))

/** Requests of one kind of route and status that were counted. */
const counted = (status: string) =>
  Effect.map(
    Metric.snapshot,
    (all) =>
      all.flatMap((one) =>
        one.id === "parlance_http_requests_total" && one.type === "Counter" &&
          one.attributes?.["route"] === "tracking" && one.attributes["status"] === status
          ? [Number(one.state.count)]
          : []
      )[0] ?? 0,
  )

describe("A direct route", () => {
  test(
    "answers known targets with a request id and metrics, and frees its slot in the gate",
    undefined,
    Effect.gen(function* () {
      const { ask, gate } = yield* serving
      const { add } = yield* DirectRoutes
      yield* add(
        "/c/",
        (path) =>
          path === "/c/known"
            ? { status: 302, headers: { location: "https://shop.example/", "content-length": "0" } }
            : undefined,
      )
      yield* add(
        "/o/",
        () => ({ status: 200, headers: { "content-length": "3" }, body: Uint8Array.of(71, 73, 70) }),
      )
      const before = yield* counted("302")
      const known = yield* ask("/c/known", { headers: { "x-request-id": "mine" } })
      assert.deepStrictEqual(
        [
          known.status,
          known.body,
          ...["location", "content-length", "x-request-id"].map((name) => known.headers.get(name)),
        ],
        [302, "", "https://shop.example/", "0", "mine"],
      )
      assert.strictEqual((yield* counted("302")) - before, 1)
      const pixel = yield* ask("/o/any")
      assert.deepStrictEqual([pixel.status, pixel.body, pixel.headers.get("content-length")], [200, "GIF", "3"])
      assert.match(pixel.headers.get("x-request-id")!, /^[0-9a-f-]{36}$/)
      assert.strictEqual((yield* ask("/c/other")).body, "routed")
      assert.strictEqual((yield* ask("/u/any")).body, "routed")
      assert.strictEqual(gate.inFlight, 0)
    }),
  )

  test(
    "leaves other methods and requests with a body to the router, and everything once its scope is closed",
    undefined,
    Effect.gen(function* () {
      const { ask } = yield* serving
      const { add } = yield* DirectRoutes
      yield* Effect.scoped(Effect.gen(function* () {
        yield* add("/c/", () => ({ status: 302, headers: { location: "https://shop.example/" } }))
        assert.strictEqual((yield* ask("/c/known")).status, 302)
        assert.strictEqual((yield* ask("/c/known", { method: "POST", body: "x" })).body, "routed")
        assert.strictEqual((yield* ask("/c/known", { method: "HEAD" })).status, 200)
      }))
      assert.strictEqual((yield* ask("/c/known")).body, "routed")
    }),
  )

  test(
    "leaves traced requests to the router, which decides the same",
    0.5,
    Effect.gen(function* () {
      const { ask, traced } = yield* serving
      const { add } = yield* DirectRoutes
      yield* add("/c/", (path) => path === "/c/known" ? { status: 302, headers: {} } : undefined)
      assert.strictEqual((yield* ask("/c/known", { headers: { traceparent: traceparent("01") } })).body, "routed")
      assert.strictEqual((yield* ask("/c/known", { headers: { traceparent: traceparent("00") } })).status, 302)
      yield* ask("/c/other", { headers: { traceparent: traceparent("00") } })
      // The server's listener did not parse the caller's headers, so only the direct route can know them.
      assert.deepStrictEqual(traced, [true, false])
      let direct = 0
      for (let i = 0; i < 64; i++) direct += (yield* ask("/c/known")).status === 302 ? 1 : 0
      assert.strictEqual(traced.length, 2 + 64 - direct)
      assert.isTrue(traced.slice(2).every((one) => one))
      assert.isTrue(direct > 0 && direct < 64)
    }),
  )
})
