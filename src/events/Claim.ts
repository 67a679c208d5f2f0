import type { EventName } from "../domain/Event.ts"

/** What an event says about whom it belongs to. */
export interface Claim {
  readonly org: string
  readonly source: string
  readonly event: EventName
  readonly trackingId: string | undefined
  readonly templateId: string | undefined
  readonly user: string | undefined
  /** The platform's own name of the message. */
  readonly messageKey?: string | undefined
  /** It has waited long enough for an event that says whose message this is, so that the user may tell. */
  readonly hasWaited?: boolean
  /** Unix milliseconds. */
  readonly occurredAt: number
}

type Tellable = Pick<Claim, "event" | "trackingId" | "templateId" | "user" | "messageKey" | "hasWaited">

/** Whether its user can tell to which decision an event belongs. */
export const isTellable = ({ event, templateId, user }: Tellable): boolean =>
  user !== undefined && (templateId !== undefined || event === "conversion")

/** Whether something without a tracking id is told by its user: where its message has a name, only after waiting for it. */
export const isByUser = (claim: Tellable): boolean =>
  claim.trackingId === undefined && isTellable(claim) && (claim.messageKey === undefined || claim.hasWaited === true)

/** Whether an event can belong to any decision at all, now or later. */
export const isAttributable = (claim: Tellable): boolean =>
  claim.trackingId !== undefined || claim.messageKey !== undefined || isByUser(claim)

/** Whether only another event can tell to which decision this one belongs: there is no use in looking again before. */
export const waitsForLink = (claim: Tellable): boolean =>
  claim.trackingId === undefined && claim.messageKey !== undefined && !isByUser(claim)
