import { Duration } from "effect"
import * as Breaker from "./CircuitBreaker.ts"
import type { FailureScope, SendResult } from "./Connection.ts"

/** The owner of a failure: the connection, the recipient's domain (`recipient`), or the message alone. */
export type FailureOwner = FailureScope | "message"

/**
 * Returns the owner of a failed attempt, or undefined if the attempt did not fail or was not made:
 *
 *     broken                      connection
 *     retry, slow-down            their scope: the recipient for an SMTP reply about it, otherwise the connection
 *     refused, unfit              message
 *     accepted, yielded           undefined
 */
export const ownerOf = (result: SendResult): FailureOwner | undefined => {
  switch (result._tag) {
    case "accepted":
    case "yielded":
      return undefined
    case "broken":
      return "connection"
    case "retry":
    case "slow-down":
      return result.scope
    case "refused":
    case "unfit":
      return "message"
  }
}

/** Whether an attempt proves that the other side responds. */
const isHeard = (scope: FailureScope, result: SendResult): boolean => {
  if (result._tag === "accepted" || result._tag === "refused") return true
  // A reply about the recipient shows that the connection works; silence shows nothing.
  return scope === "connection" && ownerOf(result) === "recipient" &&
    (result._tag === "slow-down" || (result._tag === "retry" && result.deferred))
}

/** Returns the breaker of a connection or recipient domain after an attempt. It counts only failures that it owns. */
export const afterAttempt = (
  breaker: Breaker.CircuitBreaker,
  scope: FailureScope,
  result: SendResult,
  startedAt: number,
  now: number,
): Breaker.CircuitBreaker => {
  if (ownerOf(result) !== scope) return isHeard(scope, result) ? Breaker.succeed(breaker, startedAt) : breaker
  const policy = scope === "connection" ? Breaker.connectionPolicy : Breaker.domainPolicy
  switch (result._tag) {
    case "broken":
      return Breaker.breakDown(breaker, result.reason, startedAt, now)
    case "retry":
      return Breaker.fail(breaker, policy, result.reason, startedAt, now)
    case "slow-down": {
      const wait = result.wait === undefined ? undefined : Duration.toMillis(result.wait)
      return Breaker.slowDown(breaker, policy, result.reason, wait, startedAt, now)
    }
    default:
      return breaker
  }
}

/** Maximum number of remembered messages with answers about the connection. */
const blamesKept = 1_000

/**
 * Number of answers about the connection that one message may receive. With more answers, the message is the owner, if
 * other messages were accepted in the meantime.
 */
const blamesAllowed = { "broken": 1, "slow-down": 4 }

/**
 * Answers about the connection, by message: the time of the first answer and the number of answers. Unit: milliseconds.
 */
export interface Blames {
  readonly messages: ReadonlyMap<string, { readonly firstAt: number; readonly count: number }>
  /** Start of the latest accepted attempt. */
  readonly acceptedFrom: number
}

/** The record before the first answer about the connection. */
export const noBlames: Blames = { messages: new Map(), acceptedFrom: -Infinity }

/**
 * Finds the owner of answers such as 404 or 429 that a platform repeats for one message while it accepts others. The
 * message owns them. Otherwise the message would pause the connection forever, because such answers do not count as
 * attempts.
 */
export const judge = (
  blames: Blames,
  id: string,
  result: SendResult,
  startedAt: number,
  now: number,
): readonly [Blames, SendResult] => {
  if (result._tag === "accepted") {
    const messages = new Map(blames.messages)
    messages.delete(id)
    return [{ messages, acceptedFrom: Math.max(blames.acceptedFrom, startedAt) }, result]
  }
  if ((result._tag !== "broken" && result._tag !== "slow-down") || ownerOf(result) !== "connection") {
    return [blames, result]
  }
  const { count, firstAt } = blames.messages.get(id) ?? { count: 0, firstAt: now }
  const messages = new Map(blames.messages)
  messages.delete(id)
  messages.set(id, { firstAt, count: count + 1 })
  for (const oldest of messages.keys()) {
    if (messages.size <= blamesKept) break
    messages.delete(oldest)
  }
  const isOfMessage = count >= blamesAllowed[result._tag] && blames.acceptedFrom > firstAt
  return [{ ...blames, messages }, isOfMessage ? asOfRecipient(result) : result]
}

const asOfRecipient = (result: Extract<SendResult, { _tag: "broken" | "slow-down" }>): SendResult => ({
  _tag: "retry",
  scope: "recipient",
  reason: result.reason,
  uncertain: false,
  deferred: false,
  wait: result._tag === "slow-down" ? result.wait : undefined,
})
