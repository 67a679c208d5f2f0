import type { EventName, NormalizedEvent, SkippedItem } from "../../domain/Event.ts"
import {
  digestKey,
  find,
  instantOf,
  isBlank,
  isFlagged,
  isItem,
  type Item,
  linkOf,
  messageKeyOf,
  nameOf,
  objectOf,
  parseJson,
  textOf,
  trackingIdOf,
} from "../Reading.ts"
import type { Normalize } from "../Sources.ts"

type Meaning = EventName | "ignored"

const named = (meaning: Meaning, names: string): ReadonlyArray<[string, Meaning]> =>
  names.split(" ").map((name) => [name, meaning])

/** Lowercase names: the platform writes `emailUnSubscribe`, `inAppOpen`, `whatsAppSeen`, and its documents differ. */
const meanings: ReadonlyMap<string, Meaning> = new Map([
  // An embedded message is not pushed: it is on its way once it is sent or a device has fetched it.
  ...named("sent", "emailsend pushsend smssend inappsend webpushsend whatsappsend embeddedsend embeddedreceived"),
  ...named("open", "emailopen pushopen inappopen embeddedimpression whatsappseen"),
  ...named("click", "emailclick smsclick inappclick webpushclick embeddedclick whatsappclick"),
  // The first has seen the preference page and not yet opted out. What is received over SMS and WhatsApp is an answer.
  ...named("other", "hostedunsubscribeclick smsreceived whatsappreceived inappdelete"),
  ...named("bounce", "emailbounce pushbounce smsbounce whatsappbounce"),
  ...named("spam", "emailcomplaint"),
  ...named("unsubscribe", "emailunsubscribe"),
  ...named(
    "failed",
    "emailsendskip pushsendskip smssendskip inappsendskip webpushsendskip whatsappsendskip embeddedsendskip",
  ),
  ...named("ignored", "emailsubscribe inapprecall pushuninstall journeyexit embeddedsession"),
])

const userKeys = ["userId", "email"]
const timeKeys = ["createdAt"]
const messageKeys = ["messageId"]
const urlKeys = ["url", "linkUrl", "clickedUrl"]
/** In-app and embedded messages have buttons in place of links. */
const linkKeys = [...urlKeys, "buttonIdentifier", "linkId"]
const machineKeys = ["isBot"]
/** Ours to write, the campaign's own data first; each is an object, or the JSON text of one. */
const carrierKeys = ["transactionalData", "metadata"]
const trackingKeys = ["tracking_id"]
const templateKeys = ["template_id"]

/** Not `trackedLink.trackingId`, nor `templateId`: both are Iterable's own ids. */
const carried = (
  fields: Item,
): { readonly trackingId: string | undefined; readonly templateId: string | undefined } => {
  for (const key of carrierKeys) {
    const carrier = objectOf(fields[key])
    const trackingId = carrier && find([carrier], trackingKeys, nameOf)
    if (trackingId !== undefined) return { trackingId, templateId: find([carrier!], templateKeys, nameOf) }
  }
  return { trackingId: find([fields], urlKeys, trackingIdOf), templateId: undefined }
}

/** Apple's proxy fetches every message when it arrives; Gmail's only when it is opened. */
const isAutomated = (fields: Item): boolean =>
  isFlagged([fields], machineKeys) || textOf(fields["proxySource"])?.trim().toLowerCase() === "apple"

/** A bounce that does not say how is taken for a hard one. */
const isSoft = (fields: Item): boolean => {
  const state = textOf(fields["recipientState"])
  return state !== undefined && state.trim().toLowerCase() !== "hardbounce"
}

const read = (item: unknown, receivedAt: number): NormalizedEvent | Omit<SkippedItem, "pointer"> => {
  if (!isItem(item)) return { reason: "must be an object", expected: false }
  const stated = nameOf(item["eventName"])
  if (stated === undefined) return { reason: 'has no eventName, such as "emailClick"', expected: false }
  const name = stated.trim().toLowerCase()
  const meaning = meanings.get(name)
  if (meaning === undefined) return { reason: `eventName "${stated}" is not known`, expected: false }
  if (meaning === "ignored") return { reason: `"${stated}" says nothing about a message's effect`, expected: true }

  const fields = objectOf(item["dataFields"]) ?? {}
  const { templateId, trackingId } = carried(fields)
  const user = find([item, fields], userKeys, nameOf)
  const messageId = find([fields], messageKeys, textOf)
  const messageKey = messageKeyOf(nameOf(messageId))
  if (trackingId === undefined && user === undefined && messageKey === undefined) {
    return { reason: "names no message: neither a tracking_id, a messageId nor a user", expected: false }
  }
  const createdAt = find([fields], timeKeys, textOf)
  // Without either, all events of this name and user would be one: then the whole content tells them apart.
  const content: Item = messageId === undefined && createdAt === undefined
    ? item
    : { eventName: name, messageId, createdAt, url: find([fields], urlKeys, textOf), user }
  return {
    event: name === "emailbounce" && isSoft(fields) ? "soft_bounce" : meaning,
    trackingId,
    templateId,
    user,
    key: digestKey(content),
    messageKey,
    occurredAt: instantOf(createdAt, receivedAt),
    automated: isAutomated(fields),
    link: find([fields], linkKeys, linkOf),
  }
}

/**
 * Reads an Iterable system webhook, one event per request (`providers.md` part 3); a list of them is read too. All events
 * of a message share its `messageId`. There is no event id: an event is known by its name, message, time, URL and user.
 * An empty body has no items.
 */
export const normalize: Normalize = (body, _headers, receivedAt) => {
  if (isBlank(body)) return { items: 0, events: [], skipped: [] }
  const parsed = parseJson(body)
  if (!("json" in parsed)) return parsed
  const { json } = parsed
  const items: ReadonlyArray<unknown> = Array.isArray(json) ? json : [json]
  const events: Array<NormalizedEvent> = []
  const skipped: Array<SkippedItem> = []
  items.forEach((item, i) => {
    const outcome = read(item, receivedAt)
    if ("event" in outcome) events.push(outcome)
    else skipped.push({ pointer: Array.isArray(json) ? `/${i}` : "", ...outcome })
  })
  return { items: items.length, events, skipped }
}
