import { Duration } from "effect"
import { type BounceEvent, eventOfRefusal } from "../domain/refusals/BounceEvent.ts"
import { classifyRefusal } from "../domain/refusals/Refusals.ts"
import type { TemplateId } from "../domain/Ids.ts"
import type { Message, SendResult } from "./Connection.ts"
import type { Claimed, ExpiredMessage, Settled } from "./Outbox.ts"

/** The longest pause between two attempts, before jitter. Unit: milliseconds. */
const longestRetryMillis = 3_600_000

/** Limits and pauses of the retries of a message. */
export interface RetryPolicy {
  /**
   * Maximum number of attempts before a message fails, in addition to the horizons. Minimum 1; Infinity for no limit.
   */
  readonly attempts: number
  /** The pause after the first attempt. Each following pause is twice as long. */
  readonly firstPause: Duration.Duration
  /** A message fails if an attempt fails that began this long after the first failed attempt. */
  readonly horizon: Duration.Duration
  /** Replaces `horizon` if the recipient's server deferred the message. */
  readonly recipientHorizon: Duration.Duration
}

type Retry = Extract<SendResult, { readonly _tag: "retry" }>

/** Text that the database can store: no lone surrogates, no NUL, at most 1,000 characters. */
export const storable = (text: string): string => text.toWellFormed().replaceAll("\0", "\ufffd").slice(0, 1000)

/** Fields that every `Settled` record has. */
export const settledFields = ({ id, templateId }: Pick<Message, "id" | "templateId">, connection: string) => ({
  id,
  templateId: templateId as TemplateId,
  connection,
})

/** Returns the message to the queue, due at once. Its attempts stay unchanged. */
export const untried = (message: Pick<Message, "id" | "templateId">, connection: string, reason: string): Settled => ({
  ...settledFields(message, connection),
  _tag: "again",
  reason: storable(reason),
  delayMillis: 0,
  burned: false,
})

/** The reason of a message that expired, such as "Expired at 2026-05-04T09:30:00.000Z after 3 attempts: 451 …". */
export const expiredText = ({ attempts, expiresAt, reason }: ExpiredMessage): string =>
  `Expired at ${expiresAt.toISOString()} ` +
  (attempts === 0 ? "before it was sent" : `after ${counted(attempts, "attempt")}`) +
  (reason === null ? "" : `: ${reason}`)

/**
 * Returns the record that fails an expired message without an attempt, or undefined if the message has not expired.
 * Times are on the monotonic clock.
 */
export const expired = (
  message: Pick<Claimed, "id" | "templateId" | "expiry">,
  connection: string,
  monotonicMillis: number,
): Settled | undefined =>
  message.expiry === undefined || monotonicMillis < message.expiry.monotonicMillis ? undefined : {
    ...settledFields(message, connection),
    _tag: "failed",
    reason: storable(expiredText(message.expiry)),
    burned: false,
  }

/**
 * The pause after an attempt: twice as long each time, up to an hour, times 0.5 to 1.5. `attempt` is 1 for the first.
 * `jitter` is in [0, 1). Unit: milliseconds.
 */
export const retryPause = (attempt: number, firstPause: Duration.Duration, jitter: number): number =>
  Math.min(longestRetryMillis, Duration.toMillis(firstPause) * 2 ** (attempt - 1)) * (0.5 + jitter)

const counted = (count: number, unit: string) => `${count} ${unit}${count === 1 ? "" : "s"}`

/** A duration in whole hours, minutes or seconds, at least 1 second, such as "24 hours". */
export const lengthText = (millis: number): string =>
  millis >= 3_600_000
    ? counted(Math.floor(millis / 3_600_000), "hour")
    : millis >= 60_000
    ? counted(Math.floor(millis / 60_000), "minute")
    : counted(Math.max(1, Math.round(millis / 1_000)), "second")

/** Returns why a message is not retried after this failure, or undefined if it is retried. */
const endOf = (
  { attempt, retryingMillis }: Pick<Claimed, "attempt" | "retryingMillis">,
  horizonMillis: number,
  { attempts }: RetryPolicy,
): string | undefined => {
  if (attempt >= attempts) return `Given up after ${counted(attempt, "attempt")}`
  if (retryingMillis < horizonMillis) return undefined
  return `Given up after ${lengthText(retryingMillis)} and ${counted(attempt, "attempt")}`
}

/** Returns the outcome of a message that failed for good, with the event of its refusal. */
const failed = (reason: string, event?: BounceEvent) =>
  ({ _tag: "failed", reason: storable(reason), burned: true, ...(event === undefined ? {} : { event }) }) as const

/**
 * Decides whether a failure that another attempt may overcome is retried. The last attempt is due when the horizon
 * ends.
 */
const repeated = (
  message: Pick<Claimed, "id" | "templateId" | "attempt" | "retryingMillis">,
  { deferred, reason, wait }: Retry,
  connection: string,
  policy: RetryPolicy,
  jitter: number,
): Settled => {
  const fields = settledFields(message, connection)
  const horizonMillis = Duration.toMillis(deferred ? policy.recipientHorizon : policy.horizon)
  const end = endOf(message, horizonMillis, policy)
  if (end !== undefined) {
    // The last reply of the recipient's server has the reason.
    const event = deferred ? eventOfRefusal(classifyRefusal({ said: reason }).class) : undefined
    return { ...fields, ...failed(`${end}: ${reason}`, event) }
  }
  const pause = Math.min(
    retryPause(message.attempt, policy.firstPause, jitter),
    horizonMillis - message.retryingMillis,
  )
  return {
    ...fields,
    _tag: "again",
    reason: storable(reason),
    delayMillis: Math.max(pause, wait === undefined ? 0 : Duration.toMillis(wait)),
    burned: true,
  }
}

/**
 * Returns the record of an attempt for the platform's answer:
 *
 *     accepted                      sent
 *     refused, unfit                failed
 *     slow-down, yielded, broken    queued again; the attempt does not count
 *     retry                         queued again after a pause; failed once its horizon has passed
 *     yielded for a suppression     cancelled
 *
 * `jitter` is in [0, 1).
 */
export const outcomeOf = (
  message: Pick<Claimed, "id" | "templateId" | "attempt" | "retryingMillis">,
  result: SendResult,
  connection: string,
  policy: RetryPolicy,
  jitter: number,
): Settled => {
  const fields = settledFields(message, connection)
  switch (result._tag) {
    case "accepted":
      return {
        ...fields,
        _tag: "sent",
        messageId: result.messageId === undefined ? undefined : storable(result.messageId),
        links: result.links.map((link) => ({ ...link, messageKey: storable(link.messageKey) })),
      }
    case "refused":
      return { ...fields, ...failed(result.reason, result.refusal && eventOfRefusal(result.refusal)) }
    case "unfit":
      return { ...fields, ...failed(result.reason) }
    case "yielded":
      if (result.isCancelled === true) return { ...fields, _tag: "cancelled", reason: storable(result.reason) }
      return {
        ...fields,
        _tag: "again",
        reason: storable(result.reason),
        delayMillis: result.keepsPlace === true ? undefined : 0,
        burned: false,
      }
    case "slow-down":
    case "broken":
      return untried(message, connection, result.reason)
    case "retry":
      return repeated(message, result, connection, policy, jitter)
  }
}
