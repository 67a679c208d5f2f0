import { Context, Metric } from "effect"

// Each metric is created with its labels, because `Metric.withAttributes` would merge labels at each update and
// allocate 0.8 kB.

/** Answered requests, by kind of route and status. */
const requests = (route: RouteKind, status: number) =>
  Metric.counter("parlance_http_requests_total", { incremental: true, attributes: { route, status: String(status) } })

/**
 * Time from a request's headers to its response, by kind of route and class of status. Unit: seconds, measured in
 * milliseconds.
 */
const durations = (route: RouteKind, status: number) =>
  Metric.histogram("parlance_http_request_seconds", {
    boundaries: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    attributes: { route, status: `${Math.floor(status / 100)}xx` },
  })

/**
 * Kind of the route: `refused` for requests refused under load before routing, and `other` for requests without a
 * route.
 */
type RouteKind =
  | "generate"
  | "batch_generate"
  | "deliver"
  | "delay"
  | "webhook"
  | "tracking"
  | "management"
  | "console"
  | "operations"
  | "refused"
  | "other"

const prefixes: ReadonlyArray<readonly [string, RouteKind]> = [
  ["/api/generate/", "generate"],
  ["/api/batch-generate/", "batch_generate"],
  ["/api/deliver/", "deliver"],
  ["/api/delay/", "delay"],
  ["/api/webhook/", "webhook"],
  ["/o/", "tracking"],
  ["/c/", "tracking"],
  ["/u/", "tracking"],
  ["/i/", "tracking"],
  ["/console/api/", "management"],
  ["/console", "console"],
]

const kinds = new Map<string, RouteKind>()

/** Returns the kind of a route by its declared path. An undefined path means no route. */
export const kindOf = (path: string | undefined): RouteKind => {
  if (path === undefined) return "other"
  const known = kinds.get(path)
  if (known !== undefined) return known
  const kind = prefixes.find(([prefix]) => path.startsWith(prefix))?.[1] ?? "operations"
  kinds.set(path, kind)
  return kind
}

type Counter = Metric.Metric<number, unknown>

const byKind = new Map<RouteKind, Map<number, { readonly count: Counter; readonly duration: Counter }>>()

const metricsOf = (route: RouteKind, status: number) => {
  let byStatus = byKind.get(route)
  if (byStatus === undefined) byKind.set(route, byStatus = new Map())
  let metrics = byStatus.get(status)
  if (metrics === undefined) {
    metrics = { count: requests(route, status), duration: durations(route, status) }
    byStatus.set(status, metrics)
  }
  return metrics
}

const process = Context.empty()

/** Counts one answered request and records its duration. */
export const measure = (route: RouteKind, status: number, millis: number): void => {
  const { count, duration } = metricsOf(route, status)
  count.updateUnsafe(1, process)
  duration.updateUnsafe(Math.max(0, millis) / 1000, process)
}

/** Counts requests refused with 503 before routing. */
export const countRefused = (requests: number): void => metricsOf("refused", 503).count.updateUnsafe(requests, process)
