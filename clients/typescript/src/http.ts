import { causeOf, UnexpectedAnswer } from "./causes.ts"
import { ParlanceProblem, ParlanceUnavailable } from "./errors.ts"
import type { CallOptions } from "./types.ts"
import { userAgent } from "./version.ts"

/** Maximum pause between two attempts. If the service requests a longer pause, the call fails. Unit: milliseconds. */
const longestPause = 30_000

/** Statuses after which a retry may succeed. */
const passing = new Set([408, 425, 429, 500, 502, 503, 504])

/** Whether a call may succeed later, so that a fallback can replace its content. */
export const isPassing = (error: unknown): error is ParlanceProblem | ParlanceUnavailable =>
  error instanceof ParlanceUnavailable ||
  (error instanceof ParlanceProblem && (passing.has(error.status) || error.status >= 500))

export interface Transport {
  readonly url: string
  readonly apiKey: string
  readonly timeout: number
  readonly retries: number
  readonly fetch: typeof globalThis.fetch
}

export interface Call {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Whether an object is an answer to this call. A proxy or another service may send other objects. */
  readonly isAnswer: (body: Readonly<Record<string, unknown>>) => boolean
  /** Reads the text of an answer. Returns undefined for other content. Default: reads a JSON object. */
  readonly parse?: (text: string) => Readonly<Record<string, unknown>> | undefined
  /** Whether a retry could carry out the call twice. Such a call is retried only if the service did not accept it. */
  readonly isOnce?: boolean
  /** Maximum pause of this call between two attempts. Default: 30,000. Unit: milliseconds. */
  readonly longestPause?: number
}

export interface Answer {
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Headers
}

/** Returns `Retry-After`, which is a number of seconds or a date. Unit: milliseconds. */
const retryAfterOf = (headers: Headers): number | undefined => {
  const text = headers.get("retry-after")
  if (text === null) return undefined
  const millis = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isNaN(millis) ? undefined : Math.max(0, millis)
}

/** Whether a value is an object and not a list. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Returns the object in a body. Undefined for other content, such as the HTML page of a proxy. */
const parsed = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Maximum size of an answer, far above the size of any answer of the service. Unit: bytes. */
const maxBytes = 32 * 1024 * 1024

const textOf = async ({ body }: Response): Promise<string> => {
  const reader = body?.getReader()
  if (reader === undefined) return ""
  const decoder = new TextDecoder()
  let text = ""
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.length
    if (bytes > maxBytes) {
      await reader.cancel()
      throw new UnexpectedAnswer(`The answer is larger than ${maxBytes} bytes`)
    }
    text += decoder.decode(value, { stream: true })
  }
}

/** Returns the problem of a redirect. The client does not follow it, because the target would receive the key. */
const redirected = (location: string | null) => ({
  title: "The service redirected the request",
  detail: "`url` must be the address that answers itself" + (location === null ? "" : `. It redirected to ${location}`),
})

/** Returns the problem of an answer with an error status. */
const problemOf = (response: Response, answer: Readonly<Record<string, unknown>> | undefined): ParlanceProblem => {
  const { headers, status, type } = response
  const isRedirect = type === "opaqueredirect" || (status >= 300 && status <= 399)
  return new ParlanceProblem(
    status,
    isRedirect ? redirected(headers.get("location")) : answer ?? {},
    retryAfterOf(headers),
    headers.get("x-request-id") ?? undefined,
  )
}

const attempt = async (
  transport: Transport,
  call: Call,
  body: string | undefined,
  options: CallOptions,
): Promise<Answer> => {
  const timeout = AbortSignal.timeout(options.timeout ?? transport.timeout)
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout])
  const { headers, method, path } = call
  const response = await transport.fetch(`${transport.url}${path}`, {
    method,
    signal,
    redirect: "manual",
    headers: {
      "x-api-key": transport.apiKey,
      "user-agent": userAgent,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  })
  const text = await textOf(response)
  if (!response.ok) throw problemOf(response, parsed(text))
  const answer = (call.parse ?? parsed)(text)
  if (answer === undefined || !call.isAnswer(answer)) {
    throw new UnexpectedAnswer(`The answer with status ${response.status} is not one of Parlance`)
  }
  return { body: answer, headers: response.headers }
}

const pause = (millis: number, signal: AbortSignal | undefined) =>
  new Promise<void>((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end)
      resolve()
    }, millis)
    signal?.addEventListener("abort", end, { once: true })
  })

/**
 * Returns the pause before attempt number `next`, from 2 on: 100 ms, doubled for each following attempt, up to the
 * maximum pause. Half of it is random. Unit: milliseconds.
 */
const backoff = (next: number): number => Math.min(longestPause, 100 * 2 ** (next - 2)) * (0.5 + Math.random() / 2)

/**
 * Sends a request, and retries it after a pause if a retry may succeed. Fails with `ParlanceProblem` if the service
 * refuses the request, with `ParlanceUnavailable` if no answer arrived, and with the reason of an aborted `signal`.
 */
export const send = async (transport: Transport, call: Call, options: CallOptions = {}): Promise<Answer> => {
  const attempts = 1 + (options.retries ?? transport.retries)
  const longest = call.longestPause ?? longestPause
  // Serialized before the attempts, because a value that is not valid as JSON is a mistake of the caller and not
  // retried.
  const body = call.body === undefined ? undefined : JSON.stringify(call.body)
  for (let number = 1;; number++) {
    options.signal?.throwIfAborted()
    let wait = backoff(number + 1)
    try {
      return await attempt(transport, call, body, options)
    } catch (error) {
      if (options.signal?.aborted) throw options.signal.reason
      const isLast = number >= attempts
      if (error instanceof ParlanceProblem) {
        // Added to the random pause, so that callers that were refused together do not retry together.
        wait += error.retryAfter ?? 0
        const mayPass = call.isOnce === true ? error.status === 429 : passing.has(error.status)
        if (isLast || !mayPass || wait > longest) throw error
      } else {
        const { reason, text } = causeOf(error, options.timeout ?? transport.timeout)
        const mayRepeat = call.isOnce !== true || reason === "refused" || reason === "dns"
        if (isLast || !mayRepeat) {
          const times = number === 1 ? "" : ` in ${number} attempts`
          throw new ParlanceUnavailable(`${transport.url} did not answer${times}: ${text}`, reason, { cause: error })
        }
      }
    }
    await pause(wait, options.signal)
  }
}
