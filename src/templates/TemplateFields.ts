import { JsonPointer } from "effect"
import type { RecordFields } from "../domain/Difference.ts"
import {
  changedSettings,
  type Template,
  type TemplateSettingName,
  templateSettingNames,
  type TemplateSettings,
  type Variant,
} from "../domain/Template.ts"

// Templates and variants as fields of the audit log. Each variable is a field of its own.

const named = (at: string, values: Readonly<Record<string, unknown>>): RecordFields =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${at}/${JsonPointer.escapeToken(name)}`, value]))

type VariantContent = Omit<Variant, "created_at" | "updated_at">

/** Settings that the audit log records in any case. Others are recorded if they differ from their defaults. */
const alwaysRecorded = ["objective", "sticky_hours", "strict", "link_domains"] as const satisfies ReadonlyArray<
  TemplateSettingName
>

const fieldsOfSettings = (template: TemplateSettings): RecordFields => {
  const changed = changedSettings(template)
  const names = new Set<TemplateSettingName>([
    ...alwaysRecorded,
    ...templateSettingNames.filter((name) => name in changed),
  ])
  return Object.fromEntries([...names].map((name) => [`/${name}`, template[name]]))
}

/** Returns the fields of a variant, below `at`. */
export const fieldsOfVariant = (variant: VariantContent, at = ""): RecordFields => ({
  [`${at}/name`]: variant.name,
  [`${at}/active`]: variant.active,
  ...named(`${at}/vars`, variant.vars),
  ...Object.assign(
    {},
    ...Object.entries(variant.locales).map(([locale, texts]) => named(`${at}/locales/${locale}`, texts)),
  ),
  ...named(`${at}/formats`, variant.formats),
  [`${at}/targeting`]: variant.targeting,
  [`${at}/seasons`]: variant.seasons,
  ...named(`${at}/components`, variant.components),
})

/** Returns the fields of a template and its variants. */
export const fieldsOfTemplate = (
  template: TemplateSettings & {
    readonly name: string
    readonly archived: boolean
    readonly variants: ReadonlyArray<VariantContent>
  },
): RecordFields => ({
  "/name": template.name,
  "/archived": template.archived,
  ...fieldsOfSettings(template),
  ...Object.assign(
    {},
    ...template.variants.map((variant) => fieldsOfVariant(variant, `/variants/${JsonPointer.escapeToken(variant.id)}`)),
  ),
})

/** Returns the fields of a stored template. */
export const fieldsOfStored = (template: Template): RecordFields =>
  fieldsOfTemplate({ ...template, archived: template.archived_at !== null })
