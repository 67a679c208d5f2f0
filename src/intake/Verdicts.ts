import { Schema } from "effect"
import type { Fault } from "../domain/Errors.ts"
import type { NormalizedEvent } from "../domain/Event.ts"
import { isSuppressing } from "../domain/EventKinds.ts"
import { SeededMap, SeededSet } from "../json/SeededMap.ts"
import type { NotUnderstood } from "../domain/DryRun.ts"
import type { Normalize } from "./Normalize.ts"

// Verdicts on the items of a body, for the response to its sender. Pure.

/** The fields of an event that its verdict depends on, with the members that could not be read. */
interface JudgedEvent
  extends Pick<NormalizedEvent, "currency" | "event" | "group" | "key" | "occurredAt" | "trackingId" | "templateId"> {
  /** JSON pointer of the first unreadable member. */
  readonly pointer?: string
  readonly reasons?: ReadonlyArray<string>
  /** Whether the event may suppress its recipient's address. */
  readonly suppresses?: true
}

/** The result of reading an item: its event, or why it has none. */
export type JudgedItem =
  | JudgedEvent
  | {
    /** `ignored`: a known item without effect. `rejected`: a faulty item. */
    readonly status: "ignored" | "rejected"
    /** JSON pointer of the item, or of the faulty member. */
    readonly pointer: string
    readonly reason: string
  }

/** The items of a body in order, or why the body cannot be read. */
export type Judged =
  | {
    readonly items: ReadonlyArray<JudgedItem>
    /** JSON pointers of unknown members: one for each name. */
    readonly unknown?: ReadonlyArray<string>
  }
  | NotUnderstood

/** Reads a body of custom events and judges each of its items. */
export const judge = (
  normalize: Normalize,
  body: Uint8Array,
  headers: Readonly<Record<string, string>>,
  receivedAt: number,
): Judged => {
  const normalized = normalize(body, headers, receivedAt)
  if ("reason" in normalized) return normalized
  const { events, incomplete = [], skipped, skippedAt = [], unknown } = normalized
  let nextSkipped = 0
  let nextEvent = 0
  let nextIncomplete = 0
  const items = Array.from({ length: events.length + skipped.length }, (_, place): JudgedItem => {
    if (skippedAt[nextSkipped] !== place) {
      const { currency, event, group, key, occurredAt, otherChannel, templateId, trackingId } = events[nextEvent]!
      const suppresses = isSuppressing(event) && otherChannel !== true
      const judged = {
        event,
        key,
        occurredAt,
        templateId,
        trackingId,
        ...(suppresses ? { suppresses } : {}),
        ...(currency === undefined ? {} : { currency }),
        ...(group === undefined ? {} : { group }),
      }
      const first = nextIncomplete
      while (incomplete[nextIncomplete]?.event === nextEvent) nextIncomplete++
      nextEvent++
      if (nextIncomplete === first) return judged
      const reasons = incomplete.slice(first, nextIncomplete).map(({ reason }) => reason)
      return { ...judged, pointer: incomplete[first]!.pointer, reasons }
    }
    const { expected, member = "", pointer, reason } = skipped[nextSkipped++]!
    return expected ? { status: "ignored", pointer, reason } : { status: "rejected", pointer: pointer + member, reason }
  })
  return { items, ...(unknown === undefined ? {} : { unknown }) }
}

/** The verdict on one item of a body, as in the response. */
export const EventVerdict = Schema.Struct({
  index: Schema.Int.annotate({ description: "Its place among the items of the body, from 0" }),
  status: Schema.Literals(["accepted", "incomplete", "duplicate", "ignored", "rejected"]).annotate({
    description:
      "`accepted`: everything was understood and stored; the event counts once it is attributed. `incomplete`: stored " +
      "without the member at `pointer`, which could not be read, see `reason`. `duplicate`: an event of the same id, or of " +
      "the same content without one, came in before. `ignored`: it says nothing about a message's effect, or happened " +
      "outside the time that counts for its decision. `rejected`: not stored, see `reason`",
  }),
  pointer: Schema.optionalKey(Schema.String).annotate({ description: "JSON pointer of the item or member meant" }),
  reason: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "EventVerdict" })
export type EventVerdict = typeof EventVerdict.Type

/**
 * Maximum length of all reasons in one response. 10,000 verdicts without reasons need about 500,000. Unit: characters.
 */
const maxReasons = 200_000

/** Returns the faults of a body that is refused as a whole. Faults beyond `maxReasons` are only counted. */
export const faultsOf = (items: ReadonlyArray<JudgedItem>): ReadonlyArray<Fault> => {
  let left = maxReasons
  const faults: Array<Fault> = []
  for (const item of items) {
    if (!("status" in item) || (left -= item.reason.length) < 0) break
    faults.push({ pointer: item.pointer, detail: item.reason })
  }
  const more = items.length - faults.length
  return more === 0 ? faults : [...faults, { pointer: "", detail: `has ${more} more items with faults` }]
}

/** Returns the JSON pointers of unreadable members: the first of each event. */
export const unreadIn = (items: ReadonlyArray<JudgedItem>): ReadonlyArray<string> =>
  items.flatMap((item) => "key" in item && item.pointer !== undefined ? [item.pointer] : [])

/** Returns the events of a body, each once. */
export const eventsOf = (items: ReadonlyArray<JudgedItem>): ReadonlyArray<JudgedEvent> => {
  const first = new SeededMap<string, JudgedEvent>()
  for (const item of items) if ("key" in item && !first.has(item.key)) first.set(item.key, item)
  return [...first.values()]
}

const refunded = "The value is paid back: it lowers the revenue of the message's conversions, not below 0"

const otherCurrency = (stated: string, counted: string) =>
  `The value is in ${stated}, and revenue of this organization is in ${counted}: it counts as 0. Send values in ${counted}`

const ofGroup = (group: string) =>
  `It concerns the group ${
    JSON.stringify(group.slice(0, 60).toWellFormed())
  }: it counts for all e-mail only if group_opt_outs ` +
  "of the organization has this group"

const repeated = "An event of the same id, or of the same content, came in before: it counts once"

/**
 * Returns the verdicts on the items of a body. `known` contains the keys of events that were received before,
 * `untimely` the reasons why events do not count for their decision, by key, and `currency` the organization's
 * currency. If a body has very many verdicts, later verdicts have no reasons.
 */
export const verdictsOf = (
  items: ReadonlyArray<JudgedItem>,
  known: SeededSet<string>,
  untimely: Pick<SeededMap<string, string>, "get">,
  currency: string | null,
): ReadonlyArray<EventVerdict> => {
  const seen = new SeededSet<string>()
  let left = maxReasons
  const told = (reason: string) => {
    left -= reason.length
    return left < 0 ? {} : { reason }
  }
  return items.map((item, index): EventVerdict => {
    if ("status" in item) return { index, status: item.status, pointer: item.pointer, ...told(item.reason) }
    const isRepeated = known.has(item.key) || seen.has(item.key)
    seen.add(item.key)
    if (isRepeated) return { index, status: "duplicate", ...told(repeated) }
    const late = untimely.get(item.key)
    if (late !== undefined) return { index, status: "ignored", ...told(late) }
    if (item.reasons !== undefined) {
      return { index, status: "incomplete", pointer: item.pointer!, ...told(item.reasons.join(". ")) }
    }
    const stated = item.currency
    const reason = currency !== null && stated !== undefined && stated !== currency
      ? otherCurrency(stated, currency)
      : item.event === "refund"
      ? refunded
      : item.group !== undefined
      ? ofGroup(item.group)
      : undefined
    return { index, status: "accepted", ...(reason === undefined ? {} : told(reason)) }
  })
}
