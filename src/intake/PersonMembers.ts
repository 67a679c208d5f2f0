import { readAddress } from "../text/AddressText.ts"
import type { MemberFault } from "../domain/Event.ts"
import { nameOf } from "../domain/EventKeys.ts"
import { type EventName, isSuppressing } from "../domain/EventKinds.ts"
import { ianaZone } from "../domain/ZoneNames.ts"
import type { ReadValue } from "../text/ReadValue.ts"
import { type EventLevel, given } from "./Given.ts"

// Reads the members of an event that describe its person, and reports invalid ones.

/** Reads an address. Blank texts count as absent. */
const readPerson = (value: unknown): ReadValue<unknown> =>
  typeof value === "string" && (value.trim() === "" || readAddress(nameOf(value) ?? "") !== undefined)
    ? { value }
    : { wrong: "is not one e-mail address: send it as ann@shop.example" }

/** Returns the fault of the address of a bounce, complaint or opt-out, if a key has an invalid address. */
export const addressFault = (
  { event, otherChannel }: { readonly event: EventName; readonly otherChannel?: boolean },
  levels: ReadonlyArray<EventLevel>,
  keys: ReadonlyArray<string>,
): MemberFault | undefined =>
  isSuppressing(event) && otherChannel !== true
    ? given(levels, keys, readPerson, "It suppresses an address only if its message or user has one").fault
    : undefined

const readZone = (value: unknown): ReadValue<string> => {
  const zone = typeof value === "string" ? ianaZone(value) : undefined
  return zone === undefined ? { wrong: "is no time zone: send an IANA name, such as Europe/Berlin" } : { value: zone }
}

/**
 * Reads the time zone of an event's user from the first of `keys` with a valid zone, with the fault if no valid zone is
 * present.
 */
export const zoneIn = (
  levels: ReadonlyArray<EventLevel>,
  keys: ReadonlyArray<string>,
): { readonly zone: { readonly timeZone?: string }; readonly fault: MemberFault | undefined } => {
  const { fault, value } = given(levels, keys, readZone, "The event counts without it")
  return { zone: value === undefined ? {} : { timeZone: value }, fault }
}
