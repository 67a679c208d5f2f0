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
  /** The platform's own name of the message. */
  readonly messageKey?: string | undefined
  /** It has waited long enough for an event that says whose message this is, so that the user may tell. */
  readonly hasWaited?: boolean
  /** Unix milliseconds. */
  readonly occurredAt: number
}

type Tellable = Pick<Claim, "event" | "trackingId" | "templateId" | "user" | "messageKey" | "hasWaited">

/** Whether a person wants no more messages: the guardrail of an objective counts it against the decision. */
const isOptOut = (event: EventName): boolean => eventKinds[event].learning === "opt_out"

/**
 * Whether an event is an opt-out that names a person and no message. It counts against the latest decision for the person.
 * An opt-out that names a message belongs to that message, whether this service made it or not.
 */
export const isOptOutOfPerson = ({ event, messageKey, trackingId, user }: Tellable): boolean =>
  isOptOut(event) && user !== undefined && trackingId === undefined && messageKey === undefined

/** Whether its user can tell to which decision an event belongs. */
export const isTellable = (claim: Tellable): boolean =>
  claim.user !== undefined &&
  (claim.templateId !== undefined || claim.event === "conversion" || isOptOutOfPerson(claim))

/**
 * Whether an event without a tracking id is attributed by its user. If it carries a platform message id, only after the
 * wait for a link has expired.
 */
export const isByUser = (claim: Tellable): boolean =>
  claim.trackingId === undefined && isTellable(claim) && (claim.messageKey === undefined || claim.hasWaited === true)

/** Whether an event can belong to any decision at all, now or later. */
export const isAttributable = (claim: Tellable): boolean =>
  claim.trackingId !== undefined || claim.messageKey !== undefined || isByUser(claim)

/** Whether an event is kept: for its decision, or for the story of its person. */
export const isKept = (claim: Tellable): boolean => isAttributable(claim) || claim.user !== undefined

/** Whether only another event can tell to which decision this one belongs: there is no use in looking again before. */
export const waitsForLink = (claim: Tellable): boolean =>
  claim.trackingId === undefined && claim.messageKey !== undefined && !isByUser(claim)
