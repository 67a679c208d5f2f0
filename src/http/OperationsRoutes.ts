import { Effect, Metric, Option } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder, OpenApi } from "effect/http-api"
import { PrometheusMetrics } from "effect/observability"
import { SqlClient } from "effect/sql"
import { DecisionLog } from "../decisions/DecisionLog.ts"
import { durabilityNote } from "../store/Embedded.ts"
import { Store } from "../store/Store.ts"
import { Api, ServedApi } from "./Api.ts"
import { docsPage, problemPage, problemsPage } from "./Pages.ts"
import { PathNotFound, problemPages } from "./Problems.ts"

const pending = Metric.gauge("parlance_decisions_pending")
const storeDown = Metric.gauge("parlance_store_down")

/** The document of this API. */
export const document = OpenApi.fromApi(Api)

const html = (text: string) =>
  HttpServerResponse.text(text, {
    contentType: "text/html; charset=utf-8",
    headers: {
      "content-security-policy":
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
      "x-content-type-options": "nosniff",
      "cache-control": "no-cache",
    },
  })

/** Health, readiness, metrics and the documents. */
export const layer = HttpApiBuilder.group(
  ServedApi,
  "operations",
  Effect.fnUntraced(function* (handlers) {
    const sql = yield* SqlClient.SqlClient
    const decisions = yield* DecisionLog
    const store = yield* Store

    // The tables are there since migrations ran before anything listens; what can go is the store itself.
    const storeAnswers = sql`SELECT 1`.pipe(
      Effect.timeoutOption("2 seconds"),
      Effect.map(Option.isSome),
      Effect.catch(() => Effect.succeed(false)),
    )

    const openapiText = HttpServerResponse.jsonUnsafe(document)

    return handlers
      .handle("healthz", () => Effect.succeed({ status: "ok" as const }))
      .handleRaw("readyz", () =>
        Effect.gen(function* () {
          const answers = yield* storeAnswers
          const { down, pending } = decisions.state()
          const reasons = [
            ...(answers ? [] : ["The store does not answer"]),
            ...(down ? [`The store refuses writes; ${pending} decisions wait in memory`] : []),
          ]
          return HttpServerResponse.jsonUnsafe({
            status: reasons.length === 0 ? "ready" : "not ready",
            ...(reasons.length === 0 ? {} : { reasons }),
            store: store.kind,
            ...(store.kind === "embedded" ? { note: durabilityNote } : {}),
            decisions_pending: pending,
          }, { status: reasons.length === 0 ? 200 : 503 })
        }))
      .handleRaw("metrics", () =>
        Effect.gen(function* () {
          const state = decisions.state()
          yield* Metric.update(pending, state.pending)
          yield* Metric.update(storeDown, state.down ? 1 : 0)
          return HttpServerResponse.text(yield* PrometheusMetrics.format(), {
            contentType: "text/plain; version=0.0.4; charset=utf-8",
          })
        }))
      .handleRaw("openapi", () => Effect.succeed(openapiText))
      .handleRaw("docs", () => Effect.succeed(html(docsPage(document))))
      .handleRaw("problems", () => Effect.succeed(html(problemsPage(problemPages))))
      .handleRaw("problem", ({ params }) => {
        const page = problemPages.find(({ slug }) => slug === params.slug)
        return page === undefined
          ? new PathNotFound({ detail: `There is no problem type ${JSON.stringify(params.slug.slice(0, 100))}` })
          : Effect.succeed(html(problemPage(page)))
      })
  }),
)
