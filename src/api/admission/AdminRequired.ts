import { Effect, Layer, Redacted } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { type HttpApiEndpoint, HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { type Actor, CurrentActor, nameOf } from "../../accounts/Actor.ts"
import { Audit, AuditNote } from "../../accounts/Audit.ts"
import { sameCsrfToken } from "../../accounts/CsrfToken.ts"
import { keyRefusal, refusal, ruleOf, sandboxRefusal } from "../../accounts/Access.ts"
import { SessionCookie } from "../../accounts/SessionCookie.ts"
import { Sessions } from "../../accounts/Sessions.ts"
import { authorizationFault } from "../../auth/AuthorizationHeader.ts"
import { AdminAuth, type AdminTokenRejected } from "../../auth/AdminAuth.ts"
import { type Grant, KeyAuth } from "../../auth/KeyAuth.ts"
import { formFault, idOf } from "../../auth/KeyText.ts"
import { ChangeTrail, emptyTrail } from "../../store/ChangeTrail.ts"
import { Forbidden, RateLimited, TooManyAttempts, Unauthorized, Unavailable } from "../Problems.ts"
import { compressed } from "../http/Compression.ts"
import { forbidden, withGrant } from "./KeyRequired.ts"
import { charge } from "./RateLimits.ts"
import { retryLater } from "./RetryAfter.ts"
import { Refusals } from "./Refusals.ts"

const noToken = "Not authenticated: send an API key with a scope of the management API in X-Api-Key or as " +
  "`Authorization: Bearer`, send the value of ADMIN_TOKEN as `Authorization: Bearer`, or sign in to the console"

type Rejection = Unauthorized | TooManyAttempts | Forbidden | RateLimited

/**
 * The refusal of each request, by the server's request object. The middleware tries the authentication schemes one
 * after another, so later schemes return the refusal of an earlier one.
 */
const rejections = new WeakMap<object, Rejection>()

/**
 * Accepts management requests with the admin token as a Bearer token, with an API key whose scopes allow the request,
 * or with the cookie of a console session whose role does (see `managementGroup`). Sessions also need `X-CSRF-Token`
 * for requests that change data. Changes are recorded in the audit log.
 */
export class AdminRequired extends HttpApiMiddleware.Service<AdminRequired, { provides: CurrentActor }>()(
  "parlance/api/admission/AdminRequired",
  {
    // `Unavailable` is listed because every endpoint can fail with it during overload or while the database is
    // unreachable.
    error: [Unauthorized, Forbidden, TooManyAttempts, RateLimited, Unavailable],
    security: {
      AdminToken: HttpApiSecurity.bearer,
      ApiKeyHeader: HttpApiSecurity.apiKey({ key: "X-Api-Key" }),
      ConsoleSession: HttpApiSecurity.apiKey({ in: "cookie", key: "parlance_session" }),
    },
  },
) {
  static readonly layer = Layer.effect(
    AdminRequired,
    Effect.gen(function* () {
      const admin = yield* AdminAuth
      const audit = yield* Audit
      const refusals = yield* Refusals
      const sessions = yield* Sessions
      const cookie = yield* SessionCookie
      const keys = yield* KeyAuth

      /** Counts a refused Bearer token. */
      const rejected = (
        request: HttpServerRequest.HttpServerRequest,
        error: AdminTokenRejected,
        token: string,
      ): Unauthorized | TooManyAttempts => {
        const { message, retryAfterSeconds } = error
        if (retryAfterSeconds === undefined) {
          refusals.count(request, "bad_admin_token")
          return new Unauthorized({ detail: formFault(token) ?? message })
        }
        refusals.count(request, "admin_token_limit")
        return retryLater(request, retryAfterSeconds, new TooManyAttempts({ detail: message }))
      }

      /** Runs the handler as `actor`, and records its changes in the audit log. */
      const as = <E, R>(
        next: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
        actor: Actor,
        endpoint: HttpApiEndpoint.Top,
      ) =>
        Effect.flatMap(HttpRouter.params, (params) => {
          const noted: { body: unknown } = { body: undefined }
          const trail = emptyTrail(nameOf(actor))
          const handled = next.pipe(
            Effect.provideService(CurrentActor, actor),
            Effect.provideService(AuditNote, noted),
            Effect.provideService(ChangeTrail, trail),
          )
          if (endpoint.method === "GET") {
            return Effect.flatMap(handled, (response) =>
              Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
                compressed(request, response)))
          }
          return Effect.tap(handled, ({ status }) =>
            status >= 400 ? Effect.void : audit.record({
              actor,
              endpoint: endpoint.identifier,
              rule: ruleOf(endpoint),
              params,
              body: noted.body,
              trail,
            }))
        })

      /** Fails with a refusal, and records it so that later schemes return it too. */
      const refuse = <R extends Rejection>(request: HttpServerRequest.HttpServerRequest, problem: R) =>
        Effect.suspend(() => {
          rejections.set(request.source, problem)
          return Effect.fail(problem)
        })

      /** Runs the handler with the API key of a request. */
      const asKey = <E, R>(
        next: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
        endpoint: HttpApiEndpoint.Top,
      ) =>
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          const params = yield* HttpRouter.params
          const admit = (grant: Grant): Effect.Effect<Grant, Forbidden | RateLimited, Refusals> => {
            const refused = keyRefusal(grant, ruleOf(endpoint), params)
            if (refused === undefined) return Effect.as(charge(request, grant, 1), grant)
            const { detail, reason } = refused
            return reason === undefined
              ? new Forbidden({ detail })
              : forbidden(refusals, request, reason, grant, detail)
          }
          const admitted = withGrant(keys, request, params["org"] ?? "", admit)
          const grant = yield* admitted.pipe(
            Effect.provideService(Refusals, refusals),
            Effect.catch((problem) => refuse(request, problem)),
          )
          return yield* as(next, { kind: "key", ...grant }, endpoint)
        })

      return AdminRequired.of({
        // Fails without a token. The middleware then tries the API key and the session.
        AdminToken: (next, { credential, endpoint }) =>
          Effect.gen(function* () {
            const request = yield* HttpServerRequest.HttpServerRequest
            const token = Redacted.value(credential)
            if (token === "") return yield* new Unauthorized({ detail: noToken })
            if (idOf(token) !== undefined) return yield* asKey(next, endpoint)
            yield* Effect.catch(
              admin.check(credential, refusals.networkOf(request)),
              (error) => refuse(request, rejected(request, error, token)),
            )
            const elsewhere = sandboxRefusal(ruleOf(endpoint), yield* HttpRouter.params)
            if (elsewhere !== undefined) return yield* refuse(request, new Forbidden({ detail: elsewhere }))
            return yield* as(next, { kind: "token" }, endpoint)
          }),
        ApiKeyHeader: (next, { credential, endpoint }) =>
          Effect.gen(function* () {
            const request = yield* HttpServerRequest.HttpServerRequest
            const problem = rejections.get(request.source)
            if (problem !== undefined) return yield* Effect.fail(problem)
            if (Redacted.value(credential) === "") return yield* new Unauthorized({ detail: noToken })
            return yield* asKey(next, endpoint)
          }),
        ConsoleSession: (next, { endpoint }) =>
          Effect.gen(function* () {
            const request = yield* HttpServerRequest.HttpServerRequest
            const problem = rejections.get(request.source)
            if (problem !== undefined) return yield* Effect.fail(problem)
            const token = cookie.read(request)
            const { authorization } = request.headers
            if (authorization !== undefined || token === undefined) {
              return yield* new Unauthorized({ detail: authorizationFault(authorization) ?? noToken })
            }
            const session = yield* sessions.resolve(token)
            if (session === undefined) {
              return yield* new Unauthorized({ detail: "The session has ended: sign in to the console again" })
            }
            const isWrite = endpoint.method !== "GET"
            if (
              isWrite && !(cookie.isSameOrigin(request) &&
                sameCsrfToken(request.headers["x-csrf-token"], session.csrfToken))
            ) {
              refusals.count(request, "csrf", { subject: session.account.email })
              return yield* new Forbidden({
                detail:
                  "A request with a session's cookie that changes something must come from this origin and carry " +
                  "`X-CSRF-Token` with the value from GET /console/api/session",
              })
            }
            const actor: Actor = { kind: "session", session }
            const refused = refusal(actor, ruleOf(endpoint), yield* HttpRouter.params)
            if (refused !== undefined) return yield* new Forbidden({ detail: refused })
            return yield* as(next, actor, endpoint)
          }),
      })
    }),
  )
}
