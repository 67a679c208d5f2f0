import type { EventName } from "../../domain/EventKinds.ts"
import * as CustomEvents from "../CustomEvents.ts"
import { collect, collectAt, faulty, ignored, itemsOf, noItems, type ReadItem } from "../Items.ts"
import { digestKey, keyOf, messageKeyOf, nameOf, textOf } from "../../domain/EventKeys.ts"
import { bounceByReason } from "../BounceReasons.ts"
import { faultsIn } from "../Given.ts"
import { timeIn } from "../Instant.ts"
import { addressFault, zoneIn } from "../PersonMembers.ts"
import { flagIn } from "../Truth.ts"
import {
  carriedIds,
  emailOf,
  find,
  isBlank,
  isItem,
  type Item,
  lastSegment,
  linkOf,
  memberOf,
  parseJson,
} from "../Reading.ts"
import type { Skipped } from "../../domain/DryRun.ts"
import { channelOf, isEmailChannel, mayBeEmail, optIn } from "../../domain/Recipient.ts"
import { type NamedMessage, namedMessage, ofGroup } from "../MessageMeaning.ts"
import { subscriptionIn } from "../OptOutGroup.ts"
import type { Normalize } from "../Normalize.ts"
import { requestId } from "../signatures/StandardWebhooks.ts"

/** An organization's settings for Braze. */
interface BrazeSettings {
  /**
   * Names of custom events that are conversions even without a tracking id, lowercase: a whole name, or its last
   * segment.
   */
  readonly conversions?: ReadonlySet<string> | undefined
}

/** The meaning of an event type: one event, or `custom` or `subscription` if another member decides. */
type Meaning = EventName | "ignored" | "custom" | "subscription"

const message = (event: Meaning, types: string): ReadonlyArray<[string, Meaning]> =>
  types.split(" ").map((type) => [`users.messages.${type}`, event])

const users = (event: Meaning, types: string): ReadonlyArray<[string, Meaning]> =>
  types.split(" ").map((type) => [`users.${type}`, event])

/** Event types in lowercase. `meaningOf` recognizes types that all channels share by their last segment. */
const meanings: ReadonlyMap<string, Meaning> = new Map([
  ...message(
    "sent",
    "email.send pushnotification.send sms.send whatsapp.send rcs.send line.send webhook.send contentcard.send",
  ),
  ...users("sent", "canvas.costep.send"),
  ...message("delivered", "email.delivery sms.delivery whatsapp.delivery rcs.delivery"),
  ...message(
    "open",
    "email.open pushnotification.open inappmessage.impression contentcard.impression banner.impression whatsapp.read rcs.read",
  ),
  ...message(
    "click",
    "email.click inappmessage.click contentcard.click banner.click sms.shortlinkclick whatsapp.click rcs.click line.click",
  ),
  ...message("other", "contentcard.dismiss banner.dismiss pushnotification.iosforeground"),
  ...users(
    "conversion",
    "campaigns.conversion canvas.conversion canvas.experimentstep.conversion behaviors.purchase",
  ),
  ...users("custom", "behaviors.customevent"),
  ...message(
    "bounce",
    "email.bounce pushnotification.bounce sms.rejection sms.deliveryfailure rcs.rejection whatsapp.failure",
  ),
  ...message("soft_bounce", "email.softbounce"),
  ...message("spam", "email.markasspam"),
  ...message("unsubscribe", "email.unsubscribe"),
  ...users(
    "subscription",
    "behaviors.subscription.globalstatechange behaviors.subscriptiongroup.statechange",
  ),
  ...message("ignored", "email.deferral sms.carriersend"),
  ...users("ignored", "campaigns.enrollincontrol canvas.entry"),
])

/** Returns the meaning of a type; undefined if it is unknown, because Braze adds types without notice. */
const meaningOf = (type: string): Meaning | undefined => {
  const known = meanings.get(type)
  if (known !== undefined) return known
  if (type.startsWith("users.behaviors.") || type.startsWith("users.canvas.exit.")) return "ignored"
  if (!type.startsWith("users.messages.")) return undefined
  const segment = lastSegment(type)
  return segment === "abort"
    ? "failed"
    : segment === "inboundreceive"
    ? "other"
    : segment === "retry"
    ? "ignored"
    : undefined
}

const timeKeys = ["time"]
const urlKeys = ["url"]
/** Members that identify a link within a message, the URL first. In-app messages and banners have buttons. */
const linkKeys = ["url", "link_alias", "link_id", "button_id"]
/** `machine_open` is the text `"true"`, `is_suspected_bot_click` is a boolean. */
const machineKeys = ["machine_open", "is_suspected_bot_click"]
/** Carriers of the tracking id, in order of precedence. */
const carrierKeys = ["message_extras", "custom_properties", "purchase_properties"]

/** Whether an event may concern e-mail: by its type, or by the channel of a subscription state. */
const concernsEmail = (type: string, properties: Item): boolean =>
  type.startsWith("users.messages.")
    ? type.startsWith("users.messages.email.")
    : mayBeEmail(nameOf(properties["channel"]))

/** The event of a type whose other members decide. */
type Named = Pick<NamedMessage, "event" | "optIn"> & Partial<NamedMessage> & { readonly group?: string }

/**
 * Returns the event of a changed subscription, of the person or of a group. Only the person's own state lifts an
 * opt-out.
 */
const subscriptionOf = (stated: string, properties: Item): Named | Skipped => {
  const state = subscriptionIn([properties])
  const isOfGroup = stated.trim().toLowerCase().endsWith("subscriptiongroup.statechange")
  if (state === "unsubscribe") return { event: state, ...ofGroup({ event: state, isOfGroup }, [properties]) }
  const isOptIn = state === "opt_in" && !isOfGroup && isEmailChannel(nameOf(properties["channel"]))
  return isOptIn ? optIn : ignored(`"${stated}" with this subscription_status neither opts out nor opts in`)
}

/** Returns the event of a custom event, or why it has none. */
const customOf = (
  properties: Item,
  trackingId: string | undefined,
  conversions: ReadonlySet<string> | undefined,
): Named | Skipped => {
  const name = nameOf(properties["name"])?.trim() ?? ""
  const written = name.toLowerCase()
  if (conversions?.has(written) === true || conversions?.has(lastSegment(written)) === true) {
    return { event: "conversion" }
  }
  const message = namedMessage(name, [memberOf(properties, "properties"), properties])
  if (message !== undefined) return message
  return trackingId !== undefined ? { event: "conversion" } : ignored(
    `the custom event ${JSON.stringify(written)} is a conversion only with a tracking_id, or when configured as one`,
  )
}

/** Reads an event of a Currents connector. */
const readCurrents = (item: unknown, receivedAt: number, { conversions }: BrazeSettings): ReadItem => {
  if (!isItem(item)) return faulty("must be an object")
  const stated = nameOf(item["event_type"])
  if (stated === undefined) return faulty('has no event_type, such as "users.messages.email.Click"')
  const type = stated.trim().toLowerCase()
  const meaning = meaningOf(type)
  if (meaning === undefined) return faulty(`event_type "${stated}" is not known`)
  if (meaning === "ignored") return ignored(`"${stated}" says nothing about a message's effect`)

  const properties = memberOf(item, "properties")
  const person = memberOf(item, "user")
  const { templateId, trackingId } = carriedIds(properties, carrierKeys, urlKeys)

  const named: Named | Skipped = meaning === "subscription"
    ? subscriptionOf(stated, properties)
    : meaning === "custom"
    ? customOf(properties, trackingId, conversions)
    : { event: concernsEmail(type, properties) ? bounceByReason(meaning, [properties]) : meaning }
  if ("reason" in named) return named
  const { event, isEmail = concernsEmail(type, properties) } = named

  const external = nameOf(person["external_user_id"])
  const email = nameOf(properties["email_address"])
  const own = nameOf(person["user_id"])
  const user = external ?? email ?? own
  // Uses Braze's own id first: every event has it, but an external id may be assigned between send and click.
  const messageKey = messageKeyOf(nameOf(properties["dispatch_id"]), own ?? user)
  if (trackingId === undefined && user === undefined) {
    return faulty("names neither a tracking_id nor a user, so that it belongs to no message")
  }
  const time = timeIn([{ item, at: "" }], timeKeys, receivedAt)
  const placed = [{ item: properties, at: "/properties" }]
  const machine = flagIn(placed, machineKeys)
  const ofChannel = channelOf(event, isEmail)
  const { fault: zoneFault, zone } = zoneIn([{ item: person, at: "/user" }], ["timezone"])
  return {
    event,
    ...(named.optIn === true ? { optIn: named.optIn } : {}),
    ...(named.group === undefined ? {} : { group: named.group }),
    trackingId,
    templateId,
    user,
    ...emailOf({ event, trackingId, messageKey }, email, external),
    key: keyOf(item, textOf(item["id"])),
    messageKey,
    occurredAt: time.occurredAt,
    automated: machine.automated || named.automated === true,
    link: find([properties], linkKeys, linkOf),
    ...ofChannel,
    ...zone,
    ...faultsIn(time.fault, machine.fault, addressFault({ event, ...ofChannel }, placed, ["email_address"]), zoneFault),
  }
}

/** The events of a transactional e-mail's statuses, and the members with their times, in order of precedence. */
const statuses: ReadonlyMap<string, { readonly event: EventName; readonly times: ReadonlyArray<string> }> = new Map([
  ["sent", { event: "sent", times: ["sent_at", "executed_at", "enqueued_at", "received_at"] }],
  ["delivered", { event: "delivered", times: ["delivered_at"] }],
  ["bounced", { event: "bounce", times: ["bounced_at"] }],
  ["aborted", { event: "failed", times: ["aborted_at"] }],
])

/** Whether an object is the postback of a transactional e-mail. */
const isPostback = (item: Item): boolean =>
  textOf(item["dispatch_id"]) !== undefined && textOf(item["status"]) !== undefined

const readPostback = (item: Item, receivedAt: number): ReadItem => {
  const stated = textOf(item["status"])!.trim()
  const name = stated.toLowerCase()
  if (name === "processed") return ignored('"processed" says nothing about a message\'s effect')
  const status = statuses.get(name)
  if (status === undefined) return faulty(`status "${stated.slice(0, 100).toWellFormed()}" is not known`)
  const metadata = memberOf(item, "metadata")
  const dispatchId = textOf(item["dispatch_id"])!
  // In postbacks, each e-mail has its own dispatch id. A repeated status counts once.
  const messageKey = messageKeyOf(nameOf(dispatchId))
  const trackingId = nameOf(metadata["external_send_id"])
  if (trackingId === undefined && messageKey === undefined) {
    return faulty("names no message: neither metadata.external_send_id nor dispatch_id can be kept")
  }
  const time = timeIn([{ item: metadata, at: "/metadata" }], status.times, receivedAt)
  return {
    event: status.event,
    trackingId,
    templateId: undefined,
    user: undefined,
    key: digestKey({ dispatch_id: dispatchId, status: name }),
    messageKey,
    occurredAt: time.occurredAt,
    automated: false,
    link: undefined,
    ...faultsIn(time.fault),
  }
}

/** Whether an object outside of `events` is a Currents event whose envelope was removed by an intermediary. */
const isCurrents = (item: Item): boolean => {
  const type = item["event_type"]
  return typeof type === "string" && /^\s*users\./i.test(type)
}

/**
 * Reads Braze's webhooks, which differ in shape. Facts: docs/integrations/facts/braze.md.
 * 1. `{"events": […]}` comes from a Currents connector. An empty body or an empty list tests the credentials and has no
 *    items.
 * 2. An object with `dispatch_id` and `status` is the postback of a transactional e-mail.
 * 3. Other bodies are written by a webhook step, in the default shape of custom events: see `CustomEvents.normalize`.
 *
 * Lists without the envelope are read item by item, each by its own shape. The message key of events is
 * `["dispatch id","user"]`, because all users of a scheduled campaign have one dispatch id.
 */
export const make = (settings: BrazeSettings = {}): Normalize => (body, headers, receivedAt) => {
  if (isBlank(body)) return noItems
  const parsed = parseJson(body)
  if (!("json" in parsed)) return parsed
  const { json } = parsed

  if (isItem(json) && Object.hasOwn(json, "events")) {
    const readOne = (item: unknown) => readCurrents(item, receivedAt, settings)
    const { events } = json
    return Array.isArray(events)
      ? collect({ items: events, list: "/events" }, readOne)
      : collectAt([events], () => "/events", readOne)
  }

  const options = { receivedAt, webhookId: requestId(headers), conversions: settings.conversions }
  if (isItem(json) && !isCurrents(json) && !isPostback(json)) return CustomEvents.normalize(json, options)
  const items = itemsOf(json)
  const each = items.items.length === 1 ? options : { ...options, webhookId: undefined }
  return collect(items, (item) => {
    if (isItem(item) && isCurrents(item)) return readCurrents(item, receivedAt, settings)
    if (isItem(item) && isPostback(item)) return readPostback(item, receivedAt)
    return CustomEvents.readItem(item, each)
  })
}

/** Default settings: a custom event is a conversion only if it has a tracking id. */
export const normalize: Normalize = make()
