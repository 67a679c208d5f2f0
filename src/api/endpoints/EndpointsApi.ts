import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { HttpUrl } from "../../delivery/connections/Entry.ts"
import { Remark } from "../../domain/Ids.ts"
import { alternatives } from "../../text/alternatives.ts"
import { batchedTypes } from "../../webhooks/BatchTypes.ts"
import { chosenTypes } from "../../webhooks/EventTypes.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import * as Cursors from "../http/Cursors.ts"
import * as Parameters from "../http/Parameters.ts"

// The part of the management API for webhook endpoints.

const path = { org: Schema.String }
const endpointPath = { ...path, endpoint: Schema.String }

const Events = Schema.Array(Schema.Literals(chosenTypes)).annotate({
  description: "Types of events that the endpoint receives. Empty: all types of single events, including types that " +
    `later versions add. ${
      alternatives(batchedTypes.map((type) => `\`${type}\``))
    } come in batches, and only if listed`,
})

/** A webhook endpoint without its secret. */
export const WebhookEndpoint = Schema.Struct({
  id: Schema.String,
  url: Schema.String,
  description: Schema.String,
  events: Events,
  enabled: Schema.Boolean,
  disabled_reason: Schema.NullOr(Schema.String).annotate({
    description: "Why the service disabled it: only failures for 5 days, or an answer 410",
  }),
  failing_since: Schema.NullOr(Schema.String).annotate({ description: "The first failure since the last success" }),
  created_at: Schema.String,
  updated_at: Schema.String,
}).annotate({ identifier: "WebhookEndpoint" })
export type WebhookEndpoint = typeof WebhookEndpoint.Type

const secret = Schema.String.annotate({ description: "The signing secret, `whsec_` and Base64. It is shown only once" })

/** A webhook endpoint to create. Defaults: no description, all types of events, enabled. */
export const EndpointInput = Schema.Struct({
  url: HttpUrl.annotate({ description: "`https:`; private addresses only if `OUTBOUND_ALLOW` lists them" }),
  description: Schema.optionalKey(Remark),
  events: Schema.optionalKey(Events),
  enabled: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "WebhookEndpointInput" })

/** A change of a webhook endpoint. Absent members stay unchanged. */
export const EndpointPatch = Schema.Struct({
  url: Schema.optionalKey(HttpUrl),
  description: Schema.optionalKey(Remark),
  events: Schema.optionalKey(Events),
  enabled: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "WebhookEndpointPatch" })

/** The events to send again: exactly one of `event_id` and `since`. */
export const ReplayInput = Schema.Struct({
  event_id: Schema.optionalKey(Schema.String).annotate({ description: "One event" }),
  since: Schema.optionalKey(Schema.String).annotate({ description: "All events since this time, ISO 8601" }),
}).annotate({ identifier: "WebhookReplayInput" })

/** An event for a webhook endpoint, queued or finished, with its attempts. */
export const SentEvent = Schema.Struct({
  id: Schema.String.annotate({ description: "The header `webhook-id`" }),
  type: Schema.String,
  state: Schema.Literals(["pending", "delivered", "failed"]),
  created_at: Schema.String,
  next_attempt_at: Schema.NullOr(Schema.String),
  finished_at: Schema.NullOr(Schema.String),
  body: Schema.NullOr(Schema.String).annotate({
    description: "The body as it is signed; null for a batch, whose events are read for each attempt",
  }),
  event_count: Schema.NullOr(Schema.Int).annotate({
    description: "Number of events in a batch; null for a single event",
  }),
  attempts: Schema.Array(Schema.Struct({
    at: Schema.String,
    status: Schema.NullOr(Schema.Int).annotate({ description: "Status of the response; null without one" }),
    reason: Schema.NullOr(Schema.String).annotate({ description: "Why it failed; null if it did not" }),
    milliseconds: Schema.Number,
  })).annotate({ description: "The last 20, the earliest first" }),
}).annotate({ identifier: "WebhookEvent" })
export type SentEvent = typeof SentEvent.Type

const notFound = [Problems.OrganizationNotFound, Problems.EndpointNotFound] as const

/** Endpoints of the servers that receive events by webhooks. */
export class EndpointsGroup extends managementGroup(
  "endpoints",
  "Servers that receive events by webhooks",
  {
    listWebhookEndpoints: reads("viewer", "admin"),
    createWebhookEndpoint: writes("admin", "webhook endpoint created", "admin"),
    getWebhookEndpoint: reads("viewer", "admin"),
    updateWebhookEndpoint: writes("admin", "webhook endpoint changed", "admin"),
    deleteWebhookEndpoint: writes("admin", "webhook endpoint removed", "admin"),
    rotateWebhookSecret: writes("admin", "webhook secret replaced", "admin"),
    pingWebhookEndpoint: writes("admin", "webhook endpoint tested", "admin"),
    listWebhookEvents: reads("admin", "admin"),
    replayWebhookEvents: writes("admin", "webhook events replayed", "admin"),
  },
  HttpApiEndpoint.get("listWebhookEndpoints", "/organizations/:org/webhook-endpoints", {
    params: path,
    success: Schema.Struct({ endpoints: Schema.Array(WebhookEndpoint) }),
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "The webhook endpoints of an organization"),
  HttpApiEndpoint.post("createWebhookEndpoint", "/organizations/:org/webhook-endpoints", {
    params: path,
    payload: EndpointInput,
    success: Schema.Struct({ ...WebhookEndpoint.fields, secret }).annotate({ identifier: "NewWebhookEndpoint" }).pipe(
      HttpApiSchema.status(201),
    ),
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.Unprocessable],
  }).annotate(OpenApi.Summary, "Adds a webhook endpoint").annotate(
    OpenApi.Description,
    "At most 10. The events and their bodies are under `webhooks` of this document.",
  ),
  HttpApiEndpoint.get("getWebhookEndpoint", "/organizations/:org/webhook-endpoints/:endpoint", {
    params: endpointPath,
    success: WebhookEndpoint,
    error: [...notFound],
  }).annotate(OpenApi.Summary, "One webhook endpoint"),
  HttpApiEndpoint.patch("updateWebhookEndpoint", "/organizations/:org/webhook-endpoints/:endpoint", {
    params: endpointPath,
    payload: EndpointPatch,
    success: WebhookEndpoint,
    error: [...Problems.ofBody, ...notFound],
  }).annotate(OpenApi.Summary, "Changes a webhook endpoint; absent members stay unchanged").annotate(
    OpenApi.Description,
    "`enabled: true` also enables an endpoint that the service disabled. Events since then are not sent. A replay can send " +
      "events that were stored before the endpoint was disabled.",
  ),
  HttpApiEndpoint.delete("deleteWebhookEndpoint", "/organizations/:org/webhook-endpoints/:endpoint", {
    params: endpointPath,
    success: HttpApiSchema.NoContent,
    error: [...notFound],
  }).annotate(OpenApi.Summary, "Removes a webhook endpoint with its events"),
  HttpApiEndpoint.post("rotateWebhookSecret", "/organizations/:org/webhook-endpoints/:endpoint/rotate", {
    params: endpointPath,
    success: Schema.Struct({ secret }).annotate({ identifier: "WebhookSecret" }),
    error: [...notFound, Problems.Unprocessable],
  }).annotate(OpenApi.Summary, "Replaces the signing secret").annotate(
    OpenApi.Description,
    "For 24 hours, events have two signatures: by the new secret and by the previous secret.",
  ),
  HttpApiEndpoint.post("pingWebhookEndpoint", "/organizations/:org/webhook-endpoints/:endpoint/ping", {
    params: endpointPath,
    success: Schema.Struct({ event_id: Schema.String }).annotate({ identifier: "WebhookPing" }).pipe(
      HttpApiSchema.status(202),
    ),
    error: [...notFound],
  }).annotate(OpenApi.Summary, "Sends an event `ping`").annotate(
    OpenApi.Description,
    "The event is sent within seconds, or once a disabled endpoint is enabled. The list of events contains the result.",
  ),
  HttpApiEndpoint.get("listWebhookEvents", "/organizations/:org/webhook-endpoints/:endpoint/events", {
    params: endpointPath,
    query: {
      ...Cursors.cursor("webhook events", "before", Parameters.position()),
      limit: Parameters.limit(100, 25),
    },
    success: Schema.Struct({ events: Schema.Array(SentEvent), ...Cursors.following(Schema.String) }),
    error: [Problems.InvalidRequest, ...notFound],
  }).annotate(OpenApi.Summary, "Events of an endpoint with their attempts").annotate(
    OpenApi.Description,
    "Of the last 30 days, the latest first.",
  ),
  HttpApiEndpoint.post("replayWebhookEvents", "/organizations/:org/webhook-endpoints/:endpoint/replay", {
    params: endpointPath,
    payload: ReplayInput,
    success: Schema.Struct({ replayed: Schema.Int }).annotate({ identifier: "WebhookReplay" }),
    error: [...Problems.ofBody, ...notFound],
  }).annotate(OpenApi.Summary, "Sends one event, or all since a time, again").annotate(
    OpenApi.Description,
    "Delivered events are sent again as well. Each event keeps its `webhook-id`. Events with a pending attempt stay unchanged.",
  ),
) {}
