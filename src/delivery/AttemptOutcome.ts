import { Duration } from "effect"
import type { TemplateId } from "../domain/Ids.ts"
import type { Message, SendResult } from "./Connection.ts"
import type { Settled } from "./Outbox.ts"

/** The longest pause between two attempts, before jitter. Unit: milliseconds. */
const longestRetryMillis = 3_600_000

/** How often, and after which pause, messages are tried again. */
export interface RetryPolicy {
  /** Attempts before a message has failed; at least 1. */
  readonly attempts: number
  /** The pause after the first attempt. */
  readonly firstPause: Duration.Duration
}

/** Text as the store can keep it: no lone surrogates, no NUL, at most 1,000 characters. */
export const storable = (text: string): string => text.toWellFormed().replaceAll("\0", "\ufffd").slice(0, 1000)

/** The parts of a record that every outcome has. */
export const settledFields = ({ id, templateId }: Pick<Message, "id" | "templateId">, connection: string) => ({
  id,
  templateId: templateId as TemplateId,
  connection,
})

/** Returns the message to the queue, due at once. It keeps its attempts. */
export const untried = (message: Pick<Message, "id" | "templateId">, connection: string, reason: string): Settled => ({
  ...settledFields(message, connection),
  _tag: "again",
  reason: storable(reason),
  delayMillis: 0,
  burned: false,
})

/**
 * The pause after an attempt: twice as long each time, up to an hour, times 0.5 to 1.5. `attempt` is 1 for the first.
 * `jitter` is in [0, 1). Unit: milliseconds.
 */
export const retryPause = (attempt: number, firstPause: Duration.Duration, jitter: number): number =>
  Math.min(longestRetryMillis, Duration.toMillis(firstPause) * 2 ** (attempt - 1)) * (0.5 + jitter)

/**
 * Decides the record of an attempt from the answer of the platform:
 *
 *     accepted             sent
 *     refused, unfit       failed
 *     slow-down, broken    queued again; the attempt does not count
 *     retry                queued again after a pause; failed after the last attempt
 *
 * `jitter` is in [0, 1).
 */
export const outcomeOf = (
  message: Pick<Message, "id" | "templateId" | "attempt">,
  result: SendResult,
  connection: string,
  { attempts, firstPause }: RetryPolicy,
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
    case "unfit":
      return { ...fields, _tag: "failed", reason: storable(result.reason) }
    case "slow-down":
    case "broken":
      return untried(message, connection, result.reason)
    case "retry":
      return message.attempt >= attempts
        ? {
          ...fields,
          _tag: "failed",
          reason: storable(`Given up after ${message.attempt} attempts: ${result.reason}`),
        }
        : {
          ...fields,
          _tag: "again",
          reason: storable(result.reason),
          delayMillis: retryPause(message.attempt, firstPause, jitter),
          burned: true,
        }
  }
}
