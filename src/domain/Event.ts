import { Schema } from "effect"

/** What kind of thing happened: handed over, engaged with, a downstream action, or something against the message. */
export const EventCategory = Schema.Literals(["delivery", "engagement", "conversion", "negative"])
export type EventCategory = typeof EventCategory.Type

/** What happened. `other` is any interaction that is neither open nor click; `failed` never left the platform. */
export const EventName = Schema.Literals([
  "sent",
  "delivered",
  "open",
  "click",
  "other",
  "conversion",
  "bounce",
  "soft_bounce",
  "failed",
  "unsubscribe",
  "spam",
])
export type EventName = typeof EventName.Type

/** The category each event belongs to. */
export const categoryOf: { readonly [name in EventName]: EventCategory } = {
  sent: "delivery",
  delivered: "delivery",
  open: "engagement",
  click: "engagement",
  other: "engagement",
  conversion: "conversion",
  bounce: "negative",
  soft_bounce: "negative",
  failed: "negative",
  unsubscribe: "negative",
  spam: "negative",
}

/**
 * One thing a messaging platform or a caller's own code reports, in the form all sources are brought to. Texts are
 * storable (see `isStorable`); what a source leaves out is undefined.
 */
export interface NormalizedEvent {
  readonly event: EventName
  /** The tracking id the item itself carries, 1 to 200 characters. */
  readonly trackingId: string | undefined
  /** The template it names, for attribution by user, or to tell decisions under one tracking id apart. */
  readonly templateId: string | undefined
  /** The end user by the source's name, 1 to 200 characters. */
  readonly user: string | undefined
  /**
   * What makes it the same event when it arrives again: `id:` and the source's event id, or `digest:` and the SHA-256
   * (base64url) of its content where there is none. At most 210 characters.
   */
  readonly key: string
  /** When it happened, Unix milliseconds, never after `receivedAt`. */
  readonly occurredAt: number
  /** A machine did it: a prefetching proxy, a link scanner. */
  readonly automated: boolean
  /** The clicked URL, or what stands for it; tells different links of one message apart. At most 2,000 characters. */
  readonly link: string | undefined
}

/** Why an item of a body became no event: its place in the body (a JSON pointer) and what stands in the way. */
export interface SkippedItem {
  readonly pointer: string
  readonly reason: string
  /** True for what is known and means nothing here (lifecycle noise); false for what may want a look. */
  readonly expected: boolean
}

/** What a body held. `items` counts what was recognized as an item, events and skipped ones alike. */
export interface Normalized {
  readonly items: number
  readonly events: ReadonlyArray<NormalizedEvent>
  readonly skipped: ReadonlyArray<SkippedItem>
}
