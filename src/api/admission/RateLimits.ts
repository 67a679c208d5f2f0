import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { RateWindow } from "../../auth/RateWindow.ts"
import type { Grant } from "../../auth/KeyAuth.ts"
import { RateLimited } from "../Problems.ts"
import { Refusals } from "./Refusals.ts"

/** The effect of a request on the rate limit of its key. */
interface Use {
  readonly window: RateWindow
  /** Number of requests that were refused together; 0 if admitted. */
  readonly refused: number
}

// The keys are the server's request objects, which are identical in all middleware.
const uses = new WeakMap<object, Use>()

/**
 * Counts `requests` against the limit of a key. Does nothing for a key without a limit. Fails with `RateLimited` beyond
 * the limit.
 */
export const charge = (
  request: HttpServerRequest.HttpServerRequest,
  { keyId, org, window }: Grant,
  requests: number,
): Effect.Effect<void, RateLimited, Refusals> => {
  if (window === undefined) return Effect.void
  const { source } = request
  const isTaken = window.take(requests)
  if (!isTaken || window.isAnnounced) uses.set(source, { window, refused: isTaken ? 0 : requests })
  if (isTaken) return Effect.void
  const rate = `${window.limit} per ${window.windowMillis === 1000 ? "second" : "minute"}`
  const detail = requests > window.limit
    ? `The request counts as ${requests} requests, more than the limit of the key (${rate}). Send fewer items at once`
    : `The key has reached its limit of ${rate}`
  return Effect.flatMap(Refusals, (refusals) => {
    refusals.count(request, "rate_limit", { org, subject: keyId })
    return new RateLimited({ detail })
  })
}

/**
 * Returns headers with the state of a window (draft-ietf-httpapi-ratelimit-headers-10). If `refused` is not 0, adds
 * `Retry-After` for that number of requests.
 */
const headersOfWindow = (window: RateWindow, refused: number): Readonly<Record<string, string>> => {
  const { limit, remaining, resetSeconds, windowSeconds } = window.state()
  return {
    "ratelimit-policy": `"default";q=${limit};w=${windowSeconds}`,
    "ratelimit": `"default";r=${refused === 0 ? remaining : 0};t=${resetSeconds}`,
    ...(refused === 0 ? {} : { "retry-after": String(window.retryAfterSeconds(refused)) }),
  }
}

/**
 * Returns the rate-limit headers of the response to a request. Undefined if the request was not counted against a limit
 * or its window is not announced.
 */
export const headersOf = (
  { source }: HttpServerRequest.HttpServerRequest,
): Readonly<Record<string, string>> | undefined => {
  const use = uses.get(source)
  return use === undefined ? undefined : headersOfWindow(use.window, use.refused)
}
