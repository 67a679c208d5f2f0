import { Cause, Effect, Metric, Option, Result } from "effect"
import {
  HttpRouter,
  type HttpServerError,
  HttpServerRequest,
  HttpServerRespondable,
  HttpServerResponse,
} from "effect/http"
import { HttpApi, HttpApiError } from "effect/http-api"
import { randomUUID } from "node:crypto"
import { Api } from "./Api.ts"
import { fromIssue } from "../domain/Faults.ts"
import * as Problems from "./Problems.ts"
import * as RateLimits from "./RateLimits.ts"
import { countOf } from "./RequestCount.ts"
import { invalid } from "./Requests.ts"
import { retryAfter } from "./RetryAfter.ts"
import { seenThrough } from "./TrustedProxies.ts"
import type { AddressRange } from "../domain/Addresses.ts"
import { Settings } from "../Settings.ts"

// What every answer has in common: a request id, problems instead of anything else that went wrong, the headers that a
// status calls for, and a count.

const withHeaders = (
  response: HttpServerResponse.HttpServerResponse,
  requestId: string,
  limits: Readonly<Record<string, string>> | undefined,
): HttpServerResponse.HttpServerResponse => {
  if (limits !== undefined) return HttpServerResponse.setHeaders(withHeaders(response, requestId, undefined), limits)
  if (response.status < 400) return HttpServerResponse.setHeader(response, "x-request-id", requestId)
  return HttpServerResponse.setHeaders(response, {
    "x-request-id": requestId,
    "cache-control": "no-store",
    ...(response.status === 401 ? { "www-authenticate": 'Bearer realm="parlance"' } : {}),
    ...(response.status === 503 ? { "retry-after": retryAfter() } : {}),
  })
}

/** The request id: the caller's `X-Request-Id` if that is 1 to 128 printable ASCII characters, otherwise a new UUID. */
export const requestIdOf = (given: string | undefined): string =>
  given !== undefined && /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID()

interface Route {
  readonly method: string
  readonly pattern: RegExp
}

const routes: Array<Route> = []
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => {
    const pattern = endpoint.path.replace(/[.]/g, "\\.").replace(/:[^/]+/g, "[^/]+")
    routes.push({ method: endpoint.method, pattern: new RegExp(`^${pattern}$`) })
  },
})

/** Methods that the path takes; empty for a path that does not exist. */
const methodsOf = (url: string): ReadonlyArray<string> => {
  const path = url.split("?", 1)[0]!
  const methods = new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))
  if (methods.has("GET")) methods.add("HEAD")
  return [...methods].sort()
}

const unmatched = (request: HttpServerRequest.HttpServerRequest) => {
  const methods = methodsOf(request.url)
  const path = request.url.split("?", 1)[0]!.slice(0, 200)
  // A path can also have the form of a route and still be none, such as one with an overlong segment.
  return methods.length === 0 || methods.includes(request.method)
    ? HttpServerRespondable.toResponse(new Problems.PathNotFound({ detail: `Nothing answers at ${path}` }))
    : Effect.map(
      HttpServerRespondable.toResponse(
        new Problems.MethodNotAllowed({ detail: `${path} takes ${methods.join(", ")}, not ${request.method}` }),
      ),
      HttpServerResponse.setHeader("allow", methods.join(", ")),
    )
}

const isRouteNotFound = (error: unknown): error is HttpServerError.HttpServerError =>
  error !== null && typeof error === "object" && "_tag" in error && error._tag === "HttpServerError" &&
  "reason" in error && (error.reason as { readonly _tag: string })._tag === "RouteNotFound"

/** The answer to anything that was not answered: a problem, and a log entry if it is our fault. */
const answerTo = (request: HttpServerRequest.HttpServerRequest, requestId: string, cause: Cause.Cause<unknown>) => {
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
  return Effect.andThen(
    Effect.logError("A request failed inside the service", cause).pipe(
      Effect.annotateLogs({ requestId, method: request.method, path: request.url.split("?", 1)[0] }),
    ),
    HttpServerRespondable.toResponse(
      new Problems.InternalError({ detail: `The service could not answer; its logs say why under ${requestId}` }),
    ),
  )
}

// Nothing fails past this point, yet the type keeps `E`, as the router asks of its middleware.
const envelop = (trusted: ReadonlyArray<AddressRange>) =>
<E, R>(
  next: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
): Effect.Effect<HttpServerResponse.HttpServerResponse, E, HttpServerRequest.HttpServerRequest | R> =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
    const requestId = requestIdOf(request.headers["x-request-id"])
    const finish = (response: HttpServerResponse.HttpServerResponse) =>
      Effect.as(
        Metric.update(countOf(response.status), 1),
        withHeaders(response, requestId, RateLimits.headersOf(request)),
      )
    // What is asked with a key has no use for the address, and shall not pay for it.
    const seen = request.url.startsWith("/api/") ? request : seenThrough(trusted, request)
    const asked = seen === request ? next : Effect.provideService(next, HttpServerRequest.HttpServerRequest, seen)
    return Effect.matchCauseEffect(asked, {
      onSuccess: finish,
      onFailure: (cause) => Effect.flatMap(Effect.orDie(answerTo(request, requestId, cause)), finish),
    })
  })

/** Wraps every route. */
export const layer = HttpRouter.use((router) =>
  Effect.flatMap(Settings, ({ trustedProxies }) => router.addGlobalMiddleware(envelop(trustedProxies)))
)
