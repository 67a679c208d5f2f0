import { Clock, Effect, Result } from "effect"
import { HttpRouter } from "effect/http"
import { hash } from "node:crypto"
import { KeyAuth } from "../../auth/KeyAuth.ts"
import { warningsOf } from "../../decide/RequestWarnings.ts"
import { TemplateCache } from "../../templates/TemplateCache.ts"
import { DeliveryQueue } from "../../delivery/DeliveryQueue.ts"
import type { DeliverRequest, Queued } from "../../delivery/DeliverRequest.ts"
import type { EnqueueError } from "../../delivery/EnqueueErrors.ts"
import { step } from "../../telemetry/Tracing.ts"
import type { RequestHeaders } from "../http/RequestArrival.ts"
import { type Decoded, type PublicCall, type RequestParts, responding } from "../http/PublicCall.ts"
import { PublicCalls } from "../http/PublicCalls.ts"
import { deliverBody, unknownInDeliver } from "./DeliverWire.ts"
import {
  HeldOut,
  IdempotencyKeyReused,
  type InvalidRequest,
  MessageExpired,
  type PayloadTooLarge,
  RecipientSuppressed,
  SendNothing,
  type TemplateArchived,
  type TemplateNotFound,
  Unauthorized,
  Unavailable,
  Unprocessable,
  type UnsupportedMediaType,
  type VariantNotFound,
} from "../Problems.ts"
import { toProblem } from "../http/DomainProblems.ts"
import { invalid } from "../http/Requests.ts"
import * as Warnings from "../http/Warnings.ts"
import { isIdempotencyKey, keyFault } from "./IdempotencyKey.ts"

const ok = { status: "ok" }

/** Headers of the response for a queued message. */
const headersOf = ({ id, repeated }: Queued) => ({
  "parlance-delivery-id": id,
  "parlance-tracking-id": id,
  ...(repeated ? { "idempotent-replayed": "true" } : {}),
})

type Refused =
  | HeldOut
  | IdempotencyKeyReused
  | InvalidRequest
  | MessageExpired
  | PayloadTooLarge
  | RecipientSuppressed
  | SendNothing
  | TemplateArchived
  | TemplateNotFound
  | Unauthorized
  | Unavailable
  | Unprocessable
  | UnsupportedMediaType
  | VariantNotFound

/** Returns the problem of a key that is sent as a Bearer token. Undefined for other requests. */
const refuseEarly = (headers: RequestHeaders): Unauthorized | undefined =>
  headers["x-api-key"] === undefined && headers["authorization"] !== undefined
    ? new Unauthorized({
      detail: "Deliver accepts the API key only in the header X-Api-Key, not as `Authorization: Bearer`",
    })
    : undefined

/** Returns the idempotency of a request with the body `bytes`. Undefined without a key. */
const idempotencyOf = (key: string | undefined, bytes: Uint8Array) =>
  key === undefined ? undefined : { key, digest: hash("sha256", bytes, "hex") }

const decodeAt = (clock: Clock.Clock) => (parts: RequestParts): Decoded<DeliverRequest, Refused> => {
  const { bytes, headers, json } = parts
  const decoded = deliverBody(json, clock.currentTimeMillisUnsafe())
  const key = headers["idempotency-key"]
  const faults = [
    ...(Result.isFailure(decoded) ? decoded.failure : []),
    ...(key === undefined || isIdempotencyKey(key) ? [] : [keyFault]),
  ]
  if (Result.isFailure(decoded) || faults.length > 0) return { input: Result.fail(invalid(faults)), warnings: [] }
  return {
    input: Result.succeed({ ...decoded.success, idempotency: idempotencyOf(key, bytes) }),
    warnings: [...Warnings.ofMembers(unknownInDeliver(json)), ...Warnings.ofQuery(parts)],
  }
}

/** Returns the problem of a message that was not queued. */
const problemOf = (error: EnqueueError): Refused => {
  switch (error._tag) {
    case "NotEnabled":
    case "NoCandidate":
      return new Unprocessable({ detail: error.message })
    case "MessageExpired":
      return new MessageExpired({ detail: error.message, expires_at: error.expiresAt.toISOString() })
    case "HeldOut":
      return new HeldOut({ detail: error.message })
    case "SendNothing":
      return new SendNothing({ detail: error.message })
    case "RecipientSuppressed":
      return RecipientSuppressed.of(error)
    case "KeyReused":
      return new IdempotencyKeyReused({ detail: error.message })
    case "BufferFull":
      return new Unavailable({
        detail: "The database cannot store messages now. No message was queued: send the request again",
      })
    default:
      return toProblem(error)
  }
}

/** Defines Deliver: selects and renders a variant, and responds after the message is stored in the queue. */
const deliver = (
  queue: DeliveryQueue["Service"],
  templates: TemplateCache["Service"],
  clock: Clock.Clock,
): PublicCall<DeliverRequest, Queued, EnqueueError, Refused> => ({
  method: "POST",
  path: "/api/deliver/:org",
  scope: "deliver",
  refuseEarly,
  takesBody: true,
  decode: decodeAt(clock),
  answer: (org, input) => step("enqueue")(queue.enqueue(org, input)),
  respond: (queued) => ({ body: Result.succeed(ok), headers: headersOf(queued), warnings: queued.warnings }),
  refuse: (error, input, org) => ({
    body: Result.fail(problemOf(error)),
    // An error of `enqueue` carries no warnings, so they are computed here.
    warnings: warningsOf(templates.template(org, input.templateId), input),
  }),
})

/** Serves Deliver. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const { add } = yield* PublicCalls
  const call = deliver(yield* DeliveryQueue, yield* TemplateCache, yield* Clock.Clock)
  yield* add(router, responding(yield* KeyAuth, call))
}))
