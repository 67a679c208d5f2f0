import { Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { type Actor, nameOf } from "../../accounts/Actor.ts"
import { note, noteNothing } from "../../accounts/Audit.ts"
import { type BulkAction, BulkActions, bulkDetails } from "../../delivery/BulkActions.ts"
import type { BulkKind, BulkPreview } from "../../delivery/BulkPreview.ts"
import { filterOf, membersOf, strictDecoder } from "../../delivery/DeliveryFilter.ts"
import type { Fault, OrganizationNotFound } from "../../domain/Errors.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { managed } from "../http/Managed.ts"
import { body, invalid, query } from "../http/Requests.ts"
import { BulkCancelBody, BulkRetryBody } from "./BulkActionsApi.ts"
import { isIdempotencyKey, keyFault } from "./IdempotencyKey.ts"

type Body = typeof BulkRetryBody.Type | typeof BulkCancelBody.Type

const decoders: {
  readonly [kind in BulkKind]: (input: unknown) => Result.Result<Body, ReadonlyArray<Fault>>
} = { retry: strictDecoder(BulkRetryBody), cancel: strictDecoder(BulkCancelBody) }

const preview = ({ composition, erased, expired, filter: { until }, matched }: BulkPreview) => ({
  matched,
  changed: 0,
  until,
  preview: { erased, expired, ...composition },
  action: null,
})

const shown = (action: BulkAction) => ({ ...action, filter: membersOf(action.filter) })

/**
 * Answers a request for a bulk action or for its preview. Notes an action for the audit log. `started` is the action
 * that this request started: undefined for a preview, and for a repetition of an idempotency key.
 */
export const answerBulk = Effect.fnUntraced(function* (
  bulk: BulkActions["Service"],
  org: OrgSlug,
  kind: BulkKind,
  requestedBy: string,
  request: HttpServerRequest.HttpServerRequest,
) {
  // Refuses parameters instead of ignoring them, because the caller may have meant a filter or a preview.
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
    return { answer: preview(yield* bulk.preview(org, kind, filter)), started: undefined }
  }
  const action = yield* bulk.start(org, { kind, filter, requestedBy, idempotencyKey: key })
  yield* action.isRepetition ? noteNothing : note(bulkDetails(action))
  const { changed, filter: { until }, matched } = action
  return {
    answer: { matched, changed, until: until!, preview: null, action: shown(action) },
    started: action.isRepetition ? undefined : action,
  }
})

/** Serves `BulkActionsGroup`. */
export const layer = managed(
  "bulkActions",
  Effect.gen(function* () {
    const bulk = yield* BulkActions

    const start = (kind: BulkKind) =>
      Effect.fnUntraced(function* ({ actor, org, request }: {
        readonly actor: Actor
        readonly org: Effect.Effect<OrgSlug, OrganizationNotFound>
        readonly request: HttpServerRequest.HttpServerRequest
      }) {
        return (yield* answerBulk(bulk, yield* org, kind, nameOf(actor), request)).answer
      })

    return {
      retryDeliveries: { inSteps: start("retry") },
      cancelDeliveries: { inSteps: start("cancel") },
      listBulkActions: {
        inSteps: Effect.fnUntraced(function* ({ org, query }) {
          const { limit } = yield* query
          return { actions: (yield* bulk.list(yield* org, limit)).map(shown) }
        }),
      },
      getBulkAction: ({ org, params }) => Effect.map(bulk.get(org, params.action), shown),
    }
  }),
)
