import { Effect, Result } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { CurrentActor } from "../../accounts/Actor.ts"
import { type Fault, type TemplateNotFound, VariantNotFound } from "../../domain/Errors.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { ResultShareInput } from "../../domain/ResultShare.ts"
import { decoder } from "../../domain/Faults.ts"
import { Organizations } from "../../organizations/Organizations.ts"
import { Results } from "../../results/Results.ts"
import type { ResultsOptions } from "../../results/ResultsOptions.ts"
import { csvName, resultsCsv } from "../../results/ResultsCsv.ts"
import { ResultShares, sharePath } from "../../results/ResultShares.ts"
import { segmentAnswer } from "../../results/SegmentAnswer.ts"
import { SegmentExplorer } from "../../results/SegmentExplorer.ts"
import { SendTimes } from "../../results/SendTimes.ts"
import { Series } from "../../results/Series.ts"
import { Templates } from "../../templates/Templates.ts"
import { ServedApi } from "../Api.ts"
import * as Parameters from "../server/Parameters.ts"
import { body, existing, invalid, lookedUp, query, slugOf, toProblems } from "../server/Requests.ts"
import { resultsQuery } from "./ResultsQuery.ts"

const shareBody = decoder(ResultShareInput)

/** Faults of the attributes of a comparison. */
const attributesFaults = (
  asked: Readonly<Record<string, string | undefined>>,
  learned: ReadonlyArray<string>,
): Array<Fault> =>
  Object.entries(asked).flatMap(([pointer, name]) =>
    name === undefined || learned.includes(name) ? [] : [{
      pointer,
      detail: `must be an attribute that the template learns from: ${learned.join(", ")}`,
    }]
  )

/** Services that compare variants. */
interface Comparing {
  readonly explorer: SegmentExplorer["Service"]
  readonly organizations: Organizations["Service"]
  readonly results: Results["Service"]
  readonly templates: Templates["Service"]
}

/** The leader and the runner-up, in place of variants that are not given. */
const pairOf = Effect.fnUntraced(function* (
  { results }: Comparing,
  org: OrgSlug,
  template: string,
  given: { readonly variant: string | undefined; readonly against: string | undefined },
) {
  if (given.variant !== undefined && given.against !== undefined) return given
  const { winner: { leader, lift } } = yield* results.results(org, template, {})
  return { variant: given.variant ?? leader ?? undefined, against: given.against ?? lift?.baseline }
})

/** Compares two variants in segments. Fails with `InvalidRequest` and every fault of the query. */
const compareSegments = Effect.fnUntraced(function* (services: Comparing, { params, request }: {
  readonly params: { readonly org: string; readonly template: string }
  readonly request: HttpServerRequest.HttpServerRequest
}) {
  const { explorer, organizations, templates } = services
  const id = Parameters.text("must be the id of a variant")
  const name = Parameters.text("must be the name of an attribute")
  const asked = yield* Parameters.parameters(request, {
    variant: id,
    against: id,
    attribute: name,
    second_attribute: name,
  })
  const org = yield* existing(organizations, params)
  const template = yield* templates.get(org, lookedUp(params.template))
  const learned = yield* explorer.attributes(org, template.id)
  const { attribute, second_attribute: second } = asked
  const { against, variant } = yield* pairOf(services, org, template.id, asked)
  const faults = attributesFaults({ attribute, second_attribute: second }, learned)
  if (variant === undefined) faults.push({ pointer: "variant", detail: "is required: no variant leads yet" })
  if (against === undefined) faults.push({ pointer: "against", detail: "is required: there is no runner-up yet" })
  else if (variant === against) faults.push({ pointer: "against", detail: "must be another variant" })
  if (variant === undefined || against === undefined || faults.length > 0) return yield* invalid(faults)
  for (const id of [variant, against]) {
    if (!template.variants.some((one) => one.id === id)) return yield* new VariantNotFound({ id })
  }
  const attributes = [...new Set([attribute, second].filter((one) => one !== undefined))]
  const question = { attributes: attributes.length === 0 ? learned.slice(0, 2) : attributes, variant, against }
  return segmentAnswer(template, question, learned, yield* explorer.explore(org, template.id, question))
})

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
    const explorer = yield* SegmentExplorer

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
      .handleRaw(
        "compareSegments",
        (call) => toProblems(compareSegments({ explorer, organizations, results, templates }, call)),
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
