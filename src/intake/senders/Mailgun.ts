import { nameOf, textOf } from "../../domain/EventKeys.ts"
import { eventOfWords } from "../BounceReasons.ts"
import { collect, faulty, ignored, itemsOf, jsonOf, type ReadItem } from "../Items.ts"
import type { Normalize } from "../Normalize.ts"
import { isItem, type Item, memberOf } from "../Reading.ts"
import { type Meaning, meaningIn, meaningsOf } from "./Meanings.ts"
import { eventOf } from "./SenderEvent.ts"

const events = meaningsOf({
  sent: "accepted",
  delivered: "delivered",
  open: "opened",
  click: "clicked",
  bounce: "failed",
  failed: "rejected",
  unsubscribe: "unsubscribed",
  spam: "complained",
  ignored: "stored, list_member_uploaded, list_member_upload_error, list_uploaded, email_validation",
})

/** Meanings of the reason of a permanent failure. `suppress-*`: Mailgun held the message back by its own lists. */
const reasons = meaningsOf({
  failed: "suppress-bounce, suppress-complaint, suppress-unsubscribe, espblock",
  soft_bounce: "old",
})

/** Codes of messages that Mailgun held back by its own lists. */
const ownCodes: ReadonlySet<string> = new Set(["605", "606", "607"])

/** Reply codes of servers for mailboxes that do not exist. Used only if the server's words are not known. */
const addressCodes: ReadonlySet<string> = new Set(["550", "551", "553"])

/**
 * Returns the meaning of a failed attempt. `permanent` only means that Mailgun has stopped: it includes blocks, messages
 * that were too old, and its own lists. The words of the recipient's server decide.
 */
const meaningOfFailure = (data: Item): Meaning => {
  if (nameOf(data["severity"])?.toLowerCase() === "temporary") return "ignored"
  const status = memberOf(data, "delivery-status")
  const code = textOf(status["code"]) ?? ""
  if (ownCodes.has(code)) return "failed"
  const byReason = meaningIn(reasons, data["reason"])
  if (byReason !== undefined) return byReason
  if (/^too old\b/i.test(textOf(status["message"]) ?? "")) return "soft_bounce"
  const byWords = eventOfWords([{ "delivery-status": status }])
  if (byWords !== undefined) return byWords
  return addressCodes.has(code) && nameOf(data["reason"])?.toLowerCase() === "bounce" ? "bounce" : "soft_bounce"
}

const recipientKeys = ["recipient"]
const toKeys = ["to"]
const timeKeys = ["timestamp"]

const daySeconds = 86_400

/** Returns the id of an event, with the number of its day, because Mailgun's id is unique only within a day. */
const idOf = (data: Item): string | undefined => {
  const id = nameOf(data["id"])
  const seconds = Number(data["timestamp"])
  return id === undefined || !(seconds > 0) ? id : `${id} ${Math.floor(seconds / daySeconds)}`
}

const read = (item: unknown, receivedAt: number): ReadItem => {
  if (!isItem(item)) return faulty("must be an object")
  const data = item["event-data"]
  if (!isItem(data)) return faulty("has no event-data, so it is no webhook in Mailgun's current form")
  const name = nameOf(data["event"])
  if (name === undefined) return faulty('has no event, such as "delivered"')
  const named = meaningIn(events, name)
  if (named === undefined) return ignored(`the event "${name}" is not known`)
  const meaning = named === "bounce" ? meaningOfFailure(data) : named
  if (meaning === "ignored") return ignored(`"${name}" says nothing about a message's effect`)
  const headers = memberOf(memberOf(data, "message"), "headers")
  const level = { item: data, at: "/event-data" }
  return eventOf({
    event: meaning,
    recipient: data["recipient"] === undefined
      ? { level: { item: headers, at: "/event-data/message/headers" }, keys: toKeys }
      : { level, keys: recipientKeys },
    time: { level, keys: timeKeys },
    carriers: [data["user-variables"]],
    url: data["url"],
    messageId: headers["message-id"],
    header: headers["message-id"],
    id: idOf(data),
    content: () => ({
      link: textOf(data["url"]) ?? null,
      message: textOf(headers["message-id"]) ?? null,
      name,
      recipient: nameOf(data["recipient"]) ?? null,
      time: textOf(data["timestamp"]) ?? null,
    }),
    // `bot` names the program: apple, gmail or generic.
    automated: nameOf(memberOf(data, "client-info")["bot"]) !== undefined,
  }, receivedAt)
}

/**
 * Reads a webhook of Mailgun: one event in each request, in `event-data`. Variables of the message may carry our ids.
 * Mailgun marks opens and clicks by programs. Facts: docs/integrations/facts/mailgun.md.
 */
export const normalize: Normalize = (body, _headers, receivedAt) => {
  const parsed = jsonOf(body, "Mailgun")
  return "json" in parsed ? collect(itemsOf(parsed.json), (item) => read(item, receivedAt)) : parsed
}
