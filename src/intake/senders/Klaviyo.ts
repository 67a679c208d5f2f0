import type { EventName } from "../../domain/EventKinds.ts"
import { collect, faulty, ignored, type ReadItem } from "../Items.ts"
import { keyOf, nameOf, textOf } from "../../domain/EventKeys.ts"
import { bounceIn } from "../BounceMembers.ts"
import { faultsIn } from "../Given.ts"
import { timeIn } from "../Instant.ts"
import { addressFault } from "../PersonMembers.ts"
import { flagIn } from "../Truth.ts"
import { trackingIdOf } from "../LinkParameters.ts"
import { emailOf, find, isItem, type Item, linkOf, memberOf, objectOf } from "../Reading.ts"
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
  ["bounced_email", "bounce"],
  ["dropped_email", "failed"],
  ["marked_email_as_spam", "spam"],
  ["unsubscribed_from_email_marketing", "unsubscribe"],
  ["sent_sms", "sent"],
  ["received_sms", "delivered"],
  ["clicked_sms", "click"],
  ["failed_to_deliver_sms", "failed"],
  ["unsubscribed_from_sms_marketing", "unsubscribe"],
])

const prefix = "event:klaviyo."
const emailKeys = ["email_address", "Recipient Email Address", "Email", "email", "$email"]
const urlKeys = ["URL", "url", "link_url", "href"]

/** Whether a body has the envelope of a Klaviyo system webhook. */
export const isKlaviyo = (json: unknown): json is Item => {
  if (!isItem(json) || !Array.isArray(json["data"])) return false
  const [first] = json["data"] as ReadonlyArray<unknown>
  return first === undefined ? isItem(json["meta"]) : isItem(first) && typeof first["topic"] === "string"
}

const read = (item: unknown, receivedAt: number): ReadItem => {
  if (!isItem(item)) return faulty("must be an object")
  const stated = nameOf(item["topic"])
  if (stated === undefined) return faulty('has no topic, such as "event:klaviyo.opened_email"')
  const topic = stated.trim().toLowerCase()
  const name = topic.startsWith(prefix) ? topic.slice(prefix.length) : undefined
  const known = name === undefined ? undefined : topics.get(name)
  const named: Pick<NamedMessage, "event"> & Partial<NamedMessage> | Skipped | undefined = known !== undefined
    ? { event: known }
    : name === undefined
    ? undefined
    : namedMessage(name, [])
  if (named !== undefined && "reason" in named) return named
  if (named === undefined) return ignored(`the topic ${JSON.stringify(stated)} is not about a message's effect`)

  const payload = memberOf(objectOf(item["payload"]) ?? {}, "data")
  const attributes = memberOf(payload, "attributes")
  const properties = memberOf(attributes, "event_properties")
  const isEmail = named.isEmail ?? !name!.includes("sms")
  const event = isEmail ? bounceIn(named.event, [properties]) : named.event
  const profile = memberOf(memberOf(memberOf(payload, "relationships"), "profile"), "data")
  const trackingId = nameOf(properties["tracking_id"]) ?? find([properties], urlKeys, trackingIdOf)
  const user = find([properties], emailKeys, nameOf) ?? nameOf(profile["id"])
  if (trackingId === undefined && user === undefined) {
    return faulty("names neither a tracking_id nor a person, so that it belongs to no message")
  }
  const payloadAt = "/payload/data/attributes"
  const time = timeIn([{ item: attributes, at: payloadAt }], ["datetime", "timestamp"], receivedAt)
  const machine = flagIn([{ item: properties, at: `${payloadAt}/event_properties` }], [
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
    ...emailOf({ event, trackingId }, find([properties], emailKeys, nameOf)),
    key: keyOf(item, textOf(item["external_id"])),
    occurredAt: time.occurredAt,
    automated: machine.automated,
    link: find([properties], urlKeys, linkOf),
    ...ofChannel,
    ...faultsIn(
      time.fault,
      machine.fault,
      addressFault(
        { event, ...ofChannel },
        [{ item: properties, at: `${payloadAt}/event_properties` }],
        emailKeys,
      ),
    ),
  }
}

/**
 * Reads a Klaviyo system webhook, `{"meta", "data": [{topic, external_id, payload}]}`. A payload has the form of the
 * Get Event endpoint. Every metric of an account is a topic, so unknown topics are ignored. Facts:
 * docs/integrations/facts/klaviyo.md.
 */
export const normalize = (json: Item, receivedAt: number): Normalized =>
  collect({ items: json["data"] as ReadonlyArray<unknown>, list: "/data" }, (item) => read(item, receivedAt))
