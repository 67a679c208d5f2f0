import { Schema } from "effect"
import { HttpApiEndpoint, OpenApi } from "effect/http-api"
import { AuditEntry } from "../../accounts/Audit.ts"
import { Objective } from "../../domain/Template.ts"
import { described } from "../../domain/described.ts"
import { reads } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import { templateStates } from "./TemplateListShape.ts"

/** A template without its content. */
export const FoundTemplate = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  objective: Objective,
  tags: Schema.Array(Schema.String),
  owner: described(
    Schema.NullOr(Schema.Struct({
      email: Schema.String,
      name: described(Schema.NullOr(Schema.String), "null: no longer a member"),
    })),
    "The member who looks after the template; null: no owner",
  ),
  updated_at: Schema.String,
  archived_at: Schema.NullOr(Schema.String),
  variants: Schema.Int,
  active: Schema.Int.annotate({ description: "Active variants, including those out of season" }),
  state: described(
    Schema.Literals(templateStates),
    "`inactive`: no active variant. `out-of-season`: no active variant is in season",
  ),
  winner: described(
    Schema.NullOr(Schema.Struct({ copy_id: Schema.String, since: Schema.String })),
    "The variant that has won among those in use, and since when. null while there is no verdict",
  ),
  failing: described(
    Schema.Array(Schema.String),
    "Variants of which many requests could not be rendered in the last hours",
  ),
  failed_deliveries: described(Schema.Int, "Deliveries that failed in the last 24 hours"),
  repeated_tracking_ids: described(
    Schema.Int,
    "Requests in the last 24 hours that repeated a tracking id for another person or message, and got its first decision",
  ),
  unfilled_requests: described(
    Schema.Int,
    "Requests in the last 24 hours with a placeholder that nobody filled in, such as `{{customer.tier}}`",
  ),
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

export class TemplateIndexGroup extends managementGroup(
  "templateIndex",
  "Template search and change history",
  {
    findTemplates: reads("viewer", "templates:read"),
    templateHistory: reads("viewer", "templates:read"),
  },
  HttpApiEndpoint.get("findTemplates", "/organizations/:org/template-index", {
    params: { org: Schema.String },
    query: {
      search: Schema.optionalKey(Schema.String).annotate({
        description: "Only templates whose name, id or a tag contains this text, ignoring case; up to 200 characters",
      }),
      after: Schema.optionalKey(Schema.String).annotate({ description: "Cursor: `next` of the previous page" }),
      limit,
      archived: archivedQuery,
      state: described(Schema.optionalKey(Schema.String), `Only of this state: ${templateStates.join(", ")}`),
      goal: described(Schema.optionalKey(Schema.String), "Only with this goal: click, open, conversion or mix"),
      tag: described(Schema.optionalKey(Schema.String), "Only with this tag"),
      owner: described(
        Schema.optionalKey(Schema.String),
        "Only of this owner, by e-mail address. `none`: without an owner; `left`: of owners who are no longer members",
      ),
      winner: described(Schema.optionalKey(Schema.String), "`found`: only with a winner; `none`: only without"),
      failing: described(
        Schema.optionalKey(Schema.String),
        "`variants`: only with variants that cannot be rendered; `deliveries`: only with deliveries that failed in the " +
          "last 24 hours; `tracking-ids`: only with tracking ids that were repeated for another person in that time; " +
          "`placeholders`: only with requests in that time that had placeholders which nobody filled in",
      ),
      sort: described(
        Schema.optionalKey(Schema.String),
        "id (default), name, state, decisions, goal, winner, failing, tag, owner or changed",
      ),
      order: described(
        Schema.optionalKey(Schema.String),
        "asc or desc. Default: largest first by decisions and failing, latest first by winner and changed, else asc",
      ),
    },
    success: Schema.Struct({ templates: Schema.Array(FoundTemplate), next: Schema.NullOr(Schema.String) }),
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Finds templates").annotate(
    OpenApi.Description,
    "Templates without their content, with their traffic, state, owner and winner.",
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
) {}
