import { Context, Effect, Layer, Random, type Scope } from "effect"
import type { IncomingHttpHeaders } from "node:http"
import type { Socket } from "node:net"
import { AccessLog } from "../../telemetry/AccessLog.ts"
import { isTraced, TraceShare } from "../../telemetry/Tracing.ts"
import { requestIdOf } from "./Envelope.ts"
import { waitedMillis } from "../admission/LoadGate.ts"
import { kindOf, measure } from "./RequestMetrics.ts"

/** A response that is ready. */
export interface DirectResponse {
  readonly status: number
  /** By lowercase name, with `content-length`. `x-request-id` is added. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array | undefined
}

/** A request of Node's server, or a plain one that has arrived whole. */
export interface DirectRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly socket: Socket
  /** Whether it has arrived to its end. */
  readonly complete: boolean
}

/** Its response: written at once, or not at all. */
export interface DirectReply {
  /** The client has gone, or its connection was closed. */
  readonly destroyed: boolean
  readonly writeHead: (status: number, headers: Readonly<Record<string, string | number>>) => unknown
  readonly end: (body?: string | Uint8Array) => unknown
  readonly destroy: () => unknown
}

/** Request headers by lowercase name; the values of one that stands several times are joined. */
type Headers = Readonly<Record<string, string | undefined>>

/** Responds to a GET from memory, or leaves it to the router with undefined. `path` is the whole address, with its query. */
export type DirectRoute = (path: string, headers: Headers) => DirectResponse | undefined

/**
 * Takes on a request, or leaves it to the router with false. One that it has taken on it may still give back to the router with
 * `pass`, as long as it has written nothing; the body that it has read is kept for the router by `Body.keep`.
 */
export type DirectCall = (request: DirectRequest, response: DirectReply, pass: Pass) => boolean

/** Gives a request to the router. */
export type Pass = (request: DirectRequest, response: DirectReply) => void

/**
 * Routes that respond on Node's server, without a fiber. Reading the request and writing the response is then most of what a
 * request costs. A route is for requests that come in great numbers and need nothing but memory, or one write that many
 * requests share. Each path has a route of the router as well, which takes every request that the direct one does not: other
 * methods, refused requests and traced ones. Both send the same headers and count in the same metrics.
 */
export class DirectRoutes extends Context.Service<DirectRoutes, {
  /** Adds a route of GET without a body for addresses that begin with `prefix`, until the scope closes. */
  readonly add: (prefix: string, route: DirectRoute) => Effect.Effect<void, never, Scope.Scope>
  /** Adds a call of a method for addresses that begin with `prefix`, until the scope closes. */
  readonly addCall: (
    method: "GET" | "POST",
    prefix: string,
    call: DirectCall,
  ) => Effect.Effect<void, never, Scope.Scope>
  /** Takes on a request; false if no direct route does. */
  readonly respond: (request: DirectRequest, response: DirectReply, pass: Pass) => boolean
}>()("parlance/http/DirectRoutes") {
  static readonly layer = Layer.effect(
    DirectRoutes,
    Effect.gen(function* () {
      const share = yield* TraceShare
      const logAccess = yield* AccessLog
      const random = yield* Random.Random
      const routes: Array<readonly [prefix: string, route: DirectRoute]> = []
      const calls = {
        GET: new Array<readonly [prefix: string, call: DirectCall]>(),
        POST: new Array<readonly [prefix: string, call: DirectCall]>(),
      }

      const callOf = (method: "GET" | "POST", url: string): DirectCall | undefined => {
        for (const entry of calls[method]) if (url.startsWith(entry[0])) return entry[1]
        return undefined
      }

      const addTo = <R>(list: Array<readonly [string, R]>) => (prefix: string, route: R) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const entry = [prefix, route] as const
            list.push(entry)
            return entry
          }),
          (entry) => Effect.sync(() => void list.splice(list.indexOf(entry), 1)),
        ).pipe(Effect.asVoid)

      const respondToGet = (
        request: DirectRequest,
        response: DirectReply,
        headers: Headers,
        pass: Pass,
      ): boolean => {
        const { url = "" } = request
        const entry = routes.find(([prefix]) => url.startsWith(prefix))
        const call = entry === undefined ? callOf("GET", url) : undefined
        if (entry === undefined && call === undefined) return false
        if (headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined) return false
        if (share !== undefined && isTraced(request, headers, share, random)) return false
        if (entry === undefined) return call!(request, response, pass)
        const [prefix, route] = entry
        const ready = route(url, headers)
        if (ready === undefined) return false
        const { body, headers: own, status } = ready
        const requestId = requestIdOf(headers["x-request-id"])
        response.writeHead(status, { ...own, "x-request-id": requestId })
        response.end(body)
        const millis = waitedMillis(request)
        measure(kindOf(prefix), status, millis)
        logAccess?.({ method: "GET", route: `${prefix}:token`, status, millis, org: undefined, requestId })
        return true
      }

      const respond = (request: DirectRequest, response: DirectReply, pass: Pass): boolean => {
        const { method, url = "" } = request
        // Node makes a list of the values of Set-Cookie alone, which no request has.
        const headers = request.headers as Headers
        if (method === "GET") return respondToGet(request, response, headers, pass)
        if (method !== "POST") return false
        const call = callOf("POST", url)
        if (call === undefined) return false
        if (share !== undefined && isTraced(request, headers, share, random)) return false
        return call(request, response, pass)
      }

      return DirectRoutes.of({
        add: addTo(routes),
        addCall: (method, prefix, call) => addTo(calls[method])(prefix, call),
        respond,
      })
    }),
  )
}
