import { Cause, Clock, Context, Effect, Fiber, Layer, Metric, Queue, type Scope, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { DecisionLog } from "../journal/decisions/DecisionLog.ts"
import { sourceIdOf } from "../domain/Source.ts"
import { Inflow } from "../journal/Inflow.ts"
import { Learning } from "../learning/Learning.ts"
import { Profiles } from "../profiles/Profiles.ts"
import { withoutServices } from "../runtime/withoutServices.ts"
import { Settings } from "../settings/Settings.ts"
import { bounded } from "../store/bounded.ts"
import type { WorkFailed } from "../store/WorkerProcess.ts"
import { asJob } from "../telemetry/LoopWork.ts"
import { current, linksTo, spanOf, stepOf, TraceShare } from "../telemetry/Tracing.ts"
import { BodyReader, type Readable, type ReadingLane } from "./BodyReader.ts"
import * as BodyStore from "./BodyStore.ts"
import { type ErasureQueue, makeErasureQueue } from "../erasure/ErasureQueue.ts"
import { type ArrivedBody, batchBytes, Inbox, stored } from "../journal/inbox/Inbox.ts"
import * as IntakeBatches from "../journal/inbox/IntakeBatches.ts"
import { type AttemptVerdict, verdictOf } from "../journal/inbox/IntakeRules.ts"
import { Projections } from "../journal/Projection.ts"
import { OnSuppressed } from "../suppressions/OnSuppressed.ts"
import { hasPendingUpTo, lastPending } from "../journal/inbox/Completed.ts"
import { type EventId, type JustDecided, matchWaiting } from "../journal/events/Matching.ts"
import { WebhookSources } from "./WebhookSources.ts"

/** Bodies that arrive within this time are processed together, which halves the work per event. */
const gathering = "25 millis"

/**
 * Number of events stored, and of waiting events searched, in one transaction. Other requests run between two
 * statements. Larger slices delay them, and smaller slices slow down the intake
 * ([0113](../../docs/decisions/0113-latency-beside-events.md)).
 */
const sliceWeight = 400

/**
 * Returns how many batches are stored at once: two, so that the service computes one while the database works on the
 * other, or one if the pool has few connections for requests.
 */
const lanesOf = (databasePoolSize: number): number => databasePoolSize < 8 ? 1 : 2

/** Time from the receipt of a body until its events are stored and counted. Unit: seconds. */
const lag = Metric.histogram("parlance_event_lag_seconds", {
  boundaries: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600],
})

/** Failed attempts that count against a body. */
const failedAttempts = Metric.counter("parlance_inbox_failed_attempts_total", { incremental: true })

/** Bodies that were rejected after failed attempts. */
const setAside = Metric.counter("parlance_inbox_set_aside_total", { incremental: true })

/** Minimum interval at which traced events wake a template's actor. The sweep also wakes it. Unit: milliseconds. */
const wakeEvery = 1000
const wokenTemplates = 1000

type Templates = BodyStore.StoredSlice["templates"]

/** Provides the services that are called when events are stored. */
type Derive = <A, E>(effect: Effect.Effect<A, E, Projections | OnSuppressed>) => Effect.Effect<A, E>

/** Reads and stores claimed bodies. */
const makeTakeIn = ({ batches, clock, derive, erasures, learning, profiles, reader, scope, share, sql, webhooks }: {
  readonly batches: ReturnType<typeof IntakeBatches.make>
  readonly clock: Clock.Clock
  readonly derive: Derive
  readonly erasures: ErasureQueue
  readonly learning: Learning["Service"]
  readonly profiles: Profiles["Service"]
  readonly reader: BodyReader["Service"]
  readonly scope: Scope.Scope
  readonly share: typeof TraceShare.Service
  readonly sql: SqlClient.SqlClient
  readonly webhooks: WebhookSources["Service"]
}) => {
  const wokenAt = new Map<string, number>()

  /**
   * Wakes the actors of traced events, so that they fold in the trace. Actors that were woken recently are left to the
   * sweep.
   */
  const wake = (templates: Templates): Effect.Effect<void> => {
    const now = clock.currentTimeMillisUnsafe()
    if (wokenAt.size > wokenTemplates) wokenAt.clear()
    const due = [...templates].filter(([key]) => now - (wokenAt.get(key) ?? 0) >= wakeEvery)
    for (const [key] of due) wokenAt.set(key, now)
    return Effect.forEach(due, ([, [org, template]]) => learning.wake(org, template, false), { discard: true })
      .pipe(
        Effect.forkIn(scope),
        Effect.asVoid,
      )
  }

  const readableOf = ({ body, headers, id, orgSlug, receivedAt, source }: IntakeBatches.Body): Readable => {
    const sourceId = sourceIdOf(source)
    const reading = sourceId && webhooks.reading(orgSlug, sourceId)
    return { id, source, headers, body, receivedAt: receivedAt.getTime(), reading }
  }

  /** Reads and stores claimed bodies. */
  const takeIn = Effect.fnUntraced(function* (claimed: IntakeBatches.ClaimedBodies) {
    const { bodies, isSingle } = claimed
    const bodyStore = BodyStore.make(sql, profiles, erasures, bodies)
    let left: ReadonlyArray<number> = bodies.map(({ id }) => id)
    const lane: ReadingLane = isSingle ? "singles" : "batches"
    for (const chunks of yield* reader.read(lane, bodies.map(readableOf), sliceWeight)) {
      let events = bodyStore.eventsOf(chunks)
      do {
        const storeSlice = Effect.gen(function* () {
          const stored = yield* bodyStore.store(chunks, events)
          const done = new Set(stored.done.map(({ id }) => id))
          const after = left.filter((id) => !done.has(id))
          const span = yield* current
          // Runs before the commit, because after it the sweep may wake the actors first.
          if (span !== undefined) {
            for (const [org, template] of stored.templates.values()) learning.traceWake(org, template, span)
          }
          yield* batches.finish(claimed, after)
          return { ...stored, after, isTraced: span !== undefined }
        })
        const stored = yield* sql.withTransaction(inTraceOf(bodies, derive(storeSlice)))
        events = stored.left
        left = stored.after
        const now = clock.currentTimeMillisUnsafe()
        for (const { receivedAt } of stored.done) {
          yield* Metric.update(lag, Math.max(0, now - receivedAt.getTime()) / 1000)
        }
        yield* bodyStore.count(stored.done)
        if (stored.isTraced) yield* wake(stored.templates)
      } while (events.length > 0)
    }
  })

  /**
   * A batch contains the bodies of many requests. It belongs to the trace of the first traced request and links to the
   * others.
   */
  const inTraceOf = (bodies: ReadonlyArray<IntakeBatches.Body>, work: Effect.Effect<Traced, SqlError>) => {
    const [first, ...others] = share === undefined ? [] : bodies.flatMap(({ headers }) => spanOf(headers) ?? [])
    return stepOf(first, "intake", {
      kind: "consumer",
      links: linksTo(others),
      attributes: { bodies: bodies.length },
    })(work)
  }
  return takeIn
}

/** Stores verdicts on bodies. While the database does not respond, verdicts are kept for `settleAll`. */
const makeVerdicts = (batches: ReturnType<typeof IntakeBatches.make>, singleDue: Queue.Queue<void>) => {
  const unsettled: Array<readonly [IntakeBatches.ClaimedBodies, AttemptVerdict]> = []

  /** Stores a verdict. If the database does not respond, keeps the verdict for later. */
  const settle = (claimed: IntakeBatches.ClaimedBodies, verdict: AttemptVerdict) =>
    batches.settle(claimed, verdict).pipe(
      Effect.andThen(Effect.suspend(() => {
        if (verdict.type === "release") return Effect.void
        Queue.offerUnsafe(singleDue, undefined)
        if (verdict.type === "singly") return Effect.void
        const isRejected = verdict.type === "reject"
        return Effect.andThen(
          Effect.all([Metric.update(failedAttempts, 1), Metric.update(setAside, isRejected ? 1 : 0)]),
          Effect.logWarning(
            isRejected
              ? "A webhook body could not be processed and was rejected"
              : "A webhook body could not be processed and will be retried",
            { id: verdict.id, attempts: verdict.attempts, reason: verdict.reason },
          ),
        )
      })),
      Effect.catch((error) => {
        unsettled.push([claimed, verdict])
        return Effect.logDebug("The result of a batch could not be stored and will be retried", error.message)
      }),
    )

  const settleAll = Effect.suspend(() => {
    const before = unsettled.splice(0)
    return Effect.forEach(before, ([claimed, verdict]) => settle(claimed, verdict), { discard: true })
  })
  return { settle, settleAll }
}

/** Creates a function that lets concurrent callers share one run of an effect. */
const makeShared = (scope: Scope.Scope) => {
  /**
   * Runs an effect. All callers that call before the run begins share it. Interrupting a caller does not interrupt the
   * run.
   */
  const shared = <E>(pass: Effect.Effect<void, E>): Effect.Effect<void, E> => {
    const one = Semaphore.makeUnsafe(1)
    let next: { readonly fiber: Fiber.Fiber<void, E> } | undefined
    const begin = one.withPermits(1)(Effect.suspend(() => {
      next = undefined
      return pass
    }))
    return Effect.suspend(() => {
      if (next !== undefined) return Fiber.join(next.fiber)
      return Effect.flatMap(Effect.forkIn(Effect.andThen(Effect.yieldNow, begin), scope), (fiber) => {
        next = { fiber }
        return Fiber.join(fiber)
      })
    })
  }
  return shared
}

/** Repeats a lane. After a failure it pauses for a second. */
const repeated = (lane: Effect.Effect<void, SqlError | WorkFailed>) =>
  lane.pipe(
    Effect.catchCause((cause) =>
      Effect.andThen(
        Effect.logWarning("Webhook bodies could not be processed and will be retried", cause),
        Effect.sleep("1 second"),
      )
    ),
    Effect.forever,
  )

const reportSpent = ({ spent }: IntakeBatches.Spent) =>
  Effect.andThen(
    Metric.update(setAside, 1),
    Effect.logWarning("A webhook body was rejected: the service stopped every time it processed the body", {
      id: spent,
    }),
  )

/**
 * Processes stored bodies of the inbox. A batch is claimed, read and normalized in a process with a deadline (see
 * `BodyReader`), and stored slice by slice: duplicates are dropped, the decisions of events are found, and changes are
 * appended to the ledger. Each slice is one transaction, which also marks its complete bodies as done, so that a crash
 * leaves each body either done or not. A body that fails three times is rejected: `IntakeRules`.
 */
export class Intake extends Context.Service<Intake, {
  /**
   * Processes all pending bodies, except bodies whose next attempt is not due. Fails if the database does not respond
   * or no process can read.
   */
  readonly drain: Effect.Effect<void, SqlError | WorkFailed>
  /**
   * Stores bodies and processes them before all others. Returns false if they are stored but could not be processed,
   * which is retried. Fails with `SqlError` if they were not stored, and with `WorkFailed` if no process could read
   * them.
   */
  readonly takeNew: (entries: ReadonlyArray<ArrivedBody>) => Effect.Effect<boolean, SqlError | WorkFailed>
  /** Processes the inbox until interrupted. */
  readonly run: Effect.Effect<never>
}>()("parlance/intake/Intake") {
  static readonly layer = Layer.effect(
    Intake,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const inbox = yield* Inbox
      const { awaited } = yield* DecisionLog
      const inflow = yield* Inflow
      const webhooks = yield* WebhookSources
      const profiles = yield* Profiles
      const erasures = makeErasureQueue(sql, clock)
      const reader = yield* BodyReader
      const learning = yield* Learning
      const share = yield* TraceShare
      const { databasePoolSize } = yield* Settings
      const projections = yield* Projections
      const onSuppressed = yield* OnSuppressed
      const derive: Derive = (effect) =>
        effect.pipe(
          Effect.provideService(Projections, projections),
          Effect.provideService(OnSuppressed, onSuppressed),
        )
      const scope = yield* Effect.scope
      const batches = IntakeBatches.make(sql, batchBytes)
      const singleDue = yield* Queue.sliding<void>(1)

      yield* BodyStore.initializeMetrics
      yield* Metric.update(failedAttempts, 0)
      yield* Metric.update(setAside, 0)

      const takeIn = makeTakeIn({
        batches,
        clock,
        derive,
        erasures,
        learning,
        profiles,
        reader,
        scope,
        share,
        sql,
        webhooks,
      })

      const { settle, settleAll } = makeVerdicts(batches, singleDue)

      const renewing = (claimed: IntakeBatches.ClaimedBodies) =>
        batches.renew(claimed).pipe(Effect.ignore, Effect.delay(IntakeBatches.renewEvery), Effect.forever)

      /**
       * Claims bodies and processes them. If that fails, applies the verdict. Fails only for reasons unrelated to the
       * bodies, such as a database outage. The claim is uninterruptible, because a stored claim without an owner would
       * cost an attempt.
       */
      const takeNext = (
        claim: Effect.Effect<IntakeBatches.ClaimedBodies | IntakeBatches.Spent | undefined, SqlError>,
      ) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(claim, (claimed): Effect.Effect<Taken, SqlError | WorkFailed> => {
            if (claimed === undefined) return Effect.succeed("none")
            if ("spent" in claimed) return Effect.as(reportSpent(claimed), "failed")
            return restore(Effect.raceFirst(takeIn(claimed), renewing(claimed))).pipe(
              Effect.as<Taken>("taken"),
              Effect.onInterrupt(() => bounded("5 seconds")(settle(claimed, { type: "release" })).pipe(Effect.ignore)),
              Effect.catchCause((cause) => {
                if (Cause.hasInterrupts(cause)) return Effect.failCause(cause)
                const verdict = verdictOf(claimed, cause)
                const settled = settle(claimed, verdict)
                return verdict.type === "release"
                  ? Effect.andThen(settled, Effect.failCause(cause))
                  : Effect.as(settled, "failed" as const)
              }),
            )
          })
        )

      // One claim at a time: of two at once, neither would see the batch of the other.
      const claimBatch = Semaphore.makeUnsafe(1).withPermits(1)(batches.claimBatch)
      const takeAll = Effect.fnUntraced(function* (claim: Parameters<typeof takeNext>[0]) {
        while ((yield* takeNext(claim)) !== "none");
      })
      const lanes = Array.from({ length: lanesOf(databasePoolSize) }, () => takeAll(claimBatch))
      const takeBatches = Effect.andThen(settleAll, Effect.all(lanes, { concurrency: "unbounded", discard: true }))
      const takeSingles = Effect.andThen(settleAll, takeAll(batches.claimSingle))

      const takeNew = (entries: ReadonlyArray<ArrivedBody>) =>
        takeNext(Effect.tap(batches.claimNew(entries), () => Metric.update(stored, entries.length))).pipe(
          Effect.map((taken) => taken === "taken"),
          asJob("intake of events"),
        )

      const matchAll = Effect.fnUntraced(function* (decided?: ReadonlyArray<JustDecided>) {
        let after: EventId | undefined
        do {
          const just = decided && { decided, after }
          after = yield* derive(matchWaiting(sql, clock.currentTimeMillisUnsafe(), sliceWeight, just))
        } while (after !== undefined)
      })

      const shared = makeShared(scope)

      const drainBatches = shared(
        Effect.gen(function* () {
          yield* takeBatches
          const just = yield* Queue.clear(awaited)
          if (just.length > 0) yield* matchAll(just)
          yield* matchAll()
        }).pipe(asJob("intake of events")),
      )
      const drainSingles = shared(takeSingles.pipe(asJob("intake of events")))

      const drain = Effect.gen(function* () {
        yield* drainBatches
        yield* drainSingles
        // A body processed alone may have supplied links that waiting events need, or waiting events of new decisions.
        yield* drainBatches
      })

      /** Waits until all bodies stored before this call are processed, on any node. */
      const settled = Effect.gen(function* () {
        const last = yield* lastPending(sql)
        yield* drain
        if (last === null) return
        while (true) {
          if (!(yield* hasPendingUpTo(sql, last))) return
          // Another node is processing it.
          yield* Effect.sleep("10 millis")
          yield* drain
        }
      })

      // An interrupted caller stops waiting without affecting other callers.
      yield* inflow.register(settled)

      // Woken by new bodies and decisions on this node. The timeout finds bodies of other nodes and waiting events.
      const woken = Effect.raceFirst(
        Effect.raceFirst(Queue.take(inbox.arrived), Effect.asVoid(Queue.peek(awaited))),
        Effect.sleep("1 second"),
      )
      const wokenForSingles = Effect.raceFirst(
        Effect.raceFirst(Queue.take(inbox.arrivedLarge), Queue.take(singleDue)),
        Effect.sleep("1 second"),
      )
      const run = Effect.raceFirst(
        repeated(Effect.andThen(woken, Effect.delay(drainBatches, gathering))),
        repeated(Effect.andThen(wokenForSingles, drainSingles)),
      )

      return Intake.of({ drain, run, takeNew })
    }),
  ).pipe(Layer.provide(BodyReader.layer))

  /** Processes bodies of the inbox while the process serves. */
  static readonly layerRunning = Layer.effectDiscard(
    Effect.flatMap(Intake, ({ run }) => Effect.forkScoped(withoutServices(run))),
  )
}

/** The result of claimed bodies; `none`: no bodies were claimed. */
type Taken = "none" | "taken" | "failed"

/** The result of a transaction, and the ids of the bodies that remain (`after`). */
interface Traced extends BodyStore.StoredSlice {
  readonly after: ReadonlyArray<number>
  readonly isTraced: boolean
}
