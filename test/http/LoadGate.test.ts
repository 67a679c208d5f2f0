import { assert, describe, it } from "@effect/vitest"
import { Effect, Latch } from "effect"
import { SqlClient } from "effect/sql"
import { Buffer } from "node:buffer"
import { connect, type Socket } from "node:net"
import { Gate, kindOf, lateMillis, lookMillis } from "../../src/http/LoadGate.ts"
import { wholeOf } from "../../src/http/LoadShedding.ts"
import { makeOrganization, waitUntil } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"
import { describeOnStores } from "../support/stores.ts"
import { variants } from "./harness.ts"

const enter = (gate: Gate, kind: "api" | "webhook" | "management" | "health", times: number) => {
  let entered = 0
  for (let i = 0; i < times; i++) if (gate.enter(kind)) entered++
  return entered
}

describe("Gate", () => {
  it("lets so much in and no more, keeps room for webhooks and for management, and never refuses health", () => {
    const gate = new Gate(100)
    assert.strictEqual(enter(gate, "api", 150), 100)
    assert.strictEqual(enter(gate, "webhook", 150), 25)
    assert.strictEqual(enter(gate, "management", 150), 25)
    assert.strictEqual(enter(gate, "health", 10), 10)
    assert.deepStrictEqual(gate.shed, { api: 50, webhook: 125, management: 125, health: 0 })
    for (let i = 0; i < 160; i++) gate.leave()
    assert.strictEqual(enter(gate, "api", 150), 100)
  })

  it("lowers its limit to what is answered in 100 ms while the event loop stays late, and raises it afterwards", () => {
    const gate = new Gate(1000)
    const turn = (late: number, answers: number) => {
      enter(gate, "api", 2000)
      for (let i = 0; i < answers; i++) gate.leave()
      gate.look(late, late + lookMillis)
    }
    // 500 answers in each turn of 125 ms: 4,000 a second.
    turn(100, 500)
    assert.strictEqual(gate.limit, 1000, "one late look alone means nothing")
    turn(100, 500)
    assert.strictEqual(gate.limit, 400)
    for (let i = 0; i < 20; i++) turn(100, 1)
    assert.strictEqual(gate.limit, 256, "fewer would leave each turn of the loop to refusals")
    const before = gate.limit
    turn(lateMillis, 10)
    assert.strictEqual(gate.limit, before, "it does not rise on the edge")
    for (let i = 0; i < 30; i++) turn(1, 100)
    assert.strictEqual(gate.limit, 1000)
  })

  it("keeps its limit while only the store is slow", () => {
    const gate = new Gate(1000)
    enter(gate, "api", 2000)
    for (let i = 0; i < 100; i++) gate.look(2, lookMillis + 2)
    assert.strictEqual(gate.limit, 1000)
  })

  it("tells requests apart by their path", () => {
    const kinds = [
      "/api/generate/a",
      "/api/webhook/events/a",
      "/console/api/organizations",
      "/healthz",
      "/readyz?x",
      "/",
    ]
    assert.deepStrictEqual(kinds.map(kindOf), ["api", "webhook", "management", "health", "health", "management"])
  })
})

describe("A piece of a connection", () => {
  const piece = (headers: string, body = "") =>
    Buffer.from(`POST /api/generate/a HTTP/1.1\r\nHost: x\r\n${headers}\r\n${body}`)

  it("is known to be one whole request only when nothing else can be meant", () => {
    const whole = { kind: "api", requestId: undefined }
    assert.deepStrictEqual(wholeOf(piece("Content-Length: 2\r\n", "{}")), whole as never)
    assert.deepStrictEqual(wholeOf(piece("")), whole as never)
    assert.deepStrictEqual(wholeOf(piece("content-length:2\r\nConnection: keep-alive\r\n", "{}")), whole as never)
    assert.deepStrictEqual(wholeOf(piece("X-Request-Id: r1\r\n")), { kind: "api", requestId: "r1" })
    for (
      const other of [
        piece("Content-Length: 3\r\n", "{}"),
        piece("Content-Length: 1\r\n", "{}"),
        piece("Content-Length: 2\r\nContent-Length: 2\r\n", "{}"),
        piece("Content-Length: +2\r\n", "{}"),
        piece("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        piece("Connection: close\r\n"),
        piece("Expect: 100-continue\r\nContent-Length: 2\r\n", "{}"),
        piece("Upgrade: websocket\r\n"),
        piece("X-Other: 1\nContent-Length: 2\r\n", "{}"),
        piece("X-Other: 1\r\n Content-Length: 2\r\n", "{}"),
        piece("Content-Length : 3\r\n", "{}"),
        Buffer.from("GET  /api/generate/a HTTP/1.1\r\n\r\n"),
        Buffer.from("get /api/generate/a HTTP/1.1\r\n\r\n"),
        Buffer.from("POST /api/generate/a HTTP/1.0\r\n\r\n"),
        Buffer.from("POST /api/generate/a HTTP/1.1\r\nHost: x\r\n"),
        Buffer.concat([piece(""), piece("")]),
      ]
    ) assert.isUndefined(wholeOf(other), other.toString())
  })
})

/** A connection that asks for one thing after another, and answers what came back. */
const connection = async (url: string) => {
  const { hostname, port } = new URL(url)
  const socket: Socket = connect(Number(port), hostname)
  let received = ""
  socket.setEncoding("latin1").on("data", (text) => received += String(text))
  await new Promise((resolve) => socket.once("connect", resolve))
  return {
    close: () => socket.destroy(),
    ask: async (head: string, body: string) => {
      received = ""
      socket.write(`${head}Host: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      let answer: { status: number; headers: string; body: string } | undefined
      await waitUntil("the answer is there", () => {
        const end = received.indexOf("\r\n\r\n")
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(received)?.[1])
        if (end === -1 || received.length < end + 4 + length) return false
        assert.strictEqual(received.length, end + 4 + length, "one answer and no more")
        answer = {
          status: Number(received.slice(9, 12)),
          headers: received.slice(0, end),
          body: received.slice(end + 4),
        }
        return true
      })
      return answer!
    },
  }
}

describeOnStores("A service with too much to do", (store) => {
  it.live(
    "refuses more of it with a problem, keeps answering what must be, and serves all it took",
    () =>
      Effect.scoped(Effect.gen(function* () {
        const most = 32
        // The store only waits for the test, and is not to be taken for one that is down.
        const { run, service } = yield* startWith(store, { MAX_IN_FLIGHT: String(most), STORE_TIMEOUT: "60 seconds" })
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
              sql`LOCK TABLE decisions IN ACCESS EXCLUSIVE MODE`.pipe(
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
          // Metrics are those of the whole process.
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
          // The same connection, and others, are served again.
          for (let i = 0; i < 3; i++) assert.strictEqual((await line.ask(head, JSON.stringify(ask))).status, 200)
          line.close()
          assert.strictEqual((await service.generate("full", key, ask)).status, 200)
          await waitUntil("nothing is in work", async () => (await metric("parlance_in_flight_requests")) === 1)
          assert.strictEqual(await metric(shed), before + 5)
        })
      })),
    180_000,
  )

  it.live("counts no request whose body does not arrive", () =>
    Effect.scoped(Effect.gen(function* () {
      const { service } = yield* startWith(store, { MAX_IN_FLIGHT: "32" })
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
          const { status } = await service.generate("slow", key, { template_id: "none" })
          inARow = status === 404 ? inARow + 1 : 0
          return inARow === 5
        })
        for (const socket of slow) {
          socket.destroy()
        }
      })
    })), 180_000)
})
