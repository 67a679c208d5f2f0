import { Schema } from "effect"
import { modes } from "../../journal/decisions/Decision.ts"
import { described } from "../../domain/described.ts"

/** The member `mode` of a decision. */
export const DecisionMode = described(
  Schema.Literals(modes),
  "`control`: the user is held out. Without a propensity the holdout named the variant, or, with an empty `copy_id`, the user got " +
    "no message. With another mode, an empty `copy_id` says that the model chose to send nothing. `fallback`: sent in place of a variant that could not be rendered, see `failed`",
)

/** The member `failed` of a decision. */
export const FailedRenderings = Schema.optionalKey(described(
  Schema.Array(Schema.Struct({
    copy_id: Schema.String,
    mode: Schema.Literals([...modes, "sticky"]),
    propensity: Schema.NullOr(Schema.Finite),
    weights: Schema.NullOr(Schema.Record(Schema.String, Schema.Finite)),
  })),
  "Variants that were chosen and could not be rendered, the first choice first; absent without any. One with a propensity counts as a " +
    "decision of its variant without an outcome. `mode` `sticky`: the user had the variant before",
))
