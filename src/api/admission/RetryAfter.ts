import type { HttpServerRequest } from "effect/http"

let turn = 0

/** Returns the `Retry-After` of a 503: 1 to 5 seconds in rotation, so that refused clients do not all retry at once. */
export const retryAfter = (): string => String(1 + turn++ % 5)

const waits = new WeakMap<object, number>()

/** Sets the `Retry-After` of a request's response to `seconds`. Returns `problem`. */
export const retryLater = <A>(
  { source }: HttpServerRequest.HttpServerRequest,
  seconds: number,
  problem: A,
): A => {
  waits.set(source, seconds)
  return problem
}

/** Returns the header `Retry-After` that `retryLater` set for a request, or an empty object. */
export const retryAfterOf = (
  { source }: HttpServerRequest.HttpServerRequest,
): { readonly "retry-after"?: string } => {
  const seconds = waits.get(source)
  return seconds === undefined ? {} : { "retry-after": String(seconds) }
}
