import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { reads, writes } from "../../accounts/Access.ts"
import { described } from "../../domain/described.ts"
import { ListName, SavedView, SavedViewInput } from "../../domain/SavedView.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Parameters from "../http/Parameters.ts"
import * as Problems from "../Problems.ts"

const path = { org: Schema.String }
const viewPath = { ...path, view: Schema.String }
const at = "/organizations/:org/views" as const

const ofMemberText =
  "E-mail address or account id of the member whose own views are meant. With the admin token or an API key; a session is " +
  "about its own account. Absent: shared views only"
const Member = Schema.optionalKey(described(Schema.String, ofMemberText))
const memberQuery = Parameters.described(
  ofMemberText,
  Parameters.text("must be an e-mail address or the id of an account"),
)

const ofMember = [Problems.OrganizationNotFound, Problems.AccountNotFound, Problems.Forbidden] as const

/** Endpoints of saved views. */
export class ViewsGroup extends managementGroup(
  "views",
  "Saved views of lists in the console",
  {
    listViews: reads("viewer", "admin"),
    putView: writes("viewer", "view saved", "admin", { isPrivate: true }),
    deleteView: writes("viewer", "view deleted", "admin", { isPrivate: true }),
    putStartView: writes("viewer", "start view changed", "admin", { isPrivate: true }),
  },
  HttpApiEndpoint.get("listViews", at, {
    params: path,
    query: {
      member: memberQuery,
      list: Parameters.described(`One of ${ListName.literals.join(", ")}`, Parameters.oneOf(ListName.literals)),
    },
    success: Schema.Struct({ views: Schema.Array(SavedView) }),
    error: [Problems.InvalidRequest, ...ofMember],
  }).annotate(OpenApi.Summary, "The shared views, and the own views of a member, by name"),
  HttpApiEndpoint.put("putView", `${at}/:view`, {
    params: viewPath,
    payload: Schema.Struct({ ...SavedViewInput.fields, member: Member }).annotate({ identifier: "SavedViewInput" }),
    success: SavedView,
    error: [...Problems.ofBody, ...ofMember],
  }).annotate(OpenApi.Summary, "Creates or replaces a saved view").annotate(
    OpenApi.Description,
    "A view is a named filter of a list in the console, for one member or shared in the organization. A list has at most 30 " +
      "shared views, and 30 own views of each member.",
  ),
  HttpApiEndpoint.delete("deleteView", `${at}/:view`, {
    params: viewPath,
    query: { member: memberQuery },
    success: HttpApiSchema.NoContent,
    error: [Problems.InvalidRequest, ...ofMember, Problems.ViewNotFound],
  }).annotate(OpenApi.Summary, "Deletes a saved view"),
  HttpApiEndpoint.put("putStartView", "/organizations/:org/start-views/:list", {
    params: { ...path, list: Schema.String.annotate({ description: ListName.literals.join(", ") }) },
    payload: Schema.Struct({
      member: Member,
      view: Schema.NullOr(Schema.String).annotate({ description: "The id of the view. null: all rows" }),
    }),
    success: HttpApiSchema.NoContent,
    error: [...Problems.ofBody, ...ofMember, Problems.ViewNotFound],
  }).annotate(OpenApi.Summary, "Sets the view with which a list opens for a member"),
) {}
