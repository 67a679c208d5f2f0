import { Cause, Effect } from "effect"
import { partsOf } from "../telemetry/Discreet.ts"
import { jsonOf } from "../telemetry/LogLine.ts"
import { messageOf, report } from "./Report.ts"

// The last line of the log, which has the form of all others although the logger may not exist yet.

/** Writes the last line. `cause` is that of a defect, whose stack is needed to find it; empty for other failures. */
const writeFatal = (message: string, cause: Cause.Cause<unknown>): void => {
  const parts = partsOf(message, cause)
  const stacks = parts.cause.reasons.length === 0 ? "" : Cause.pretty(parts.cause)
  console.log(jsonOf({ date: new Date(), level: "Fatal", message: parts.text, annotations: {}, cause: stacks }))
}

/** Logs why the service ends, and makes the process end with status 1. In a terminal the reason is printed as text. */
export const logFatal = (cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  const error = Cause.squash(cause)
  const isShowHelp = error !== null && typeof error === "object" && "_tag" in error && error._tag === "ShowHelp"
  if (isShowHelp || process.stdout.isTTY) return report(error)
  return Effect.map(messageOf(error), (message) => {
    if (Cause.hasDies(cause)) writeFatal("The service ends because of an unexpected error", cause)
    else writeFatal(message, Cause.empty)
    process.exitCode = 1
  })
}

/** Logs errors that nothing catches before they end the process with status 1, as they would without a log. */
export const endOnUncaught = (): void => {
  if (process.stdout.isTTY) return
  for (const event of ["uncaughtException", "unhandledRejection"]) {
    process.on(event, (error: unknown) => {
      writeFatal("The service ends because of an unexpected error", Cause.die(error))
      process.exit(1)
    })
  }
}
