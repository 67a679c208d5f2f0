import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { KeyAuth } from "../auth/KeyAuth.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { countItems } from "../events/CustomEvents.ts"
import { Inbox } from "../events/Inbox.ts"
import * as Body from "./Body.ts"
import { authorize } from "./KeyRequired.ts"
import { Unavailable } from "./Problems.ts"
import { invalid } from "./Requests.ts"

/** Items of one body at most; more are several requests. */
export const maxItems = 10_000

/** Headers that normalization reads. */
const keptHeaders = ["content-type", "webhook-id"]

/** Webhooks: what messaging platforms and callers report. The body is stored as it came, then answered. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const keys = yield* KeyAuth
  const inbox = yield* Inbox

  const receive = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, org: string) {
    yield* authorize(keys, request, org, "events")
    const { bytes, json } = yield* Body.rawJson(request, Body.maxWebhookBytes)
    const items = countItems(json)
    if (items > maxItems) {
      return yield* invalid([{ pointer: "", detail: `has ${items} items; send at most ${maxItems} in one request` }])
    }
    const headers = Object.fromEntries(
      keptHeaders.flatMap((name) => request.headers[name] === undefined ? [] : [[name, request.headers[name]]]),
    )
    yield* Effect.mapError(
      inbox.store({ org: org as OrgSlug, source: "events", headers, body: bytes }),
      () =>
        new Unavailable({
          detail: "The store does not take events now: send the request again. An event that arrives twice counts once",
        }),
    )
    return HttpServerResponse.jsonUnsafe({ status: "ok", received: items })
  })

  yield* router.add(
    "POST",
    "/api/webhook/events/:org",
    Effect.flatMap(
      HttpServerRequest.HttpServerRequest,
      (request) => Effect.flatMap(HttpRouter.params, ({ org = "" }) => receive(request, org)),
    ),
  )
}))
