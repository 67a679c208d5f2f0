import { Schema } from "effect"
import { english } from "../languages/Language.ts"
import type { SuppressionReason } from "./SuppressionReason.ts"

/** Category of an event: the message was sent, a person engaged with it, a downstream action, or a negative report. */
export const EventCategory = Schema.Literals(["delivery", "engagement", "conversion", "negative"])
export type EventCategory = typeof EventCategory.Type

/** Everything that the service knows about a kind of event, whichever source reports the event. */
interface EventKind {
  readonly category: EventCategory
  /** `false`: the event has no count of its own in the tallies. A count is a column of the table `tallies`. */
  readonly counted?: false
  /**
   * Effect on learning, in addition to the event's own count.
   *
   *     engaged      a person saw the message
   *     undelivered  nobody saw the message: the decision is voided unless somebody engaged with it
   *     opt_out      counts as the outcome `negative`, which objectives can weigh
   */
  readonly learning?: "engaged" | "undelivered" | "opt_out"
  /** Reason of the suppression entry that the event adds for the recipient's address. */
  readonly suppresses?: SuppressionReason
  /** The event suppresses only after as many consecutive events as the organization's limit of soft bounces. */
  readonly suppressesRepeated?: true
  /** The event shows that the address works, so the count of repeated bounces starts again. */
  readonly provesAddress?: true
  /** Accepted names in custom events and mappings, in lowercase. */
  readonly names: ReadonlyArray<string>
  /**
   * Words for people: one event, several events, and the column of the event in tables of variants if it has a column.
   */
  readonly words: { readonly one: string; readonly many: string; readonly column?: string }
  /** Description in the API reference, for a name that does not explain itself. */
  readonly description?: string
}

/**
 * The kinds of events. To add a kind, add it here and to the readers of the platforms that report it
 * (`src/intake/platforms`). A counted kind also needs a migration that adds its column to `tallies`.
 */
const kinds = {
  sent: {
    category: "delivery",
    names: ["sent", "send"],
    words: { one: english("sent"), many: english("sent"), column: english("Sent (reported)") },
  },
  delivered: {
    category: "delivery",
    provesAddress: true,
    names: ["delivered", "delivery"],
    words: { one: english("delivered"), many: english("delivered"), column: english("Delivered") },
  },
  open: {
    category: "engagement",
    learning: "engaged",
    provesAddress: true,
    names: ["open", "opened"],
    words: { one: english("open"), many: english("opens"), column: english("Opens") },
  },
  click: {
    category: "engagement",
    learning: "engaged",
    provesAddress: true,
    names: ["click", "clicked"],
    words: { one: english("click"), many: english("clicks"), column: english("Clicks") },
  },
  other: {
    category: "engagement",
    learning: "engaged",
    names: ["other"],
    words: { one: english("other"), many: english("other events"), column: english("Other") },
    description: "Interactions that are neither open nor click",
  },
  conversion: {
    category: "conversion",
    learning: "engaged",
    names: ["conversion", "converted", "purchase", "purchased", "order_completed"],
    words: { one: english("conversion"), many: english("conversions"), column: english("Conversions") },
  },
  // Lowers the revenue of conversions.
  refund: {
    category: "conversion",
    counted: false,
    names: ["refund", "refunded", "order_refunded", "purchase_refund", "refund_completed"],
    words: { one: english("refund"), many: english("refunds") },
  },
  // Shows no interest of a person: link scanners request the page as well.
  unsubscribe_view: {
    category: "engagement",
    counted: false,
    names: ["unsubscribe_view"],
    words: { one: english("view of the unsubscribe page"), many: english("views of the unsubscribe page") },
    description: "The unsubscribe page was requested",
  },
  bounce: {
    category: "negative",
    learning: "undelivered",
    suppresses: "hard_bounce",
    names: ["bounce", "bounced"],
    words: { one: english("hard bounce"), many: english("hard bounces") },
  },
  soft_bounce: {
    category: "negative",
    learning: "undelivered",
    suppresses: "soft_bounce",
    suppressesRepeated: true,
    names: ["soft_bounce", "soft_bounced"],
    words: { one: english("soft bounce"), many: english("soft bounces") },
  },
  // The platform did not send the message.
  failed: {
    category: "negative",
    learning: "undelivered",
    names: ["failed", "dropped", "rejected"],
    words: { one: english("failed"), many: english("failed") },
  },
  unsubscribe: {
    category: "negative",
    learning: "opt_out",
    suppresses: "unsubscribe",
    names: ["unsubscribe", "unsubscribed"],
    words: { one: english("unsubscribe"), many: english("unsubscribes") },
  },
  spam: {
    category: "negative",
    learning: "opt_out",
    suppresses: "complaint",
    names: ["spam", "complaint", "complained", "spam_report"],
    words: { one: english("complaint"), many: english("complaints") },
  },
} as const satisfies { readonly [event: string]: EventKind }

/** Kind of an event. */
export const EventName = Schema.Literals(Object.keys(kinds) as ReadonlyArray<keyof typeof kinds>)
export type EventName = typeof EventName.Type

/** The kinds of events by name. */
export const eventKinds: { readonly [event in EventName]: EventKind } = kinds

/** Kinds of events with a count of their own. */
export type CountedEvent = {
  [event in EventName]: typeof kinds[event] extends { readonly counted: false } ? never : event
}[EventName]

/** Kinds of events with a count of their own, in the order of the table. */
export const countedEvents: ReadonlyArray<CountedEvent> = EventName.literals.filter(
  (event): event is CountedEvent => eventKinds[event].counted !== false,
)

/** Kinds of events with a column in tables of variants. */
export type ColumnEvent = {
  [event in EventName]: typeof kinds[event] extends { readonly words: { readonly column: string } } ? event : never
}[EventName]

/** Kinds of events with a column in tables of variants, in the order of the table. */
export const columnEvents: ReadonlyArray<ColumnEvent> = EventName.literals.filter(
  (event): event is ColumnEvent => eventKinds[event].words.column !== undefined,
)

/** Whether an event puts the address of its recipient on the suppression list, at once or when it repeats. */
export const isSuppressing = (event: EventName): boolean => eventKinds[event].suppresses !== undefined
