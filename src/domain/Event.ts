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
   * The person's e-mail address, as the source spells it. Absent where the source names none, and on events of a message
   * that are not negative.
   */
  readonly email?: string | undefined
  /**
   * What makes it the same event when it arrives again: `id:` and the source's event id, or `digest:` and the SHA-256
   * (base64url) of its content where there is none. At most 210 characters.
   */
  readonly key: string
  /** When it happened, Unix milliseconds, never after `receivedAt`. */
  readonly occurredAt: number
  /** A machine did it: a prefetching proxy, a link scanner. */
  readonly automated: boolean
  /**
   * The platform's own name of the message, where events that carry no tracking id can be told by it: equal for all events
   * of one message to one recipient, at most 400 characters. Absent where the source has none.
   */
  readonly messageKey?: string | undefined
  /** The clicked URL, or what stands for it; tells different links of one message apart. At most 2,000 characters. */
  readonly link: string | undefined
  /** Of a suppressing event: the message was no e-mail, so that it says nothing about an address. */
  readonly otherChannel?: true
  /** What a conversion is worth, 0 to a billion, in the unit of `currency`. Absent for other events, and where none is given. */
  readonly value?: number | undefined
  /** ISO 4217 code of the value's currency, three capital letters. Absent where none is given. */
  readonly currency?: string | undefined
  /** The IANA time zone of the user, as the source names it, not judged yet. Absent where it names none. */
  readonly timeZone?: string | undefined
}

/** Why an item of a body became no event: its place in the body (a JSON pointer) and what stands in the way. */
export interface SkippedItem {
  readonly pointer: string
  readonly reason: string
  /** True for what is known and means nothing here (lifecycle noise); false for what may want a look. */
  readonly expected: boolean
  /** JSON pointer, within the item, of the member at fault. Absent where the item as a whole is. */
  readonly member?: string
}

/** What a source reports about an end user: traits by name, as a request's `attrs` would give them. */
export interface ProfileUpdate {
  /** 1 to 200 characters. */
  readonly user: string
  readonly email: string | undefined
  /** Scalars and arrays of them; null takes a trait away. */
  readonly traits: Readonly<Record<string, unknown>>
  /** Unix milliseconds. */
  readonly occurredAt: number
  /** What makes it the same report when it arrives again, like the `key` of an event. */
  readonly key: string
}

/** A request to forget a person. */
export interface Erasure {
  readonly user: string | undefined
  readonly email: string | undefined
  readonly key: string
}

/** What a body held. `items` counts what was recognized as an item, events and skipped ones alike. */
export interface Normalized {
  readonly items: number
  readonly events: ReadonlyArray<NormalizedEvent>
  readonly skipped: ReadonlyArray<SkippedItem>
  /** The place of each skipped item among all items, rising. Absent where the source asks for no verdicts. */
  readonly skippedAt?: ReadonlyArray<number>
  readonly profiles?: ReadonlyArray<ProfileUpdate>
  readonly erasures?: ReadonlyArray<Erasure>
}

/** Largest value of a conversion. */
export const largestValue = 1e9
