import { assert, describe, it } from "@effect/vitest"
import { connect as connectHttp2 } from "node:http2"
import { connect } from "node:net"
import { aroundTests } from "../support/aroundTests.ts"
import { makeWatch } from "../support/platformServers/Watch.ts"
import { makeOrganization, type Service, waitUntil } from "../support/service.ts"
import { startWith } from "../support/servicesOf.ts"
import { variants } from "./harness.ts"

const mebibyte = 1024 * 1024

/** The most that a webhook may have, and not a byte more than the service has room for six times. */
const whole = 8 * mebibyte

describe("request bodies", () => {
  let service: Service
  let impatient: Service
  let key: string
  aroundTests(startWith(), async (started) => {
    service = started.service
    key = await makeOrganization(service, "acme")
    await service.manage("PUT", "/organizations/acme/webhooks/provider_c", { secret: "s3cret" })
    await service.manage("PUT", "/organizations/acme/webhooks/provider_a", { secret: "token-0123456789" })
    await service.manage("POST", "/organizations/acme/templates", { id: "t", name: "T", variants: variants("a") })
  })
  aroundTests(startWith({ REQUEST_TIMEOUT: "1 second" }), async (started) => {
    impatient = started.service
    await makeOrganization(impatient, "acme")
    await impatient.manage("PUT", "/organizations/acme/webhooks/provider_c", { secret: "s3cret" })
  })

  /** A request whose bytes the test sends, and the response. */
  const begin = async (path: string, headers: ReadonlyArray<string>, body = "", to = service) => {
    const { hostname, port } = new URL(to.url)
    const socket = connect(Number(port), hostname)
    let received = ""
    const { changed, until } = makeWatch()
    socket.setEncoding("latin1").on("data", (text) => {
      received += String(text)
      changed()
    }).on("error", () => {})
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
    await new Promise((resolve) => socket.once("connect", resolve))
    socket.write(
      [`POST ${path} HTTP/1.1`, "Host: x", "Content-Type: application/json", ...headers, "", body].join("\r\n"),
    )
    return {
      write: (text: string | Uint8Array) => void socket.write(text),
      received: () => received,
      untilReceived: (text: string) => until(() => received === text),
      status: async () => {
        await until(() => /^HTTP\/1\.1 [2-5]/m.test(received))
        return Number(/^HTTP\/1\.1 ([2-5]\d\d)/m.exec(received)![1])
      },
      destroy: () => void socket.destroy(),
      closed,
    }
  }
  const signed = "/api/webhook/provider_c/acme"
  const announce = (bytes: number, to = service) => begin(signed, [`Content-Length: ${bytes}`], "", to)
  const isHeld = (bytes: number) =>
    waitUntil(`${bytes} bytes are held`, async () => {
      const text = await (await service.request("/metrics")).text()
      return text.split("\n").includes(`parlance_bodies_bytes ${bytes}`)
    })
  const post = (path: string, body: string) =>
    service.request(path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key },
      body,
    })
  const statusOf = async (answer: Promise<Response>) => {
    const { body, status } = await answer
    await body?.cancel()
    return status
  }

  it("are rejected before their end if they arrive in thousands of one-byte chunks", async () => {
    const request = await begin(
      "/api/generate/acme",
      [`X-Api-Key: ${key}`, "Transfer-Encoding: chunked"],
      "1\r\n \r\n".repeat(20_000),
    )
    assert.strictEqual(await request.status(), 400)
    assert.match(request.received(), /arrives in chunks of a few bytes/)
    assert.match(request.received(), /\r\nconnection: close\r\n/i)
    request.destroy()
    const few = await begin(
      "/api/generate/acme",
      [`X-Api-Key: ${key}`, "Transfer-Encoding: chunked"],
      `${"1\r\n \r\n".repeat(4000)}14\r\n{"template_id": "t"}\r\n0\r\n\r\n`,
    )
    assert.strictEqual(await few.status(), 200)
    few.destroy()
  })

  it("may hold 32 MiB in total for webhooks, beyond which only large ones are refused", async () => {
    const many = await Promise.all(Array.from({ length: 4 }, () => announce(whole)))
    await isHeld(4 * whole)
    const late = await announce(17 * 1024)
    assert.strictEqual(await late.status(), 503)
    assert.match(late.received(), /\r\nretry-after: [1-5]\r\n/i)
    assert.match(late.received(), /"type":"\/problems\/unavailable"/)
    const chunked = await begin(signed, ["Transfer-Encoding: chunked"], `4400\r\n${" ".repeat(0x4400)}\r\n`)
    assert.strictEqual(await chunked.status(), 503)
    assert.strictEqual(await statusOf(post(signed, "[]")), 401, "a small one is looked at")
    const generate = (more: unknown) =>
      post("/api/generate/acme", JSON.stringify({ template_id: "t", fields: { more } }))
    assert.strictEqual(await statusOf(generate("")), 200)
    assert.strictEqual(await statusOf(generate("x".repeat(mebibyte / 2))), 200, "a third is left to the API")
    await isHeld(4 * whole)
    for (const one of [...many, late, chunked]) one.destroy()
    await isHeld(0)
    assert.strictEqual(await statusOf(post(signed, " ".repeat(whole))), 401)
    await isHeld(0)
  })

  it("release their memory when they are refused, cut off or too slow", async () => {
    const over = await begin("/api/generate/acme", [`X-Api-Key: ${key}`, "Transfer-Encoding: chunked"])
    const part = `${mebibyte.toString(16)}\r\n${" ".repeat(mebibyte)}\r\n`
    over.write(part)
    await isHeld(mebibyte)
    over.write(part)
    assert.strictEqual(await over.status(), 413)
    await isHeld(0)
    const cut = await announce(whole)
    cut.write("[")
    await isHeld(whole)
    cut.destroy()
    await isHeld(0)
    const slow = await announce(whole, impatient)
    slow.write("[")
    await isHeld(whole)
    assert.strictEqual(await slow.status(), 408)
    await isHeld(0)
  })

  it("release their memory even if more of them arrives after the refusal", async () => {
    const late = await begin(signed, ["Transfer-Encoding: chunked"], `4e20\r\n${" ".repeat(20_000)}\r\n`, impatient)
    assert.strictEqual(await late.status(), 408)
    for (let n = 0; n < 16; n++) late.write(`ea60\r\n${" ".repeat(60_000)}\r\n`)
    await late.closed
    await isHeld(0)
  })

  it("close the connection if a part of them stays unread", async () => {
    const chunk = `${mebibyte.toString(16)}\r\n${" ".repeat(mebibyte)}\r\n`
    for (const [path, status] of [["/no-such-path", 404], [signed, 413]] as const) {
      const endless = await begin(path, ["Transfer-Encoding: chunked"])
      // More than a service that reads on would leave in the buffers of the connection.
      for (let n = 0; n < 64; n++) endless.write(chunk)
      assert.strictEqual(await endless.status(), status)
      await endless.closed
    }
    await isHeld(0)
  })

  it("have one length for equal Content-Length headers, and are rejected for different ones", async () => {
    const body = JSON.stringify({ template_id: "t", tracking_id: "twice" })
    const length = `Content-Length: ${body.length}`
    const twice = await begin("/api/generate/acme", [`X-Api-Key: ${key}`, length, length], body)
    assert.strictEqual(await twice.status(), 200)
    const other = await begin("/api/generate/acme", [`X-Api-Key: ${key}`, length, "Content-Length: 1"], body)
    assert.strictEqual(await other.status(), 400)
    for (const one of [twice, other]) one.destroy()
    await isHeld(0)
  })

  it("are read over HTTP/2 without a length", async () => {
    const session = connectHttp2(service.url)
    const stream = session.request({
      ":method": "POST",
      ":path": "/api/generate/acme",
      "content-type": "application/json",
      "x-api-key": key,
    })
    let text = ""
    stream.setEncoding("utf8").on("data", (chunk) => text += String(chunk))
    stream.end(JSON.stringify({ template_id: "t", tracking_id: "over-http-2" }))
    await new Promise((resolve) => stream.once("end", resolve))
    session.close()
    assert.strictEqual(JSON.parse(text).tracking_id, "over-http-2", text)
  })

  it("are not read if no body can authenticate the webhook", async () => {
    const signature = "Webhook-Signature: v1,x"
    const hopeless: ReadonlyArray<readonly [path: string, headers: ReadonlyArray<string>, detail: RegExp]> = [
      [signed.replace("acme", "nobody"), [], /is not set up/],
      [signed.replace("provider_c", "provider_d"), [], /is not set up/],
      [signed.replace("provider_c", "events"), [signature], /No secret for signed events/],
      [signed.replace("provider_c", "provider_a"), [], /header authorization is missing/],
      [signed.replace("provider_c", "provider_a"), ["Authorization: Bearer other"], /not the one that was set up/],
    ]
    for (const [path, headers, detail] of hopeless) {
      const large = await begin(path, [`Content-Length: ${whole}`, ...headers])
      assert.strictEqual(await large.status(), 401, path)
      assert.match(large.received(), detail)
      assert.match(large.received(), /\r\nwww-authenticate: Bearer realm="parlance"\r\n/i)
      assert.match(large.received(), /\r\nconnection: close\r\n/i)
      large.destroy()
    }
    const token = { "content-type": "application/json", authorization: "Bearer token-0123456789" }
    const path = signed.replace("provider_c", "provider_a")
    assert.strictEqual(await statusOf(service.request(path, { method: "POST", headers: token, body: "{}" })), 200)
  })

  it("are requested with 100 Continue if the client waits for it", async () => {
    const body = JSON.stringify({ template_id: "t", tracking_id: "asked" })
    const headers = [`X-Api-Key: ${key}`, `Content-Length: ${body.length}`, "Expect: 100-continue"]
    const asked = await begin("/api/generate/acme", headers)
    await asked.untilReceived("HTTP/1.1 100 Continue\r\n\r\n")
    asked.write(body)
    assert.strictEqual(await asked.status(), 200)
    assert.strictEqual(asked.received().match(/HTTP\/1\.1/g)!.length, 2)
    asked.destroy()
  })

  it("are read in any number of pieces", async () => {
    const text = JSON.stringify({ template_id: "t", fields: { name: "ä".repeat(30_000) }, tracking_id: "pieces" })
    const bytes = new TextEncoder().encode(text)
    const size = 777
    const pieces = Array.from(
      { length: Math.ceil(bytes.length / size) },
      (_, n) => bytes.subarray(n * size, (n + 1) * size),
    )
    for (const length of [`Content-Length: ${bytes.length}`, "Transfer-Encoding: chunked"]) {
      const request = await begin("/api/generate/acme", [`X-Api-Key: ${key}`, length])
      for (const piece of pieces) {
        if (length.startsWith("Content")) request.write(piece)
        else {
          request.write(`${piece.length.toString(16)}\r\n`)
          request.write(piece)
          request.write("\r\n")
        }
      }
      if (!length.startsWith("Content")) request.write("0\r\n\r\n")
      assert.strictEqual(await request.status(), 200, request.received())
      assert.include(request.received(), '"tracking_id":"pieces"')
      request.destroy()
    }
    await isHeld(0)
  })
})
