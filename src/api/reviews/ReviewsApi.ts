import { Schema } from "effect"
import { HttpApiEndpoint, OpenApi } from "effect/http-api"
import { ApprovalInput, Proposal, ProposalDetail, ProposalPatch, RejectionInput } from "../../domain/Proposal.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import * as Cursors from "../http/Cursors.ts"
import * as Parameters from "../http/Parameters.ts"

const params = { org: Schema.String, proposal: Schema.String }
const at = "/organizations/:org/proposals/:proposal" as const

/** Endpoints of the approval of changes. */
export class ReviewsGroup extends managementGroup(
  "reviews",
  "Approval of changes to live templates",
  {
    listProposals: reads("viewer", "templates:read"),
    getProposal: reads("viewer", "templates:read"),
    reviseProposal: writes("editor", "proposed change revised", "templates:write"),
    approveProposal: writes("editor", "change approved", "admin"),
    rejectProposal: writes("editor", "change rejected", "admin"),
    withdrawProposal: writes("editor", "change withdrawn", "templates:write"),
  },
  HttpApiEndpoint.get("listProposals", "/organizations/:org/proposals", {
    params: { org: Schema.String },
    query: {
      state: Parameters.described(
        "`requested` (default), `approved`, `rejected`, `withdrawn` or `all`",
        Parameters.oneOf(["requested", "approved", "rejected", "withdrawn", "all"]),
      ),
      template: Parameters.described("Only changes of this template", Parameters.text("must be the id of a template")),
      ...Cursors.cursor("proposals", "before", Parameters.numericPosition()),
      limit: Parameters.limit(200, 50),
    },
    success: Schema.Struct({ proposals: Schema.Array(Proposal), ...Cursors.following(Schema.Int) }),
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Changes that wait for approval, newest first").annotate(
    OpenApi.Description,
    "If `template_approval` of the organization is not `none`, changes that affect live messages are listed here until they " +
      "are approved. Requests that make such a change get the status 202.",
  ),
  HttpApiEndpoint.get("getProposal", at, {
    params,
    success: ProposalDetail,
    error: [Problems.OrganizationNotFound, Problems.ProposalNotFound],
  }).annotate(OpenApi.Summary, "A proposed change with its differences"),
  HttpApiEndpoint.patch("reviseProposal", at, {
    params,
    payload: ProposalPatch,
    success: Proposal,
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.ProposalNotFound, Problems.ProposalConflict],
  }).annotate(OpenApi.Summary, "Adds a message to reviewers, or brings a proposed change up to date").annotate(
    OpenApi.Description,
    "For its author. Later changes of the template by this author are added to the open proposal.",
  ),
  HttpApiEndpoint.post("approveProposal", `${at}/approve`, {
    params,
    payload: ApprovalInput,
    success: Proposal,
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.ProposalNotFound, Problems.ProposalConflict],
  }).annotate(OpenApi.Summary, "Approves a proposed change, which goes live").annotate(
    OpenApi.Description,
    "Not for its author. Responds with 409 if the change has another `version`, or if the live template has changed.",
  ),
  HttpApiEndpoint.post("rejectProposal", `${at}/reject`, {
    params,
    payload: RejectionInput,
    success: Proposal,
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.ProposalNotFound, Problems.ProposalConflict],
  }).annotate(OpenApi.Summary, "Rejects a proposed change"),
  HttpApiEndpoint.post("withdrawProposal", `${at}/withdraw`, {
    params,
    success: Proposal,
    error: [Problems.OrganizationNotFound, Problems.ProposalNotFound, Problems.ProposalConflict],
  }).annotate(OpenApi.Summary, "Withdraws a proposed change").annotate(
    OpenApi.Description,
    "For its author and admins.",
  ),
) {}
