import { type BounceEvent, bounceEvents, eventOfRefusal } from "../domain/refusals/BounceEvent.ts"
import { classifyRefusal } from "../domain/refusals/Refusals.ts"
import type { EventName } from "../domain/EventKinds.ts"
import { find, type Item } from "./Reading.ts"

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

const saidIn = (value: unknown): string | undefined =>
  typeof value === "string" && value.trim() !== "" ? value.slice(0, 2_000) : undefined

const codeIn = (value: unknown): string | undefined =>
  typeof value === "string" && /^[45]\.\d{1,3}\.\d{1,3}$/.test(value.trim()) ? value.trim() : undefined

const isBounce = (event: EventName): event is BounceEvent => event === "bounce" || event === "soft_bounce"

/**
 * Returns the event of a bounce that a platform reports, by the words of the recipient's server in the report. The
 * words can only make the event milder: platforms report full mailboxes, and refusals of the sender, as permanent
 * bounces.
 */
export const bounceByReason = (event: EventName, levels: ReadonlyArray<Item>): EventName => {
  if (!isBounce(event)) return event
  const said = find(levels, saidKeys, saidIn)
  const status = find(levels, statusKeys, codeIn)
  if (said === undefined && status === undefined) return event
  const refusal = classifyRefusal({ said, status }).class
  if (refusal === "unknown") return event
  const byReason = eventOfRefusal(refusal)
  return bounceEvents.indexOf(byReason) < bounceEvents.indexOf(event) ? byReason : event
}
