import { Console, Effect } from "effect"
import type { HttpClientResponse } from "effect/http"
import * as HttpClientError from "effect/http/HttpClientError"

const member = (value: unknown, name: string): unknown =>
  value !== null && typeof value === "object" && name in value ? (value as Record<string, unknown>)[name] : undefined

/** The text of a problem: each of its faults, or else its detail; undefined for other values. */
const problemText = (problem: unknown): string | undefined => {
  const faults = member(problem, "errors")
  if (Array.isArray(faults) && faults.length > 0) {
    return faults.map((fault) => `${String(member(fault, "pointer"))}: ${String(member(fault, "detail"))}`).join("\n")
  }
  const detail = member(problem, "detail")
  return typeof detail === "string" && detail !== "" ? detail : undefined
}

/** The text about a response outside the contract, such as that of an overloaded service. */
const messageOfResponse = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse) {
  const { headers, status } = response
  const problem = headers["content-type"]?.startsWith("application/problem+json")
    ? yield* Effect.orElseSucceed(response.json, () => undefined)
    : undefined
  const text = problemText(problem)
  if (status === 503) {
    const seconds = /^\d+$/.exec(headers["retry-after"] ?? "")?.[0]
    return `${text ?? "The service answered 503, it takes no requests now"}: try again ` +
      (seconds === undefined ? "later." : `in ${seconds} s.`)
  }
  return text ?? `The service answered ${status}, which it should not have; ` +
      `its logs say why under the request id ${headers["x-request-id"]}.`
})

/** The text of an error for people: its cause, its place, and the next step. */
export const messageOf = (error: unknown): Effect.Effect<string> => {
  if (HttpClientError.isHttpClientError(error)) {
    return error.response !== undefined ? messageOfResponse(error.response) : Effect.succeed(
      `The service did not answer: ${error.message}. ` +
        "Is it running? Without PARLANCE_URL the command works on DATA_DIR or DATABASE_URL itself.",
    )
  }
  const message = problemText(error) ?? member(error, "message")
  return Effect.succeed(typeof message === "string" && message !== "" ? message : String(error))
}

/** Prints the error of a command to standard error and makes the process end with status 1. */
export const report = (error: unknown) =>
  // Faults of the command line have been printed with the help.
  member(error, "_tag") === "ShowHelp" ? Effect.sync(() => void (process.exitCode = 1)) : Effect.flatMap(
    messageOf(error),
    (message) => Effect.andThen(Console.error(`parlance: ${message}`), Effect.sync(() => void (process.exitCode = 1))),
  )
