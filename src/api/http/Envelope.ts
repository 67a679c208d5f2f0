import {
  Cause,
  Clock,
  Context,
  Effect,
  Exit,
  type Fiber,
  Option,
  Random,
  References,
  Result,
  type Tracer,
} from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerRespondable, HttpServerResponse } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { isSqlError } from "effect/sql/SqlError"
import { methodsOf } from "../ApiPaths.ts"
import { fromIssue } from "../../domain/Faults.ts"
import { isOutage } from "../../store/Outage.ts"
import { AccessLog } from "../../telemetry/AccessLog.ts"
import { currentSpan, isTraced, spanOf, TraceShare } from "../../telemetry/Tracing.ts"
import { CurrentArrival, type RequestArrival } from "./RequestArrival.ts"
import * as Problems from "../Problems.ts"
import * as RateLimits from "../admission/RateLimits.ts"
import { kindOf, measure } from "./RequestMetrics.ts"
import { invalid } from "./Requests.ts"
import { retryAfter, retryAfterOf } from "../admission/RetryAfter.ts"
import { seenThrough } from "./TrustedProxies.ts"
import { headerOf } from "./Warnings.ts"
import { Settings } from "../../settings/Settings.ts"

// Common parts of every response: a request id, a problem for every error, headers by status, metrics, and for traced
// requests the parent span.

const withHeaders = (
  response: HttpServerResponse.HttpServerResponse,
  requestId: string,
  limits: Readonly<Record<string, string>> | undefined,
  request: HttpServerRequest.HttpServerRequest,
): HttpServerResponse.HttpServerResponse => {
  if (limits !== undefined) {
    return HttpServerResponse.setHeaders(withHeaders(response, requestId, undefined, request), limits)
  }
  if (response.status < 400) return HttpServerResponse.setHeader(response, "x-request-id", requestId)
  return HttpServerResponse.setHeaders(response, {
    "x-request-id": requestId,
    "cache-control": "no-store",
    ...(response.status === 401 ? { "www-authenticate": 'Bearer realm="parlance"' } : {}),
    ...(response.status === 503 ? { "retry-after": retryAfter() } : {}),
    ...(response.status === 429 ? retryAfterOf(request) : {}),
  })
}

/**
 * Whether a path belongs to the API, or is a pixel or redirect of a message. These requests are frequent, and their
 * responses are not pages.
 */
const isNoPage = (url: string): boolean => url.startsWith("/api/") || url.startsWith("/c/") || url.startsWith("/o/")

/** Value of `Strict-Transport-Security`: a browser that connected over HTTPS uses only HTTPS for one year. */
const strictTransport = "max-age=31536000"

/**
 * Adds headers for browsers: no guessing of content types, no caching unless the response has its own `cache-control`,
 * and no plain HTTP if PUBLIC_URL is https. Only pages need these headers.
 */
const forBrowsers = (response: HttpServerResponse.HttpServerResponse, isHttps: boolean) =>
  HttpServerResponse.setHeaders(response, {
    "x-content-type-options": "nosniff",
    ...(response.headers["cache-control"] === undefined ? { "cache-control": "no-store" } : {}),
    ...(isHttps ? { "strict-transport-security": strictTransport } : {}),
  })

/** Returns the response to a request without a route: 405 if the path supports other methods, otherwise 404. */
export const unmatched = (request: HttpServerRequest.HttpServerRequest) => {
  const methods = methodsOf(request.url)
  const path = request.url.split("?", 1)[0]!.slice(0, 200)
  // The router may refuse a path that has the form of a route, such as a path with an overlong segment.
  return methods.length === 0 || methods.includes(request.method)
    ? HttpServerRespondable.toResponse(new Problems.PathNotFound({ detail: `The path ${path} does not exist` }))
    : Effect.map(
      HttpServerRespondable.toResponse(
        new Problems.MethodNotAllowed({ detail: `${path} supports ${methods.join(", ")}, not ${request.method}` }),
      ),
      HttpServerResponse.setHeader("allow", methods.join(", ")),
    )
}

const isRouteNotFound = (error: unknown): error is HttpServerError.HttpServerError =>
  error !== null && typeof error === "object" && "_tag" in error && error._tag === "HttpServerError" &&
  "reason" in error && (error.reason as { readonly _tag: string })._tag === "RouteNotFound"

/** The route that this fiber serves, with the parameters of its path; undefined without a route. */
const routeContextOf = (fiber: Fiber.Fiber<unknown, unknown>) =>
  Context.getOrUndefined(fiber.context, HttpRouter.RouteContext)

/** The declared path of the route that this fiber serves; undefined without a route. */
const routeOf = (fiber: Fiber.Fiber<unknown, unknown>): string | undefined => routeContextOf(fiber)?.route.path

/**
 * Returns the response to a request that failed: a problem. Logs a fault of the service or an outage of the database.
 */
const answerTo = (
  request: HttpServerRequest.HttpServerRequest,
  requestId: string,
  route: string | undefined,
  cause: Cause.Cause<unknown>,
) => {
  const failure = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (isRouteNotFound(failure)) return unmatched(request)
  if (HttpServerRespondable.isRespondable(failure)) return HttpServerRespondable.toResponse(failure)
  const defect = Result.getOrUndefined(Cause.findDefect(cause))
  if (defect instanceof Problems.RequestTimeout) return HttpServerRespondable.toResponse(defect)
  if (HttpApiError.HttpApiSchemaError.is(defect) && defect.kind !== "Body" && defect.kind !== "ResponseHeaders") {
    // A query parameter is repeated although the contract expects one value. Bodies are decoded elsewhere.
    return HttpServerRespondable.toResponse(
      invalid(fromIssue(defect.cause.issue).map(({ detail, pointer }) => ({ pointer: pointer.slice(1), detail }))),
    )
  }
  if (Cause.hasInterruptsOnly(cause)) {
    // The client has disconnected, so only metrics and logs receive the status.
    if (cause.reasons.some(({ annotations }) => annotations.has(HttpServerError.ClientAbort.key))) {
      return Effect.succeed(HttpServerResponse.empty({ status: 499 }))
    }
    return HttpServerRespondable.toResponse(new Problems.Unavailable({ detail: "The service is shutting down" }))
  }
  const ofStore = [failure, defect].find(isSqlError)
  if (ofStore !== undefined && isOutage(ofStore)) {
    return Effect.andThen(
      Effect.logWarning("A request was refused: the database is unreachable", { reason: ofStore.message }).pipe(
        Effect.annotateLogs({ method: request.method, route: route ?? null }),
      ),
      HttpServerRespondable.toResponse(new Problems.Unavailable({ detail: "The database is unreachable" })),
    )
  }
  return Effect.andThen(
    // The log entry has the route instead of the path, which may name a person.
    Effect.logError("A request failed inside the service", cause).pipe(
      Effect.annotateLogs({ method: request.method, route: route ?? null }),
    ),
    HttpServerRespondable.toResponse(
      new Problems.InternalError({
        detail: `The request failed inside the service. Its logs contain the cause under the request id ${requestId}`,
      }),
    ),
  )
}

/** The span of a whole request. `answering` records the response in it. */
const inSpan = <E, R>(
  request: HttpServerRequest.HttpServerRequest,
  { requestId, waitedMillis }: RequestArrival,
  parent: Tracer.ExternalSpan | undefined,
  answering: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
) =>
  Effect.flatMap(
    Effect.makeSpan(request.method, {
      kind: "server",
      ...(parent === undefined ? { root: true } : { parent }),
      attributes: {
        "http.request.method": request.method,
        "parlance.request_id": requestId,
        "parlance.waited_ms": waitedMillis,
      },
    }),
    (span) =>
      Effect.onExit(Effect.withParentSpan(answering, span, { captureStackTrace: false }), (exit) =>
        Effect.map(Clock.currentTimeNanos, (now) =>
          span.end(
            now,
            Exit.isSuccess(exit) && exit.value.status >= 500 ? Exit.fail({ _tag: String(exit.value.status) }) : exit,
          ))),
  )

/** Records route and status in the request's span. */
const describe = (span: Tracer.AnySpan | undefined, method: string, route: string | undefined, status: number) => {
  if (span?._tag !== "Span") return
  span.attribute("http.response.status_code", status)
  // OpenTelemetry's conventions require the route in the span's name. The route is known only after routing.
  if (route !== undefined) Object.assign(span, { name: `${method} ${route}` })
}

const ofJson = { headers: { "content-type": "application/json" } }

/** Measures and logs the response to a request. */
const makeRecord = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const logAccess = yield* AccessLog
  const begunOf = (arrival: RequestArrival): number =>
    arrival.begun ??= clock.currentTimeMillisUnsafe() - arrival.waitedMillis
  return {
    begin: (arrival: RequestArrival): void => void begunOf(arrival),
    record: (arrival: RequestArrival, route: string | undefined, org: string | undefined, status: number): void => {
      const millis = clock.currentTimeMillisUnsafe() - begunOf(arrival)
      measure(kindOf(route), status, millis)
      const { method, requestId } = arrival
      logAccess?.({ method, route, status, millis, org, requestId })
    },
  }
})

/**
 * Returns the middleware of every route, and `begin` and `responseOf` for public calls that are answered without it.
 */
export const make = Effect.gen(function* () {
  const random = yield* Random.Random
  const share = yield* TraceShare
  const { begin, record } = yield* makeRecord
  const { publicUrl, trustedProxies } = yield* Settings
  const isHttps = Option.exists(publicUrl, ({ protocol }) => protocol === "https:")

  // All errors become responses here, but the router's middleware type requires `E`.
  const envelop = <E, R>(
    next: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, HttpServerRequest.HttpServerRequest | R> =>
    Effect.withFiber((fiber) => {
      const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
      const arrival = Context.getUnsafe(fiber.context, CurrentArrival)
      const { requestId } = arrival
      begin(arrival)
      const isPage = !isNoPage(request.url)
      // Responses that are not pages do not need the client address, so its cost is avoided.
      const seen = !isPage ? request : seenThrough(trustedProxies, request)
      // For log entries during the request; the outer request restores the previous annotations.
      const context = Context.add(fiber.context, References.CurrentLogAnnotations, { requestId })
      fiber.setContext(seen === request ? context : Context.add(context, HttpServerRequest.HttpServerRequest, seen))
      const finish = (response: HttpServerResponse.HttpServerResponse) =>
        Effect.withFiberSucceed((fiber) => {
          const route = routeOf(fiber)
          record(arrival, route, routeContextOf(fiber)?.params["org"], response.status)
          if (share !== undefined) describe(currentSpan(fiber), request.method, route, response.status)
          const finished = withHeaders(response, requestId, RateLimits.headersOf(request), request)
          return isPage ? forBrowsers(finished, isHttps) : finished
        })
      const answering = Effect.matchCauseEffect(next, {
        onSuccess: finish,
        onFailure: (cause) =>
          Effect.withFiber((fiber) =>
            Effect.flatMap(Effect.orDie(answerTo(request, requestId, routeOf(fiber), cause)), finish)
          ),
      })
      if (share === undefined) return answering
      return isTraced(request.headers, share, random)
        ? inSpan(request, arrival, spanOf(request.headers), answering)
        : answering
    })

  /** Returns the response to a public call that succeeded. */
  const responseOf = (
    arrival: RequestArrival,
    request: HttpServerRequest.HttpServerRequest,
    { route, org }: { readonly route: string; readonly org: string },
    { body, headers, warnings = [] }: {
      readonly body: unknown
      readonly headers: Readonly<Record<string, string>> | undefined
      readonly warnings: ReadonlyArray<string> | undefined
    },
  ): Response => {
    record(arrival, route, org, 200)
    // Creates the response with a single header. With several, Deno also prepares a native response, which takes 2 µs
    // more.
    const response = new Response(JSON.stringify(body), ofJson)
    const to = response.headers
    for (const name in headers) to.set(name, headers[name]!)
    to.set("x-request-id", arrival.requestId)
    const limits = RateLimits.headersOf(request)
    for (const name in limits) to.set(name, limits[name]!)
    if (warnings.length > 0) to.set("parlance-warnings", headerOf(warnings))
    return response
  }

  return { begin, envelop, responseOf, isTracing: share !== undefined }
})

/** Wraps every route of the router. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  yield* router.addGlobalMiddleware((yield* make).envelop)
}))
