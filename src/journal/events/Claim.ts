import { eventKinds, type EventName } from "../../domain/EventKinds.ts"

/** The identifiers in an event that link it to a decision. */
export interface Claim {
  readonly org: string
  readonly source: string
  readonly event: EventName
  readonly trackingId: string | undefined
  readonly templateId: string | undefined
  readonly user: string | undefined
  /** The person's e-mail address. */
  readonly email?: string | undefined
  /** The platform's message id. */
  readonly messageKey?: string | undefined
  /** The event has waited long enough for a link of its message id, so that it may be attributed by its user. */
  readonly hasWaited?: boolean
  /** Unit: Unix milliseconds. */
  readonly occurredAt: number
}

type Tellable = Pick<Claim, "event" | "trackingId" | "templateId" | "user" | "messageKey" | "hasWaited">

/** Whether a person wants no more messages. The guardrail of an objective counts this against the decision. */
const isOptOut = (event: EventName): boolean => eventKinds[event].learning === "opt_out"

/**
 * Whether an event is an opt-out that names a person but no message. It counts against the latest decision for the
 * person. An opt-out that names a message belongs to that message, even if this service did not create it.
 */
export const isOptOutOfPerson = ({ event, messageKey, trackingId, user }: Tellable): boolean =>
  isOptOut(event) && user !== undefined && trackingId === undefined && messageKey === undefined

/** Whether the event's user suffices to determine its decision. */
export const isTellable = (claim: Tellable): boolean =>
  claim.user !== undefined &&
  (claim.templateId !== undefined || claim.event === "conversion" || isOptOutOfPerson(claim))

/**
 * Whether an event without a tracking id is attributed by its user. An event with a platform message id is
 * attributed by its user only after `linkHours` without a link.
 */
export const isByUser = (claim: Tellable): boolean =>
  claim.trackingId === undefined && isTellable(claim) && (claim.messageKey === undefined || claim.hasWaited === true)

/** Whether an event can belong to a decision, now or later. */
export const isAttributable = (claim: Tellable): boolean =>
  claim.trackingId !== undefined || claim.messageKey !== undefined || isByUser(claim)

/** Whether an event is stored: for its decision, or for the timeline of its person. */
export const isKept = (claim: Tellable): boolean => isAttributable(claim) || claim.user !== undefined

/** Whether only another event can determine the decision of this event, so that an earlier search would be useless. */
export const waitsForLink = (claim: Tellable): boolean =>
  claim.trackingId === undefined && claim.messageKey !== undefined && !isByUser(claim)
