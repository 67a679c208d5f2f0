import { nameOf, textOf } from "../../domain/EventKeys.ts"
import { bounceByReason, eventOfWords } from "../BounceReasons.ts"
import { collect, faulty, ignored, itemsOf, jsonOf, type ReadItem } from "../Items.ts"
import type { Normalize } from "../Normalize.ts"
import { unnamedGroup } from "../OptOutGroup.ts"
import { isItem, type Item } from "../Reading.ts"
import { type Meaning, meaningIn, meaningsOf } from "./Meanings.ts"
import { eventOf } from "./SenderEvent.ts"

const events = meaningsOf({
  sent: "processed",
  delivered: "delivered",
  open: "open",
  click: "click",
  bounce: "bounce",
  // SendGrid held the message back by its own list, which may be old or shared.
  failed: "dropped",
  spam: "spamreport",
  unsubscribe: "unsubscribe, group_unsubscribe",
  ignored: "deferred, group_resubscribe, account_status_change",
})

/** Meanings of `bounce_classification`. Others say nothing. */
const classifications = meaningsOf({
  failed: "Content, Reputation, Frequency or Volume Too High",
  soft_bounce: "Mailbox Unavailable, Technical, Technical Failure",
})

/**
 * Returns the meaning of a bounce. A blocked or expired message never suppresses an address at once: SendGrid itself
 * continues to send to it.
 */
const meaningOfBounce = (item: Item): Meaning => {
  const byClass = meaningIn(classifications, item["bounce_classification"])
  if (byClass === "failed") return byClass
  const type = nameOf(item["type"])?.toLowerCase()
  if (type !== "blocked" && type !== "expired") return bounceByReason("bounce", [item])
  const byWords = eventOfWords([item])
  if (byWords === "failed") return byWords
  return type === "expired" || byClass === "soft_bounce" || byWords === "soft_bounce" ? "soft_bounce" : "failed"
}

const recipientKeys = ["email"]
const timeKeys = ["timestamp"]
const machineKeys = ["sg_machine_open"]

const read = (item: unknown, receivedAt: number): ReadItem => {
  if (!isItem(item)) return faulty("must be an object")
  const name = nameOf(item["event"])
  if (name === undefined) return faulty('has no event, such as "delivered"')
  const named = meaningIn(events, name)
  if (named === undefined) return ignored(`the event "${name}" is not known`)
  if (named === "ignored") return ignored(`"${name}" says nothing about a message's effect`)
  const meaning = named === "bounce" ? meaningOfBounce(item) : named
  if (meaning === "ignored") return ignored(`"${name}" says nothing about a message's effect`)
  const level = { item, at: "" }
  return eventOf({
    event: meaning,
    recipient: { level, keys: recipientKeys },
    time: { level, keys: timeKeys },
    // Custom arguments are members of the event itself, next to the template_id of SendGrid's own template.
    carriers: [item],
    isFlat: true,
    url: item["url"],
    messageId: nameOf(item["sg_message_id"])?.split(".", 1)[0],
    id: textOf(item["sg_event_id"]),
    content: () => ({
      link: textOf(item["url"]) ?? null,
      message: textOf(item["sg_message_id"]) ?? null,
      name,
      recipient: nameOf(item["email"]) ?? null,
      time: textOf(item["timestamp"]) ?? null,
    }),
    machine: { level, keys: machineKeys },
    group: name.startsWith("group") ? nameOf(item["asm_group_id"]) ?? unnamedGroup : undefined,
  }, receivedAt)
}

/**
 * Reads the Event Webhook of SendGrid: a list of events. Custom arguments, which may carry our ids, are members of each
 * event. Late bounces have neither these nor a message id, and are events of their recipient. Facts:
 * docs/integrations/facts/sendgrid.md.
 */
export const normalize: Normalize = (body, _headers, receivedAt) => {
  const parsed = jsonOf(body, "SendGrid")
  return "json" in parsed ? collect(itemsOf(parsed.json), (item) => read(item, receivedAt)) : parsed
}
