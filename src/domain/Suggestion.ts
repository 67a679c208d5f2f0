import { Schema } from "effect"
import { isStorable } from "./Attributes.ts"
import { described } from "./described.ts"

/** The model that suggested a variant, and when. */
export const SuggestedBy = Schema.Struct({ model: Schema.String, at: Schema.String }).annotate({
  description: "The model that suggested the variant, and when (ISO 8601). Absent for variants that people wrote",
})

const text = (maximum: number) =>
  Schema.String.check(
    Schema.makeFilter<string>((value) =>
      value.trim() !== value || value.length > maximum || !isStorable(value)
        ? `must be at most ${maximum.toLocaleString("en")} characters, without spaces at its ends`
        : undefined
    ),
  )

const phrase = text(100).check(Schema.isMinLength(1))

/** The rules of an organization's copy. A draft that breaks a rule is dropped, except for the tone. */
export const BrandRules = Schema.Struct({
  tone: described(text(2_000), "How the brand speaks, in words for the model. Up to 2,000 characters"),
  forbidden_words: described(
    Schema.Array(phrase).check(Schema.isMaxLength(200)),
    "Words and phrases that no draft contains, whatever their case. Up to 200",
  ),
  required_phrases: described(
    Schema.Array(phrase).check(Schema.isMaxLength(20)),
    "Phrases that every draft contains in one of its variables, whatever their case. Up to 20",
  ),
  max_lengths: described(
    Schema.Record(Schema.String, Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000 }))).check(
      Schema.isMaxProperties(100),
    ),
    "Maximum number of characters by variable, such as `{subject: 60}`, of the text that people see",
  ),
})
export type BrandRules = typeof BrandRules.Type

/** The rules of an organization without rules. */
export const noRules: BrandRules = { tone: "", forbidden_words: [], required_phrases: [], max_lengths: {} }

/** A request for suggested variants. */
export const SuggestInput = Schema.Struct({
  count: Schema.optionalKey(described(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
    "Number of drafts, 1 to 5. Default: 3",
  )),
  base: Schema.optionalKey(
    described(Schema.String, "Id of the variant whose other parts the drafts take over. Default: the leader"),
  ),
  variables: Schema.optionalKey(described(
    Schema.Array(Schema.String).check(Schema.isMaxLength(20)),
    "Variables to write, such as `[subject, preheader]`. Default: texts of at most 4,000 characters, without MJML",
  )),
  instructions: Schema.optionalKey(
    described(text(1_000), "What the drafts shall try, in words for the model. Up to 1,000 characters"),
  ),
}).annotate({ identifier: "SuggestInput" })
export type SuggestInput = typeof SuggestInput.Type

/** A draft that a model has suggested. It is no variant until somebody keeps it. */
export const Suggestion = Schema.Struct({
  id: described(Schema.String, "Also the id of the variant, if the draft is kept"),
  name: Schema.String,
  written: described(Schema.Record(Schema.String, Schema.String), "The Liquid that the model wrote, by variable"),
  base: described(Schema.String, "Name of the variant from which everything else is taken over"),
  model: Schema.String,
  suggested_at: Schema.String,
}).annotate({ identifier: "Suggestion" })
export type Suggestion = typeof Suggestion.Type

/** The result of one request for suggestions. */
export const SuggestionRun = Schema.Struct({
  drafts: described(Schema.Array(Suggestion), "The drafts that passed all checks"),
  dropped: described(
    Schema.Array(Schema.Struct({ name: Schema.String, reasons: Schema.Array(Schema.String) })),
    "The drafts that did not, with the reasons",
  ),
  host: described(Schema.String, "The host that was asked"),
  model: Schema.String,
  requests: described(Schema.Int, "Requests to the model: 2 if the first one returned too few drafts"),
  input_tokens: described(
    Schema.NullOr(Schema.Int),
    "Tokens of the requests. Null if the endpoint does not report them",
  ),
  output_tokens: described(
    Schema.NullOr(Schema.Int),
    "Tokens of the answers. Null if the endpoint does not report them",
  ),
  cost: described(
    Schema.NullOr(Schema.Struct({ amount: Schema.Finite, currency: Schema.String })),
    "By `SUGGESTIONS_PRICE`. Null without a price or tokens, and for an own endpoint of the organization",
  ),
}).annotate({ identifier: "SuggestionRun" })
export type SuggestionRun = typeof SuggestionRun.Type
