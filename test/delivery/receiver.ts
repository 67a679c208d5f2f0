import { createHmac } from "node:crypto"
import { Buffer } from "node:buffer"
import { Effect } from "effect"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { makeWatch } from "../support/platformServers/Watch.ts"

/** A fault of one request. */
export type Fault =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown }
  /** `hang`: no answer; `refuse`: reset, not taken; `lose`: taken, then reset. */
  | { readonly how: "hang" | "refuse" | "lose" }
  /** Taken and answered after this time. Unit: milliseconds. */
  | { readonly how: "slow"; readonly millis: number }

/** A message that the receiver has taken for the first time. */
export interface Arrival {
  readonly id: string
  /** Unix milliseconds, when its request began to come in. */
  readonly at: number
}

export interface Request {
  readonly headers: IncomingHttpHeaders
  // deno-lint-ignore no-explicit-any -- what a test reads of a body it also asserts
  readonly json: any
  readonly at: number
}

/** An HTTP server that takes signed messages, each id once, and does as the test says. */
export interface Receiver {
  readonly url: string
  readonly requests: ReadonlyArray<Request>
  readonly arrivals: ReadonlyArray<Arrival>
  /** Ids that came again after they had been taken, by how often. */
  readonly repeated: ReadonlyMap<string, number>
  /** Resolves once `holds` does, checked after each request. */
  readonly until: (holds: () => boolean) => Promise<void>
  /** Aborts all hanging requests. */
  readonly breakOff: () => void
  readonly close: () => Promise<void>
}

/** `whsec_` and 32 bytes. */
export const signingSecret = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`

export interface ReceiverOptions {
  /** The fault of the n-th message, from 0. */
  readonly fault?: (n: number) => Fault | undefined
  /** In place of `fault`: the fault of messages to this address. */
  readonly faultOf?: (email: string) => Fault | undefined
  /** The n-th message is taken and answered after this. */
  readonly before?: (n: number) => Promise<unknown> | undefined
}

export const startReceiver = ({ before, fault, faultOf }: ReceiverOptions = {}): Promise<Receiver> =>
  new Promise((resolve, reject) => {
    const requests: Array<Request> = []
    const arrivals: Array<Arrival> = []
    const taken = new Set<string>()
    const repeated = new Map<string, number>()
    const sockets = new Set<Socket>()
    const hanging = new Set<Socket>()
    const { changed, until } = makeWatch()
    let messages = 0
    const server = createServer((request, response) => {
      const at = Date.now()
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("error", () => {})
      request.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8")
        const id = String(request.headers["webhook-id"])
        const answer = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
          void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
        const signature = createHmac("sha256", Buffer.from(signingSecret.slice(6), "base64"))
          .update(`${id}.${request.headers["webhook-timestamp"]}.${text}`).digest("base64")
        const json = JSON.parse(text)
        const take = () => {
          if (taken.has(id)) return void repeated.set(id, (repeated.get(id) ?? 0) + 1)
          taken.add(id)
          arrivals.push({ id: json.data.tracking_id, at })
        }
        const respond = (n: number) => {
          const wrong = faultOf === undefined ? fault?.(n) : faultOf(json.data.email)
          const accept = () => {
            take()
            answer(202, { message_id: `wm-${id}` })
          }
          if (wrong === undefined) accept()
          else if ("status" in wrong) answer(wrong.status, wrong.body ?? {}, wrong.headers)
          else if (wrong.how === "slow") setTimeout(accept, wrong.millis)
          else if (wrong.how === "hang") hanging.add(request.socket)
          else {
            if (wrong.how === "lose") take()
            request.socket.destroy()
          }
        }
        if (request.headers["webhook-signature"] !== `v1,${signature}`) answer(401, { error: "signature" })
        else if (json.type === "connection.test") answer(200, {})
        else {
          const n = messages++
          const gate = before?.(n)
          if (gate === undefined) respond(n)
          else void gate.then(() => respond(n))
        }
        requests.push({ headers: request.headers, json, at })
        changed()
      })
    })
    server.on("connection", (socket: Socket) => {
      sockets.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => sockets.delete(socket))
    })
    server.on("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      resolve({
        url: `http://127.0.0.1:${port}/`,
        requests,
        arrivals,
        repeated,
        breakOff: () => {
          for (const socket of hanging) socket.destroy()
        },
        until,
        close: () =>
          new Promise((done) => {
            for (const socket of sockets) socket.destroy()
            server.close(() => done())
          }),
      })
    })
  })

/** A receiver that ends with the scope. */
export const receiver = (options: ReceiverOptions = {}) =>
  Effect.acquireRelease(Effect.promise(() => startReceiver(options)), (server) => Effect.promise(() => server.close()))
