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
import {
  HttpRouter,
  type HttpServerError,
  HttpServerRequest,
  HttpServerRespondable,
  HttpServerResponse,
} from "effect/http"
import { HttpApiError } from "effect/http-api"
import { isSqlError } from "effect/sql/SqlError"
import { randomUUID } from "node:crypto"
import { methodsOf, noteRequestId } from "../ApiPaths.ts"
import { fromIssue } from "../../domain/Faults.ts"
import { isOutage } from "../../store/Outage.ts"
import { AccessLog } from "../../telemetry/AccessLog.ts"
import { currentSpan, isTraced, spanOf, TraceShare } from "../../telemetry/Tracing.ts"
import { waitedMillis } from "../admission/LoadGate.ts"
import * as Problems from "../Problems.ts"
import * as RateLimits from "../admission/RateLimits.ts"
import { kindOf, measure } from "./RequestMetrics.ts"
import { invalid } from "./Requests.ts"
import { retryAfter, retryAfterOf } from "../admission/RetryAfter.ts"
import { seenThrough } from "./TrustedProxies.ts"
import { Settings } from "../../Settings.ts"

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

/** A browser that has been here over HTTPS comes over HTTPS only, for a year. */
const strictTransport = "max-age=31536000"

/**
 * Headers for browsers: no guessing of types, no copies in caches unless the response says otherwise, and with an https
 * PUBLIC_URL no plain HTTP. Responses that are no pages have no use for them.
 */
const forBrowsers = (response: HttpServerResponse.HttpServerResponse, isHttps: boolean) =>
  HttpServerResponse.setHeaders(response, {
    "x-content-type-options": "nosniff",
    ...(response.headers["cache-control"] === undefined ? { "cache-control": "no-store" } : {}),
    ...(isHttps ? { "strict-transport-security": strictTransport } : {}),
  })

/** The request id: the caller's `X-Request-Id` if that is 1 to 128 printable ASCII characters, otherwise a new UUID. */
export const requestIdOf = (given: string | undefined): string =>
  given !== undefined && /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID()

/** The answer to a path that does not exist, or does not take the method. */
export const unmatched = (request: HttpServerRequest.HttpServerRequest) => {
  const methods = methodsOf(request.url)
  const path = request.url.split("?", 1)[0]!.slice(0, 200)
  // A path can also have the form of a route and still be none, such as one with an overlong segment.
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

/** The answer to anything that was not answered: a problem, and a log entry if it is our fault. */
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
  if (HttpApiError.HttpApiSchemaError.is(defect)) {
    // Parameters of the query that are repeated where one is expected; bodies are decoded elsewhere.
    return HttpServerRespondable.toResponse(
      invalid(fromIssue(defect.cause.issue).map(({ detail, pointer }) => ({ pointer: pointer.slice(1), detail }))),
    )
  }
  if (Cause.hasInterruptsOnly(cause)) {
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
    // Not the path itself, which may name a person.
    Effect.logError("A request failed inside the service", cause).pipe(
      Effect.annotateLogs({ method: request.method, route: route ?? null }),
    ),
    HttpServerRespondable.toResponse(
      new Problems.InternalError({
        detail: `The request failed inside the service. Its logs give the cause under the request id ${requestId}`,
      }),
    ),
  )
}

/** The span of a whole request. `answering` records the response in it. */
const inSpan = <E, R>(
  request: HttpServerRequest.HttpServerRequest,
  requestId: string,
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
        "parlance.waited_ms": waitedMillis(request.source),
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
  // Only now it is known; conventions want it in the name.
  if (route !== undefined) Object.assign(span, { name: `${method} ${route}` })
}

/** Wraps every route. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const clock = yield* Clock.Clock
  const random = yield* Random.Random
  const share = yield* TraceShare
  const logAccess = yield* AccessLog
  const { publicUrl, trustedProxies } = yield* Settings
  const isHttps = Option.exists(publicUrl, ({ protocol }) => protocol === "https:")

  // All errors become responses here, but the router's middleware type requires `E`.
  const envelop = <E, R>(
    next: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, HttpServerRequest.HttpServerRequest | R> =>
    Effect.withFiber((fiber) => {
      const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
      const requestId = requestIdOf(request.headers["x-request-id"])
      noteRequestId(request.source, requestId)
      const begun = clock.currentTimeMillisUnsafe() - waitedMillis(request.source)
      const isPage = !isNoPage(request.url)
      // Responses that are not pages do not need the client address, so its cost is avoided.
      const seen = !isPage ? request : seenThrough(trustedProxies, request)
      // For log entries during the request; the outer request restores the previous annotations.
      const context = Context.add(fiber.context, References.CurrentLogAnnotations, { requestId })
      fiber.setContext(seen === request ? context : Context.add(context, HttpServerRequest.HttpServerRequest, seen))
      const finish = (response: HttpServerResponse.HttpServerResponse) =>
        Effect.withFiberSucceed((fiber) => {
          const route = routeOf(fiber)
          const millis = clock.currentTimeMillisUnsafe() - begun
          measure(kindOf(route), response.status, millis)
          if (logAccess !== undefined) {
            const org = routeContextOf(fiber)?.params["org"]
            logAccess({ method: request.method, route, status: response.status, millis, org, requestId })
          }
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
      return isTraced(request.source, request.headers, share, random)
        ? inSpan(request, requestId, spanOf(request.headers), answering)
        : answering
    })

  yield* router.addGlobalMiddleware(envelop)
}))
