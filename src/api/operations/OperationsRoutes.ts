import { type Duration, Effect, Fiber, Metric } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder, OpenApi } from "effect/http-api"
import { PrometheusMetrics } from "effect/observability"
import { SqlClient } from "effect/sql"
import { Buffer } from "node:buffer"
import { Cluster } from "../../cluster/Cluster.ts"
import { DecisionLog } from "../../journal/decisions/DecisionLog.ts"
import { measureJournal } from "../../journal/Backlog.ts"
import { measureDeliveries } from "../../delivery/Backlog.ts"
import { measureStoppedLearning } from "../../learning/StoppedLearning.ts"
import { measureErasures } from "../../erasure/ErasureBacklog.ts"
import { templateFileSchema } from "../../templates/TemplateFileSchema.ts"
import { bounded } from "../../store/bounded.ts"
import { measureBackupAge } from "../../store/BackupAge.ts"
import { Store } from "../../store/Store.ts"
import { Exported, exportMetricsEvery } from "../../telemetry/Exported.ts"
import { Api, ServedApi } from "../Api.ts"
import * as Body from "../http/Body.ts"
import { Drain } from "../http/Drain.ts"
import { LoadGate } from "../admission/LoadGate.ts"
import { referencePage } from "../openapi/ApiReference.ts"
import { problemPage, problemsPage } from "../http/Pages.ts"
import { PathNotFound, problemPages } from "../Problems.ts"
import { query } from "../http/Requests.ts"
import { staticDocument } from "../http/StaticDocument.ts"

const pending = Metric.gauge("parlance_decisions_pending")
const storeDown = Metric.gauge("parlance_store_down")
/** Nodes that are alive. */
const clusterRunners = Metric.gauge("parlance_cluster_runners")
/** Time since the nodes that are alive were read. Unit: seconds. */
const clusterSeen = Metric.gauge("parlance_cluster_seen_seconds")
/** Shards whose actors run on this node. */
const clusterShards = Metric.gauge("parlance_cluster_shards")
/** Actors that are awake on this node. */
const clusterActors = Metric.gauge("parlance_cluster_actors")

/** Memory reserved for request bodies that are still arriving. Unit: bytes. */
const bodiesBytes = Metric.gauge("parlance_bodies_bytes")

/** Returns the OpenAPI document of this API. Needs 0.1 s of processor time. */
export const describeApi = () => OpenApi.fromApi(Api)

const html = (text: string) =>
  staticDocument(text, "text/html; charset=utf-8", {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
    "cache-control": "no-cache",
  })

/**
 * Whether the path is spelled as documented. The router also matches other spellings, such as `/%6detrics` for
 * /metrics. A load balancer that hides /metrics from the public may forward such spellings.
 */
const isSpelled = ({ url }: HttpServerRequest.HttpServerRequest, path: string): boolean =>
  url === path || url.startsWith(`${path}?`)

/** Health, readiness, metrics and the documents. */
export const layer = HttpApiBuilder.group(
  ServedApi,
  "operations",
  Effect.fnUntraced(function* (handlers) {
    const sql = yield* SqlClient.SqlClient
    const decisions = yield* DecisionLog
    const store = yield* Store
    const drain = yield* Drain
    const load = yield* LoadGate
    const cluster = yield* Cluster

    const scope = yield* Effect.scope

    /**
     * Shares one run of `effect` among all callers until `moment` has passed. The run continues if its callers
     * disconnect, so that repeated requests cannot cause more statements.
     */
    const shared = <A, E>(effect: Effect.Effect<A, E>, moment: Duration.Input): Effect.Effect<Effect.Effect<A, E>> =>
      Effect.map(Effect.cachedWithTTL(Effect.forkIn(effect, scope), moment), Effect.flatMap(Fiber.join))

    // Migrations ran before the server listened, so the tables exist. Only the database itself can be unavailable.
    const storeAnswers = yield* shared(store.answers, "500 millis")

    /**
     * Measures queue lengths in the database. While the database does not respond, the gauges keep their last values.
     */
    const measureBacklog = yield* shared(
      Effect.all([
        measureJournal(sql),
        measureStoppedLearning(sql),
        measureErasures(sql),
        measureDeliveries(sql),
        measureBackupAge(sql),
      ]).pipe(
        bounded("1 second"),
        Effect.ignore,
      ),
      "1 second",
    )

    /** Updates the gauges. */
    const measure = Effect.gen(function* () {
      const state = decisions.state()
      yield* Metric.update(pending, state.pending)
      yield* Metric.update(storeDown, state.down ? 1 : 0)
      yield* Metric.update(bodiesBytes, Body.heldBytes())
      yield* load.report
      const membership = yield* cluster.membership
      yield* Metric.update(clusterRunners, membership.runners)
      yield* Metric.update(clusterSeen, membership.seenSecondsAgo)
      yield* Metric.update(clusterShards, membership.shards)
      yield* Metric.update(clusterActors, membership.actors)
      yield* measureBacklog
    })

    // /metrics requires no authentication and is never refused under load, so all requests within 50 ms share one text.
    const exposition = yield* shared(
      measure.pipe(
        Effect.andThen(PrometheusMetrics.format()),
        Effect.map((text) =>
          HttpServerResponse.uint8Array(Buffer.from(text), { contentType: "text/plain; version=0.0.4; charset=utf-8" })
        ),
      ),
      "50 millis",
    )

    // A collector receives the same metrics as a scrape.
    if (yield* Exported) {
      yield* measure.pipe(Effect.andThen(Effect.sleep(exportMetricsEvery)), Effect.forever, Effect.forkScoped)
    }

    // The first request creates the document, so that the start of the service does not include it.
    const openapi = yield* Effect.cached(
      Effect.sync(() =>
        staticDocument(JSON.stringify(describeApi()), "application/json", { "cache-control": "no-cache" })
      ),
    )
    const templateFile = yield* Effect.cached(
      Effect.sync(() =>
        staticDocument(JSON.stringify(templateFileSchema(), null, 2), "application/schema+json", {
          "cache-control": "no-cache",
        })
      ),
    )
    const problems = html(problemsPage(problemPages))
    const pages = new Map(problemPages.map((page) => [page.slug, html(problemPage(page))]))

    return handlers
      .handle("healthz", () => Effect.succeed({ status: "ok" as const }))
      .handleRaw("readyz", ({ request }) =>
        Effect.gen(function* () {
          const answers = yield* storeAnswers
          const { down, hasRoom, pending } = decisions.state()
          const { address, ...membership } = yield* cluster.membership
          const reasons = [
            ...(drain.hasBegun() ? ["This node is shutting down"] : []),
            ...(answers ? [] : ["The database does not respond"]),
            ...(down ? [`The database refuses writes; ${pending} decisions wait in memory`] : []),
          ]
          const isServing = reasons.length === 0 ||
            (query(request).get("accept") === "memory" && !drain.hasBegun() && hasRoom)
          return HttpServerResponse.jsonUnsafe({
            status: reasons.length === 0 ? "ready" : isServing ? "answering from memory" : "not ready",
            ...(reasons.length === 0 ? {} : { reasons }),
            store: store.kind,
            decisions_pending: pending,
            // The cluster never makes a node unready, because a node answers requests without the other nodes.
            ...(address === undefined ? {} : {
              cluster: {
                address,
                runners: membership.runners,
                seen_seconds_ago: membership.seenSecondsAgo,
                shards: membership.shards,
                actors: membership.actors,
              },
            }),
          }, { status: isServing ? 200 : 503 })
        }))
      .handleRaw(
        "metrics",
        ({ request }) =>
          isSpelled(request, "/metrics")
            ? exposition
            : new PathNotFound({ detail: "This path does not exist. Metrics are at /metrics" }),
      )
      .handleRaw("openapi", ({ request }) => Effect.map(openapi, (respond) => respond(request)))
      .handleRaw("docs", ({ request }) => Effect.succeed(referencePage(request)))
      .handleRaw("templateFileSchema", ({ request }) => Effect.map(templateFile, (respond) => respond(request)))
      .handleRaw("problems", ({ request }) => Effect.succeed(problems(request)))
      .handleRaw("problem", ({ params, request }) => {
        const page = pages.get(params.slug)
        return page === undefined
          ? new PathNotFound({ detail: `There is no problem type ${JSON.stringify(params.slug.slice(0, 100))}` })
          : Effect.succeed(page(request))
      })
  }),
)
