import { Clock, Duration, Effect, Latch, Layer, Metric, Schedule, Schema, Semaphore, type Tracer } from "effect"
import { Entity } from "effect/cluster"
import { Rpc } from "effect/rpc"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { HalfLifeState } from "../bandit/HalfLife.ts"
import { ModelSnapshot } from "../bandit/Model.ts"
import { type Contribution, organizationPriors } from "../bandit/Priors.ts"
import { hourMillis } from "../bandit/Window.ts"
import { Changes } from "../store/Changes.ts"
import { asJob } from "../telemetry/LoopWork.ts"
import { spanNamed, step, stepOf, stepSince, TraceShare } from "../telemetry/Tracing.ts"
import { Views } from "../templates/Views.ts"
import { Censuses } from "./Censuses.ts"
import type { DecisionWindow } from "./DecisionWindow.ts"
import type { FitAnswer, FitRequest, HourDelays } from "./Engine.ts"
import { type EngineFailed, EngineWorker } from "./EngineWorker.ts"
import { FitBudget } from "./FitBudget.ts"
import * as FoldAttempts from "./FoldAttempts.ts"
import { Models } from "./Models.ts"
import { Neighbours, type Taught, without } from "./Neighbours.ts"
import * as Tallies from "./Tallies.ts"

/** Models fitted by this node. */
const fits = Metric.counter("parlance_fits_total", { incremental: true })
/** Processor time they took. Unit: milliseconds. */
const fitTime = Metric.counter("parlance_fit_milliseconds_total", { incremental: true })

const Window = Schema.Struct({ lookbackDays: Schema.Finite, offsetDays: Schema.Finite })

/** A template's learning, serialized. The id is the organization's slug, `/` and the template's id. */
export const Learner = Entity.make("Learner", [
  /** There is something in the ledger; with `stale`, or the model is behind what has been folded or behind the hour. */
  Rpc.make("Wake", { payload: { stale: Schema.Boolean } }),
  /** Folds what is pending and fits, so that the model is up to date when it answers. */
  Rpc.make("Refresh"),
  /** The model of a window (not stored), with what has been folded so far. */
  Rpc.make("Windowed", { payload: { window: Window }, success: ModelSnapshot }),
])

/** The actor's id of a template. */
export const actorId = (org: string, template: string): string => `${org}/${template}`

const parseId = (id: string): { readonly org: string; readonly template: string } => {
  const at = id.indexOf("/")
  return { org: id.slice(0, at), template: id.slice(at + 1) }
}

/** A template is not fitted again before this, and not before 20 times what the last fit took. */
const shortestPause = Duration.seconds(1)
const pausePerFit = 20

/** Learning attributes are chosen anew this often once there is some traffic, and with every fit before. */
const censusMillis = hourMillis
const littleTraffic = 5000

interface StateRow {
  readonly revision: number
  readonly halfLife: HalfLifeState | null
}

/** What the actor knows while it is awake. */
interface Open {
  revision: number
  /** The objective that the engine's counts were made for, as JSON. */
  readonly objective: string
  version: number
}

/** What other templates of the organization teach. */
interface Others {
  readonly taught: Taught
  readonly contributions: ReadonlyMap<string, Contribution>
  readonly delays: ReadonlyArray<HourDelays>
}

/**
 * One per template with traffic, wherever in the cluster. Everything it knows can be read again from the store: it is
 * dropped after ten idle minutes, and begins anew after a crash, a move, or when it was overtaken.
 */
const layerActor = Learner.toLayer(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const clock = yield* Clock.Clock
    const engine = yield* EngineWorker
    const models = yield* Models
    const views = yield* Views
    const censuses = yield* Censuses
    const budget = yield* FitBudget
    const neighbours = yield* Neighbours
    const beganAt = clock.currentTimeMillisUnsafe()
    const changes = yield* Changes
    const isTraced = (yield* TraceShare) !== undefined
    const key = (yield* Entity.CurrentAddress).entityId as string
    const { org, template } = parseId(key)
    const attempts = FoldAttempts.make(sql, org, template)
    const one = yield* Semaphore.make(1)
    const dirty = yield* Latch.make(false)
    let opened: Open | undefined
    let others: Others | undefined
    let censusAt = 0
    let fittedAt = 0
    // A fit has been begun that is not published yet.
    let fitting = false
    let fitMillis = 0
    // The traced fold that the next fit is due to.
    let cause: Tracer.AnySpan | undefined

    const view = () => views.template(org, template)
    const objectiveOf = () => view()?.objective ?? "click"

    /** Reads everything again. What is pending in the ledger comes with the next fold. */
    const open = Effect.gen(function* () {
      const objective = objectiveOf()
      const { delays, latest, state, tallies, variantDelays } = yield* sql.withTransaction(Effect.gen(function* () {
        // One picture of state and tallies: a fold that came in between would be counted twice or not at all.
        yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`
        const [state] = yield* sql<StateRow>`
          SELECT s.revision::float8 AS revision, s.half_life FROM bandit_states s
          WHERE s.org_slug = ${org} AND s.template_id = ${template}`
        const [latest] = yield* sql<{ version: number; snapshot: ModelSnapshot }>`
          SELECT m.version::float8 AS version, m.snapshot FROM models m
          WHERE m.org_slug = ${org} AND m.template_id = ${template}`
        const tallies = yield* Tallies.readTallies(sql, org, template)
        const delays = yield* Tallies.readDelays(sql, org, template)
        return { state, latest, tallies, delays, variantDelays: yield* Tallies.readVariantDelays(sql, org, template) }
      }))
      yield* engine.open(key, {
        tallies: tallies.filter(({ track }) => track === "learned"),
        delays,
        variantDelays,
        objective,
        halfLife: state?.halfLife ?? null,
        model: latest?.snapshot ?? null,
      }, clock.currentTimeMillisUnsafe())
      opened = {
        revision: state?.revision ?? 0,
        objective: JSON.stringify(objective),
        version: latest?.version ?? 0,
      }
    })

    const opening = Effect.suspend(() => {
      if (opened === undefined) return open
      // What is worth how much has changed: the model has to follow even if nothing new comes in.
      return opened.objective === JSON.stringify(objectiveOf()) ? Effect.void : Effect.andThen(dirty.open, open)
    })

    /** Folds one batch of the ledger, which is not empty; returns whether there may be more. */
    const foldBatch = Effect.gen(function* () {
      const now = clock.currentTimeMillisUnsafe()
      const since = clock.currentTimeNanosUnsafe()
      const known = opened!
      // After a failure from here on, the counts of the engine may differ from those of the store.
      opened = undefined
      const { folded, revision } = yield* sql.withTransaction(Effect.gen(function* () {
        const folded = yield* Tallies.fold(sql, org, template, now, isTraced)
        if (folded.rows === 0) {
          yield* attempts.succeed
          return { folded, revision: known.revision }
        }
        const [row] = yield* sql<{ revision: number; rolledUpAt: Date }>`
          INSERT INTO bandit_states AS s (org_slug, template_id, revision, folded_at, rolled_up_at)
          VALUES (${org}, ${template}, 1, ${new Date(now)}, ${new Date(now)})
          ON CONFLICT (org_slug, template_id) DO UPDATE SET revision = s.revision + 1, folded_at = EXCLUDED.folded_at
          RETURNING s.revision::float8 AS revision, s.rolled_up_at`
        if (Math.floor(row!.rolledUpAt.getTime() / hourMillis) !== Math.floor(now / hourMillis)) {
          yield* Tallies.rollUp(sql, org, template, now)
          yield* sql`
            UPDATE bandit_states s SET rolled_up_at = ${new Date(now)}
            WHERE s.org_slug = ${org} AND s.template_id = ${template}`
        }
        yield* attempts.succeed
        return { folded, revision: row!.revision }
      })).pipe(Effect.tapError((error) =>
        Effect.sync(() => {
          // Nothing has been folded: no reason to read everything again as long as a rebuild takes.
          if (Tallies.isLocked(error)) opened = known
        })
      ))
      if (folded.rows === 0) {
        opened = known
        return false
      }
      // Whoever woke it, and on whichever node the rows were appended.
      const span = yield* stepSince("fold", since, [...folded.traces].flatMap((trace) => spanNamed(trace) ?? []))
      cause ??= span
      yield* dirty.open
      // Another node folded in between, or a rebuild replaced the tallies: the next use reads them again.
      if (revision === known.revision + 1) {
        yield* engine.apply(key, {
          tallies: folded.tallies,
          delays: folded.delays,
          variantDelays: folded.variantDelays,
        }, now)
        opened = { ...known, revision }
      }
      return Tallies.isFull(folded)
    })

    const fold = Effect.gen(function* () {
      yield* opening
      while (yield* attempts.attempt(foldBatch)) yield* opening
    }).pipe(step("fold"), asJob("fold of a template", org))

    /** Notices that somebody else has folded since, or rebuilt, with nothing left in the ledger. */
    const catchUp = Effect.gen(function* () {
      const [row] = yield* sql<{ revision: number }>`
        SELECT s.revision::float8 AS revision FROM bandit_states s
        WHERE s.org_slug = ${org} AND s.template_id = ${template}`
      if (row === undefined || row.revision === opened?.revision) return
      opened = undefined
      yield* dirty.open
    })

    /** What other templates teach; while the store is down what they taught before. */
    const readOthers = Effect.gen(function* () {
      const taught = yield* neighbours.read(org, beganAt)
      if (others?.taught === taught) return others
      const own = yield* Tallies.readDelays(sql, org, template)
      return others = { taught, contributions: taught.contributions, delays: without(taught.delays, own) }
    })

    /** What the engine needs for a fit; under the actor's lock, and after `catchUp`. */
    const prepare = Effect.fnUntraced(function* (window: DecisionWindow | undefined, census: FitRequest["census"]) {
      yield* opening
      const { contributions, delays } = yield* readOthers.pipe(
        Effect.catch((error) => others === undefined ? Effect.fail(error) : Effect.succeed(others)),
      )
      const known = opened!
      const version = window === undefined
        ? `${template}:${known.version + 1}`
        : `${template}:${known.version}/${window.lookbackDays}/${window.offsetDays}`
      const request: FitRequest = {
        version,
        now: clock.currentTimeMillisUnsafe(),
        window,
        organization: organizationPriors(contributions, template),
        organizationDelays: delays,
        active: view()?.variants.filter(({ active }) => active).map(({ id }) => id) ?? [],
        composition: view()?.variants.map(({ components, id }) => [id, Object.entries(components)] as const) ?? [],
        census,
      }
      return { request, version: known.version + 1, revision: known.revision }
    })
    type Prepared = Effect.Success<ReturnType<typeof prepare>>

    const run = (request: FitRequest) =>
      Effect.tap(
        engine.fit(key, request),
        ({ millis }) => Effect.andThen(Metric.update(fits, 1), Metric.update(fitTime, millis)),
      )

    const store = Effect.fnUntraced(function* (answer: FitAnswer, { revision, version }: Prepared) {
      const publication = { org, template, version, model: answer.model }
      const written = yield* sql.withTransaction(Effect.gen(function* () {
        yield* sql`LOCK TABLE bandit_states IN ROW EXCLUSIVE MODE NOWAIT`
        if (!(yield* models.write(publication))) return false
        yield* sql`
          UPDATE bandit_states s SET fitted_revision = ${revision},
            half_life = ${JSON.stringify(answer.halfLife)}::text::json,
            contribution = ${answer.contribution === null ? null : JSON.stringify(answer.contribution)}::text::json
          WHERE s.org_slug = ${org} AND s.template_id = ${template}`
        return true
      }))
      if (written) models.adopt(publication)
      return written
    })

    /** Prepares the fit of the model that decides without a window. */
    const begin = Effect.gen(function* () {
      const now = clock.currentTimeMillisUnsafe()
      const before = models.latest(org, template)?.model
      const sends = before?.variants.reduce((sum, variant) => sum + variant.sends, 0) ?? 0
      const choosing = now - censusAt >= censusMillis || sends < littleTraffic
      const prepared = yield* prepare(undefined, choosing ? yield* censuses.read(org, template) : undefined)
      yield* dirty.close
      if (choosing) censusAt = now
      const begun = { ...prepared, cause }
      cause = undefined
      return begun
    })
    type Begun = Effect.Success<typeof begin>

    /** Publishes what was fitted; under the actor's lock, which may have been another's since the fit was begun. */
    const publish = Effect.fnUntraced(function* (answer: FitAnswer, prepared: Prepared) {
      fittedAt = prepared.request.now
      fitMillis = answer.millis
      // Somebody who could not wait has fitted later, and published.
      if (opened !== undefined && opened.version >= prepared.version) return
      if (yield* store(answer, prepared)) {
        if (opened !== undefined) opened.version = prepared.version
      } else {
        // Another node believes the template to be its own, and was first.
        opened = undefined
        yield* dirty.open
      }
    })

    /** What has not come about is to be done again, from what the store holds. */
    const startingOver = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.onError(effect, () => {
        opened = undefined
        return dirty.open
      })

    /** Arithmetic and publication, shown in the trace of the fold that they are due to. */
    const inTrace = <A, E>({ cause }: Begun, fit: Effect.Effect<A, E>) => stepOf(cause, "fit")(fit)

    const fitNow = startingOver(
      Effect.flatMap(
        begin,
        (prepared) => inTrace(prepared, Effect.flatMap(run(prepared.request), (answer) => publish(answer, prepared))),
      ),
    )

    /** The same for traffic that can wait: the node's turn is taken for the arithmetic alone. */
    const fitInTurn = startingOver(Effect.gen(function* () {
      const prepared = yield* one.withPermits(1)(
        // Somebody who could not wait may have fitted meanwhile.
        Effect.suspend(() =>
          dirty.isOpen() ? Effect.andThen(Effect.ignore(catchUp), begin) : Effect.succeed(undefined)
        ),
      )
      if (prepared === undefined) return
      fitting = true
      yield* inTrace(
        prepared,
        Effect.gen(function* () {
          let answer: FitAnswer
          yield* budget.turn(Effect.map(run(prepared.request), (fitted) => (answer = fitted).millis))
          // The actor's lock is free in between, and so is the connection.
          yield* one.withPermits(1)(Effect.suspend(() => publish(answer, prepared))).pipe(
            Effect.retry({ while: Tallies.isLocked, schedule: Schedule.spaced("1 second") }),
          )
        }),
      )
    })).pipe(Effect.ensuring(Effect.sync(() => void (fitting = false))))

    const pause = () =>
      Math.max(
        0,
        fittedAt + Math.max(Duration.toMillis(shortestPause), pausePerFit * fitMillis) -
          clock.currentTimeMillisUnsafe(),
      )

    // Fits when there is something new, as often as this node can afford.
    yield* dirty.await.pipe(
      Effect.andThen(Effect.suspend(() => Effect.sleep(Duration.millis(pause())))),
      Effect.andThen(fitInTurn),
      Effect.catch((error: SqlError | EngineFailed) =>
        Effect.andThen(
          Effect.logWarning("A model could not be fitted, it is tried again", { template: key, reason: error.message }),
          Effect.sleep("1 second"),
        )
      ),
      Effect.forever,
      Effect.forkScoped,
    )

    yield* Effect.addFinalizer(() => engine.close(key))

    return Learner.of({
      Wake: ({ payload: { stale } }) =>
        // What it learns from may just have been changed through another node.
        Effect.andThen(stale ? changes.refresh : Effect.void, one.withPermits(1)(fold)).pipe(
          Effect.catchIf(Tallies.isLocked, () =>
            Effect.logDebug("The ledger waits for the end of a rebuild", { template: key })),
          Effect.andThen(stale ? dirty.open : Effect.void),
          Effect.catch((error) =>
            Effect.logWarning("The ledger could not be folded, it waits", { template: key, reason: error.message })
          ),
        ),
      Refresh: () =>
        one.withPermits(1)(Effect.andThen(
          Effect.andThen(fold, catchUp),
          Effect.suspend(() => dirty.isOpen() || fitting ? fitNow : Effect.void),
        )).pipe(
          // About as long as somebody waits for the answer.
          Effect.retry({ while: Tallies.isLocked, schedule: Schedule.spaced("20 millis"), times: 100 }),
          Effect.orDie,
        ),
      Windowed: ({ payload: { window } }) =>
        one.withPermits(1)(
          // While the store is down a window can still be fitted from what is in memory.
          Effect.andThen(Effect.ignore(catchUp), prepare(window, undefined)).pipe(
            Effect.flatMap(({ request }) => Effect.map(run(request), ({ model }) => model)),
          ),
        ).pipe(Effect.orDie),
    })
  }),
  { maxIdleTime: "10 minutes", disableFatalDefects: true },
)

/** The actors of this node, and their counters from the start. */
export const layer = Layer.merge(
  layerActor,
  Layer.effectDiscard(Effect.andThen(Metric.update(fits, 0), Metric.update(fitTime, 0))),
)
