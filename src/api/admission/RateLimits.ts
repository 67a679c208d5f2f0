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

// Keyed by Node's request, which stays the same object in all middleware.
const uses = new WeakMap<object, Use>()

/**
 * Counts `requests` against the limit of a key. Does nothing for a key without a limit. Fails with `RateLimited` beyond
 * it.
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
 * The rate-limit headers of a request whose key has a limit (draft-ietf-httpapi-ratelimit-headers-10), with
 * `Retry-After` if it was refused. Undefined without a limit.
 */
export const headersOf = (
  { source }: HttpServerRequest.HttpServerRequest,
): Readonly<Record<string, string>> | undefined => {
  const use = uses.get(source)
  if (use === undefined) return undefined
  const { limit, remaining, resetSeconds, windowSeconds } = use.window.standing()
  return {
    "ratelimit-policy": `"default";q=${limit};w=${windowSeconds}`,
    "ratelimit": `"default";r=${use.refused === 0 ? remaining : 0};t=${resetSeconds}`,
    ...(use.refused === 0 ? {} : { "retry-after": String(use.window.retryAfterSeconds(use.refused)) }),
  }
}
