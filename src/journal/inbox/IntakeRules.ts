import { Cause } from "effect"
import { isSqlError } from "effect/sql/SqlError"
import { isByCircumstance, isSpent, reasonOf } from "../../store/Attempts.ts"
import { isDataFault } from "../../store/DataFault.ts"
import { isByMachine, WorkFailed } from "../../store/WorkerProcess.ts"

// The states of bodies during processing and after failures. A body is `pending` until it is processed or rejected. A
// pending body is in one of these states:
//
//     free ──────► in a batch ─────────────────► processed
//      ▲               │ │ │
//      │ released      │ │ └─ the batch failed, or its node died ──► to be processed alone ◄─────────┐
//      └───────────────┘ │                                                │ attempts + 1, stored     │
//                        └─ this body is at fault: attempts + 1 ──►       ▼                          │
//     free and large ───────── attempts + 1, stored ──────► being processed alone ───► processed     │
//                                                                         │                          │
//                                       circumstances: attempts - 1 ──────┼──────────────────────────┤
//                                       failed, or its node died ─────────┼── attempts < 3, later ───┘
//                                                                         └── attempts = 3 ──► rejected
//
// An attempt counts only if this body caused its failure: an attempt with this body alone, or with a batch whose worker
// process was killed while it read this body. A body whose content the database refuses is rejected at once.

/** Bodies that one node is processing. */
export interface Taking {
  readonly bodies: ReadonlyArray<{ readonly id: number; readonly attempts: number }>
  /** Whether it is a single body, whose attempt was already counted. */
  readonly isSingle: boolean
}

/** The next state of bodies after a failed attempt. */
export type AttemptVerdict =
  /** The failure says nothing about the bodies, so no attempt counts. */
  | { readonly type: "release" }
  /** One of the bodies may be at fault, so each is processed alone. */
  | { readonly type: "singly" }
  /**
   * One body is at fault and has failed `attempts` times. It is retried after a pause, and the other bodies are
   * released.
   */
  | {
    readonly type: "retry"
    readonly id: number
    readonly attempts: number
    readonly pauseSeconds: number
    readonly reason: string
  }
  /** One body is rejected, and the other bodies are released. */
  | { readonly type: "reject"; readonly id: number; readonly attempts: number; readonly reason: string }

/** Pause after this many failed attempts, so that a shortage of memory or processor time can pass. Unit: seconds. */
const pauseAfter = (attempts: number): number => 2 ** (2 * attempts - 1)

const workFailed = (error: unknown): WorkFailed | undefined => error instanceof WorkFailed ? error : undefined

const reasonFor = (error: unknown, cause: Cause.Cause<unknown>): string => {
  const failed = workFailed(error)
  if (failed?.reason === "deadline" || failed?.reason === "ended") return `Reading it ${failed.detail}`
  return failed === undefined ? `It could not be stored: ${reasonOf(cause)}` : `It could not be read: ${failed.detail}`
}

/** Decides the next state of bodies whose processing failed with `cause`. */
export const verdictOf = ({ bodies, isSingle }: Taking, cause: Cause.Cause<unknown>): AttemptVerdict => {
  const error = Cause.squash(cause)
  const failed = workFailed(error)
  // If no worker process could run, no body was processed.
  if (isByCircumstance(cause) || (failed !== undefined && isByMachine(failed))) return { type: "release" }
  const culprit = bodies.length === 1 ? bodies[0] : bodies.find(({ id }) => id === failed?.note)
  if (culprit === undefined) return { type: "singly" }
  const attempts = isSingle ? culprit.attempts : culprit.attempts + 1
  const reason = reasonFor(error, cause)
  return isSpent(attempts) || (isSqlError(error) && isDataFault(error))
    ? { type: "reject", id: culprit.id, attempts, reason }
    : { type: "retry", id: culprit.id, attempts, pauseSeconds: pauseAfter(attempts), reason }
}
