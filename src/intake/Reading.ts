import type { NormalizedEvent } from "../domain/Event.ts"
import { eventKinds, EventName } from "../domain/EventKinds.ts"
import * as Json from "../json/Json.ts"
import { readAddress } from "../text/AddressText.ts"
import { isStorable } from "../domain/Attributes.ts"
import { nameOf } from "../domain/EventKeys.ts"
import type { NotUnderstood } from "../domain/DryRun.ts"
import { bodyEncodingFault } from "../text/Encodings.ts"
import { textOfUtf8 } from "../text/Utf8.ts"
import { trackingIdOf } from "./LinkParameters.ts"

/** An object of parsed JSON, not an array. */
export type Item = { readonly [name: string]: unknown }

/** Maximum length of a link. Unit: characters. */
const maxLink = 2_000

/** The events of lowercase names: `open` and `opened`, `purchase` and `conversion`, and so on. */
export const known: ReadonlyMap<string, EventName> = new Map(
  EventName.literals.flatMap((event) => eventKinds[event].names.map((name): [string, EventName] => [name, event])),
)

/**
 * Names of delivery steps without effect. As unknown names, they would become conversions if they have a tracking id.
 */
export const noise: ReadonlySet<string> = new Set([
  "drafted",
  "attempted",
  "deferred",
  "retry",
  "processed",
  "transient",
])

/**
 * Whether a body is empty or contains only JSON white space. Some platforms test their credentials with such a body.
 */
export const isBlank = (body: Uint8Array): boolean =>
  body.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d)

/** Parses a body as JSON, or returns why it is not JSON. */
export const parseJson = (body: Uint8Array): { readonly json: unknown } | NotUnderstood => {
  const text = textOfUtf8(body)
  if (text === undefined) return { reason: bodyEncodingFault(body)! }
  try {
    return { json: Json.parse(text) }
  } catch (error) {
    return { reason: bodyEncodingFault(body) ?? `The body ${Json.explain(error)}` }
  }
}

/** Whether a value is an object, and not an array. */
export const isItem = (value: unknown): value is Item =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const none: Item = {}

/** Returns a member that is an object. Other values count as an empty object. */
export const memberOf = (item: Item, name: string): Item => {
  const value = item[name]
  return isItem(value) ? value : none
}

/**
 * Returns the first value that is an e-mail address, for events that may concern the address itself: negative events,
 * and events except conversions that name a person but no message. Other events do not use the address, so it is not
 * stored with them.
 */
export const emailOf = (
  { event, messageKey, trackingId }: Pick<NormalizedEvent, "event" | "trackingId" | "messageKey">,
  ...values: ReadonlyArray<unknown>
): { readonly email?: string } => {
  const isOfPerson = trackingId === undefined && messageKey === undefined && event !== "conversion"
  if (eventKinds[event].category !== "negative" && !isOfPerson) return {}
  for (const value of values) {
    const name = nameOf(value)
    const email = name && readAddress(name)
    if (email !== undefined) return { email }
  }
  return {}
}

/** Returns the first 2,000 characters of a link; undefined if it is blank or cannot be stored. */
export const linkOf = (value: unknown): string | undefined => {
  if (typeof value !== "string") return undefined
  // Does not split a surrogate pair.
  const end = value.length > maxLink && (value.charCodeAt(maxLink - 1) & 0xfc00) === 0xd800 ? maxLink - 1 : maxLink
  const link = value.slice(0, end)
  return link.trim() !== "" && isStorable(link) ? link : undefined
}

/**
 * Returns the first value that `read` accepts: from all keys of the first level, then of the next level. Keys must be
 * constants of the source, never text of a body, because inherited names such as `constructor` exist in every object.
 */
export const find = (
  levels: ReadonlyArray<Item>,
  keys: ReadonlyArray<string>,
  read: (value: unknown) => string | undefined,
): string | undefined => {
  for (const level of levels) {
    for (const key of keys) {
      const value = level[key]
      if (value === undefined) continue
      const text = read(value)
      if (text !== undefined) return text
    }
  }
  return undefined
}

/**
 * Returns a value that is an object, or the object in its JSON text. Platforms send their customers' data in both forms
 * and truncate long texts. Undefined for other values.
 */
export const objectOf = (value: unknown): Item | undefined => {
  if (isItem(value)) return value
  if (typeof value !== "string" || !/^\s*\{/.test(value)) return undefined
  try {
    const parsed: unknown = Json.parse(value)
    return isItem(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

const trackingKeys = ["tracking_id"]
const templateKeys = ["template_id"]

/**
 * Returns the ids that a customer has put into an event: `tracking_id` and `template_id` from the first of the members
 * `carriers` (objects or their JSON text) that has a `tracking_id`, otherwise the `tracking_id` from the first of the
 * members `urls` that has one. A `template_id` without a `tracking_id` is ignored, because it may be the customer's own
 * field.
 */
export const carriedIds = (
  item: Item,
  carriers: ReadonlyArray<string>,
  urls: ReadonlyArray<string>,
): { readonly trackingId: string | undefined; readonly templateId: string | undefined } => {
  for (const key of carriers) {
    const carrier = objectOf(item[key])
    const trackingId = carrier && find([carrier], trackingKeys, nameOf)
    if (trackingId !== undefined) return { trackingId, templateId: find([carrier!], templateKeys, nameOf) }
  }
  return { trackingId: find([item], urls, trackingIdOf), templateId: undefined }
}

/** Returns the last dotted segment, or the segment before a version: `click` for `com.acme.click.v2`. */
export const lastSegment = (name: string): string => {
  const dot = name.lastIndexOf(".")
  return dot > 0 && /^v\d+$/.test(name.slice(dot + 1))
    ? name.slice(name.lastIndexOf(".", dot - 1) + 1, dot)
    : name.slice(dot + 1)
}
