import { type BounceEvent, bounceEvents, eventOfRefusal } from "../domain/refusals/BounceEvent.ts"
import { classifyRefusal } from "../domain/refusals/Refusals.ts"
import type { EventName } from "../domain/EventKinds.ts"
import { find, isItem, type Item } from "./Reading.ts"

/** Members in which platforms send the words of the recipient's server. */
const saidKeys: ReadonlyArray<string> = [
  "bounce_reason",
  "bounceReason",
  "failure_message",
  "smtpReason",
  "smtp_response",
  "smtpResponse",
  "diagnostic_code",
  "diagnosticCode",
  "diagnostic",
  "bounceMessage",
  "bounce_message",
  "reason",
  "response",
  "description",
]

/** Members in which platforms send an enhanced code, such as `5.1.1`. */
const statusKeys: ReadonlyArray<string> = [
  "enhanced_code",
  "enhanced-code",
  "enhanced_status_code",
  "smtp_status",
  "status",
]

/** Members that explain a bounce. */
export const reasonKeys: ReadonlyArray<string> = [...saidKeys, ...statusKeys]

/** Members whose members explain a bounce. */
const innerKeys = [
  "bounce",
  "bounces",
  "msg",
  "details",
  "delivery",
  "deliveryStatus",
  "delivery_status",
  "delivery-status",
]

/** Members of these members in which platforms send the words of the recipient's server. */
const innerSaidKeys: ReadonlyArray<string> = [...saidKeys, "message", "diag"]

/** Returns the objects inside levels that explain a bounce. Of several recipients, Amazon SES lists the event's first. */
export const innerItems = (levels: ReadonlyArray<Item>): ReadonlyArray<Item> =>
  levels.flatMap((level) => innerKeys.map((key) => level[key]).filter(isItem)).flatMap((item) => {
    const recipients = item["bouncedRecipients"]
    const recipient: unknown = Array.isArray(recipients) ? recipients[0] : undefined
    return isItem(recipient) ? [item, recipient] : [item]
  })

const saidIn = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value.slice(0, 2_000) : undefined

const codeIn = (value: unknown): string | undefined =>
  typeof value === "string" && /^[45]\.\d{1,3}\.\d{1,3}$/.test(value.trim()) ? value.trim() : undefined

const textsIn = (item: Item, keys: ReadonlyArray<string>): ReadonlyArray<string> =>
  keys.flatMap((key) => saidIn(item[key]) ?? [])

/** The texts of an inner member, after its reply code: `{"code":552,"message":"full"}` is `552 full`. */
const innerTexts = (item: Item): ReadonlyArray<string> => {
  const texts = textsIn(item, innerSaidKeys)
  const code = /^[45]\d\d$/.test(String(item["code"])) ? String(item["code"]) : undefined
  if (code === undefined) return texts
  return texts.length === 0 ? [code] : texts.map((text) => text.startsWith(code) ? text : `${code} ${text}`)
}

export const mildest = (one: BounceEvent, other: BounceEvent): BounceEvent =>
  bounceEvents.indexOf(one) < bounceEvents.indexOf(other) ? one : other

/** Returns the mildest event by the words of the recipient's server; undefined without words that are known. */
export const eventOfWords = (levels: ReadonlyArray<Item>): BounceEvent | undefined => {
  const inner = innerItems(levels)
  const status = find([...levels, ...inner], statusKeys, codeIn)
  const texts = [...levels.flatMap((level) => textsIn(level, saidKeys)), ...inner.flatMap(innerTexts)]
  const refusals = texts.length === 0
    ? status === undefined ? [] : [classifyRefusal({ status })]
    : texts.map((said) => classifyRefusal({ said, status }))
  const events = refusals.flatMap((refusal) => refusal.class === "unknown" ? [] : [eventOfRefusal(refusal.class)])
  return events.length === 0 ? undefined : events.reduce(mildest)
}

const isBounce = (event: EventName): event is BounceEvent => event === "bounce" || event === "soft_bounce"

/**
 * Returns the event of a bounce that a platform reports, by the words of the recipient's server in the report. The
 * words can only make the event milder: platforms report full mailboxes, and refusals of the sender, as permanent
 * bounces.
 */
export const bounceByReason = (event: EventName, levels: ReadonlyArray<Item>): EventName => {
  if (!isBounce(event)) return event
  const byWords = eventOfWords(levels)
  return byWords === undefined ? event : mildest(event, byWords)
}
