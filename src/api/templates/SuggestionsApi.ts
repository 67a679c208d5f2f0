import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { reads, writes } from "../../accounts/Access.ts"
import { ProposedVariant } from "../../domain/Proposal.ts"
import { SuggestInput, Suggestion, SuggestionRun } from "../../domain/Suggestion.ts"
import { Variant } from "../../domain/Template.ts"
import { SuggestionSetup, SuggestionSetupPatch } from "../../suggestions/SuggestionSetups.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import { waiting } from "../reviews/Proposed.ts"

const templatePath = { org: Schema.String, template: Schema.String }
const suggestionPath = { ...templatePath, suggestion: Schema.String }
const setupAt = "/organizations/:org/suggestion-setup" as const
const at = "/organizations/:org/templates/:template/suggestions" as const

/** Endpoints of variants that a model suggests. */
export class SuggestionsGroup extends managementGroup(
  "suggestions",
  "Variants that a model suggests",
  {
    getSuggestionSetup: reads("viewer", "templates:read"),
    updateSuggestionSetup: writes("admin", "suggestion settings changed", "admin"),
    listSuggestions: reads("viewer", "templates:read"),
    previewSuggestions: reads("editor", "templates:write"),
    suggestVariants: writes("editor", "variants suggested", "templates:write"),
    keepSuggestion: writes("editor", "variant created", "templates:write"),
    discardSuggestion: writes("editor", "suggestion discarded", "templates:write"),
  },
  HttpApiEndpoint.get("getSuggestionSetup", setupAt, {
    params: { org: Schema.String },
    success: SuggestionSetup,
    error: Problems.OrganizationNotFound,
  }).annotate(OpenApi.Summary, "The model that suggests variants, and the rules of the brand"),
  HttpApiEndpoint.patch("updateSuggestionSetup", setupAt, {
    params: { org: Schema.String },
    payload: SuggestionSetupPatch,
    success: SuggestionSetup,
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.Unprocessable],
  }).annotate(OpenApi.Summary, "Changes the model or the rules; absent members stay unchanged").annotate(
    OpenApi.Description,
    "`url` is the chat completions endpoint of any service or server in the form of OpenAI's, with or without " +
      "`/chat/completions`. The key of the installation is never sent to an endpoint of an organization.",
  ),
  HttpApiEndpoint.get("listSuggestions", at, {
    params: templatePath,
    success: Schema.Struct({ suggestions: Schema.Array(Suggestion) }),
    error: [Problems.OrganizationNotFound, Problems.TemplateNotFound],
  }).annotate(OpenApi.Summary, "Suggested drafts that wait for a decision, newest first"),
  HttpApiEndpoint.post("previewSuggestions", `${at}/preview`, {
    params: templatePath,
    payload: SuggestInput,
    success: Schema.Struct({
      messages: Schema.Array(Schema.Struct({ role: Schema.String, content: Schema.String })),
    }).annotate({ identifier: "SuggestionMessages" }),
    error: [...Problems.ofBody, Problems.OrganizationNotFound, Problems.TemplateNotFound, Problems.VariantNotFound],
  }).annotate(OpenApi.Summary, "What a request for suggestions would send, without sending it"),
  HttpApiEndpoint.post("suggestVariants", at, {
    params: templatePath,
    payload: SuggestInput,
    success: SuggestionRun,
    error: [
      ...Problems.ofBody,
      Problems.OrganizationNotFound,
      Problems.TemplateNotFound,
      Problems.VariantNotFound,
      Problems.Unprocessable,
      Problems.SuggestionsBusy,
      Problems.SuggestionsFailed,
    ],
  }).annotate(OpenApi.Summary, "Asks a model for drafts of variants").annotate(
    OpenApi.Description,
    "Sends the texts of the template's variants, the rules of the brand, and results by component and segment. Never sends " +
      "data of a person. Stores the drafts that pass all checks. A draft is served only after it was kept, and then activated.",
  ),
  HttpApiEndpoint.post("keepSuggestion", `${at}/:suggestion/keep`, {
    params: suggestionPath,
    success: [Variant, waiting(ProposedVariant)],
    error: [
      Problems.InvalidRequest,
      Problems.OrganizationNotFound,
      Problems.TemplateNotFound,
      Problems.SuggestionNotFound,
      Problems.Conflict,
      Problems.Unavailable,
    ],
  }).annotate(OpenApi.Summary, "Makes a suggestion an inactive variant").annotate(
    OpenApi.Description,
    "The variant is marked as `suggested`. Activating it needs approval like any other change.",
  ),
  HttpApiEndpoint.delete("discardSuggestion", `${at}/:suggestion`, {
    params: suggestionPath,
    success: HttpApiSchema.NoContent,
    error: [Problems.OrganizationNotFound, Problems.TemplateNotFound, Problems.SuggestionNotFound],
  }).annotate(OpenApi.Summary, "Deletes a suggestion"),
) {}
