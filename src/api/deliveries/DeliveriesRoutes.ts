import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Audit } from "../../accounts/Audit.ts"
import { KeyAuth } from "../../auth/KeyAuth.ts"
import { BulkActions, bulkDetails } from "../../delivery/BulkActions.ts"
import { Deliveries } from "../../delivery/Deliveries.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { BulkResult } from "./BulkActionsApi.ts"
import { answerBulk } from "./BulkActionsRoutes.ts"
import { listQuery } from "./DeliveryApi.ts"
import { DeliveryDetail, DeliveryResource } from "./DeliveryResource.ts"
import { listDeliveries } from "./DeliveryRoutes.ts"
import { authorize } from "../admission/KeyRequired.ts"
import { problemOf } from "../http/DomainProblems.ts"
import { withNextCursor } from "../http/Cursors.ts"
import { lookedUp, readQuery } from "../http/Requests.ts"
import { wireForm } from "../http/WireForm.ts"

const deliveryToWire = wireForm(DeliveryResource)
const bulkToWire = wireForm(BulkResult)
const detailToWire = wireForm(DeliveryDetail)

const options = { headers: { "cache-control": "no-store" } }

/** Serves deliveries to callers of Deliver with an API key, by plain routes. */
export const layer = HttpRouter.use(Effect.fnUntraced(function* (router) {
  const keys = yield* KeyAuth
  const deliveries = yield* Deliveries
  const bulk = yield* BulkActions
  const audit = yield* Audit

  /** Answers a request whose key belongs to the organization in the path and has the scope `deliver`. */
  const answer = <A, E>(
    run: (
      org: OrgSlug,
      delivery: string,
      request: HttpServerRequest.HttpServerRequest,
      keyId: string,
    ) => Effect.Effect<A, E>,
  ) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { delivery = "", org = "" } = yield* HttpRouter.params
      const grant = yield* authorize(keys, request, org, "deliver")
      const found = yield* run(grant.dataOrg, lookedUp(delivery), request, grant.keyId).pipe(
        Effect.mapError((error) => problemOf(error, request)),
      )
      return HttpServerResponse.jsonUnsafe(found, options)
    })

  yield* router.add(
    "GET",
    "/api/deliveries/:org",
    answer(Effect.fnUntraced(function* (org, _, request) {
      const page = yield* listDeliveries(deliveries, org, yield* readQuery(request, listQuery))
      return { ...withNextCursor(listQuery.cursor, page), deliveries: page.deliveries.map(deliveryToWire) }
    })),
  )
  yield* router.add(
    "GET",
    "/api/deliveries/:delivery/:org",
    answer((org, delivery) => Effect.map(deliveries.get(org, delivery), detailToWire)),
  )
  yield* router.add(
    "POST",
    "/api/deliveries/:delivery/cancel/:org",
    answer((org, delivery) => Effect.map(deliveries.cancel(org, delivery), deliveryToWire)),
  )
  yield* router.add(
    "POST",
    "/api/deliveries/cancel/:org",
    answer((org, _, request, keyId) =>
      answerBulk(bulk, org, "cancel", `API key ${keyId}`, request).pipe(
        Effect.tap(({ started }) =>
          started === undefined
            ? Effect.void
            : audit.recordOfKey(keyId, "deliveries cancelled", org, bulkDetails(started))
        ),
        Effect.map(({ answer }) => bulkToWire(answer)),
      )
    ),
  )
}))
