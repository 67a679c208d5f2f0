import { JsonPointer } from "effect"
import { readAddress } from "../text/AddressText.ts"
import { anyName } from "../domain/ConversionEvents.ts"
import type { MemberFault, Normalized, NormalizedEvent } from "../domain/Event.ts"
import type { Skipped } from "../domain/DryRun.ts"
import { reasonKeys } from "./BounceReasons.ts"
import { collect, faulty, ignored, type Items, itemsOf, unreadableAddress } from "./Items.ts"
import { channelOf, isEmailChannel, mayBeEmail, optIn, optInNames } from "../domain/Recipient.ts"
import { type EventName, isSuppressing } from "../domain/EventKinds.ts"
import { isEventId, keyOf, nameOf, textOf } from "../domain/EventKeys.ts"
import { type EventLevel, faultsIn, memberFault } from "./Given.ts"
import { timeIn } from "./Instant.ts"
import { type Money, moneyIn } from "./Money.ts"
import { bounceIn } from "./BounceMembers.ts"
import { trackingIdOf } from "./LinkParameters.ts"
import { emailOf, find, isItem, type Item, known, lastSegment, linkOf, noise } from "./Reading.ts"
import { addressFault, zoneIn } from "./PersonMembers.ts"
import { automatedKeys, flagIn } from "./Truth.ts"
import { type NamedMessage, namedMessage, ofGroup } from "./MessageMeaning.ts"
import { groupKeys } from "./OptOutGroup.ts"
import { unknownNameReason } from "./UnknownName.ts"

/** Headers of the request, and settings of the organization. */
export interface CustomEventsOptions {
  /**
   * When the body was received. Unit: Unix milliseconds. Events without a valid time, or with a later one, get this
   * time.
   */
  readonly receivedAt: number
  /** Id of the request, as in `webhook-id`. Default event id of an item that is the only item of its body. */
  readonly webhookId: string | undefined
  /**
   * Additional names that are conversions, lowercase: a whole name (`shop.order.paid`), or its last segment (`paid`).
   */
  readonly conversions?: ReadonlySet<string> | undefined
  /**
   * Whether an event with an unknown name, which is not in `conversions`, is a fault. If false, it is a conversion if
   * it has a tracking id. If true, faults also name their member. Default: false.
   */
  readonly strict?: boolean | undefined
}

/** Members of a body that may contain the list of items, in order of precedence. */
export const wrapperKeys: ReadonlyArray<string> = ["events", "batch", "data"] as const
const eventKeys = ["event", "event_name", "event_type", "type", "name"]
const trackingKeys = ["tracking_id", "trackingId"]
const templateKeys = ["template_id", "templateId"]
const userKeys = ["user_id", "userId", "external_user_id", "external_id", "email"]
const emailKeys = ["email", "recipient", "email_address"]
const idKeys = ["event_id", "eventId", "id"]
const messageKeys = ["message_id", "messageId"]
const timeKeys = ["occurred_at", "timestamp", "time", "created_at", "ts"]
const linkKeys = ["link", "url", "href", "link_url", "clicked_url"]
const valueKeys = ["value", "revenue", "amount", "total"]
const zoneKeys = ["time_zone", "timezone", "timeZone"]
const channelKeys = ["channel"]
const bounceKeys = ["bounce_type", "bounceType", "bounce", "severity"]
/** Keys of the clicked URL, most explicit first. */
const urlKeys = ["url", "link", "href", "link_url", "clicked_url"]

// Some senders use the message's id as event id, so an open and a click have one value.
const byMessage = (event: EventName, id: string | undefined) => id === undefined ? undefined : `${event}:${id}`

/**
 * Returns the JSON pointer, within an item, of the member that supplies a value; of the first key if no key has a
 * value.
 */
const memberAt = (item: Item, keys: ReadonlyArray<string>, read: (value: unknown) => string | undefined): string => {
  for (const at of ["", "/data", "/properties"]) {
    const level = at === "" ? item : item[at.slice(1)]
    const key = isItem(level) ? keys.find((key) => read(level[key]) !== undefined) : undefined
    if (key !== undefined) return `${at}/${key}`
  }
  return `/${keys[0]!}`
}

/** The meaning of an event name. */
type Named = Pick<NamedMessage, "event" | "optIn"> & Partial<NamedMessage>

/** Returns the meaning of an event name, or why the name is unknown. `isMail`: the event concerns e-mail. */
const eventOf = (
  stated: string,
  isMail: boolean,
  trackingId: string | undefined,
  levels: ReadonlyArray<Item>,
  { conversions, strict }: CustomEventsOptions,
): Named | Skipped => {
  const name = stated.trim().toLowerCase()
  const direct = known.get(name)
  if (direct !== undefined) return { event: direct }
  // A configured whole name takes precedence: `shop.parcel.delivered` is then not a delivery of the message.
  if (conversions?.has(name) === true) return { event: "conversion" }
  const segment = lastSegment(name)
  const event = known.get(segment)
  if (event !== undefined && !isSuppressing(event)) return { event }
  const message = namedMessage(stated, levels)
  if (event !== undefined) return message !== undefined && "event" in message ? { ...message, event } : { event }
  if (conversions?.has(segment) === true) return { event: "conversion" }
  if (optInNames.has(name) || optInNames.has(segment)) {
    return isMail ? optIn : ignored(`"${stated}" does not concern e-mail`)
  }
  if (noise.has(segment)) return ignored(`"${stated}" says nothing about a message's effect`)
  if (message !== undefined) {
    return "event" in message && message.optIn === true && !isMail
      ? ignored(`"${stated}" does not concern e-mail`)
      : message
  }
  if (strict === true && conversions?.has(anyName) !== true) {
    return faulty(unknownNameReason(stated, conversions ?? new Set()))
  }
  return trackingId !== undefined ? { event: "conversion" } : ignored(
    `"${stated}" is no message event; it is a conversion only with a tracking_id, or when configured as one`,
  )
}

/** Returns the item and its members `data` and `properties`. Each may contain any member of an event. */
const levelsOf = (item: Item): { readonly levels: ReadonlyArray<EventLevel>; readonly fault?: MemberFault } => {
  const levels: Array<EventLevel> = [{ item, at: "" }]
  let fault: MemberFault | undefined
  for (const name of ["data", "properties"]) {
    const value = item[name]
    if (isItem(value)) levels.push({ item: value, at: `/${name}` })
    else if (value !== undefined && value !== null) {
      fault ??= memberFault(`/${name}`, value, "is no object", "Its content is not read")
    }
  }
  return { levels, ...(fault === undefined ? {} : { fault }) }
}

/** Returns the fault of an id that cannot be stored. Blank texts count as absent. */
const idFault = (
  levels: ReadonlyArray<EventLevel>,
  keys: ReadonlyArray<string>,
  effect: string,
): MemberFault | undefined => {
  for (const { at, item } of levels) {
    for (const key of keys) {
      const value = item[key]
      if (value === undefined || value === null || (typeof value === "string" && value.trim() === "")) continue
      return memberFault(
        `${at}/${key}`,
        value,
        "is no id: send 1 to 200 characters without control characters",
        effect,
      )
    }
  }
  return undefined
}

/** Returns why a refund cannot be counted; undefined for a valid refund and for other events. */
const refundFault = (
  { event, faults, value }: Money,
  trackingId: string | undefined,
): { readonly reason: string; readonly keys: ReadonlyArray<string> } | undefined => {
  if (event !== "refund") return undefined
  if (trackingId === undefined) {
    return { reason: "is a refund: send the tracking_id of the conversion that it takes back", keys: trackingKeys }
  }
  return value === undefined
    ? {
      reason: faults[0]?.reason ?? "is a refund without a value: send the amount that was paid back",
      keys: valueKeys,
    }
    : undefined
}

/** Reads an item: returns an event, or the reason for skipping the item. Positions are added by `collect`. */
export const readItem = (item: unknown, options: CustomEventsOptions): NormalizedEvent | Skipped => {
  const { receivedAt, strict, webhookId } = options
  const fault = (reason: string, member: () => string) => faulty(reason, strict === true ? member() : undefined)
  if (!isItem(item)) return faulty("must be an object")
  const { fault: levelFault, levels: given } = levelsOf(item)
  const levels = given.map(({ item }) => item)
  const stated = find(levels, eventKeys, nameOf)
  if (stated === undefined) {
    return fault('has no event name: send event, such as "click"', () => memberAt(item, eventKeys, nameOf))
  }
  const trackingId = find(levels, trackingKeys, nameOf) ?? find(levels, urlKeys, trackingIdOf)
  const channel = find(levels, channelKeys, nameOf)
  const named = eventOf(stated, isEmailChannel(channel), trackingId, levels, options)
  if ("reason" in named) {
    return named.expected ? named : fault(named.reason, () => memberAt(item, eventKeys, nameOf))
  }
  const user = find(levels, userKeys, nameOf)
  if (trackingId === undefined && user === undefined) {
    return fault(
      "names no message: send tracking_id (or user_id), 1 to 200 characters without control characters",
      () => memberAt(item, trackingKeys, nameOf),
    )
  }
  const { event, faults: moneyFaults, ...money } = moneyIn(
    bounceIn(named.event, levels),
    given,
    valueKeys,
  )
  const refund = refundFault({ event, faults: moneyFaults, ...money }, trackingId)
  if (refund !== undefined) {
    return fault(refund.reason, () => moneyFaults[0]?.member ?? memberAt(item, refund.keys, textOf))
  }
  const address = find(levels, emailKeys, nameOf)
  const isOfEmail = named.isEmail !== false && mayBeEmail(channel)
  const isLost = isSuppressing(event) && isOfEmail && trackingId === undefined && user === address &&
    address !== undefined && readAddress(address) === undefined
  if (isLost) return fault(unreadableAddress(address), () => memberAt(item, emailKeys, nameOf))
  const time = timeIn(given, timeKeys, receivedAt)
  const machine = flagIn(given)
  const { fault: zoneFault, zone } = zoneIn(given, zoneKeys)
  const ofChannel = channelOf(event, isOfEmail)
  const templateId = find(levels, templateKeys, nameOf)
  const ownId = find(levels, idKeys, textOf)
  const isIdKept = ownId === undefined || isEventId(ownId)
  return {
    event,
    ...(named.optIn === true ? { optIn: named.optIn } : {}),
    ...ofGroup(named, levels),
    trackingId,
    templateId,
    user,
    ...emailOf({ event, trackingId }, address, user),
    key: keyOf(
      item,
      ownId ?? byMessage(event, find(levels, messageKeys, textOf)) ?? textOf(webhookId),
    ),
    occurredAt: time.occurredAt,
    automated: machine.automated || named.automated === true,
    link: find(levels, linkKeys, linkOf),
    ...ofChannel,
    ...money,
    ...zone,
    ...faultsIn(
      levelFault,
      trackingId === undefined ? idFault(given, trackingKeys, "The event is attributed by its user") : undefined,
      templateId === undefined ? idFault(given, templateKeys, "The event counts without it") : undefined,
      user === undefined ? idFault(given, userKeys, "The event counts without a user") : undefined,
      ownId === undefined || !isIdKept ? idFault(given, idKeys, "The content identifies the event") : undefined,
      ...moneyFaults,
      time.fault,
      machine.fault,
      addressFault({ event, ...ofChannel }, given, emailKeys),
      zoneFault,
    ),
  }
}

/** All member names that are read. */
const knownKeys: ReadonlySet<string> = new Set([
  ...eventKeys,
  ...trackingKeys,
  ...templateKeys,
  ...userKeys,
  ...emailKeys,
  ...idKeys,
  ...messageKeys,
  ...timeKeys,
  ...linkKeys,
  ...valueKeys,
  "currency",
  ...zoneKeys,
  ...channelKeys,
  ...groupKeys,
  ...bounceKeys,
  ...reasonKeys,
  ...automatedKeys,
  "data",
  "properties",
])

/** Maximum number of items of a body whose member names are checked, and of unknown names that are reported. */
const checkedItems = 100
const maxUnknown = 10

/**
 * Returns the JSON pointers of unknown members: the first occurrence of each name. Members within `data` and
 * `properties` may have any name.
 */
const unknownIn = (body: unknown, { items, list }: Items): ReadonlyArray<string> => {
  const found = new Map<string, string>()
  const look = (value: unknown, at: string, isKnown: (name: string) => boolean) => {
    if (!isItem(value)) return
    for (const name of Object.keys(value)) {
      if (found.size === maxUnknown) return
      if (!isKnown(name) && !found.has(name)) found.set(name, `${at}/${JsonPointer.escapeToken(name)}`)
    }
  }
  if (list !== undefined && list !== "") look(body, "", (name) => `/${name}` === list)
  for (const [i, item] of items.slice(0, checkedItems).entries()) {
    look(item, list === undefined ? "" : `${list}/${i}`, (name) => knownKeys.has(name))
  }
  return [...found.values()]
}

/** Counts the items of a body like `normalize`, without reading them. A body that is not a list is one item. */
export const countItems = (body: unknown): number => itemsOf(body, wrapperKeys).items.length

/**
 * Reads the default shape of custom events from parsed JSON: an object, an array, or an object with an array in
 * `events`, `batch` or `data`. Each value is read from the first of its keys that has one, in the item, its `data`, or
 * its `properties`. Never fails: an item that is no event is skipped, with the reason. A body of another type is one
 * skipped item.
 *
 * Texts over 200 characters, texts with control characters or lone surrogates, and blank texts count as absent. An item
 * without a valid event id is identified by its content, regardless of the order of its members. With `strict`, the
 * result also lists unknown members. Described in docs/integrations/custom-events.md. Measured: 1 to 2 microseconds per
 * item, 4 with a digest.
 */
export const normalize = (body: unknown, options: CustomEventsOptions): Normalized => {
  const items = itemsOf(body, wrapperKeys)
  const each = items.items.length === 1 ? options : { ...options, webhookId: undefined }
  const normalized = collect(items, (item) => readItem(item, each), options.strict === true)
  const unknown = options.strict === true ? unknownIn(body, items) : []
  return unknown.length === 0 ? normalized : { ...normalized, unknown }
}
