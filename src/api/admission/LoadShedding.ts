import { Buffer } from "node:buffer"
import { performance } from "node:perf_hooks"
import { SlotSet, type Slotted } from "../../domain/ShortLived.ts"
import type { Access } from "../../telemetry/AccessLog.ts"
import { begin, endAs, type LoopWork } from "../../telemetry/LoopWork.ts"
import { namedParts, nameOfParts, workNameOf } from "../ApiPaths.ts"
import type { RequestArrival } from "../http/RequestArrival.ts"
import { type Gate, lookMillis, type RequestKind } from "./LoadGate.ts"
import { Unavailable } from "../Problems.ts"
import { retryAfter } from "./RetryAfter.ts"
import { unref } from "../../runtime/unref.ts"

const { detail, status, title, type } = new Unavailable({
  detail: "The service is overloaded and did not process this request",
})
const body = JSON.stringify({ detail, type, status, title })

const headers = {
  "content-type": "application/problem+json",
  "content-length": String(Buffer.byteLength(body)),
  "cache-control": "no-store",
}

/** A request in work, with its entry for the monitor of the event loop. */
interface InWork extends Slotted {
  readonly arrival: RequestArrival
  readonly work: LoopWork
}

const refuse = ({ requestId }: RequestArrival): Response =>
  new Response(body, {
    status: 503,
    headers: { ...headers, "retry-after": retryAfter(), "x-request-id": requestId },
  })

/**
 * Number of requests in work from which the event loop is checked. With fewer requests, the checks would only cost
 * time.
 */
const watchedFrom = 16

/** Interval of the search for requests whose bodies have not arrived. Unit: milliseconds. */
const sweepMillis = 100

/**
 * Main-thread time that requests of the kind `management` can use at once, because anyone can send them over many
 * connections. After that, they get half of the elapsed time. A long request counts as at most 48 ms, and therefore
 * delays the next by at most 72 ms. Unit: milliseconds.
 */
const managementMillis = 12
const managementShare = 0.5

/** Maximum time in the queue for admission before a request is refused. Unit: milliseconds. */
const waitMillis = 500

/** Memory limit of all queued requests. Their bodies are read after admission. Unit: bytes. */
const waitingBytes = 64 * 1024 * 1024

/** Memory of a queued request (measured). Unit: bytes. */
const requestBytes = 8 * 1024

const kinds = ["management", "webhook", "tracking", "api"] as const

/** Options of the admission of requests. */
export interface LoadSheddingOptions {
  /** Replaces the maximum time in the queue for admission. */
  readonly waitMillis?: number
  /** Logs refused requests. Default: they are not logged. */
  readonly logAccess?: ((access: Access) => void) | undefined
}

interface Waiting {
  readonly arrival: RequestArrival
  readonly since: number
  /** Resolves the outcome of the request. Called once. */
  readonly decide: (outcome: "admitted" | "late" | "gone") => void
}

/** Creates the response to an admitted request. */
type Serve = (arrival: RequestArrival) => Response | Promise<Response>

/** Runs `serve` after the request is admitted, or refuses the request. */
export type Admit = (arrival: RequestArrival, serve: Serve) => Promise<Response>

/** Queues requests while the gate is full, and refuses a request that has been queued too long. */
export const make = (gate: Gate, options: LoadSheddingOptions = {}): Admit => {
  // Long: the functions share the state of one gate and call each other in a cycle (work, letIn, wait).
  const longest = options.waitMillis ?? waitMillis
  // Requests that count as in work.
  const inWork = new SlotSet<InWork>()
  /** Queued requests by kind, in order of arrival. */
  const waiting = {
    management: new Set<Waiting>(),
    webhook: new Set<Waiting>(),
    tracking: new Set<Waiting>(),
    api: new Set<Waiting>(),
  }
  let sweptAt = -Infinity
  // Main-thread time that management requests used beyond their share, and the time of its last update.
  let spentMillis = 0
  let spentAt = 0
  let watching = false

  const done = (request: InWork) => {
    if (!inWork.delete(request)) return
    gate.leave(request.arrival.kind)
    endAs(request.work, nameOfParts, namedParts(request.arrival))
  }

  /**
   * Stops counting requests whose bodies are still arriving, because a slow client causes no work and must not block
   * other requests. Runs rarely, because it visits all requests.
   */
  const sweep = (now: number) => {
    if (now - sweptAt < sweepMillis) return
    sweptAt = now
    for (const request of inWork.values()) if (request.arrival.isArriving) done(request)
  }

  /** Whether a request of this kind has to be queued. */
  const isHeld = (kind: RequestKind): boolean => {
    if (gate.isFull(kind)) return true
    if (kind !== "management") return false
    const now = performance.now()
    spentMillis = Math.max(0, spentMillis - (now - spentAt) * managementShare)
    spentAt = now
    return spentMillis >= managementMillis
  }

  const begun = (arrival: RequestArrival, serve: Serve): Response | Promise<Response> => {
    if (arrival.kind !== "management") return serve(arrival)
    const from = performance.now()
    const response = serve(arrival)
    spentAt = performance.now()
    spentMillis = Math.min(4 * managementMillis, spentMillis + spentAt - from)
    return response
  }

  /** Serves a request that has entered the gate. */
  const work = async (arrival: RequestArrival, serve: Serve): Promise<Response> => {
    const request: InWork = { slot: -1, arrival, work: begin(workNameOf, arrival) }
    inWork.add(request)
    watch()
    try {
      return await begun(arrival, serve)
    } finally {
      done(request)
      letIn()
    }
  }

  const turnAway = (arrival: RequestArrival): Response => {
    gate.refused(arrival.kind)
    const { method, requestId, waitedMillis } = arrival
    options.logAccess?.({ method, route: undefined, status: 503, millis: waitedMillis, org: undefined, requestId })
    return refuse(arrival)
  }

  const wait = async (
    kind: keyof typeof waiting,
    arrival: RequestArrival,
    since: number,
    serve: Serve,
  ): Promise<Response> => {
    if ((gate.waiting + 1) * requestBytes > waitingBytes) return turnAway(arrival)
    gate.waiting++
    watch()
    const outcome = await new Promise<Parameters<Waiting["decide"]>[0]>((resolve) => {
      const waits: Waiting = { arrival, since, decide: resolve }
      waiting[kind].add(waits)
      arrival.request.signal.addEventListener("abort", () => leave(kind, waits, "gone"), { once: true })
    })
    arrival.waitedMillis = performance.now() - since
    if (outcome === "admitted") return work(arrival, serve)
    // A client that has disconnected reads no response, so its refusal is neither counted nor logged.
    return outcome === "late" ? turnAway(arrival) : refuse(arrival)
  }

  const leave = (kind: keyof typeof waiting, waits: Waiting, outcome: Parameters<Waiting["decide"]>[0]): void => {
    if (!waiting[kind].delete(waits)) return
    gate.waiting--
    // Counted now, because the request begins in a later turn of the event loop.
    if (outcome === "admitted") gate.enter(kind)
    waits.decide(outcome)
  }

  const letIn = () => {
    if (gate.waiting === 0) return
    for (const kind of kinds) {
      for (const waits of waiting[kind]) {
        if (isHeld(kind)) break
        leave(kind, waits, "admitted")
      }
    }
  }

  /** Refuses requests that have been queued too long. */
  const turnAwayLate = (now: number) => {
    for (const kind of kinds) {
      for (const waits of waiting[kind]) {
        if (waits.since > now - longest) break
        leave(kind, waits, "late")
      }
    }
  }

  const watch = () => {
    if (watching || (gate.inFlight < watchedFrom && gate.limit === gate.maxInFlight && gate.waiting === 0)) return
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
      watching = false
      watch()
    }, lookMillis)
    unref(timer)
  }

  const enter = (arrival: RequestArrival, serve: Serve): Promise<Response> => {
    gate.enter(arrival.kind)
    return work(arrival, serve)
  }

  return (arrival, serve) => {
    const { kind } = arrival
    if (kind === "health" || !isHeld(kind)) return enter(arrival, serve)
    const now = performance.now()
    sweep(now)
    return isHeld(kind) ? wait(kind, arrival, now, serve) : enter(arrival, serve)
  }
}
