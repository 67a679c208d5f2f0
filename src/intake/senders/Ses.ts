import { nameOf, textOf } from "../../domain/EventKeys.ts"
import { bounceByReason } from "../BounceReasons.ts"
import { collectAt, faulty, ignored, itemsOf, jsonOf, type ReadItem } from "../Items.ts"
import type { EventLevel } from "../Given.ts"
import type { Normalize } from "../Normalize.ts"
import { groupOf } from "../OptOutGroup.ts"
import { isItem, type Item, memberOf, objectOf } from "../Reading.ts"
import { readTruth } from "../Truth.ts"
import { type Meaning, meaningIn, meaningsOf } from "./Meanings.ts"
import { eventOf, headerIn } from "./SenderEvent.ts"

/** Meanings of `eventType`, `notificationType`, and EventBridge's `detail-type`. */
const kinds = meaningsOf({
  sent: "Send, Email Sent",
  delivered: "Delivery, Email Delivered",
  open: "Open, Email Opened",
  click: "Click, Email Clicked",
  bounce: "Bounce, Email Bounced",
  spam: "Complaint, Email Complaint Received",
  failed: "Reject, Rendering Failure, Email Rejected, Email Rendering Failed",
  unsubscribe: "Subscription, Email Subscribed",
  ignored: "DeliveryDelay, Email Delivery Delayed, AmazonSnsSubscriptionSucceeded",
})

/** The members with the details of an event. */
const detailKeys: { readonly [meaning in Meaning]?: string } = {
  delivered: "delivery",
  open: "open",
  click: "click",
  bounce: "bounce",
  spam: "complaint",
  unsubscribe: "subscription",
}

/** Subtypes of permanent bounces that are no hard bounces: SES held the message back by a suppression list. */
const permanent = meaningsOf({ failed: "Suppressed, OnAccountSuppressionList, UnsubscribedRecipient" })

/** Subtypes of transient and undetermined bounces that are no soft bounces. */
const transient = meaningsOf({ failed: "MessageTooLarge, ContentRejected, AttachmentRejected" })

/** Feedback types that are no complaints of the recipient. */
const feedback = meaningsOf({ ignored: "not-spam, auth-failure, virus" })

/** One recipient of a record. */
interface Recipient {
  readonly record: Item
  /** JSON pointer of the record. */
  readonly at: string
  /** The id, and the member with the time, of the message that delivered the record. */
  readonly envelopeId: string | undefined
  readonly published: { readonly level: EventLevel; readonly keys: ReadonlyArray<string> }
  readonly meaning: Meaning
  readonly details: Item
  readonly detailsAt: string
  /** The object with the address, and the name of its member. */
  readonly person: EventLevel
  readonly key: string
  /** Whether the record has several recipients. */
  readonly isShared: boolean
}

/** Maximum number of recipients of a record. SES sends to at most 50. */
const maxRecipients = 1_000

const meaningOfBounce = ({ details, person }: Recipient): Meaning => {
  const subtype = details["bounceSubType"]
  const stated = nameOf(details["bounceType"])?.toLowerCase() === "permanent"
    ? meaningIn(permanent, subtype) ?? "bounce"
    : meaningIn(transient, subtype) ?? "soft_bounce"
  return stated === "ignored" ? stated : bounceByReason(stated, [person.item])
}

const meaningOfComplaint = (details: Item): Meaning =>
  nameOf(details["complaintSubType"]) === "OnAccountSuppressionList"
    ? "failed"
    : meaningIn(feedback, details["complaintFeedbackType"]) ?? "spam"

/** Returns the names of the topics that preferences opt out of. */
const topicsOut = (preferences: Item): ReadonlyArray<unknown> => {
  const statuses = preferences["topicSubscriptionStatus"]
  return (Array.isArray(statuses) ? statuses : []).filter((one) =>
    isItem(one) && nameOf(one["subscriptionStatus"])?.toLowerCase() === "optout"
  ).map((one: Item) => one["topicName"])
}

/**
 * Returns the topics of an opt-out; an empty list if it concerns all messages; undefined if it is no opt-out. SES lists
 * all topics of the person. Topics of an earlier opt-out do not count.
 */
const optedOut = (details: Item): ReadonlyArray<unknown> | undefined => {
  const preferences = memberOf(details, "newTopicPreferences")
  const all = readTruth(preferences["unsubscribeAll"])
  if ("value" in all && all.value) return []
  const earlier = topicsOut(memberOf(details, "oldTopicPreferences"))
  const topics = topicsOut(preferences).filter((topic) => !earlier.includes(topic))
  return topics.length === 0 ? undefined : topics
}

const meaningOf = (recipient: Recipient): Meaning => {
  switch (recipient.meaning) {
    case "bounce":
      return meaningOfBounce(recipient)
    case "spam":
      return meaningOfComplaint(recipient.details)
    case "unsubscribe":
      return optedOut(recipient.details) === undefined ? "ignored" : "unsubscribe"
    default:
      return recipient.meaning
  }
}

const timestampKeys = ["timestamp"]
const publishedKeys = { sns: ["Timestamp"], eventBridge: ["time"] }

const kindOf = (record: Item): string | undefined => nameOf(record["eventType"]) ?? nameOf(record["notificationType"])

const eventOfRecipient = (recipient: Recipient, receivedAt: number): ReadItem => {
  const { at, details, detailsAt, envelopeId, isShared, key, person, record } = recipient
  const meaning = meaningOf(recipient)
  if (meaning === "ignored") {
    return ignored(`"${kindOf(record) ?? recipient.meaning}" says nothing about a message's effect`)
  }
  const mail = memberOf(record, "mail")
  const link = memberOf(record, "click")["link"]
  const time = recipient.meaning === "sent"
    ? { level: { item: mail, at: `${at}/mail` }, keys: timestampKeys }
    : details["timestamp"] === undefined
    ? recipient.published
    : { level: { item: details, at: detailsAt }, keys: timestampKeys }
  const id = nameOf(details["feedbackId"]) ?? envelopeId
  const address = nameOf(person.item[key])
  const { headers, tags } = mail
  // Headers are searched only if the tags have no id.
  const isTagged = isItem(tags) && tags["tracking_id"] !== undefined
  const topics = recipient.meaning === "unsubscribe" ? optedOut(details) : undefined
  return eventOf({
    event: meaning,
    recipient: { level: person, keys: [key] },
    time,
    carriers: isTagged ? [tags] : [tags, { tracking_id: headerIn(headers, "x-tracking-id") }],
    url: link,
    messageId: mail["messageId"],
    header: isTagged ? undefined : headerIn(headers, "message-id"),
    id: id === undefined || !isShared || address === undefined ? id : `${id} ${address.toLowerCase()}`,
    content: () => ({
      kind: kindOf(record) ?? null,
      link: textOf(link) ?? null,
      message: textOf(mail["messageId"]) ?? null,
      recipient: address ?? null,
      time: textOf(details["timestamp"]) ?? null,
    }),
    group: topics === undefined || topics.length === 0 ? undefined : groupOf(topics),
  }, receivedAt)
}

/** The result for an item without recipients, such as a confirmation or an unknown kind. */
interface Unread {
  readonly read: ReadItem
}

const nobody: EventLevel = { item: {}, at: "" }

/** Returns the recipients of a record, or why it has no event. Opens and clicks do not say which recipient acted. */
const recipientsOf = (
  record: Item,
  from: Pick<Recipient, "at" | "envelopeId" | "published"> & { readonly type?: unknown },
): ReadonlyArray<Recipient | Unread> => {
  const stated = kindOf(record) ?? nameOf(from.type)
  if (stated === undefined) return [{ read: faulty("has neither eventType nor notificationType") }]
  const meaning = meaningIn(kinds, stated)
  if (meaning === undefined) return [{ read: ignored(`the event "${stated}" is not known`) }]
  if (meaning === "ignored") return [{ read: ignored(`"${stated}" says nothing about a message's effect`) }]
  const member = detailKeys[meaning]
  const details = member === undefined ? {} : memberOf(record, member)
  const detailsAt = `${from.at}/${member}`
  const destination = memberOf(record, "mail")["destination"]
  const [list, at] = meaning === "bounce"
    ? [details["bouncedRecipients"], `${detailsAt}/bouncedRecipients`]
    : meaning === "spam"
    ? [details["complainedRecipients"], `${detailsAt}/complainedRecipients`]
    : meaning === "delivered"
    ? [details["recipients"], `${detailsAt}/recipients`]
    : [destination, `${from.at}/mail/destination`]
  const addresses = (Array.isArray(list) ? list : []).slice(0, maxRecipients)
  const isOfOne = meaning === "open" || meaning === "click" || meaning === "unsubscribe"
  const people: ReadonlyArray<readonly [EventLevel, string]> =
    addresses.length === 0 || (isOfOne && addresses.length > 1) ? [[nobody, "emailAddress"]] : addresses.map((
      address: unknown,
      i,
    ) =>
      isItem(address)
        ? [{ item: address, at: `${at}/${i}` }, "emailAddress"]
        : [{ item: { [i]: address }, at }, String(i)]
    )
  const isShared = people.length > 1
  return people.map(([person, key]) => ({ ...from, record, meaning, details, detailsAt, person, key, isShared }))
}

/** Beginning of the text that SES publishes when a topic becomes the destination of a configuration set. */
const validation = "Successfully validated SNS topic"

/** The stored header of a confirmed subscription with the reason why it failed. */
export const confirmationHeader = "sns-confirmation"

const unreadOf = (read: ReadItem): ReadonlyArray<Unread> => [{ read }]

/** Returns the recipients of the record in an SNS message. */
const inNotification = (envelope: Item, failure: string | undefined): ReadonlyArray<Recipient | Unread> => {
  const type = nameOf(envelope["Type"])
  if (type === "SubscriptionConfirmation") {
    return unreadOf(
      failure === undefined ? ignored("The subscription to the topic was confirmed") : faulty(
        `The subscription could not be confirmed: ${failure}. Open the SubscribeURL in a browser`,
        "/SubscribeURL",
      ),
    )
  }
  if (type === "UnsubscribeConfirmation") return unreadOf(ignored("The subscription to the topic has ended"))
  const record = objectOf(envelope["Message"])
  if (record === undefined) {
    const said = textOf(envelope["Message"]) ?? ""
    return unreadOf(
      said.startsWith(validation)
        ? ignored("A test of the topic by SES")
        : faulty("has a Message that is no record of SES", "/Message"),
    )
  }
  return recipientsOf(record, {
    at: "/Message",
    envelopeId: nameOf(envelope["MessageId"]),
    published: { level: { item: envelope, at: "" }, keys: publishedKeys.sns },
  })
}

const inItem = (item: unknown, failure: string | undefined): ReadonlyArray<Recipient | Unread> => {
  if (!isItem(item)) return unreadOf(faulty("must be an object"))
  if (nameOf(item["TopicArn"]) !== undefined) return inNotification(item, failure)
  const published = { level: { item, at: "" }, keys: publishedKeys.eventBridge }
  const type = item["detail-type"]
  if (type === undefined) return recipientsOf(item, { at: "", envelopeId: undefined, published })
  const detail = item["detail"]
  if (!isItem(detail)) return unreadOf(faulty("has no detail with a record of SES", "/detail"))
  return recipientsOf(detail, { at: "/detail", envelopeId: nameOf(item["id"]), published, type })
}

/**
 * Reads events of Amazon SES: a message of SNS with a record as its text, an event of EventBridge, or a record alone. A
 * record with several recipients has an event for each. Tags of the message, or its headers, may carry our ids. Facts:
 * docs/integrations/facts/ses.md.
 */
export const normalize: Normalize = (body, headers, receivedAt) => {
  const parsed = jsonOf(body, "Amazon SES")
  if (!("json" in parsed)) return parsed
  const { items, list } = itemsOf(parsed.json)
  const found = items.flatMap((item, i) =>
    inItem(item, headers[confirmationHeader]).map((one) => ({ one, at: list === undefined ? "" : `${list}/${i}` }))
  )
  return collectAt(
    found,
    ({ at }) => at,
    ({ one }) => "read" in one ? one.read : eventOfRecipient(one, receivedAt),
  )
}
