import { Effect, Result } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { type Fault, type TemplateNotFound, VariantNotFound } from "../../domain/Errors.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
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
import { managed } from "../http/Managed.ts"
import { invalid, queryIn } from "../http/Requests.ts"
import { resultsQuery } from "./ResultsQuery.ts"

/** Returns the faults of the attributes of a comparison. */
const attributesFaults = (
  named: Readonly<Record<string, string | undefined>>,
  learned: ReadonlyArray<string>,
): Array<Fault> =>
  Object.entries(named).flatMap(([pointer, name]) =>
    name === undefined || learned.includes(name) ? [] : [{
      pointer,
      detail: `must be an attribute that the template learns from: ${learned.join(", ")}`,
    }]
  )

/** Services that compare variants. */
interface Comparing {
  readonly explorer: SegmentExplorer["Service"]
  readonly results: Results["Service"]
  readonly templates: Templates["Service"]
}

/** Returns the variants to compare. Default: the leader and the runner-up. */
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

interface SegmentQuestion {
  readonly variant: string | undefined
  readonly against: string | undefined
  readonly attribute: string | undefined
  readonly second_attribute: string | undefined
}

/** Compares two variants in segments. Fails with `InvalidRequest` and every fault of the query. */
const compareSegments = Effect.fnUntraced(function* (
  services: Comparing,
  org: OrgSlug,
  templateId: string,
  input: SegmentQuestion,
) {
  const { explorer, templates } = services
  const template = yield* templates.outline(org, templateId)
  const learned = yield* explorer.attributes(org, template.id)
  const { attribute, second_attribute: second } = input
  const { against, variant } = yield* pairOf(services, org, template.id, input)
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

/** Serves `ResultsGroup`. */
export const layer = managed(
  "results",
  Effect.gen(function* () {
    const results = yield* Results
    const series = yield* Series
    const sendTimes = yield* SendTimes
    const organizations = yield* Organizations
    const templates = yield* Templates
    const shares = yield* ResultShares
    const explorer = yield* SegmentExplorer

    const found = <A>(org: OrgSlug, answer: Effect.Effect<A, TemplateNotFound>) =>
      // The organization is looked up only if the template does not exist, so that the error names a missing
      // organization.
      Effect.catchTag(answer, "TemplateNotFound", (error) => Effect.andThen(organizations.get(org), Effect.fail(error)))

    /** Decodes the query and looks up the template. Fails with `InvalidRequest` for a faulty query. */
    const of = <A>(
      ask: (org: OrgSlug, template: string, options: ResultsOptions) => Effect.Effect<A, TemplateNotFound>,
    ) =>
      Effect.fnUntraced(function* ({ params, request, slug }: {
        readonly params: { readonly template: string }
        readonly request: HttpServerRequest.HttpServerRequest
        readonly slug: OrgSlug
      }) {
        const options = resultsQuery(yield* Effect.fromResult(queryIn(request)))
        if (Result.isFailure(options)) return yield* invalid(options.failure)
        return yield* found(slug, ask(slug, params.template, options.success))
      })

    return {
      templateResults: { inSteps: of(results.results) },
      exportResults: {
        inSteps: (call) =>
          Effect.map(of(results.results)(call), (found) =>
            HttpServerResponse.text(resultsCsv(found), {
              contentType: "text/csv; charset=utf-8",
              headers: { "content-disposition": `attachment; filename="${csvName(found)}"` },
            })),
      },
      templateSeries: { inSteps: of(series.series) },
      templateSendTimes: ({ org, params }) => found(org, sendTimes.of(org, params.template)),
      compareSegments: {
        inSteps: Effect.fnUntraced(function* ({ org, params, query }) {
          const input = yield* query
          return yield* compareSegments({ explorer, results, templates }, yield* org, params.template, input)
        }),
      },
      listResultShares: ({ org, params }) =>
        Effect.map(found(org, shares.list(org, params.template)), (all) => ({ shares: all })),
      createResultShare: {
        inSteps: Effect.fnUntraced(function* ({ actor, body, org: organization, params }) {
          const org = yield* organization
          yield* templates.outline(org, params.template)
          const { token, ...share } = yield* shares.create(org, params.template, yield* body, actor)
          return { ...share, path: sharePath(token) }
        }),
      },
      revokeResultShare: {
        inSteps: ({ org, params }) => Effect.flatMap(org, (slug) => shares.revoke(slug, params.template, params.share)),
      },
    }
  }),
  "by the services",
)
