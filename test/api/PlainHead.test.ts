import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { createServer } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { plainHeadOf } from "../../src/api/server/PlainHead.ts"

const body = `{"template_id":"t"}`
const lines = ["POST /api/generate/acme HTTP/1.1", "Host: x", "X-Api-Key: k", `Content-Length: ${body.length}`]
const textOf = (lines: ReadonlyArray<string>, body: string) => `${lines.join("\r\n")}\r\n\r\n${body}`
const plain = textOf(lines, body)
const read = (text: string) => plainHeadOf(Buffer.from(text, "latin1"))
const withLine = (line: string) => read(textOf([...lines, line], body))
const insteadOf = (at: number, line: string) => read(textOf(lines.map((one, i) => i === at ? line : one), body))

describe("The head of a plain request", () => {
  it("is read with the length of its body", () => {
    assert.deepStrictEqual(read(plain), {
      method: "POST",
      url: "/api/generate/acme",
      headers: { host: "x", "x-api-key": "k", "content-length": String(body.length) },
      bodyAt: plain.length - body.length,
      end: plain.length,
    })
    const get = "GET /api/delay/acme?user_id=a%20b HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n"
    assert.strictEqual(read(get)?.url, "/api/delay/acme?user_id=a%20b")
    assert.strictEqual(read(get)?.end, get.length)
    assert.isDefined(withLine("Connection: Keep-Alive"))
    assert.isDefined(withLine("User-Agent: a (b; c) d/1.0"))
  })

  it("is not read before it is complete", () => {
    for (let length = 0; length < plain.length - body.length; length++) {
      assert.isUndefined(read(plain.slice(0, length)), `${length} bytes`)
    }
    for (let length = plain.length - body.length; length < plain.length; length++) {
      assert.strictEqual(read(plain.slice(0, length))?.end, plain.length)
    }
  })

  it("is left to Node's server when a line of it is unusual", () => {
    const unusual = [
      "Transfer-Encoding: chunked",
      "transfer-encoding: identity",
      "Content-Length: 5",
      "content-length: 19",
      "Host: y",
      "x-api-key: other",
      "Expect: 100-continue",
      "Upgrade: h2c",
      "Connection: close",
      "Connection: Upgrade, HTTP2-Settings",
      "Connection: keep-alive, close",
      "Proxy-Connection: close",
      "TE: trailers",
      "Trailer: x",
      "Set-Cookie: a=b",
      " folded",
      "\tfolded",
      "X-A : b",
      "X-A:b",
      "X-A:  b",
      "X-A: b ",
      "X-A: ",
      "X-A: a\tb",
      "X-A: a\0b",
      "X-A: a\rb",
      "X-A: a\nContent-Length: 0",
      "X-A: \u00fc",
      "X_A: b",
      "X-\u00fc: b",
      "__proto__: b",
      "constructor: b",
      ": b",
      "no colon",
      `X-A: ${"x".repeat(8 * 1024)}`,
    ]
    for (const line of unusual) assert.isUndefined(withLine(line), JSON.stringify(line).slice(0, 80))
  })

  it("is left to Node's server with an unusual first line or length", () => {
    const first = [
      "POST http://x/api/generate/acme HTTP/1.1",
      "POST /api/generate/acme HTTP/1.0",
      "POST /api/generate/acme HTTP/1.1 ",
      "POST  /api/generate/acme HTTP/1.1",
      " POST /api/generate/acme HTTP/1.1",
      "\r\nPOST /api/generate/acme HTTP/1.1",
      "post /api/generate/acme HTTP/1.1",
      "PUT /api/generate/acme HTTP/1.1",
      "POST /api/generate/acme#x HTTP/1.1",
      "POST /api/generate/acme;x HTTP/1.1",
      "POST /api/generate/\u00fc HTTP/1.1",
      "POST * HTTP/1.1",
      "POST /api/generate/acme",
      "GET /api/generate/acme HTTP/1.1",
    ]
    for (const line of first) assert.isUndefined(insteadOf(0, line), line)
    for (
      const length of ["-1", "+19", "019", "0x13", "1e1", "19, 19", "19 19", "16385", "99999999999999999999", "", "x"]
    ) {
      assert.isUndefined(insteadOf(3, `Content-Length: ${length}`), length)
    }
    assert.isUndefined(read(textOf(lines.slice(0, 3), body)), "no length")
    assert.isUndefined(read(textOf([lines[0]!, ...lines.slice(2)], body)), "no host")
    assert.isUndefined(read(plain.replaceAll("\r\n", "\n")), "line feeds alone")
  })

  it("is read as Node's server reads it, whatever a byte of it is changed to", async () => {
    const seen: Array<unknown> = []
    const server = createServer((request, response) => {
      let text = ""
      request.setEncoding("latin1").on("data", (piece) => text += piece).on("end", () => {
        const { headers, httpVersion, method, url } = request
        seen.push({ headers, httpVersion, method, url, body: text })
        response.end()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    const readByNode = async (text: string): Promise<unknown> => {
      seen.length = 0
      const socket = connect(port, "127.0.0.1")
      // The response to a second request would follow on the same connection.
      socket.write(text + "GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "latin1")
      await new Promise((resolve) => socket.on("close", resolve).on("error", () => {}).resume())
      return [...seen]
    }
    const next = {
      headers: { host: "x", connection: "close" },
      httpVersion: "1.1",
      method: "GET",
      url: "/next",
      body: "",
    }
    const bytes = [
      "\0",
      "\t",
      "\n",
      "\r",
      " ",
      "!",
      "#",
      "%",
      ",",
      "-",
      ".",
      "/",
      "0",
      "9",
      ":",
      ";",
      "G",
      "a",
      "~",
      "\x7f",
      "\x80",
    ]
    let accepted = 0
    for (let at = 0; at < plain.length - body.length; at++) {
      for (const byte of bytes) {
        for (
          const changed of [
            plain.slice(0, at) + byte + plain.slice(at + 1),
            plain.slice(0, at) + byte + plain.slice(at),
          ]
        ) {
          const head = read(changed)
          // Node's server rejects most of what is not read here; what it takes is its own affair.
          if (head === undefined || head.end > changed.length) continue
          accepted++
          const { bodyAt, end, headers, method, url } = head
          const [first, ...rest] = await readByNode(changed.slice(0, end)) as ReadonlyArray<unknown>
          assert.deepStrictEqual(
            first,
            { headers, httpVersion: "1.1", method, url, body: changed.slice(bodyAt, end) },
            JSON.stringify(changed),
          )
          assert.deepStrictEqual(rest, [next], JSON.stringify(changed))
        }
      }
    }
    assert.isAbove(accepted, 200)
    await new Promise((resolve) => server.close(resolve))
  })
})
