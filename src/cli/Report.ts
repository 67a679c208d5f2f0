import { Console, Effect } from "effect"

const member = (value: unknown, name: string): unknown =>
  value !== null && typeof value === "object" && name in value ? (value as Record<string, unknown>)[name] : undefined

/** What a person should read of an error: what happened, where, and what to do. */
export const messageOf = (error: unknown): string => {
  const tag = member(error, "_tag")
  const faults = member(error, "errors")
  if (Array.isArray(faults) && faults.length > 0) {
    return faults.map((fault) => `${String(member(fault, "pointer"))}: ${String(member(fault, "detail"))}`).join("\n")
  }
  if (tag === "HttpClientError") {
    const response = member(member(error, "reason"), "response")
    if (response !== undefined) {
      const requestId = member(member(response, "headers"), "x-request-id")
      return `The service answered ${String(member(response, "status"))}, which it should not have; ` +
        `its logs say why under the request id ${String(requestId)}.`
    }
    return `The service did not answer: ${String(member(error, "message"))}. ` +
      "Is it running? Without PARLANCE_URL the command works on DATA_DIR or DATABASE_URL itself."
  }
  const detail = member(error, "detail") ?? member(error, "message")
  return typeof detail === "string" && detail !== "" ? detail : String(error)
}

/** Prints the error of a command to standard error and makes the process end with status 1. */
export const report = (error: unknown) =>
  // What is wrong with the command line has been printed, with the help.
  member(error, "_tag") === "ShowHelp"
    ? Effect.sync(() => void (process.exitCode = 1))
    : Effect.andThen(Console.error(`parlance: ${messageOf(error)}`), Effect.sync(() => void (process.exitCode = 1)))
