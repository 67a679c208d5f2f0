import { Cause, Console, Effect } from "effect"
import type { HttpClientResponse } from "effect/http"
import * as HttpClientError from "effect/http/HttpClientError"
import { jsonOf } from "./ResponseJson.ts"

const member = (value: unknown, name: string): unknown =>
  value !== null && typeof value === "object" && name in value ? (value as Record<string, unknown>)[name] : undefined

/** The text of a problem: its faults, or else its detail. Undefined for a value that is not a problem. */
export const faultText = (problem: unknown): string | undefined => {
  const faults = member(problem, "errors")
  if (Array.isArray(faults) && faults.length > 0) {
    return faults.map((fault) => {
      const pointer = String(member(fault, "pointer") ?? "")
      // A fault of the whole body has an empty pointer.
      return `${pointer === "" ? "" : `${pointer}: `}${String(member(fault, "detail"))}`
    }).join("\n")
  }
  const detail = member(problem, "detail")
  return typeof detail === "string" && detail !== "" ? detail : undefined
}

/** The message for a response outside the contract, such as a 503 of an overloaded service. */
const messageOfResponse = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse) {
  const { headers, status } = response
  const problem = headers["content-type"]?.startsWith("application/problem+json")
    ? yield* Effect.orElseSucceed(jsonOf(response), () => undefined)
    : undefined
  const text = faultText(problem)
  if (status === 503) {
    const seconds = /^\d+$/.exec(headers["retry-after"] ?? "")?.[0]
    return `${(text ?? "The service answered 503: it accepts no requests now").replace(/\.$/, "")}. Try again ` +
      (seconds === undefined ? "later." : `in ${seconds} s.`)
  }
  return text ??
    `The service answered with the unexpected status ${status}. ` +
      `Look up the request id ${headers["x-request-id"]} in its logs.`
})

/** The base URL of requests that are answered within this process, without a network. */
export const inProcessUrl = "http://parlance.local"

/** The message of the first cause of an error. */
export const firstCause = (error: unknown): string => {
  const cause = member(error, "cause")
  if (cause !== undefined && cause !== null && cause !== error) return firstCause(cause)
  const message = member(error, "message")
  return (typeof message === "string" && message !== "" ? message : String(error)).replace(/\.$/, "")
}

/** Returns why a request got no response: a sentence for faults of TLS, and otherwise the message of the first cause. */
export const causeOfSilence = (error: unknown): string => {
  const cause = firstCause(error)
  if (/wrong.version.number|http.request|packet.length.too.long|InvalidContentType/i.test(cause)) {
    return "it answers without TLS, so its address begins with http://"
  }
  return /certificate|UnknownIssuer/i.test(cause)
    ? `${cause}. Trust the certificate of its authority: NODE_EXTRA_CA_CERTS of Node or DENO_CERT of Deno names the file`
    : cause
}

/** The message for a request without a response. */
const messageOfRequest = ({ reason, request }: HttpClientError.HttpClientError): string =>
  request.url.startsWith(inProcessUrl)
    ? `The command failed within this process: ${firstCause(reason)}. ` +
      "Check that the database of DATABASE_URL or DATA_DIR is available, then repeat the command."
    : `The service at ${new URL(request.url).origin} did not answer: ${causeOfSilence(reason)}. ` +
      "Check that it runs and that this is its address, which comes from PARLANCE_URL, a profile of `parlance login` or " +
      "DATA_DIR/address."

/** The message of an error for people: its cause, its place, and the next step. */
export const messageOf = (error: unknown): Effect.Effect<string> => {
  if (HttpClientError.isHttpClientError(error)) {
    return error.response !== undefined ? messageOfResponse(error.response) : Effect.succeed(messageOfRequest(error))
  }
  const message = faultText(error) ?? member(error, "message")
  return Effect.succeed(typeof message === "string" && message !== "" ? message : String(error))
}

/** Turns the failure of a check into a diagnosis of its message. */
export const orFault = <A, E, R, Diagnosis>(
  check: Effect.Effect<A, E, R>,
  diagnose: (text: string) => Diagnosis,
): Effect.Effect<A | ReadonlyArray<Diagnosis>, never, R> =>
  Effect.catchCause(check, (cause) => Effect.map(messageOf(Cause.squash(cause)), (text) => [diagnose(text)]))

/** Prints the error of a command to standard error, and sets the exit status 1. */
export const report = (error: unknown) =>
  // Faults of the command line are already printed with the help.
  member(error, "_tag") === "ShowHelp" ? Effect.sync(() => void (process.exitCode = 1)) : Effect.flatMap(
    messageOf(error),
    (message) => Effect.andThen(Console.error(`parlance: ${message}`), Effect.sync(() => void (process.exitCode = 1))),
  )
