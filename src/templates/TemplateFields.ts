import { JsonPointer } from "effect"
import type { RecordFields } from "../domain/Difference.ts"
import type { Template, Variant } from "../domain/Template.ts"

// Templates and variants as fields of the audit log. Each variable is a field of its own.

const named = (at: string, values: Readonly<Record<string, unknown>>): RecordFields =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${at}/${JsonPointer.escapeToken(name)}`, value]))

type VariantContent = Omit<Variant, "created_at" | "updated_at">

type Settings = Pick<
  Template,
  | "name"
  | "objective"
  | "sticky_hours"
  | "strict"
  | "link_domains"
  | "conversion_events"
  | "holdout"
  | "ignore_unsubscribes"
  | "tracking"
  | "list_unsubscribe"
  | "tags"
  | "owner"
>

/** Returns the fields of a variant, below `at`. */
export const fieldsOfVariant = (variant: VariantContent, at = ""): RecordFields => ({
  [`${at}/name`]: variant.name,
  [`${at}/active`]: variant.active,
  ...named(`${at}/vars`, variant.vars),
  ...named(`${at}/formats`, variant.formats),
  [`${at}/targeting`]: variant.targeting,
  [`${at}/seasons`]: variant.seasons,
  ...named(`${at}/components`, variant.components),
})

/** Returns the fields of a template and its variants. */
export const fieldsOfTemplate = (
  template: Settings & { readonly archived: boolean; readonly variants: ReadonlyArray<VariantContent> },
): RecordFields => ({
  "/name": template.name,
  "/archived": template.archived,
  "/objective": template.objective,
  "/sticky_hours": template.sticky_hours,
  "/strict": template.strict,
  "/link_domains": template.link_domains,
  ...(template.conversion_events.length === 0 ? {} : { "/conversion_events": template.conversion_events }),
  ...(template.holdout === null ? {} : { "/holdout": template.holdout }),
  ...(template.ignore_unsubscribes ? { "/ignore_unsubscribes": true } : {}),
  ...(template.tracking === null ? {} : { "/tracking": template.tracking }),
  ...(template.list_unsubscribe ? { "/list_unsubscribe": true } : {}),
  ...(template.tags.length === 0 ? {} : { "/tags": template.tags }),
  ...(template.owner === null ? {} : { "/owner": template.owner }),
  ...Object.assign(
    {},
    ...template.variants.map((variant) => fieldsOfVariant(variant, `/variants/${JsonPointer.escapeToken(variant.id)}`)),
  ),
})

/** Returns the fields of a stored template. */
export const fieldsOfStored = (template: Template): RecordFields =>
  fieldsOfTemplate({ ...template, archived: template.archived_at !== null })
