import { Cache, Clock, Context, Duration, Effect, Exit, Layer, Schedule, type Tracer } from "effect"
import { SqlClient } from "effect/sql"
import { emptyScheme, schemeText } from "../bandit/Contexts.ts"
import { type ModelSnapshot, priorModel } from "../bandit/Model.ts"
import { defaultPriors } from "../bandit/Priors.ts"
import { windowOf } from "../bandit/Window.ts"
import { Cluster } from "../cluster/Cluster.ts"
import { bounded } from "../store/bounded.ts"
import { actorId } from "./Learner.ts"
import type { LearningWindow } from "../domain/LearningWindow.ts"
import * as FoldAttempts from "./FoldAttempts.ts"
import { Inflow } from "../journal/Inflow.ts"
import { Models } from "./Models.ts"
import { isLocked } from "./Tallies.ts"
import { TemplateActors } from "./TemplateActors.ts"

/** Time after which a caller uses the model in memory instead of waiting for the template's actor. */
const patience = "2 seconds"

/**
 * Cache time of a window's model for display. Shorter for a window that reaches the present, because it includes the
 * latest counts.
 */
const shownFor = ({ offsetDays }: LearningWindow) => offsetDays === 0 ? Duration.seconds(5) : Duration.minutes(1)

/** Maximum number of window models cached for display, over all templates. */
const shownWindows = 100

/** Maximum number of traces kept until their actor is woken. */
const waitingTraces = 1000

/** Returns the model of a template without data, under a window. */
export const unlearned = (template: string, window: LearningWindow | undefined, now: number): ModelSnapshot =>
  priorModel({
    version: `${template}:0`,
    now,
    window: windowOf(window),
    scheme: emptyScheme,
    organization: defaultPriors,
  })

/** A window of a template whose model is shown. */
interface ShownWindow {
  readonly org: string
  readonly template: string
  readonly window: LearningWindow
  /** Scheme of the adaptive model: a window is fitted again once the adaptive model uses other attributes. */
  readonly scheme: string
}

/** Marks the model of a template as outdated. Fails while a rebuild holds the table. */
const markStale = (sql: SqlClient.SqlClient, org: string, template: string) =>
  sql.withTransaction(Effect.gen(function* () {
    yield* sql`LOCK TABLE bandit_states IN ROW EXCLUSIVE MODE NOWAIT`
    yield* sql`
      UPDATE bandit_states s SET fitted_revision = NULL
      WHERE s.org_slug = ${org} AND s.template_id = ${template}`
    // The change may have removed the cause that stopped folding.
    yield* FoldAttempts.clear(sql, org, template)
  }))

/** Access to learned models, on whichever node of the cluster a template's actor runs. */
export class Learning extends Context.Service<Learning, {
  /**
   * Returns the model to display: without a window the current adaptive model, otherwise a model fitted for the window.
   * The latter is at most a minute old (5 seconds if the window reaches the present), and uses the present attributes
   * of the adaptive model. Without data, returns the model of the priors.
   */
  readonly model: (org: string, template: string, window: LearningWindow | undefined) => Effect.Effect<ModelSnapshot>
  /** Fits and returns the model of a window. Returns undefined if the actor does not respond in time. */
  readonly windowed: (
    org: string,
    template: string,
    window: LearningWindow,
  ) => Effect.Effect<ModelSnapshot | undefined>
  /** Folds all received data and fits. Returns false if this did not finish in time. */
  readonly refresh: (org: string, template: string) => Effect.Effect<boolean>
  /** Wakes the actor to fold pending rows if it runs in this process. Returns without awaiting the fold. */
  readonly wake: (org: string, template: string, stale: boolean) => Effect.Effect<void>
  /** Refits a template whose settings have changed, on the node of its actor. Returns without awaiting the fit. */
  readonly relearn: (org: string, template: string) => Effect.Effect<void>
  /**
   * Returns the templates of an organization whose learning has stopped after three failed attempts to fold their
   * ledger.
   */
  readonly stopped: (org: string) => Effect.Effect<ReadonlyArray<FoldAttempts.StoppedFold>>
  /** Resumes stopped learning without a loss: the rows are still in the ledger. */
  readonly resume: (org: string, template: string) => Effect.Effect<void>
  /** Adds the next wake-up of the actor by this node to a trace. */
  readonly traceWake: (org: string, template: string, span: Tracer.AnySpan) => void
}>()("parlance/learning/Learning") {
  static readonly layer = Layer.effect(
    Learning,
    Effect.gen(function* () {
      const models = yield* Models
      const inflow = yield* Inflow
      const clock = yield* Clock.Clock
      const actors = yield* TemplateActors
      const cluster = yield* Cluster
      const sql = yield* SqlClient.SqlClient
      const scope = yield* Effect.scope

      /** Fails after the timeout: a hung node may take a long time to notice that the caller left. */
      const patiently = bounded(patience)

      const failed = (what: string, org: string, template: string) => (cause: unknown) =>
        Effect.logWarning(`The actor of a template failed to ${what}`, { template: actorId(org, template), cause })

      const windowed = (org: string, template: string, window: LearningWindow) =>
        patiently(actors.windowed(actorId(org, template), window)).pipe(
          Effect.catchCause((cause) => Effect.as(failed("fit a window", org, template)(cause), undefined)),
        )

      // Repeated and concurrent requests for a window share one fit.
      const shown = yield* Cache.makeWith(
        ({ org, template, window }: ShownWindow) => windowed(org, template, window),
        {
          capacity: shownWindows,
          timeToLive: (exit, { window }) =>
            Exit.isSuccess(exit) && exit.value !== undefined ? shownFor(window) : Duration.zero,
        },
      )

      const model = (org: string, template: string, window: LearningWindow | undefined) =>
        Effect.suspend(() => {
          const now = clock.currentTimeMillisUnsafe()
          if (window === undefined) {
            return Effect.succeed(models.latest(org, template)?.model ?? unlearned(template, window, now))
          }
          const scheme = schemeText(models.latest(org, template)?.model.scheme ?? emptyScheme)
          return Effect.map(Cache.get(shown, { org, template, window, scheme }), (fitted) =>
            fitted ?? unlearned(template, window, now))
        })

      const refresh = (org: string, template: string) =>
        patiently(Effect.andThen(inflow.drain, actors.refresh(actorId(org, template)))).pipe(
          Effect.as(true),
          Effect.catchCause((cause) => Effect.as(failed("refresh", org, template)(cause), false)),
        )

      const traces = new Map<string, Tracer.AnySpan>()
      const traceWake = (org: string, template: string, span: Tracer.AnySpan) => {
        const id = actorId(org, template)
        // Keeps only the first of several traces, because a fold can be part of one trace only.
        if (traces.size < waitingTraces && !traces.has(id)) traces.set(id, span)
      }

      const send = (org: string, template: string, stale: boolean) =>
        patiently(actors.wake(actorId(org, template), stale)).pipe(
          // The actor's mailbox already contains this message, or the actor is moving. The next sweep wakes it.
          Effect.catchCause((cause) => Effect.logDebug("A template's actor was not woken", cause)),
        )

      // Each node wakes its own actors, so actors on other nodes are skipped. Traced work is sent to the actor on any
      // node.
      const wake = (org: string, template: string, stale: boolean) =>
        Effect.suspend(() => {
          const id = actorId(org, template)
          const span = traces.get(id)
          if (span === undefined) return cluster.isHere(id) ? send(org, template, stale) : Effect.void
          traces.delete(id)
          return Effect.withParentSpan(send(org, template, stale), span, { captureStackTrace: false })
        })

      const relearn = Effect.fnUntraced(function* (org: string, template: string) {
        // If the message is lost, the sweep of models finds the change.
        const mark = markStale(sql, org, template)
        const marking = (effect: typeof mark) =>
          Effect.catch(effect, (error) => Effect.logDebug("A model was not marked as stale", error.message))
        yield* marking(Effect.catchIf(mark, isLocked, () =>
          // Runs after the rebuild. The caller does not await it.
          mark.pipe(
            Effect.retry({ while: isLocked, schedule: Schedule.spaced("1 second") }),
            marking,
            Effect.forkIn(scope),
            Effect.asVoid,
          )))
        yield* Effect.forkIn(send(org, template, true), scope)
      })

      const stopped = Effect.fn("Learning.stopped")((org: string) => Effect.orDie(FoldAttempts.readStopped(sql, org)))

      const resume = Effect.fn("Learning.resume")(function* (org: string, template: string) {
        yield* Effect.orDie(FoldAttempts.clear(sql, org, template))
        yield* Effect.forkIn(send(org, template, false), scope)
      })

      return Learning.of({ model, windowed, refresh, wake, traceWake, relearn, stopped, resume })
    }),
  )
}
