import { Schema } from "effect"
import { described } from "./described.ts"
import { CopyId, TemplateId } from "./Ids.ts"
import { Tags, TemplateOwner } from "./Template.ts"

/** Variants to activate and to deactivate at once, by id, up to 1,000 of each. */
export const VariantSwitch = Schema.Struct({
  activate: Schema.optionalKey(
    described(Schema.Array(CopyId).check(Schema.isMaxLength(1000)), "Ids of the variants to activate. Default: none"),
  ),
  deactivate: Schema.optionalKey(
    described(Schema.Array(CopyId).check(Schema.isMaxLength(1000)), "Ids of the variants to deactivate. Default: none"),
  ),
}).annotate({ identifier: "VariantSwitch" })
export type VariantSwitch = typeof VariantSwitch.Type

const mostAtOnce = 1000

/** A change of several templates at once, up to 1,000. Absent members stay unchanged. */
export const TemplateBatchInput = Schema.Struct({
  ids: described(
    Schema.Array(TemplateId).check(Schema.isMaxLength(mostAtOnce)),
    "Ids of the templates, up to 1,000. Unknown ids are left out",
  ),
  active: Schema.optionalKey(
    described(Schema.Boolean, "true activates all variants of each template, false pauses them"),
  ),
  archived: Schema.optionalKey(described(Schema.Boolean, "true archives the templates, false restores them")),
  add_tags: Schema.optionalKey(described(Tags, "Tags to add to each template")),
  remove_tags: Schema.optionalKey(described(Tags, "Tags to remove")),
  owner: Schema.optionalKey(described(TemplateOwner, "E-mail address of the new owner, a member; null for no owner")),
}).annotate({ identifier: "TemplateBatchInput" })
export type TemplateBatchInput = typeof TemplateBatchInput.Type
