import type { HttpServerRequest } from "effect/http"

let turn = 0

/** `Retry-After` of a 503: 1 to 5 seconds in turn, so that refused clients do not all retry at once. */
export const retryAfter = (): string => String(1 + turn++ % 5)

const waits = new WeakMap<object, number>()

/** Marks a request as refused for now: its response gets a `Retry-After` of `seconds`. Returns `problem`. */
export const retryLater = <A>(
  { source }: HttpServerRequest.HttpServerRequest,
  seconds: number,
  problem: A,
): A => {
  waits.set(source, seconds)
  return problem
}

/** The header `Retry-After` of a request that `retryLater` marked; empty otherwise. */
export const retryAfterOf = (
  { source }: HttpServerRequest.HttpServerRequest,
): { readonly "retry-after"?: string } => {
  const seconds = waits.get(source)
  return seconds === undefined ? {} : { "retry-after": String(seconds) }
}
