import { Cause, Logger } from "effect"
import { isSqlError } from "effect/sql/SqlError"

// Error messages quote values: a database names the rejected value, a decoder the unexpected one. Such a value may be
// personal data, so logs contain only the kind of the error and its stack.

/** SQLSTATE of a database's error. */
const stateOf = (error: unknown): string | undefined => {
  const reason = isSqlError(error) ? error.reason : undefined
  const cause: unknown = reason !== undefined && "cause" in reason ? reason.cause : undefined
  const code: unknown = cause !== null && typeof cause === "object" && "code" in cause ? cause.code : undefined
  return typeof code === "string" ? code : undefined
}

/** A message without quoted values, e-mail addresses and URL queries. */
export const withoutQuotes = (message: string): string =>
  message
    .replace(/"(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`/g, "…")
    .replace(/=\([^)]*\)/g, "=(…)")
    .replace(/[^\s<>()]+@[^\s<>()]+/g, "…")
    .replace(/\?\S+/g, "?…")

/** The stack of an error without its message. */
const placesOf = (error: Error): string =>
  (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line)).slice(0, 20).join("\n")

/** An error as it may be logged. */
const told = (error: unknown): Error => {
  if (!(error instanceof Error)) {
    const tag = error !== null && typeof error === "object" && "_tag" in error ? String(error._tag) : typeof error
    return Object.assign(new Error(""), { name: tag, stack: tag })
  }
  const state = stateOf(error)
  const name = "_tag" in error && typeof error._tag === "string" ? error._tag : error.name
  // Only data errors (classes 22 and 23) quote the parameters of a statement.
  const isAboutData = !isSqlError(error) || (state !== undefined && /^2[23]/.test(state))
  const message = `${isAboutData ? withoutQuotes(error.message) : error.message}${
    state === undefined ? "" : ` (SQLSTATE ${state})`
  }`
  const copy = new Error(message)
  copy.name = name
  copy.stack = `${name}: ${message}\n${placesOf(error)}`
  if (error.cause instanceof Error) copy.cause = told(error.cause)
  return copy
}

const toldCause = (cause: Cause.Cause<unknown>): Cause.Cause<unknown> =>
  Cause.fromReasons(
    cause.reasons.map((reason) =>
      Cause.isFailReason(reason)
        ? Cause.makeFailReason(told(reason.error))
        : Cause.isDieReason(reason)
        ? Cause.makeDieReason(told(reason.defect))
        : reason
    ),
  )

const toldValue = (value: unknown): unknown => {
  if (typeof value === "string") return withoutQuotes(value)
  if (Cause.isCause(value)) return Cause.pretty(toldCause(value))
  if (value instanceof Error) return told(value).stack
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, toldValue(one)]))
}

/** Our own messages are matched first, whatever follows them. */
const toldMessage = (message: unknown): unknown => {
  if (typeof message === "string") return message
  if (!Array.isArray(message)) return toldValue(message)
  return message.map((part, i) => i === 0 && typeof part === "string" ? part : toldValue(part))
}

/** Wraps `logger` so that errors are logged with their kind and stack, without quoted values. */
export const discreet = <A>(logger: Logger.Logger<unknown, A>): Logger.Logger<unknown, A> =>
  Logger.make((options) =>
    logger.log({
      ...options,
      message: toldMessage(options.message),
      cause: toldCause(options.cause),
    })
  )
