import { Context, Effect, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Grant, KeyAuth } from "../../auth/KeyAuth.ts"
import type { Scope } from "../../domain/ApiKey.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { currentSpan, step } from "../../telemetry/Tracing.ts"
import { authorize } from "../admission/KeyRequired.ts"
import { charge } from "../admission/RateLimits.ts"
import type { Refusals } from "../admission/Refusals.ts"
import type {
  InvalidRequest,
  PayloadTooLarge,
  RateLimited,
  Unauthorized,
  Unavailable,
  UnsupportedMediaType,
} from "../Problems.ts"
import * as Body from "./Body.ts"
import type { RequestHeaders } from "./RequestArrival.ts"
import { warn } from "./Warnings.ts"

/** The parts of a request that a call reads. */
export interface RequestParts {
  /** The path and the query. */
  readonly url: string
  readonly headers: RequestHeaders
  /** Empty if the call has no body. */
  readonly bytes: Uint8Array
  /** The parsed body. Undefined if the call has no body. */
  readonly json: unknown
}

/** The decoded request, or the problem of a faulty request. The response carries the warnings in both cases. */
export interface Decoded<A, P> {
  readonly input: Result.Result<A, P>
  readonly warnings: ReadonlyArray<string>
}

/** The content of a response: JSON, or the problem of a refusal. The response carries the warnings in both cases. */
export interface CallResponse<P> {
  readonly body: Result.Result<unknown, P>
  /** Headers of a successful response, with names in lowercase. Default of `content-type`: `application/json`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly warnings?: ReadonlyArray<string> | undefined
}

/** The problem of a body that was not read. */
type Unread = InvalidRequest | PayloadTooLarge | Unavailable | UnsupportedMediaType

/**
 * An API operation that requires an API key. `A` is the decoded request, `R` the answer, `E` the error of `answer`, and
 * `P` the problems of refusals. All functions except `answer` are pure.
 */
export interface PublicCall<A, R, E, P> {
  readonly method: "GET" | "POST"
  readonly path: `/api/${string}/:org`
  readonly scope: Scope
  /** Whether the call has a JSON body, of at most 1 MiB. */
  readonly takesBody: boolean
  /** Refuses a request before its key is checked. */
  readonly refuseEarly?: (headers: RequestHeaders) => Unauthorized | undefined
  readonly decode: (parts: RequestParts) => Decoded<A, P>
  /** The number of requests to count against the rate limit. Default: 1. */
  readonly requestsIn?: (input: A) => number
  /** `org` stores the decisions, events and messages of the key. */
  readonly answer: (org: OrgSlug, input: A) => Effect.Effect<R, E>
  readonly respond: (answer: R, input: A) => CallResponse<P>
  /** Returns the response if `answer` failed. `org` as in `answer`. */
  readonly refuse: (error: E, input: A, org: OrgSlug) => CallResponse<P>
}

/** Reads the parts of a request, and its body if the call has one. */
const partsIn = (
  { takesBody }: { readonly takesBody: boolean },
  { headers, url }: HttpServerRequest.HttpServerRequest,
  read: () => Effect.Effect<Body.RawJson, Unread>,
): Effect.Effect<RequestParts, Unread> =>
  Effect.map(
    takesBody ? read() : Effect.succeed(Body.none),
    ({ bytes, json }) => ({ url, headers: headers as RequestHeaders, bytes, json }),
  )

/** Creates the response. Fails with the problem of a refusal. */
const responseTo = <P>(
  request: HttpServerRequest.HttpServerRequest,
  { body, headers = {}, warnings = [] }: CallResponse<P>,
): Effect.Effect<HttpServerResponse.HttpServerResponse, P> =>
  Effect.flatMapEager(
    warn(request, warnings),
    (): Effect.Effect<HttpServerResponse.HttpServerResponse, P> =>
      Result.isFailure(body)
        ? Effect.fail(body.failure)
        : Effect.succeed(HttpServerResponse.jsonUnsafe(body.success, { headers })),
  )

/** The steps of a call. Each is an effect that continues to the response. */
const stepsOf = <A, R, E, P>(keys: KeyAuth["Service"], call: PublicCall<A, R, E, P>) => {
  type Request = HttpServerRequest.HttpServerRequest

  const answered = (request: Request, { dataOrg }: Grant, input: A, answer: Effect.Effect<R, E>) =>
    Effect.matchEffect(answer, {
      onFailure: (error) => responseTo(request, call.refuse(error, input, dataOrg)),
      onSuccess: (answer) => responseTo(request, call.respond(answer, input)),
    })

  /** Counts the requests in `input` that `authorize` has not counted. */
  const counting = (request: Request, grant: Grant, input: A) => {
    const more = (call.requestsIn?.(input) ?? 1) - 1
    return more === 0 ? Effect.void : charge(request, grant, more)
  }

  const counted = (
    request: Request,
    grant: Grant,
    input: A,
    warnings: ReadonlyArray<string>,
    counting: Effect.Effect<void, RateLimited, Refusals>,
  ) =>
    Effect.flatMapEager(
      Effect.andThen(warn(request, warnings), counting),
      () => answered(request, grant, input, call.answer(grant.dataOrg, input)),
    )

  const decoded = (request: Request, grant: Grant, { input, warnings }: Decoded<A, P>) =>
    Result.isFailure(input)
      ? responseTo(request, { body: input, warnings })
      : counted(request, grant, input.success, warnings, counting(request, grant, input.success))

  const authorized = <F>(request: Request, grant: Effect.Effect<Grant, F, Refusals>) =>
    Effect.flatMapEager(
      grant,
      (grant) =>
        Effect.flatMapEager(
          partsIn(call, request, () => Body.rawJson(request, Body.maxBodyBytes)),
          (parts) => decoded(request, grant, call.decode(parts)),
        ),
    )

  return {
    call,
    answered,
    counted,
    counting,
    decoded,
    authorized,
    grantOf: (request: Request, org: string) => authorize(keys, request, org, call.scope),
  }
}

/** The steps of a call, without its types. */
export type Steps = ReturnType<typeof stepsOf<unknown, unknown, unknown, unknown>>

/** Returns the route of a public call. */
export const responding = <A, R, E, P>(keys: KeyAuth["Service"], call: PublicCall<A, R, E, P>) => {
  const steps = stepsOf(keys, call)
  const { method, path } = call
  const response = Effect.withFiber((fiber) => {
    const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
    const { params: { org = "" } } = Context.getUnsafe(fiber.context, HttpRouter.RouteContext)
    const refused = call.refuseEarly?.(request.headers as RequestHeaders)
    if (refused !== undefined) return Effect.fail(refused)
    const grant = steps.grantOf(request, org)
    return steps.authorized(request, currentSpan(fiber) === undefined ? grant : step("auth")(grant))
  })
  return { method, path, response, steps: steps as unknown as Steps }
}

/** The route of a path, with the effect that responds. */
export interface PublicRoute<E = unknown> {
  readonly method: "GET" | "POST"
  readonly path: `/${string}/:${string}`
  readonly response: Effect.Effect<
    HttpServerResponse.HttpServerResponse,
    E,
    HttpServerRequest.HttpServerRequest | HttpRouter.RouteContext | Refusals
  >
  /** The steps of a public call. Undefined for any other route. */
  readonly steps?: Steps
}
