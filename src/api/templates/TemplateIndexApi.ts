import { Result, Schema } from "effect"
import { Buffer } from "node:buffer"
import { HttpApiEndpoint, OpenApi } from "effect/http-api"
import { AuditEntry } from "../../accounts/Audit.ts"
import { Objective } from "../../domain/Template.ts"
import { described } from "../../domain/described.ts"
import * as Json from "../../json/Json.ts"
import { reads } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import * as Cursors from "../http/Cursors.ts"
import * as Parameters from "../http/Parameters.ts"
import { problemKinds, templateStates } from "./TemplateListShape.ts"

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
    "The winner among the active variants in season, and the time of its verdict. Null without a verdict. `copy_id` is empty if " +
      "sending nothing is best",
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

/** The parameter that selects templates in use, archived templates, or both. */
export const archivedQuery = Parameters.described(
  "`false` (default): templates in use; `true`: archived templates; `all`: both",
  Parameters.archived,
)

const limit = Parameters.limit(200, 50)

const short = Parameters.text(
  "must be up to 200 characters of well-formed Unicode without NUL",
  ({ length }) => length <= 200,
)

/** Reads a position: the id of a row, and the row's value in the sort order. */
const position: Parameters.ReadParameter<{ readonly id: string; readonly after: string | null } | undefined> = (
  given,
) => {
  if (given === undefined) return Result.succeed(undefined)
  try {
    const [id, after] = Json.parse(Buffer.from(given, "base64url").toString()) as ReadonlyArray<unknown>
    if (typeof id === "string" && (after === null || typeof after === "string")) return Result.succeed({ id, after })
  } catch {
    // Refused below.
  }
  return Result.fail("must be the `next` of a page")
}

const sorts = ["id", "name", "state", "decisions", "goal", "winner", "failing", "tag", "owner", "changed"] as const

/** Endpoints of the template search and the change history. */
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
      search: Parameters.described(
        "Only templates whose name, id or a tag contains this text, ignoring case; up to 200 characters",
        short,
      ),
      ...Cursors.cursor("template index", "after", position),
      limit,
      archived: archivedQuery,
      state: Parameters.described(`Only of this state: ${templateStates.join(", ")}`, Parameters.oneOf(templateStates)),
      goal: Parameters.described(
        "Only with this goal: click, open, conversion or mix",
        Parameters.oneOf(["click", "open", "conversion", "mix"]),
      ),
      tag: Parameters.described("Only with this tag", short),
      owner: Parameters.described(
        "Only of this owner, by e-mail address. `none`: without an owner; `left`: of owners who are no longer members",
        short,
      ),
      winner: Parameters.described(
        "`found`: only with a winner; `none`: only without",
        Parameters.oneOf(["found", "none"]),
      ),
      failing: Parameters.described(
        "`variants`: only with variants that cannot be rendered; `deliveries`: only with deliveries that failed in the " +
          "last 24 hours; `tracking-ids`: only with tracking ids that were repeated for another person in that time; " +
          "`placeholders`: only with requests in that time that had placeholders which nobody filled in",
        Parameters.oneOf(problemKinds),
      ),
      sort: Parameters.described(
        "id (default), name, state, decisions, goal, winner, failing, tag, owner or changed",
        Parameters.oneOf(sorts),
      ),
      order: Parameters.described(
        "asc or desc. Default: largest first by decisions and failing, latest first by winner and changed, else asc",
        Parameters.oneOf(["asc", "desc"]),
      ),
    },
    success: Schema.Struct({ templates: Schema.Array(FoundTemplate), ...Cursors.following(Schema.String) }),
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound],
  }).annotate(OpenApi.Summary, "Finds templates").annotate(
    OpenApi.Description,
    "Templates without their content, with their traffic, state, owner and winner.",
  ),
  HttpApiEndpoint.get("templateHistory", "/organizations/:org/templates/:template/history", {
    params: { org: Schema.String, template: Schema.String },
    query: {
      ...Cursors.cursor("template changes", "before", Parameters.numericPosition()),
      limit,
    },
    success: Schema.Struct({ changes: Schema.Array(AuditEntry), ...Cursors.following(Schema.Int) }),
    error: [Problems.InvalidRequest, Problems.OrganizationNotFound, Problems.TemplateNotFound],
  }).annotate(OpenApi.Summary, "The changes to a template").annotate(
    OpenApi.Description,
    "Changes of a template and its variants with their authors, newest first. `next` is the value of `before` for the " +
      "next page.",
  ),
) {}
