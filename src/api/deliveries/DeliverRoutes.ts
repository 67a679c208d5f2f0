import { Clock, Effect, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { hash } from "node:crypto"
import { KeyAuth } from "../../auth/KeyAuth.ts"
import { DeliveryQueue } from "../../delivery/DeliveryQueue.ts"
import { step } from "../../telemetry/Tracing.ts"
import * as Body from "../server/Body.ts"
import { deliverBody, unknownInDeliver } from "./DeliverWire.ts"
import { authorize } from "../admission/KeyRequired.ts"
import {
  HeldOut,
  IdempotencyKeyReused,
  MessageExpired,
  RecipientSuppressed,
  Unauthorized,
  Unavailable,
  Unprocessable,
} from "../Problems.ts"
import { invalid, toProblems } from "../server/Requests.ts"
import { ofMembers, ofQuery, warn } from "../server/Warnings.ts"

/** An idempotency key as it comes in: printable ASCII, 1 to 255 characters. */
export const isKey = (text: string) => /^[\x20-\x7e]{1,255}$/.test(text)

const ok = { status: "ok" }

/** Deliver: decides, renders, and answers once the message is safely queued. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const keys = yield* KeyAuth
  const queue = yield* DeliveryQueue
  const clock = yield* Clock.Clock

  yield* router.add(
    "POST",
    "/api/deliver/:org",
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { org = "" } = yield* HttpRouter.params
      const { headers } = request
      if (headers["x-api-key"] === undefined && headers["authorization"] !== undefined) {
        return yield* new Unauthorized({
          detail: "Deliver takes the API key in the header X-Api-Key only, not as `Authorization: Bearer`",
        })
      }
      const { dataOrg } = yield* step("auth")(authorize(keys, request, org, "deliver"))
      const { bytes, json } = yield* Body.rawJson(request, Body.maxBodyBytes)
      const decoded = deliverBody(json, clock.currentTimeMillisUnsafe())
      const key = headers["idempotency-key"]
      const faults = [
        ...(Result.isFailure(decoded) ? decoded.failure : []),
        ...(key === undefined || isKey(key) ? [] : [{
          pointer: "Idempotency-Key",
          detail: "must have 1 to 255 printable ASCII characters",
        }]),
      ]
      if (Result.isFailure(decoded) || faults.length > 0) return yield* invalid(faults)
      yield* warn(request, [...ofMembers(unknownInDeliver(json)), ...ofQuery(request)])
      const queued = yield* queue.enqueue(dataOrg, {
        ...decoded.success,
        idempotency: key === undefined ? undefined : { key, digest: hash("sha256", bytes, "hex") },
      }).pipe(
        Effect.catchTags({
          NotEnabled: ({ message }) => new Unprocessable({ detail: message }),
          MessageExpired: ({ expiresAt, message }) =>
            new MessageExpired({ detail: message, expires_at: expiresAt.toISOString() }),
          NoCandidate: ({ message }) => new Unprocessable({ detail: message }),
          HeldOut: ({ message }) => new HeldOut({ detail: message }),
          RecipientSuppressed: ({ message, reason, suppressedAt }) =>
            new RecipientSuppressed({ detail: message, reason, suppressed_at: suppressedAt.toISOString() }),
          KeyReused: ({ message }) => new IdempotencyKeyReused({ detail: message }),
          BufferFull: () =>
            new Unavailable({
              detail: "The database cannot store messages now. No message was queued: send the request again",
            }),
        }),
        toProblems,
        step("enqueue"),
      )
      return HttpServerResponse.jsonUnsafe(ok, {
        headers: {
          "parlance-delivery-id": queued.id,
          "parlance-tracking-id": queued.id,
          ...(queued.repeated ? { "idempotent-replayed": "true" } : {}),
        },
      })
    }),
  )
}))
