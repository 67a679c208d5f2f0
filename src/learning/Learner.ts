import { Clock, Effect, Layer, Metric, Schema } from "effect"
import { Entity } from "effect/cluster"
import { Rpc } from "effect/rpc"
import { SqlClient } from "effect/sql"
import { ModelSnapshot } from "../bandit/Model.ts"
import { LearningWindow } from "../domain/LearningWindow.ts"
import { Changes } from "../organizations/Changes.ts"
import { withoutServices } from "../runtime/withoutServices.ts"
import { TraceShare } from "../telemetry/Tracing.ts"
import { TemplateCache } from "../templates/TemplateCache.ts"
import { AttributeStatistics } from "./AttributeStatistics.ts"
import { EngineWorker } from "./EngineWorker.ts"
import { FitBudget } from "./FitBudget.ts"
import * as FitInputs from "./FitInputs.ts"
import * as LearnedObjective from "./LearnedObjective.ts"
import * as LearnerShell from "./LearnerShell.ts"
import * as LearnerStore from "./LearnerStore.ts"
import { Models } from "./Models.ts"
import { Priors } from "./Priors.ts"

/** Number of models fitted by this node. */
const fits = Metric.counter("parlance_fits_total", { incremental: true })
/** Processor time of these fits. Unit: milliseconds. */
const fitTime = Metric.counter("parlance_fit_milliseconds_total", { incremental: true })

/** The actor that learns for one template. The id is the organization's slug, `/` and the template's id. */
export const Learner = Entity.make("Learner", [
  /**
   * Folds pending ledger rows. With `stale`, also refits, because the model is older than the tallies or the current
   * hour.
   */
  Rpc.make("Wake", { payload: { stale: Schema.Boolean } }),
  /** Folds pending ledger rows and fits. The model is up to date when the response arrives. */
  Rpc.make("Refresh"),
  /** Fits the model of a window from the counts folded so far. The model is not stored. */
  Rpc.make("Windowed", { payload: { window: LearningWindow }, success: ModelSnapshot }),
])

/** Returns the actor id of a template. */
export const actorId = (org: string, template: string): string => `${org}/${template}`

const parseId = (id: string): { readonly org: string; readonly template: string } => {
  const at = id.indexOf("/")
  return { org: id.slice(0, at), template: id.slice(at + 1) }
}

/** The engine's interface for one template. Counts its fits. */
const engineOf = (engine: EngineWorker["Service"], key: string): LearnerShell.LearnerEngine => ({
  open: (request, now) => engine.open(key, request, now),
  apply: (counted, now) => engine.apply(key, counted, now),
  fit: (request) =>
    Effect.tap(
      engine.fit(key, request),
      ({ millis }) => Effect.andThen(Metric.update(fits, 1), Metric.update(fitTime, millis)),
    ),
})

/**
 * One actor for each template with traffic, on any node of the cluster. Its state can be read from the database again,
 * so it is dropped after ten idle minutes, and rebuilt after a crash, after a move, or after another learner of the
 * template published first.
 */
const layerActor = Learner.toLayer(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const clock = yield* Clock.Clock
    const engine = yield* EngineWorker
    const models = yield* Models
    const templateCache = yield* TemplateCache
    const statistics = yield* AttributeStatistics
    const budget = yield* FitBudget
    const priors = yield* Priors
    const changes = yield* Changes
    const isTraced = (yield* TraceShare) !== undefined
    const key = (yield* Entity.CurrentAddress).entityId as string
    const { org, template } = parseId(key)
    const view = () => templateCache.template(org, template)

    const learner = yield* LearnerShell.make({
      org,
      name: key,
      store: LearnerStore.make(sql, models, { org, template, isTraced }),
      engine: engineOf(engine, key),
      budget,
      facts: () => ({
        objective: LearnedObjective.textOf(
          view()?.objective ?? "click",
          view()?.org.currency ?? null,
          view()?.sendsNothing,
        ),
        sends: models.latest(org, template)?.model.variants.reduce((sum, { sends }) => sum + sends, 0) ?? 0,
      }),
      gather: FitInputs.make({ sql, clock, statistics, priors, view }, org, template),
      followChanges: changes.refresh,
    })

    yield* Effect.addFinalizer(() => engine.close(key))

    return Learner.of({
      Wake: ({ payload: { stale } }) => withoutServices(learner.wake(stale)),
      Refresh: () => withoutServices(learner.refresh),
      Windowed: ({ payload: { window } }) => withoutServices(learner.window(window)),
    })
  }),
  { maxIdleTime: "10 minutes", disableFatalDefects: true },
)

/** The actors of this node. Registers their counters with the value 0. */
export const layer = Layer.merge(
  layerActor,
  Layer.effectDiscard(Effect.andThen(Metric.update(fits, 0), Metric.update(fitTime, 0))),
)
