import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { reads, writes } from "../../accounts/Access.ts"
import { Snippet, SnippetDetail, SnippetInput, SnippetUser, SnippetVersion } from "../../domain/Snippet.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import { waiting } from "../reviews/Proposed.ts"

const path = { org: Schema.String }
const params = { ...path, snippet: Schema.String }
const at = "/organizations/:org/snippets" as const
const one = `${at}/:snippet` as const
const notFound = [Problems.OrganizationNotFound, Problems.SnippetNotFound] as const

/** Endpoints of snippets. */
export class SnippetsGroup extends managementGroup(
  "snippets",
  "Snippets: blocks that variants share, such as a footer",
  {
    listSnippets: reads("viewer", "templates:read"),
    getSnippet: reads("viewer", "templates:read"),
    checkSnippet: reads("viewer", "templates:read"),
    saveSnippet: writes("editor", "snippet saved", "templates:write"),
    deleteSnippet: writes("editor", "snippet deleted", "templates:write"),
    listSnippetVersions: reads("viewer", "templates:read"),
    getSnippetVersion: reads("viewer", "templates:read"),
    approveSnippet: writes("editor", "change of a snippet approved", "admin"),
    dismissSnippet: writes("editor", "change of a snippet dismissed", "templates:write"),
  },
  HttpApiEndpoint.get("listSnippets", at, {
    params: path,
    success: Schema.Struct({ snippets: Schema.Array(Snippet) }),
    error: [Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "The snippets of an organization, by id"),
  HttpApiEndpoint.get("getSnippet", one, {
    params,
    success: SnippetDetail,
    error: [...notFound],
  }).annotate(OpenApi.Summary, "A snippet with the templates and snippets that render it"),
  HttpApiEndpoint.post("checkSnippet", `${one}/check`, {
    params,
    payload: SnippetInput,
    success: Schema.Struct({ templates: Schema.Array(SnippetUser) }),
    error: [...Problems.ofBody, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Checks a snippet without saving it").annotate(
    OpenApi.Description,
    "Returns the templates that the change affects. Refuses what saving refuses.",
  ),
  HttpApiEndpoint.put("saveSnippet", one, {
    params,
    headers: {
      "if-match": Schema.optionalKey(Schema.String).annotate({
        description:
          "The `updated_at` of the snippet that the change is made from. If somebody has saved the snippet " +
          "since, the response is 409. Absent or `*`: any version",
      }),
    },
    payload: SnippetInput,
    success: [SnippetDetail, waiting(SnippetDetail)],
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.VersionConflict, Problems.ProposalConflict],
  }).annotate(OpenApi.Summary, "Creates or changes a snippet").annotate(
    OpenApi.Description,
    "Variants insert it with `{% render 'id', name: value %}`. A change takes effect in all of them at once. It is refused " +
      "if it would break one of them. An organization has at most 200 snippets. If the organization requires approval, a " +
      "change of live messages is stored as `proposal`, and the response is 202.",
  ),
  HttpApiEndpoint.delete("deleteSnippet", one, {
    params,
    success: HttpApiSchema.NoContent,
    error: [...notFound, Problems.Conflict],
  }).annotate(OpenApi.Summary, "Deletes a snippet that nothing renders"),
  HttpApiEndpoint.get("listSnippetVersions", `${one}/versions`, {
    params,
    success: Schema.Struct({ versions: Schema.Array(SnippetVersion) }),
    error: [...notFound],
  }).annotate(OpenApi.Summary, "The latest 200 versions of a snippet, newest first"),
  HttpApiEndpoint.get("getSnippetVersion", `${one}/versions/:version`, {
    params: { ...params, version: Schema.String },
    success: SnippetVersion,
    error: [...notFound, Problems.VersionNotFound],
  }).annotate(OpenApi.Summary, "A version of a snippet"),
  HttpApiEndpoint.post("approveSnippet", `${one}/approve`, {
    params,
    payload: Schema.Struct({
      version: Schema.Int.annotate({ description: "The `version` of the proposal that was reviewed" }),
    }).annotate({ identifier: "SnippetApproval" }),
    success: SnippetDetail,
    error: [...Problems.ofBody, ...notFound, Problems.ProposalNotFound, Problems.ProposalConflict],
  }).annotate(OpenApi.Summary, "Approves the proposed change of a snippet, which goes live").annotate(
    OpenApi.Description,
    "Not for its author. Responds with 409 if the proposal has another `version`, or if the snippet has changed.",
  ),
  HttpApiEndpoint.delete("dismissSnippet", `${one}/proposal`, {
    params,
    success: HttpApiSchema.NoContent,
    error: [...notFound, Problems.ProposalNotFound],
  }).annotate(OpenApi.Summary, "Withdraws or rejects the proposed change of a snippet").annotate(
    OpenApi.Description,
    "For its author, for members who may approve it, and for admins.",
  ),
) {}
