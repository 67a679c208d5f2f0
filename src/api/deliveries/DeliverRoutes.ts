import { Clock, Effect, Exit, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { hash } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { KeyAuth } from "../../auth/KeyAuth.ts"
import { warningsOf } from "../../decide/RequestWarnings.ts"
import { TemplateCache } from "../../templates/TemplateCache.ts"
import { DeliveryQueue } from "../../delivery/DeliveryQueue.ts"
import type { DeliverRequest, Queued } from "../../delivery/DeliverRequest.ts"
import type { EnqueueError } from "../../delivery/EnqueueErrors.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { AccessLog } from "../../telemetry/AccessLog.ts"
import { step } from "../../telemetry/Tracing.ts"
import * as Body from "../server/Body.ts"
import { type CallServices, directPost } from "../server/DirectCalls.ts"
import { type DirectCall, type DirectRequest, DirectRoutes } from "../server/DirectRoutes.ts"
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
import * as Warnings from "../server/Warnings.ts"

/** An idempotency key as it comes in: printable ASCII, 1 to 255 characters. */
export const isKey = (text: string) => /^[\x20-\x7e]{1,255}$/.test(text)

const ok = { status: "ok" }

/** Headers of the response for a queued message. */
const headersOf = ({ id, repeated }: Queued) => ({
  "parlance-delivery-id": id,
  "parlance-tracking-id": id,
  ...(repeated ? { "idempotent-replayed": "true" } : {}),
})

/** The idempotency of a request with the body `bytes`. */
const idempotencyOf = (key: string | undefined, bytes: Uint8Array) =>
  key === undefined ? undefined : { key, digest: hash("sha256", bytes, "hex") }

interface Tried {
  /** The failure of a call that was to be answered directly, for the router, which must not queue the message again. */
  [failure]?: Exit.Exit<Queued, EnqueueError>
}

const failure = Symbol("failure")

/** The request in a body; undefined for one with faults, or with members that are unknown. */
const decode = (body: Uint8Array, headers: IncomingHttpHeaders, now: number): DeliverRequest | undefined => {
  const key = headers["idempotency-key"] as string | undefined
  if (key !== undefined && !isKey(key)) return undefined
  const json = Body.parse(body)
  if (json === undefined) return undefined
  const decoded = deliverBody(json, now)
  if (Result.isFailure(decoded) || unknownInDeliver(json).length > 0) return undefined
  return { ...decoded.success, idempotency: idempotencyOf(key, body) }
}

/** Deliver without the layers of the router, for requests without faults whose message is queued. */
const directly = Effect.fnUntraced(function* (services: CallServices, queue: DeliveryQueue["Service"]) {
  const run = Effect.runForkWith(yield* Effect.context())
  const call = directPost<DeliverRequest, Queued>(
    services,
    {
      method: "POST",
      prefix: "/api/deliver/",
      scope: "deliver",
      answer: (org, asked, done, request: DirectRequest & Tried) =>
        void run(queue.enqueue(org as OrgSlug, asked)).addObserver((queued) => {
          if (Exit.isSuccess(queued)) return done(queued.value)
          request[failure] = queued
          done(undefined)
        }),
      ready: (queued) => ({
        headers: { ...headersOf(queued), ...Warnings.headersOf(queued.warnings), "content-type": "application/json" },
        json: ok,
      }),
    },
    (body, { headers }) => decode(body, headers, services.clock.currentTimeMillisUnsafe()),
  )
  // The router refuses keys that are sent as a Bearer token.
  const direct: DirectCall = (request, response, pass) =>
    request.headers["authorization"] === undefined && call(request, response, pass)
  return direct
})

/** Deliver: decides, renders, and answers once the message is safely queued. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const keys = yield* KeyAuth
  const queue = yield* DeliveryQueue
  const clock = yield* Clock.Clock
  const templates = yield* TemplateCache
  const services = { keys, clock, logAccess: yield* AccessLog }

  yield* (yield* DirectRoutes).addCall("POST", "/api/deliver/", yield* directly(services, queue))

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
      yield* Warnings.warn(request, [...Warnings.ofMembers(unknownInDeliver(json)), ...Warnings.ofQuery(request)])
      const queueing = (request.source as Tried)[failure] ??
        queue.enqueue(dataOrg, { ...decoded.success, idempotency: idempotencyOf(key, bytes) })
      const queued = yield* queueing.pipe(
        Effect.catchTags({
          NotEnabled: ({ message }) => new Unprocessable({ detail: message }),
          MessageExpired: ({ expiresAt, message }) =>
            new MessageExpired({ detail: message, expires_at: expiresAt.toISOString() }),
          NoCandidate: ({ message }) => new Unprocessable({ detail: message }),
          HeldOut: ({ message }) => new HeldOut({ detail: message }),
          RecipientSuppressed: RecipientSuppressed.of,
          KeyReused: ({ message }) => new IdempotencyKeyReused({ detail: message }),
          BufferFull: () =>
            new Unavailable({
              detail: "The database cannot store messages now. No message was queued: send the request again",
            }),
        }),
        // The message that was not queued had no answer to carry them.
        Effect.tapError(() =>
          Warnings.warn(
            request,
            warningsOf(templates.template(dataOrg, decoded.success.templateId), decoded.success) ?? [],
          )
        ),
        toProblems,
        step("enqueue"),
      )
      if (queued.warnings !== undefined) yield* Warnings.warn(request, queued.warnings)
      return HttpServerResponse.jsonUnsafe(ok, { headers: headersOf(queued) })
    }),
  )
}))
