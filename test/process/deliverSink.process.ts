// A platform in a process of its own, so that its clock is not the service's and a busy service does not delay it: an
// SMTP server, one that treats recipients by their addresses, or a webhook that takes each id once. It keeps when each
// message was taken whole, by a clock that does not jump.
//
//   deno run -A test/process/deliverSink.process.ts smtp|recipients|webhook [OPTIONS]
//
// OPTIONS are the options of RecipientServer.ts as JSON. Prints one line of JSON, `{"port", "control"}`. `GET
// :control/arrivals?from=N` answers what arrived since the N-th, and `/attempts?from=N` all attempts of `recipients`.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import process from "node:process"
import { SMTPServer } from "smtp-server"
import { type Attempt, startRecipientServer } from "../support/platformServers/RecipientServer.ts"
import type { SinkArrival } from "./deliverSink.ts"

const arrivals: Array<SinkArrival> = []
let attempts: ReadonlyArray<Attempt> = []

/** Unix milliseconds of a clock that does not jump. */
const now = () => performance.timeOrigin + performance.now()

/** Start of the last turn of the event loop. Bytes that the next turn reads may have arrived at any time since. */
let lastTurn = now()
setInterval(() => {
  lastTurn = now()
}, 1)

/** Listens on a free port of loopback. */
const listen = (server: { listen: (port: number, host: string, done: () => void) => unknown }, at: () => unknown) =>
  new Promise<number>((resolve) => server.listen(0, "127.0.0.1", () => resolve((at() as AddressInfo).port)))

const startSmtp = () => {
  const began = new Map<string, number>()
  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    authOptional: true,
    disableReverseLookup: true,
    logger: false,
    onMailFrom: (_, session, done) => {
      began.set(session.id, lastTurn)
      done()
    },
    onClose: ({ id }) => void began.delete(id),
    onData: (stream, session, done) => {
      let head = ""
      let isHead = true
      stream.on("data", (chunk: Uint8Array) => {
        if (!isHead) return
        head += new TextDecoder("latin1").decode(chunk)
        isHead = !head.includes("\r\n\r\n")
      })
      stream.on("end", () => {
        const lines = head.replaceAll(/\r\n[ \t]+/g, " ")
        const find = (pattern: RegExp) => pattern.exec(lines)?.[1]
        const path = find(/^list-unsubscribe:\s*<https?:\/\/[^/]+(\/u\/[\w-]+)>/im)
        const id = find(/^x-tracking-id:\s*(\S+)/im) ?? ""
        const to = session.envelope.rcptTo[0]?.address ?? ""
        arrivals.push([id, to, now(), true, began.get(session.id)!, path, find(/^subject:\s*(.*)$/im)])
        done()
      })
    },
  })
  // A client that was killed breaks its sessions off.
  server.on("error", () => {})
  return listen(server, () => server.server.address())
}

const startWebhook = () => {
  const taken = new Set<string>()
  const server = createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8")
    request.on("data", (chunk: string) => text += chunk)
    request.on("error", () => {})
    request.on("end", () => {
      if (!request.complete) return
      const id = String(request.headers["webhook-id"])
      arrivals.push([id, JSON.parse(text).data?.email ?? "", now(), !taken.has(id)])
      taken.add(id)
      response.writeHead(202, { "content-type": "application/json" }).end("{}")
    })
  })
  return listen(server, () => server.address())
}

const startRecipients = async () => {
  const server = await startRecipientServer(JSON.parse(process.argv[3] ?? "{}"))
  attempts = server.attempts
  let seen = 0
  void server.until(() => {
    for (; seen < attempts.length; seen++) {
      const { at, email, id, outcome } = attempts[seen]!
      if (outcome === "accepted") arrivals.push([id, email, at, true])
    }
    return false
  })
  return server.port
}

const control = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://sink")
  const from = Number(searchParams.get("from") ?? 0)
  const all: ReadonlyArray<unknown> = pathname === "/attempts" ? attempts : arrivals
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(all.slice(from)))
})

const start = { smtp: startSmtp, webhook: startWebhook, recipients: startRecipients }
const port = await start[process.argv[2] as keyof typeof start]()
console.log(JSON.stringify({ port, control: await listen(control, () => control.address()) }))
