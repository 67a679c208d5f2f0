import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { filterMembers } from "../../delivery/DeliveryFilter.ts"
import { AdminRequired } from "../admission/AdminRequired.ts"
import * as Problems from "../Problems.ts"

// The part of the management API that retries or cancels many deliveries at once.

const path = { org: Schema.String }

const dryRun = Schema.optionalKey(Schema.Boolean).annotate({
  description: "true: answers a preview and changes nothing. Default false",
})

/** A request to retry failed deliveries. Without further members: all of them. */
export const BulkRetryBody = Schema.Struct({
  state: Schema.optionalKey(Schema.Literal("failed")).annotate({ description: "Only failed deliveries are retried" }),
  ...filterMembers,
  dry_run: dryRun,
})

/** A request to cancel queued deliveries. Without further members: all of them. */
export const BulkCancelBody = Schema.Struct({
  state: Schema.optionalKey(Schema.Literal("queued")).annotate({ description: "Only queued deliveries are cancelled" }),
  ...filterMembers,
  dry_run: dryRun,
})

/** A retry or cancellation of all deliveries that match a filter. */
export const BulkAction = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literals(["retry", "cancel"]),
  filter: Schema.Struct(filterMembers),
  state: Schema.Literals(["running", "done", "failed"]).annotate({
    description:
      "`failed`: three batches in a row have failed, for the `reason` that is given. What was changed stays so",
  }),
  matched: Schema.Int.annotate({ description: "Deliveries that matched when the action was requested" }),
  changed: Schema.Int.annotate({
    description: "Deliveries changed so far. Fewer than `matched` in the end where some were sent or changed meanwhile",
  }),
  requested_by: Schema.String,
  requested_at: Schema.String,
  finished_at: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String).annotate({ description: "Why the last batch failed; null where it did not" }),
})
export type BulkAction = typeof BulkAction.Type

const shares = <S extends Schema.Constraint>(value: S) => Schema.Array(Schema.Struct({ value, count: Schema.Int }))

/** The composition of the deliveries that match. */
export const BulkPreview = Schema.Struct({
  erased: Schema.Int.annotate({
    description: "Failed deliveries that match and cannot be retried, because they belonged to people who were erased",
  }),
  expired: Schema.Int.annotate({
    description: "Failed deliveries that match and cannot be retried, because their messages have expired",
  }),
  sampled: Schema.Int.annotate({
    description: "The latest deliveries that the members below are about, at most 10,000",
  }),
  suppressed: Schema.Int.annotate({
    description: "Those of them whose recipient is suppressed: once retried, they are cancelled instead of sent",
  }),
  reasons: shares(Schema.NullOr(Schema.String)).annotate({
    description: "The most frequent reasons. `…` stands for what differs, so that each can be given as `reason`",
  }),
  templates: shares(Schema.String),
  connections: shares(Schema.NullOr(Schema.String)),
})

export const BulkResult = Schema.Struct({
  matched: Schema.Int,
  changed: Schema.Int.annotate({ description: "Deliveries changed so far; 0 for a preview" }),
  until: Schema.String.annotate({
    description: "The upper time bound that was used. A request with it leaves later failures and messages alone",
  }),
  preview: Schema.NullOr(BulkPreview).annotate({ description: "With `dry_run` only" }),
  action: Schema.NullOr(BulkAction).annotate({ description: "Null with `dry_run`" }),
})
export type BulkResult = typeof BulkResult.Type

export const bulkHeaders = {
  "idempotency-key": Schema.optionalKey(Schema.String).annotate({
    description: "1 to 255 printable ASCII characters: the same key and filter is the same action for 90 days",
  }),
}

const how =
  "The answer comes when the action is done, or after 5 seconds with `state` `running`. It then goes on in the " +
  "background, also when the service is stopped and started again. Members that are not named here are refused."

const errors = [
  ...Problems.ofBody,
  Problems.OrganizationNotFound,
  Problems.IdempotencyKeyReused,
] as const

export class BulkActionsGroup extends HttpApiGroup.make("bulkActions")
  .add(
    HttpApiEndpoint.post("retryDeliveries", "/organizations/:org/deliveries/retry", {
      params: path,
      headers: bulkHeaders,
      payload: BulkRetryBody,
      success: BulkResult,
      error: errors,
    }).annotate(OpenApi.Summary, "Retries all failed messages that match a filter").annotate(
      OpenApi.Description,
      `Queues failed messages again. Their attempts start anew. ${how}`,
    ),
    HttpApiEndpoint.post("cancelDeliveries", "/organizations/:org/deliveries/cancel", {
      params: path,
      headers: bulkHeaders,
      payload: BulkCancelBody,
      success: BulkResult,
      error: errors,
    }).annotate(OpenApi.Summary, "Cancels all queued messages that match a filter").annotate(
      OpenApi.Description,
      `Keeps queued messages from leaving. A message that is leaving already is not cancelled. ${how}`,
    ),
    HttpApiEndpoint.get("listBulkActions", "/organizations/:org/bulk-actions", {
      params: path,
      query: { limit: Schema.optionalKey(Schema.String).annotate({ description: "1 to 500, default 50" }) },
      success: Schema.Struct({ actions: Schema.Array(BulkAction) }),
      error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
    }).annotate(OpenApi.Summary, "The retries and cancellations of many messages").annotate(
      OpenApi.Description,
      "Of the last 90 days, the latest first.",
    ),
    HttpApiEndpoint.get("getBulkAction", "/organizations/:org/bulk-actions/:action", {
      params: { ...path, action: Schema.String },
      success: BulkAction,
      error: [Problems.OrganizationNotFound, Problems.BulkActionNotFound],
    }).annotate(OpenApi.Summary, "One retry or cancellation of many messages, with its progress"),
  )
  .middleware(AdminRequired)
  .prefix("/console/api") {}
