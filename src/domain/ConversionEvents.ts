import { Schema } from "effect"
import { isStorable } from "./Attributes.ts"

/** Matches every name: an event of any name with a tracking id is a conversion. */
export const anyName = "*"

const Name = Schema.String.check(
  Schema.makeFilter<string>((text) =>
    text.length === 0 || text.length > 200 || text.trim() !== text || !isStorable(text)
      ? "must be the name of an event: 1 to 200 characters without spaces at its ends"
      : undefined
  ),
)

const names = (name: typeof Name) => Schema.Array(name).check(Schema.isMaxLength(200))

const description = "Names of additional events that count as conversions, such as `trial_started`. " +
  "Compared without letter case with the whole name or its last dotted segment. Declared anywhere in an organization, a " +
  "name counts for all its templates. Up to 200"

/** Names of conversions that an organization declares. */
export const OrganizationConversionEvents = names(Name).annotate({
  description: `${description}. \`*\` accepts any name from an event with a tracking id`,
})

/** Names of conversions that a template declares. */
export const TemplateConversionEvents = names(
  Name.check(
    Schema.makeFilter<string>((text) =>
      text === anyName ? "can only be declared by the organization, since it accepts every name" : undefined
    ),
  ),
).annotate({ description })
