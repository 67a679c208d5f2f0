import { Schema } from "effect"
import { validateAddress } from "../text/Email.ts"
import { DisplayName } from "./Ids.ts"

/** Largest number of addresses in a test group. */
export const mostGroupAddresses = 20

/** The id of a test group or a sample person in paths, such as `design-team`. 1 to 64 characters. */
const PlainId = Schema.String.check(
  Schema.isPattern(/^[a-z0-9][a-z0-9_-]{0,63}$/, {
    message: "must be 1 to 64 lowercase letters, digits, hyphens or underscores, starting with a letter or digit",
  }),
)
/** Whether a value is a valid id of a test group or a sample person. */
export const isPlainId = Schema.is(PlainId)

const Address = Schema.String.check(Schema.makeFilter((value: string) => validateAddress(value)))

const isDistinct = (emails: ReadonlyArray<string>) =>
  new Set(emails.map((email) => email.toLowerCase())).size === emails.length

/** A test group to save. */
export const TestGroupInput = Schema.Struct({
  name: DisplayName.check(Schema.isTrimmed()).annotate({
    description: "1 to 200 characters, used once in the organization",
  }),
  emails: Schema.Array(Address).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(mostGroupAddresses),
    Schema.makeFilter((emails) => isDistinct(emails) ? undefined : "must not name an address twice"),
  ).annotate({ description: `1 to ${mostGroupAddresses} e-mail addresses, each once` }),
}).annotate({ identifier: "TestGroupInput" })
export type TestGroupInput = typeof TestGroupInput.Type

/** Named recipients of test messages. */
export const TestGroup = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  emails: Schema.Array(Schema.String),
  updated_at: Schema.String,
}).annotate({ identifier: "TestGroup" })
export type TestGroup = typeof TestGroup.Type
