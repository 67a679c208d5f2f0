import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiSchema, OpenApi } from "effect/http-api"
import { reads, writes } from "../../accounts/Access.ts"
import { UserId } from "../../domain/Ids.ts"
import { ProposedTemplate, ProposedVariant, WaitingChange } from "../../domain/Proposal.ts"
import { LocaleTag } from "../../domain/Locale.ts"
import { Formats, Locales, Template, Variant, VariantInput, VariantPatch, Vars } from "../../domain/Template.ts"
import { VariantSwitch } from "../../domain/TemplateSwitches.ts"
import { SourceFault } from "../../text/TextFaults.ts"
import { managementGroup } from "../admission/ManagementGroup.ts"
import * as Problems from "../Problems.ts"
import { waiting } from "../reviews/Proposed.ts"
import { ifMatch } from "./DraftsApi.ts"

const templatePath = { org: Schema.String, template: Schema.String }
const variantPath = { ...templatePath, variant: Schema.String }

/** A preview request: Liquid sources or a stored variant (`copy_id`), with sample `fields` and `attrs`. */
export const PreviewBody = Schema.Struct({
  vars: Schema.optionalKey(Vars),
  formats: Schema.optionalKey(Formats),
  locales: Schema.optionalKey(Locales).annotate({ description: "Texts in other locales, with `vars`" }),
  locale: Schema.optionalKey(LocaleTag).annotate({
    description: "The locale to render, such as `de-AT`. Default: the locale in `attrs` or `fields`",
  }),
  copy_id: Schema.optionalKey(Schema.String),
  fields: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  attrs: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  user_id: Schema.optionalKey(UserId).annotate({ description: "Also reports whether this user is held out" }),
}).annotate({ identifier: "PreviewRequest" })

/**
 * A preview. `variants` lists every variant of the template, whether it is eligible for these `attrs` now, and the
 * reason if it is not.
 */
const Preview = Schema.Struct({
  vars: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  locale: Schema.optionalKey(Schema.String).annotate({
    description: "The locale of the rendered texts. Present with `vars`, if the template names a locale",
  }),
  dir: Schema.optionalKey(Schema.Literals(["ltr", "rtl"])).annotate({ description: "Direction of the locale" }),
  variants: Schema.Array(Schema.Struct({
    id: Schema.String,
    eligible: Schema.Boolean,
    reason: Schema.optionalKey(Schema.String),
  })),
  warnings: Schema.optionalKey(Schema.Array(SourceFault)).annotate({
    description: "Parts of the content that are probably not what the author means; present with `vars`",
  }),
  checks: Schema.optionalKey(Schema.Array(Schema.Struct({
    variable: Schema.String,
    channel: Schema.Literals(["sms", "push"]),
    status: Schema.Literals(["ok", "warn", "wrong"]),
    length: Schema.Int.annotate({ description: "SMS: septets in GSM-7, 16-bit units in UCS-2. Push: characters" }),
    segments: Schema.optionalKey(Schema.Int).annotate({ description: "SMS: number of messages" }),
    detail: Schema.String,
  }))).annotate({
    description: "Lengths of variables named `sms`, `push_title` or `push_body`, or similarly; present with `vars`",
  }),
  missing: Schema.optionalKey(Schema.Array(Schema.String)).annotate({
    description: "Fields that are used without a default or a test, and have no sample value; present with `vars`",
  }),
  compiled: Schema.optionalKey(Schema.Record(Schema.String, Schema.Int)).annotate({
    description: "Size of the HTML to which each MJML variable compiles, before rendering. Unit: bytes",
  }),
  held_out: Schema.optionalKey(Schema.Boolean).annotate({
    description: "Whether the user is held out and gets the content of the holdout; present with `user_id`",
  }),
}).annotate({ identifier: "Preview" })

/** Endpoints of variants and previews. */
export class VariantsGroup extends managementGroup(
  "variants",
  "Variants of templates, and previews",
  {
    createVariant: writes("editor", "variant created", "templates:write"),
    getVariant: reads("viewer", "templates:read"),
    updateVariant: writes("editor", "variant changed", "templates:write"),
    deleteVariant: writes("editor", "variant deleted", "templates:write"),
    switchVariants: writes("editor", "variant changed", "templates:write"),
    preview: reads("viewer", "templates:read"),
  },
  HttpApiEndpoint.post("createVariant", "/organizations/:org/templates/:template/variants", {
    params: templatePath,
    payload: VariantInput,
    success: [Variant.pipe(HttpApiSchema.status(201)), waiting(ProposedVariant)],
    error: [...Problems.ofBody, Problems.TemplateNotFound, Problems.Conflict],
  }).annotate(OpenApi.Summary, "Adds a variant to a template"),
  HttpApiEndpoint.get("getVariant", "/organizations/:org/templates/:template/variants/:variant", {
    params: variantPath,
    success: Variant,
    error: [Problems.TemplateNotFound, Problems.VariantNotFound],
  }).annotate(OpenApi.Summary, "One variant"),
  HttpApiEndpoint.patch("updateVariant", "/organizations/:org/templates/:template/variants/:variant", {
    params: variantPath,
    headers: ifMatch,
    payload: VariantPatch,
    success: [Variant, waiting(ProposedVariant)],
    error: [
      ...Problems.ofBody,
      Problems.TemplateNotFound,
      Problems.VariantNotFound,
      Problems.VersionConflict,
    ],
  }).annotate(OpenApi.Summary, "Updates a variant; absent members stay unchanged"),
  HttpApiEndpoint.delete("deleteVariant", "/organizations/:org/templates/:template/variants/:variant", {
    params: variantPath,
    success: [HttpApiSchema.NoContent, waiting(WaitingChange)],
    error: [Problems.TemplateNotFound, Problems.VariantNotFound],
  }).annotate(OpenApi.Summary, "Deletes a variant"),
  HttpApiEndpoint.post("switchVariants", "/organizations/:org/templates/:template/switch-variants", {
    params: templatePath,
    payload: VariantSwitch,
    success: [Template, waiting(ProposedTemplate)],
    error: [...Problems.ofBody, Problems.TemplateNotFound],
  }).annotate(OpenApi.Summary, "Activates and deactivates variants at once").annotate(
    OpenApi.Description,
    "To send all traffic to one variant, name it in `activate` and all others in `deactivate`. Variants that are not " +
      "named stay as they are. The reverse call undoes it.",
  ),
  HttpApiEndpoint.post("preview", "/organizations/:org/templates/:template/preview", {
    params: templatePath,
    payload: PreviewBody,
    success: Preview,
    error: [...Problems.ofBody, Problems.TemplateNotFound, Problems.VariantNotFound, Problems.Unprocessable],
  }).annotate(OpenApi.Summary, "Renders a variant for sample values and lists the eligible variants"),
) {}
