import { Schema } from "effect"
import { ReviewNote } from "./Comment.ts"
import { described } from "./described.ts"
import { Difference } from "./Difference.ts"
import { Template, TemplateInput, Variant } from "./Template.ts"

/** States of a proposal. `requested` needs approval, and the other states are final. */
const ProposalStates = Schema.Literals(["requested", "approved", "rejected", "withdrawn"])

const head = {
  id: Schema.Int,
  template_id: Schema.String,
  template_name: Schema.String,
  kind: Schema.Literals(["created", "changed", "deleted"]).annotate({
    description: "Whether the proposal creates, changes or deletes the template",
  }),
  state: ProposalStates,
  version: Schema.Int.annotate({ description: "Increases with every change of the proposal. An approval names it" }),
  author: Schema.String.annotate({ description: "The name of the member, `former member`, or the API key" }),
  author_id: Schema.NullOr(Schema.String).annotate({ description: "Account id; null for API keys" }),
  note: Schema.String.annotate({ description: "The message of the author to reviewers" }),
  created_at: Schema.String,
  updated_at: Schema.String,
  decided_by: Schema.NullOr(Schema.String),
  decided_at: Schema.NullOr(Schema.String),
  comment: Schema.NullOr(Schema.String).annotate({ description: "The comment of the reviewer" }),
}

/** A proposed change to a live template, with its state. */
export const Proposal = Schema.Struct(head).annotate({ identifier: "Proposal" })
export type Proposal = typeof Proposal.Type

/** A proposed change with its content. */
export const ProposalDetail = Schema.Struct({
  ...head,
  base: Schema.NullOr(TemplateInput).annotate({
    description: "The live content that the change was made from; null: the template did not exist",
  }),
  proposed: Schema.NullOr(TemplateInput).annotate({
    description: "The content after the change; null: the template is deleted",
  }),
  live: Schema.NullOr(TemplateInput).annotate({ description: "The live content now; null: there is no such template" }),
  changes: described(Difference, "The proposed changes, field by field, with whole texts"),
  is_outdated: Schema.Boolean.annotate({
    description:
      "Whether the live template has changed since the proposal was made. The author must update the proposal before its approval",
  }),
  live_changes: Schema.NullOr(Difference).annotate({
    description: "Changes of the live template since the proposal was made. Null unless outdated",
  }),
  both: Schema.Array(Schema.String).annotate({
    description:
      "Fields that both the proposal and the live template have changed. An update of the proposal keeps its own values",
  }),
}).annotate({ identifier: "ProposalDetail" })
export type ProposalDetail = typeof ProposalDetail.Type

/** A revision of an open proposal by its author. */
export const ProposalPatch = Schema.Struct({
  note: Schema.optionalKey(ReviewNote),
  update: Schema.optionalKey(Schema.Boolean).annotate({
    description: "true: applies the proposed changes to the current live template. If both changed a field, the " +
      "proposal's value applies",
  }),
}).annotate({ identifier: "ProposalPatch" })

/** An approval. */
export const ApprovalInput = Schema.Struct({
  version: Schema.Int.annotate({ description: "The `version` that the reviewer has read" }),
  comment: Schema.optionalKey(ReviewNote),
}).annotate({ identifier: "ApprovalInput" })

/** A rejection. */
export const RejectionInput = Schema.Struct({ comment: Schema.optionalKey(ReviewNote) }).annotate({
  identifier: "RejectionInput",
})

const waiting = {
  detail: Schema.String,
  proposals: Schema.Array(Schema.Struct({ id: Schema.Int, template_id: Schema.String })).annotate({
    description: "The proposed changes that the request was stored as, or added to",
  }),
}

/** The response to a change that needs approval before it is live. */
export const WaitingChange = Schema.Struct(waiting).annotate({ identifier: "WaitingChange" })
export type WaitingChange = typeof WaitingChange.Type

/** A `WaitingChange` with the template after the change. */
export const ProposedTemplate = Schema.Struct({ ...Template.fields, ...waiting }).annotate({
  identifier: "ProposedTemplate",
})

/** A `WaitingChange` with the variant after the change. */
export const ProposedVariant = Schema.Struct({ ...Variant.fields, ...waiting }).annotate({
  identifier: "ProposedVariant",
})
