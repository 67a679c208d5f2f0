import { Cause } from "effect"
import { isSqlError } from "effect/sql/SqlError"
import { isByCircumstance, isSpent, reasonOf } from "../../store/Attempts.ts"
import { isDataFault } from "../../store/DataFault.ts"
import { isByMachine, WorkFailed } from "../../store/WorkerProcess.ts"

// The states of bodies during processing, and after failures. A body is `pending` until it is processed or rejected.
// Meanwhile it is
//
//     free ──────► in a batch ─────────────────► taken in
//      ▲               │ │ │
//      │ released      │ │ └─ the batch failed, or its node died ──► to be taken singly ◄────────────┐
//      └───────────────┘ │                                                │ attempts + 1, stored     │
//                        └─ this body is at fault: attempts + 1 ──►       ▼                          │
//     free and large ───────── attempts + 1, stored ──────────► being taken singly ──► taken in      │
//                                                                         │                          │
//                                       circumstances: attempts - 1 ──────┼──────────────────────────┤
//                                       failed, or its node died ─────────┼── attempts < 3, later ───┘
//                                                                         └── attempts = 3 ──► rejected
//
// Only attempts that are known to be this body's count: those made with it alone, and those of a batch during which its
// process was killed while it was read. A body that the store refuses for what it holds is rejected at once.

/** Bodies that one node is taking in. */
export interface Taking {
  readonly bodies: ReadonlyArray<{ readonly id: number; readonly attempts: number }>
  /** A single body, whose attempt has been stored. */
  readonly isSingle: boolean
}

export type AttemptVerdict =
  /** The failure says nothing about the bodies: as if they had not been tried. */
  | { readonly type: "release" }
  /** One of the bodies may be at fault: each is taken by itself. */
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
  /** One body is set aside for processing alone, and the other bodies are released. */
  | { readonly type: "reject"; readonly id: number; readonly attempts: number; readonly reason: string }

/** The pause after so many failed attempts, so that a shortage of memory or processor time can pass. Unit: seconds. */
const pauseAfter = (attempts: number): number => 2 ** (2 * attempts - 1)

const workFailed = (error: unknown): WorkFailed | undefined => error instanceof WorkFailed ? error : undefined

const reasonFor = (error: unknown, cause: Cause.Cause<unknown>): string => {
  const failed = workFailed(error)
  if (failed?.reason === "deadline" || failed?.reason === "ended") return `Reading it ${failed.detail}`
  return failed === undefined ? `It could not be stored: ${reasonOf(cause)}` : `It could not be read: ${failed.detail}`
}

/** The next state of bodies whose processing failed with `cause`. */
export const verdictOf = ({ bodies, isSingle }: Taking, cause: Cause.Cause<unknown>): AttemptVerdict => {
  const error = Cause.squash(cause)
  const failed = workFailed(error)
  // Without a process that runs nothing was tried.
  if (isByCircumstance(cause) || (failed !== undefined && isByMachine(failed))) return { type: "release" }
  const culprit = bodies.length === 1 ? bodies[0] : bodies.find(({ id }) => id === failed?.note)
  if (culprit === undefined) return { type: "singly" }
  const attempts = isSingle ? culprit.attempts : culprit.attempts + 1
  const reason = reasonFor(error, cause)
  return isSpent(attempts) || (isSqlError(error) && isDataFault(error))
    ? { type: "reject", id: culprit.id, attempts, reason }
    : { type: "retry", id: culprit.id, attempts, pauseSeconds: pauseAfter(attempts), reason }
}
