import { Clock, Duration, Effect, Latch, Schedule, Semaphore } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import type { ModelSnapshot } from "../bandit/Model.ts"
import { withoutServices } from "../runtime/withoutServices.ts"
import { asJob } from "../telemetry/LoopWork.ts"
import { spanNamed, step, stepOf, stepSince } from "../telemetry/Tracing.ts"
import type { LearningWindow } from "../domain/LearningWindow.ts"
import type { Counted, FitAnswer, FitRequest, OpenRequest } from "./Engine.ts"
import type { EngineFailed } from "./EngineWorker.ts"
import type { FitBudget } from "./FitBudget.ts"
import * as LearnedObjective from "./LearnedObjective.ts"
import {
  type Command,
  initial,
  type Input,
  next,
  pauseBeforeFit,
  type PreparedFit,
  type Task,
  type TemplateFacts,
} from "./LearnerState.ts"
import type { LearnerStore } from "./LearnerStore.ts"
import { isLocked } from "./Tallies.ts"

/** Errors of a command. */
type LearnerError = SqlError | EngineFailed

/** The engine's interface for one template; see `EngineWorker`. */
export interface LearnerEngine {
  /** Loads the counts of the template. Fails with `EngineFailed` if the worker stops or the request fails. */
  readonly open: (request: OpenRequest, now: number) => Effect.Effect<void, EngineFailed>
  /** Adds counts to the template. Fails with `EngineFailed` if the worker stops or the request fails. */
  readonly apply: (counted: Counted, now: number) => Effect.Effect<void, EngineFailed>
  /** Fits the model. Fails with `EngineFailed` if the worker stops or the request fails. */
  readonly fit: (request: FitRequest) => Effect.Effect<FitAnswer, EngineFailed>
}

/** Dependencies of a learner. */
interface LearnerParts {
  readonly org: string
  /** Name of the template in the log: `org/template`. */
  readonly name: string
  readonly store: LearnerStore
  readonly engine: LearnerEngine
  readonly budget: FitBudget["Service"]
  readonly facts: () => TemplateFacts
  /** Gathers the inputs of a fit. Fails with `SqlError` if the database does not respond. */
  readonly gather: (command: Extract<Command, { readonly _tag: "Gather" }>) => Effect.Effect<FitRequest, SqlError>
  /** Loads changes of templates that were made through other nodes. */
  readonly followChanges: Effect.Effect<void>
  /** Returns the next commands. Default: `next`. Simulation tests replace it by a faulty one. */
  readonly next?: typeof next
}

/** Handlers of a learner's messages. */
export interface LearnerHandlers {
  readonly wake: (isStale: boolean) => Effect.Effect<void>
  readonly refresh: Effect.Effect<void>
  readonly window: (window: LearningWindow) => Effect.Effect<ModelSnapshot>
}

/** Runs the commands of tasks, one task at a time; see `LearnerState`. */
const makeTasks = Effect.fnUntraced(function* (parts: LearnerParts) {
  const { budget, engine, store } = parts
  const decide = parts.next ?? next
  const clock = yield* Clock.Clock
  const due = yield* Latch.make(false)
  let state = initial

  const advance = (input: Input): ReadonlyArray<Command> => {
    const [after, commands] = decide(state, input, clock.currentTimeMillisUnsafe())
    state = after
    if (state.isStale) due.openUnsafe()
    else due.closeUnsafe()
    return commands
  }

  const open = Effect.fnUntraced(function* (text: string) {
    const { objective, rule, sendNothing } = LearnedObjective.parse(text)
    const { isFitted, revision, version, ...stored } = yield* store.read(rule, clock.currentTimeMillisUnsafe())
    yield* engine.open({ ...stored, objective, sendNothing }, clock.currentTimeMillisUnsafe())
    return { _tag: "Opened", known: { revision, version, objective: text }, isFitted } satisfies Input
  })

  const fold = Effect.fnUntraced(function* (before: number) {
    const folded = yield* store.attempt(Effect.gen(function* () {
      advance({ _tag: "FoldBegan" })
      const at = clock.currentTimeMillisUnsafe()
      const since = clock.currentTimeNanosUnsafe()
      const { isFull, revision = before, rows, traces, ...counted } = yield* store.fold(at)
      // Adds the fold to the traces of its rows, even if other nodes appended them.
      const causes = [...traces].flatMap((trace) => spanNamed(trace) ?? [])
      const cause = rows === 0 ? undefined : yield* stepSince("fold", since, causes)
      return { _tag: "Folded", rows, isFull, revision, counted, at, cause } satisfies Input
    }))
    return folded ?? { _tag: "NothingFolded" } as const
  })

  const execute = (command: Exclude<Command, { readonly _tag: "Finish" | "Fail" }>): Effect.Effect<
    Input,
    LearnerError
  > => {
    switch (command._tag) {
      case "Open":
        return asJob("fold of a template", parts.org)(open(command.objective))
      case "Fold":
        return fold(command.revision).pipe(step("fold"), asJob("fold of a template", parts.org))
      case "Apply":
        return Effect.as(engine.apply(command.counted, command.at), { _tag: "Applied" })
      case "ReadRevision":
        return Effect.map(store.revision, (revision) => ({ _tag: "RevisionRead", revision }))
      case "Gather":
        return Effect.map(parts.gather(command), (request) => ({ _tag: "Gathered", request }))
      case "Publish":
        return Effect.map(store.publish(command.fitted), (isWritten) => ({ _tag: "Published", isWritten }))
    }
  }

  /** Runs a task to its end, one task at a time. Fails with the error of the command that ended it. */
  const perform = (task: Task): Effect.Effect<PreparedFit | undefined, LearnerError> =>
    Effect.gen(function* () {
      let [command] = advance({ _tag: "Began", task, facts: parts.facts() })
      for (;;) {
        if (command === undefined || command._tag === "Fail") {
          return yield* Effect.die("A learner's task has no next command")
        }
        if (command._tag === "Finish") return command.fit
        const run = execute(command)
        // Only `Apply` uses no connection.
        const answer = yield* Effect.result(command._tag === "Apply" ? run : budget.connected(run))
        if (answer._tag === "Success") {
          ;[command] = advance(answer.success)
        } else {
          ;[command] = advance({ _tag: "Failed", isLocked: isLocked(answer.failure) })
          if (command?._tag === "Fail") return yield* Effect.fail(answer.failure)
        }
      }
    }).pipe(Effect.onError(() => Effect.sync(() => void advance({ _tag: "Interrupted" }))))

  return {
    advance: (input: Input) => Effect.sync(() => void advance(input)),
    perform,
    /** Returns once a fit is due. */
    awaitDue: due.await,
    pauseBeforeFit: Effect.suspend(() =>
      Effect.sleep(Duration.millis(pauseBeforeFit(state, clock.currentTimeMillisUnsafe())))
    ),
  }
})

/**
 * Runs a template's learner until the scope closes. Its state can be read from the database again: it starts over after
 * a crash, a move to another node, or a publication by another learner of this template.
 */
export const make = Effect.fnUntraced(function* (parts: LearnerParts) {
  const { budget, engine } = parts
  const one = yield* Semaphore.make(1)
  const tasks = yield* makeTasks(parts)

  /** The computation and the publication are steps of the trace of the fold that caused them. */
  const inTrace = ({ cause }: PreparedFit) => stepOf(cause, "fit")
  const givingUp = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.onError(effect, () => tasks.advance({ _tag: "FitGivenUp" }))

  /** Computes and publishes a fit. The caller holds the learner during the whole fit. */
  const fitNow = (fit: PreparedFit) =>
    Effect.flatMap(engine.fit(fit.request), (answer) => tasks.perform({ _tag: "Publish", fitted: { fit, answer } }))
      .pipe(inTrace(fit), givingUp, Effect.asVoid)

  /** Fits when the template's turn on this node comes. Other tasks can run during the computation. */
  const fitInTurn = Effect.gen(function* () {
    const fit = yield* one.withPermits(1)(tasks.perform({ _tag: "PrepareFit" }))
    if (fit === undefined) return
    yield* inTrace(fit)(Effect.gen(function* () {
      let answer: FitAnswer
      yield* budget.turn(Effect.map(engine.fit(fit.request), (fitted) => (answer = fitted).millis))
      yield* Effect.suspend(() => one.withPermits(1)(tasks.perform({ _tag: "Publish", fitted: { fit, answer } }))).pipe(
        Effect.retry({ while: isLocked, schedule: Schedule.spaced("1 second") }),
      )
    }))
  }).pipe(givingUp, Effect.ensuring(tasks.advance({ _tag: "FitEnded" })))

  // Fits whenever there is new data, within this node's budget.
  yield* tasks.awaitDue.pipe(
    Effect.andThen(tasks.pauseBeforeFit),
    Effect.andThen(fitInTurn),
    Effect.catch((error) =>
      Effect.andThen(
        Effect.logWarning("A model could not be fitted. It will be retried", {
          template: parts.name,
          reason: error.message,
        }),
        Effect.sleep("1 second"),
      )
    ),
    Effect.forever,
    withoutServices,
    Effect.forkScoped,
  )

  const wake = (isStale: boolean) =>
    Effect.andThen(
      isStale ? parts.followChanges : Effect.void,
      one.withPermits(1)(tasks.perform({ _tag: "Fold", isStale })),
    ).pipe(
      Effect.asVoid,
      Effect.catch((error) =>
        isLocked(error)
          ? Effect.logDebug("The ledger waits for the end of a rebuild", { template: parts.name })
          : Effect.logWarning("The ledger could not be folded and will be retried", {
            template: parts.name,
            reason: error.message,
          })
      ),
    )

  const refresh = one.withPermits(1)(
    Effect.flatMap(tasks.perform({ _tag: "Refresh" }), (fit) => fit === undefined ? Effect.void : fitNow(fit)),
  ).pipe(
    // Retries for about as long as a caller waits for the response.
    Effect.retry({ while: isLocked, schedule: Schedule.spaced("20 millis"), times: 100 }),
    Effect.orDie,
  )

  const window = (window: LearningWindow) =>
    one.withPermits(1)(
      Effect.flatMap(
        tasks.perform({ _tag: "PrepareWindow", window }),
        (fit) => Effect.tapError(engine.fit(fit!.request), () => tasks.advance({ _tag: "EngineFailed" })),
      ),
    ).pipe(
      // The engine's worker may have ended since its last use. The second attempt opens the template in the next
      // worker.
      Effect.retry({ while: ({ _tag }) => _tag === "EngineFailed", times: 1 }),
      Effect.map(({ model }) => model),
      Effect.orDie,
    )

  return { wake, refresh, window } satisfies LearnerHandlers
})
