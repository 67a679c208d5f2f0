import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AuditEntry } from "../../accounts/Audit.ts"
import { Objective } from "../../domain/Template.ts"
import { AdminRequired } from "../admission/AdminRequired.ts"
import * as Problems from "../Problems.ts"

/** A template without its content. */
export const FoundTemplate = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  objective: Objective,
  updated_at: Schema.String,
  archived_at: Schema.NullOr(Schema.String),
  variants: Schema.Int,
  active: Schema.Int.annotate({ description: "Active variants, including those out of season" }),
  decisions: Schema.Array(Schema.Finite).annotate({
    description: "Decisions on each of the last 14 days (UTC), oldest first; delayed by a few seconds",
  }),
}).annotate({ identifier: "FoundTemplate" })
export type FoundTemplate = typeof FoundTemplate.Type

/** Which templates a list has. */
export const archivedQuery = Schema.optionalKey(Schema.String).annotate({
  description: "`false` (default): templates in use; `true`: archived templates; `all`: both",
})

const limit = Schema.optionalKey(Schema.String).annotate({ description: "1 to 200, default 50" })

export class TemplateIndexGroup extends HttpApiGroup.make("templateIndex")
  .add(
    HttpApiEndpoint.get("findTemplates", "/organizations/:org/template-index", {
      params: { org: Schema.String },
      query: {
        search: Schema.optionalKey(Schema.String).annotate({
          description: "Only templates whose name or id contains this text, ignoring case; up to 200 characters",
        }),
        after: Schema.optionalKey(Schema.String).annotate({ description: "Cursor: `next` of the previous page" }),
        limit,
        archived: archivedQuery,
      },
      success: Schema.Struct({ templates: Schema.Array(FoundTemplate), next: Schema.NullOr(Schema.String) }),
      error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
    }).annotate(OpenApi.Summary, "Finds templates").annotate(
      OpenApi.Description,
      "Templates by id, without their content and with their traffic.",
    ),
    HttpApiEndpoint.get("templateHistory", "/organizations/:org/templates/:template/history", {
      params: { org: Schema.String, template: Schema.String },
      query: {
        before: Schema.optionalKey(Schema.String).annotate({ description: "Cursor: `next` of the previous page" }),
        limit,
      },
      success: Schema.Struct({ changes: Schema.Array(AuditEntry), next: Schema.NullOr(Schema.Int) }),
      error: [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.TemplateNotFound],
    }).annotate(OpenApi.Summary, "The changes to a template").annotate(
      OpenApi.Description,
      "Changes of a template and its variants with their authors, newest first. `next` is the value of `before` for the " +
        "next page.",
    ),
  )
  .middleware(AdminRequired)
  .prefix("/console/api")
  .annotate(OpenApi.Description, "Template search and change history") {}
