import type { EventName } from "../../domain/EventKinds.ts"
import { collect, faulty, ignored, itemsOf, jsonOf, type ReadItem } from "../Items.ts"
import { keyOf, messageKeyOf, nameOf, textOf } from "../../domain/EventKeys.ts"
import { bounceByReason } from "../BounceReasons.ts"
import { faultsIn } from "../Given.ts"
import { timeIn } from "../Instant.ts"
import { addressFault } from "../PersonMembers.ts"
import { flagIn } from "../Truth.ts"
import { trackingIdOf } from "../LinkParameters.ts"
import { emailOf, find, isItem, type Item, linkOf, memberOf, objectOf } from "../Reading.ts"
import { channelOf, optIn, optInNames } from "../../domain/Recipient.ts"
import type { Normalize } from "../Normalize.ts"
import * as Klaviyo from "../senders/Klaviyo.ts"

const metrics: ReadonlyMap<string, EventName> = new Map<string, EventName>([
  ["sent", "sent"],
  ["delivered", "delivered"],
  ["opened", "open"],
  ["clicked", "click"],
  ["converted", "conversion"],
  ["bounced", "bounce"],
  ["spammed", "spam"],
  ["unsubscribed", "unsubscribe"],
  ["dropped", "failed"],
  ["failed", "failed"],
  ["undeliverable", "failed"],
])

const noise: ReadonlySet<string> = new Set([
  "drafted",
  "attempted",
  "deferred",
  "cio_subscription_preferences_changed",
])

/** `prefetched` and `proxied` mark automated opens, `machine` marks automated clicks. */
const automatedKeys = ["prefetched", "proxied", "machine"]

const trackingHeader = "x-tracking-id"

/** Returns the first valid id of a header, which has several values if it was set several times. */
const firstName = (value: unknown): string | undefined => {
  if (!Array.isArray(value)) return nameOf(value)
  for (const one of value) {
    const name = nameOf(one)
    if (name !== undefined) return name
  }
  return undefined
}

/**
 * Returns our tracking id from the message's headers, `{"X-Tracking-Id":["trk_1"]}`. The case of the header name is
 * ignored.
 */
const headerTrackingId = (headers: unknown): string | undefined => {
  const members = objectOf(headers)
  if (members === undefined) return undefined
  for (const name of Object.keys(members)) {
    if (name.length !== trackingHeader.length || name.toLowerCase() !== trackingHeader) continue
    const id = firstName(members[name])
    if (id !== undefined) return id
  }
  return undefined
}

/**
 * Whether an event concerns e-mail. Unsubscribing without a message counts as e-mail; push, SMS and in-app messages
 * have other object types.
 */
const isEmail = (item: Item): boolean =>
  ["email", "customer"].includes(textOf(item["object_type"])?.trim().toLowerCase() ?? "email")

const read = (item: unknown, receivedAt: number): ReadItem => {
  if (!isItem(item)) return faulty("must be an object")
  const stated = nameOf(item["metric"])
  if (stated === undefined) return faulty("has no metric, so it is no event of a Customer.io reporting webhook")
  const metric = stated.trim().toLowerCase()
  if (noise.has(metric)) return ignored(`"${stated}" says nothing about a message's effect`)
  const isOptIn = optInNames.has(metric)
  if (isOptIn && !isEmail(item)) return ignored(`"${stated}" does not concern e-mail`)
  const meaning = isOptIn ? optIn.event : metrics.get(metric)
  if (meaning === undefined) return faulty(`"${stated}" is no metric known here`)

  const data = memberOf(item, "data")
  const event = isEmail(item) ? bounceByReason(meaning, [data]) : meaning
  const identifiers = memberOf(data, "identifiers")
  const trackingId = headerTrackingId(data["headers"]) ?? trackingIdOf(data["href"])
  const user = find([identifiers], ["id"], nameOf) ?? find([data], ["customer_id"], nameOf) ??
    find([identifiers], ["email"], nameOf) ?? find([data], ["email_address", "recipient"], nameOf) ??
    find([identifiers], ["cio_id"], nameOf)
  const deliveryId = nameOf(data["delivery_id"])
  const messageKey = messageKeyOf(deliveryId)
  if (trackingId === undefined && user === undefined && messageKey === undefined) {
    return faulty("names neither a message nor a person: delivery_id and identifiers are missing")
  }
  const time = textOf(item["timestamp"])
  // Without a time, only the whole content distinguishes events.
  const content: Item = time === undefined ? item : {
    metric,
    type: textOf(item["object_type"]),
    time,
    deliveryId,
    user,
    href: textOf(data["href"]),
    response: textOf(data["tracked_response"]),
  }
  const { fault, occurredAt } = timeIn([{ item, at: "" }], ["timestamp"], receivedAt)
  const machine = flagIn([{ item: data, at: "/data" }], automatedKeys)
  const ofChannel = channelOf(event, isEmail(item))
  return {
    ...(isOptIn ? optIn : { event }),
    trackingId,
    templateId: undefined,
    user,
    ...emailOf({ event, trackingId, messageKey }, identifiers["email"], data["email_address"], data["recipient"]),
    key: keyOf(content, textOf(item["event_id"])),
    occurredAt,
    automated: machine.automated,
    messageKey,
    // Events of in-app messages have an action's name instead of a URL.
    link: find([data], ["href", "tracked_response"], linkOf),
    ...ofChannel,
    ...faultsIn(
      fault,
      machine.fault,
      addressFault(
        { event, ...ofChannel },
        [{ item: identifiers, at: "/data/identifiers" }, { item: data, at: "/data" }],
        ["email", "email_address", "recipient"],
      ),
    ),
  }
}

/**
 * Reads Customer.io's reporting webhooks: one event in each body, or a list of events. `sent` events carry our tracking
 * id if the webhook includes the body's content, and clicks carry it in their URL. Other events are attributed by
 * `delivery_id`. An event without an id is identified by metric, object type, time, delivery, person, and link or
 * response. Bodies of Klaviyo, the alternate platform of this source, are recognized by their envelope. Facts:
 * docs/integrations/facts/customer-io.md.
 */
export const normalize: Normalize = (body, _headers, receivedAt) => {
  const parsed = jsonOf(body, "Customer.io")
  if (!("json" in parsed)) return parsed
  if (Klaviyo.isKlaviyo(parsed.json)) return Klaviyo.readEnvelope(parsed.json, receivedAt, { untypedBounce: "bounce" })
  return collect(itemsOf(parsed.json), (item) => read(item, receivedAt))
}
