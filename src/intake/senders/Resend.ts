import { nameOf, textOf } from "../../domain/EventKeys.ts"
import { bounceByReason } from "../BounceReasons.ts"
import { collect, faulty, ignored, itemsOf, jsonOf, type ReadItem } from "../Items.ts"
import type { Normalize } from "../Normalize.ts"
import { isItem, type Item, memberOf } from "../Reading.ts"
import { requestId } from "../signatures/StandardWebhooks.ts"
import { readTruth } from "../Truth.ts"
import { type Meaning, meaningIn, meaningsOf } from "./Meanings.ts"
import { eventOf, headerIn, pairsIn } from "./SenderEvent.ts"

const types = meaningsOf({
  sent: "email.sent",
  delivered: "email.delivered",
  open: "email.opened",
  click: "email.clicked",
  bounce: "email.bounced",
  spam: "email.complained",
  failed: "email.failed, email.suppressed",
  unsubscribe: "contact.updated",
  ignored: "email.delivery_delayed, email.scheduled, email.received, contact.created, contact.deleted, " +
    "domain.created, domain.updated, domain.deleted, suppression.added, suppression.removed",
})

/** Meanings of `bounce.subType`. Without one that is known, `bounce.type` decides. */
const subTypes = meaningsOf({
  failed: "Suppressed, OnAccountSuppressionList, MessageTooLarge, ContentRejected, AttachmentRejected",
})

/** Meanings of `bounce.type`. */
const bounceTypes = meaningsOf({ bounce: "Permanent", soft_bounce: "Transient, Undetermined" })

/** Returns the meaning of a bounce. Bounces of older webhooks have only a message, in Resend's own words. */
const meaningOfBounce = (bounce: Item): Meaning => {
  const text = textOf(bounce["message"])?.toLowerCase() ?? ""
  const words = text.includes("suppressed sending") ? "failed" : text.includes("hard bounce") ? "bounce" : "soft_bounce"
  const type = nameOf(bounce["type"]) === undefined ? words : meaningIn(bounceTypes, bounce["type"]) ?? "soft_bounce"
  return meaningIn(subTypes, bounce["subType"]) ?? type
}

const meaningOf = (type: string, data: Item): Meaning | undefined => {
  const meaning = meaningIn(types, type)
  if (meaning === "bounce") return meaningOfBounce(memberOf(data, "bounce"))
  if (meaning !== "unsubscribe") return meaning
  const unsubscribed = readTruth(data["unsubscribed"])
  return "value" in unsubscribed && unsubscribed.value ? meaning : "ignored"
}

/** Returns the first element of a list; other values as they are. */
const firstOf = (value: unknown): unknown => Array.isArray(value) ? value[0] : value

/** Returns the single recipient of a message. Events of a message to several people do not say whose they are. */
const recipientIn = (data: Item): unknown => {
  const { to } = data
  return Array.isArray(to) ? to.length === 1 ? to[0] : undefined : to ?? data["email"]
}

const read = (item: unknown, id: string | undefined, receivedAt: number): ReadItem => {
  if (!isItem(item)) return faulty("must be an object")
  const type = nameOf(item["type"])
  if (type === undefined) return faulty('has no type, such as "email.opened", so it is no event of a Resend webhook')
  const data = memberOf(item, "data")
  const meaning = meaningOf(type, data)
  if (meaning === undefined) return ignored(`the type "${type}" is not known`)
  if (meaning === "ignored") return ignored(`"${type}" says nothing about a message's effect`)
  const click = memberOf(data, "click")
  const bounce = memberOf(data, "bounce")
  const to = recipientIn(data)
  return eventOf({
    event: bounceByReason(meaning, [{
      response: bounce["message"],
      diagnosticCode: firstOf(bounce["diagnosticCode"]),
    }]),
    recipient: { level: { item: { to }, at: "/data" }, keys: ["to"] },
    time: textOf(click["timestamp"]) === undefined
      ? { level: { item, at: "" }, keys: ["created_at"] }
      : { level: { item: click, at: "/data/click" }, keys: ["timestamp"] },
    carriers: [pairsIn(data["tags"]), { tracking_id: headerIn(data["headers"], "x-tracking-id") }],
    url: click["link"],
    messageId: data["email_id"],
    header: data["message_id"],
    id,
    content: () => ({
      email: textOf(data["email_id"]) ?? null,
      link: textOf(click["link"]) ?? null,
      time: [textOf(item["created_at"]) ?? null, textOf(click["timestamp"]) ?? null],
      to: textOf(to) ?? null,
      type,
    }),
  }, receivedAt)
}

/**
 * Reads a webhook of Resend: one event in each request, whose id is the header `svix-id`. Events have the `email_id` of
 * the message and its `tags`, which may carry our ids. Resend does not flag opens by machines. Facts:
 * docs/integrations/facts/resend.md.
 */
export const normalize: Normalize = (body, headers, receivedAt) => {
  const parsed = jsonOf(body, "Resend")
  if (!("json" in parsed)) return parsed
  const items = itemsOf(parsed.json)
  const id = items.list === undefined ? requestId(headers) : undefined
  return collect(items, (item) => read(item, id, receivedAt))
}
