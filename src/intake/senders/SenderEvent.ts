import { digestKey, isEventId, messageKeyOfRecipient, nameOf } from "../../domain/EventKeys.ts"
import type { EventName } from "../../domain/EventKinds.ts"
import { readAddress } from "../../text/AddressText.ts"
import { type EventLevel, faultsIn } from "../Given.ts"
import { timeIn } from "../Instant.ts"
import { faulty, type ReadItem } from "../Items.ts"
import { trackingIdOf } from "../LinkParameters.ts"
import { addressFault } from "../PersonMembers.ts"
import { emailOf, isItem, type Item, linkOf, objectOf } from "../Reading.ts"
import { flagIn } from "../Truth.ts"

// The common part of the readers of senders of e-mail.

/** An event of one message to one recipient, and where the sender's record has its parts. */
export interface SenderEvent {
  readonly event: EventName
  /** The members with the recipient's address. */
  readonly recipient: Members
  /** The members with the time of the event. */
  readonly time: Members
  /** Objects, or their JSON text, that may carry our ids. The first with a tracking id counts. */
  readonly carriers: ReadonlyArray<unknown>
  /** Whether a carrier is the sender's record itself, whose `template_id` is the sender's. Default: false. */
  readonly isFlat?: boolean
  /** The clicked URL. */
  readonly url?: unknown
  /** The sender's id of the message, which all its events contain. */
  readonly messageId?: unknown
  /** The header Message-ID of the message. One that this service wrote contains the tracking id. */
  readonly header?: unknown
  /** The sender's id of the event. */
  readonly id: string | undefined
  /** Returns the members that distinguish the event if it has no id. */
  readonly content: () => Item
  /** The members that are true if a machine caused the event. */
  readonly machine?: Members
  readonly automated?: boolean
  /** The list or group of an opt-out. */
  readonly group?: string | undefined
}

/** Members of an object within an item. The first with a valid value counts. */
interface Members {
  readonly level: EventLevel
  readonly keys: ReadonlyArray<string>
}

/** Maximum number of members of a carrier that are compared. */
const maxMembers = 100

/** Returns the name in a value, or in the first element of a list. */
const nameIn = (value: unknown): string | undefined => nameOf(Array.isArray(value) ? value[0] : value)

/** Returns our id in a carrier. Letter case does not matter, and `-` counts as `_`. */
const carried = (carrier: Item, id: string): string | undefined => {
  const own = nameIn(carrier[id])
  if (own !== undefined) return own
  const keys = Object.keys(carrier)
  for (let at = 0; at < keys.length && at < maxMembers; at++) {
    const key = keys[at]!
    if (key.length !== id.length || key === id || key.toLowerCase().replaceAll("-", "_") !== id) continue
    const name = nameIn(carrier[key])
    if (name !== undefined) return name
  }
  return undefined
}

/** Returns our ids in the carriers. A `template_id` counts only next to a tracking id, because it may be the customer's. */
const carriedIn = ({ carriers, isFlat = false }: Pick<SenderEvent, "carriers" | "isFlat">) => {
  let user: string | undefined
  for (const value of carriers) {
    const carrier = objectOf(value)
    if (carrier === undefined) continue
    user ??= carried(carrier, "user_id")
    const trackingId = carried(carrier, "tracking_id")
    if (trackingId !== undefined) {
      return { trackingId, user, templateId: isFlat ? undefined : carried(carrier, "template_id") }
    }
  }
  return { trackingId: undefined, user, templateId: undefined }
}

/** Matches a Message-ID that this service wrote: the id of the delivery, and the domain of its sender. */
const ownMessageId = /^<?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})@[\w.-]+>?$/

/** Returns the tracking id in a Message-ID that this service wrote; undefined for other texts. */
const deliveryIn = (header: unknown): string | undefined => ownMessageId.exec(nameOf(header) ?? "")?.[1]

/** Returns the address in the first member that has one, without a display name. */
const addressIn = ({ keys, level }: Members): string | undefined => {
  for (const key of keys) {
    const name = nameOf(level.item[key])
    const address = name && readAddress(name)
    if (address) return address
  }
  return undefined
}

/**
 * Returns the event, or why it names neither a message nor a person. The tracking id is the one of the carriers, then
 * of the clicked URL, then of the Message-ID. The person is the `user_id` of the carriers, then the recipient.
 */
export const eventOf = (found: SenderEvent, receivedAt: number): ReadItem => {
  const { automated = false, content, event, group, header, id, machine, messageId, time, url } = found
  const ids = carriedIn(found)
  const trackingId = ids.trackingId ?? trackingIdOf(url) ?? deliveryIn(header)
  const recipient = addressIn(found.recipient)
  const messageKey = messageKeyOfRecipient(messageId, recipient)
  const user = ids.user ?? recipient
  if (trackingId === undefined && user === undefined && messageKey === undefined) {
    return faulty("names neither a message nor a person: it has no tracking_id and no address of the recipient")
  }
  const { fault, occurredAt } = timeIn([time.level], time.keys, receivedAt)
  const byMachine = machine === undefined ? { automated: false } : flagIn([machine.level], machine.keys)
  return {
    event,
    trackingId,
    templateId: ids.templateId,
    user,
    ...emailOf({ event, trackingId, messageKey }, recipient),
    key: id !== undefined && isEventId(id) ? `id:${id}` : digestKey(content()),
    occurredAt,
    automated: automated || byMachine.automated,
    messageKey,
    link: linkOf(url),
    ...(group === undefined ? {} : { group }),
    ...faultsIn(fault, byMachine.fault, addressFault({ event }, [found.recipient.level], found.recipient.keys)),
  }
}

/** Returns the member of a list of `{name, value}` pairs, such as the headers of a message. Letter case does not matter. */
export const headerIn = (headers: unknown, name: string): unknown =>
  Array.isArray(headers)
    ? headers.slice(0, maxMembers).find((one) => isItem(one) && String(one["name"]).toLowerCase() === name)?.["value"]
    : undefined

/** Returns the members of an object, or of a list of `{name, value}` pairs. Undefined for other values. */
export const pairsIn = (value: unknown): Item | undefined =>
  Array.isArray(value)
    ? Object.fromEntries(value.slice(0, maxMembers).filter(isItem).map((pair) => [String(pair["name"]), pair["value"]]))
    : objectOf(value)
