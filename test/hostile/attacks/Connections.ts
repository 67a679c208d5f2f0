import { Buffer } from "node:buffer"
import { connect, type Socket } from "node:net"
import type { Attack, Target } from "../Attack.ts"

// Connections that no HTTP library would make. Large numbers of connections come from a separate address, like an
// attacker's.

const attacker = "127.0.0.2"

interface Line {
  readonly socket: Socket
  /** The data received so far. */
  readonly text: () => string
  readonly ended: Promise<void>
}

const dial = (target: Target, from = attacker): Line => {
  const { hostname, port } = new URL(target.front)
  const socket = connect({ host: hostname, port: Number(port), localAddress: from })
  let text = ""
  socket.on("error", () => {}).on("data", (chunk) => {
    // The heads of many answers, not megabytes of them.
    if (text.length < 1_000_000) text += chunk.toString("latin1")
  })
  return { socket, text: () => text, ended: new Promise((resolve) => socket.on("close", () => resolve())) }
}

/** Statuses of the responses on a connection, in order; 0 for a connection that was closed without a response. */
const statusesOf = (text: string): ReadonlyArray<number> => {
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
    .filter((status) => status >= 200)
  return statuses.length === 0 ? [0] : statuses
}

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

/** Sends `text` over one connection and reads until the service ends it, or `millis` have passed. */
const exchange = async (target: Target, text: string | Uint8Array, millis = 3000): Promise<ReadonlyArray<number>> => {
  const line = dial(target)
  line.socket.write(text)
  await Promise.race([line.ended, pause(millis)])
  line.socket.destroy()
  return statusesOf(line.text())
}

/**
 * A connection that sends `text` and reads no more than its buffer holds. Resolves with the first bytes of the answer.
 */
const dialUnread = (target: Target, text: string) => {
  const line = dial(target)
  const answered = new Promise<void>((resolve) => line.socket.on("readable", resolve))
  line.socket.write(text)
  return { ...line, answered }
}

/** Connections that are opened or closed at once. They are work of the main thread at one moment. */
const atOnce = 100

/** Opens `count` connections that send `text` and read nothing for `millis`. */
const unread = async (target: Target, count: number, text: string, millis: number): Promise<ReadonlyArray<number>> => {
  const lines: Array<Line> = []
  while (lines.length < count) {
    const group = Array.from({ length: Math.min(atOnce, count - lines.length) }, () => dialUnread(target, text))
    lines.push(...group)
    await Promise.race([
      Promise.all(group.map(({ answered, ended }) => Promise.race([answered, ended]))),
      pause(millis),
    ])
  }
  await pause(millis)
  while (lines.length > 0) {
    for (const { socket } of lines.splice(0, atOnce)) socket.destroy()
    await target.send("GET", "/healthz")
  }
  return [200]
}

const head = (method: string, path: string, more = "") => `${method} ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
const openapi = head("GET", "/openapi.json")

const generateHead = ({ key, org }: Target, more: string) =>
  head("POST", `/api/generate/${org}`, `X-Api-Key: ${key}\r\nContent-Type: application/json\r\n${more}`)

const body = JSON.stringify({ template_id: "welcome" })
const generate = (target: Target) => generateHead(target, `Content-Length: ${body.length}\r\n`) + body

const one = (name: string, bytes: number, run: Attack["run"]): Attack => ({ name, bytes, run })

/** Requests whose heads or framing are wrong in one way each. */
const shapes: Readonly<Record<string, (target: Target) => string>> = {
  "10,000 header lines": () => head("GET", "/healthz", "a: b\r\n".repeat(10_000)),
  "2,500 header lines of one byte": () => head("GET", "/healthz", "a:\r\n".repeat(2500)),
  "a header line of 1 MB": () => head("GET", "/healthz", `x: ${"y".repeat(1_000_000)}\r\n`),
  "header names that collide as integers": () =>
    head("GET", "/healthz", Array.from({ length: 1500 }, (_, i) => `${(i + 1) * 8192}:\r\n`).join("")),
  "a query of 16 kB": () => head("GET", `/api/generate/attacker?${"a=1&".repeat(4000)}`),
  "a query of 1 MB": () => head("GET", `/docs?${"a[b]=1&".repeat(140_000)}`),
  "a query of brackets": (target) =>
    head(
      "GET",
      `/api/generate/${target.org}?template_id=welcome&${"attrs[a]=1&".repeat(1200)}`,
      `X-Api-Key: ${target.key}\r\n`,
    ),
  "a path of 15,000 slashes": () => head("GET", "/".repeat(15_000)),
  "a path of 15,000 percent signs": () => head("GET", `/${"%".repeat(15_000)}`),
  "a path of dots": () => head("GET", "/../".repeat(3500)),
  "two lengths": (target) => generateHead(target, "Content-Length: 5\r\nContent-Length: 6\r\n") + "12345",
  "a length and chunks": (target) =>
    generateHead(target, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n",
  "a negative length": (target) => generateHead(target, "Content-Length: -1\r\n"),
  "a length of 10^18": (target) => generateHead(target, "Content-Length: 1000000000000000000\r\n") + "x",
  "a chunk that claims 2^60 bytes": (target) =>
    generateHead(target, "Transfer-Encoding: chunked\r\n") + "fffffffffffffff\r\nx",
  "a chunk extension of 1 MB": (target) =>
    generateHead(target, "Transfer-Encoding: chunked\r\n") + `1;${"x".repeat(1_000_000)}\r\n{\r\n`,
  "trailers of 1 MB": (target) =>
    `${generateHead(target, "Transfer-Encoding: chunked\r\n")}${body.length.toString(16)}\r\n${body}\r\n0\r\n` +
    `${"a: b\r\n".repeat(170_000)}\r\n`,
  "a folded header": () => "GET /healthz HTTP/1.1\r\nHost: x\r\n y\r\n\tz\r\n\r\n",
  "a header without a name": () => head("GET", "/healthz", ": x\r\n"),
  "NUL in a header": () => head("GET", "/healthz", "x: a\0b\r\n"),
  "bare line feeds": () => "GET /healthz HTTP/1.1\nHost: x\n\n",
  "no host": () => "GET /healthz HTTP/1.1\r\n\r\n",
  "twenty hosts": () => head("GET", "/healthz", "Host: y\r\n".repeat(20)),
  "an unknown method": () => head("BREW", "/healthz"),
  "a tunnel": () => "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n",
  "an upgrade to HTTP/2": () =>
    head(
      "GET",
      "/healthz",
      "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
    ),
  "an upgrade to WebSocket": () =>
    head(
      "GET",
      "/healthz",
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n",
    ),
  "the preface of HTTP/2": () => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${"\0".repeat(9)}`,
  "TLS instead of HTTP": () => `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${"x".repeat(512)}`,
  "64 kB of noise": () => Array.from({ length: 65_536 }, (_, i) => String.fromCharCode(i * 7919 % 256)).join(""),
  "an unknown expectation": (target) =>
    generateHead(target, `Expect: 200-maybe\r\nContent-Length: ${body.length}\r\n`) + body,
  "20,000 cookies": () => head("GET", "/console", `Cookie: ${"a=b; ".repeat(3000)}\r\n`),
  "15 kB of Accept-Encoding": () => head("GET", "/openapi.json", `Accept-Encoding: ${"gzip;q=0,".repeat(1600)}\r\n`),
  "15 kB of If-None-Match": () => head("GET", "/openapi.json", `If-None-Match: ${`W/"x",`.repeat(2500)}\r\n`),
  "15 kB of X-Forwarded-For": () => head("GET", "/console/sign-in", `X-Forwarded-For: ${"::1,".repeat(3800)}\r\n`),
}

export const attacks: ReadonlyArray<Attack> = [
  one(
    "1,500 connections that ask for /openapi.json and read nothing",
    40,
    (target) => unread(target, 1500, openapi, 4000),
  ),
  one(
    "50 connections that ask 60 times for /openapi.json and read nothing",
    60 * openapi.length,
    (target) => unread(target, 50, openapi.repeat(60), 4000),
  ),
  one(
    "50 connections that ask 60 times for /docs and the console's sign-in and read nothing",
    5000,
    (target) => unread(target, 50, (head("GET", "/docs") + head("GET", "/console/sign-in")).repeat(30), 4000),
  ),
  one(
    "50 connections that ask 60 times for /metrics and read nothing",
    5000,
    (target) => unread(target, 50, head("GET", "/metrics").repeat(60), 4000),
  ),
  one(
    "20 connections that call Generate 60 times and read nothing",
    20_000,
    (target) => unread(target, 20, generate(target).repeat(60), 4000),
  ),
  one("100 connections that read one byte at a time", 40, async (target) => {
    const lines = Array.from({ length: 100 }, () => {
      const line = dial(target)
      line.socket.pause()
      line.socket.write(openapi)
      return line
    })
    for (let i = 0; i < 100; i++) {
      for (const { socket } of lines) socket.read(1)
      await pause(20)
    }
    for (const { socket } of lines) socket.destroy()
    return [200]
  }),
  one("3,000 connections that send nothing", 0, async (target) => {
    const lines = Array.from({ length: 3000 }, () => dial(target))
    await pause(3000)
    for (const { socket } of lines) socket.destroy()
    return lines.flatMap((line) => statusesOf(line.text())).filter((status) => status !== 0)
  }),
  one("2,000 connections that are opened and reset", 40, async (target) => {
    for (let round = 0; round < 20; round++) {
      const lines = Array.from({ length: 100 }, () => dial(target))
      for (const { socket } of lines) socket.write(openapi, () => socket.resetAndDestroy())
      await Promise.race([Promise.all(lines.map(({ ended }) => ended)), pause(2000)])
    }
    return [200]
  }),
  one(
    "100,000 requests in one packet train that nobody waits for",
    100_000 * 35,
    (target) => exchange(target, head("GET", "/x").repeat(100_000)),
  ),
  one("2,000 HEAD and OPTIONS requests on one connection, 50 at a time", 2000 * 40, async (target) => {
    const line = dial(target)
    const both = (head("HEAD", "/openapi.json") + head("OPTIONS", "/api/webhook/events/attacker")).repeat(25)
    for (let i = 1; i <= 40; i++) {
      line.socket.write(both)
      for (let tries = 0; statusesOf(line.text()).length < 50 * i && tries < 200 && !line.socket.destroyed; tries++) {
        await pause(10)
      }
    }
    line.socket.destroy()
    return statusesOf(line.text())
  }),
  one("a body of 64 kB in chunks of one byte", 64 * 1024 * 6, (target) => {
    const json = JSON.stringify({ template_id: "welcome", fields: { a: "x".repeat(64 * 1024) } })
    const chunks = [...json].map((character) => `1\r\n${character}\r\n`).join("")
    return exchange(target, `${generateHead(target, "Transfer-Encoding: chunked\r\n")}${chunks}0\r\n\r\n`)
  }),
  one("a body of 1 MB in chunks of one byte with extensions", 1024 * 1024 * 10, (target) => {
    const chunks = "1;a=b\r\nx\r\n".repeat(1024 * 1024)
    return exchange(target, `${generateHead(target, "Transfer-Encoding: chunked\r\n")}${chunks}0\r\n\r\n`, 6000)
  }),
  one("500 bodies that are announced with Expect and never sent", 200, async (target) => {
    const lines = Array.from({ length: 500 }, () => {
      const line = dial(target)
      line.socket.write(generateHead(target, "Expect: 100-continue\r\nContent-Length: 1000000\r\n"))
      return line
    })
    await pause(3000)
    for (const { socket } of lines) socket.destroy()
    return lines.flatMap((line) => statusesOf(line.text())).filter((status) => status !== 0)
  }),
  one("200 webhook bodies of 8 MB of which only the first bytes come", 8 * 1024 * 1024, async (target) => {
    const { key, org } = target
    const start = head(
      "POST",
      `/api/webhook/events/${org}`,
      `X-Api-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${8 * 1024 * 1024}\r\n`,
    )
    const lines = Array.from({ length: 200 }, () => {
      const line = dial(target)
      line.socket.write(Buffer.concat([Buffer.from(start), Buffer.alloc(100_000, "[")]))
      return line
    })
    await pause(3000)
    for (const { socket } of lines) socket.destroy()
    return lines.flatMap((line) => statusesOf(line.text())).filter((status) => status !== 0)
  }),
  ...Object.entries(shapes).map(([name, text]) =>
    one(`20 times ${name}`, 1_000_000, async (target) => {
      const all = await Promise.all(Array.from({ length: 20 }, () => exchange(target, text(target), 2000)))
      return all.flat()
    })
  ),
]
