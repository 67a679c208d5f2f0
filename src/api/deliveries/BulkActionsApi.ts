import { Schema } from "effect"
import { HttpApiEndpoint, OpenApi } from "effect/http-api"
import { filterMembers } from "../../delivery/DeliveryFilter.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import * as Parameters from "../http/Parameters.ts"

// The part of the management API that retries or cancels many deliveries at once.

const path = { org: Schema.String }

const dryRun = Schema.optionalKey(Schema.Boolean).annotate({
  description: "true: returns a preview and changes nothing. Default false",
})

/** A request to retry failed deliveries. Without a filter, the request retries all failed deliveries. */
export const BulkRetryBody = Schema.Struct({
  state: Schema.optionalKey(Schema.Literal("failed")).annotate({ description: "Only failed deliveries are retried" }),
  ...filterMembers,
  dry_run: dryRun,
}).annotate({ identifier: "BulkRetryRequest" })

/** A request to cancel queued deliveries. Without a filter, the request cancels all queued deliveries. */
export const BulkCancelBody = Schema.Struct({
  state: Schema.optionalKey(Schema.Literal("queued")).annotate({ description: "Only queued deliveries are cancelled" }),
  ...filterMembers,
  dry_run: dryRun,
}).annotate({ identifier: "BulkCancelRequest" })

/** A retry or cancellation of all deliveries that match a filter. */
export const BulkActionResource = Schema.Struct({
  id: Schema.String,
  kind: Schema.Literals(["retry", "cancel"]),
  filter: Schema.Struct(filterMembers),
  state: Schema.Literals(["running", "done", "failed"]).annotate({
    description: "`failed`: three batches in a row failed, see `reason`. Earlier batches are not undone",
  }),
  matched: Schema.Int.annotate({ description: "Deliveries that matched when the action was requested" }),
  changed: Schema.Int.annotate({
    description:
      "Deliveries changed so far. The final number is below `matched` if some were sent or changed in the meantime",
  }),
  requested_by: Schema.String,
  requested_at: Schema.String,
  finished_at: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String).annotate({ description: "Why the last batch failed; null if it succeeded" }),
}).annotate({ identifier: "BulkAction" })
export type BulkActionResource = typeof BulkActionResource.Type

const shares = <S extends Schema.Constraint>(value: S) => Schema.Array(Schema.Struct({ value, count: Schema.Int }))

/** The composition of the matching deliveries. */
const BulkPreview = Schema.Struct({
  erased: Schema.Int.annotate({
    description: "Failed deliveries that match and cannot be retried, because they belonged to people who were erased",
  }),
  expired: Schema.Int.annotate({
    description: "Failed deliveries that match and cannot be retried, because their messages have expired",
  }),
  sampled: Schema.Int.annotate({
    description: "Number of the latest deliveries that the following members describe, at most 10,000",
  }),
  suppressed: Schema.Int.annotate({
    description: "Deliveries whose recipient is suppressed. A retry cancels them instead of sending them",
  }),
  reasons: shares(Schema.NullOr(Schema.String)).annotate({
    description: "The most frequent reasons. `…` replaces the differing part, so that each can be used as `reason`",
  }),
  templates: shares(Schema.String),
  connections: shares(Schema.NullOr(Schema.String)),
}).annotate({ identifier: "BulkPreview" })

/** The result of a bulk action so far, or its preview. */
export const BulkResult = Schema.Struct({
  matched: Schema.Int,
  changed: Schema.Int.annotate({ description: "Deliveries changed so far; 0 for a preview" }),
  until: Schema.String.annotate({
    description: "The upper time bound that was used. Repeat it to exclude later failures and messages",
  }),
  preview: Schema.NullOr(BulkPreview).annotate({ description: "With `dry_run` only" }),
  action: Schema.NullOr(BulkActionResource).annotate({ description: "Null with `dry_run`" }),
}).annotate({ identifier: "BulkResult" })
export type BulkResult = typeof BulkResult.Type

/** Headers of a request for a bulk action. */
export const bulkHeaders = {
  "idempotency-key": Schema.optionalKey(Schema.String).annotate({
    description:
      "1 to 255 printable ASCII characters. The same key with the same filter identifies one action for 90 days",
  }),
}

const how =
  "Responds when the action is done, or after 5 seconds with `state` `running`. The action then continues in the " +
  "background, even across restarts of the service. Unknown members are refused."

const errors = [
  ...Problems.ofBody,
  Problems.OrganizationNotFound,
  Problems.IdempotencyKeyReused,
] as const

/** Endpoints that retry or cancel many deliveries. */
export class BulkActionsGroup extends managementGroup(
  "bulkActions",
  "Retrying and cancelling many deliveries",
  {
    retryDeliveries: writes("editor", "deliveries retried", "deliveries:write", { inSandbox: true }),
    cancelDeliveries: writes("editor", "deliveries cancelled", "deliveries:write", { inSandbox: true }),
    listBulkActions: reads("viewer", "deliveries:read", { inSandbox: true }),
    getBulkAction: reads("viewer", "deliveries:read", { inSandbox: true }),
  },
  HttpApiEndpoint.post("retryDeliveries", "/organizations/:org/deliveries/retry", {
    params: path,
    headers: bulkHeaders,
    payload: BulkRetryBody,
    success: BulkResult,
    error: errors,
  }).annotate(OpenApi.Summary, "Retries all failed messages that match a filter").annotate(
    OpenApi.Description,
    `Queues failed messages again with a new set of attempts. ${how}`,
  ),
  HttpApiEndpoint.post("cancelDeliveries", "/organizations/:org/deliveries/cancel", {
    params: path,
    headers: bulkHeaders,
    payload: BulkCancelBody,
    success: BulkResult,
    error: errors,
  }).annotate(OpenApi.Summary, "Cancels all queued messages that match a filter").annotate(
    OpenApi.Description,
    `Cancels queued messages. A message that is being sent is not cancelled. ${how}`,
  ),
  HttpApiEndpoint.get("listBulkActions", "/organizations/:org/bulk-actions", {
    params: path,
    query: { limit: Parameters.limit(500, 50) },
    success: Schema.Struct({ actions: Schema.Array(BulkActionResource) }),
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "The bulk retries and cancellations").annotate(
    OpenApi.Description,
    "The last 90 days, latest first.",
  ),
  HttpApiEndpoint.get("getBulkAction", "/organizations/:org/bulk-actions/:action", {
    params: { ...path, action: Schema.String },
    success: BulkActionResource,
    error: [Problems.OrganizationNotFound, Problems.BulkActionNotFound],
  }).annotate(OpenApi.Summary, "One bulk retry or cancellation, with its progress"),
) {}
