import { nameOf, textOf } from "../../domain/EventKeys.ts"
import { bounceByReason } from "../BounceReasons.ts"
import { collect, faulty, ignored, itemsOf, jsonOf, noItems, type ReadItem } from "../Items.ts"
import type { Normalize } from "../Normalize.ts"
import { isItem, type Item, memberOf } from "../Reading.ts"
import { type Meaning, meaningIn, meaningsOf } from "./Meanings.ts"
import { eventOf } from "./SenderEvent.ts"

const events = meaningsOf({
  sent: "injection",
  delivered: "delivery",
  open: "open, initial_open, amp_open, amp_initial_open",
  click: "click, amp_click",
  bounce: "bounce, out_of_band",
  failed: "policy_rejection, generation_failure, generation_rejection",
  spam: "spam_complaint",
  unsubscribe: "list_unsubscribe, link_unsubscribe",
  ignored: "delay, sms_status, relay_injection, relay_rejection, relay_delivery, relay_tempfail, relay_permfail",
})

/** Meanings of `bounce_class`. */
const classes = meaningsOf({
  bounce: "10, 30, 90",
  failed: "25, 26, 50, 51, 52, 53, 54",
  ignored: "60, 80, 100",
})

const meaningOf = (name: string, item: Item): Meaning | undefined => {
  const meaning = meaningIn(events, name)
  if (meaning !== "bounce") return meaning
  // Classes that are not listed are soft.
  const byClass = meaningIn(classes, item["bounce_class"]) ?? "soft_bounce"
  return byClass === "ignored" ? byClass : bounceByReason(byClass, [{ reason: item["raw_reason"] ?? item["reason"] }])
}

const recipientKeys = ["rcpt_to"]
const timeKeys = ["timestamp"]
/** True if a mailbox provider fetched the images before a person opened the message. `is_proxy` also marks people. */
const machineKeys = ["is_prefetched"]

/** Returns the event in `{"msys": {"<class>": {…}}}`, and its JSON pointer; undefined for other items. */
const innerOf = (item: unknown): { readonly event: Item; readonly at: string } | undefined => {
  const msys = isItem(item) ? item["msys"] : undefined
  if (!isItem(msys)) return undefined
  const name = Object.keys(msys).find((key) => isItem(msys[key]))
  return name === undefined ? { event: {}, at: "/msys" } : { event: msys[name] as Item, at: `/msys/${name}` }
}

const read = (item: unknown, receivedAt: number): ReadItem => {
  const inner = innerOf(item)
  if (inner === undefined) return faulty("has no msys, so it is no event of a SparkPost webhook")
  const { at, event } = inner
  const name = nameOf(event["type"])
  if (name === undefined) {
    return Object.keys(event).length === 0 ? ignored("A test of the address has no event") : faulty("has no type")
  }
  const meaning = meaningOf(name, event)
  if (meaning === undefined) return ignored(`the event "${name}" is not known`)
  if (meaning === "ignored") return ignored(`"${name}" says nothing about a message's effect`)
  const level = { item: event, at }
  return eventOf({
    event: meaning,
    recipient: { level, keys: recipientKeys },
    time: { level, keys: timeKeys },
    carriers: [event["rcpt_meta"]],
    url: event["target_link_url"],
    messageId: event["transmission_id"],
    id: textOf(event["event_id"]),
    machine: {
      level: { item: memberOf(event, "user_agent_parsed"), at: `${at}/user_agent_parsed` },
      keys: machineKeys,
    },
    content: () => ({
      link: textOf(event["target_link_url"]) ?? null,
      message: textOf(event["transmission_id"]) ?? null,
      name,
      recipient: nameOf(event["rcpt_to"]) ?? null,
      time: textOf(event["timestamp"]) ?? null,
    }),
  }, receivedAt)
}

/**
 * Reads a webhook of SparkPost: a list of events. Metadata of the recipient may carry our ids. Facts:
 * docs/integrations/facts/sparkpost.md.
 */
export const normalize: Normalize = (body, _headers, receivedAt) => {
  const parsed = jsonOf(body, "SparkPost")
  if (!("json" in parsed)) return parsed
  const { items, list } = itemsOf(parsed.json)
  return items.length === 0 ? noItems : collect({ items, list }, (item) => read(item, receivedAt))
}
