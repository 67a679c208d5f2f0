import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { Difference } from "../../domain/Difference.ts"
import { Fault } from "../../domain/Errors.ts"
import { Variant, VariantPatch } from "../../domain/Template.ts"
import { VariantForm } from "../../templates/VariantForm.ts"
import { VariantVersion, VariantVersionHead } from "../../templates/VariantVersions.ts"
import { ProposedVariant } from "../../domain/Proposal.ts"
import { reads, writes } from "../../accounts/Access.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import * as Cursors from "../http/Cursors.ts"
import * as Parameters from "../http/Parameters.ts"
import { waiting } from "../reviews/Proposed.ts"

// The part of the management API about texts that are not served: drafts and earlier versions of variants.

const templatePath = { org: Schema.String, template: Schema.String }
const variantPath = { ...templatePath, variant: Schema.String }
const versionPath = { ...variantPath, version: Schema.String }

/** The version that a change is made from. */
export const ifMatch = {
  "if-match": Schema.optionalKey(Schema.String).annotate({
    description: "The `updated_at` of the variant that the change is made from, with or without quotation marks. If " +
      "somebody has saved the variant since, the response is 409 with the variant as it is now. Absent or `*`: any version",
  }),
}

const ofVariant = {
  variant: Parameters.described(
    "Id of the variant. Absent: a new variant",
    Parameters.text("must be the id of a variant"),
  ),
}

const ofAuthor = {
  ...ofVariant,
  author: Parameters.described(
    "The author, as drafts name them. Default: the caller",
    Parameters.text("must be an author of a draft"),
  ),
}

const draftHead = {
  variant: Schema.NullOr(Schema.String).annotate({ description: "Id of the variant; null: a new variant" }),
  author: Schema.String.annotate({ description: "As in the audit log: the e-mail address of a member, an API key" }),
  base: Schema.NullOr(Schema.String).annotate({
    description: "`updated_at` of the variant that the text began from; null for a new variant",
  }),
  saved_at: Schema.String,
}

/** A draft without its text. */
export const DraftSummary = Schema.Struct(draftHead).annotate({ identifier: "DraftSummary" })
export type DraftSummary = typeof DraftSummary.Type

/** A draft with the changes that publishing it would make, and the faults that keep it from being published. */
export const DraftResource = Schema.Struct({
  ...draftHead,
  form: VariantForm,
  changes: Difference.annotate({ description: "Fields in which the draft differs from the variant as it is now" }),
  faults: Schema.Array(Fault).annotate({
    description: "Faults of the form, by its rows. Liquid is checked when the draft is published",
  }),
  conflict: Schema.Boolean.annotate({ description: "Whether somebody has saved the variant since `base`" }),
}).annotate({ identifier: "Draft" })
export type DraftResource = typeof DraftResource.Type

/** A draft to store: as a form, or as the change of a variant. */
export const DraftBody = Schema.Struct({
  form: Schema.optionalKey(VariantForm).annotate({
    description: "The text as it is written. Exactly one of `form`, `change`",
  }),
  change: Schema.optionalKey(VariantPatch).annotate({
    description: "Members of the variant to change. Absent members keep their values in the variant",
  }),
  base: Schema.optionalKey(Schema.String).annotate({
    description: "`updated_at` of the variant that the text began from. Default: its current `updated_at`",
  }),
  replaces: Schema.optionalKey(Schema.NullOr(Schema.String)).annotate({
    description:
      "`saved_at` of the draft that this one may replace; null: there must be none. Absent: any. Otherwise the " +
      "response is 409",
  }),
}).annotate({ identifier: "DraftRequest" })
export type DraftBody = typeof DraftBody.Type

/** A version with the changes that restoring it would make. */
const ShownVersion = Schema.Struct({
  ...VariantVersion.fields,
  changes: Difference.annotate({ description: "Changes that restoring the version would make to the current variant" }),
}).annotate({ identifier: "ShownVersion" })

/** Endpoints of drafts and versions of variants. */
export class DraftsGroup extends managementGroup(
  "drafts",
  "Drafts and versions of variants",
  {
    listDrafts: reads("viewer", "templates:read"),
    getDraft: reads("viewer", "templates:read"),
    // The audit log does not record drafts, because they are stored while the author types and are not served.
    putDraft: reads("editor", "templates:write"),
    discardDraft: reads("editor", "templates:write"),
    publishDraft: writes("editor", "variant changed", "templates:write"),
    listVersions: reads("viewer", "templates:read"),
    getVersion: reads("viewer", "templates:read"),
    restoreVersion: writes("editor", "variant changed", "templates:write"),
  },
  HttpApiEndpoint.get("listDrafts", "/organizations/:org/templates/:template/drafts", {
    params: templatePath,
    success: Schema.Struct({ drafts: Schema.Array(DraftSummary) }),
    error: Problems.TemplateNotFound,
  }).annotate(OpenApi.Summary, "Drafts of a template, the latest first").annotate(
    OpenApi.Description,
    "The editor of the console stores typed text as a draft, separate from the variant that is served. Each author has " +
      "one draft for each variant.",
  ),
  HttpApiEndpoint.get("getDraft", "/organizations/:org/templates/:template/draft", {
    params: templatePath,
    query: ofAuthor,
    success: DraftResource,
    error: [Problems.InvalidRequest, Problems.TemplateNotFound, Problems.VariantNotFound, Problems.DraftNotFound],
  }).annotate(OpenApi.Summary, "A draft with its text and its changes"),
  HttpApiEndpoint.put("putDraft", "/organizations/:org/templates/:template/draft", {
    params: templatePath,
    query: ofVariant,
    payload: DraftBody,
    success: DraftSummary,
    error: [
      ...Problems.ofBody,
      Problems.TemplateNotFound,
      Problems.VariantNotFound,
      Problems.VersionConflict,
    ],
  }).annotate(OpenApi.Summary, "Stores the caller's draft").annotate(
    OpenApi.Description,
    "Replaces the caller's last draft of the variant. Nothing of it is served until it is published.",
  ),
  HttpApiEndpoint.delete("discardDraft", "/organizations/:org/templates/:template/draft", {
    params: templatePath,
    query: ofVariant,
    success: HttpApiSchema.NoContent,
    error: [Problems.InvalidRequest, Problems.TemplateNotFound],
  }).annotate(OpenApi.Summary, "Discards the caller's draft, if there is one"),
  HttpApiEndpoint.post("publishDraft", "/organizations/:org/templates/:template/draft/publish", {
    params: templatePath,
    query: ofAuthor,
    success: [Variant, waiting(ProposedVariant)],
    error: [
      Problems.InvalidRequest,
      Problems.TemplateNotFound,
      Problems.VariantNotFound,
      Problems.DraftNotFound,
      Problems.Conflict,
      Problems.VersionConflict,
    ],
  }).annotate(OpenApi.Summary, "Saves a draft as the variant and removes the draft").annotate(
    OpenApi.Description,
    "Responds with 409 if somebody has saved the variant since the draft was begun. Read both, merge them with " +
      "`putDraft`, and publish again.",
  ),
  HttpApiEndpoint.get("listVersions", "/organizations/:org/templates/:template/variants/:variant/versions", {
    params: variantPath,
    query: {
      ...Cursors.cursor("versions", "before", Parameters.numericPosition()),
      limit: Parameters.limit(200, 50),
    },
    success: Schema.Struct({ versions: Schema.Array(VariantVersionHead), ...Cursors.following(Schema.Int) }),
    error: [Problems.InvalidRequest, Problems.TemplateNotFound, Problems.VariantNotFound],
  }).annotate(OpenApi.Summary, "Versions of a variant, newest first").annotate(
    OpenApi.Description,
    "The content of the variant after each change, the latest 200. Whether the variant is active is no part of it.",
  ),
  HttpApiEndpoint.get("getVersion", "/organizations/:org/templates/:template/variants/:variant/versions/:version", {
    params: versionPath,
    success: ShownVersion,
    error: [Problems.TemplateNotFound, Problems.VariantNotFound, Problems.VersionNotFound],
  }).annotate(OpenApi.Summary, "One version with its content"),
  HttpApiEndpoint.post(
    "restoreVersion",
    "/organizations/:org/templates/:template/variants/:variant/versions/:version/restore",
    {
      params: versionPath,
      headers: ifMatch,
      success: [Variant, waiting(ProposedVariant)],
      error: [
        Problems.InvalidRequest,
        Problems.TemplateNotFound,
        Problems.VariantNotFound,
        Problems.VersionNotFound,
        Problems.VersionConflict,
      ],
    },
  ).annotate(OpenApi.Summary, "Restores a version").annotate(
    OpenApi.Description,
    "The variant gets the content of the version. It stays active or inactive, and its present content remains a version.",
  ),
) {}
