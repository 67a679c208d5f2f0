import { Effect, Result } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Organizations } from "../organizations/Organizations.ts"
import { Results } from "../results/Results.ts"
import { ServedApi } from "./Api.ts"
import { invalid, lookedUp, query, slugOf, toProblems } from "./Requests.ts"
import { resultsQuery } from "./ResultsQuery.ts"

export const layer = HttpApiBuilder.group(
  ServedApi,
  "results",
  Effect.fnUntraced(function* (handlers) {
    const results = yield* Results
    const organizations = yield* Organizations
    return handlers.handleRaw("templateResults", ({ params, request }) =>
      Effect.gen(function* () {
        const options = resultsQuery(query(request))
        if (Result.isFailure(options)) return yield* invalid(options.failure)
        const org = slugOf(params)
        return yield* results.results(org, lookedUp(params.template), options.success).pipe(
          // Whose template it would be is looked up only once there is none.
          Effect.catchTag("TemplateNotFound", (error) => Effect.andThen(organizations.get(org), Effect.fail(error))),
        )
      }).pipe(toProblems))
  }),
)
