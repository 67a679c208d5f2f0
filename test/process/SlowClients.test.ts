import { assert, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { connect, type Socket } from "node:net"
import { describe } from "vitest"
import { aroundTests } from "../support/aroundTests.ts"
import { makeWatch, type Watch } from "../support/platformServers/Watch.ts"
import { hasHaproxy, scopedHaproxy } from "../support/haproxy.ts"
import { makeOrganization, scopedProcess, type ServiceProcess, waitUntil } from "../support/service.ts"
import { temporaryEnvironment } from "../support/stores.ts"
import { makeTemplate, scopedLoad, targetAt } from "./support.ts"

const perKind = 200

/** The address of the clients under test, which the proxy counts separately from the address of the other clients. */
const clientAddress = "127.0.0.2"

interface Client {
  readonly socket: Socket
  readonly answer: () => string
  readonly isClosed: () => boolean
  /** Waits for a condition on the connection, checked whenever it has received something or has closed. */
  readonly until: Watch["until"]
}

/** A connection that reads what it gets, and destroys itself with the scope. */
const dial = (
  url: string,
  text = "",
  { changed, until }: Watch = makeWatch(),
): Effect.Effect<Client, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { hostname, port } = new URL(url)
      const socket = connect({ port: Number(port), host: hostname, localAddress: clientAddress })
      let answer = ""
      let closed = false
      socket.on("error", () => {}).on("data", (chunk) => {
        answer += String(chunk)
        changed()
      }).on("close", () => {
        closed = true
        changed()
      })
      if (text !== "") socket.write(text)
      return { socket, answer: () => answer, isClosed: () => closed, until }
    }),
    ({ socket }) => Effect.sync(() => void socket.destroy()),
  )

/** A connection that sends `text` one byte at a time and ends only when it is closed from the other side. */
const trickle = (url: string, prefix: string, text: string) =>
  Effect.gen(function* () {
    const client = yield* dial(url, prefix)
    let at = 0
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        setInterval(() => {
          if (!client.isClosed() && at < text.length) client.socket.write(text[at++]!)
        }, 100)
      ),
      (timer) => Effect.sync(() => clearInterval(timer)),
    )
    return { ...client, unsent: () => text.length - at }
  })

/** Shorter times of the proxy. The service keeps its own, which are much longer. */
const impatient = {
  "timeout http-request 15s": "timeout http-request 1s",
  "wait-for-body time 15s": "wait-for-body time 1s",
  "timeout client 30s": "timeout client 2s",
  "timeout http-keep-alive 60s": "timeout http-keep-alive 1s",
}

const fewConnections = { "sc0_conn_cur gt 1000": "sc0_conn_cur gt 20", "sc0_conn_cur gt 1100": "sc0_conn_cur gt 30" }

/** The service, and a key of the organization acme. */
const startService = Effect.gen(function* () {
  const service = yield* scopedProcess({ ...yield* temporaryEnvironment, TRUSTED_PROXIES: "127.0.0.1/32" })
  const key = yield* Effect.promise(async () => {
    const key = await makeOrganization(service, "acme")
    await makeTemplate(service, "acme", "offer")
    return key
  })
  return { service, key }
})

const health = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

/** Sends one request over a new connection, and returns all that is received until the proxy closes it. */
const ask = (url: string): Promise<string> =>
  Effect.runPromise(Effect.scoped(Effect.gen(function* () {
    const { answer, isClosed, until } = yield* dial(
      url,
      health.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
    )
    yield* Effect.promise(() => until(isClosed))
    return answer()
  })))

describe.runIf(hasHaproxy("slow clients"))("The proxy", () => {
  let service: ServiceProcess
  let key: string
  aroundTests(startService, (started) => ({ service, key } = started))

  it.live("closes clients that send byte by byte, while it answers others", () =>
    Effect.scoped(Effect.gen(function* () {
      const proxy = yield* scopedHaproxy([service.url], impatient)
      const load = yield* scopedLoad("good", 4, { pauseMillis: 10 })
      load.aim({ ...targetAt(service, key), url: proxy.url })

      const head = `POST /api/generate/acme HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}\r\n`
      const body = JSON.stringify({ template_id: "offer", tracking_id: "slow", filler: "x".repeat(1000) })
      const withBody = `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
      const clients = yield* Effect.forEach(
        Array.from({ length: 2 * perKind }, (_, i) => i),
        (i) =>
          i % 2 === 0
            ? trickle(proxy.url, "", `${head}X-Filler: ${"x".repeat(1000)}`)
            : trickle(proxy.url, withBody, body),
      )
      yield* Effect.promise(async () => {
        await Promise.all(clients.map(({ isClosed, until }) => until(isClosed)))
        const refusals = () => proxy.output().match(/^408 /gm)?.length
        await proxy.printed(() => refusals() === clients.length)
        const answered = load.calls.length
        await load.until(() => load.calls.length >= answered + 20)
        await load.stop()
      })
      console.info(`slow clients: ${clients.length} closed, ${load.calls.length} good calls meanwhile`)
      assert.isTrue(clients.every((client) => client.unsent() > 0), "each was closed before it had sent everything")
      // A client that sends another byte after the answer may lose it to the reset of its connection.
      const answers = clients.map((client) => client.answer().slice(9, 12))
      assert.deepStrictEqual(answers.filter((status) => status !== "408" && status !== ""), [])
      assert.deepStrictEqual(load.calls.filter((call) => call.status !== 200), [])
    })))

  it.live("closes idle connections and clients that do not read", () =>
    Effect.scoped(Effect.gen(function* () {
      const proxy = yield* scopedHaproxy([service.url], impatient)
      const idle = yield* dial(proxy.url, health)
      const unread = yield* dial(proxy.url)
      unread.socket.pause()
      unread.socket.write("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(60))
      yield* Effect.promise(async () => {
        await idle.until(idle.isClosed)
        assert.match(idle.answer(), /^HTTP\/1\.1 200 /)
        // The proxy logs how a request ended: here by its time limit for the client, while it sent the data (D), or the
        // last data after the service had sent everything (L).
        await proxy.printed(() => /end=c[DL]/.test(proxy.output()))
      })
    })))

  it.live("refuses connections beyond the limit of an address, while it answers another address", () =>
    Effect.scoped(Effect.gen(function* () {
      const proxy = yield* scopedHaproxy([service.url], fewConnections)
      const watch = makeWatch()
      const clients = yield* Effect.forEach(Array.from({ length: 40 }), () => dial(proxy.url, "", watch))
      yield* Effect.promise(async () => {
        const open = () => clients.filter((client) => !client.isClosed())
        await watch.until(() => open().length === 30)
        assert.strictEqual(await ask(proxy.url), "", "no answer")
        open().slice(0, 5).forEach(({ socket }) => socket.destroy())
        let refused = ""
        await waitUntil("a connection above the limit is answered", async () => (refused = await ask(proxy.url)) !== "")
        assert.match(refused, /^HTTP\/1\.1 429 /)
        assert.match(refused, /"type":"\/problems\/too-many-connections"/)
        assert.strictEqual((await fetch(`${proxy.url}/healthz`)).status, 200)
        open().slice(0, 10).forEach(({ socket }) => socket.destroy())
        await waitUntil(
          "a connection within the limit is answered",
          async () => (await ask(proxy.url)).startsWith("HTTP/1.1 200 "),
        )
      })
    })))

  it.live("requests a body with 100 Continue, and forwards it", () =>
    Effect.scoped(Effect.gen(function* () {
      const proxy = yield* scopedHaproxy([service.url])
      const body = JSON.stringify({ template_id: "offer", fields: { filler: "x".repeat(100_000) } })
      const client = yield* dial(
        proxy.url,
        `POST /api/generate/acme HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\n` +
          `Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
      )
      yield* Effect.promise(async () => {
        await client.until(() => client.answer().startsWith("HTTP/1.1 100 "))
        client.socket.write(body)
        await client.until(() => client.answer().includes("HTTP/1.1 200 "))
      })
    })))

  it.live("answers over HTTP/1.1 a client that prefers HTTP/2", () =>
    Effect.scoped(Effect.gen(function* () {
      const proxy = yield* scopedHaproxy([service.url])
      const client = yield* dial(proxy.url)
      const body = JSON.stringify({ template_id: "nothing" })
      yield* Effect.promise(async () => {
        for (let n = 1; n <= 2; n++) {
          client.socket.write(
            `POST /api/generate/acme HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}\r\nContent-Length: ${body.length}\r\n` +
              "Content-Type: application/json\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n" +
              "HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA\r\n\r\n",
          )
          client.socket.write(body)
          await client.until(() => client.answer().split("HTTP/1.1 404 ").length === n + 1)
        }
      })
    })))
})
