import { nameOf, textOf } from "../../domain/EventKeys.ts"
import { bounceByReason } from "../BounceReasons.ts"
import { collect, faulty, ignored, itemsOf, jsonOf, type ReadItem } from "../Items.ts"
import type { Normalize } from "../Normalize.ts"
import { isItem, type Item, objectOf } from "../Reading.ts"
import * as Json from "../../json/Json.ts"
import { meaningIn, meaningsOf } from "./Meanings.ts"
import { eventOf } from "./SenderEvent.ts"

const meanings = meaningsOf({
  sent: "request, sent",
  delivered: "delivered",
  open: "opened, unique_opened, proxy_open, unique_proxy_open",
  click: "click",
  bounce: "hard_bounce, invalid_email",
  soft_bounce: "soft_bounce",
  failed: "blocked, error",
  spam: "spam, complaint",
  unsubscribe: "unsubscribed, unsubscribe",
  ignored: "deferred, list_addition, contact_updated, contact_deleted, reply, inbound_email_processed",
})

/** Matches opens that a proxy of a mailbox provider made. */
const proxy = /proxy/i

/** Maximum number of parts of a text, and of tags, that are read. */
const maxParts = 100

/** Returns the pairs of a text such as `tracking_id:trk_1|user_id:u-1`. A text without any of `: | {` is a tracking id. */
const pairsOf = (text: string): Item => {
  if (/^[^\s:|{]+$/.test(text)) return { tracking_id: text }
  return Object.fromEntries(
    text.split("|").slice(0, maxParts).map((part) => {
      const colon = part.indexOf(":")
      return [part.slice(0, colon).trim(), part.slice(colon + 1).trim()]
    }),
  )
}

/** Returns what the header `X-Mailin-custom` of the message carried. */
const customIn = (item: Item): unknown => {
  const stated = item["X-Mailin-custom"] ?? item["x-mailin-custom"]
  return objectOf(stated) ??
    (typeof stated === "string" && stated.length <= 10_000 ? pairsOf(stated.trim()) : undefined)
}

const listIn = (text: string): unknown => {
  try {
    return Json.parse(text)
  } catch {
    return [text]
  }
}

/** Returns the ids in tags such as `tracking_id:trk_1`. Other tags name campaigns. */
const tagsIn = ({ tag, tags }: Item): Item => {
  const list = Array.isArray(tags) ? tags : typeof tag === "string" ? listIn(tag.slice(0, 10_000)) : []
  const texts = Array.isArray(list) ? list.slice(0, maxParts).filter((one) => typeof one === "string") : []
  return Object.assign({}, ...texts.filter((text) => text.includes(":")).map(pairsOf))
}

/** `ts` and `ts_event` may be in the zone of the account, and `date` has none. */
const timeKeys = ["ts_epoch", "ts_event", "ts"]

const read = (item: unknown, receivedAt: number): ReadItem => {
  if (!isItem(item)) return faulty("must be an object")
  if (Array.isArray(item["items"])) return ignored("Inbound mail is no event of a message")
  const stated = nameOf(item["event"])
  if (stated === undefined) return faulty('has no event, such as "delivered", so it is no event of a Brevo webhook')
  const meaning = meaningIn(meanings, stated)
  if (meaning === undefined) return ignored(`the event "${stated}" is not known`)
  if (meaning === "ignored") return ignored(`"${stated}" says nothing about a message's effect`)
  const level = { item, at: "" }
  // Clicks of campaigns have the URL in another member.
  const link = item["link"] ?? item["URL"]
  return eventOf({
    event: bounceByReason(meaning, [{ reason: item["reason"] }]),
    recipient: { level, keys: ["email"] },
    time: { level, keys: timeKeys },
    carriers: [customIn(item), tagsIn(item)],
    url: link,
    messageId: item["message-id"],
    header: item["message-id"],
    id: undefined,
    content: () => ({
      email: textOf(item["email"]) ?? null,
      event: stated,
      link: textOf(link) ?? null,
      message: textOf(item["message-id"]) ?? null,
      time: textOf(item["ts_epoch"]) ?? textOf(item["ts_event"]) ?? null,
    }),
    automated: meaning === "open" && proxy.test(stated),
  }, receivedAt)
}

/**
 * Reads a webhook of Brevo: one event, or a batch as a list or as the member `events`. Events have no id of their own:
 * `id` is the webhook's. They have the `message-id` of the message, and its header `X-Mailin-custom`, which may carry our
 * ids. Facts: docs/integrations/facts/brevo.md.
 */
export const normalize: Normalize = (body, _headers, receivedAt) => {
  const parsed = jsonOf(body, "Brevo")
  return "json" in parsed ? collect(itemsOf(parsed.json, ["events"]), (item) => read(item, receivedAt)) : parsed
}
