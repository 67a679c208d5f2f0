import { nameOf, textOf } from "../../domain/EventKeys.ts"
import { bounceByReason } from "../BounceReasons.ts"
import { collect, faulty, ignored, itemsOf, jsonOf, type ReadItem } from "../Items.ts"
import type { Normalize } from "../Normalize.ts"
import { find, isItem, type Item } from "../Reading.ts"
import { readTruth } from "../Truth.ts"
import { type Meaning, meaningIn, meaningsOf } from "./Meanings.ts"
import { eventOf } from "./SenderEvent.ts"

const records = meaningsOf({
  delivered: "Delivery",
  open: "Open",
  click: "Click",
  spam: "SpamComplaint",
})

/** Meanings of `Type`. The official lists of `TypeCode` contradict each other. */
const bounces = meaningsOf({
  bounce: "HardBounce, BadEmailAddress",
  soft_bounce: "SoftBounce, Unknown",
  failed:
    "Blocked, SpamNotification, VirusNotification, DMARCPolicy, ManuallyDeactivated, Unconfirmed, SMTPApiError, " +
    "TemplateRenderingFailed",
  unsubscribe: "Unsubscribe",
  spam: "SpamComplaint",
  ignored: "Transient, DnsError, AutoResponder, AddressChange, ChallengeVerification, OpenRelayTest, Subscribe, " +
    "InboundError",
})

/** Meanings of the reason of a suppression. A manual one counts if the recipient made it. */
const suppressions = meaningsOf({ bounce: "HardBounce", spam: "SpamComplaint", unsubscribe: "ManualSuppression" })

const meaningOfSuppression = (item: Item): Meaning | undefined => {
  const suppress = readTruth(item["SuppressSending"])
  if (!("value" in suppress) || !suppress.value) return "ignored"
  const meaning = meaningIn(suppressions, item["SuppressionReason"])
  return meaning === "unsubscribe" && nameOf(item["Origin"])?.toLowerCase() !== "recipient" ? "ignored" : meaning
}

const meaningOf = (record: string, item: Item): Meaning | undefined => {
  switch (record.toLowerCase()) {
    case "bounce":
      // A kind that Postmark adds later counts as soft, so that it suppresses nobody at once.
      return meaningIn(bounces, item["Type"]) ?? "soft_bounce"
    case "subscriptionchange":
      return meaningOfSuppression(item)
    default:
      return meaningIn(records, record)
  }
}

const timeKeys = ["DeliveredAt", "BouncedAt", "ReceivedAt", "ChangedAt"]
const recipientKeys = ["Recipient", "Email"]

const read = (item: unknown, traceId: string | undefined, receivedAt: number): ReadItem => {
  if (!isItem(item)) return faulty("must be an object")
  const record = nameOf(item["RecordType"])
  if (record === undefined) {
    return isItem(item["FromFull"])
      ? ignored("Inbound mail is no event of a message")
      : faulty('has no RecordType, such as "Open", so it is no event of a Postmark webhook')
  }
  const meaning = meaningOf(record, item)
  if (meaning === undefined) return ignored(`the record "${record}" is not known`)
  if (meaning === "ignored") {
    const kind = nameOf(item["Type"] ?? item["SuppressionReason"])
    return ignored(`"${record}"${kind === undefined ? "" : ` with "${kind}"`} says nothing about a message's effect`)
  }
  const level = { item, at: "" }
  return eventOf({
    event: bounceByReason(meaning, [{ response: item["Details"] }]),
    recipient: { level, keys: recipientKeys },
    time: { level, keys: timeKeys },
    carriers: [item["Metadata"]],
    url: item["OriginalLink"],
    messageId: item["MessageID"],
    id: traceId ?? textOf(item["ID"]),
    content: () => ({
      link: textOf(item["OriginalLink"]) ?? null,
      message: textOf(item["MessageID"]) ?? null,
      recipient: nameOf(item["Recipient"] ?? item["Email"]) ?? null,
      record,
      time: find([item], timeKeys, textOf) ?? null,
    }),
  }, receivedAt)
}

/** The header with the id of a webhook call, which is equal in all attempts. */
export const traceHeader = "x-pm-webhook-trace-id"

/**
 * Reads a webhook of Postmark: one record in each request. All records of a message have its `MessageID` and the
 * `Metadata` of the message, which may carry our ids. Postmark does not flag opens by machines. Facts:
 * docs/integrations/facts/postmark.md.
 */
export const normalize: Normalize = (body, headers, receivedAt) => {
  const parsed = jsonOf(body, "Postmark")
  if (!("json" in parsed)) return parsed
  const items = itemsOf(parsed.json)
  const traceId = items.list === undefined ? nameOf(headers[traceHeader]) : undefined
  return collect(items, (item) => read(item, traceId, receivedAt))
}
