import { Effect, Result } from "effect"
import { HttpRouter } from "effect/http"
import { KeyAuth } from "../../auth/KeyAuth.ts"
import { type Advice, SendTime } from "../../sendtime/SendTime.ts"
import { unfilledText } from "../../decide/RequestWarnings.ts"
import { collectSuspects, type Placeholder } from "../../text/Placeholders.ts"
import { delayQuery, type DelayRequest, isDelayParameter } from "./DelayApi.ts"
import { type InvalidRequest, VariantNotFound } from "../Problems.ts"
import { type Decoded, type PublicCall, type RequestParts, responding } from "../http/PublicCall.ts"
import { PublicCalls } from "../http/PublicCalls.ts"
import { invalid, queryIn } from "../http/Requests.ts"
import { ofParameters } from "../http/Warnings.ts"

// Responses are for one person at one moment and must not be cached.
const headers = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" }

/** Returns the response: a recommendation in the member `words`, which SERVICE_WORDS names. */
const toWire = (words: string, { copyId }: DelayRequest, { at, trace }: Advice) => ({
  [words]: {
    delay_id: copyId,
    delay_time: `${new Date(at).toISOString().slice(0, 19)}Z`,
    ...(trace === undefined ? {} : { trace }),
  },
})

/** Returns warnings about parameters that have no effect or contain an unfilled placeholder. */
const warningsOf = (given: URLSearchParams): ReadonlyArray<string> => {
  const suspects: Array<Placeholder> = []
  collectSuspects({ user_id: given.get("user_id"), email: given.get("email") }, "", suspects)
  return [...ofParameters(given, isDelayParameter), ...suspects.map(unfilledText)]
}

type Refused = InvalidRequest | VariantNotFound

const decode = (parts: RequestParts): Decoded<DelayRequest, Refused> => {
  const readable = queryIn(parts)
  if (Result.isFailure(readable)) return { input: Result.fail(readable.failure), warnings: [] }
  const given = readable.success
  const input = delayQuery(given)
  return Result.isFailure(input)
    ? { input: Result.fail(invalid(input.failure)), warnings: [] }
    : { input: Result.succeed(input.success), warnings: warningsOf(given) }
}

const delay = (
  sendTime: SendTime["Service"],
): PublicCall<DelayRequest, Advice, Effect.Error<ReturnType<SendTime["Service"]["advise"]>>, Refused> => ({
  method: "GET",
  path: "/api/delay/:org",
  scope: "generate",
  takesBody: false,
  decode,
  answer: (org, input) => sendTime.advise({ org, ...input }),
  respond: (advice, input) => ({ body: Result.succeed(toWire(sendTime.serviceWords, input, advice)), headers }),
  refuse: ({ message }) => ({ body: Result.fail(new VariantNotFound({ detail: message })) }),
})

/** Serves Delay. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { add } = yield* PublicCalls
  yield* add(router, responding(yield* KeyAuth, delay(yield* SendTime)))
}))
