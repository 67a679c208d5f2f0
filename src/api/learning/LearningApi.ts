import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { DecisionMode, FailedRenderings } from "../timelines/FailedRendering.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import * as Cursors from "../http/Cursors.ts"
import * as Parameters from "../http/Parameters.ts"

// The part of the management API for the inbox, decisions and learned counts.

const path = { org: Schema.String }
const templatePath = { ...path, template: Schema.String }
const inboxPath = { ...path, segment: Schema.String }

const Count = Schema.NullOr(Schema.Int)

/** A stored webhook body. Counts are null until the body has been processed. */
const InboxBody = Schema.Struct({
  id: Schema.Int,
  received_at: Schema.String,
  status: Schema.Literals(["pending", "done", "partial", "rejected"]),
  attempts: Schema.Int.annotate({
    description:
      "Attempts to process the body on its own; it is rejected after three failures. 0 for a body that was processed in a " +
      "batch",
  }),
  headers: Schema.Record(Schema.String, Schema.String),
  body: Schema.String.annotate({ description: "The first 10,000 characters, as text" }),
  bytes: Schema.Int,
  events: Count.annotate({ description: "New events in the body" }),
  duplicates: Count.annotate({ description: "Events that had been received before" }),
  ignored: Count.annotate({ description: "Valid items that have no effect" }),
  unused: Schema.Array(Schema.Struct({ reason: Schema.String, count: Schema.Int, pointer: Schema.String })).annotate({
    description: "At most 20 reasons why items were ignored, each with the JSON pointer of its first item",
  }),
  faults: Schema.Array(Schema.Struct({ pointer: Schema.String, reason: Schema.String })),
}).annotate({ identifier: "InboxEntry" })

/** A recorded decision, with the time of the person's first outcome of each kind. */
const LoggedDecision = Schema.Struct({
  tracking_id: Schema.String,
  copy_id: Schema.String,
  segment: Schema.String.annotate({
    description:
      "Attributes recorded with the decision: `name=value` pairs, percent-encoded, sorted and joined by `&`. " +
      "The model that decided may have used fewer",
  }),
  mode: DecisionMode,
  propensity: Schema.NullOr(Schema.Finite),
  weights: Schema.NullOr(Schema.Record(Schema.String, Schema.Finite)),
  failed: FailedRenderings,
  policy: Schema.String,
  decided_at: Schema.String,
  outcomes: Schema.Struct({
    open: Schema.optionalKey(Schema.String),
    click: Schema.optionalKey(Schema.String),
    conversion: Schema.optionalKey(Schema.String),
  }),
}).annotate({ identifier: "Decision" })

/** The result of a rebuild. `differences` is empty if all counts were right. */
export const RebuildResult = Schema.Struct({
  decisions: Schema.Int,
  templates: Schema.Int,
  written: Schema.Boolean,
  faults: Schema.Array(Schema.Struct({ template_id: Schema.String, reason: Schema.String })).annotate({
    description: "Templates whose data prevented a rebuild. They stay unchanged; all other templates are rebuilt",
  }),
  send_times: Schema.NullOr(Schema.Struct({ people: Schema.Int, differences: Schema.Int })).annotate({
    description:
      "Number of people with decisions, and of histories that differed from decisions and events. Null for a rebuild of one " +
      "template, because histories span all templates",
  }),
  propensity_differences: Schema.Int.annotate({
    description:
      "Counts of settled decisions, weighted by inverse probabilities, that differed from decisions and events. This " +
      "includes outcomes reported after a decision was settled, which only a rebuild counts",
  }),
  differences: Schema.Array(Schema.Struct({
    template_id: Schema.String,
    copy_id: Schema.String,
    segment: Schema.String,
    bucket_start: Schema.String,
    track: Schema.String,
    measure: Schema.String,
    counted: Schema.Int,
    true: Schema.Int,
  })),
}).annotate({ identifier: "RebuildResult" })

const RebuildBody = Schema.Struct({
  template_id: Schema.optionalKey(Schema.String),
  check: Schema.optionalKey(Schema.Boolean),
})

/** Endpoints of the inbox, logged decisions and the state of learning. */
export class LearningGroup extends managementGroup(
  "learning",
  "The inbox of events, logged decisions, and the state of learning",
  {
    listInbox: reads("viewer", "events:read", { inSandbox: true }),
    replayInbox: writes("editor", "webhook body replayed", "admin", { inSandbox: true }),
    listDecisions: reads("viewer", "results:read"),
    listStoppedLearning: reads("viewer", "results:read"),
    resumeLearning: writes("editor", "learning resumed", "admin"),
    rebuild: writes("admin", "tallies recomputed", "admin"),
  },
  HttpApiEndpoint.get("listInbox", "/organizations/:org/webhooks/:segment/inbox", {
    params: inboxPath,
    query: {
      ...Cursors.cursor("inbox", "before", Parameters.numericPosition("must be the id of a body", 1)),
      limit: Parameters.limit(100, 20),
      all: Parameters.described("`true`: includes bodies that were read without faults", Parameters.flag),
    },
    success: Schema.Struct({ inbox: Schema.Array(InboxBody), ...Cursors.following(Schema.Int) }),
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.SourceNotFound],
  }).annotate(OpenApi.Summary, "The inbox of a source").annotate(
    OpenApi.Description,
    "Bodies with faulty items, newest first. A body that could not be processed in three attempts is also `rejected`, " +
      "with the reason in `faults`.",
  ),
  HttpApiEndpoint.post("replayInbox", "/organizations/:org/webhooks/:segment/inbox/:id/replay", {
    params: { ...inboxPath, id: Schema.String },
    success: HttpApiSchema.NoContent,
    error: [Problems.InboxEntryNotFound, Problems.OrganizationNotFound, Problems.SourceNotFound],
  }).annotate(OpenApi.Summary, "Replays a received body").annotate(
    OpenApi.Description,
    "Processes the body again, with three attempts. Events that were counted before are not counted twice.",
  ),
  HttpApiEndpoint.get("listDecisions", "/organizations/:org/templates/:template/decisions", {
    params: templatePath,
    query: {
      ...Cursors.cursor("decisions", "after", Parameters.position("must be a tracking id")),
      limit: Parameters.limit(5_000, 1_000),
    },
    success: Schema.Struct({ decisions: Schema.Array(LoggedDecision), ...Cursors.following(Schema.String) }),
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.TemplateNotFound],
  }).annotate(OpenApi.Summary, "The decisions on a template").annotate(
    OpenApi.Description,
    "Sorted by tracking id, with the probability of each choice, for off-policy evaluation.",
  ),
  HttpApiEndpoint.get("listStoppedLearning", "/organizations/:org/learning/stopped", {
    params: path,
    success: Schema.Struct({
      stopped: Schema.Array(Schema.Struct({
        template_id: Schema.String,
        stopped_at: Schema.String,
        reason: Schema.String.annotate({ description: "Why the last attempt failed" }),
      })),
    }),
    error: [Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Templates whose learning has stopped").annotate(
    OpenApi.Description,
    "Templates whose new counts could not be folded in three attempts. They are served by their last model. Decisions " +
      "and events are stored, and are counted once learning is resumed.",
  ),
  HttpApiEndpoint.post("resumeLearning", "/organizations/:org/templates/:template/resume-learning", {
    params: templatePath,
    success: HttpApiSchema.NoContent,
    error: [Problems.OrganizationNotFound, Problems.TemplateNotFound],
  }).annotate(OpenApi.Summary, "Resumes the learning of a template").annotate(
    OpenApi.Description,
    "Makes three more attempts. If they fail, learning stops again. `POST …/rebuild` recomputes the counts.",
  ),
  HttpApiEndpoint.post("rebuild", "/organizations/:org/rebuild", {
    params: path,
    payload: RebuildBody,
    success: RebuildResult,
    error: [
      Problems.InvalidRequest,
      Problems.PayloadTooLarge,
      Problems.UnsupportedMediaType,
      Problems.Unavailable,
      Problems.OrganizationNotFound,
    ],
  }).annotate(OpenApi.Summary, "Recomputes the learned counts").annotate(
    OpenApi.Description,
    "Recomputes the tallies of one template or all templates from decisions and events, and lists the differences. " +
      "Without `template_id` also recomputes the histories for send times. With `check` no change is written.",
  ),
) {}
