import { Clock, Effect, Exit, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { KeyAuth } from "../../auth/KeyAuth.ts"
import { type Advice, SendTime } from "../../sendtime/SendTime.ts"
import { unfilledText } from "../../decide/RequestWarnings.ts"
import { collectSuspects, type Placeholder } from "../../domain/Placeholders.ts"
import { AccessLog } from "../../telemetry/AccessLog.ts"
import { delayQuery, type DelayRequest, isDelayParameter } from "./DelayApi.ts"
import { authorize } from "../admission/KeyRequired.ts"
import { type InvalidRequest, VariantNotFound } from "../Problems.ts"
import { type CallOf, directGet } from "../server/DirectCalls.ts"
import { DirectRoutes } from "../server/DirectRoutes.ts"
import { invalid, query } from "../server/Requests.ts"
import { ofParameters, warn } from "../server/Warnings.ts"

// Responses are for one person at one moment and must not be cached.
const fresh = { "cache-control": "no-store" }
const contentType = "application/json; charset=utf-8"
const freshTyped = { ...fresh, "content-type": contentType }

/** A recommendation as the interface describes it, under the member `words`. */
const toWire = (words: string, { copyId }: DelayRequest, { at, trace }: Advice) => ({
  [words]: {
    delay_id: copyId,
    delay_time: `${new Date(at).toISOString().slice(0, 19)}Z`,
    ...(trace === undefined ? {} : { trace }),
  },
})

/** Warnings about parameters: without effect, or with a part that nobody filled in. */
const warningsOf = (given: URLSearchParams): ReadonlyArray<string> => {
  const suspects: Array<Placeholder> = []
  collectSuspects({ user_id: given.get("user_id"), email: given.get("email") }, "", suspects)
  return [...ofParameters(given, isDelayParameter), ...suspects.map(unfilledText)]
}

/** The request in parameters; undefined for those with faults, or that deserve a warning. */
const decodeQuery = (given: URLSearchParams): DelayRequest | undefined => {
  const asked = delayQuery(given)
  return Result.isSuccess(asked) && warningsOf(given).length === 0 ? asked.success : undefined
}

/** Delay, by a plain route and a direct call, which save most of the cost of a call. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const keys = yield* KeyAuth
  const sendTime = yield* SendTime
  const direct = yield* DirectRoutes
  const run = Effect.runForkWith(yield* Effect.context())

  const answer = (
    org: string,
    request: HttpServerRequest.HttpServerRequest,
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, InvalidRequest | VariantNotFound> => {
    const given = query(request)
    const asked = delayQuery(given)
    if (Result.isFailure(asked)) return Effect.fail(invalid(asked.failure))
    const advice = Effect.matchEffect(sendTime.advise({ org, ...asked.success }), {
      onFailure: ({ message }) => new VariantNotFound({ detail: message }),
      onSuccess: (advice) =>
        Effect.succeed(HttpServerResponse.jsonUnsafe(toWire(sendTime.serviceWords, asked.success, advice), {
          contentType,
          headers: fresh,
        })),
    })
    return Effect.andThen(warn(request, warningsOf(given)), advice)
  }

  const call: CallOf<DelayRequest, Advice> = {
    method: "GET",
    prefix: "/api/delay/",
    scope: "generate",
    answer: (org, asked, done) =>
      void run(sendTime.advise({ org, ...asked })).addObserver((advice) =>
        done(Exit.isSuccess(advice) ? advice.value : undefined)
      ),
    ready: (advice, asked) => ({ headers: freshTyped, json: toWire(sendTime.serviceWords, asked, advice) }),
  }
  yield* direct.addCall(
    call.method,
    call.prefix,
    directGet({ keys, clock: yield* Clock.Clock, logAccess: yield* AccessLog }, call, decodeQuery),
  )
  yield* router.add(
    "GET",
    "/api/delay/:org",
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      (request) =>
        Effect.flatMap(
          HttpRouter.params,
          ({ org = "" }) =>
            Effect.flatMap(authorize(keys, request, org, "generate"), ({ dataOrg }) => answer(dataOrg, request)),
        ),
    ),
  )
}))
