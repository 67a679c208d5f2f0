import { Cause, Effect } from "effect"
import { partsOf } from "../telemetry/Discreet.ts"
import { jsonOf } from "../telemetry/LogLine.ts"
import { messageOf, report } from "./Report.ts"

// Writes the last line of the log in the form of all other lines, even if the logger does not exist yet.

/** Writes the last line. `cause` is the cause of a defect, logged with its stack, or empty for an expected failure. */
const writeFatal = (message: string, cause: Cause.Cause<unknown>): void => {
  const parts = partsOf(message, cause)
  const stacks = parts.cause.reasons.length === 0 ? "" : Cause.pretty(parts.cause)
  console.log(jsonOf({ date: new Date(), level: "Fatal", message: parts.text, annotations: {}, cause: stacks }))
}

/** Logs the reason why the service ends, and sets the exit status 1. A terminal shows the reason as text. */
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

/** Logs uncaught errors, and then ends the process with status 1 as the runtime would. */
export const endOnUncaught = (): void => {
  if (process.stdout.isTTY) return
  for (const event of ["uncaughtException", "unhandledRejection"]) {
    process.on(event, (error: unknown) => {
      writeFatal("The service ends because of an unexpected error", Cause.die(error))
      process.exit(1)
    })
  }
}
