import { Buffer } from "node:buffer"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { performance } from "node:perf_hooks"
import { requestIdOf } from "./Envelope.ts"
import { type Gate, type Kind, kindOf, lookMillis } from "./LoadGate.ts"
import { Unavailable } from "./Problems.ts"
import { retryAfter } from "./RetryAfter.ts"

const { detail, status, title, type } = new Unavailable({
  detail: "The service has more to do than it can and took nothing of this request",
})
const body = JSON.stringify({ detail, type, status, title })

const headers = {
  "Content-Type": "application/problem+json",
  "Content-Length": String(Buffer.byteLength(body)),
  "Cache-Control": "no-store",
}

const refuse = (request: IncomingMessage, response: ServerResponse): void => {
  const requestId = requestIdOf(request.headers["x-request-id"] as string | undefined)
  response.writeHead(503, { ...headers, "Retry-After": retryAfter(), "X-Request-Id": requestId })
  response.end(body)
}

// The same as it goes over the wire, around what differs.
const lines = "HTTP/1.1 503 Service Unavailable\r\n" +
  Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("")
const rest = `\r\n\r\n${body}`

/** A request that is in one piece of what came over a connection, and all of that. */
export interface Whole {
  readonly kind: Kind
  readonly requestId: string | undefined
}

const method = /^[A-Z]{3,7}$/
const digits = /^\d{1,9}$/

/** Whether a line feed stands without its carriage return, which some parsers take for the end of a line. */
const hasBareLineFeed = (head: string): boolean => {
  for (let at = head.indexOf("\n"); at !== -1; at = head.indexOf("\n", at + 1)) if (head[at - 1] !== "\r") return true
  return false
}

/**
 * What a piece of a connection asks for, if it is one whole request of a plain kind; undefined for anything that is best left
 * to the parser. Written by hand, since it runs for every refusal.
 */
export const wholeOf = (piece: Buffer): Whole | undefined => {
  // As text, since looking through the bytes costs a hundred times as much here. Headers are 16 KiB at most.
  const text = piece.toString("latin1", 0, Math.min(piece.length, 16 * 1024))
  const end = text.indexOf("\r\n\r\n")
  if (end === -1) return undefined
  const head = text.slice(0, end + 2)
  const afterMethod = head.indexOf(" ")
  const afterPath = head.indexOf(" ", afterMethod + 1)
  if (
    afterPath === -1 || head[afterMethod + 1] !== "/" || !head.startsWith("HTTP/1.1\r\n", afterPath + 1) ||
    !method.test(head.slice(0, afterMethod)) || hasBareLineFeed(head)
  ) return undefined
  let length: string | undefined
  let requestId: string | undefined
  for (let at = head.indexOf("\r\n") + 2; at < head.length; at = head.indexOf("\r\n", at) + 2) {
    switch (head.charCodeAt(at) | 32) {
      // A space or a tab: the line goes on with the one before.
      case 32:
      case 41:
        return undefined
      case 99: // c
      case 101: // e
      case 116: // t
      case 117: // u
      case 120: { // x
        const colon = head.indexOf(":", at)
        const lineEnd = head.indexOf("\r\n", at)
        if (colon === -1 || colon > lineEnd) return undefined
        switch (head.slice(at, colon).trim().toLowerCase()) {
          case "content-length": {
            const value = head.slice(colon + 1, lineEnd).trim()
            if (length !== undefined || !digits.test(value)) return undefined
            length = value
            break
          }
          case "connection":
            if (head.slice(colon + 1, lineEnd).trim().toLowerCase() !== "keep-alive") return undefined
            break
          case "expect":
          case "transfer-encoding":
          case "upgrade":
            return undefined
          case "x-request-id":
            requestId = head.slice(colon + 1, lineEnd).trim()
            break
        }
      }
    }
  }
  return piece.length === end + 4 + Number(length ?? 0)
    ? { kind: kindOf(head.slice(afterMethod + 1, afterPath)), requestId }
    : undefined
}

/** What Deno's and Node's parser of a connection can do: reading the socket itself, which is cheaper, or not. */
interface Parser {
  readonly consume: (handle: unknown) => void
  readonly unconsume: () => void
}

/** A connection whose requests are looked at before the parser sees them. */
interface Looked {
  /** Nothing is under way, so that the next piece begins a request. */
  idle: boolean
}

/** In work at once from which on the event loop is looked at: below, it costs nothing. */
const watchedFrom = 16

/** How often it is looked for requests that do not arrive. Unit: milliseconds. */
const sweepMillis = 100

/**
 * Refuses requests of a server that its gate does not let in. The first of a connection is refused as soon as Node has parsed
 * it. As whoever asks too much goes on asking, the next ones are refused by the bytes they came as, at half of that cost, until
 * the service is at ease again: it is what refusing costs that decides how much is left for those who are served.
 */
export const install = (server: Server, gate: Gate): void => {
  let watching = false
  const watch = () => {
    watching = true
    const begun = performance.now()
    const timer: unknown = setTimeout(() => {
      const passed = performance.now() - begun
      gate.look(Math.max(0, passed - lookMillis), passed)
      watching = false
      if (gate.inFlight >= watchedFrom || gate.limit < gate.maxInFlight) watch()
    }, lookMillis)
    // Nothing is to be kept alive for it.
    if (timer instanceof Object && "unref" in timer && typeof timer.unref === "function") timer.unref()
  }

  const lookedAt = new WeakMap<Socket, Looked>()

  /** From here on looks at what comes over a connection that is idle now. */
  const lookAt = (socket: Socket) => {
    const { _handle: handle, parser } = socket as unknown as { readonly _handle?: unknown; readonly parser?: Parser }
    const [parse, ...more] = socket.listeners("data") as Array<(piece: Buffer) => void>
    if (
      lookedAt.has(socket) || socket.destroyed || parse === undefined || more.length > 0 || handle == null ||
      typeof parser?.unconsume !== "function" || typeof parser.consume !== "function"
    ) return
    const looked: Looked = { idle: true }
    lookedAt.set(socket, looked)
    const onData = (piece: Buffer) => {
      const whole = looked.idle ? wholeOf(piece) : undefined
      if (whole !== undefined && gate.isFull(whole.kind)) {
        gate.refused(whole.kind)
        socket.write(
          `${lines}Retry-After: ${retryAfter()}\r\nX-Request-Id: ${requestIdOf(whole.requestId)}${rest}`,
          "latin1",
        )
        return
      }
      // What is not one whole request is never looked at again: where the next one begins is known to the parser alone.
      looked.idle = false
      if (gate.isAtEase() || whole === undefined) {
        socket.removeListener("data", onData)
        socket.on("data", parse)
        lookedAt.delete(socket)
        parse.call(socket, piece)
        if (!socket.destroyed) parser.consume(handle)
      } else {
        parse.call(socket, piece)
      }
    }
    parser.unconsume()
    socket.removeListener("data", parse)
    socket.on("data", onData)
  }

  // Those that count as in work.
  const inWork = new Set<IncomingMessage>()
  let sweptAt = -Infinity

  /**
   * Lets those go uncounted whose bodies are still on their way: a slow client makes no work, and must not keep others out.
   * Seldom, since it looks at all of them.
   */
  const sweep = () => {
    const now = performance.now()
    if (now - sweptAt < sweepMillis) return
    sweptAt = now
    for (const request of inWork) {
      if (!request.complete && inWork.delete(request)) gate.leave()
    }
  }

  const enters = (kind: Kind): boolean => {
    if (gate.isFull(kind)) sweep()
    return gate.enter(kind)
  }

  const emit = server.emit as (this: Server, ...args: ReadonlyArray<unknown>) => boolean
  // A listener of its own could not keep the request from the others.
  server.emit = function (this: Server, event: string, ...args: Array<unknown>): boolean {
    if (event !== "request") return emit.call(this, event, ...args)
    const [request, response] = args as [IncomingMessage, ServerResponse]
    const { socket } = request
    const looked = lookedAt.get(socket)
    if (enters(kindOf(request.url ?? ""))) {
      inWork.add(request)
      response.on("close", () => {
        if (inWork.delete(request)) gate.leave()
        if (looked !== undefined) looked.idle = true
      })
      if (!watching && gate.inFlight >= watchedFrom) watch()
      return emit.call(this, event, ...args)
    }
    response.on("close", () => {
      if (looked !== undefined) looked.idle = true
      else if (request.complete) lookAt(socket)
    })
    refuse(request, response)
    return true
  } as Server["emit"]
}
