import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { connect } from "node:net"
import { adminToken, waitUntil } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"

describe("metrics and readiness", () => {
  it.live("query the store once for concurrent requests, also if they do not wait for it", () =>
    Effect.scoped(Effect.gen(function* () {
      const { run, service } = yield* startWith()
      const look = (path: string, signal: AbortSignal) =>
        Array.from({ length: 20 }, () =>
          service.request(path, { signal }).then(async (answer) => {
            await answer.body?.cancel()
            return answer.status
          }, () => 0))
      const seen = yield* Effect.promise(() =>
        run(Effect.flatMap(SqlClient.SqlClient, (sql) =>
          sql.withTransaction(Effect.gen(function* () {
            yield* sql`LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE`
            const waiting = Effect.map(
              sql<{ n: number }>`
                SELECT count(*)::int AS n FROM pg_locks l WHERE l.relation = 'inbox'::regclass AND NOT l.granted`,
              ([row]) => row!.n,
            )
            const hasty = new AbortController()
            const gone = look("/metrics", hasty.signal)
            while ((yield* waiting) === 0);
            hasty.abort()
            yield* Effect.promise(() => Promise.all(gone))
            let answers: ReadonlyArray<number> | undefined
            const patient = new AbortController().signal
            void Promise.all([...look("/metrics", patient), ...look("/readyz", patient)])
              .then((statuses) => answers = statuses)
            let most = 0
            while (answers === undefined) most = Math.max(most, yield* waiting)
            return { answers, most }
          }))))
      )
      // The one that takes too long may still be going as the next is asked.
      assert.isAtMost(seen.most, 2)
      assert.deepStrictEqual(new Set(seen.answers), new Set([200]))
      yield* Effect.promise(() =>
        waitUntil(
          "the store is asked again",
          async () => /^parlance_inbox_pending 0$/m.test(await (await service.request("/metrics")).text()),
        )
      )
    })))
})

/** The status of a request whose path is sent unchanged. `fetch` would normalize the path. */
const statusOf = (url: string, path: string) =>
  new Promise<number>((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    let text = ""
    socket.setEncoding("latin1").on("data", (chunk) => text += String(chunk)).on("error", reject)
      .on("close", () => resolve(Number(text.slice(9, 12))))
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  })

describe("responses of the service", () => {
  const health = { "x-content-type-options": "nosniff", "cache-control": "no-store" }
  const headersOf = (headers: Headers, names: ReadonlyArray<string>) =>
    Object.fromEntries(names.map((name) => [name, headers.get(name)]))

  it.live("include metrics only under the literal path that a load balancer closes", () =>
    Effect.scoped(Effect.gen(function* () {
      const { service } = yield* startWith()
      yield* Effect.promise(async () => {
        for (const path of ["/metrics", "/metrics?x=1", "http://x/metrics"]) {
          assert.strictEqual(await statusOf(service.url, path), 200, path)
        }
        for (
          const path of ["/%6detrics", "/metric%73", "/metrics;x", "/metrics#x", "/metrics/", "http://x/%6Detrics"]
        ) {
          assert.strictEqual(await statusOf(service.url, path), 404, path)
        }
      })
    })))

  it.live("forbid browsers to cache and to guess types, and require HTTPS if the public address uses it", () =>
    Effect.scoped(Effect.gen(function* () {
      const { service } = yield* startWith({ PUBLIC_URL: "https://words.example.com" })
      const plain = yield* startWith()
      yield* Effect.promise(async () => {
        const get = async (path: string, init?: RequestInit) => {
          const response = await service.request(path, init)
          await response.text()
          return response
        }
        const managed = { headers: { authorization: `Bearer ${adminToken}` } }
        for (
          const [path, init, status] of [
            ["/console/api/organizations", managed, 200],
            ["/console/api/organizations/none", managed, 404],
            ["/console/api/organizations", {}, 401],
            ["/healthz", {}, 200],
            ["/metrics", {}, 200],
            ["/console/sign-in", {}, 200],
            ["/nothing", {}, 404],
          ] as const
        ) {
          const { headers, status: answered } = await get(path, init)
          assert.strictEqual(answered, status, path)
          assert.deepStrictEqual(headersOf(headers, Object.keys(health)), health, path)
          assert.strictEqual(headers.get("strict-transport-security"), "max-age=31536000", path)
        }
        const openapi = await get("/openapi.json", { headers: { "accept-encoding": "gzip" } })
        assert.deepInclude(
          headersOf(openapi.headers, ["cache-control", "vary", "strict-transport-security", "x-content-type-options"]),
          {
            "cache-control": "no-cache",
            "vary": "accept-encoding",
            "strict-transport-security": "max-age=31536000",
            "x-content-type-options": "nosniff",
          },
        )
        const again = await get("/openapi.json", { headers: { "if-none-match": openapi.headers.get("etag")! } })
        assert.strictEqual(again.status, 304)
        const response = await plain.service.request("/healthz")
        await response.text()
        assert.isNull(response.headers.get("strict-transport-security"))
      })
    })))
})
