import { assert, describe, it } from "@effect/vitest"
import { Effect, Latch } from "effect"
import { SqlClient } from "effect/sql"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { performance } from "node:perf_hooks"
import { Gate } from "../../src/api/admission/LoadGate.ts"
import { install } from "../../src/api/admission/LoadShedding.ts"
import { makeOrganization, waitUntil } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"
import { variants } from "./harness.ts"

/** A connection that sends one request after another and returns the responses. */
const connection = async (url: string) => {
  const { hostname, port } = new URL(url)
  const socket: Socket = connect(Number(port), hostname)
  let received = ""
  socket.setEncoding("latin1").on("data", (text) => received += String(text)).on("error", () => {})
  await new Promise((resolve) => socket.once("connect", resolve))
  const send = (head: string, body = "") => {
    received = ""
    socket.write(`${head}Host: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  }
  const answer = async () => {
    let answered: { status: number; headers: string; body: string } | undefined
    await waitUntil("the answer is there", () => {
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

type Line = Awaited<ReturnType<typeof connection>>

/** As many as may be in work on the server below. */
const limit = 32

/** A server behind a gate. It answers its requests when the test tells it to. */
const gated = async (longest: { readonly waitMillis: number; readonly restMillis: number }) => {
  const gate = new Gate(limit)
  const inWork: Array<{ readonly path: string; readonly response: ServerResponse }> = []
  /** Paths in the order in which they came into work. */
  const seen: Array<string> = []
  const take = (request: IncomingMessage, response: ServerResponse) => {
    request.resume()
    seen.push(request.url!)
    inWork.push({ path: request.url!, response })
  }
  const server = createServer(take)
  // Continue requests with `Expect: 100-continue`, as the service does.
  server.on("checkContinue", (request, response) => {
    response.writeContinue()
    take(request, response)
  })
  install(server, gate, longest)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const lines: Array<Line> = []
  const open = async () => {
    const line = await connection(url)
    lines.push(line)
    return line
  }
  return {
    gate,
    inWork,
    seen,
    open,
    /** Asks for each of `paths` over a connection of its own. */
    ask: (paths: ReadonlyArray<string>) =>
      Promise.all(paths.map(async (path) => {
        const line = await open()
        line.send(`POST ${path} HTTP/1.1\r\n`)
        return line
      })),
    /** Answers the oldest request in work. */
    answerOne: async () => {
      await waitUntil("something is in work", () => inWork.length > 0)
      const { path, response } = inWork.shift()!
      await new Promise<void>((resolve) => {
        response.on("close", resolve)
        response.setHeader("Content-Length", "2")
        response.end("ok")
      })
      return path
    },
    [Symbol.asyncDispose]: async () => {
      for (const line of lines) line.close()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const named = (kind: string, count: number) => Array.from({ length: count }, (_, i) => `/api/${kind}/${i}`)
/** Fills a server, and lets three times as many wait; answers the connection of the first that is in work. */
const crowded = async ({ ask, gate }: Awaited<ReturnType<typeof gated>>): Promise<Line> => {
  const [first] = await ask(named("generate", 1))
  await waitUntil("the first is in work", () => gate.inFlight === 1)
  await ask(named("work", limit - 1))
  await waitUntil("it is full", () => gate.inFlight === limit)
  await ask(named("waiting", limit * 3))
  await waitUntil("three times as many wait", () => gate.waiting === limit * 3)
  return first!
}

const forever = { waitMillis: Infinity, restMillis: Infinity }

describe("Requests of strangers", () => {
  const serving = async (listener: (request: IncomingMessage, response: ServerResponse) => void) => {
    const server = createServer(listener)
    install(server, new Gate(limit))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      close: async () => {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      },
    }
  }

  it("let a call of the API go first once they have used their share of the processor", async () => {
    const seen: Array<string> = []
    const server = await serving((request, response) => {
      seen.push(request.url!)
      const until = performance.now() + (request.url === "/x" ? 100 : 0)
      while (performance.now() < until);
      response.end("ok")
    })
    const [x, y, api] = await Promise.all([connection(server.url), connection(server.url), connection(server.url)])
    x.send("GET /x HTTP/1.1\r\n")
    y.send("GET /y HTTP/1.1\r\n")
    api.send("GET /api/generate/acme HTTP/1.1\r\n")
    for (const line of [x, y, api]) assert.strictEqual((await line.answer()).status, 200)
    assert.deepStrictEqual(seen, ["/x", "/api/generate/acme", "/y"])
    for (const line of [x, y, api]) line.close()
    await server.close()
  })

  it("are answered in part when they are sent ahead and their answers are large, and the rest is asked for again", async () => {
    const large = "x".repeat(400_000)
    let served = 0
    const server = await serving((_, response) => {
      served++
      response.setHeader("content-length", large.length)
      response.end(large)
    })
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    let text = ""
    const ended = new Promise((resolve) => socket.on("close", resolve))
    socket.setEncoding("latin1").on("data", (chunk) => text += String(chunk)).on("error", () => {})
    socket.write("GET /x HTTP/1.1\r\nHost: x\r\n\r\n".repeat(20))
    await ended
    const answers = text.split("HTTP/1.1 200 OK").slice(1)
    assert.isTrue(answers.length >= 3 && answers.length <= 6, String(answers.length))
    assert.strictEqual(served, answers.length)
    assert.isTrue(answers.every((answer) => answer.endsWith(large)), "each is whole")
    assert.match(answers.at(-1)!, /\r\nconnection: close\r\n/i)
    await server.close()
  })
})

describe("A server behind a gate", () => {
  it("lets requests of each kind wait in order of arrival", async () => {
    await using server = await gated(forever)
    const { answerOne, ask, gate, seen } = server
    const most = [...named("generate", limit), ...named("webhook", limit / 2)]
    await ask([...most, ...Array.from({ length: limit / 2 }, (_, i) => `/console/api/${i}`)])
    await waitUntil("there is room for nothing", () => gate.inFlight === limit * 2)
    const late = ["/api/generate/a", "/api/webhook/b", "/api/generate/c", "/console/d"]
    for (const [i, path] of late.entries()) {
      await ask([path])
      await waitUntil("it waits", () => gate.waiting === i + 1)
    }
    assert.strictEqual(seen.length, limit * 2)
    while (seen.length < limit * 2 + late.length) await answerOne()
    const api = (path: string) => path.startsWith("/api/generate/")
    assert.deepStrictEqual(seen.slice(limit * 2).filter(api), late.filter(api))
    assert.sameMembers(seen.slice(limit * 2), late)
    assert.strictEqual(gate.waiting, 0)
    assert.deepStrictEqual(gate.shed, { api: 0, webhook: 0, tracking: 0, management: 0, health: 0 })
  })

  it("releases the requests of a client that sends many at once and disconnects", async () => {
    await using server = await gated(forever)
    const { answerOne, gate, open, seen } = server
    const line = await open()
    line.socket.write(named("generate", 20).map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(""))
    await waitUntil("the first is in work", () => seen.length === 1)
    assert.strictEqual(gate.inFlight, 1)
    await answerOne()
    await waitUntil("the second is in work in its turn", () => seen.length === 2)
    line.close()
    await waitUntil("nothing is in work", () => gate.inFlight === 0)
    assert.deepStrictEqual(seen, named("generate", 2))
  })

  it("disconnects a client with more than 64 requests at once", async () => {
    await using server = await gated(forever)
    const line = await server.open()
    const closed = new Promise((resolve) => line.socket.on("close", resolve))
    line.socket.write(named("generate", 100).map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(""))
    await closed
    await waitUntil("nothing is in work", () => server.gate.inFlight === 0)
  })

  it("has done its work when the answer is made, whether the client takes it or not", async () => {
    await using server = await gated(forever)
    const { gate, inWork, open } = server
    const line = await open()
    line.socket.pause()
    line.send("POST /api/generate/a HTTP/1.1\r\n")
    await waitUntil("it is in work", () => gate.inFlight === 1)
    inWork.shift()!.response.end("x".repeat(32 * 1024 * 1024))
    assert.strictEqual(gate.inFlight, 0)
  })

  it("reads every connection again once the process ends, and closes those it answers", async () => {
    await using server = await gated(forever)
    const { answerOne, gate, seen } = server
    const first = await crowded(server)
    await answerOne()
    await waitUntil("its connection rests", () => gate.resting === 1)
    await first.answer()
    first.send("POST /api/generate/last HTTP/1.1\r\n")
    gate.isEnding = true
    await waitUntil("it is read", () => gate.resting === 0 && gate.waiting === limit * 3)
    while (!seen.includes("/api/generate/last")) await answerOne()
    const closed = new Promise((resolve) => first.socket.on("close", resolve))
    for (let left = limit; left > 0; left--) await answerOne()
    assert.match((await first.answer()).headers, /\r\nconnection: close(\r|$)/i)
    await closed
  })

  it("always answers whether it is healthy", async () => {
    await using server = await gated(forever)
    await server.ask(named("generate", limit))
    await waitUntil("it is full", () => server.gate.inFlight === limit)
    await server.ask(["/healthz", "/readyz?accept=memory"])
    await waitUntil("they are in work", () => server.gate.inFlight === limit + 2)
    assert.strictEqual(server.gate.waiting, 0)
  })

  it("refuses requests that waited too long, and serves their connection afterwards", async () => {
    await using server = await gated({ waitMillis: 0, restMillis: Infinity })
    const { answerOne, ask, gate, open, seen } = server
    await ask(named("generate", limit))
    await waitUntil("it is full", () => gate.inFlight === limit)
    const line = await open()
    const refused = await line.ask("POST /api/generate/late HTTP/1.1\r\nX-Request-Id: mine\r\n", "{}")
    assert.strictEqual(refused.status, 503)
    assert.match(refused.headers, /\r\ncontent-type: application\/problem\+json/i)
    assert.match(refused.headers, /\r\nretry-after: [1-5](\r|$)/i)
    assert.match(refused.headers, /\r\nx-request-id: mine(\r|$)/i)
    assert.deepInclude(JSON.parse(refused.body), { type: "/problems/unavailable", status: 503 })
    assert.deepStrictEqual(gate.shed, { api: 1, webhook: 0, tracking: 0, management: 0, health: 0 })
    assert.notInclude(seen, "/api/generate/late")
    await answerOne()
    line.send("POST /api/generate/again HTTP/1.1\r\n")
    await waitUntil("it is in work", () => seen.includes("/api/generate/again"))
  })

  it("refuses requests that wait to send their body, too, and closes the connection", async () => {
    await using server = await gated({ waitMillis: 0, restMillis: Infinity })
    const { ask, gate, open } = server
    await ask(named("generate", limit))
    await waitUntil("it is full", () => gate.inFlight === limit)
    const line = await open()
    const closed = new Promise((resolve) => line.socket.on("close", resolve))
    line.socket.write("POST /api/generate/a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    const refused = await line.answer()
    assert.strictEqual(refused.status, 503)
    assert.match(refused.headers, /\r\nconnection: close(\r|$)/i)
    await closed
    assert.strictEqual(gate.shed.api, 1)
  })

  it("forgets clients that disconnect before their admission", async () => {
    await using server = await gated(forever)
    const { answerOne, ask, gate, seen } = server
    await ask(named("generate", limit))
    await waitUntil("it is full", () => gate.inFlight === limit)
    const [gone] = await ask(["/api/generate/gone"])
    await waitUntil("it waits", () => gate.waiting === 1)
    await ask(["/api/generate/stays"])
    await waitUntil("both wait", () => gate.waiting === 2)
    gone!.close()
    await waitUntil("only one waits", () => gate.waiting === 1)
    await answerOne()
    await waitUntil("the other is in work", () => seen.includes("/api/generate/stays"))
    assert.notInclude(seen, "/api/generate/gone")
  })

  it("does not read connections it just answered while many wait, until there is room for them", async () => {
    await using server = await gated(forever)
    const { answerOne, ask, gate, seen } = server
    const first = await crowded(server)
    assert.strictEqual(await answerOne(), "/api/generate/0")
    await waitUntil("its connection rests", () => gate.resting === 1)
    first.send("POST /api/generate/again HTTP/1.1\r\n")
    await ask(["/api/generate/other"])
    await waitUntil("what came later over another one waits", () => gate.waiting === limit * 3)
    while (!seen.includes("/api/generate/again")) await answerOne()
    await waitUntil("none rests any more", () => gate.resting === 0)
    assert.deepStrictEqual(gate.shed, { api: 0, webhook: 0, tracking: 0, management: 0, health: 0 })
  })

  it("reads them again after a while, however many wait", async () => {
    await using server = await gated({ waitMillis: Infinity, restMillis: 0 })
    const { answerOne, gate } = server
    const first = await crowded(server)
    await answerOne()
    first.send("POST /api/generate/again HTTP/1.1\r\n")
    await waitUntil("it waits with the others", () => gate.waiting === limit * 3)
  })

  it("limits the memory of waiting requests", async () => {
    await using server = await gated(forever)
    const { ask, gate, open } = server
    await ask(named("generate", limit))
    await waitUntil("it is full", () => gate.inFlight === limit)
    const [large, asked] = [1024 * 1024, 500]
    for (let i = 0; i < asked; i++) {
      const line = await open()
      line.socket.write(`POST /api/generate/${i} HTTP/1.1\r\nHost: x\r\nContent-Length: ${large}\r\n\r\n`)
    }
    await waitUntil("all have come", () => gate.waiting + gate.shed.api === asked)
    // 8 KiB for each and 128 KiB of its body, in 64 MiB.
    assert.strictEqual(gate.waiting, Math.floor(64 * 1024 / (128 + 8)))
  })
})

describe("A service with too much to do", () => {
  it.live(
    "refuses excess requests with a problem, always answers health checks, and serves all admitted requests",
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

  it.live("counts no request whose body does not arrive", () =>
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
