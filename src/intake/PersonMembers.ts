import { readAddress } from "../domain/AddressText.ts"
import type { MemberFault } from "../domain/Event.ts"
import { nameOf } from "../domain/EventKeys.ts"
import { type EventName, isSuppressing } from "../domain/EventKinds.ts"
import { isTimeZone } from "../templates/LocalTime.ts"
import { type EventLevel, given, type ReadValue } from "./Given.ts"

// Members of an event that describe its person, and the faults of those that are given and cannot be read.

/** An address. Blank texts are absent. */
const readPerson = (value: unknown): ReadValue<unknown> =>
  typeof value === "string" && (value.trim() === "" || readAddress(nameOf(value) ?? "") !== undefined)
    ? { value }
    : { wrong: "is not one e-mail address: send it as ann@shop.example" }

/** The fault of the address of a bounce, complaint or opt-out, if it is given under `keys` and cannot be read. */
export const addressFault = (
  { event, otherChannel }: { readonly event: EventName; readonly otherChannel?: boolean },
  levels: ReadonlyArray<EventLevel>,
  keys: ReadonlyArray<string>,
): MemberFault | undefined =>
  isSuppressing(event) && otherChannel !== true
    ? given(levels, keys, readPerson, "It suppresses an address only if its message or user has one").fault
    : undefined

const readZone = (value: unknown): ReadValue<string> =>
  typeof value === "string" && isTimeZone(value.trim())
    ? { value: value.trim() }
    : { wrong: "is no IANA time zone: send one, such as Europe/Berlin" }

/** The time zone of an event's user under the first of `keys` that has one, and the fault of one that cannot be read. */
export const zoneIn = (
  levels: ReadonlyArray<EventLevel>,
  keys: ReadonlyArray<string>,
): { readonly zone: { readonly timeZone?: string }; readonly fault: MemberFault | undefined } => {
  const { fault, value } = given(levels, keys, readZone, "The event counts without it")
  return { zone: value === undefined ? {} : { timeZone: value }, fault }
}
