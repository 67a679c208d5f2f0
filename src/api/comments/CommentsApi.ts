import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { Comment, CommentInput, CommentPatch } from "../../domain/Comment.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import * as Cursors from "../http/Cursors.ts"
import * as Parameters from "../http/Parameters.ts"

const params = { org: Schema.String, template: Schema.String }
const at = "/organizations/:org/templates/:template/comments" as const
const notFound = [Problems.OrganizationNotFound, Problems.TemplateNotFound] as const

/** Endpoints of comments on templates. */
export class CommentsGroup extends managementGroup(
  "comments",
  "Comments on templates",
  {
    listComments: reads("viewer", "templates:read"),
    createComment: writes("viewer", "comment added", "templates:write", { isPrivate: true }),
    updateComment: writes("viewer", "comment changed", "templates:write", { isPrivate: true }),
    deleteComment: writes("viewer", "comment deleted", "templates:write", { isPrivate: true }),
  },
  HttpApiEndpoint.get("listComments", at, {
    params,
    query: {
      state: Parameters.described(
        "`open`, `resolved` or `all` (default)",
        Parameters.oneOf(["open", "resolved", "all"]),
      ),
      variant: Parameters.described("Only comments on this variant", Parameters.text("must be the id of a variant")),
      ...Cursors.cursor("comments", "before", Parameters.numericPosition()),
      limit: Parameters.limit(200, 50),
    },
    success: Schema.Struct({ comments: Schema.Array(Comment), ...Cursors.following(Schema.Int) }),
    error: [Problems.InvalidRequest, ...notFound],
  }).annotate(OpenApi.Summary, "Comments on a template, newest first"),
  HttpApiEndpoint.post("createComment", at, {
    params,
    payload: CommentInput,
    success: Comment.pipe(HttpApiSchema.status(201)),
    error: [...Problems.ofBody, ...notFound, Problems.VariantNotFound],
  }).annotate(OpenApi.Summary, "Comments on a template or variant").annotate(
    OpenApi.Description,
    "For every member, viewers included. `@` with the whole name or the e-mail address of a member mentions the member.",
  ),
  HttpApiEndpoint.patch("updateComment", `${at}/:comment`, {
    params: { ...params, comment: Schema.String },
    payload: CommentPatch,
    success: Comment,
    error: [...Problems.ofBody, ...notFound, Problems.CommentNotFound],
  }).annotate(OpenApi.Summary, "Changes the text of a comment, or resolves it").annotate(
    OpenApi.Description,
    "Its author changes the text. Every member can resolve a comment and open it again.",
  ),
  HttpApiEndpoint.delete("deleteComment", `${at}/:comment`, {
    params: { ...params, comment: Schema.String },
    success: HttpApiSchema.NoContent,
    error: [...notFound, Problems.CommentNotFound],
  }).annotate(OpenApi.Summary, "Deletes a comment").annotate(OpenApi.Description, "For its author and admins."),
) {}
