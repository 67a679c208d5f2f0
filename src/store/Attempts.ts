import { Cause } from "effect"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { innermost } from "./innermost.ts"
import { isOutage } from "./Outage.ts"

// Retry rule for background work that can fail or end the process. Each attempt is stored before it begins, so that an
// attempt that ends the process also counts. After three consecutive failed attempts, the work is set aside for
// inspection.
//
//     n attempts stored ──begin──► n + 1 stored ──success──────────────► 0
//                                       ├─ unrelated failure ──────────► n: the attempt does not count
//                                       ├─ failure of the work ────────► n + 1, set aside if that is 3
//                                       └─ the process ends ───────────► n + 1, set aside by the next begin if that is 3

/** Number of consecutive failed attempts after which work is set aside. */
export const maxAttempts = 3

/** Whether work with this many consecutive failed or unfinished attempts is set aside. */
export const isSpent = (attempts: number): boolean => attempts >= maxAttempts

/** The reason of work that is set aside although no attempt has reported a failure. */
export const unfinishedReason = `The service ended during each of ${maxAttempts} attempts`

const passing = new Set(["LockTimeoutError", "DeadlockError", "SerializationError"])

/** Whether a database error is unrelated to the work: the database is unavailable, or another transaction blocks it. */
const isCircumstance = (error: SqlError): boolean => isOutage(error) || passing.has(error.reason._tag)

/**
 * Whether a failure is unrelated to the attempted work, so that the attempt does not count: the service is shutting
 * down, the database is unavailable, or another transaction blocks it. If one of several failures is related to the
 * work, the attempt counts.
 */
export const isByCircumstance = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.every((reason) =>
    Cause.isInterruptReason(reason) ||
    (Cause.isFailReason(reason) && isSqlError(reason.error) && isCircumstance(reason.error)) ||
    (Cause.isDieReason(reason) && isSqlError(reason.defect) && isCircumstance(reason.defect))
  )

/** Maximum length of a stored reason. Unit: characters. */
const maxReason = 1_000

/** Describes a failure in one line, for people who inspect work that was set aside. */
export const reasonOf = (cause: Cause.Cause<unknown>): string => {
  const text = innermost(Cause.squash(cause))
  return text.replaceAll("\0", "").toWellFormed().slice(0, maxReason).toWellFormed()
}
