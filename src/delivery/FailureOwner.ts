import { Duration } from "effect"
import * as Breaker from "./CircuitBreaker.ts"
import type { FailureScope, SendResult } from "./Connection.ts"

/** The owner of a failure: the connection, the domain of the recipient (`recipient`), or the message alone. */
export type FailureOwner = FailureScope | "message"

/**
 * The owner of a failed attempt; undefined for an attempt that did not fail or was not made:
 *
 *     broken                      connection
 *     retry, slow-down            by their scope: the reply of an SMTP server about a recipient, or the connection
 *     refused, unfit              message
 *     accepted, yielded           none
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

/** Whether an attempt shows that the other side listens, besides the failures that it owns. */
const isHeard = (scope: FailureScope, result: SendResult): boolean => {
  if (result._tag === "accepted" || result._tag === "refused") return true
  // A reply about the recipient shows that the connection works; silence shows nothing.
  return scope === "connection" && ownerOf(result) === "recipient" &&
    (result._tag === "slow-down" || (result._tag === "retry" && result.deferred))
}

/** The circuit breaker of a connection, or of a recipient domain, after an attempt. Only failures that it owns feed it. */
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

/** Messages that are remembered for answers about the connection. */
const blamesKept = 1_000

/** Answers about the connection to one message before the message is held responsible, if others are accepted meanwhile. */
const blamesAllowed = { "broken": 1, "slow-down": 4 }

/** Answers about the connection, by message: when the first one came, and how many there were. Times in milliseconds. */
export interface Blames {
  readonly messages: ReadonlyMap<string, { readonly firstAt: number; readonly count: number }>
  /** When the last accepted message left. */
  readonly acceptedFrom: number
}

export const noBlames: Blames = { messages: new Map(), acceptedFrom: -Infinity }

/**
 * Finds the owner of answers such as 404 or 429 that a platform gives to one message again and again while it accepts others.
 * They belong to that message: otherwise it would pause the connection for ever, because such an answer costs no attempt.
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
