import { Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { CurrentActor, nameOf } from "../../accounts/Actor.ts"
import { note, noteNothing } from "../../accounts/Audit.ts"
import { type BulkAction, BulkActions, bulkDetails } from "../../delivery/BulkActions.ts"
import type { BulkKind, BulkPreview } from "../../delivery/BulkPreview.ts"
import { filterOf, membersOf, strictDecoder } from "../../delivery/DeliveryFilter.ts"
import type { Fault } from "../../domain/Errors.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { ServedApi } from "../Api.ts"
import { type BulkActionResource, BulkCancelBody, type BulkResult, BulkRetryBody } from "./BulkActionsApi.ts"
import { isIdempotencyKey, keyFault } from "./IdempotencyKey.ts"
import * as Parameters from "../server/Parameters.ts"
import { body, existing, invalid, lookedUp, query, toProblems } from "../server/Requests.ts"

type Body = typeof BulkRetryBody.Type | typeof BulkCancelBody.Type

const decoders: {
  readonly [kind in BulkKind]: (input: unknown) => Result.Result<Body, ReadonlyArray<Fault>>
} = { retry: strictDecoder(BulkRetryBody), cancel: strictDecoder(BulkCancelBody) }

/** An action as the API shows it. */
export const bulkActionToWire = (action: BulkAction): BulkActionResource => ({
  id: action.id,
  kind: action.kind,
  filter: membersOf(action.filter),
  state: action.state,
  matched: action.matched,
  changed: action.changed,
  requested_by: action.requestedBy,
  requested_at: action.requestedAt.toISOString(),
  finished_at: action.finishedAt?.toISOString() ?? null,
  reason: action.reason,
})

const previewToWire = ({ composition, erased, expired, filter, matched }: BulkPreview): BulkResult => ({
  matched,
  changed: 0,
  until: filter.until.toISOString(),
  preview: { erased, expired, ...composition },
  action: null,
})

/**
 * Answers a request for a bulk action, or for its preview, and notes an action for the audit log. `started` is the action
 * unless an earlier request with the same idempotency key has started it.
 */
export const answerBulk = Effect.fnUntraced(function* (
  bulk: BulkActions["Service"],
  org: OrgSlug,
  kind: BulkKind,
  requestedBy: string,
  request: HttpServerRequest.HttpServerRequest,
) {
  // An ignored parameter could have been meant as a filter, or as a request for a preview.
  const parameters = [...query(request).keys()]
  if (parameters.length > 0) {
    return yield* invalid(parameters.map((pointer) => ({
      pointer,
      detail: "must not be a query parameter: filters and dry_run are members of the body",
    })))
  }
  const { dry_run = false, state: _, ...members } = yield* body(request, decoders[kind])
  const key = request.headers["idempotency-key"]
  if (key !== undefined && !isIdempotencyKey(key)) return yield* invalid([keyFault])
  const filter = filterOf(members)
  if (dry_run) {
    yield* noteNothing
    return { answer: previewToWire(yield* bulk.preview(org, kind, filter)), started: undefined }
  }
  const action = yield* bulk.start(org, { kind, filter, requestedBy, idempotencyKey: key })
  yield* action.isRepetition ? noteNothing : note(bulkDetails(action))
  const wire = bulkActionToWire(action)
  const { changed, filter: { until }, matched } = wire
  return {
    answer: { matched, changed, until: until!, preview: null, action: wire } satisfies BulkResult,
    started: action.isRepetition ? undefined : action,
  }
})

export const layer = HttpApiBuilder.group(
  ServedApi,
  "bulkActions",
  Effect.fnUntraced(function* (handlers) {
    const bulk = yield* BulkActions
    const organizations = yield* Organizations

    const answer = (
      kind: BulkKind,
      params: { readonly org: string },
      request: HttpServerRequest.HttpServerRequest,
    ) =>
      Effect.gen(function* () {
        const org = yield* existing(organizations, params)
        return (yield* answerBulk(bulk, org, kind, nameOf(yield* CurrentActor), request)).answer
      }).pipe(toProblems)

    return handlers
      .handleRaw("retryDeliveries", ({ params, request }) => answer("retry", params, request))
      .handleRaw("cancelDeliveries", ({ params, request }) => answer("cancel", params, request))
      .handleRaw("listBulkActions", ({ params, request }) =>
        Effect.gen(function* () {
          const { limit } = yield* Parameters.parameters(request, { limit: Parameters.limit(500, 50) })
          const org = yield* existing(organizations, params)
          return { actions: (yield* bulk.list(org, limit)).map(bulkActionToWire) }
        }).pipe(toProblems))
      .handle("getBulkAction", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          return bulkActionToWire(yield* bulk.get(org, lookedUp(params.action)))
        }).pipe(toProblems))
  }),
)
