import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ConnectionChange } from "../../delivery/Connections.ts"
import { DeliveryState } from "../../delivery/Delivery.ts"
import { filterDescriptions, filterMembers } from "../../delivery/DeliveryFilter.ts"
import { keptHours } from "../../delivery/DeliveryRates.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import { BulkCancelBody, bulkHeaders, BulkResult } from "./BulkActionsApi.ts"
import { DeliveryDetail, DeliveryResource } from "./DeliveryResource.ts"
import * as Problems from "../Problems.ts"
import * as Cursors from "../http/Cursors.ts"
import * as Parameters from "../http/Parameters.ts"
import { withKey } from "../openapi/Security.ts"

// The part of the management API for managed delivery: connections and deliveries.

const path = { org: Schema.String }
const connectionPath = { ...path, connection: Schema.String }
const deliveryPath = { ...path, delivery: Schema.String }
/** A connection without its secrets. */
export const ConnectionResource = Schema.Struct({
  name: Schema.String,
  platform: Schema.String,
  settings: Schema.Record(Schema.String, Schema.Unknown),
  secrets: Schema.Array(Schema.String).annotate({ description: "Names of the secrets that are set" }),
  enabled: Schema.Boolean,
  paused: Schema.Boolean,
  default: Schema.Boolean.annotate({
    description: "Whether this is the default. Deliver sends through the default among the enabled connections",
  }),
  in_use: Schema.Boolean,
  trouble: Schema.NullOr(Schema.Struct({
    state: Schema.Literals(["slow-down", "failing", "broken", "refusing"]).annotate({
      description: "refusing: the platform refused many messages, and the connection is paused until it is resumed",
    }),
    reason: Schema.String,
    since: Schema.String,
    until: Schema.NullOr(Schema.String).annotate({
      description: "Time of the next attempt; null for a refusing connection, which must be resumed",
    }),
  })).annotate({ description: "Why the connection sends no messages now; null if it works normally" }),
  complaint_address: Schema.NullOr(Schema.String).annotate({
    description: "Address for the feedback loops of mailbox providers (complaints); null without a `bounce_domain`",
  }),
  created_at: Schema.String,
  updated_at: Schema.String,
}).annotate({ identifier: "Connection" })
export type ConnectionResource = typeof ConnectionResource.Type

/** The state of the delivery queue. */
const DeliverySummary = Schema.Struct({
  queued: Schema.Int.annotate({ description: "Messages due now; 50,000 means 50,000 or more" }),
  scheduled: Schema.Int.annotate({
    description: "Messages due later: scheduled, or waiting for a retry; 50,000 means 50,000 or more",
  }),
  sending: Schema.Int,
  sent: Schema.Int,
  failed: Schema.Int,
  cancelled: Schema.Int,
  oldest_due_seconds: Schema.Finite.annotate({ description: "Age of the oldest due message, in seconds" }),
  sent_per_second: Schema.Finite.annotate({ description: "Messages sent per second, recently" }),
}).annotate({ identifier: "DeliverySummary" })

/** Delivery over time, in intervals of equal length. */
const DeliverySeriesResource = Schema.Struct({
  hours: Schema.Int,
  step_minutes: Schema.Int.annotate({ description: "Length of an interval, in minutes" }),
  points: Schema.Array(Schema.Struct({
    start: Schema.String,
    end: Schema.String,
    minutes: Schema.Finite.annotate({
      description:
        "Elapsed minutes of the interval, at least 1. Divide `sent`, `failed` and `retried` by it for rates per minute",
    }),
    complete: Schema.Boolean.annotate({ description: "False for the current interval" }),
    sent: Schema.Int,
    failed: Schema.Int,
    retried: Schema.Int.annotate({ description: "Failed attempts that are retried" }),
    queued: Schema.NullOr(Schema.Int).annotate({
      description:
        "Largest number of due messages in the queue, sampled once per minute; 50,000 means 50,000 or more. Null without a " +
        "sample, such as while the service was down",
    }),
    oldest_due_seconds: Schema.NullOr(Schema.Finite).annotate({
      description: "Greatest age of the oldest due message",
    }),
  })).annotate({ description: "Without gaps, oldest first" }),
}).annotate({ identifier: "DeliverySeries" })

const inQuery = (name: keyof typeof filterDescriptions) =>
  Parameters.described(filterDescriptions[name], Parameters.valid(filterMembers[name]))

const isDeliveryId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)

/** Filters of a list of deliveries and the parameters of its pages. */
export const listQuery = {
  state: Parameters.described("Only deliveries in this state", Parameters.oneOf(DeliveryState.literals)),
  since: inQuery("since"),
  until: inQuery("until"),
  reason: inQuery("reason"),
  template_id: inQuery("template_id"),
  connection: inQuery("connection"),
  email: Parameters.described("Only to this address", Parameters.ofAddress(Parameters.text("must be an address"))),
  ...Cursors.cursorOrNext("deliveries", Parameters.position(undefined, isDeliveryId)),
  limit: Parameters.limit(500, 50),
}

const keyPath = { delivery: Schema.String, ...path }

const keyProblems = [Problems.Unauthorized, Problems.Forbidden, Problems.RateLimited, Problems.Unavailable] as const

const keyed = withKey("deliver")

/** Deliveries for callers of Deliver: with an API key that has the scope `deliver`. */
export class DeliveriesGroup extends HttpApiGroup.make("deliveries")
  .add(
    HttpApiEndpoint.get("listOwnDeliveries", "/api/deliveries/:org", {
      params: path,
      query: listQuery,
      success: Schema.Struct({ deliveries: Schema.Array(DeliveryResource), ...Cursors.following(Schema.String) }),
      error: [Problems.InvalidRequest, ...keyProblems],
    }).annotateMerge(keyed).annotate(OpenApi.Summary, "The messages of the key's organization").annotate(
      OpenApi.Description,
      "Latest first.",
    ),
    HttpApiEndpoint.get("getOwnDelivery", "/api/deliveries/:delivery/:org", {
      params: keyPath,
      success: DeliveryDetail,
      error: [...keyProblems, Problems.DeliveryNotFound],
    }).annotateMerge(keyed).annotate(OpenApi.Summary, "One message with its content").annotate(
      OpenApi.Description,
      "`delivery` is the value of the header Parlance-Delivery-Id in the response of Deliver.",
    ),
    HttpApiEndpoint.post("cancelOwnDelivery", "/api/deliveries/:delivery/cancel/:org", {
      params: keyPath,
      success: DeliveryResource,
      error: [...keyProblems, Problems.DeliveryNotFound, Problems.DeliveryFixed],
    }).annotateMerge(keyed).annotate(OpenApi.Summary, "Cancels a queued message").annotate(
      OpenApi.Description,
      "Cancelling a cancelled message changes nothing.",
    ),
    HttpApiEndpoint.post("cancelOwnDeliveries", "/api/deliveries/cancel/:org", {
      params: path,
      headers: bulkHeaders,
      payload: BulkCancelBody,
      success: BulkResult,
      error: [...Problems.ofBody, ...keyProblems, Problems.IdempotencyKeyReused],
    }).annotateMerge(keyed).annotate(OpenApi.Summary, "Cancels all queued messages that match a filter").annotate(
      OpenApi.Description,
      "Same as `cancelDeliveries` of the management API. Repeat the request with the same `Idempotency-Key` for the progress " +
        "of a running action.",
    ),
  )
  .annotate(OpenApi.Description, "Deliveries") {}

/** Endpoints of connections and deliveries. */
export class DeliveryGroup extends managementGroup(
  "delivery",
  "Connections and deliveries",
  {
    listConnections: reads("viewer", "admin"),
    putConnection: writes("admin", "connection changed", "admin"),
    deleteConnection: writes("admin", "connection removed", "admin"),
    resumeConnection: writes("admin", "connection resumed", "admin"),
    testConnection: writes("admin", "connection tested", "admin", { isPrivate: true }),
    listDeliveries: reads("viewer", "deliveries:read", { inSandbox: true }),
    deliverySummary: reads("viewer", "deliveries:read", { inSandbox: true }),
    deliverySeries: reads("viewer", "deliveries:read", { inSandbox: true }),
    getDelivery: reads("viewer", "deliveries:read", { inSandbox: true }),
    cancelDelivery: writes("editor", "delivery cancelled", "deliveries:write", { inSandbox: true }),
    retryDelivery: writes("editor", "delivery retried", "deliveries:write", { inSandbox: true }),
  },
  HttpApiEndpoint.get("listConnections", "/organizations/:org/connections", {
    params: path,
    success: Schema.Struct({ connections: Schema.Array(ConnectionResource) }),
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "The connections of an organization"),
  HttpApiEndpoint.put("putConnection", "/organizations/:org/connections/:connection", {
    params: connectionPath,
    payload: ConnectionChange,
    success: ConnectionResource,
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.Unprocessable],
  }).annotate(OpenApi.Summary, "Creates or updates a connection").annotate(
    OpenApi.Description,
    "Absent members stay unchanged. `settings` are replaced as a whole. `secrets` are merged by name (null removes one), " +
      "stored encrypted and never returned. With `paused: true`, due messages wait until the connection is resumed.",
  ),
  HttpApiEndpoint.delete("deleteConnection", "/organizations/:org/connections/:connection", {
    params: connectionPath,
    success: HttpApiSchema.NoContent,
    error: [Problems.OrganizationNotFound, Problems.ConnectionNotFound],
  }).annotate(OpenApi.Summary, "Removes a connection").annotate(
    OpenApi.Description,
    "Queued messages wait for another connection.",
  ),
  HttpApiEndpoint.post("resumeConnection", "/organizations/:org/connections/:connection/resume", {
    params: connectionPath,
    success: ConnectionResource,
    error: [Problems.OrganizationNotFound, Problems.ConnectionNotFound],
  }).annotate(OpenApi.Summary, "Resumes a connection").annotate(
    OpenApi.Description,
    "For a paused or refusing connection. A change of settings or secrets also resumes a refusing connection. Messages " +
      "that the platform refused stay failed and can be retried.",
  ),
  HttpApiEndpoint.post("testConnection", "/organizations/:org/connections/:connection/test", {
    params: connectionPath,
    success: Schema.Struct({
      ok: Schema.Boolean,
      detail: Schema.String,
      warnings: Schema.Array(Schema.String).annotate({
        description: "Variants that Deliver cannot send through this connection because they have no subject or body",
      }),
    }),
    error: [Problems.OrganizationNotFound, Problems.ConnectionNotFound],
  }).annotate(OpenApi.Summary, "Tests a connection").annotate(
    OpenApi.Description,
    "Checks credentials and settings with the platform, without sending a message. `warnings` name the active variants " +
      "that cannot be sent through this connection; they do not change `ok`.",
  ),
  HttpApiEndpoint.get("listDeliveries", "/organizations/:org/deliveries", {
    params: path,
    query: listQuery,
    success: Schema.Struct({ deliveries: Schema.Array(DeliveryResource), ...Cursors.following(Schema.String) }),
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "The messages of an organization").annotate(OpenApi.Description, "Latest first."),
  HttpApiEndpoint.get("deliverySummary", "/organizations/:org/delivery-summary", {
    params: path,
    success: DeliverySummary,
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "The state of the delivery queue").annotate(
    OpenApi.Description,
    "Counts by state, the age of the oldest due message and the current send rate.",
  ),
  HttpApiEndpoint.get("deliverySeries", "/organizations/:org/delivery-series", {
    params: path,
    query: {
      hours: Parameters.described(
        "Number of hours up to now, a whole number from 1 to 840, default 1",
        Parameters.whole(1, keptHours, 1, " of hours"),
      ),
    },
    success: DeliverySeriesResource,
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Delivery over time").annotate(
    OpenApi.Description,
    "Sent, failed and retried messages, and the length and age of the queue, in about 60 to 100 intervals.",
  ),
  HttpApiEndpoint.get("getDelivery", "/organizations/:org/deliveries/:delivery", {
    params: deliveryPath,
    success: DeliveryDetail,
    error: [Problems.OrganizationNotFound, Problems.DeliveryNotFound],
  }).annotate(OpenApi.Summary, "One message with its content"),
  HttpApiEndpoint.post("cancelDelivery", "/organizations/:org/deliveries/:delivery/cancel", {
    params: deliveryPath,
    success: DeliveryResource,
    error: [Problems.OrganizationNotFound, Problems.DeliveryNotFound, Problems.DeliveryFixed],
  }).annotate(OpenApi.Summary, "Cancels a queued message").annotate(
    OpenApi.Description,
    "The message is not sent.",
  ),
  HttpApiEndpoint.post("retryDelivery", "/organizations/:org/deliveries/:delivery/retry", {
    params: deliveryPath,
    success: DeliveryResource,
    error: [Problems.OrganizationNotFound, Problems.DeliveryNotFound, Problems.DeliveryFixed],
  }).annotate(OpenApi.Summary, "Retries a failed message").annotate(
    OpenApi.Description,
    "Queues a failed message again and resets its attempts and its retry horizon.",
  ),
) {}
