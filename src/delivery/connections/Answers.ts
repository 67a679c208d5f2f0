import { Clock, Duration, Effect, Result } from "effect"
import { Buffer } from "node:buffer"
import * as Json from "../../json/Json.ts"
import type { SendResult, TestResult } from "../Connection.ts"
import type { RefusalClass } from "../../domain/refusals/RefusalTable.ts"
import { isAboutRecipient } from "../RefusalCause.ts"
import type { NoAnswer, OutboundHttp, OutboundRequest, OutboundResponse } from "../OutboundHttp.ts"

/** Longer pauses that a platform requests for a connection are shortened to this. */
const maxWait = Duration.hours(1)
/** Longer pauses that a platform requests for one message are shortened to this. */
const maxMessageWait = Duration.hours(24)
/** Maximum length of the quoted answer in a reason. Unit: characters. */
const maxExcerpt = 300

const forms = (secret: string): ReadonlyArray<string> => [
  secret,
  encodeURIComponent(secret),
  JSON.stringify(secret).slice(1, -1),
  Buffer.from(secret).toString("base64"),
]

/**
 * Returns the beginning of a platform's answer as one line of at most 300 characters. Replaces text that looks like one
 * of the secrets, in case the platform repeats it.
 */
export const excerpt = (text: string, secrets: ReadonlyArray<string>): string => {
  let clean = text
  for (const form of secrets.flatMap(forms).sort((a, b) => b.length - a.length)) {
    if (form.length >= 4) clean = clean.replaceAll(form, "[secret]")
  }
  // deno-lint-ignore no-control-regex
  const line = clean.toWellFormed().replace(/[\u0000-\u0020\u007f-\u009f\u2028-\u202e\u2066-\u2069]+/g, " ").trim()
  return line.length <= maxExcerpt ? line : `${line.slice(0, maxExcerpt - 1).toWellFormed()}…`
}

/** Returns the first value of a header, by its lowercase name. */
export const headerOf = ({ headers }: OutboundResponse, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === "string" ? value : value?.[0]
}

const capped = (millis: number, longest: Duration.Duration): Duration.Duration | undefined =>
  Number.isFinite(millis) ? Duration.millis(Math.min(Math.max(millis, 0), Duration.toMillis(longest))) : undefined

/**
 * Returns the pause that a platform requests: by `Retry-After` in seconds or as a date, or by `X-RateLimit-Reset` in
 * Unix seconds. Undefined if it requests none. Longer pauses are shortened to `longest`, default 1 hour. `now` is in
 * Unix milliseconds.
 */
export const waitOf = (answer: OutboundResponse, now: number, longest = maxWait): Duration.Duration | undefined => {
  const after = headerOf(answer, "retry-after")?.trim()
  if (after !== undefined && after !== "") {
    return capped(/^\d+(\.\d+)?$/.test(after) ? Number(after) * 1_000 : Date.parse(after) - now, longest)
  }
  const reset = headerOf(answer, "x-ratelimit-reset")?.trim()
  return reset !== undefined && /^\d+(\.\d+)?$/.test(reset) ? capped(Number(reset) * 1_000 - now, longest) : undefined
}

/** Returns the pause that a platform requests for one message: like `waitOf`, but at most 24 hours. */
export const messageWaitOf = (answer: OutboundResponse, now: number): Duration.Duration | undefined =>
  waitOf(answer, now, maxMessageWait)

/** Returns the JSON object in an answer's body, or undefined if the body is not a JSON object. */
export const objectOf = ({ body }: OutboundResponse): Readonly<Record<string, unknown>> | undefined => {
  try {
    const json: unknown = Json.parse(body)
    return typeof json === "object" && json !== null && !Array.isArray(json)
      ? json as Record<string, unknown>
      : undefined
  } catch {
    return undefined
  }
}

/** The result of a message that the platform accepted. */
export const accepted = (
  messageId?: string,
  links: Extract<SendResult, { _tag: "accepted" }>["links"] = [],
): SendResult => ({
  _tag: "accepted",
  messageId,
  links,
})

/** The result of a failure that another attempt may overcome. It belongs to the connection. */
export const retry = (reason: string, uncertain = false, wait?: Duration.Duration): SendResult => ({
  _tag: "retry",
  scope: "connection",
  reason,
  uncertain,
  deferred: false,
  wait,
})
/** The recipient's server defers this message. */
export const deferred = (reason: string): SendResult => ({
  _tag: "retry",
  scope: "recipient",
  reason,
  uncertain: false,
  deferred: true,
  wait: undefined,
})

/** The result of a message that will never be accepted. `refusal`: the reason, if the recipient's server refused it. */
export const refused = (reason: string, refusal?: RefusalClass): SendResult => ({
  _tag: "refused",
  reason,
  ...(refusal === undefined ? {} : { refusal }),
})

/** The result of a message that cannot be written in the platform's format. */
export const unfit = (reason: string): SendResult => ({ _tag: "unfit", reason })

/** The result of an attempt that shows that the connection cannot send any message. */
export const broken = (reason: string): SendResult => ({ _tag: "broken", reason })

/** The result of an attempt after which the platform requests fewer messages. */
export const slowDown = (reason: string, wait?: Duration.Duration): SendResult => ({
  _tag: "slow-down",
  scope: "connection",
  reason,
  wait,
})
/** Assigns a failure to the message or its recipient's domain instead of the connection. */
export const ofRecipient = (result: SendResult): SendResult =>
  result._tag === "retry" || result._tag === "slow-down" ? { ...result, scope: "recipient" } : result

/** Describes a platform's answer: its name, the status, and the beginning of the body. */
export const reasonOf = (platform: string, answer: OutboundResponse, secrets: ReadonlyArray<string>): string => {
  const said = excerpt(answer.body, secrets)
  return `${platform} answered ${answer.status}${said === "" ? "" : `: ${said}`}`
}

const lossOf = (platform: string, { detail, kind }: NoAnswer): string => {
  switch (kind) {
    case "address":
      return `${platform} was not connected to: ${detail}`
    case "certificate":
      return `${platform} has no valid TLS certificate: ${detail}`
    case "unreachable":
      return `${platform} could not be reached: ${detail}`
    case "broken":
      return `The connection to ${platform} broke: ${detail}`
    case "timeout":
      return `${platform} was too slow: ${detail}`
    case "withheld":
      return `Nothing was sent to ${platform}: ${detail}`
  }
}

/** Returns the result of an attempt without an answer. */
export const sortNoAnswer = (platform: string, loss: NoAnswer, secrets: ReadonlyArray<string>): SendResult => {
  const reason = excerpt(lossOf(platform, loss), secrets)
  if (loss.kind === "withheld") return { _tag: "yielded", reason }
  return loss.kind === "address" || loss.kind === "certificate" ? broken(reason) : retry(reason, loss.sent)
}

/**
 * Returns the result for an answer without a success status, for platforms that use the usual HTTP statuses:
 *
 *     404 with a JSON body that names the recipient    refused
 *     3xx, 401, 403, 404, 405, 410    broken: the endpoint or the credentials are wrong
 *     429, 503 with Retry-After       slow-down
 *     408, 425, 5xx                   retry, after Retry-After; from a gateway (502, 504) uncertain
 *     others                          refused
 */
export const sortStatus = (
  platform: string,
  answer: OutboundResponse,
  secrets: ReadonlyArray<string>,
  now: number,
): SendResult => {
  const reason = reasonOf(platform, answer, secrets)
  const { status } = answer
  const repeat = (uncertain = false) => retry(reason, uncertain, messageWaitOf(answer, now))
  if (status >= 300 && status < 400) {
    const target = excerpt(headerOf(answer, "location") ?? "nowhere", secrets)
    return broken(
      `${platform} answered ${status}, a redirect to ${target}. Redirects are not followed: enter that address`,
    )
  }
  switch (status) {
    case 401:
    case 403:
      return broken(`${reason}. Check the credentials and what they permit`)
    case 404:
      if (objectOf(answer) !== undefined && isAboutRecipient(answer.body)) return refused(reason)
      return broken(`${reason}. Check the address and the ids in the settings`)
    case 405:
    case 410:
      return broken(`${reason}. Check the address and the ids in the settings`)
    case 408:
    case 425:
      return repeat()
    case 429:
      return slowDown(reason, waitOf(answer, now))
    case 502:
    case 504:
      return repeat(true)
  }
  if (status === 503 && headerOf(answer, "retry-after") !== undefined) return slowDown(reason, waitOf(answer, now))
  return status >= 500 ? repeat() : refused(reason)
}

/**
 * The result for a success status with an unexpected body: another server may have answered instead of the platform.
 */
export const odd = (
  platform: string,
  answer: OutboundResponse,
  lacking: string,
  secrets: ReadonlyArray<string>,
): SendResult => retry(`${reasonOf(platform, answer, secrets)}; but there is no ${lacking}`, true)

/** The result of a successful test of a connection. */
export const works = (detail: string): TestResult => ({ ok: true, detail })

/** The result of a failed test of a connection. */
export const fails = (detail: string): TestResult => ({ ok: false, detail })

/**
 * Returns the result of a credentials test. `right` returns a text for an answer that proves the credentials; the text
 * names the parts that were not tested.
 */
const testOf = (
  platform: string,
  result: Result.Result<OutboundResponse, NoAnswer>,
  secrets: ReadonlyArray<string>,
  right: (answer: OutboundResponse) => string | undefined,
): TestResult => {
  if (Result.isFailure(result)) return fails(excerpt(lossOf(platform, result.failure), secrets))
  const proof = right(result.success)
  return proof === undefined ? fails(reasonOf(platform, result.success, secrets)) : works(proof)
}

/** A platform to send requests to. `secrets` are removed from every message about it. */
export interface Peer {
  readonly name: string
  readonly http: OutboundHttp
  readonly secrets: ReadonlyArray<string>
}

/** Sends one message with one request. `sort` classifies the platform's answers. */
export const exchange = (
  { http, name, secrets }: Peer,
  request: OutboundRequest,
  sort: (answer: OutboundResponse, now: number) => SendResult,
): Effect.Effect<SendResult> =>
  Effect.matchEffect(http.request(request), {
    onFailure: (loss) => Effect.succeed(sortNoAnswer(name, loss, secrets)),
    onSuccess: (answer) => Effect.map(Clock.currentTimeMillis, (now) => sort(answer, now)),
  })

/**
 * Tests credentials with a request that sends no message. `right` returns a text if an answer proves the credentials.
 */
export const probe = (
  { http, name, secrets }: Peer,
  request: OutboundRequest,
  right: (answer: OutboundResponse) => string | undefined,
): Effect.Effect<TestResult> =>
  Effect.map(Effect.result(http.request(request)), (result) => testOf(name, result, secrets, right))

/** Returns a POST request with a JSON body. */
export const posting = (url: URL, headers: Readonly<Record<string, string>>, body: unknown): OutboundRequest => ({
  method: "POST",
  url,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
})
