import { JsonPointer } from "effect"
import type { ErasureRequest, MemberFault, NormalizedEvent, ProfileUpdate } from "../domain/Event.ts"
import { eventKinds } from "../domain/EventKinds.ts"
import { digestKey } from "../domain/EventKeys.ts"
import type { Skipped } from "../domain/DryRun.ts"
import { idFault, placeholderInId } from "../text/Placeholders.ts"
import { isItem } from "./Reading.ts"

// Handles ids with an unfilled placeholder. An event with such an id would count as every other event with this id.

/** The ids of events, profiles and erasures, and their names in messages. */
const ids = { trackingId: "tracking_id", user: "user_id", email: "email", templateId: "template_id" } as const

type Ids = { readonly [id in keyof typeof ids]?: string | undefined }

const unfilledIn = (of: Ids): ReadonlyArray<keyof typeof ids> =>
  (Object.keys(ids) as ReadonlyArray<keyof typeof ids>).filter((id) =>
    of[id] !== undefined && placeholderInId(of[id]) !== undefined
  )

/** JSON pointers of the levels of an item that may contain a member. */
const levels = ["", "/data", "/properties"]

/** Returns the JSON pointer, within an item, of the member with this text; undefined for deeper members. */
const memberWith = (item: unknown, text: string): string | undefined => {
  for (const at of levels) {
    const level = isItem(item) && at !== "" ? item[at.slice(1)] : item
    const name = isItem(level) ? Object.keys(level).find((name) => level[name] === text) : undefined
    if (name !== undefined) return `${at}/${JsonPointer.escapeToken(name)}`
  }
  return undefined
}

const skip = (of: Ids, id: keyof typeof ids, item: unknown): Skipped => {
  const text = of[id]!
  const member = memberWith(item, text)
  return {
    reason: `${ids[id]} ${idFault(text)}`,
    expected: false,
    ...(member === undefined ? {} : { member }),
  }
}

/**
 * Removes unfilled ids from an event, with a fault for each. Skips the event if its tracking id is a placeholder, or if
 * no other id identifies its message. Opt-outs, complaints and bounces are kept if another id identifies their person.
 */
const eventFilledIn = (event: NormalizedEvent, item: unknown): NormalizedEvent | Skipped => {
  const unfilled = unfilledIn(event)
  if (unfilled.length === 0) return event
  const faults = unfilled.map((id) => {
    const { member = "", reason } = skip(event, id, item)
    return { member, reason: `${reason}. The event is kept without it` }
  })
  const rest: NormalizedEvent = {
    ...event,
    ...Object.fromEntries(unfilled.map((id) => [id, undefined])),
    faults: [...faults, ...event.faults ?? []],
  }
  const names = eventKinds[event.event].category === "negative"
    ? rest.trackingId ?? rest.email ?? rest.user ?? rest.messageKey
    : unfilled.includes("trackingId")
    ? undefined
    : rest.trackingId ?? rest.messageKey
  return names === undefined ? skip(event, unfilled[0]!, item) : rest
}

/**
 * Returns the unfilled event id in a key; undefined for other keys. A key may contain the event's name or source before
 * the id: `open:null`.
 */
const unfilledEventId = (key: string): string | undefined => {
  if (!key.startsWith("id:")) return undefined
  const id = key.slice(3)
  const last = /[: ]([^: ]+)$/.exec(id)?.[1] ?? id
  return [last, id].find((text) => placeholderInId(text) !== undefined)
}

/**
 * Identifies an event with an unfilled event id by its content. Otherwise all such events of the source would count as
 * one event.
 */
const knownByContent = (event: NormalizedEvent, item: unknown): NormalizedEvent => {
  const id = unfilledEventId(event.key)
  if (id === undefined || !isItem(item)) return event
  const fault: MemberFault = {
    member: memberWith(item, id) ?? "",
    reason: `event_id ${idFault(id)}. The content identifies the event`,
  }
  return { ...event, key: digestKey(item), faults: [...event.faults ?? [], fault] }
}

type Read =
  | NormalizedEvent
  | Skipped
  | { readonly profile: ProfileUpdate }
  | { readonly erasure: ErasureRequest }

/** Returns the item without unfilled ids, or why it is skipped. */
export const filledIn = (read: Read, item: unknown): Read => {
  if ("reason" in read) return read
  if ("event" in read) {
    const event = eventFilledIn(read, item)
    return "event" in event ? knownByContent(event, item) : event
  }
  const person = "profile" in read ? read.profile : read.erasure
  const [first] = unfilledIn(person)
  return first === undefined ? read : skip(person, first, item)
}
