import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { createServer, type RequestListener } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { addressRangeOf } from "../../src/domain/Addresses.ts"
import { bound, type ConnectionRules, noCounts } from "../../src/api/server/ClientConnections.ts"
import { waitUntil } from "../support/service.ts"

const defaults: ConnectionRules = {
  total: 100,
  perAddress: 100,
  exempt: [],
  writeTimeoutMillis: 60_000,
  unreadBytes: 1024 ** 3,
  idleMillis: 60_000,
  keepAliveMillis: 60_000,
  sweepMillis: 20,
}

/** More than the system buffers for a connection. */
const large = Buffer.alloc(24 * 1024 * 1024, "x")

const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

/** A server of its own rules, clients that are closed with it, and the sockets of requests in work. */
const serving = async (
  rules: Partial<ConnectionRules>,
  listener: RequestListener,
  use: (env: {
    readonly open: () => Promise<Socket>
    readonly counts: ReturnType<typeof noCounts>
    readonly busy: Set<Socket>
  }) => Promise<void>,
) => {
  const counts = noCounts()
  const busy = new Set<Socket>()
  const server = createServer(listener)
  bound(server, { ...defaults, ...rules }, () => busy, counts)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const sockets: Array<Socket> = []
  const open = async () => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
    sockets.push(socket)
    socket.on("error", () => {})
    await new Promise((resolve) => socket.once("connect", resolve).once("close", resolve))
    return socket
  }
  try {
    await use({ open, counts, busy })
  } finally {
    for (const socket of sockets) socket.destroy()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

/** All data that a socket receives until it ends. */
const received = (socket: Socket) =>
  new Promise<string>((resolve) => {
    let text = ""
    if (socket.closed) return resolve(text)
    socket.setEncoding("latin1").on("data", (chunk) => text += String(chunk)).on("close", () => resolve(text))
  })

describe("Client connections", () => {
  it("are cut when a response is not read, and not while it is", async () => {
    let finished = 0
    await serving({ writeTimeoutMillis: 1000 }, (_, response) => {
      response.on("finish", () => finished++).end(large)
    }, async ({ counts, open }) => {
      const unread = await open()
      unread.pause().write(request)
      // Reads a megabyte at a time, with pauses that together are longer than the limit.
      const slow = await open()
      let bytes = 0
      slow.on("data", (chunk) => {
        const before = bytes
        bytes += chunk.length
        if (bytes >> 20 === before >> 20) return
        slow.pause()
        setTimeout(() => slow.resume(), 100)
      }).write(request)
      await waitUntil("the response nobody reads is given up", () => counts.unread === 1)
      await waitUntil("the slow client has all of its response", () => bytes > large.length)
      assert.strictEqual(finished, 1)
      assert.strictEqual(counts.unread, 1)
      assert.isTrue(!slow.destroyed)
    })
  })

  it("send a large response without changing it, as bytes and as text", async () => {
    const text = "ü€😀x".repeat(300_000)
    await serving({}, (asked, response) => {
      response.shouldKeepAlive = false
      response.setHeader("content-length", Buffer.byteLength(text))
      if (asked.url === "/text") return void response.end(text)
      response.write("ü")
      response.write(Buffer.from(text.slice(1)))
      response.end()
    }, async ({ open }) => {
      for (const path of ["/text", "/bytes"]) {
        const socket = await open()
        const answer = received(socket)
        socket.write(request.replace("/ ", `${path} `))
        const all = Buffer.from(await answer, "latin1").toString("utf8")
        assert.isTrue(all.slice(all.indexOf("\r\n\r\n") + 4) === text, path)
      }
    })
  })

  it("are closed when together they hold too much unread data", async () => {
    await serving({ unreadBytes: 30 * 1024 * 1024 }, (_, response) => void response.end(large), async (env) => {
      const { counts, open } = env
      for (const socket of await Promise.all([open(), open(), open()])) socket.pause().write(request)
      await waitUntil("two of three are given up", () => counts.unread === 2)
    })
  })

  it("are refused past the limit of an address, with the reason, until another ends", async () => {
    await serving({ perAddress: 2 }, (_, response) => void response.end("ok"), async ({ counts, open }) => {
      const [first] = await Promise.all([open(), open()])
      const third = await open()
      const answer = received(third)
      third.write(request)
      const text = await answer
      assert.match(text, /^HTTP\/1\.1 429 /)
      assert.match(text, /\r\nRetry-After: \d\r\n/)
      assert.deepInclude(JSON.parse(text.slice(text.indexOf("\r\n\r\n"))), {
        type: "/problems/too-many-connections",
        status: 429,
      })
      assert.strictEqual(counts.address, 1)
      first.destroy()
      await waitUntil("another is accepted", async () => {
        const socket = await open()
        const answer = received(socket)
        socket.end(request)
        return (await answer).startsWith("HTTP/1.1 200")
      })
    })
  })

  it("of a trusted proxy are not limited by address", async () => {
    const exempt = [addressRangeOf("127.0.0.0/8")!]
    await serving({ perAddress: 1, exempt }, (_, response) => void response.end("ok"), async ({ counts, open }) => {
      for (const socket of await Promise.all([open(), open(), open()])) {
        const answer = received(socket)
        socket.end(request)
        assert.match(await answer, /^HTTP\/1\.1 200 /)
      }
      assert.deepStrictEqual(counts, noCounts())
    })
  })

  it("are refused beyond the total, the first of them with a 503", async () => {
    await serving(
      { total: 20, exempt: [addressRangeOf("127.0.0.0/8")!] },
      (_, response) => void response.end(),
      async (env) => {
        const { counts, open } = env
        await Promise.all(Array.from({ length: 20 }, open))
        const refused = await Promise.all(Array.from({ length: 130 }, async () => {
          const socket = await open()
          const answer = received(socket)
          socket.write(request)
          return answer
        }))
        assert.isTrue(refused.every((text) => text === "" || text.startsWith("HTTP/1.1 503")))
        assert.isAtLeast(refused.filter((text) => text !== "").length, 1)
        assert.strictEqual(counts.total, 130)
      },
    )
  })

  it("that are idle for long are closed, those with a request in work are not", async () => {
    const serverSide: Array<Socket> = []
    const listener: RequestListener = (asked, response) => {
      serverSide.push(asked.socket)
      response.end("ok")
    }
    await serving({ keepAliveMillis: 200 }, listener, async ({ busy, counts, open }) => {
      const working = await open()
      await new Promise((resolve) => working.once("data", resolve).write(request))
      busy.add(serverSide[0]!)
      const idle = await open()
      idle.write(request)
      assert.match(await received(idle), /^HTTP\/1\.1 200 OK/)
      assert.isFalse(working.closed)
      const closed = new Promise((resolve) => working.once("close", resolve))
      busy.clear()
      await closed
      assert.strictEqual(counts.idle, 0)
    })
  })

  it("that are idle give way when most of the total is used, the busy ones do not", async () => {
    const serverSide: Array<Socket> = []
    const listener: RequestListener = (asked, response) => {
      serverSide.push(asked.socket)
      response.end("ok")
    }
    await serving({ total: 20, idleMillis: 100 }, listener, async ({ busy, counts, open }) => {
      const working = await open()
      working.write(request)
      await waitUntil("it is known", () => serverSide.length === 1)
      busy.add(serverSide[0]!)
      const others = await Promise.all(Array.from({ length: 19 }, open))
      await waitUntil("a tenth is free again", () => counts.idle === 2)
      await waitUntil("they are closed", () => others.filter(({ readyState }) => readyState !== "open").length === 2)
      assert.isFalse(working.destroyed)
      assert.strictEqual(counts.total, 0)
    })
  })
})
