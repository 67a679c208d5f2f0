import { Buffer } from "node:buffer"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { performance } from "node:perf_hooks"
import { SlotSet, type Slotted } from "../../domain/ShortLived.ts"
import type { Access } from "../../telemetry/AccessLog.ts"
import { begin, endAs, type LoopWork } from "../../telemetry/LoopWork.ts"
import { namedParts, nameOfParts, workNameOf } from "../ApiPaths.ts"
import type { DirectRequest, DirectRoutes, Pass } from "../server/DirectRoutes.ts"
import { type Offer, plainBefore, type PlainResponse } from "../server/PlainConnections.ts"
import { withPlainPath } from "../server/PathText.ts"
import { requestIdOf } from "../server/Envelope.ts"
import { type Gate, kindOf, lookMillis, type RequestKind, tellWaited } from "./LoadGate.ts"
import { Line } from "../server/Line.ts"
import { Unavailable } from "../Problems.ts"
import { retryAfter } from "./RetryAfter.ts"

const { detail, status, title, type } = new Unavailable({
  detail: "The service is overloaded and did not process this request",
})
const body = JSON.stringify({ detail, type, status, title })

const headers = {
  "Content-Type": "application/problem+json",
  "Content-Length": String(Buffer.byteLength(body)),
  "Cache-Control": "no-store",
}

/**
 * A request and the server event that announced it: `checkContinue` if the client sends the body only after `100
 * Continue`.
 */
interface Asked {
  readonly event: "request" | "checkContinue"
  readonly kind: RequestKind
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** A request in work, with its entry for the watch of the event loop. */
interface InWork extends Slotted {
  readonly kind: RequestKind
  readonly request: DirectRequest
  work?: LoopWork | undefined
}

/** Refuses a request and returns its request id. */
const refuse = ({ event, request, response }: Asked): string => {
  // The client may send the body all the same, so the start of the next request on this connection is unknown.
  if (event === "checkContinue") response.shouldKeepAlive = false
  const requestId = requestIdOf(request.headers["x-request-id"] as string | undefined)
  response.writeHead(503, { ...headers, "Retry-After": retryAfter(), "X-Request-Id": requestId })
  response.end(body)
  return requestId
}

/** Requests in work from which the event loop is checked. Below, the checks would only cost time. */
const watchedFrom = 16

/** Most pipelined requests on one connection. A client that sends more without reading responses is disconnected. */
const maxPipelined = 64

/**
 * Bytes written for pipelined requests after which the connection closes with the next response. Such a client may not
 * read at all, and the operating system would buffer megabytes for it.
 */
const pipelinedBytes = 1024 * 1024

/** Interval of the search for requests whose bodies have not arrived. Unit: milliseconds. */
const sweepMillis = 100

/**
 * Budget of requests that are neither API requests nor webhooks: anybody can send them over many connections. They get
 * this much main-thread time at once, and then half of the time that passes. A single long request delays the next by
 * at most four times this value. Unit: milliseconds.
 */
const managementMillis = 12
const managementShare = 0.5

/** Longest wait for admission before a request is refused. Unit: milliseconds. */
const waitMillis = 500

/** Longest time for which a connection is not read. Unit: milliseconds. */
const restMillis = 1000

/** Most memory for all waiting requests. Unit: bytes. */
const waitingBytes = 64 * 1024 * 1024

/**
 * Memory of a waiting request without its body, and the most bytes of a body that are read before the handler asks for
 * it (both measured).
 */
const requestBytes = 8 * 1024
const bodyBytes = 128 * 1024

const kinds = ["management", "webhook", "tracking", "api"] as const

export interface LoadSheddingOptions {
  /** Replaces the longest wait for admission and the longest pause of a connection. */
  readonly waitMillis?: number
  readonly restMillis?: number
  /** Answers Generate, link and pixel requests directly where possible. All other requests go to the listeners of the server. */
  readonly respond?: DirectRoutes["Service"]["respond"]
  /** Logs refused requests. Default: they are not logged. */
  readonly logAccess?: ((access: Access) => void) | undefined
}

interface Waiting extends Asked {
  readonly since: number
  readonly bytes: number
}

const heldBy = (request: IncomingMessage): number => {
  const length = Number(request.headers["content-length"] ?? bodyBytes)
  return requestBytes + (length < bodyBytes ? length : bodyBytes)
}

/**
 * Makes requests wait while the gate is full, and refuses those that waited too long. The cost of refusals reduces the
 * capacity for served requests. So while many requests wait, connections that just got a response are not read, and
 * their next requests wait in the operating system's buffers at no cost. `busy` returns the sockets with a request in
 * work or waiting. An idle connection has neither. `offer` answers plain requests by direct routes, those that need not wait.
 */
export const install = (
  server: Server,
  gate: Gate,
  options: LoadSheddingOptions = {},
): { readonly busy: () => ReadonlySet<Socket>; readonly offer: Offer } => {
  // Long: short callbacks that share the state of one server and call each other in a cycle (work, letIn, wait).
  const longest = { waitMillis, restMillis, ...options }
  // Requests that count as in work.
  const inWork = new SlotSet<InWork>()
  const waiting = {
    management: new Line<Waiting>(),
    webhook: new Line<Waiting>(),
    tracking: new Line<Waiting>(),
    api: new Line<Waiting>(),
  }
  let held = 0
  const resting = new Line<Socket>()
  // Requests sent on a connection besides the current one, and the bytes written to it when the count began.
  const pipelined = new WeakMap<Socket, { readonly requests: Set<IncomingMessage>; bytesWritten: number }>()
  let sweptAt = -Infinity
  // Main-thread time of management requests beyond their share, and when it was measured.
  let spentMillis = 0
  let spentAt = 0
  let watching = false

  const done = (asked: InWork) => {
    if (!inWork.delete(asked)) return
    gate.leave(asked.kind)
    endAs(asked.work!, nameOfParts, namedParts(asked.request))
  }

  /**
   * Stops counting requests whose bodies are still arriving: a slow client causes no work and must not keep others out.
   * Runs rarely, because it visits all requests.
   */
  const sweep = (now: number) => {
    if (now - sweptAt < sweepMillis) return
    sweptAt = now
    for (const asked of inWork.values()) if (!asked.request.complete) done(asked)
  }

  const emit = server.emit as (this: Server, ...args: ReadonlyArray<unknown>) => boolean

  /**
   * Enough waiting requests to keep the server busy, and not more than it can admit within half of the longest wait.
   */
  const enough = () => Math.max(watchedFrom, Math.min(2 * gate.limit, gate.rate * waitMillis / 2))

  const rest = ({ kind, request: { socket } }: InWork) => {
    // Webhooks, tracking and management requests cause little load, so their connections are read all the time.
    if (kind !== "api" || socket.destroyed || gate.isEnding) return
    socket.pause()
    resting.enter(socket, performance.now())
    gate.resting = resting.size
    // The periodic check resumes the connection, so it must run even if there is no other work.
    watch()
  }

  /** Whether a request of this kind has to wait. */
  const isHeld = (kind: RequestKind): boolean => {
    if (gate.isFull(kind)) return true
    if (kind !== "management") return false
    const now = performance.now()
    spentMillis = Math.max(0, spentMillis - (now - spentAt) * managementShare)
    spentAt = now
    return spentMillis >= managementMillis
  }

  const pass: Pass = (request, response) => void emit.call(server, "request", request, response)

  const serve = ({ event, kind, request, response }: Asked, wasTried: boolean): void => {
    const mayBeDirect = !wasTried && event === "request" && (kind === "api" || kind === "tracking")
    if (mayBeDirect && options.respond?.(request, response, pass) === true) return
    if (kind !== "management") return void emit.call(server, event, request, response)
    const begun = performance.now()
    emit.call(server, event, request, response)
    spentAt = performance.now()
    spentMillis = Math.min(4 * managementMillis, spentMillis + spentAt - begun)
  }

  const beginWork = (asked: InWork): void => {
    const { kind, request } = asked
    gate.enter(kind)
    inWork.add(asked)
    asked.work = begin(workNameOf, request)
    watch()
  }

  /** Admits more requests after one is answered, and lets its connection rest while many wait. */
  const letMoreIn = (asked: InWork): void => {
    letIn()
    if (waiting.api.size >= enough() / 2) rest(asked)
  }

  const work = (asked: Asked & InWork, wasTried = false): void => {
    const { response } = asked
    beginWork(asked)
    // The response is complete, so it frees its slot even if the client reads slowly. The next request is admitted on
    // `close`, not here, because this runs inside the handler of the current one.
    response.on("prefinish", () => done(asked))
    response.on("close", () => {
      done(asked)
      letMoreIn(asked)
    })
    // Closes the connection after this response, so that the client does not send its next request to a closing
    // connection.
    if (gate.isEnding) response.shouldKeepAlive = false
    serve(asked, wasTried)
  }

  const turnAway = (asked: Asked, waitedMillis: number) => {
    gate.refused(asked.kind)
    // The connection also pauses after a refusal, regardless of the number of waiting requests.
    asked.response.on("close", () => rest(asked))
    const { method = "" } = asked.request
    const requestId = refuse(asked)
    options.logAccess?.({ method, route: undefined, status: 503, millis: waitedMillis, org: undefined, requestId })
  }

  const left = ({ bytes }: Waiting) => {
    gate.waiting--
    held -= bytes
  }

  const wait = (kind: keyof typeof waiting, asked: Asked, since: number) => {
    const bytes = heldBy(asked.request)
    if (held + bytes > waitingBytes) return turnAway(asked, 0)
    const waits: Waiting = { ...asked, since, bytes }
    gate.waiting++
    held += bytes
    watch()
    const leave = waiting[kind].enter(waits, since)
    asked.response.on("close", () => {
      // The client has disconnected.
      if (leave()) left(waits)
    })
  }

  const letIn = () => {
    if (gate.waiting === 0) return
    for (const kind of kinds) {
      while (!isHeld(kind)) {
        const next = waiting[kind].next()
        if (next === undefined) break
        left(next)
        tellWaited(next.request, performance.now() - next.since)
        work(next)
      }
    }
  }

  /** Refuses the requests that waited too long. */
  const turnAwayLate = (now: number) => {
    for (const kind of kinds) {
      for (;;) {
        const late = waiting[kind].next(now - longest.waitMillis)
        if (late === undefined) break
        left(late)
        turnAway(late, now - late.since)
      }
    }
  }

  /**
   * Resumes reading enough connections to keep the gate busy until the next check, and those that were paused for the
   * longest allowed time.
   */
  const wake = (now: number) => {
    for (let room = gate.isEnding ? Infinity : enough() - waiting.api.size;; room--) {
      const socket = resting.next(room > 0 ? now : now - longest.restMillis)
      if (socket === undefined) break
      socket.resume()
    }
    gate.resting = resting.size
  }

  const watch = () => {
    if (
      watching || (gate.inFlight < watchedFrom && gate.limit === gate.maxInFlight && gate.waiting + gate.resting === 0)
    ) return
    watching = true
    const begun = performance.now()
    const timer: unknown = setTimeout(() => {
      const now = performance.now()
      gate.look(Math.max(0, now - begun - lookMillis), now - begun)
      if (gate.waiting > 0) {
        sweep(now)
        turnAwayLate(now)
        letIn()
      }
      wake(now)
      watching = false
      watch()
    }, lookMillis)
    // The timer must not keep the process alive.
    if (timer instanceof Object && "unref" in timer && typeof timer.unref === "function") timer.unref()
  }

  const take = (asked: Asked) => {
    const { kind } = asked
    if (kind === "health" || !isHeld(kind)) return work(asked)
    const now = performance.now()
    sweep(now)
    if (isHeld(kind)) wait(kind, asked, now)
    else work(asked)
  }

  const passPlain: Pass = (_, response) => (response as PlainResponse).pass()

  const offer: Offer = (request, response) => {
    const { respond } = options
    const kind = kindOf(request.url)
    if (respond === undefined || (kind !== "api" && kind !== "tracking") || gate.isEnding || isHeld(kind)) return false
    const asked: InWork = { slot: -1, kind, request, work: undefined }
    beginWork(asked)
    response.ended = () => {
      done(asked)
      // In a later turn, as this runs inside the handler of the current request.
      if (gate.waiting > 0) setTimeout(() => letMoreIn(asked), 0)
    }
    const isTaken = respond(request, response, passPlain)
    if (!isTaken) done(asked)
    return isTaken
  }

  /**
   * Handles a pipelined request once the responses to the requests before it are written. If the connection closes
   * first, the request is dropped.
   */
  const defer = (asked: Asked) => {
    const { request, response } = asked
    const { socket } = request
    let sent = pipelined.get(socket)
    if (sent === undefined) {
      const requests = new Set<IncomingMessage>()
      pipelined.set(socket, sent = { requests, bytesWritten: 0 })
      // Destroys the requests here: the server would end each with an error of its own, whose stack takes 0.14 ms,
      // which is 300 ms for one packet of requests.
      socket.prependOnceListener("close", () => requests.forEach((request) => request.destroy()))
    }
    if (sent.requests.size === maxPipelined) {
      request.destroy()
      return void socket.destroy()
    }
    if (sent.requests.size === 0) sent.bytesWritten = socket.bytesWritten
    sent.requests.add(request)
    response.once("socket", () => {
      sent.requests.delete(request)
      if (socket.bytesWritten - sent.bytesWritten > pipelinedBytes) response.shouldKeepAlive = false
      // In a later turn: otherwise all requests that one connection pipelined would run before any other connection is
      // read. A timer, because Deno runs many immediates before it reads sockets again.
      setTimeout(() => {
        if (!socket.destroyed) take(asked)
      }, 0)
    })
  }

  // Overrides `emit`, because an additional listener could not keep the request from the others.
  server.emit = function (this: Server, event: string, ...args: Array<unknown>): boolean {
    if (event !== "request" && event !== "checkContinue") return emit.call(this, event, ...args)
    const [request, response] = args as [IncomingMessage, ServerResponse]
    request.url = withPlainPath(request.url ?? "")
    const asked: Asked = { event, kind: kindOf(request.url), request, response }
    const before = plainBefore(request)
    if (before?.isAdmitted === true) work(asked, true)
    else if (response.socket === null) defer(asked)
    else take(asked)
    return true
  } as Server["emit"]

  return {
    offer,
    busy: () => {
      const sockets = new Set<Socket>()
      for (const { request } of inWork.values()) sockets.add(request.socket)
      for (const kind of kinds) for (const { request } of waiting[kind]) sockets.add(request.socket)
      return sockets
    },
  }
}
