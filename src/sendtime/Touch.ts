import { hourMillis } from "../bandit/Window.ts"
import { eventKinds } from "../domain/EventKinds.ts"
import { machineClicks } from "../journal/events/MachineClicks.ts"
import type { AttributedEvent } from "../journal/events/AttributedEvent.ts"

// One message in the data from which send times are learned: the time of sending, and the delay of its recipient's
// first engagement. A touch is one number, so that a person's history is an array of numbers that needs no parsing.

/** Time for which a message is followed. Unit: hours. */
export const followedHours = 72

/** Resolution of touches: the offset of every time zone is a multiple of a quarter of an hour. */
export const quarterMillis = hourMillis / 4

/** Delay of a message without an engagement. Unit: quarters of an hour. */
export const noEngagement = 4 * followedHours

/** A sent message and its first engagement. */
interface Touch {
  /** Quarter of an hour in which the message was sent, in quarters since 2020-01-01T00:00Z. */
  readonly quarter: number
  /** Quarters of an hour from the sending to the first engagement, 0 to 287, or `noEngagement`. */
  readonly delay: number
  /** Code of the variant, 0 to 4095; see `variantCode`. */
  readonly variant: number
}

/** Earliest time of a touch. Unit: Unix milliseconds. */
export const epochMillis = Date.UTC(2020, 0, 1)

// A code has 18 bits for the hour of sending (until 2049), 7 for the hours until the engagement, 12 for the variant, 2
// for the quarter of sending, 2 for the quarter of the engagement, 11 to distinguish decisions of one hour, and a half.
// Releases before 0.2.0 wrote 15 bits instead of the last three fields, and no half. They read only the fields before
// these, so nodes of both releases can read all codes. The hour comes first, so that sorting codes sorts by time.
const delays = 128
const variants = 4096
const marks = 32768
const ownMarks = marks / 16
const hours = 2 ** 18
const below = variants * marks

/** FNV-1a over the UTF-16 code units, with a final mix that spreads the low bits. */
export const digest = (text: string): number => {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/**
 * Code of a variant in touches. Two variants of an organization have an equal code once in 4096 cases, which adds only
 * a little noise.
 */
export const variantCode = (template: string, copy: string): number => digest(`${template}\0${copy}`) % variants

/** Hours from the hour of sending to the hour of the engagement. */
const hoursUntil = ({ delay, quarter }: Touch) =>
  delay >= noEngagement ? followedHours : Math.min(followedHours, Math.floor((quarter % 4 + delay) / 4))

/** Encodes a touch as one number. `decision` distinguishes it from other touches of the hour. */
export const encode = (touch: Touch, decision: string): number => {
  const after = hoursUntil(touch)
  const engaged = after === followedHours ? 0 : (touch.quarter + touch.delay) % 4
  const mark = ((touch.quarter % 4) * 4 + engaged) * ownMarks + digest(decision) % ownMarks
  return ((Math.floor(touch.quarter / 4) * delays + after) * variants + touch.variant) * marks + mark + 0.5
}

/** The format of releases before 0.2.0, in whole hours. */
export const encodeHourly = (touch: Touch, decision: string): number =>
  ((Math.floor(touch.quarter / 4) * delays + hoursUntil(touch)) * variants + touch.variant) * marks +
  digest(decision) % marks

/** Whether a code has the format of whole hours. */
export const isHourly = (code: number): boolean => Number.isInteger(code)

/** The quarter of an hour in which the message was sent. For a code of whole hours, the middle of the hour. */
export const quarterOf = (code: number): number => {
  const high = Math.floor(code / below)
  const low = code - high * below
  return 4 * (high >> 7) + (low === Math.floor(low) ? 2 : (low >> 13) & 3)
}

/** Quarters of an hour from the sending to the first engagement, or `noEngagement`. */
export const delayOf = (code: number): number => {
  const high = Math.floor(code / below)
  const after = high & (delays - 1)
  if (after === followedHours) return noEngagement
  const low = code - high * below
  return low === Math.floor(low) ? 4 * after : Math.max(0, 4 * after + ((low >> 11) & 3) - ((low >> 13) & 3))
}

/** Returns the code of the variant, 0 to 4095. */
export const variantOf = (code: number): number => Math.floor(code / marks) % variants

const quarterNumber = (millis: number) => Math.floor((millis - epochMillis) / quarterMillis)

/** The fields of a decision from which its touch is computed. */
interface Touched {
  readonly templateId: string
  readonly copyId: string
  readonly trackingId: string
  /** Time of the decision. Unit: Unix milliseconds. */
  readonly decidedAt: number
}

/** The sending and first engagement of a message according to its events. Unit: Unix milliseconds. */
interface Sending {
  /** The first `sent`, otherwise the first `delivered`. Undefined without either. */
  readonly sentAt: number | undefined
  /** The first open, click, other interaction or conversion by a person. */
  readonly engagedAt: number | undefined
  /** Whether the message bounced or failed without an engagement, so that the recipient did not see it. */
  readonly voided: boolean
}

/**
 * Returns the sending and first engagement of a message, from all its events in any order and with any repetitions.
 * Ignores opens and clicks by machines, marked by their source or recognized as in the tallies. An event up to two
 * hours before the sending (because clocks differ) counts as immediate.
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
    else if (eventKinds[event].learning === "undelivered") undelivered = true
  }
  const setAside = machineClicks(events.filter(({ occurredAt }) => occurredAt >= skewed))
  let engaged = Infinity
  for (const one of events) {
    const { automated, event, occurredAt } = one
    if (occurredAt < skewed || occurredAt >= engaged) continue
    if (automated || setAside.has(one) || eventKinds[event].learning !== "engaged") continue
    engaged = occurredAt
  }
  const sentAt = sent !== Infinity ? sent : delivered !== Infinity ? delivered : undefined
  return {
    sentAt,
    engagedAt: engaged === Infinity ? undefined : engaged,
    voided: undelivered && engaged === Infinity,
  }
}

/** The codes of one touch. */
export interface Coded {
  readonly code: number
  /** The code in the format of releases before 0.2.0, removed whenever `code` is added or removed. */
  readonly hourly: number
}

/** Returns the touch of a decision. Undefined if the message was not seen or its time is out of bounds. */
export const touchOf = (decision: Touched, events: ReadonlyArray<AttributedEvent>): Coded | undefined => {
  const { engagedAt, sentAt, voided } = sendingOf(decision.decidedAt, events)
  if (voided) return undefined
  const quarter = quarterNumber(sentAt ?? decision.decidedAt)
  if (!(quarter >= 0 && quarter < 4 * hours)) return undefined
  const touch: Touch = {
    quarter,
    delay: engagedAt === undefined ? noEngagement : Math.max(0, quarterNumber(engagedAt) - quarter),
    variant: variantCode(decision.templateId, decision.copyId),
  }
  const name = `${decision.templateId}\0${decision.trackingId}`
  return { code: encode(touch, name), hourly: encodeHourly(touch, name) }
}
