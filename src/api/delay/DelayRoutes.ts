import { Effect, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { KeyAuth } from "../../auth/KeyAuth.ts"
import { SendTime } from "../../sendtime/SendTime.ts"
import { delayQuery, isDelayParameter } from "./DelayApi.ts"
import { authorize } from "../admission/KeyRequired.ts"
import { type InvalidRequest, VariantNotFound } from "../Problems.ts"
import { invalid, query } from "../server/Requests.ts"
import { ofParameters, warn } from "../server/Warnings.ts"

// Responses are for one person at one moment and must not be cached.
const options = { contentType: "application/json; charset=utf-8", headers: { "cache-control": "no-store" } }

/** Delay, by a plain route, which saves part of the cost of a call. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const keys = yield* KeyAuth
  const sendTime = yield* SendTime

  const answer = (
    org: string,
    request: HttpServerRequest.HttpServerRequest,
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, InvalidRequest | VariantNotFound> => {
    const given = query(request)
    const asked = delayQuery(given)
    if (Result.isFailure(asked)) return Effect.fail(invalid(asked.failure))
    const advice = Effect.matchEffect(sendTime.advise({ org, ...asked.success }), {
      onFailure: ({ message }) => new VariantNotFound({ detail: message }),
      onSuccess: ({ at, trace }) =>
        Effect.succeed(HttpServerResponse.jsonUnsafe({
          [sendTime.serviceWords]: {
            delay_id: asked.success.copyId,
            delay_time: `${new Date(at).toISOString().slice(0, 19)}Z`,
            ...(trace === undefined ? {} : { trace }),
          },
        }, options)),
    })
    return Effect.andThen(warn(request, ofParameters(given, isDelayParameter)), advice)
  }

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
