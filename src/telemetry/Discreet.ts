import { Cause, type Context, type Fiber, Logger, References } from "effect"
import { isSqlError } from "effect/sql/SqlError"
import { jsonOf } from "./LogLine.ts"

// Error messages quote values: a database names the rejected value, a decoder the unexpected one. Such a value may be
// personal data, so logs contain only the kind of the error and its stack.

/** Returns the SQLSTATE of a database error. */
const stateOf = (error: unknown): string | undefined => {
  const reason = isSqlError(error) ? error.reason : undefined
  const cause: unknown = reason !== undefined && "cause" in reason ? reason.cause : undefined
  const code: unknown = cause !== null && typeof cause === "object" && "code" in cause ? cause.code : undefined
  return typeof code === "string" ? code : undefined
}

/** Returns a message without quoted values, e-mail addresses and URL queries. */
const withoutQuotes = (message: string): string =>
  message
    .replace(/"(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`/g, "…")
    .replace(/=\([^)]*\)/g, "=(…)")
    .replace(/[^\s<>()]+@[^\s<>()]+/g, "…")
    .replace(/\?\S+/g, "?…")

/** Returns the stack of an error without its message. */
const placesOf = (error: Error): string =>
  (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line)).slice(0, 20).join("\n")

/** Returns an error in a form that may be logged. */
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

const isRecord = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === "object" && !Array.isArray(value)

/** The parts of a log entry, by their place in the line. */
interface Parts {
  readonly text: string
  readonly annotations: Readonly<Record<string, unknown>>
  readonly cause: Cause.Cause<unknown>
}

/**
 * Sorts the arguments of `Effect.log`: the first text is the message, members of objects are annotations, errors and
 * causes are the cause, and any other value is the annotation `reason`. Without a text, the message is the first line
 * of the cause.
 */
export const partsOf = (message: unknown, given: Cause.Cause<unknown>): Parts => {
  const [first, ...others] = Array.isArray(message) ? message as ReadonlyArray<unknown> : [message]
  const isText = typeof first === "string"
  const annotations: Record<string, unknown> = {}
  const reasons: Array<unknown> = []
  let cause = given
  const addCause = (value: unknown): boolean => {
    const one = Cause.isCause(value) ? value : value instanceof Error ? Cause.fail(value) : undefined
    if (one !== undefined) cause = Cause.combine(cause, one)
    return one !== undefined
  }
  for (const value of isText || first === undefined ? others : [first, ...others]) {
    if (addCause(value)) continue
    if (!isRecord(value)) reasons.push(toldValue(value))
    else for (const [name, one] of Object.entries(value)) if (!addCause(one)) annotations[name] = toldValue(one)
  }
  if (reasons.length > 0) annotations["reason"] = reasons.length === 1 ? reasons[0] : reasons
  const discreetCause = toldCause(cause)
  const firstLine = () => Cause.pretty(discreetCause).split("\n", 1)[0] || "No message"
  return { text: isText ? first : firstLine(), annotations, cause: discreetCause }
}

/** Returns the fiber of a log entry with more annotations, because loggers read them from the fiber. */
const withAnnotations = (
  fiber: Fiber.Fiber<unknown, unknown>,
  more: Readonly<Record<string, unknown>>,
): Fiber.Fiber<unknown, unknown> => {
  const annotations = { ...fiber.getRef(References.CurrentLogAnnotations), ...more }
  return Object.assign(Object.create(fiber), {
    getRef: <A>(reference: Context.Reference<A>): unknown =>
      reference.key === References.CurrentLogAnnotations.key ? annotations : fiber.getRef(reference),
  })
}

/**
 * Wraps `logger` so that every entry has one shape: a text as its message, and all other values as annotations and
 * causes. Errors are logged with their kind and stack, without quoted values.
 */
export const discreet = <A>(logger: Logger.Logger<unknown, A>): Logger.Logger<unknown, A> =>
  Logger.make(({ cause, fiber, message, ...rest }) => {
    const parts = partsOf(message, cause)
    return logger.log({
      ...rest,
      message: parts.text,
      cause: parts.cause,
      fiber: Object.keys(parts.annotations).length === 0 ? fiber : withAnnotations(fiber, parts.annotations),
    })
  })

/** Writes entries as JSON, see `LogLine`. */
export const jsonLogger: Logger.Logger<unknown, string> = discreet(
  Logger.make(({ cause, date, fiber, logLevel, message }) =>
    jsonOf({
      date,
      level: logLevel,
      message: String(message),
      annotations: fiber.getRef(References.CurrentLogAnnotations),
      cause: cause.reasons.length === 0 ? "" : Cause.pretty(cause),
    })
  ),
)
