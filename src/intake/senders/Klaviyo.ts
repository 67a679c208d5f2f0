import type { EventName } from "../../domain/EventKinds.ts"
import { collect, faulty, ignored, jsonOf, type ReadItem } from "../Items.ts"
import type { Normalize } from "../Normalize.ts"
import { moneyIn } from "../Money.ts"
import { keyOf, messageKeyOf, nameOf, textOf } from "../../domain/EventKeys.ts"
import { bounceIn } from "../BounceMembers.ts"
import { faultsIn } from "../Given.ts"
import { timeIn } from "../Instant.ts"
import { addressFault } from "../PersonMembers.ts"
import { flagIn } from "../Truth.ts"
import { trackingIdOf } from "../LinkParameters.ts"
import { emailOf, find, isItem, type Item, lastSegment, linkOf, memberOf, objectOf } from "../Reading.ts"
import { channelOf } from "../../domain/Recipient.ts"
import { type NamedMessage, namedMessage, ofGroup } from "../MessageMeaning.ts"
import type { Skipped } from "../../domain/DryRun.ts"
import type { Normalized } from "../../domain/Event.ts"

/** Events by topics of metrics about messages, lowercase and without `event:klaviyo.`. */
const topics: ReadonlyMap<string, EventName> = new Map<string, EventName>([
  ["received_email", "delivered"],
  ["email_delivered", "delivered"],
  ["opened_email", "open"],
  ["clicked_email", "click"],
  // The page where a person may opt out, which is reported by another topic.
  ["clicked_email_to_unsubscribe", "other"],
  ["bounced_email", "bounce"],
  ["dropped_email", "failed"],
  ["marked_email_as_spam", "spam"],
  ["unsubscribed_from_email_marketing", "unsubscribe"],
  ["sent_sms", "sent"],
  ["clicked_sms", "click"],
  ["failed_to_deliver_sms", "failed"],
  ["unsubscribed_from_sms_marketing", "unsubscribe"],
  ["received_push", "delivered"],
  ["opened_push", "open"],
  ["bounced_push", "bounce"],
])

/** Topics of messages that a person sent, and of settings that members of the account changed. */
const noise: ReadonlySet<string> = new Set([
  "received_sms",
  "received_automated_response_sms",
  "manually_suppressed_from_email_marketing",
  "manually_unsuppressed_from_email_marketing",
  "updated_email_preferences",
])

/** How a source reads envelopes. */
interface Options {
  /** The event of a bounced e-mail without `Bounce Type`. Klaviyo reports soft and hard bounces by one topic. */
  readonly untypedBounce: "bounce" | "soft_bounce"
  /** Lowercase names of metrics that are conversions even without a tracking id. Default: none. */
  readonly conversions?: ReadonlySet<string>
}

const prefix = "event:klaviyo."
const emailKeys = ["email_address", "Recipient Email Address", "Email", "email", "$email"]
const urlKeys = ["URL", "url", "link_url", "href"]

/** Whether a body has the envelope of a Klaviyo system webhook. */
export const isKlaviyo = (json: unknown): json is Item => {
  if (!isItem(json) || !Array.isArray(json["data"])) return false
  const [first] = json["data"] as ReadonlyArray<unknown>
  return first === undefined ? isItem(json["meta"]) : isItem(first) && typeof first["topic"] === "string"
}

/** Returns the attributes of the profile that a payload includes. Empty if it includes none. */
const profileIn = (payload: Item): Item => {
  const { included } = payload
  const list: ReadonlyArray<unknown> = Array.isArray(included) ? included.slice(0, 10) : []
  const profile = list.find((one) => isItem(one) && one["type"] === "profile")
  return isItem(profile) ? memberOf(profile, "attributes") : {}
}

/** Returns the event of a topic, or why it is no event. Other metrics of the account may be conversions. */
const meaningOf = (
  topic: string,
  trackingId: string | undefined,
  conversions: ReadonlySet<string>,
): Pick<NamedMessage, "event"> & Partial<NamedMessage> | Skipped => {
  const name = topic.startsWith(prefix) ? topic.slice(prefix.length) : undefined
  if (name !== undefined && noise.has(name)) {
    return ignored(`the topic "${topic}" says nothing about a message's effect`)
  }
  const event = name === undefined ? undefined : topics.get(name)
  if (event !== undefined) return { event, isEmail: !/sms|push/.test(name!) }
  const named = name === undefined ? undefined : namedMessage(name, [])
  if (named !== undefined) return named
  const isConversion = conversions.has(lastSegment(topic)) ||
    (name === undefined && trackingId !== undefined && conversions !== none)
  return isConversion
    ? { event: "conversion" }
    : ignored(`the topic ${JSON.stringify(topic)} is not about a message's effect`)
}

const none: ReadonlySet<string> = new Set()

/** Returns the event of a bounced e-mail. Other events stay as they are. */
const bounceOf = (event: EventName, properties: Item, untyped: EventName): EventName =>
  bounceIn(event === "bounce" && nameOf(properties["Bounce Type"]) === undefined ? untyped : event, [properties])

const read = (item: unknown, receivedAt: number, { conversions = none, untypedBounce }: Options): ReadItem => {
  if (!isItem(item)) return faulty("must be an object")
  const stated = nameOf(item["topic"])
  if (stated === undefined) return faulty('has no topic, such as "event:klaviyo.opened_email"')
  const stored = objectOf(item["payload"]) ?? {}
  const payload = memberOf(stored, "data")
  const attributes = memberOf(payload, "attributes")
  const properties = memberOf(attributes, "event_properties")
  const trackingId = nameOf(properties["tracking_id"]) ?? find([properties], urlKeys, trackingIdOf)
  const named = meaningOf(stated.trim().toLowerCase(), trackingId, conversions)
  if ("reason" in named) return named
  const isEmail = named.isEmail ?? true
  const profileId = nameOf(memberOf(memberOf(memberOf(payload, "relationships"), "profile"), "data")["id"])
  const profile = profileIn(stored)
  const email = find([properties], emailKeys, nameOf) ?? nameOf(profile["email"])
  const user = nameOf(properties["user_id"]) ?? nameOf(profile["external_id"]) ?? email ?? profileId
  const messageKey = messageKeyOf(nameOf(properties["$message"]), profileId)
  if (trackingId === undefined && user === undefined) {
    return faulty("names neither a tracking_id nor a person, so that it belongs to no message")
  }
  const payloadAt = "/payload/data/attributes"
  const level = { item: properties, at: `${payloadAt}/event_properties` }
  const { event, faults: moneyFaults, ...money } = moneyIn(
    isEmail ? bounceOf(named.event, properties, untypedBounce) : named.event,
    [level],
    ["$value", "value"],
  )
  const time = timeIn([{ item: attributes, at: payloadAt }], ["datetime", "timestamp"], receivedAt)
  const machine = flagIn([level], [
    "machine_open",
    "Apple Privacy Open",
    "Bot Click",
  ])
  const ofChannel = channelOf(event, isEmail)
  return {
    event,
    ...(named.optIn === true ? { optIn: named.optIn } : {}),
    ...ofGroup(named, [properties]),
    trackingId,
    templateId: undefined,
    user,
    ...emailOf({ event, trackingId, messageKey }, email),
    key: keyOf(item, textOf(item["external_id"])),
    occurredAt: time.occurredAt,
    automated: machine.automated,
    ...(messageKey === undefined ? {} : { messageKey }),
    ...money,
    link: find([properties], urlKeys, linkOf),
    ...ofChannel,
    ...faultsIn(
      time.fault,
      machine.fault,
      ...moneyFaults,
      addressFault({ event, ...ofChannel }, [level], emailKeys),
    ),
  }
}

/**
 * Reads a Klaviyo system webhook, `{"meta", "data": [{topic, external_id, payload}]}`. A payload has the form of the
 * Get Event endpoint. Every metric of an account is a topic, so unknown topics are ignored. Facts:
 * docs/integrations/facts/klaviyo.md.
 */
export const readEnvelope = (json: Item, receivedAt: number, options: Options): Normalized =>
  collect({ items: json["data"] as ReadonlyArray<unknown>, list: "/data" }, (item) => read(item, receivedAt, options))

/** Returns how the source `klaviyo` reads bodies. A bounce without a type is soft, so that it suppresses nobody at once. */
export const make = ({ conversions }: Required<Pick<Options, "conversions">>): Normalize => (body, _, receivedAt) => {
  const parsed = jsonOf(body, "Klaviyo")
  if (!("json" in parsed)) return parsed
  return isKlaviyo(parsed.json)
    ? readEnvelope(parsed.json, receivedAt, { untypedBounce: "soft_bounce", conversions })
    : { reason: "The body has no list data with topics, so it is no system webhook of Klaviyo" }
}
