import { assert, describe, it } from "@effect/vitest"
import { Effect, Latch } from "effect"
import { SqlClient } from "effect/sql"
import { connect, type Socket } from "node:net"
import { performance } from "node:perf_hooks"
import { Gate } from "../../src/api/admission/LoadGate.ts"
import { type LoadSheddingOptions, make } from "../../src/api/admission/LoadShedding.ts"
import { RequestArrival } from "../../src/api/http/RequestArrival.ts"
import { makeWatch } from "../support/platformServers/Watch.ts"
import { makeOrganization, waitUntil } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"
import { variants } from "./harness.ts"

/** A connection that sends one request after another and returns the responses. */
const connection = async (url: string) => {
  const { hostname, port } = new URL(url)
  const socket: Socket = connect(Number(port), hostname)
  let received = ""
  const { changed, until } = makeWatch()
  socket.setEncoding("latin1").on("data", (text) => {
    received += String(text)
    changed()
  }).on("error", () => {})
  await new Promise((resolve) => socket.once("connect", resolve))
  const send = (head: string, body = "") => {
    received = ""
    socket.write(`${head}Host: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  }
  const answer = async () => {
    let answered: { status: number; headers: string; body: string } | undefined
    await until(() => {
      const end = received.indexOf("\r\n\r\n")
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(received)?.[1])
      if (end === -1 || received.length < end + 4 + length) return false
      assert.strictEqual(received.length, end + 4 + length, "one answer and no more")
      answered = {
        status: Number(received.slice(9, 12)),
        headers: received.slice(0, end),
        body: received.slice(end + 4),
      }
      return true
    })
    return answered!
  }
  return {
    socket,
    close: () => socket.destroy(),
    send,
    answer,
    ask: (head: string, body: string) => {
      send(head, body)
      return answer()
    },
  }
}

/** As many as may be in work. */
const limit = 32

/** A request over a connection that the test can end. */
const requestTo = (path: string, headers: Record<string, string> = {}) => {
  const client = new AbortController()
  const request = new Request(`http://x${path}`, { method: "POST", headers, signal: client.signal })
  return { arrival: new RequestArrival(request, "127.0.0.1", Infinity), disconnect: () => client.abort() }
}

/** A gate whose requests are answered when the test says so. */
const gated = (options: LoadSheddingOptions = {}) => {
  const gate = new Gate(limit)
  const admit = make(gate, options)
  /** Paths in the order in which they came into work. */
  const seen: Array<string> = []
  const inWork: Array<() => void> = []
  const { changed, until } = makeWatch()
  const serve = ({ url }: RequestArrival) => {
    seen.push(url)
    const response = new Promise<Response>((resolve) => inWork.push(() => resolve(new Response("ok"))))
    changed()
    return response
  }
  const ask = (path: string, headers?: Record<string, string>) => {
    const { arrival, disconnect } = requestTo(path, headers)
    return { arrival, disconnect, response: admit(arrival, serve) }
  }
  return {
    gate,
    seen,
    ask,
    admit,
    askAll: (paths: ReadonlyArray<string>) => paths.map((path) => ask(path)),
    untilInWork: (path: string) => until(() => seen.includes(path)),
    /** Answers the oldest request in work. */
    answerOne: async () => {
      await until(() => inWork.length > 0)
      inWork.shift()!()
    },
  }
}

const named = (kind: string, count: number) => Array.from({ length: count }, (_, i) => `/api/${kind}/${i}`)

const noneShed = { api: 0, webhook: 0, tracking: 0, management: 0, health: 0 }

describe("requests without a key", () => {
  it("yield to API calls once they have used their share of the processor", async () => {
    const seen: Array<string> = []
    const admit = make(new Gate(limit))
    const responses = ["/x", "/y", "/api/generate/acme"].map((path) =>
      admit(requestTo(path).arrival, ({ url }) => {
        seen.push(url)
        const until = performance.now() + (url === "/x" ? 100 : 0)
        while (performance.now() < until);
        return new Response("ok")
      })
    )
    for (const response of responses) assert.strictEqual((await response).status, 200)
    assert.deepStrictEqual(seen, ["/x", "/api/generate/acme", "/y"])
  })
})

describe("a gate", () => {
  it("admits waiting requests of each kind in order of arrival", async () => {
    const { answerOne, askAll, gate, seen } = gated({ waitMillis: Infinity })
    const most = [...named("generate", limit), ...named("webhook", limit / 2)]
    askAll([...most, ...Array.from({ length: limit / 2 }, (_, i) => `/console/api/${i}`)])
    assert.strictEqual(gate.inFlight, limit * 2, "there is room for nothing")
    const late = ["/api/generate/a", "/api/webhook/b", "/api/generate/c", "/console/d"]
    askAll(late)
    assert.strictEqual(gate.waiting, late.length)
    assert.strictEqual(seen.length, limit * 2)
    while (seen.length < limit * 2 + late.length) await answerOne()
    const api = (path: string) => path.startsWith("/api/generate/")
    assert.deepStrictEqual(seen.slice(limit * 2).filter(api), late.filter(api))
    assert.sameMembers(seen.slice(limit * 2), late)
    assert.strictEqual(gate.waiting, 0)
    assert.deepStrictEqual(gate.shed, noneShed)
  })

  it("always admits health checks", () => {
    const { askAll, gate } = gated({ waitMillis: Infinity })
    askAll([...named("generate", limit), "/healthz", "/readyz?accept=memory"])
    assert.strictEqual(gate.inFlight, limit + 2)
    assert.strictEqual(gate.waiting, 0)
  })

  it("refuses requests that have waited too long", async () => {
    const logged: Array<number> = []
    const { answerOne, ask, askAll, gate, seen } = gated({
      waitMillis: 0,
      logAccess: ({ status }) => void logged.push(status),
    })
    askAll(named("generate", limit))
    const refused = await ask("/api/generate/late", { "x-request-id": "mine" }).response
    assert.strictEqual(refused.status, 503)
    assert.match(refused.headers.get("content-type")!, /^application\/problem\+json/)
    assert.match(refused.headers.get("retry-after")!, /^[1-5]$/)
    assert.strictEqual(refused.headers.get("x-request-id"), "mine")
    assert.deepInclude(await refused.json(), { type: "/problems/unavailable", status: 503 })
    assert.deepStrictEqual(gate.shed, { ...noneShed, api: 1 })
    assert.deepStrictEqual(logged, [503])
    assert.notInclude(seen, "/api/generate/late")
    await answerOne()
    await waitUntil("there is room", () => gate.inFlight < limit)
    ask("/api/generate/again")
    assert.include(seen, "/api/generate/again")
  })

  it("forgets clients that disconnect before their admission", async () => {
    const { answerOne, ask, askAll, gate, seen, untilInWork } = gated({ waitMillis: Infinity })
    askAll(named("generate", limit))
    const gone = ask("/api/generate/gone")
    ask("/api/generate/stays")
    assert.strictEqual(gate.waiting, 2)
    gone.disconnect()
    assert.strictEqual(gate.waiting, 1)
    await answerOne()
    await untilInWork("/api/generate/stays")
    assert.notInclude(seen, "/api/generate/gone")
    assert.deepStrictEqual(gate.shed, noneShed)
  })

  it("does not count requests whose body is still arriving", () => {
    const { ask, askAll, gate } = gated({ waitMillis: Infinity })
    for (const { arrival } of askAll(named("slow", limit))) arrival.isArriving = true
    ask("/api/generate/other")
    assert.strictEqual(gate.inFlight, 1)
    assert.strictEqual(gate.waiting, 0)
  })

  it("limits the memory of waiting requests", () => {
    const { askAll, gate } = gated({ waitMillis: Infinity })
    const most = 64 * 1024 / 8
    askAll(named("generate", limit + most + 5))
    assert.strictEqual(gate.waiting, most)
    assert.strictEqual(gate.shed.api, 5)
  })
})

describe("an overloaded service", () => {
  it.live(
    "refuses excess requests with a problem, answers all health checks, and serves all admitted requests",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const most = 32
        // The store only waits for the test, and is not to be taken for one that is down.
        const { run, service } = yield* startWith({ MAX_IN_FLIGHT: String(most), STORE_TIMEOUT: "60 seconds" })
        yield* Effect.promise(async () => {
          const key = await makeOrganization(service, "full")
          await service.manage("POST", "/organizations/full/templates", { id: "t", name: "T", variants: variants("a") })
          const ask = { template_id: "t" }
          assert.strictEqual((await service.generate("full", key, ask)).status, 200)

          const held = Latch.makeUnsafe(false)
          const locked = Latch.makeUnsafe(false)
          const holding = run(Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            yield* sql.withTransaction(
              // The server would end it after 8 seconds.
              sql`SET LOCAL idle_in_transaction_session_timeout = 0`.pipe(
                Effect.andThen(sql`LOCK TABLE decisions IN ACCESS EXCLUSIVE MODE`),
                Effect.andThen(locked.open),
                Effect.andThen(held.await),
              ),
            )
          }))
          await Effect.runPromise(locked.await)
          const metric = async (name: string) => {
            const text = await (await service.request("/metrics")).text()
            return Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1] ?? NaN)
          }
          const shed = 'parlance_shed_requests_total\\{kind="api"\\}'
          // Metrics cover the whole process.
          const before = await metric(shed)
          const taken = Array.from({ length: most }, () => service.generate("full", key, ask))
          await waitUntil("all of them are in work", async () => (await metric("parlance_in_flight_requests")) > most)

          const head = `POST /api/generate/full HTTP/1.1\r\nX-Api-Key: ${key}\r\nX-Request-Id: mine\r\n`
          const line = await connection(service.url)
          for (let i = 0; i < 4; i++) {
            const refused = await line.ask(head, JSON.stringify(ask))
            assert.strictEqual(refused.status, 503)
            assert.match(refused.headers, /\r\ncontent-type: application\/problem\+json/i)
            assert.match(refused.headers, /\r\nretry-after: [1-5](\r|$)/i)
            assert.match(refused.headers, /\r\nx-request-id: mine(\r|$)/i)
            assert.deepInclude(JSON.parse(refused.body), { type: "/problems/unavailable", status: 503 })
          }
          assert.strictEqual((await service.generate("full", key, ask)).status, 503)
          assert.strictEqual((await service.request("/healthz")).status, 200)
          assert.strictEqual((await service.request("/openapi.json")).status, 200)
          assert.strictEqual((await service.request("/api/webhook/events/full", { method: "POST" })).status, 401)

          await Effect.runPromise(held.open)
          await holding
          for (const { status } of await Promise.all(taken)) assert.strictEqual(status, 200)
          // All connections, including this one, are served again.
          for (let i = 0; i < 3; i++) assert.strictEqual((await line.ask(head, JSON.stringify(ask))).status, 200)
          line.close()
          assert.strictEqual((await service.generate("full", key, ask)).status, 200)
          await waitUntil("nothing is in work", async () => (await metric("parlance_in_flight_requests")) === 1)
          assert.strictEqual(await metric(shed), before + 5)
        })
      })),
    180_000,
  )

  it.live("does not count requests whose body never arrives", () =>
    Effect.scoped(Effect.gen(function* () {
      const { service } = yield* startWith({ MAX_IN_FLIGHT: "32" })
      yield* Effect.promise(async () => {
        const key = await makeOrganization(service, "slow")
        const { hostname, port } = new URL(service.url)
        const slow = await Promise.all(
          Array.from({ length: 100 }, () =>
            new Promise<Socket>((resolve) => {
              const socket = connect(Number(port), hostname, () => {
                socket.write("POST /api/generate/slow HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
                resolve(socket)
              })
              socket.on("error", () => {})
            })),
        )
        let inARow = 0
        await waitUntil("requests are served beside them", async () => {
          const { status } = await service.generate("slow", key, { template_id: "nope" })
          inARow = status === 404 ? inARow + 1 : 0
          return inARow === 5
        })
        for (const socket of slow) {
          socket.destroy()
        }
      })
    })), 180_000)
})
