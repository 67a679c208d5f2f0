import { Schema } from "effect"

/** No model is configured for the organization. */
export class SuggestionsOff extends Schema.TaggedError<SuggestionsOff>()("SuggestionsOff", {}) {
  override get message() {
    return "No model suggests variants of this organization. An admin can choose one in the console under Settings, " +
      "Suggestions. The operator of the installation can set SUGGESTIONS_URL."
  }
}

/** Another request of the organization is in progress, or the daily limit is reached. */
export class SuggestionsBusy extends Schema.TaggedError<SuggestionsBusy>()("SuggestionsBusy", {
  /** The daily limit, if it is reached. */
  limit: Schema.optionalKey(Schema.Int),
  retryAfterSeconds: Schema.Int,
}) {
  override get message() {
    return this.limit === undefined
      ? "A model is already writing drafts of this organization. Wait until it has finished."
      : `The organization has asked for suggestions ${this.limit} times today, which is the daily limit. It starts again at ` +
        "00:00 UTC. The operator of the installation can raise SUGGESTIONS_DAILY_LIMIT."
  }
}

/** The model returned no usable answer. Nothing was stored. */
export class SuggestionsFailed extends Schema.TaggedError<SuggestionsFailed>()("SuggestionsFailed", {
  detail: Schema.String,
  /** The tokens of the request, for the audit log. */
  usage: Schema.String,
}) {
  override get message() {
    return `${this.detail}. No draft was stored.`
  }
}

/** There is no suggestion by that id that waits for a decision. */
export class SuggestionNotFound
  extends Schema.TaggedError<SuggestionNotFound>()("SuggestionNotFound", { id: Schema.String }) {
  override get message() {
    return `There is no suggestion ${JSON.stringify(this.id)} here. It may have been kept or discarded.`
  }
}
