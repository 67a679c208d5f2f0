import { Cause } from "effect"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { innermost } from "./innermost.ts"
import { isOutage } from "./Outage.ts"

// The rule for background work that can fail or end the process: an attempt is stored before it is made, so that one that
// ends the process counts too, and after three failed attempts in a row the work is set aside for a person to look at.
//
//     n attempts stored ──begin──► n + 1 stored ──success──────────────► 0
//                                       ├─ failure by circumstances ───► the next attempt begins at n + 1 without counting
//                                       ├─ failure of the work ────────► n + 1, set aside if that is 3
//                                       └─ the process ends ───────────► n + 1, set aside by the next begin if that is 3

/** Failed attempts in a row after which work is set aside. */
export const maxAttempts = 3

/** Whether work is set aside that has failed, or not been finished, so many times in a row. */
export const isSpent = (attempts: number): boolean => attempts >= maxAttempts

/** The reason of work that is set aside though no attempt has reported a failure. */
export const unfinishedReason = `The service ended during each of ${maxAttempts} attempts`

const passing = new Set(["LockTimeoutError", "DeadlockError", "SerializationError"])

/**
 * Whether a database error says nothing about the work: the database is unavailable, or another transaction is in the
 * way.
 */
export const isCircumstance = (error: SqlError): boolean => isOutage(error) || passing.has(error.reason._tag)

/**
 * Whether a failure says nothing about the attempted work, so that the attempt does not count: the service is shutting
 * down, the database is unavailable, or another transaction is in the way. One counting failure among several is enough
 * to count the attempt.
 */
export const isByCircumstance = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.every((reason) =>
    Cause.isInterruptReason(reason) ||
    (Cause.isFailReason(reason) && isSqlError(reason.error) && isCircumstance(reason.error)) ||
    (Cause.isDieReason(reason) && isSqlError(reason.defect) && isCircumstance(reason.defect))
  )

/** Longest stored reason. Unit: characters. */
const maxReason = 1_000

/** A failure in one line, for the person who looks at work that was set aside. */
export const reasonOf = (cause: Cause.Cause<unknown>): string => {
  const text = innermost(Cause.squash(cause))
  return text.replaceAll("\0", "").toWellFormed().slice(0, maxReason).toWellFormed()
}
