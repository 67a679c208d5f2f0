import { Schema } from "effect"
import { HttpApiEndpoint, OpenApi } from "effect/http-api"
import { EventName } from "../../domain/EventKinds.ts"
import { parseTimelineCursor } from "../../people/Timelines.ts"
import { reads } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import { DeliveryResource } from "../deliveries/DeliveryResource.ts"
import * as Problems from "../Problems.ts"
import * as Cursors from "../http/Cursors.ts"
import * as Parameters from "../http/Parameters.ts"
import { SuppressionResource } from "../suppressions/SuppressionsApi.ts"
import { described } from "../../domain/described.ts"
import { DecisionMode, FailedRenderings } from "./FailedRendering.ts"

// The part of the management API for the timeline of one message or person, and for the latest events of a source.

const path = { org: Schema.String }
/** An event and its effect. */
const TimelineEventResource = Schema.Struct({
  source: Schema.String,
  event_id: Schema.NullOr(Schema.String),
  event: EventName,
  occurred_at: Schema.String,
  received_at: Schema.String,
  automated: described(Schema.Boolean, "Whether its source says that a machine caused it"),
  link: Schema.NullOr(Schema.String),
  value: described(Schema.NullOr(Schema.Finite), "Value of a conversion; null if not given"),
  currency: described(Schema.NullOr(Schema.String), "ISO 4217 code of the value's currency; null if not given"),
  group: described(
    Schema.NullOr(Schema.String),
    "List, group, channel or type of messages that an opt-out or opt-in concerns; null: all messages",
  ),
  effect: described(
    Schema.Literals(["counted", "repeated", "automated", "out_of_time", "waiting", "unmatched", "person"]),
    "`counted`: counts in results; `repeated`: its kind was counted before; `automated`: from a machine, counted separately; " +
      "`out_of_time`: too early or too late; `waiting` for a decision; `unmatched`: no decision found; `person`: it names the " +
      "person but no message",
  ),
  reason: Schema.NullOr(Schema.String),
}).annotate({ identifier: "StoryEvent" })

/** A decision with its events. */
const TimelineDecisionResource = Schema.Struct({
  tracking_id: Schema.String,
  template_id: Schema.String,
  copy_id: Schema.String,
  user_id: Schema.NullOr(Schema.String),
  segment: described(
    Schema.String,
    "Attributes recorded with the decision: `name=value` pairs, percent-encoded, sorted and joined by `&`. The model that " +
      "decided may have used fewer",
  ),
  locale: described(
    Schema.NullOr(Schema.String),
    "Locale of the texts that were sent. Null for a template in one locale, and without a message",
  ),
  mode: DecisionMode,
  propensity: Schema.NullOr(Schema.Finite),
  weights: Schema.NullOr(Schema.Record(Schema.String, Schema.Finite)),
  failed: FailedRenderings,
  policy: described(Schema.String, "The model that decided"),
  lookback_days: described(Schema.NullOr(Schema.Finite), "Null: the adaptive window"),
  offset_days: Schema.NullOr(Schema.Finite),
  decided_at: Schema.String,
  delivery: Schema.NullOr(DeliveryResource),
  events: described(Schema.Array(TimelineEventResource), "Earliest first, at most 200"),
  more_events: Schema.Boolean,
}).annotate({ identifier: "StoryDecision" })

/** The timeline of a message or of a person. */
export const TimelineResource = Schema.Struct({
  test: described(
    Schema.Boolean,
    "True in a sandbox: all data comes from requests with test keys and is not counted",
  ),
  found_as: described(
    Schema.NullOr(Schema.Literals(["tracking_id", "person"])),
    "The kind of identifier that matched `q`; null without `q`",
  ),
  names: described(Schema.Array(Schema.String), "Identifiers of the person that were searched"),
  profiles: Schema.Array(Schema.Struct({
    user_id: Schema.String,
    email: Schema.NullOr(Schema.String),
    traits: Schema.Record(Schema.String, Schema.Unknown),
    updated_at: Schema.String,
  })),
  decisions: described(Schema.Array(TimelineDecisionResource), "Latest first"),
  repeats: described(Schema.Array(DeliveryResource), "Messages that repeat an earlier, sticky choice"),
  loose: described(
    Schema.Array(TimelineEventResource),
    "Events of the tracking id or person that belong to no decision. For a person, the latest 200",
  ),
  advice: described(
    Schema.Array(Schema.Struct({
      person: Schema.String,
      copy_id: Schema.String,
      given_at: Schema.String,
      advised_at: Schema.String,
      explored: Schema.Boolean,
      basis: Schema.String,
    })),
    "Recommended send times that are not settled yet",
  ),
  suppressions: described(
    Schema.Array(SuppressionResource),
    "Entries of the person's addresses on the suppression list, on the first page",
  ),
  ...Cursors.following(Schema.String),
}).annotate({ identifier: "Story" })
export type TimelineResource = typeof TimelineResource.Type

const RecentEvent = Schema.Struct({
  event: EventName,
  tracking_id: Schema.NullOr(Schema.String),
  template_id: Schema.NullOr(Schema.String),
  copy_id: Schema.NullOr(Schema.String),
  user: Schema.NullOr(Schema.String),
  automated: Schema.Boolean,
  occurred_at: Schema.String,
  received_at: Schema.String,
  status: Schema.Literals(["attributed", "ignored", "waiting", "unmatched", "person"]),
}).annotate({ identifier: "RecentEvent" })

/** A search term: 1 to 400 characters. */
const name = Parameters.text("must be 1 to 400 characters", ({ length }) => length > 0 && length <= 400)

/** Endpoints of the messages and events of one person. */
export class TimelinesGroup extends managementGroup(
  "stories",
  "The messages and events of one person",
  {
    findStory: reads("viewer", "events:read", { inSandbox: true }),
    recentEvents: reads("viewer", "events:read", { inSandbox: true }),
  },
  HttpApiEndpoint.get("findStory", "/organizations/:org/stories", {
    params: path,
    query: {
      tracking_id: Parameters.described("Tracking id of one message", name),
      user_id: Parameters.described("Your id of a person", name),
      email: Parameters.described("E-mail address of a person", Parameters.ofAddress(name)),
      q: Parameters.described("A tracking id, user id or e-mail address; the service detects the kind", name),
      ...Cursors.cursor(
        "story",
        "after",
        Parameters.position(undefined, (text) => parseTimelineCursor(text) !== undefined),
      ),
      limit: Parameters.limit(100, 20, "Decisions, "),
    },
    success: TimelineResource,
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "The timeline of a message or a person").annotate(
    OpenApi.Description,
    "The timeline of a tracking id or a person: decisions and reasons, deliveries, events and their effects, and " +
      "traits. Exactly one of `tracking_id`, `user_id`, `email` and `q` is required. An unknown id has an empty timeline.",
  ),
  HttpApiEndpoint.get("recentEvents", "/organizations/:org/webhooks/:segment/events", {
    params: { ...path, segment: Schema.String },
    query: { limit: Parameters.limit(200, 50) },
    success: Schema.Struct({ events: Schema.Array(RecentEvent) }),
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "The latest events of a source").annotate(
    OpenApi.Description,
    "The events in the latest 200 bodies of a source, the latest body first.",
  ),
) {}
