import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ConnectionChange } from "../../delivery/Connections.ts"
import { DeliveryState, Priority } from "../../delivery/Delivery.ts"
import { filterDescriptions } from "../../delivery/DeliveryFilter.ts"
import { AdminRequired } from "../admission/AdminRequired.ts"
import { BulkCancelBody, bulkHeaders, BulkResult } from "./BulkActionsApi.ts"
import * as Problems from "../Problems.ts"

// The part of the management API for managed delivery: the ways out, and what is on its way.

const path = { org: Schema.String }
const connectionPath = { ...path, connection: Schema.String }
const deliveryPath = { ...path, delivery: Schema.String }
/** A connection without its secrets. */
export const Connection = Schema.Struct({
  name: Schema.String,
  platform: Schema.String,
  settings: Schema.Record(Schema.String, Schema.Unknown),
  secrets: Schema.Array(Schema.String).annotate({ description: "Names of the secrets that are set" }),
  enabled: Schema.Boolean,
  paused: Schema.Boolean,
  default: Schema.Boolean.annotate({ description: "Of the enabled ones the one that carries what is delivered" }),
  in_use: Schema.Boolean,
  trouble: Schema.NullOr(Schema.Struct({
    state: Schema.Literals(["slow-down", "failing", "broken", "refusing"]).annotate({
      description: "refusing: the platform refused so many messages that the connection is paused until it is resumed",
    }),
    reason: Schema.String,
    since: Schema.String,
    until: Schema.NullOr(Schema.String).annotate({
      description: "When it is tried again; null while it is refusing: not before it is resumed",
    }),
  })).annotate({ description: "Why nothing leaves now; null while all is well" }),
  complaint_address: Schema.NullOr(Schema.String).annotate({
    description: "Where providers send complaints about messages (feedback loops); null without a `bounce_domain`",
  }),
  created_at: Schema.String,
  updated_at: Schema.String,
})
export type Connection = typeof Connection.Type

const delivery = {
  id: Schema.String.annotate({ description: "Also the tracking id of its decision" }),
  template_id: Schema.String,
  copy_id: Schema.String,
  email: Schema.NullOr(Schema.String).annotate({ description: "Null once the person has been erased" }),
  state: DeliveryState,
  priority: Priority.annotate({ description: "Transactional messages leave before bulk messages" }),
  due_at: Schema.String,
  queued_at: Schema.String,
  expires_at: Schema.NullOr(Schema.String).annotate({
    description: "It fails if it has not left by then; null: it does not expire",
  }),
  attempts: Schema.Int.annotate({ description: "Attempts that ended without an acceptance" }),
  connection: Schema.NullOr(Schema.String),
  message_id: Schema.NullOr(Schema.String).annotate({ description: "The platform's own name of it" }),
  reason: Schema.NullOr(Schema.String).annotate({
    description: "Why the last attempt failed, and for a message that has failed or was cancelled, why that is final",
  }),
  finished_at: Schema.NullOr(Schema.String),
}

/** A message on its way, or gone. */
export const Delivery = Schema.Struct(delivery)
export type Delivery = typeof Delivery.Type

/** The same with its words. */
export const DeliveryDetail = Schema.Struct({
  ...delivery,
  vars: Schema.NullOr(Schema.Record(Schema.String, Schema.String)),
  formats: Schema.Record(Schema.String, Schema.String),
})

/** How the queue stands. */
export const DeliverySummary = Schema.Struct({
  queued: Schema.Int.annotate({ description: "Due now; 50,000 stands for that or more" }),
  scheduled: Schema.Int.annotate({
    description: "Due later: scheduled, or waiting for another attempt; 50,000 stands for that or more",
  }),
  sending: Schema.Int,
  sent: Schema.Int,
  failed: Schema.Int,
  cancelled: Schema.Int,
  oldest_due_seconds: Schema.Finite.annotate({ description: "How long the oldest that is due has waited" }),
  sent_per_second: Schema.Finite.annotate({ description: "Of late" }),
})

/** How delivery went over time. */
export const DeliverySeries = Schema.Struct({
  hours: Schema.Int,
  step_minutes: Schema.Int.annotate({ description: "Length of a stretch" }),
  points: Schema.Array(Schema.Struct({
    start: Schema.String,
    end: Schema.String,
    minutes: Schema.Finite.annotate({
      description:
        "Of the stretch so far, at least 1: `sent`, `failed` and `retried` divided by it are rates per minute",
    }),
    complete: Schema.Boolean.annotate({ description: "False for the stretch that has not ended" }),
    sent: Schema.Int,
    failed: Schema.Int,
    retried: Schema.Int.annotate({ description: "Attempts that failed and are repeated" }),
    queued: Schema.NullOr(Schema.Int).annotate({
      description:
        "Messages that were due and waited, at the most, looked up once in a minute; 50,000 stands for that " +
        "or more. Null where nobody looked, as while the service was down",
    }),
    oldest_due_seconds: Schema.NullOr(Schema.Finite).annotate({
      description: "How long the oldest of them had waited, at the most",
    }),
  })).annotate({ description: "Without gaps, the oldest first" }),
})
export type DeliverySeries = typeof DeliverySeries.Type

/** Plain text here, as the handler lists every fault of the query. */
const inQuery = (name: keyof typeof filterDescriptions) =>
  Schema.optionalKey(Schema.String).annotate({ description: filterDescriptions[name] })

const listQuery = {
  state: Schema.optionalKey(Schema.String).annotate({ description: "Only these" }),
  since: inQuery("since"),
  until: inQuery("until"),
  reason: inQuery("reason"),
  template_id: inQuery("template_id"),
  connection: inQuery("connection"),
  email: Schema.optionalKey(Schema.String).annotate({ description: "Only to this address" }),
  cursor: Schema.optionalKey(Schema.String).annotate({ description: "`next` of the page before" }),
  limit: Schema.optionalKey(Schema.String).annotate({ description: "1 to 500, default 50" }),
}

const keyPath = { delivery: Schema.String, ...path }

const keyProblems = [Problems.Unauthorized, Problems.Forbidden, Problems.RateLimited, Problems.Unavailable] as const

const keyed = OpenApi.annotations({ override: { security: [{ ApiKeyHeader: [] }, { ApiKeyBearer: [] }] } })

/** Deliveries for callers of Deliver: with an API key that has the scope `deliver`. */
export class DeliveriesGroup extends HttpApiGroup.make("deliveries")
  .add(
    HttpApiEndpoint.get("listOwn", "/api/deliveries/:org", {
      params: path,
      query: listQuery,
      success: Schema.Struct({ deliveries: Schema.Array(Delivery), next: Schema.NullOr(Schema.String) }),
      error: [Problems.InvalidRequest, ...keyProblems],
    }).annotateMerge(keyed).annotate(OpenApi.Summary, "The messages of the key's organization").annotate(
      OpenApi.Description,
      "The latest first. The key needs the scope `deliver`.",
    ),
    HttpApiEndpoint.get("readOwn", "/api/deliveries/:delivery/:org", {
      params: keyPath,
      success: DeliveryDetail,
      error: [...keyProblems, Problems.DeliveryNotFound],
    }).annotateMerge(keyed).annotate(OpenApi.Summary, "One message with its words").annotate(
      OpenApi.Description,
      "`delivery` is the header Parlance-Delivery-Id of Deliver's answer. The key needs the scope `deliver`.",
    ),
    HttpApiEndpoint.post("cancelOwn", "/api/deliveries/:delivery/cancel/:org", {
      params: keyPath,
      success: Delivery,
      error: [...keyProblems, Problems.DeliveryNotFound, Problems.DeliveryFixed],
    }).annotateMerge(keyed).annotate(OpenApi.Summary, "Cancels a queued message").annotate(
      OpenApi.Description,
      "A message that is cancelled already stays so. The key needs the scope `deliver`.",
    ),
    HttpApiEndpoint.post("cancelAllOwn", "/api/deliveries/cancel/:org", {
      params: path,
      headers: bulkHeaders,
      payload: BulkCancelBody,
      success: BulkResult,
      error: [...Problems.ofBody, ...keyProblems, Problems.IdempotencyKeyReused],
    }).annotateMerge(keyed).annotate(OpenApi.Summary, "Cancels all queued messages that match a filter").annotate(
      OpenApi.Description,
      "As `cancelDeliveries` of the management API. The same request with the same `Idempotency-Key` answers the progress of " +
        "an action that is running. The key needs the scope `deliver`.",
    ),
  )
  .annotate(OpenApi.Description, "Deliveries") {}

export class DeliveryGroup extends HttpApiGroup.make("delivery")
  .add(
    HttpApiEndpoint.get("listConnections", "/organizations/:org/connections", {
      params: path,
      success: Schema.Struct({ connections: Schema.Array(Connection) }),
      error: Problems.OrganizationNotFound,
    }).annotate(OpenApi.Summary, "The connections of an organization"),
    HttpApiEndpoint.put("putConnection", "/organizations/:org/connections/:connection", {
      params: connectionPath,
      payload: ConnectionChange,
      success: Connection,
      error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.Unprocessable],
    }).annotate(OpenApi.Summary, "Sets up or changes a connection").annotate(
      OpenApi.Description,
      "Sets a connection up or changes it; what is absent stays, `settings` are replaced whole, `secrets` are merged by " +
        "name (null takes one away), stored encrypted and never shown again. `paused: true` lets everything that is due wait.",
    ),
    HttpApiEndpoint.delete("deleteConnection", "/organizations/:org/connections/:connection", {
      params: connectionPath,
      success: HttpApiSchema.NoContent,
      error: [Problems.OrganizationNotFound, Problems.ConnectionNotFound],
    }).annotate(OpenApi.Summary, "Removes a connection").annotate(
      OpenApi.Description,
      "What is queued waits for another connection.",
    ),
    HttpApiEndpoint.post("resumeConnection", "/organizations/:org/connections/:connection/resume", {
      params: connectionPath,
      success: Connection,
      error: [Problems.OrganizationNotFound, Problems.ConnectionNotFound],
    }).annotate(OpenApi.Summary, "Lets a connection send again").annotate(
      OpenApi.Description,
      "For a connection that is paused or refusing. A refusing connection is also resumed by a change of its settings or " +
        "secrets. Messages that the platform refused stay failed; they can be retried.",
    ),
    HttpApiEndpoint.post("testConnection", "/organizations/:org/connections/:connection/test", {
      params: connectionPath,
      success: Schema.Struct({
        ok: Schema.Boolean,
        detail: Schema.String,
        warnings: Schema.Array(Schema.String).annotate({
          description: "Variants without a subject or a body, which Deliver cannot send through this connection",
        }),
      }),
      error: [Problems.OrganizationNotFound, Problems.ConnectionNotFound],
    }).annotate(OpenApi.Summary, "Tries a connection").annotate(
      OpenApi.Description,
      "Tries credentials and settings against the platform, without sending anything. `warnings` name the variants that " +
        "are switched on and cannot be sent through this connection; they do not change `ok`.",
    ),
    HttpApiEndpoint.get("listDeliveries", "/organizations/:org/deliveries", {
      params: path,
      query: listQuery,
      success: Schema.Struct({ deliveries: Schema.Array(Delivery), next: Schema.NullOr(Schema.String) }),
      error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
    }).annotate(OpenApi.Summary, "The messages of an organization").annotate(OpenApi.Description, "The latest first."),
    HttpApiEndpoint.get("deliverySummary", "/organizations/:org/delivery-summary", {
      params: path,
      success: DeliverySummary,
      error: Problems.OrganizationNotFound,
    }).annotate(OpenApi.Summary, "How the queue stands").annotate(
      OpenApi.Description,
      "Counts by state, the age of the oldest due and the present rate.",
    ),
    HttpApiEndpoint.get("deliverySeries", "/organizations/:org/delivery-series", {
      params: path,
      query: {
        hours: Schema.optionalKey(Schema.String).annotate({
          description: "The last hours it is about, a whole number from 1 to 840, default 1",
        }),
      },
      success: DeliverySeries,
      error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
    }).annotate(OpenApi.Summary, "How delivery went over time").annotate(
      OpenApi.Description,
      "What was sent, failed and was repeated, and how many messages waited and for how long, in about 60 to 100 stretches.",
    ),
    HttpApiEndpoint.get("getDelivery", "/organizations/:org/deliveries/:delivery", {
      params: deliveryPath,
      success: DeliveryDetail,
      error: [Problems.OrganizationNotFound, Problems.DeliveryNotFound],
    }).annotate(OpenApi.Summary, "One message with its words"),
    HttpApiEndpoint.post("cancelDelivery", "/organizations/:org/deliveries/:delivery/cancel", {
      params: deliveryPath,
      success: Delivery,
      error: [Problems.OrganizationNotFound, Problems.DeliveryNotFound, Problems.DeliveryFixed],
    }).annotate(OpenApi.Summary, "Cancels a queued message").annotate(
      OpenApi.Description,
      "Keeps a queued message from leaving.",
    ),
    HttpApiEndpoint.post("retryDelivery", "/organizations/:org/deliveries/:delivery/retry", {
      params: deliveryPath,
      success: Delivery,
      error: [Problems.OrganizationNotFound, Problems.DeliveryNotFound, Problems.DeliveryFixed],
    }).annotate(OpenApi.Summary, "Sends a failed message again").annotate(
      OpenApi.Description,
      "Queues a failed message again. Its attempts and its retry horizon start anew.",
    ),
  )
  .middleware(AdminRequired)
  .prefix("/console/api") {}
