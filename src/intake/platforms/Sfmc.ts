import type { EventName } from "../../domain/EventKinds.ts"
import { collect, faulty, ignored, itemsOf, jsonOf, noItems, type ReadItem } from "../Items.ts"
import { digestKey, digestKeyOfSorted, messageKeyOf, nameOf, textOf } from "../../domain/EventKeys.ts"
import { bounceByReason } from "../BounceReasons.ts"
import { faultsIn } from "../Given.ts"
import { timeIn } from "../Instant.ts"
import { trackingIdOf } from "../LinkParameters.ts"
import { emailOf, find, isItem, type Item, linkOf, memberOf } from "../Reading.ts"
import { bounceOf } from "../../domain/refusals/BounceEvent.ts"
import { addressFault } from "../PersonMembers.ts"
import { channelOf } from "../../domain/Recipient.ts"
import type { Normalize } from "../Normalize.ts"

/** Events of the types of each channel, by the last part of the type in lowercase. */
const events: { readonly [channel: string]: { readonly [type: string]: EventName | "ignored" } } = {
  email: {
    emailsent: "sent",
    emaildelivered: "delivered",
    emailopen: "open",
    emailclick: "click",
    emailbounced: "bounce",
    emailnotsent: "failed",
    emailunsubscribe: "unsubscribe",
    emailqueued: "ignored",
  },
  sms: {
    smssent: "sent",
    smsdelivered: "delivered",
    smsclick: "click",
    smsbounced: "bounce",
    smsnotsent: "failed",
    smsoptout: "unsubscribe",
    smstransient: "ignored",
    smsmobileoriginated: "other",
  },
  push: {
    pushsent: "sent",
    pushdeliveryreceipt: "delivered",
    pushopen: "open",
    pushimageclick: "click",
    pushbuttonclick: "click",
    pushbounced: "bounce",
    pushnotsent: "failed",
    pushinstall: "ignored",
    pushuninstall: "ignored",
    pushinactive: "ignored",
  },
  inApp: {
    inappsent: "sent",
    inappdownload: "delivered",
    inappdisplay: "open",
    inappclick: "click",
    inappdismiss: "other",
    inappnotsent: "failed",
  },
  inbox: {
    inboxsent: "sent",
    inboxdeliveryreceipt: "delivered",
    inboxopen: "open",
    inboxclick: "click",
    inboxnotsent: "failed",
  },
  // Messages of WhatsApp and other services.
  ott: {
    ottsent: "sent",
    ottdelivered: "delivered",
    ottread: "open",
    ottclick: "click",
    ottfailed: "bounce",
    ottnotsent: "failed",
    ottmobileoriginated: "ignored",
  },
}

const types: ReadonlyMap<string, EventName | "ignored"> = new Map(
  Object.values(events).flatMap((ofChannel) => Object.entries(ofChannel)),
)

/** Categories of events of messages. The categories of one event differ by how its message was sent. */
const categories: ReadonlySet<string> = new Set(["transactionalsendevents", "sendevents", "engagementevents"])

/** Returns the meaning of a type, such as `EngagementEvents.PushOpen`; undefined for an unknown type. */
const meaningOf = (type: string): EventName | "ignored" | undefined => {
  const [category = "", name = ""] = type.split(".")
  if (!categories.has(category)) return undefined
  return name.startsWith("automation") ? "ignored" : types.get(name)
}

const compositeNames = ["jobId", "batchId", "listId", "subscriberId"] as const

type Composite = { readonly [name in (typeof compositeNames)[number]]: string | undefined }

/** Returns the ids of one message to one person. `compositeId` is the older form: the ids joined by dots. */
const compositeOf = (item: Item): Composite => {
  const stated = item["composite"]
  const dotted = isItem(stated) ? [] : nameOf(item["compositeId"])?.split(".") ?? []
  const idOf = (name: typeof compositeNames[number]) =>
    nameOf(isItem(stated) ? stated[name] : dotted[compositeNames.indexOf(name)])
  return { jobId: idOf("jobId"), batchId: idOf("batchId"), listId: idOf("listId"), subscriberId: idOf("subscriberId") }
}

/**
 * Returns the message key. Opens and clicks have no other identifier. Some kinds of sends have no list or batch, so
 * these two ids may be missing.
 */
const messageKey = (mid: string | undefined, { batchId, jobId, listId, subscriberId }: Composite) =>
  messageKeyOf(mid, jobId, batchId ?? "", listId ?? "", subscriberId)

/**
 * Whether a bounce is soft. `HARD` or no code is hard. `SOFT` and other codes, such as a block, are soft, because a
 * later message may arrive.
 */
const isSoft = (info: Item): boolean => {
  const code = nameOf(info["bounceCode"])?.trim().toUpperCase()
  return code !== undefined && code !== "HARD"
}

const read = (item: unknown, receivedAt: number): ReadItem => {
  if (!isItem(item)) return faulty("must be an object")
  const stated = nameOf(item["eventCategoryType"])
  if (stated === undefined) return faulty("has no eventCategoryType, so it is no event of the notification service")
  const type = stated.trim().toLowerCase()
  const named = meaningOf(type)
  if (named === "ignored") return ignored(`"${stated}" says nothing about a message's effect`)
  if (named === undefined) return faulty(`"${stated}" is no type of event known here`)

  const info = memberOf(item, "info")
  const composite = compositeOf(item)
  const mid = nameOf(item["mid"])
  const ownId = nameOf(info["messageKey"])
  const jobUrlId = nameOf(info["jobUrlId"])
  const trackingId = ownId ?? trackingIdOf(info["contentLink"])
  const user = find([info], ["subscriberKey", "contactKey", "to"], nameOf) ?? composite.subscriberId
  const key = messageKey(mid, composite)
  if (trackingId === undefined && user === undefined && key === undefined) {
    return faulty("names neither a message nor a person: messageKey, composite and subscriberKey are missing")
  }
  const time = textOf(item["timestampUTC"])
  const emailId = isItem(item["composite"]) ? nameOf(item["composite"]["emailId"]) : undefined
  // Without a time, only the whole content distinguishes events.
  const digest = time === undefined ? digestKey(item) : digestKeyOfSorted({
    composite: {
      batchId: composite.batchId ?? null,
      emailId: emailId ?? null,
      jobId: composite.jobId ?? null,
      listId: composite.listId ?? null,
      subscriberId: composite.subscriberId ?? null,
    },
    jobUrlId: jobUrlId ?? null,
    messageKey: ownId ?? null,
    mid: mid ?? null,
    time,
    type,
  })
  const event = type.endsWith(".emailbounced") ? bounceByReason(bounceOf(isSoft(info)), [info]) : named
  const { fault, occurredAt } = timeIn([{ item, at: "" }], ["timestampUTC"], receivedAt)
  const ofChannel = channelOf(event, type.includes(".email"))
  return {
    event,
    trackingId,
    templateId: undefined,
    user,
    ...emailOf({ event: named, trackingId, messageKey: key }, info["to"], user),
    key: digest,
    occurredAt,
    // The service does not report whether a machine caused an event.
    automated: false,
    messageKey: key,
    link: linkOf(info["contentLink"]) ?? linkOf(jobUrlId),
    ...ofChannel,
    ...faultsIn(fault, addressFault({ event, ...ofChannel }, [{ item: info, at: "/info" }], ["to"])),
  }
}

/**
 * Reads the Event Notification Service of Salesforce Marketing Cloud: one event or a list of events. The handshake of a
 * new callback has no events. Transactional sends carry our id as `messageKey`, and clicks carry it in their URL. Opens
 * are attributed by business unit and `composite`. Events have no id: the key is a digest of type, time, business unit,
 * composite, `messageKey` and `jobUrlId`. Facts: docs/integrations/facts/marketing-cloud.md.
 */
export const normalize: Normalize = (body, _headers, receivedAt) => {
  const parsed = jsonOf(body, "Marketing Cloud")
  if (!("json" in parsed)) return parsed
  const { json } = parsed
  if (isItem(json) && Object.hasOwn(json, "verificationKey") && !Object.hasOwn(json, "eventCategoryType")) {
    return noItems
  }
  return collect(itemsOf(json), (item) => read(item, receivedAt))
}
