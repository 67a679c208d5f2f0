import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { described } from "../../domain/described.ts"
import { AdminRequired } from "../admission/AdminRequired.ts"
import * as Problems from "../Problems.ts"

// The part of the management API that looks into what was received and what was learned from it.

const path = { org: Schema.String }
const templatePath = { ...path, template: Schema.String }
const inboxPath = { ...path, segment: Schema.String }

const Count = Schema.NullOr(Schema.Int)

/** A stored webhook body. Counts are null until it has been looked at. */
export const InboxBody = Schema.Struct({
  id: Schema.Int,
  received_at: Schema.String,
  status: Schema.Literals(["pending", "done", "partial", "rejected"]),
  attempts: Schema.Int.annotate({
    description:
      "Attempts to take the body in by itself; after three that failed it is rejected. 0 for a body that was " +
      "taken in with others",
  }),
  headers: Schema.Record(Schema.String, Schema.String),
  body: Schema.String.annotate({ description: "As text, its first 10,000 characters" }),
  bytes: Schema.Int,
  events: Count.annotate({ description: "New events in it" }),
  duplicates: Count.annotate({ description: "Events that had come in before" }),
  ignored: Count.annotate({ description: "Items that are understood and mean nothing here" }),
  unused: Schema.Array(Schema.Struct({ reason: Schema.String, count: Schema.Int, pointer: Schema.String })).annotate({
    description: "Why items were ignored, with the JSON pointer of the first of each kind; 20 reasons at most",
  }),
  faults: Schema.Array(Schema.Struct({ pointer: Schema.String, reason: Schema.String })),
})

/** A decision as it was recorded, with the first time of each outcome of a person. */
export const LoggedDecision = Schema.Struct({
  tracking_id: Schema.String,
  copy_id: Schema.String,
  segment: Schema.String.annotate({
    description:
      "Attributes recorded with the decision: `name=value` pairs, percent-encoded, sorted and joined by `&`. " +
      "The model that decided may have used fewer",
  }),
  mode: described(
    Schema.Literals(["bandit", "epsilon", "single", "forced", "control"]),
    "`control`: the user is held out. Without a propensity the holdout named the variant, or, with an empty `copy_id`, " +
      "the user got no message",
  ),
  propensity: Schema.NullOr(Schema.Finite),
  weights: Schema.NullOr(Schema.Record(Schema.String, Schema.Finite)),
  policy: Schema.String,
  decided_at: Schema.String,
  outcomes: Schema.Struct({
    open: Schema.optionalKey(Schema.String),
    click: Schema.optionalKey(Schema.String),
    conversion: Schema.optionalKey(Schema.String),
  }),
})

/** What a rebuild found. `differences` is empty when everything had been counted right. */
export const RebuildResult = Schema.Struct({
  decisions: Schema.Int,
  templates: Schema.Int,
  written: Schema.Boolean,
  faults: Schema.Array(Schema.Struct({ template_id: Schema.String, reason: Schema.String })).annotate({
    description:
      "Templates that could not be rebuilt because of their data; they are as they were, the others are rebuilt",
  }),
  send_times: Schema.NullOr(Schema.Struct({ people: Schema.Int, differences: Schema.Int })).annotate({
    description:
      "People with decisions, and how many of their histories were not as decisions and events have them; null " +
      "where the rebuild was for one template, since histories span all",
  }),
  even_split_differences: Schema.Int.annotate({
    description:
      "Measures by template and settled day, of the decisions weighted to an even choice, that were not as decisions and " +
      "events have them. Outcomes reported after a decision was settled are among them: only a rebuild counts these",
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
})

const RebuildBody = Schema.Struct({
  template_id: Schema.optionalKey(Schema.String),
  check: Schema.optionalKey(Schema.Boolean),
})
export type RebuildBody = typeof RebuildBody.Type
export const rebuildBody = RebuildBody

export class LearningGroup extends HttpApiGroup.make("learning")
  .add(
    HttpApiEndpoint.get("listInbox", "/organizations/:org/webhooks/:segment/inbox", {
      params: inboxPath,
      query: {
        before: Schema.optionalKey(Schema.String).annotate({ description: "An id: only older bodies" }),
        limit: Schema.optionalKey(Schema.String).annotate({ description: "1 to 100, default 20" }),
        all: Schema.optionalKey(Schema.String).annotate({ description: "`true`: also what was understood" }),
      },
      success: Schema.Struct({ inbox: Schema.Array(InboxBody), next: Schema.NullOr(Schema.Int) }),
      error: [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.SourceNotFound],
    }).annotate(OpenApi.Summary, "What a source sent").annotate(
      OpenApi.Description,
      "Bodies that were not understood, wholly or in part, newest first. A body that three attempts failed to take in is " +
        "`rejected` as well, with the reason in `faults`. `next` is the value of `before` for the next page.",
    ),
    HttpApiEndpoint.post("replayInbox", "/organizations/:org/webhooks/:segment/inbox/:id/replay", {
      params: { ...inboxPath, id: Schema.String },
      success: HttpApiSchema.NoContent,
      error: [Problems.InboxEntryNotFound, Problems.OrganizationNotFound, Problems.SourceNotFound],
    }).annotate(OpenApi.Summary, "Reads a received body again").annotate(
      OpenApi.Description,
      "The body is looked at again, with three attempts. What was counted of it is not counted twice.",
    ),
    HttpApiEndpoint.get("listDecisions", "/organizations/:org/templates/:template/decisions", {
      params: templatePath,
      query: {
        after: Schema.optionalKey(Schema.String).annotate({ description: "A tracking id: only those behind it" }),
        limit: Schema.optionalKey(Schema.String).annotate({ description: "1 to 5,000, default 1,000" }),
      },
      success: Schema.Struct({ decisions: Schema.Array(LoggedDecision), next: Schema.NullOr(Schema.String) }),
      error: [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.TemplateNotFound],
    }).annotate(OpenApi.Summary, "The decisions on a template").annotate(
      OpenApi.Description,
      "By tracking id, with the probabilities they were drawn with: what off-policy evaluation needs.",
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
        "and events are kept and counted once learning is resumed.",
    ),
    HttpApiEndpoint.post("resumeLearning", "/organizations/:org/templates/:template/resume-learning", {
      params: templatePath,
      success: HttpApiSchema.NoContent,
      error: [Problems.OrganizationNotFound, Problems.TemplateNotFound],
    }).annotate(OpenApi.Summary, "Resumes the learning of a template").annotate(
      OpenApi.Description,
      "Three more attempts are made. If these fail too, learning stops again; `POST …/rebuild` recomputes its counts.",
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
    }).annotate(OpenApi.Summary, "Recomputes what was learned").annotate(
      OpenApi.Description,
      "Recomputes tallies from decisions and events, of one template or all, and lists what had been counted otherwise. " +
        "Without `template_id` also the histories that send times are learned from. With `check` nothing is written.",
    ),
  )
  .middleware(AdminRequired)
  .prefix("/console/api") {}
