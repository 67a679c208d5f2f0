import { Schema } from "effect"
import { DisplayName } from "./Ids.ts"

/** Most characters of the attributes of a person, and of the fields, each as JSON. */
const maxCharacters = 100_000

const Values = Schema.Record(Schema.String, Schema.Unknown).check(
  Schema.makeFilter((value) =>
    JSON.stringify(value).length > maxCharacters ? `must be ${maxCharacters} characters at most` : undefined
  ),
)

/** A sample person to save. */
export const SamplePersonInput = Schema.Struct({
  name: DisplayName.check(Schema.isTrimmed()).annotate({
    description: "1 to 200 characters, used once in the organization",
  }),
  attrs: Schema.optionalKey(Values).annotate({ description: "Attributes for targeting. Default `{}`" }),
  fields: Schema.optionalKey(Values).annotate({ description: "Values for placeholders. Default `{}`" }),
}).annotate({ identifier: "SamplePersonInput" })
export type SamplePersonInput = typeof SamplePersonInput.Type

/** A named person for previews and test messages. */
export const SamplePerson = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  attrs: Schema.Record(Schema.String, Schema.Unknown),
  fields: Schema.Record(Schema.String, Schema.Unknown),
}).annotate({ identifier: "SamplePerson" })
export type SamplePerson = typeof SamplePerson.Type
