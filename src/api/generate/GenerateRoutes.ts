import { Clock, Effect, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type Grant, KeyAuth } from "../../auth/KeyAuth.ts"
import type { Answer } from "../../decide/Answer.ts"
import type { BatchAnswers } from "../../decide/DecideBatch.ts"
import { Decider } from "../../decide/Decider.ts"
import * as Errors from "../../domain/Errors.ts"
import {
  batchBody,
  type BatchGenerateRequest,
  generateBody,
  generateQuery,
  type GenerateRequest,
  isGenerateParameter,
  opaque,
} from "./GenerateWire.ts"
import { contentType, headersOf, reused, toWire, toWireBatch, warningsOfBatch } from "./GenerateAnswer.ts"
import { directCalls } from "./GenerateDirect.ts"
import { AccessLog } from "../../telemetry/AccessLog.ts"
import { step } from "../../telemetry/Tracing.ts"
import { authorize } from "../admission/KeyRequired.ts"
import { charge } from "../admission/RateLimits.ts"
import { TemplateArchived, TemplateNotFound, TrackingIdReused, Unavailable, type Unprocessable } from "../Problems.ts"
import { DirectRoutes } from "../server/DirectRoutes.ts"
import { unmatched } from "../server/Envelope.ts"
import { body, invalid, notRendered, query } from "../server/Requests.ts"
import { ofParameters, ofQuery, warn } from "../server/Warnings.ts"

/** Warns of query parameters beside a body, which have no effect. Requests without a query cost nothing more. */
const warned = <A, E, R>(request: HttpServerRequest.HttpServerRequest, answer: Effect.Effect<A, E, R>) => {
  const warnings = ofQuery(request)
  return warnings.length === 0 ? answer : Effect.andThen(warn(request, warnings), answer)
}

/** Generate by POST and GET, and Batch generate. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const keys = yield* KeyAuth
  const decider = yield* Decider
  const direct = yield* DirectRoutes

  const unavailable = () =>
    new Unavailable({ detail: "The database cannot store decisions now, and the buffer for them is full" })

  const respond = (
    ask: GenerateRequest,
    outcome: Answer,
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, TemplateNotFound | TemplateArchived | Unprocessable> => {
    if (outcome._tag === "NotRendered") return notRendered(outcome.error)
    if (outcome._tag === "None" && outcome.reason === "template-not-found") {
      return new TemplateNotFound({ detail: `There is no template ${JSON.stringify(ask.templateId)} here.` })
    }
    if (outcome._tag === "None" && outcome.reason === "template-archived") {
      return new TemplateArchived({ detail: new Errors.TemplateArchived({ id: ask.templateId }).message })
    }
    return Effect.succeed(
      HttpServerResponse.jsonUnsafe(toWire(outcome), { contentType, headers: headersOf([outcome]) }),
    )
  }

  /** Adds the warnings of an answer to its response, which may be a refusal. */
  const told = <A, E, R>(
    request: HttpServerRequest.HttpServerRequest,
    warnings: ReadonlyArray<string> | undefined,
    response: Effect.Effect<A, E, R>,
  ) => warnings === undefined ? response : Effect.andThen(warn(request, warnings), response)

  const one = (org: string, request: HttpServerRequest.HttpServerRequest, ask: GenerateRequest) =>
    Effect.matchEffect(step("decide")(decider.decide(org, ask)), {
      onFailure: unavailable,
      onSuccess: (outcome) => told(request, outcome.warnings, respond(ask, outcome)),
    })

  /** A batch whose only item is in conflict is refused as a whole, as a call of its own would be. */
  const respondToAll = (
    outcomes: BatchAnswers,
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, TrackingIdReused> => {
    const [[, only] = [], ...others] = outcomes
    if (only?._tag === "Reused" && others.length === 0) return new TrackingIdReused({ detail: reused(only).detail })
    return Effect.succeed(
      HttpServerResponse.jsonUnsafe(toWireBatch(outcomes), {
        contentType,
        headers: headersOf(outcomes.map(([, outcome]) => outcome)),
      }),
    )
  }

  const many = (org: string, request: HttpServerRequest.HttpServerRequest, ask: BatchGenerateRequest) =>
    Effect.matchEffect(step("decide", { items: ask.items.length })(decider.decideBatch(org, ask)), {
      onFailure: unavailable,
      onSuccess: (outcomes) =>
        told(
          request,
          warningsOfBatch(outcomes),
          respondToAll(outcomes),
        ),
    })

  /** A route for those with a key for `generate` in the organization of the path. */
  const keyed = <E, R>(
    answer: (
      org: string,
      request: HttpServerRequest.HttpServerRequest,
      grant: Grant,
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  ) =>
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      (request) =>
        Effect.flatMap(HttpRouter.params, ({ org = "" }) =>
          Effect.flatMap(
            step("auth")(authorize(keys, request, org, "generate")),
            (grant) => answer(grant.dataOrg, request, grant),
          )),
    )

  const services = { keys, clock: yield* Clock.Clock, logAccess: yield* AccessLog }
  for (const [method, prefix, call] of directCalls(services, decider)) yield* direct.addCall(method, prefix, call)
  yield* router.add(
    "POST",
    "/api/generate/:org",
    keyed((org, request) =>
      warned(request, Effect.flatMap(body(request, generateBody, opaque), (ask) => one(org, request, ask)))
    ),
  )
  const byQuery = keyed((org, request) => {
    const given = query(request)
    const asked = generateQuery(given)
    // Several values of one key make an array, so they all count.
    const unknown = ofParameters(
      new URLSearchParams([...new Set(given.keys())].map((name) => [name, ""])),
      isGenerateParameter,
    )
    return Effect.flatMap(
      Result.isSuccess(asked) ? Effect.succeed(asked.success) : Effect.fail(invalid(asked.failure)),
      (ask) => Effect.andThen(warn(request, unknown), one(org, request, ask)),
    )
  })
  yield* router.add(
    "GET",
    "/api/generate/:org",
    // The router takes HEAD as GET.
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      (request) => request.method === "HEAD" ? unmatched(request) : byQuery,
    ),
  )
  yield* router.add(
    "POST",
    "/api/batch-generate/:org",
    keyed((org, request, grant) =>
      warned(
        request,
        Effect.flatMap(
          body(request, batchBody, opaque),
          (ask) =>
            grant.window === undefined || ask.items.length < 2
              ? many(org, request, ask)
              // One was counted with the key: every item is a request.
              : Effect.andThen(charge(request, grant, ask.items.length - 1), many(org, request, ask)),
        ),
      )
    ),
  )
}))
