import type { EventName } from "../../domain/EventKinds.ts"
import { collect, faulty, ignored, itemsOf, noItems, type ReadItem } from "../Items.ts"
import { digestKey, digestKeyOfSorted, messageKeyOf, nameOf, textOf } from "../../domain/EventKeys.ts"
import { faultsIn } from "../Given.ts"
import { timeIn } from "../Instant.ts"
import { bounceOf } from "../mail/BounceKind.ts"
import { addressFault } from "../PersonMembers.ts"
import { flagIn } from "../Truth.ts"
import { carriedIds, emailOf, find, isBlank, isItem, type Item, linkOf, objectOf, parseJson } from "../Reading.ts"
import { channelOf, optIn } from "../../domain/Recipient.ts"
import type { Normalize } from "../Normalize.ts"

type Meaning = EventName | "ignored"

const named = (meaning: Meaning, names: string): ReadonlyArray<[string, Meaning]> =>
  names.split(" ").map((name) => [name, meaning])

/** A person subscribes to a list or a message type again. */
const optInName = "emailsubscribe"

/** Lowercase names: the platform writes `emailUnSubscribe`, `inAppOpen`, `whatsAppSeen`, and its documents differ. */
const meanings: ReadonlyMap<string, Meaning> = new Map([
  // An embedded message is not pushed: it is on its way once it is sent or a device has fetched it.
  ...named("sent", "emailsend pushsend smssend inappsend webpushsend whatsappsend embeddedsend embeddedreceived"),
  ...named("open", "emailopen pushopen inappopen embeddedimpression whatsappseen"),
  ...named("click", "emailclick smsclick inappclick webpushclick embeddedclick whatsappclick"),
  // With the first event, the person has only opened the preference page. SMS and WhatsApp messages received are
  // replies.
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
/** In-app and embedded messages have buttons in place of links. */
const linkKeys = [...urlKeys, "buttonIdentifier", "linkId"]
const machineKeys = ["isBot"]
/** Ours to write, the campaign's own data first. Not `trackedLink.trackingId`, nor `templateId`: both are Iterable's own. */
const carrierKeys = ["transactionalData", "metadata"]
/** Apple's proxy fetches every message when it arrives; Gmail's only when it is opened. */
const isProxy = (fields: Item): boolean => textOf(fields["proxySource"])?.trim().toLowerCase() === "apple"

/** A bounce that does not say how is taken for a hard one. */
const isSoft = (fields: Item): boolean => {
  const state = textOf(fields["recipientState"])
  return state !== undefined && state.trim().toLowerCase() !== "hardbounce"
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
  // Without either, all events of this name and user would be one: then the whole content tells them apart.
  const key = messageId === undefined && createdAt === undefined ? digestKey(item) : digestKeyOfSorted({
    createdAt: createdAt ?? null,
    eventName: name,
    messageId: messageId ?? null,
    url: find([fields], urlKeys, textOf) ?? null,
    user: user ?? null,
  })
  const event = name === "emailbounce" ? bounceOf(isSoft(fields)) : meaning
  const dataFields = [{ item: fields, at: "/dataFields" }]
  const time = timeIn(dataFields, timeKeys, receivedAt)
  const machine = flagIn(dataFields, machineKeys)
  const ofChannel = channelOf(event, name.startsWith("email"))
  return {
    ...(name === optInName ? optIn : { event }),
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
 * Reads an Iterable system webhook, one event per request (`providers.md` part 3); a list of them is read too. All events
 * of a message share its `messageId`. There is no event id: an event is known by its name, message, time, URL and user.
 * An empty body has no items.
 */
export const normalize: Normalize = (body, _headers, receivedAt) => {
  if (isBlank(body)) return noItems
  const parsed = parseJson(body)
  if (!("json" in parsed)) return parsed
  return collect(itemsOf(parsed.json), (item) => read(item, receivedAt))
}
