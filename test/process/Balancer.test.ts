import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http"
import { describe } from "vitest"
import { hasHaproxy, scopedHaproxy } from "../support/haproxy.ts"
import { makeOrganization, scopedProcess, waitUntil } from "../support/service.ts"
import { type Environment, temporaryEnvironment } from "../support/stores.ts"
import { decisionsIn, makeTemplate, scopedLoad, targetAt, terminate } from "./support.ts"

const canRun = hasHaproxy("the load balancer")

/** A server in a node's place that records its requests, on a port that can be freed. */
const scopedReceiver = (answer: (request: IncomingMessage, response: ServerResponse) => void) =>
  Effect.gen(function* () {
    const server = createServer((request, response) => {
      // Always ready, even if other requests fail.
      if (request.url!.startsWith("/readyz") || request.url === "/healthz") return void response.end()
      answer(request, response)
    })
    const close = () =>
      new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      })
    yield* Effect.acquireRelease(
      Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
      () => Effect.promise(close),
    )
    const address = server.address()
    if (typeof address !== "object" || address === null) return yield* Effect.die("no port")
    return { url: `http://127.0.0.1:${address.port}`, close }
  })

/** A POST over a connection of its own. */
const post = (url: string, headers: Record<string, string> = {}) =>
  new Promise<{ status: number; headers: IncomingHttpHeaders; body: string }>((resolve, reject) => {
    const sent = request(url, {
      method: "POST",
      agent: false,
      headers: { "content-type": "application/json", "content-length": "2", ...headers },
    }, (response) => {
      let body = ""
      response.setEncoding("utf8").on("data", (chunk: string) => body += chunk)
      response.on("end", () => resolve({ status: response.statusCode!, headers: response.headers, body }))
    })
    sent.on("error", reject).end("{}")
  })

describe.runIf(canRun)("the configuration of the load balancer", () => {
  it.live("forwards the client's address, keeps monitoring paths private, and logs no client data", () =>
    Effect.scoped(Effect.gen(function* () {
      const seen: Array<IncomingHttpHeaders> = []
      const node = yield* scopedReceiver((request, response) => {
        seen.push(request.headers)
        response.setHeader("x-request-id", "an-id").writeHead(500).end()
      })
      const balancer = yield* scopedHaproxy([node.url])
      yield* Effect.promise(async () => {
        await post(`${balancer.url}/api/generate/acme?user_id=ann`, { "x-forwarded-for": "192.0.2.7" })
        assert.strictEqual(seen[0]!["x-forwarded-for"], "192.0.2.7, 127.0.0.1")
        assert.strictEqual(seen[0]!["x-forwarded-proto"], "http")
        assert.strictEqual((await fetch(`${balancer.url}/metrics`)).status, 404)
        for (const path of ["/%6detrics", "/metric%73?x", "/metrics;x", "/%6Detrics;x=1?y", "/metrics%3bx"]) {
          assert.strictEqual((await fetch(balancer.url + path)).status, 404, path)
        }
        assert.strictEqual(seen.length, 1)
        await balancer.printed(() => balancer.output().includes("id=an-id"))
      })
      assert.notMatch(balancer.output(), /ann|acme|192\.0\.2\.7/)
    })))

  it.live("retries requests that reached no node on another node, but not requests that were already sent", () =>
    Effect.scoped(Effect.gen(function* () {
      let arrived = 0
      const cutting = yield* scopedReceiver((request) => {
        arrived++
        request.socket.destroy()
      })
      const alsoCutting = yield* scopedReceiver((request) => {
        arrived++
        request.socket.destroy()
      })
      const balancer = yield* scopedHaproxy([cutting.url, alsoCutting.url])
      yield* Effect.promise(async () => {
        const answer = await post(`${balancer.url}/api/deliver/acme`)
        assert.strictEqual(answer.status, 502)
        assert.strictEqual(JSON.parse(answer.body).status, 502)
        assert.strictEqual(arrived, 1)
      })

      const gone = yield* scopedReceiver((_, response) => void response.end("gone"))
      const there = yield* scopedReceiver((_, response) => void response.end("there"))
      const other = yield* scopedHaproxy([gone.url, there.url])
      yield* Effect.promise(async () => {
        await gone.close()
        // At once, before the balancer can have found out by its checks.
        const answers = await Promise.all(
          Array.from({ length: 6 }, async () => (await post(`${other.url}/api/deliver/acme`)).body),
        )
        assert.deepStrictEqual(new Set(answers), new Set(["there"]))
        await there.close()
        await waitUntil("it says that there is no node", async () => {
          const answer = await post(`${other.url}/api/deliver/acme`)
          return answer.status === 503 && JSON.parse(answer.body).status === 503 &&
            answer.headers["retry-after"] === "2"
        })
      })
    })))
})

describe.runIf(canRun)("nodes behind the load balancer", () => {
  it.live(
    "stop without a failed request, and lose at most the requests in progress when killed",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const env: Environment = { ...yield* temporaryEnvironment, SHUTDOWN_DELAY: "5 seconds" }
        const ending = yield* scopedProcess(env)
        const key = yield* Effect.promise(async () => {
          const key = await makeOrganization(ending, "acme", ["generate"])
          await makeTemplate(ending, "acme", "offer")
          return key
        })
        const [killed, lasting] = yield* Effect.all([scopedProcess(env), scopedProcess(env)], { concurrency: 2 })
        const balancer = yield* scopedHaproxy([ending.url, killed.url, lasting.url])
        const clients = 4
        const load = yield* scopedLoad("balanced", clients, { pauseMillis: 5 })
        load.aim({ ...targetAt(ending, key), url: balancer.url })
        const going = Effect.promise(() => {
          const before = load.calls.length
          return load.until(() => load.calls.length > before + 50)
        })
        const failed = () => load.calls.filter(({ status }) => status !== 200)

        yield* going
        assert.deepStrictEqual(yield* Effect.promise(() => terminate(ending)), { code: 0, signal: null })
        yield* going
        assert.deepStrictEqual(failed(), [])
        killed.kill("SIGKILL")
        yield* Effect.promise(() => killed.ended)
        yield* going
        const lost = failed()
        // Each client has at most one request under way, and all later requests go to the remaining node.
        assert.isAtMost(lost.length, clients, JSON.stringify(lost))
        yield* Effect.promise(load.stop)
        assert.strictEqual(failed().length, lost.length)

        const decisions = yield* decisionsIn(env)
        const answered = load.calls.filter(({ status }) => status === 200)
        assert.deepStrictEqual(answered.filter(({ trackingId }) => !decisions.has(trackingId)), [])
        console.info(
          `Load balancer: ${load.calls.length} calls; none failed when a node ended, ${lost.length} when one was killed`,
        )
      })),
    480_000,
  )
})
