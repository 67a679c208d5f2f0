import { assert, describe, it } from "@effect/vitest"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { Gate } from "../../src/api/admission/LoadGate.ts"
import * as LoadShedding from "../../src/api/admission/LoadShedding.ts"
import type { DirectReply, DirectRequest, Pass } from "../../src/api/server/DirectRoutes.ts"
import * as PlainConnections from "../../src/api/server/PlainConnections.ts"
import { waitUntil } from "../support/service.ts"
import { suiteOnService, variants } from "./harness.ts"

/** A connection, and all that was received on it. */
const dial = async (url: string) => {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  let received = ""
  let isClosed = false
  const closed = new Promise<void>((resolve) =>
    socket.on("close", () => {
      isClosed = true
      resolve()
    })
  )
  socket.setEncoding("latin1").on("data", (text) => received += String(text)).on("error", () => {})
    .on("end", () => socket.destroy())
  await new Promise((resolve) => socket.once("connect", resolve))
  /** Complete responses. */
  const responses = () => {
    let count = 0
    for (let at = 0;; count++) {
      const end = received.indexOf("\r\n\r\n", at)
      if (end === -1) return count
      at = end + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(received.slice(at, end))?.[1] ?? 0)
      if (at > received.length) return count
    }
  }
  return {
    socket,
    closed,
    received: () => received,
    responses,
    send: (text: string) => void socket.write(text, "latin1"),
    answered: (count: number) => waitUntil(`${count} answers`, () => isClosed || responses() >= count),
  }
}

const health = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
const last = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
const post = (path: string, body: string, more: ReadonlyArray<string> = []) =>
  [`POST ${path} HTTP/1.1`, "Host: x", `Content-Length: ${body.length}`, ...more].join("\r\n") + `\r\n\r\n${body}`

suiteOnService("A connection with plain requests", (bench) => {
  const setUp = async (slug: string) => {
    const org = await bench.organization(slug)
    await org.template({ id: "t", variants: [{ id: "a", vars: { subject: "Hi {{ name }} \u00fc" } }] })
    await org.template({ id: "sticky", sticky_hours: 24, variants: variants("a") })
    return {
      ...org,
      path: `/api/generate/${slug}`,
      headers: [`X-Api-Key: ${org.key}`, "Content-Type: application/json", "X-Request-Id: mine"],
    }
  }

  /** What is received for `count` requests or for pieces of one, on a new connection or on one that Node's server has. */
  const exchange = async (pieces: ReadonlyArray<string>, ofNode: boolean, count = 1): Promise<string> => {
    const line = await dial(bench.service.url)
    if (ofNode) {
      line.send(health)
      await line.answered(1)
    }
    const before = line.received().length
    for (const [at, piece] of pieces.entries()) {
      if (pieces.length === count) await line.answered(at + (ofNode ? 1 : 0))
      // Whatever was sent before has been read when another connection is answered.
      else if (at > 0) await (await bench.service.request("/healthz")).text()
      line.send(piece)
    }
    await line.answered(count + (ofNode ? 1 : 0))
    line.send(last)
    await line.closed
    return line.received().slice(before).replaceAll(/\r\nDate: [^\r]+/g, "\r\nDate: now")
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "new")
  }

  it("gets the same bytes as one of Node's server, for calls, faults and hostile requests", async () => {
    const { headers, key, path } = await setUp("same-bytes")
    const [keyLine, ...others] = headers as [string, ...Array<string>]
    const json = (value: unknown) => JSON.stringify(value)
    const ask = json({ template_id: "t", tracking_id: "one", fields: { name: "Ann" } })
    const good = post(path, ask, headers)
    const requests: Readonly<Record<string, string>> = {
      "a call": good,
      "a call without a request id": post(path, ask, headers.slice(0, 2)),
      "a call with a new tracking id": post(path, json({ template_id: "t" }), headers),
      "a call that waits": post(path, json({ template_id: "sticky", user_id: "u", tracking_id: "two" }), headers),
      "a Bearer token": post(path, ask, [`authorization: bearer ${key}`, ...others]),
      "two keys": post(path, ask, [...headers, "Authorization: Bearer other"]),
      "no key": post(path, ask, others),
      "another key": post(path, ask, ["X-Api-Key: other", ...others]),
      "another organization": post("/api/generate/other", ask, headers),
      "a longer path": post(`${path}/more`, ask, headers),
      "a query": post(`${path}?a=1`, ask, headers),
      "an unknown template": post(path, json({ template_id: "nope" }), headers),
      "an unknown member": post(path, json({ template_id: "t", tracking_id: "one", more: 1 }), headers),
      "faults": post(path, json({ template_id: "", attrs: { a: {} } }), headers),
      "no JSON": post(path, "{", headers),
      "no UTF-8": post(path, '"\xff"', headers),
      "no body": post(path, "", headers),
      "a body over 16 KiB": post(path, json({ template_id: "t", tracking_id: "x".repeat(17_000) }), headers),
      "a type": post(path, ask, [keyLine, "Content-Type: text/plain", "X-Request-Id: mine"]),
      "an encoding": post(path, ask, [...headers, "Content-Encoding: gzip"]),
      "a trace": post(path, ask, [...headers, `traceparent: 00-${"4b".repeat(16)}-${"a1".repeat(8)}-01`]),
      "a request id with spaces": post(path, ask, [...headers.slice(0, 2), "X-Request-Id: a b"]),
      "a batch": post("/api/batch-generate/same-bytes", json({ requests: [{ template_id: "t" }] }), headers),
      "a message": post("/api/deliver/same-bytes", json({ template_id: "t" }), headers),
      "a time": `GET /api/delay/same-bytes?user_id=u HTTP/1.1\r\nHost: x\r\n${keyLine}\r\nX-Request-Id: mine\r\n\r\n`,
      "a time for nobody": `GET /api/delay/same-bytes HTTP/1.1\r\nHost: x\r\n${keyLine}\r\nX-Request-Id: mine\r\n\r\n`,
      "a pixel": "GET /o/none.gif HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\n\r\n",
      "a link": "GET /c/none HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\n\r\n",
      "an event": post("/api/webhook/events/same-bytes", json({ event: "click", tracking_id: "one" }), headers),
      "a page": "GET /docs HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nAccept-Encoding: identity\r\n\r\n",
      "no path": "GET /none HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\n\r\n",
      "a method": `PUT ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nX-Request-Id: mine\r\n\r\n`,
      "HTTP/1.0": good.replace("HTTP/1.1", "HTTP/1.0"),
      "names in other letters": good.toLowerCase().replace("post", "POST").replace("http/1.1", "HTTP/1.1")
        .replace(keyLine.toLowerCase(), keyLine),
      "an absolute target": good.replace(path, `http://x${path}`),
      "a path that ends early": good.replace(path, `${path};x=1`),
      "a folded header": good.replace("\r\nContent-Type:", "\r\n folded\r\nContent-Type:"),
      "a tab before a value": good.replace("Content-Type: ", "Content-Type:\t"),
      "two equal lengths": good.replace("\r\nHost: x", `\r\nHost: x\r\nContent-Length: ${ask.length}`),
      "two lengths": good.replace("\r\nHost: x", "\r\nHost: x\r\nContent-Length: 5"),
      "a length and chunks": good.replace("\r\nHost: x", "\r\nHost: x\r\nTransfer-Encoding: chunked"),
      "chunks": good.replace(/Content-Length: \d+/, "Transfer-Encoding: chunked")
        .replace(ask, `${ask.length.toString(16)}\r\n${ask}\r\n0\r\n\r\n`),
      "a negative length": good.replace(/Content-Length: \d+/, "Content-Length: -1"),
      "a length with a sign": good.replace("Content-Length: ", "Content-Length: +"),
      "a length of 10^20": good.replace(/Content-Length: \d+/, `Content-Length: 1${"0".repeat(20)}`),
      "a length that is too short": good.replace(/Content-Length: \d+/, "Content-Length: 5"),
      "line feeds": good.replaceAll("\r\n", "\n"),
      "NUL in a value": good.replace("mine", "mi\0ne"),
      "a carriage return in a value": good.replace("mine", "mi\rne"),
      "a line feed in a value": good.replace("mine", "mi\nne"),
      "obsolete characters in a value": good.replace("mine", "mi\xfcne"),
      "a space after a name": good.replace("X-Request-Id:", "X-Request-Id :"),
      "no name": good.replace("X-Request-Id:", ":"),
      "no host": good.replace("\r\nHost: x", ""),
      "two hosts": good.replace("\r\nHost: x", "\r\nHost: x\r\nHost: y"),
      "a header of 20 kB": good.replace("mine", "x".repeat(20_000)),
      "an expectation": good.replace("\r\nHost: x", "\r\nHost: x\r\nExpect: 200-maybe"),
      "an upgrade": good.replace("\r\nHost: x", "\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c"),
      "a last request": good.replace("\r\nHost: x", "\r\nHost: x\r\nConnection: close"),
      "a tunnel": "CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
      "noise": "\x16\x03\x01\x02\x00",
    }
    for (const [name, text] of Object.entries(requests)) {
      assert.strictEqual(await exchange([text], false), await exchange([text], true), name)
      // The last of several on one connection.
      assert.strictEqual(
        await exchange([good, text], false, 2),
        await exchange([good, text], true, 2),
        `${name}, after a call`,
      )
    }
    const two = good + good.replace("mine", "second")
    for (const pipelined of [two, good + health, health + good, good + two, good + "noise"]) {
      assert.strictEqual(await exchange([pipelined], false, 2), await exchange([pipelined], true, 2))
    }
  }, 180_000)

  it("gets the same bytes wherever a request is split", async () => {
    const { headers, path } = await setUp("split")
    const text = post(path, JSON.stringify({ template_id: "t", tracking_id: "one" }), headers)
    const whole = await exchange([text], true)
    assert.match(whole, /^HTTP\/1\.1 200 OK\r\n/)
    for (let at = 1; at < text.length; at++) {
      assert.strictEqual(await exchange([text.slice(0, at), text.slice(at)], false), whole, `after ${at} bytes`)
    }
  }, 180_000)
})

suiteOnService("A slow client", (bench) => {
  const cut = async (pieces: ReadonlyArray<string>) => {
    const line = await dial(bench.service.url)
    for (const piece of pieces) {
      line.send(piece)
      await (await bench.service.request("/healthz")).text()
    }
    await line.closed
    return line.received().split("\r\n", 1)[0]
  }

  it("is refused when it sends nothing, a part of the headers, or a part of the body", async () => {
    const { headers, key, slug } = await bench.organization("slow").then((org) => ({
      ...org,
      headers: [`X-Api-Key: ${org.key}`, "Content-Type: application/json"],
    }))
    assert.isString(key)
    const text = post(`/api/generate/${slug}`, JSON.stringify({ template_id: "t" }), headers)
    for (const pieces of [[], [text.slice(0, 20)], [text.slice(0, -1)], [text.slice(0, -5), text.slice(-5, -1)]]) {
      assert.strictEqual(await cut(pieces), "HTTP/1.1 408 Request Timeout", pieces.join("|"))
    }
  })
}, { HEADERS_TIMEOUT: "1 second", REQUEST_TIMEOUT: "1 second" })

describe("Plain connections", () => {
  interface Taken {
    readonly request: DirectRequest
    readonly response: DirectReply
    readonly pass: Pass
  }

  /** A server that leaves what is below `/api/direct` to the test, and answers all other requests by Node's server. */
  const serving = async () => {
    const taken: Array<Taken> = []
    const routed: Array<IncomingMessage> = []
    const gate = new Gate(32)
    const server = createServer((request: IncomingMessage, response: ServerResponse) => {
      routed.push(request)
      request.resume().on("end", () => {
        response.writeHead(200, { "content-length": 6 })
        response.end("routed")
      })
    })
    const { busy, offer } = LoadShedding.install(server, gate, {
      respond: (request, response, pass) => {
        if (!request.url!.startsWith("/api/direct")) return false
        taken.push({ request, response, pass })
        return true
      },
    })
    PlainConnections.install(server, offer, 60_000)
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const answer = (index: number) => {
      const { response } = taken[index]!
      response.writeHead(200, { "content-length": 2 })
      response.end("ok")
    }
    return {
      server,
      url,
      gate,
      busy,
      taken,
      routed,
      answer,
      isTaken: (count: number) => waitUntil(`${count} are taken`, () => taken.length >= count),
      [Symbol.asyncDispose]: async () => {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      },
    }
  }

  const direct = (name: string) => post(`/api/direct/${name}`, "body")
  const isPlain = ({ request }: Taken) => request instanceof PlainConnections.PlainRequest

  it("answer requests that arrive whole, or with the body in a packet of its own, without Node's server", async () => {
    await using on = await serving()
    const line = await dial(on.url)
    for (let index = 0; index < 4; index++) {
      const text = direct(String(index))
      if (index % 2 === 0) line.send(text)
      else {
        line.send(text.slice(0, -4))
        await (await fetch(`${on.url}/other`)).text()
        line.send(text.slice(-4))
      }
      await on.isTaken(index + 1)
      assert.isTrue(isPlain(on.taken[index]!))
      assert.strictEqual(on.gate.inFlight, 1)
      assert.strictEqual(on.busy().size, 1)
      on.answer(index)
      await line.answered(index + 1)
      assert.strictEqual(on.gate.inFlight, 0)
    }
  })

  it("go to Node's server for good with the first request that is not plain", async () => {
    await using on = await serving()
    const line = await dial(on.url)
    line.send(direct("0"))
    await on.isTaken(1)
    on.answer(0)
    await line.answered(1)
    line.send(direct("1").replace("Host: x", "Host:  x"))
    await on.isTaken(2)
    on.answer(1)
    await line.answered(2)
    line.send(direct("2"))
    await on.isTaken(3)
    on.answer(2)
    await line.answered(3)
    assert.deepStrictEqual(on.taken.map(isPlain), [true, false, false])
  })

  it("give a request back with what was noted of it, and do not refuse it for the load", async () => {
    await using on = await serving()
    const line = await dial(on.url)
    line.send(direct("0"))
    await on.isTaken(1)
    const noted = Symbol("noted")
    const { pass, request, response } = on.taken[0]!
    Reflect.set(request, noted, "yes")
    on.gate.limit = 0
    pass(request, response)
    await line.answered(1)
    assert.match(line.received(), /routed$/)
    assert.strictEqual(Reflect.get(on.routed[0]!, noted), "yes")
    assert.strictEqual(on.taken.length, 1)
    assert.strictEqual(on.gate.inFlight, 0)
  })

  it("answer requests that were sent ahead in their order", async () => {
    await using on = await serving()
    const line = await dial(on.url)
    line.send(direct("0"))
    await on.isTaken(1)
    for (const path of ["/one", "/two"]) {
      line.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
      await (await fetch(`${on.url}/other`)).text()
    }
    assert.strictEqual(line.received(), "")
    on.answer(0)
    await line.answered(3)
    assert.deepStrictEqual(on.routed.map(({ url }) => url).filter((url) => url !== "/other"), ["/one", "/two"])
    assert.match(line.received(), /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nokHTTP[^]*routedHTTP[^]*routed$/)
  })

  it("free the slot of a client that goes away, and write nothing to it", async () => {
    await using on = await serving()
    for (const [index, leave] of (["destroy", "resetAndDestroy", "end"] as const).entries()) {
      const line = await dial(on.url)
      line.send(direct(String(index)))
      await on.isTaken(index + 1)
      line.socket[leave]()
      await line.closed
      await waitUntil("its slot is free", () => on.gate.inFlight === 0)
      assert.isTrue(on.taken[index]!.response.destroyed)
      on.answer(index)
      assert.strictEqual(line.received(), "")
    }
  })

  it("close with the server, those with a request in work after its response", async () => {
    await using on = await serving()
    const [idle, busy] = [await dial(on.url), await dial(on.url)]
    idle.send(direct("0"))
    await on.isTaken(1)
    on.answer(0)
    await idle.answered(1)
    busy.send(direct("1"))
    await on.isTaken(2)
    const closed = new Promise((resolve) => on.server.close(resolve))
    await idle.closed
    on.answer(1)
    await busy.closed
    assert.match(busy.received(), /\r\n\r\nok$/)
    await closed
  })
})
