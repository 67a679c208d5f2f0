import { hourMillis } from "../bandit/Window.ts"
import type { EventName } from "../domain/Event.ts"
import { type AttributedEvent, machineClicks } from "../events/Outcomes.ts"

// One message as the learning of send times sees it: when it was sent, and after how many hours its recipient first did
// something with it. A touch is one number, so that a person's history is an array of numbers that costs nothing to read.

/** Hours a message is followed for. */
export const followedHours = 72

/** The delay of a message that nobody has engaged with. */
export const noEngagement = followedHours

export interface Touch {
  /** Hour in which the message was sent, in hours since 2020-01-01T00:00Z. */
  readonly hour: number
  /** Hours from then to the hour of the first engagement, 0 to 71; `noEngagement` where there was none. */
  readonly delay: number
  /** 0 to 4095: which variant it was, see `variantCode`. */
  readonly variant: number
}

/** Touches count from here, Unix milliseconds. */
export const epochMillis = Date.UTC(2020, 0, 1)

// 19 bits of hour (until 2079), 7 of delay, 12 of variant and 15 that tell decisions of one hour apart: 53 bits, which a
// double holds exactly. The hour comes first, so that sorted codes are sorted by time.
const delays = 128
const variants = 4096
const marks = 32768
const hours = 2 ** 19

/** FNV-1a over the UTF-16 code units, with the mixing that gives its low bits their share. */
export const digest = (text: string): number => {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** What a variant is called in touches. Two of an organization share a code once in 4096, which only adds a little noise. */
export const variantCode = (template: string, copy: string): number => digest(`${template}\0${copy}`) % variants

/** A touch as one number; `decision` tells it from others of the same hour. */
export const encode = ({ delay, hour, variant }: Touch, decision: string): number =>
  ((hour * delays + delay) * variants + variant) * marks + digest(decision) % marks

export const hourOf = (code: number): number => Math.floor(code / (delays * variants * marks))
export const delayOf = (code: number): number => Math.floor(code / (variants * marks)) % delays
export const variantOf = (code: number): number => Math.floor(code / marks) % variants

const hourNumber = (millis: number) => Math.floor((millis - epochMillis) / hourMillis)

/** A decision, as far as its touch needs it. */
export interface Touched {
  readonly templateId: string
  readonly copyId: string
  readonly trackingId: string
  /** Unix milliseconds. */
  readonly decidedAt: number
}

/** What events say about the sending of a message. Unix milliseconds. */
export interface Sending {
  /** The first `sent`, else the first `delivered`; undefined where neither is known. */
  readonly sentAt: number | undefined
  /** The first open, click, other interaction or conversion of a person. */
  readonly engagedAt: number | undefined
  /** It bounced or failed, and nobody has engaged with it: nobody saw it. */
  readonly voided: boolean
}

const isEngagement = (event: EventName) => event === "open" || event === "other" || event === "conversion"

/**
 * What became of a message, given all events attributed to it in any order and with any repetitions. Machine opens and
 * clicks, marked or told by their haste as in the tallies, are nobody's engagement. What is said to have
 * happened before the message was sent by no more than two hours (clocks differ) counts as at once.
 */
export const sendingOf = (decidedAt: number, events: ReadonlyArray<AttributedEvent>): Sending => {
  const skewed = decidedAt - 2 * hourMillis
  let sent = Infinity
  let delivered = Infinity
  let undelivered = false
  for (const { event, occurredAt } of events) {
    if (occurredAt < skewed) continue
    if (event === "sent") sent = Math.min(sent, occurredAt)
    else if (event === "delivered") delivered = Math.min(delivered, occurredAt)
    else if (event === "bounce" || event === "soft_bounce" || event === "failed") undelivered = true
  }
  const clicks = events.filter(({ event, occurredAt }) => event === "click" && occurredAt >= skewed)
  const isMachine = machineClicks(clicks, delivered)
  let engaged = Infinity
  for (const one of events) {
    const { automated, event, occurredAt } = one
    if (occurredAt < skewed || occurredAt >= engaged) continue
    if (event === "click" ? isMachine(one) : automated || !isEngagement(event)) continue
    engaged = occurredAt
  }
  const sentAt = sent !== Infinity ? sent : delivered !== Infinity ? delivered : undefined
  return {
    sentAt,
    engagedAt: engaged === Infinity ? undefined : engaged,
    voided: undelivered && engaged === Infinity,
  }
}

/** The code of a decision's touch; undefined where nobody saw the message or its time is out of all bounds. */
export const touchOf = (decision: Touched, events: ReadonlyArray<AttributedEvent>): number | undefined => {
  const { engagedAt, sentAt, voided } = sendingOf(decision.decidedAt, events)
  if (voided) return undefined
  const at = sentAt ?? decision.decidedAt
  const hour = hourNumber(at)
  if (!(hour >= 0 && hour < hours)) return undefined
  const after = engagedAt === undefined ? noEngagement : Math.max(0, hourNumber(engagedAt) - hour)
  return encode({
    hour,
    delay: Math.min(after, noEngagement),
    variant: variantCode(decision.templateId, decision.copyId),
  }, `${decision.templateId}\0${decision.trackingId}`)
}
