import type { MemberFault } from "../../domain/Event.ts"
import type { EventName } from "../../domain/EventKinds.ts"
import { textOf } from "../../domain/EventKeys.ts"
import { readAmount } from "../Amount.ts"
import type { ReadValue } from "../../text/ReadValue.ts"
import { memberFault, shown } from "../Given.ts"
import { parseInstant, readInstant } from "../Instant.ts"
import { type Money, moneyIn } from "../Money.ts"
import { readTruth } from "../Truth.ts"
import type { TimeUnit } from "./MappingSchema.ts"
import { maxText } from "./MappingWork.ts"

/** Returns a value as text, or undefined if it is not accepted. */
export type Read = (value: unknown) => string | undefined

/** Reads texts, numbers and booleans. */
export const scalarOf: Read = (value) =>
  typeof value === "boolean"
    ? String(value)
    : typeof value === "string" && value.length > maxText
    ? undefined
    : textOf(value)

/** Maximum length of an invalid text in its fault. Unit: characters. */
const maxUnread = 200

/** Formats any present value for a fault, including lists, objects and blank texts. */
export const givenText: Read = (value) =>
  value === undefined || value === null
    ? undefined
    : scalarOf(value) ?? (typeof value === "string" ? value.slice(0, maxUnread) : shown(value))

const millisOf: { readonly [unit in TimeUnit]?: (value: number) => number } = {
  seconds: (value) => Math.round(value * 1_000),
  milliseconds: Math.round,
  microseconds: (value) => Math.floor(value / 1_000),
}

/** Returns the text of a time for `parseInstant`. Numbers are converted to ISO 8601, which needs no unit. */
const timeText = (unit: TimeUnit): Read => (value) => {
  const text = scalarOf(value)?.trim()
  if (text === undefined || unit === "auto") return text
  const isNumber = /^\d{1,20}(?:\.\d{1,20})?$/.test(text)
  const millis = millisOf[unit]
  if (millis === undefined) return isNumber ? undefined : text
  const instant = isNumber ? millis(Number(text)) : Number.NaN
  // A Date beyond 8.64e15 ms has no text.
  return instant <= 8.64e15 ? new Date(instant).toISOString() : undefined
}

/**
 * Returns a reader that accepts only the values that `read` accepts. Rejected values are read again for their fault.
 */
export const readable = (read: (value: unknown) => ReadValue<unknown>): Read => (value) =>
  "value" in read(value) ? scalarOf(value) : undefined

/**
 * Reads an amount. As a text, `1.234` would have two meanings, so a JSON number with three decimals gets another zero.
 */
export const amountText: Read = (value) => {
  if (!("value" in readAmount(value, "KWD"))) return undefined
  const text = scalarOf(value)
  return typeof value === "number" && /^-?\d{1,3}\.\d{3}$/.test(text!) ? `${text}0` : text
}

/** Like `timeText`, but accepts only valid times. */
export const readableTime = (unit: TimeUnit): Read => {
  const read = timeText(unit)
  return (value) => {
    const text = read(value)
    return text === undefined || parseInstant(text) === undefined ? undefined : text
  }
}

/** Invalid values of these members. */
export type Unread = Readonly<Partial<Record<"occurred_at" | "automated" | "value" | "currency", string>>>

/**
 * Returns the time of an event, or why it is the time of receipt. `isUnread`: the time is not in the mapping's unit.
 */
const timeOf = (
  stated: string | undefined,
  isUnread: boolean,
  receivedAt: number,
): { readonly occurredAt: number; readonly stated?: string; readonly wrong?: string } => {
  if (stated === undefined) return { occurredAt: receivedAt }
  const read = readInstant(stated, receivedAt)
  if ("wrong" in read) return { occurredAt: receivedAt, stated, wrong: read.wrong }
  return isUnread
    ? { occurredAt: receivedAt, stated, wrong: "is not in the unit of the mapping" }
    : { occurredAt: read.value }
}

/** Whether a machine caused the event: by the values that the mapping lists, or as a boolean value. */
const automatedOf = (stated: string | undefined, machines: ReadonlySet<string> | undefined): boolean => {
  if (machines !== undefined) return machines.has(stated?.trim().toLowerCase() ?? "")
  const read = readTruth(stated)
  return "value" in read && read.value
}

/** Returns the values of an event, with the faults of invalid values. */
export const valuesIn = (
  event: EventName,
  valueOf: (member: string) => string | undefined,
  unread: Unread,
  machines: ReadonlySet<string> | undefined,
  receivedAt: number,
): Money & { readonly occurredAt: number; readonly automated: boolean } => {
  const item = { value: valueOf("value"), currency: valueOf("currency") }
  const money = moneyIn(event, [{ item, at: "" }], ["value"])
  const faults: Array<MemberFault> = [...money.faults]
  const time = timeOf(valueOf("occurred_at"), unread.occurred_at !== undefined, receivedAt)
  if (time.wrong !== undefined) {
    faults.push(memberFault("/occurred_at", time.stated, time.wrong, "The time of receipt is used"))
  }
  if (unread.automated !== undefined && machines === undefined) {
    const wrong = "is neither true nor false: send true or false"
    faults.push(memberFault("/automated", unread.automated, wrong, "The event counts as a person's"))
  }
  return {
    ...money,
    faults,
    occurredAt: time.occurredAt,
    automated: automatedOf(valueOf("automated"), machines),
  }
}
