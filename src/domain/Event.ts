import type { EventName } from "./EventKinds.ts"

/**
 * An event reported by a messaging platform or a caller, in the form common to all sources. Texts are storable (see
 * `isStorable`); missing values are undefined.
 */
export interface NormalizedEvent {
  readonly event: EventName
  /** The tracking id the item itself carries, 1 to 200 characters. */
  readonly trackingId: string | undefined
  /** Template named by the event, for attribution by user, or to distinguish decisions under one tracking id. */
  readonly templateId: string | undefined
  /** The end user's id at the source, 1 to 200 characters. */
  readonly user: string | undefined
  /**
   * The person's e-mail address, as the source spells it. Present only if the source names an address and the
   * event is negative, or names no message and is not a conversion (see `emailOf` in `src/intake/Reading.ts`).
   */
  readonly email?: string | undefined
  /**
   * Identity of the event when it arrives again: `id:` and the source's event id, or `digest:` and the SHA-256
   * (base64url) of its content if it has no id. At most 210 characters.
   */
  readonly key: string
  /** Time of the event in Unix milliseconds, never after `receivedAt`. */
  readonly occurredAt: number
  /** Whether the event was automated, such as by a prefetching proxy or a link scanner. */
  readonly automated: boolean
  /**
   * The platform's id of the message, to attribute events without a tracking id: equal for all events of one message to
   * one recipient, at most 400 characters. Absent if the source has none.
   */
  readonly messageKey?: string | undefined
  /** The clicked URL, or another identifier that distinguishes the links of a message. At most 2,000 characters. */
  readonly link: string | undefined
  /** On a suppressing event: the message was not an e-mail, so the event does not concern an address. */
  readonly otherChannel?: true
  /** On a suppressing event: nothing proves the origin of the report. The event counts, but suppresses no address. */
  readonly unproven?: true
  /**
   * On an opt-out or opt-in: the list, group, channel or type of messages that it concerns, or several of them separated
   * by commas. At most 200 characters. Absent if it concerns all messages.
   */
  readonly group?: string
  /** The person opts in to messages again after an opt-out. The event is `other`. */
  readonly optIn?: true
  /**
   * Value of a conversion, 0 to 1,000,000,000, or of a refund, -1,000,000,000 to 0, in the unit of `currency`. Absent
   * for other events and for conversions without a value.
   */
  readonly value?: number | undefined
  /** ISO 4217 code of the value's currency, three capital letters. Absent if the source names none. */
  readonly currency?: string | undefined
  /** The IANA time zone of the user, as the source spells it: not checked for mappings. Absent if it names none. */
  readonly timeZone?: string | undefined
  /** Members that were given and could not be read. Absent if there are none. */
  readonly faults?: ReadonlyArray<MemberFault>
}

/** A member of an item that could not be read, although the rest of the item could. */
export interface MemberFault {
  /** JSON pointer within the item. */
  readonly member: string
  /** The member's name, its value, the expected value, and how the event is kept. */
  readonly reason: string
}

/** Why an item of a body is not an event: its place in the body (a JSON pointer) and the reason. */
export interface SkippedItem {
  readonly pointer: string
  readonly reason: string
  /** True for known items without effect (lifecycle noise); false for items that may need attention. */
  readonly expected: boolean
  /** JSON pointer, within the item, of the member at fault. Absent if the item as a whole is at fault. */
  readonly member?: string
}

/** A member of an event that could not be read, and the place of the event among the events of the body. */
export interface IncompleteItem {
  /** JSON pointer of the member within the body. */
  readonly pointer: string
  readonly reason: string
  readonly event: number
}

/** Traits of an end user reported by a source, by name, in the form of a request's `attrs`. */
export interface ProfileUpdate {
  /** 1 to 200 characters. */
  readonly user: string
  readonly email: string | undefined
  /** Scalars and arrays of scalars; null removes a trait. */
  readonly traits: Readonly<Record<string, unknown>>
  /** Unix milliseconds. */
  readonly occurredAt: number
  /** Identity of the report when it arrives again, like the `key` of an event. */
  readonly key: string
}

/** A request to forget a person. */
export interface ErasureRequest {
  readonly user: string | undefined
  readonly email: string | undefined
  readonly key: string
}

/** The normalized content of a body. `items` counts recognized items, both events and skipped ones. */
export interface Normalized {
  readonly items: number
  readonly events: ReadonlyArray<NormalizedEvent>
  readonly skipped: ReadonlyArray<SkippedItem>
  /** Members that could not be read, of events in their order. Absent if there are none. */
  readonly incomplete?: ReadonlyArray<IncompleteItem>
  /** The place of each skipped item among all items, in ascending order. Absent if the source needs no verdicts. */
  readonly skippedAt?: ReadonlyArray<number>
  /**
   * JSON pointers of members that are not read, one for each name, up to 10. Absent if there are none, and without
   * verdicts.
   */
  readonly unknown?: ReadonlyArray<string>
  readonly profiles?: ReadonlyArray<ProfileUpdate>
  readonly erasures?: ReadonlyArray<ErasureRequest>
}

/** Largest value of a conversion or a refund. */
export const largestValue = 1e9
