import type { Tracer } from "effect"
import { hourMillis } from "../bandit/Window.ts"
import type { LearningWindow } from "../domain/LearningWindow.ts"
import type { Counted, FitAnswer, FitRequest } from "./Engine.ts"

// The decisions of a template's learner, without I/O. `next` takes the state and one input and returns the new state
// and the commands to run. The shell (`LearnerShell`) runs each command and passes its outcome to `next` as the next
// input.
//
//     Fold           [Open] ─► Fold ─► Apply ─► (again while batches are full) ─► Finish
//     Refresh        as Fold ─► ReadRevision ─► [Open] ─► Gather ─► Finish with a fit, if one is due
//     PrepareFit     ReadRevision ─► [Open] ─► Gather ─► Finish with a fit, if the model is stale
//     PrepareWindow  ReadRevision ─► [Open] ─► Gather ─► Finish with a fit
//     Publish        Publish ─► Finish
//
// `Open` runs only if the engine's counts may differ from the stored counts. One task runs at a time. The arithmetic of
// a fit runs between `PrepareFit` and `Publish`, so other tasks can run in the meantime.

/** State of the counts in the engine. */
export interface Known {
  /** Revision of the stored tallies. */
  readonly revision: number
  /** Version of the stored model, which the next one replaces. 0 before the first. */
  readonly version: number
  /** The objective that weights the counts, as `LearnedObjective` encodes it. */
  readonly objective: string
}

/** A fit that is ready for computation. */
export interface PreparedFit {
  readonly request: FitRequest
  /** Revision of the tallies that the fit uses. */
  readonly revision: number
  /** Version under which the model is published. */
  readonly version: number
  /** The traced fold that made this fit due. */
  readonly cause: Tracer.AnySpan | undefined
}

/** A model that is ready for publication. */
export interface FittedModel {
  readonly fit: PreparedFit
  readonly answer: FitAnswer
}

/** A unit of work that reads or changes the state. One task runs at a time. */
export type Task =
  /**
   * Folds pending ledger rows. With `isStale`, the model is older than the tallies, the settings or the current hour.
   */
  | { readonly _tag: "Fold"; readonly isStale: boolean }
  /** Folds pending ledger rows, and prepares a fit unless the model is up to date. */
  | { readonly _tag: "Refresh" }
  /** Prepares a fit if the model is stale. */
  | { readonly _tag: "PrepareFit" }
  /** Prepares the fit of a window's model, which is not published. */
  | { readonly _tag: "PrepareWindow"; readonly window: LearningWindow }
  | { readonly _tag: "Publish"; readonly fitted: FittedModel }

/** Properties of the template at the beginning of a task. */
export interface TemplateFacts {
  /** The objective, as `LearnedObjective` encodes it. */
  readonly objective: string
  /** Number of sends in the current model. */
  readonly sends: number
}

/** Events that change the state of a learner: beginnings of tasks, and outcomes of commands. */
export type Input =
  | { readonly _tag: "Began"; readonly task: Task; readonly facts: TemplateFacts }
  /** The engine has loaded the stored counts. `isFitted`: the published model was fitted to their revision. */
  | { readonly _tag: "Opened"; readonly known: Known; readonly isFitted: boolean }
  /** The transaction of a fold begins. From here on, it may be committed even if the learner gets no response. */
  | { readonly _tag: "FoldBegan" }
  /** A batch of the ledger was folded and committed. */
  | {
    readonly _tag: "Folded"
    /** Ledger rows in the batch; 0 if another node took them first. */
    readonly rows: number
    /** The batch reached its maximum size, so there may be more rows. */
    readonly isFull: boolean
    /** Revision of the tallies after the fold. */
    readonly revision: number
    readonly counted: Counted
    /** Start of the fold. Unit: Unix milliseconds. */
    readonly at: number
    readonly cause: Tracer.AnySpan | undefined
  }
  /** No rows were folded: the ledger is empty, or folding has stopped after failures. */
  | { readonly _tag: "NothingFolded" }
  | { readonly _tag: "Applied" }
  | { readonly _tag: "RevisionRead"; readonly revision: number | undefined }
  | { readonly _tag: "Gathered"; readonly request: FitRequest }
  | { readonly _tag: "Published"; readonly isWritten: boolean }
  /** The last command failed. `isLocked`: a rebuild or a migration has locked the tables. */
  | { readonly _tag: "Failed"; readonly isLocked: boolean }
  /** The task was interrupted or hit a bug while it ran a command. */
  | { readonly _tag: "Interrupted" }
  /** The engine did not compute the fit of a window. It may have lost its counts. */
  | { readonly _tag: "EngineFailed" }
  /** A due fit did not happen. */
  | { readonly _tag: "FitGivenUp" }
  /** The fit that `PrepareFit` returned has ended. */
  | { readonly _tag: "FitEnded" }

/** Commands that the shell runs for a learner. */
export type Command =
  /** Reads the template from the store and opens it in the engine. Answered by `Opened`. */
  | { readonly _tag: "Open"; readonly objective: string }
  /** Folds one batch of the ledger. Answered by `FoldBegan` and `Folded`, or by `NothingFolded`. */
  | { readonly _tag: "Fold"; readonly revision: number }
  /** Adds a folded batch to the engine's counts. Answered by `Applied`. */
  | { readonly _tag: "Apply"; readonly counted: Counted; readonly at: number }
  /** Reads the revision of the stored tallies. Answered by `RevisionRead`. */
  | { readonly _tag: "ReadRevision" }
  /** Gathers the inputs of a fit. Answered by `Gathered`. */
  | {
    readonly _tag: "Gather"
    /** Version of the model that the fit starts from. */
    readonly version: number
    readonly window: LearningWindow | undefined
    /** Whether the fit chooses the learning attributes again. */
    readonly choosesAttributes: boolean
  }
  /** Stores the model and uses it for the decisions of this node. Answered by `Published`. */
  | { readonly _tag: "Publish"; readonly fitted: FittedModel }
  /** The task is done. */
  | { readonly _tag: "Finish"; readonly fit: PreparedFit | undefined }
  /** The task fails with the error of the last command. */
  | { readonly _tag: "Fail" }

/** The input that a task awaits. */
type Phase =
  | { readonly _tag: "Opening"; readonly goal: "fold" | "fit" }
  | { readonly _tag: "Folding"; readonly before: Known }
  | { readonly _tag: "Applying"; readonly after: Known; readonly isFull: boolean }
  | { readonly _tag: "ReadingRevision" }
  | { readonly _tag: "Gathering"; readonly choosesAttributes: boolean }
  | { readonly _tag: "Publishing" }

interface Running {
  readonly task: Task
  readonly facts: TemplateFacts
  readonly phase: Phase
}

/** The state of a learner. It can be lost at any time, because all of it can be read from the database again. */
export interface LearnerState {
  /** Undefined if the engine's counts may differ from the stored ones. In that case, the next use reads the store. */
  readonly known: Known | undefined
  /** The published model is older than the tallies, the settings or the current hour, so a fit is due. */
  readonly isStale: boolean
  /** `PrepareFit` has returned a fit that is not published yet. */
  readonly isFitting: boolean
  /** Time of preparation of the last fit that was published or superseded. Unit: Unix milliseconds. */
  readonly fittedAt: number
  /** Processor time of that fit. Unit: milliseconds. */
  readonly fitMillis: number
  /** Time of the last choice of learning attributes. Unit: Unix milliseconds. */
  readonly attributesAt: number
  /** The traced fold that caused the next fit. */
  readonly cause: Tracer.AnySpan | undefined
  readonly running: Running | undefined
}

/** The state of a learner that has read nothing from the store. */
export const initial: LearnerState = {
  known: undefined,
  isStale: false,
  isFitting: false,
  fittedAt: 0,
  fitMillis: 0,
  attributesAt: 0,
  cause: undefined,
  running: undefined,
}

/** Minimum time between two fits of a template. Unit: milliseconds. */
const shortestPause = 1000

/** Minimum time between two fits, as a multiple of the processor time of the last fit. */
const pausePerFit = 20

/**
 * Interval at which learning attributes are chosen again. A template with fewer sends than `littleTraffic` chooses them
 * with every fit.
 */
const attributesMillis = hourMillis
const littleTraffic = 5000

/** Returns the time until a stale model is fitted. Unit: milliseconds. */
export const pauseBeforeFit = ({ fitMillis, fittedAt }: LearnerState, now: number): number => {
  const pause = Math.max(shortestPause, pausePerFit * fitMillis)
  // After a clock was set back, the last fit can appear to be hours ahead.
  return Math.min(pause, Math.max(0, fittedAt + pause - now))
}

type Step = readonly [LearnerState, ReadonlyArray<Command>]

const run = (state: LearnerState, running: Running, phase: Phase, command: Command): Step => [
  { ...state, running: { ...running, phase } },
  [command],
]

const finish = (state: LearnerState, fit?: PreparedFit): Step => [
  { ...state, running: undefined },
  [{ _tag: "Finish", fit }],
]

const fail = (state: LearnerState): Step => [{ ...state, running: undefined }, [{ _tag: "Fail" }]]

/** Discards the counts of a failed fit, so that its work is repeated from the stored state. */
const startOver = (state: LearnerState): LearnerState => ({ ...state, known: undefined, isStale: true })

const fold = (state: LearnerState, running: Running, before: Known): Step =>
  run(state, running, { _tag: "Folding", before }, { _tag: "Fold", revision: before.revision })

const readRevision = (state: LearnerState, running: Running): Step =>
  run(state, running, { _tag: "ReadingRevision" }, { _tag: "ReadRevision" })

const gather = (state: LearnerState, running: Running, known: Known, now: number): Step => {
  const window = running.task._tag === "PrepareWindow" ? running.task.window : undefined
  const isDue = Math.abs(now - state.attributesAt) >= attributesMillis || running.facts.sends < littleTraffic
  const choosesAttributes = window === undefined && isDue
  return run(
    state,
    running,
    { _tag: "Gathering", choosesAttributes },
    { _tag: "Gather", version: known.version, window, choosesAttributes },
  )
}

/** Continues with a fold or a fit. Reads the database first if the engine's counts are unusable. */
const open = (state: LearnerState, running: Running, goal: "fold" | "fit", now: number): Step => {
  const { known } = state
  const { objective } = running.facts
  if (known !== undefined && known.objective === objective) {
    return goal === "fold" ? fold(state, running, known) : gather(state, running, known, now)
  }
  // With another objective, the model must change even if no row arrives.
  const isStale = state.isStale || known !== undefined
  return run({ ...state, isStale }, running, { _tag: "Opening", goal }, { _tag: "Open", objective })
}

const afterFold = (state: LearnerState, running: Running): Step => {
  if (running.task._tag !== "Fold") return readRevision(state, running)
  return finish(running.task.isStale ? { ...state, isStale: true } : state)
}

const began = (state: LearnerState, task: Task, facts: TemplateFacts, now: number): Step => {
  const running: Running = { task, facts, phase: { _tag: "ReadingRevision" } }
  switch (task._tag) {
    case "Fold":
    case "Refresh":
      return open(state, running, "fold", now)
    case "PrepareFit":
      // A refresh may have fitted since this fit became due.
      return state.isStale ? readRevision(state, running) : finish(state)
    case "PrepareWindow":
      return readRevision(state, running)
    case "Publish": {
      const { answer, fit } = task.fitted
      const fitted = { ...state, fittedAt: fit.request.now, fitMillis: answer.millis }
      // A refresh may have fitted and published since this fit was prepared.
      if (state.known !== undefined && state.known.version >= fit.version) return finish(fitted)
      return run(fitted, running, { _tag: "Publishing" }, { _tag: "Publish", fitted: task.fitted })
    }
  }
}

const folded = (
  state: LearnerState,
  running: Running,
  before: Known,
  batch: Extract<Input, { readonly _tag: "Folded" }>,
  now: number,
): Step => {
  if (batch.rows === 0) return afterFold({ ...state, known: before }, running)
  const due = { ...state, isStale: true, cause: state.cause ?? batch.cause }
  if (batch.revision !== before.revision + 1) {
    // Another node folded in between, or a rebuild replaced the tallies: the next use reads the store.
    return batch.isFull ? open(due, running, "fold", now) : afterFold(due, running)
  }
  return run(
    due,
    running,
    { _tag: "Applying", after: { ...before, revision: batch.revision }, isFull: batch.isFull },
    { _tag: "Apply", counted: batch.counted, at: batch.at },
  )
}

const revisionRead = (state: LearnerState, running: Running, revision: number | undefined, now: number): Step => {
  // Another node folded, or a rebuild replaced the tallies, and the ledger is empty.
  const isBehind = revision !== undefined && revision !== state.known?.revision
  const current = isBehind ? startOver(state) : state
  if (running.task._tag === "Refresh" && !current.isStale && !current.isFitting) return finish(current)
  return open(current, running, "fit", now)
}

const gathered = (
  state: LearnerState,
  { task }: Running,
  choosesAttributes: boolean,
  request: FitRequest,
  now: number,
): Step => {
  const { revision, version } = state.known!
  if (task._tag === "PrepareWindow") return finish(state, { request, revision, version, cause: undefined })
  return finish({
    ...state,
    isStale: false,
    isFitting: state.isFitting || task._tag === "PrepareFit",
    attributesAt: choosesAttributes ? now : state.attributesAt,
    cause: undefined,
  }, { request, revision, version: version + 1, cause: state.cause })
}

const published = (state: LearnerState, fitted: FittedModel, isWritten: boolean): Step => {
  // Another node runs a learner of the template too, and published this version first.
  if (!isWritten) return finish(startOver(state))
  return finish({ ...state, known: state.known && { ...state.known, version: fitted.fit.version } })
}

/** Returns the state after the command of a phase failed or was interrupted. */
const afterFailure = (state: LearnerState, { phase, task }: Running): LearnerState => {
  const isFit = phase._tag === "Gathering" || (phase._tag === "Opening" && phase.goal === "fit")
  // A window's fit changes no state. A publication is retried, or given up with `FitGivenUp`. If a fold may have been
  // committed, or an engine failed, `known` was dropped when the fold began.
  return isFit && task._tag !== "PrepareWindow" ? startOver(state) : state
}

const failed = (state: LearnerState, running: Running, isLocked: boolean, now: number): Step => {
  const { phase, task } = running
  if (phase._tag === "ReadingRevision" && task._tag !== "Refresh") {
    // If the store is down, a fit uses the counts in memory.
    return open(state, running, "fit", now)
  }
  const ended = afterFailure(state, running)
  if (!isLocked) return fail(ended)
  return fail({
    ...ended,
    // A locked table fails before the fold, so the counts in the engine are still valid.
    known: phase._tag === "Folding" ? phase.before : ended.known,
    isStale: ended.isStale || (task._tag === "Fold" && task.isStale),
  })
}

/** The response to a command must match the phase that awaits it. Any other input is a bug of the shell. */
const answered = (state: LearnerState, running: Running, input: Input, now: number): Step => {
  const { phase, task } = running
  if (input._tag === "Failed") return failed(state, running, input.isLocked, now)
  if (input._tag === "Opened" && phase._tag === "Opening") {
    // A learner that ended between its fold and its fit left an outdated model.
    return open({ ...state, known: input.known, isStale: state.isStale || !input.isFitted }, running, phase.goal, now)
  }
  if (phase._tag === "Folding") {
    if (input._tag === "FoldBegan") return [{ ...state, known: undefined }, []]
    if (input._tag === "NothingFolded") return afterFold(state, running)
    if (input._tag === "Folded") return folded(state, running, phase.before, input, now)
  }
  if (input._tag === "Applied" && phase._tag === "Applying") {
    const current = { ...state, known: phase.after }
    return phase.isFull ? fold(current, running, phase.after) : afterFold(current, running)
  }
  if (input._tag === "RevisionRead" && phase._tag === "ReadingRevision") {
    return revisionRead(state, running, input.revision, now)
  }
  if (input._tag === "Gathered" && phase._tag === "Gathering") {
    return gathered(state, running, phase.choosesAttributes, input.request, now)
  }
  if (input._tag === "Published" && task._tag === "Publish") return published(state, task.fitted, input.isWritten)
  throw new Error(`A learner in the phase ${phase._tag} received ${input._tag} out of order`)
}

/**
 * Returns the state after `input`, and the commands to run. `now` is in Unix milliseconds. Throws for an input out of
 * order.
 */
export const next = (state: LearnerState, input: Input, now: number): Step => {
  const { running } = state
  switch (input._tag) {
    case "Began":
      if (running !== undefined) throw new Error(`A learner that runs ${running.task._tag} cannot begin another task`)
      return began(state, input.task, input.facts, now)
    case "Interrupted":
      return [running === undefined ? state : { ...afterFailure(state, running), running: undefined }, []]
    case "EngineFailed":
      return [{ ...state, known: undefined }, []]
    case "FitGivenUp":
      return [startOver(state), []]
    case "FitEnded":
      return [{ ...state, isFitting: false }, []]
    default:
      if (running === undefined) throw new Error(`A learner without a task received ${input._tag} out of order`)
      return answered(state, running, input, now)
  }
}
