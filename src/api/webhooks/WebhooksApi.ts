import { sourceIdOf } from "../../domain/Source.ts"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { EventCategory, EventName } from "../../domain/EventKinds.ts"
import { GivenUserId } from "../../domain/Ids.ts"
import { isStorable } from "../../domain/Attributes.ts"
import { parseCursor } from "../../journal/events/EventHistory.ts"
import { SourceInput } from "../../intake/WebhookSources.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import * as Cursors from "../http/Cursors.ts"
import * as Parameters from "../http/Parameters.ts"

// The part of the management API for webhook sources, events and erasures.

const path = { org: Schema.String }
const sourcePath = { ...path, segment: Schema.String }
/** A webhook source with its activity of the last 24 hours. */
export const WebhookSource = Schema.Struct({
  segment: Schema.String.annotate({ description: "Neutral name of the source, such as provider_a" }),
  platform: Schema.String.annotate({ description: "Name of the platform, which paths accept as well" }),
  path: Schema.String.annotate({ description: "Path of the webhook URL to enter on the platform" }),
  set_up: Schema.Boolean.annotate({ description: "False if events are authenticated by API keys only" }),
  enabled: Schema.Boolean,
  settings: Schema.Record(Schema.String, Schema.Unknown),
  secrets: Schema.Array(Schema.Struct({
    accepted_until: Schema.NullOr(Schema.String).annotate({ description: "Null for the secret in use" }),
  })),
  last_received_at: Schema.NullOr(Schema.String).annotate({
    description: "Time of the last body, also of an earlier one. Null if no body is kept",
  }),
  bodies: Schema.Int,
  events: Schema.Int,
  duplicates: Schema.Int,
  ignored: Schema.Int,
  not_understood: Schema.Int,
  pending: Schema.Int,
  lag_seconds: Schema.Finite.annotate({
    description: "Age of the oldest body that has not been processed, in seconds",
  }),
}).annotate({ identifier: "WebhookSource" })
export type WebhookSource = typeof WebhookSource.Type

/** A normalized event. Template, variant and segment are copied from its decision. */
export const ListedEvent = Schema.Struct({
  source: Schema.String,
  category: EventCategory,
  event: EventName,
  tracking_id: Schema.NullOr(Schema.String),
  user: Schema.NullOr(Schema.String),
  email: Schema.NullOr(Schema.String).annotate({
    description: "The person's address as the source spells it, on negative events and on events without a message",
  }),
  event_id: Schema.NullOr(Schema.String),
  occurred_at: Schema.String,
  received_at: Schema.String,
  automated: Schema.Boolean,
  template_id: Schema.NullOr(Schema.String),
  copy_id: Schema.NullOr(Schema.String),
  segment: Schema.NullOr(Schema.String),
  status: Schema.Literals(["attributed", "ignored", "waiting", "unmatched", "person"]).annotate({
    description:
      "`ignored`: outside the time that counts for its decision; `waiting` for its decision; `unmatched`: no decision was found in time; `person`: it names a person but no message",
  }),
}).annotate({ identifier: "Event" })
export type ListedEvent = typeof ListedEvent.Type

/** The person to erase: by the caller's user id, by e-mail address, or both. */
export const ErasureBody = Schema.Struct({
  user_id: Schema.optionalKey(GivenUserId),
  email: Schema.optionalKey(GivenUserId),
}).check(
  Schema.makeFilter<{ readonly user_id?: string; readonly email?: string }>((person) =>
    person.user_id === undefined && person.email === undefined ? "must have user_id or email" : undefined
  ),
)

/** The report of an erasure. */
const ErasureReport = Schema.Struct({
  id: Schema.Int,
  state: Schema.Literals(["running", "done", "failed"]).annotate({
    description: "`running`: request this id again. `failed`: three attempts failed, see `reason`",
  }),
  requested_at: Schema.String,
  finished_at: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String).annotate({ description: "Why the last attempt failed" }),
  profiles: Schema.Int.annotate({ description: "Deleted profiles" }),
  decisions: Schema.Int.annotate({ description: "Decisions from which the identifier was removed" }),
  events: Schema.Int.annotate({ description: "Events from which the identifier, link and message id were removed" }),
  deliveries: Schema.Int.annotate({ description: "Deliveries from which the address and content were removed" }),
  cancelled: Schema.Int.annotate({ description: "Queued deliveries that were cancelled" }),
  bodies: Schema.Int.annotate({ description: "Emptied webhook bodies that contained an identifier of the person" }),
  sticky_choices: Schema.Int.annotate({ description: "Deleted sticky choices" }),
  send_times: Schema.Int.annotate({ description: "Deleted histories of the person's engagement times" }),
  send_advice: Schema.Int.annotate({ description: "Deleted send times that Delay recommended" }),
  message_links: Schema.Int.annotate({ description: "Deleted message ids of platforms" }),
  attribute_counts: Schema.Int.annotate({
    description: "Deleted counts of attribute values that contained an identifier of the person",
  }),
  sink_messages: Schema.Int.annotate({
    description: "Deleted sandbox messages",
  }),
  webhook_events: Schema.Int.annotate({ description: "Deleted events for webhook endpoints" }),
  notifications: Schema.Int.annotate({ description: "Deleted notifications of members" }),
  template_owners: Schema.Int.annotate({ description: "Templates that lost their owner, a former member" }),
  sample_people: Schema.Int.annotate({ description: "Deleted sample people of previews" }),
  test_groups: Schema.Int.annotate({ description: "Test groups from which the address was removed" }),
  saved_views: Schema.Int.annotate({ description: "Deleted saved views that named the person" }),
  drafts: Schema.Int.annotate({ description: "Deleted drafts of a former member" }),
  version_authors: Schema.Int.annotate({
    description: "Versions of variants and snippets that lost their author, a former member",
  }),
  kept: Schema.Array(Schema.Struct({
    kind: Schema.String,
    count: Schema.NullOr(Schema.Int).annotate({ description: "Null if unknown" }),
    reason: Schema.String,
  })).annotate({ description: "The kept data, with reasons" }),
}).annotate({ identifier: "Erasure" })

/** A sample to read: `body` as text or JSON, `headers` by lowercase name. */
export const DryRunBody = Schema.Struct({
  mapping: Schema.optionalKey(Schema.Unknown).annotate({
    description: "Custom events: a mapping to try in place of the settings of the source",
  }),
  body: Schema.Unknown,
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
}).annotate({ identifier: "MappingTestRequest" })

/**
 * Returns why a session or an API key cannot change a source: `provider_e` requires the admin token, on the command
 * line. Undefined for other sources.
 */
const commandLineOnly = ({ segment = "" }: Readonly<Record<string, string | undefined>>) =>
  sourceIdOf(segment) === "provider_e"
    ? "The webhook source provider_e is set up on the command line: `parlance webhook set provider_e`, or with the admin token"
    : undefined

/** Endpoints of webhook sources, stored events and the erasure of people. */
export class WebhooksManagementGroup extends managementGroup(
  "sources",
  "Webhook sources, stored events, and erasure of people",
  {
    listSources: reads("viewer", "admin"),
    putSource: writes("admin", "webhook source changed", "admin", { refuses: commandLineOnly }),
    deleteSource: writes("admin", "webhook source removed", "admin", { refuses: commandLineOnly }),
    dryRun: reads("viewer", "events:read"),
    erasePerson: writes("admin", "person erased", "admin", { isPrivate: true }),
    getErasure: reads("admin", "admin"),
    listEvents: reads("viewer", "events:read", { inSandbox: true }),
  },
  HttpApiEndpoint.get("listSources", "/organizations/:org/webhooks", {
    params: path,
    success: Schema.Struct({ webhooks: Schema.Array(WebhookSource) }),
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "The webhook sources of an organization").annotate(
    OpenApi.Description,
    "Sources that are set up or have sent events, with counts of the last 24 hours.",
  ),
  HttpApiEndpoint.put("putSource", "/organizations/:org/webhooks/:segment", {
    params: sourcePath,
    payload: SourceInput,
    success: WebhookSource,
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.SourceNotFound, Problems.Unprocessable],
  }).annotate(OpenApi.Summary, "Creates or updates a webhook source").annotate(
    OpenApi.Description,
    "Absent members stay unchanged. When a new `secret` is set, the previous one stays valid for 24 hours; " +
      "setting the current secret again changes nothing. Secrets are stored encrypted and never shown again. `settings` " +
      "are replaced as a whole, and settings that the platform does not have are refused. Segment signs only the first item of a " +
      "batch: such batches are accepted with `unsigned_items: true` or with `scheme: token`. A `mapping` of custom events " +
      "replaces the default shape, CloudEvents and `conversions`.",
  ),
  HttpApiEndpoint.delete("deleteSource", "/organizations/:org/webhooks/:segment", {
    params: sourcePath,
    success: HttpApiSchema.NoContent,
    error: [Problems.OrganizationNotFound, Problems.SourceNotFound],
  }).annotate(OpenApi.Summary, "Removes a webhook source").annotate(
    OpenApi.Description,
    "Later webhooks of the source are refused. Received events are kept.",
  ),
  HttpApiEndpoint.post("dryRun", "/organizations/:org/webhooks/:segment/dry-run", {
    params: sourcePath,
    payload: DryRunBody,
    success: Schema.Unknown,
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.SourceNotFound],
  }).annotate(OpenApi.Summary, "Shows how a sample body would be understood").annotate(
    OpenApi.Description,
    "For each of the first 100 items, its event, or the reason why there is no event. A mapping also shows where the " +
      "values were found (the first 500 characters of each). Signatures are not checked, and nothing is stored. A run that takes more than 10 " +
      "million steps or 2 seconds ends with a reason. Responds with 503 when too many checks are waiting.",
  ),
  HttpApiEndpoint.post("erasePerson", "/organizations/:org/erasures", {
    params: path,
    payload: ErasureBody,
    success: ErasureReport,
    error: [...Problems.ofBody, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Erases a person").annotate(
    OpenApi.Description,
    "Deletes the profile, sticky choices and send times of a person; removes the identifier from decisions, events and " +
      "deliveries; cancels queued messages; empties received webhook bodies that contain a name. The profile supplies the " +
      "other identifier of the person. User ids are compared exactly, e-mail addresses without regard to case. Bodies are " +
      "searched for addresses also within `Name <address>`, JSON-escaped and percent-encoded. Counts are kept. This cannot be " +
      "undone. Responds within 10 seconds. Request an erasure that is still `running` by its `id`.",
  ),
  HttpApiEndpoint.get("getErasure", "/organizations/:org/erasures/:id", {
    params: { ...path, id: Schema.String },
    success: ErasureReport,
    error: [Problems.OrganizationNotFound, Problems.ErasureNotFound],
  }).annotate(OpenApi.Summary, "The report of an erasure").annotate(
    OpenApi.Description,
    "The number of erased rows by kind, and the kept data with reasons. Stored for 30 days. Once the erasure is done, " +
      "the report names no person.",
  ),
  HttpApiEndpoint.get("listEvents", "/organizations/:org/events", {
    params: path,
    query: {
      ...Cursors.cursor(
        "events",
        "after",
        Parameters.position(undefined, (text) => parseCursor(text)?.every(isStorable) === true),
      ),
      limit: Parameters.limit(1_000, 100),
      tracking_id: Parameters.described("Only events of this decision", Parameters.text("must be a tracking id")),
      latest: Parameters.described("`true`: the last events instead of the first, in the same order", Parameters.flag),
    },
    success: Schema.Struct({ events: Schema.Array(ListedEvent), ...Cursors.following(Schema.String) }),
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "The events of an organization").annotate(
    OpenApi.Description,
    "Normalized events in the order in which their bodies arrived. An event that belongs to several decisions is listed " +
      "once for each. `next_cursor` is null only on a page without events; otherwise it leads to later events. Each event is " +
      "listed once, in its state at the time of the request. A `waiting` event that finds its decision later changes on " +
      "its page and is not listed again. To see the change, request an earlier page again or use `tracking_id`.",
  ),
) {}
