import { Effect } from "effect"
import { Suggestions } from "../../suggestions/Suggestions.ts"
import { SuggestionSetups } from "../../suggestions/SuggestionSetups.ts"
import { managed } from "../http/Managed.ts"
import { asIs, orProposed } from "../reviews/Proposed.ts"

/** Serves `SuggestionsGroup`. */
export const layer = managed(
  "suggestions",
  Effect.gen(function* () {
    const setups = yield* SuggestionSetups
    const suggestions = yield* Suggestions
    return {
      getSuggestionSetup: ({ org }) => setups.get(org),
      updateSuggestionSetup: ({ body, org }) => setups.update(org, body),
      listSuggestions: ({ org, params }) =>
        Effect.map(suggestions.list(org, params.template), (all) => ({ suggestions: all })),
      previewSuggestions: ({ body, org, params }) =>
        Effect.map(suggestions.preview(org, params.template, body), (messages) => ({ messages })),
      suggestVariants: ({ body, org, params }) => suggestions.suggest(org, params.template, body),
      keepSuggestion: ({ org, params }) =>
        suggestions.keep(org, params.template, params.suggestion).pipe(orProposed(asIs)),
      discardSuggestion: ({ org, params }) => suggestions.discard(org, params.template, params.suggestion),
    }
  }),
)
