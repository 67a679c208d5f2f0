import { ParlanceProblem, ParlanceUnavailable } from "./errors.ts"
import type { CallOptions } from "./types.ts"

/** The longest pause between two attempts, in milliseconds. A service that asks for more is not asked again. */
const longestPause = 30_000

/** Statuses after which another attempt may succeed. */
const passing = new Set([408, 425, 429, 500, 502, 503, 504])

/** Whether a call may succeed later, so that content to fall back on is of use. */
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
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Whether an object is an answer to this call, and not one of a proxy or of another service. */
  readonly isAnswer: (body: Readonly<Record<string, unknown>>) => boolean
  /** The longest pause that this call waits before another attempt, in milliseconds. Default 30,000. */
  readonly longestPause?: number
}

export interface Answer {
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Headers
}

/** `Retry-After` in milliseconds: seconds, or a date. */
const retryAfterOf = (headers: Headers): number | undefined => {
  const text = headers.get("retry-after")
  if (text === null) return undefined
  const millis = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isNaN(millis) ? undefined : Math.max(0, millis)
}

/** Whether a value is an object, and not a list. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The object of a body; undefined for other content, such as the HTML of a proxy on the way. */
const parsed = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The most bytes of an answer that are read: far more than any answer of the service has. */
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
      throw new TypeError(`The answer is larger than ${maxBytes} bytes`)
    }
    text += decoder.decode(value, { stream: true })
  }
}

/** The problem of a redirect. It is not followed, because the key would be sent wherever it leads. */
const redirected = (location: string | null) => ({
  title: "The service redirected the request",
  detail: "`url` must be the address that answers itself" + (location === null ? "" : `. It redirected to ${location}`),
})

/** The failure of an answer that is not a success. */
const problemOf = (response: Response, answer: Readonly<Record<string, unknown>> | undefined): ParlanceProblem => {
  const { headers, status, type } = response
  const isRedirect = type === "opaqueredirect" || (status >= 300 && status <= 399)
  return new ParlanceProblem(
    status,
    isRedirect ? redirected(headers.get("location")) : answer ?? {},
    retryAfterOf(headers),
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
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  })
  const answer = parsed(await textOf(response))
  if (!response.ok) throw problemOf(response, answer)
  if (answer === undefined || !call.isAnswer(answer)) {
    throw new TypeError(`The answer with status ${response.status} is not one of Parlance`)
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

/** How long to wait before attempt number `next`, from 2 on: from 100 ms on, doubled each time, with half of it by chance. */
const backoff = (next: number): number => Math.min(longestPause, 100 * 2 ** (next - 2)) * (0.5 + Math.random() / 2)

/**
 * Sends a request, and sends it again after a pause while that may help. Fails with `ParlanceProblem` if the service refuses
 * it, with `ParlanceUnavailable` if no answer came, and with the reason of an aborted `signal`.
 */
export const send = async (transport: Transport, call: Call, options: CallOptions = {}): Promise<Answer> => {
  const attempts = 1 + (options.retries ?? transport.retries)
  const longest = call.longestPause ?? longestPause
  // Outside of the attempts: a value that cannot be written as JSON is a mistake of the caller.
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
        // Added, so that callers that were refused together do not come back together.
        wait += error.retryAfter ?? 0
        if (isLast || !passing.has(error.status) || wait > longest) throw error
      } else if (isLast) {
        const times = attempts === 1 ? "" : ` in ${attempts} attempts`
        throw new ParlanceUnavailable(`${transport.url} did not answer${times}`, { cause: error })
      }
    }
    await pause(wait, options.signal)
  }
}
