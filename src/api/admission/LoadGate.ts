import { Context, Effect, Layer, Metric } from "effect"
import { Settings } from "../../settings/Settings.ts"
import { countRefused } from "../http/RequestMetrics.ts"

/** Kind of a request, which decides when the request is refused. `health` is never refused. */
export type RequestKind = "api" | "webhook" | "tracking" | "management" | "health"

/** Paths of links in messages, which are open to the public. */
const tracked = /^\/[cou]\//

const health = new Set(["/healthz", "/readyz", "/metrics"])

/** Returns the kind of a request by its target: a path, or an absolute URL, which HTTP also allows. */
export const kindOf = (url: string): RequestKind => {
  if (!url.startsWith("/")) return kindOf(`/${url.replace(/^[a-z]+:\/\/[^/]*\//i, "")}`)
  if (url.startsWith("/api/")) return url.startsWith("webhook/", 5) ? "webhook" : "api"
  if (tracked.test(url)) return "tracking"
  const end = url.indexOf("?")
  return health.has(end === -1 ? url : url.slice(0, end)) ? "health" : "management"
}

/**
 * Share of the limit for each kind of request. The kinds are limited separately, so that no kind starves another:
 * platforms penalize failed webhooks, and operators need the console during an overload.
 */
const parts: Readonly<Record<RequestKind, number>> = {
  api: 1,
  webhook: 0.5,
  tracking: 0.5,
  management: 0.5,
  health: Infinity,
}

/** Delay of a due timer above which the event loop counts as overloaded if the delay persists. Unit: milliseconds. */
export const lateMillis = 50

/** Interval between checks of the event loop. Unit: milliseconds. */
export const lookMillis = 25

/**
 * Number of consecutive late checks that count as overload. A garbage collection or a large import can cause a single
 * late check.
 */
const looks = 2

/** Target of the response time when the event loop is the bottleneck. Unit: milliseconds. */
const answerMillis = 100

/**
 * Lower bound of the limit. With fewer concurrent requests, each turn of the event loop would serve only a few requests
 * and spend its remaining time on refusals.
 */
const leastLimit = 256

/**
 * Admission control: decides whether another request may start. `limit` bounds the requests in work. If the database is
 * the bottleneck, the response time is the limit divided by the rate. If this process is the bottleneck, the event loop
 * delays every request. When the loop runs late, the limit becomes the number of requests served within 100 ms at the
 * current rate (Little's law), or within 70 % of a turn of the loop if the turn is longer. Each check that is on time
 * raises the limit by a fifth. A slow database alone never lowers the limit, because smaller groups of writes would
 * only cost more.
 */
export class Gate {
  inFlight = 0
  readonly #byKind: Record<RequestKind, number> = { api: 0, webhook: 0, tracking: 0, management: 0, health: 0 }
  limit: number
  /** Requests that wait for admission. */
  waiting = 0
  /** Whether the shutdown has begun. Connections are then closed with their next response. */
  isEnding = false
  /** The smallest delay among the last two checks. Unit: milliseconds. */
  late = 0
  /** Moving average of requests finished per millisecond. */
  rate = 0
  readonly shed: Record<RequestKind, number> = { api: 0, webhook: 0, tracking: 0, management: 0, health: 0 }
  #left = 0
  #looked: Array<{ readonly late: number; readonly passed: number; readonly left: number }> = []

  constructor(readonly maxInFlight: number) {
    this.limit = maxInFlight
  }

  isFull(kind: RequestKind): boolean {
    return this.#byKind[kind] >= this.limit * parts[kind]
  }

  /** Counts a refused request. */
  refused(kind: RequestKind): void {
    this.shed[kind]++
  }

  /** Counts an admitted request until `leave`. */
  enter(kind: RequestKind): void {
    this.inFlight++
    this.#byKind[kind]++
  }

  leave(kind: RequestKind): void {
    this.inFlight--
    this.#byKind[kind]--
    this.#left++
  }

  /** Records the delay of the event loop, `passed` milliseconds after the previous check, and adapts the limit. */
  look(late: number, passed: number): void {
    this.#looked.push({ late, passed, left: this.#left })
    // A moving average over about ten checks, because requests finish in groups.
    this.rate += (this.#left / passed - this.rate) * 0.1
    this.#left = 0
    if (this.#looked.length > looks) this.#looked.shift()
    this.late = this.#looked.length < looks ? 0 : Math.min(...this.#looked.map(({ late }) => late))
    if (this.late > lateMillis) {
      const left = this.#looked.reduce((sum, look) => sum + look.left, 0)
      const millis = this.#looked.reduce((sum, look) => sum + look.passed, 0)
      // A limit below one turn of the loop would reduce the throughput.
      const within = Math.max(answerMillis, 0.7 * millis / looks)
      this.limit = Math.min(this.limit, Math.max(leastLimit, Math.ceil(left * within / millis)))
    } else if (late < lateMillis && this.limit < this.maxInFlight) {
      this.limit = Math.min(this.maxInFlight, Math.ceil(this.limit * 1.2))
    }
  }
}

/** Requests refused during overload, by kind. */
const shedRequests = (kind: string) =>
  Metric.counter("parlance_shed_requests_total", { incremental: true, attributes: { kind } })
const shedKinds = ["api", "webhook", "tracking", "management"] as const
const shedBy = Object.fromEntries(shedKinds.map((kind) => [kind, shedRequests(kind)]))
/** Requests in work, and their limit. */
const inFlight = Metric.gauge("parlance_in_flight_requests")
const inFlightLimit = Metric.gauge("parlance_in_flight_limit")
/** Requests that wait for admission. */
const waiting = Metric.gauge("parlance_waiting_requests")
/** Lower bound of the event loop's delay. 0 at low load, when the delay is not measured. Unit: seconds. */
const eventLoopDelay = Metric.gauge("parlance_event_loop_delay_seconds")

/** The gate of this process. */
export class LoadGate extends Context.Service<LoadGate, {
  readonly gate: Gate
  /** Updates the metrics of the gate. */
  readonly report: Effect.Effect<void>
}>()("parlance/api/admission/LoadGate") {
  static readonly layer = Layer.effect(
    LoadGate,
    Effect.gen(function* () {
      const gate = new Gate((yield* Settings).maxInFlight)
      const reported: Record<string, number> = { api: 0, webhook: 0, tracking: 0, management: 0 }
      const report = Effect.gen(function* () {
        yield* Metric.update(inFlight, gate.inFlight)
        yield* Metric.update(inFlightLimit, gate.limit)
        yield* Metric.update(waiting, gate.waiting)
        yield* Metric.update(eventLoopDelay, gate.late / 1000)
        for (const kind of shedKinds) {
          const more = gate.shed[kind] - reported[kind]!
          reported[kind] = gate.shed[kind]
          yield* Metric.update(shedBy[kind]!, more)
          if (more > 0) countRefused(more)
        }
      })
      // Other modules read the metrics, so they are updated every second.
      yield* report.pipe(Effect.delay("1 second"), Effect.forever, Effect.forkScoped)
      return LoadGate.of({ gate, report })
    }),
  )
}
