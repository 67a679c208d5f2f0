import { Effect, Result } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { CurrentActor } from "../../accounts/Actor.ts"
import type { TemplateNotFound } from "../../domain/Errors.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { ResultShareInput } from "../../domain/ResultShare.ts"
import { decoder } from "../../domain/Faults.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { Results } from "../../results/Results.ts"
import type { ResultsOptions } from "../../results/ResultsOptions.ts"
import { csvName, resultsCsv } from "../../results/ResultsCsv.ts"
import { ResultShares, sharePath } from "../../results/ResultShares.ts"
import { SendTimes } from "../../results/SendTimes.ts"
import { Series } from "../../results/Series.ts"
import { Templates } from "../../templates/Templates.ts"
import { ServedApi } from "../Api.ts"
import { body, existing, invalid, lookedUp, query, slugOf, toProblems } from "../server/Requests.ts"
import { resultsQuery } from "./ResultsQuery.ts"

const shareBody = decoder(ResultShareInput)

export const layer = HttpApiBuilder.group(
  ServedApi,
  "results",
  Effect.fnUntraced(function* (handlers) {
    const results = yield* Results
    const series = yield* Series
    const sendTimes = yield* SendTimes
    const organizations = yield* Organizations
    const templates = yield* Templates
    const shares = yield* ResultShares

    const found = <A>(
      params: { readonly org: string; readonly template: string },
      ask: (org: OrgSlug, template: string) => Effect.Effect<A, TemplateNotFound>,
    ) => {
      const org = slugOf(params)
      return ask(org, lookedUp(params.template)).pipe(
        // The organization is looked up only if the template does not exist, to name the missing one.
        Effect.catchTag("TemplateNotFound", (error) => Effect.andThen(organizations.get(org), Effect.fail(error))),
      )
    }

    /** Decodes the query and looks up the template. Fails with `InvalidRequest` for a faulty query. */
    const of = <A>(
      ask: (org: OrgSlug, template: string, options: ResultsOptions) => Effect.Effect<A, TemplateNotFound>,
    ) =>
    ({ params, request }: {
      readonly params: { readonly org: string; readonly template: string }
      readonly request: HttpServerRequest.HttpServerRequest
    }) =>
      Effect.gen(function* () {
        const options = resultsQuery(query(request))
        if (Result.isFailure(options)) return yield* invalid(options.failure)
        return yield* found(params, (org, template) => ask(org, template, options.success))
      }).pipe(toProblems)

    return handlers
      .handleRaw("templateResults", of(results.results))
      .handleRaw(
        "exportResults",
        (call) =>
          Effect.map(of(results.results)(call), (found) =>
            HttpServerResponse.text(resultsCsv(found), {
              contentType: "text/csv; charset=utf-8",
              headers: { "content-disposition": `attachment; filename="${csvName(found)}"` },
            })),
      )
      .handleRaw("templateSeries", of(series.series))
      .handle(
        "templateSendTimes",
        ({ params }) => toProblems(found(params, (org, template) => sendTimes.of(org, template))),
      )
      .handle(
        "listResultShares",
        ({ params }) => found(params, shares.list).pipe(Effect.map((all) => ({ shares: all })), toProblems),
      )
      .handleRaw("createResultShare", ({ params, request }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          yield* templates.get(org, lookedUp(params.template))
          const input = yield* body(request, shareBody)
          const { token, ...share } = yield* shares.create(org, lookedUp(params.template), input, yield* CurrentActor)
          return { ...share, path: sharePath(token) }
        }).pipe(toProblems))
      .handle("revokeResultShare", ({ params }) =>
        Effect.gen(function* () {
          const org = yield* existing(organizations, params)
          yield* shares.revoke(org, lookedUp(params.template), lookedUp(params.share))
        }).pipe(toProblems))
  }),
)
