import type { EventName } from "../../domain/EventKinds.ts"
import { collect, faulty, ignored, itemsOf, noItems, type ReadItem } from "../Items.ts"
import { digestKey, digestKeyOfSorted, messageKeyOf, nameOf, textOf } from "../../domain/EventKeys.ts"
import { bounceByReason } from "../BounceReasons.ts"
import { faultsIn } from "../Given.ts"
import { timeIn } from "../Instant.ts"
import { bounceOf } from "../../domain/refusals/BounceEvent.ts"
import { addressFault } from "../PersonMembers.ts"
import { flagIn } from "../Truth.ts"
import { carriedIds, emailOf, find, isBlank, isItem, type Item, linkOf, objectOf, parseJson } from "../Reading.ts"
import { channelOf, optIn } from "../../domain/Recipient.ts"
import { groupOf } from "../OptOutGroup.ts"
import type { Normalize } from "../Normalize.ts"

type Meaning = EventName | "ignored"

const named = (meaning: Meaning, names: string): ReadonlyArray<[string, Meaning]> =>
  names.split(" ").map((name) => [name, meaning])

/** The person subscribes again to a list or a message type. */
const optInName = "emailsubscribe"

/**
 * Meanings of lowercase event names. Iterable's webhooks use camel case, such as `emailUnSubscribe`, and its documents
 * disagree on it.
 */
const meanings: ReadonlyMap<string, Meaning> = new Map([
  // An embedded message is not pushed. It counts as sent when it is sent or when a device fetches it.
  ...named("sent", "emailsend pushsend smssend inappsend webpushsend whatsappsend embeddedsend embeddedreceived"),
  ...named("open", "emailopen pushopen inappopen embeddedimpression whatsappseen"),
  ...named("click", "emailclick smsclick inappclick webpushclick embeddedclick whatsappclick"),
  // After `hostedunsubscribeclick`, the person has only opened the preference page. Received SMS and WhatsApp messages
  // are replies.
  ...named("other", `${optInName} hostedunsubscribeclick smsreceived whatsappreceived inappdelete`),
  ...named("bounce", "emailbounce pushbounce smsbounce whatsappbounce"),
  ...named("spam", "emailcomplaint"),
  ...named("unsubscribe", "emailunsubscribe"),
  ...named(
    "failed",
    "emailsendskip pushsendskip smssendskip inappsendskip webpushsendskip whatsappsendskip embeddedsendskip",
  ),
  ...named("ignored", "inapprecall pushuninstall journeyexit embeddedsession"),
])

const userKeys = ["userId", "email"]
const timeKeys = ["createdAt"]
const messageKeys = ["messageId"]
const urlKeys = ["url", "linkUrl", "clickedUrl"]
/** In-app and embedded messages have buttons instead of links. */
const linkKeys = [...urlKeys, "buttonIdentifier", "linkId"]
const machineKeys = ["isBot"]
/**
 * Carriers of our ids, the campaign's own data first. `trackedLink.trackingId` and `templateId` are Iterable's own ids.
 */
const carrierKeys = ["transactionalData", "metadata"]
/**
 * Whether the open is automated. Apple's proxy fetches every message on arrival. Gmail's proxy fetches a message only
 * when a person opens it, so its opens count as opens by people.
 */
const isProxy = (fields: Item): boolean => textOf(fields["proxySource"])?.trim().toLowerCase() === "apple"

/** Whether a bounce is soft. A bounce without a state counts as hard. */
const isSoft = (fields: Item): boolean => {
  const state = textOf(fields["recipientState"])
  return state !== undefined && state.trim().toLowerCase() !== "hardbounce"
}

/**
 * Members that list the message types, lists or channels of an opt-out. An opt-out of all messages has none of them.
 * `messageTypeId` and `channelId` describe the message.
 */
const groupKeys = ["messageTypeIds", "emailListIds", "listIds", "channelIds"]

const groupsOf = (fields: Item): { readonly group?: string } => {
  const group = find([fields], groupKeys, groupOf)
  return group === undefined ? {} : { group }
}

const read = (item: unknown, receivedAt: number): ReadItem => {
  if (!isItem(item)) return faulty("must be an object")
  const stated = nameOf(item["eventName"])
  if (stated === undefined) return faulty('has no eventName, such as "emailClick"')
  const name = stated.trim().toLowerCase()
  const meaning = meanings.get(name)
  if (meaning === undefined) return faulty(`eventName "${stated}" is not known`)
  if (meaning === "ignored") return ignored(`"${stated}" says nothing about a message's effect`)

  const fields = objectOf(item["dataFields"]) ?? {}
  const { templateId, trackingId } = carriedIds(fields, carrierKeys, urlKeys)
  const user = find([item, fields], userKeys, nameOf)
  const messageId = find([fields], messageKeys, textOf)
  const messageKey = messageKeyOf(nameOf(messageId))
  if (trackingId === undefined && user === undefined && messageKey === undefined) {
    return faulty("names no message: neither a tracking_id, a messageId nor a user")
  }
  const createdAt = find([fields], timeKeys, textOf)
  // Without both, events of one name and user have no other difference, so the whole content distinguishes them.
  const key = messageId === undefined && createdAt === undefined ? digestKey(item) : digestKeyOfSorted({
    createdAt: createdAt ?? null,
    eventName: name,
    messageId: messageId ?? null,
    url: find([fields], urlKeys, textOf) ?? null,
    user: user ?? null,
  })
  const event = name === "emailbounce" ? bounceByReason(bounceOf(isSoft(fields)), [fields]) : meaning
  const dataFields = [{ item: fields, at: "/dataFields" }]
  const time = timeIn(dataFields, timeKeys, receivedAt)
  const machine = flagIn(dataFields, machineKeys)
  const ofChannel = channelOf(event, name.startsWith("email"))
  return {
    ...(name === optInName ? optIn : { event }),
    ...(event === "unsubscribe" ? groupsOf(fields) : {}),
    trackingId,
    templateId,
    user,
    ...emailOf({ event: meaning, trackingId, messageKey }, item["email"], fields["email"], user),
    key,
    messageKey,
    occurredAt: time.occurredAt,
    automated: machine.automated || isProxy(fields),
    link: find([fields], linkKeys, linkOf),
    ...ofChannel,
    ...faultsIn(
      time.fault,
      machine.fault,
      addressFault({ event, ...ofChannel }, [{ item, at: "" }, ...dataFields], ["email"]),
    ),
  }
}

/**
 * Reads an Iterable system webhook: one event in each request, or a list of events. All events of a message have its
 * `messageId`. There is no event id: an event is identified by name, message, time, URL and user. An empty body has no
 * items. Facts: docs/integrations/facts/iterable.md.
 */
export const normalize: Normalize = (body, _headers, receivedAt) => {
  if (isBlank(body)) return noItems
  const parsed = parseJson(body)
  if (!("json" in parsed)) return parsed
  return collect(itemsOf(parsed.json), (item) => read(item, receivedAt))
}
