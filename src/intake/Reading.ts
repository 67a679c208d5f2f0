import type { NormalizedEvent } from "../domain/Event.ts"
import { eventKinds, EventName } from "../domain/EventKinds.ts"
import * as Json from "../domain/Json.ts"
import { readAddress } from "../domain/AddressText.ts"
import { isStorable } from "../domain/Attributes.ts"
import { maxName, nameOf } from "../domain/EventKeys.ts"
import type { NotUnderstood } from "../domain/DryRun.ts"
import { textOfUtf8 } from "../domain/Utf8.ts"

/** An object of parsed JSON, not an array. */
export type Item = { readonly [name: string]: unknown }

/** Most characters of a link. */
const maxLink = 2_000

/** Events by their names in lowercase: `open` and `opened`, `purchase` and `conversion`, and so on. */
export const known: ReadonlyMap<string, EventName> = new Map(
  EventName.literals.flatMap((event) => eventKinds[event].names.map((name): [string, EventName] => [name, event])),
)

/** Steps on a message's way that say nothing about it. Were they business events, a tracking id would convert them. */
export const noise: ReadonlySet<string> = new Set([
  "drafted",
  "attempted",
  "deferred",
  "retry",
  "processed",
  "transient",
])

/** Whether a body is empty or has only JSON white space. Some platforms check their credentials with such a body. */
export const isBlank = (body: Uint8Array): boolean =>
  body.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d)

/** A body as JSON, or the reason why it is not JSON. */
export const parseJson = (body: Uint8Array): { readonly json: unknown } | NotUnderstood => {
  const text = textOfUtf8(body)
  if (text === undefined) return { reason: "The body is not valid UTF-8" }
  try {
    return { json: Json.parse(text) }
  } catch (error) {
    return { reason: `The body ${Json.explain(error)}` }
  }
}

/** Whether a value is an object of parsed JSON that is no array. */
export const isItem = (value: unknown): value is Item =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const none: Item = {}

/** An object's member that is an object; anything else counts as an empty one. */
export const memberOf = (item: Item, name: string): Item => {
  const value = item[name]
  return isItem(value) ? value : none
}

/**
 * The first of some values that is an e-mail address, for an event that may concern the address itself, or that names a
 * person and no message and is no conversion. Other events have no use for it, so it is not kept with them.
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

/** The beginning of a link, 1 to 2,000 characters, if it can be stored. */
export const linkOf = (value: unknown): string | undefined => {
  if (typeof value !== "string") return undefined
  // A cut must not halve a surrogate pair.
  const end = value.length > maxLink && (value.charCodeAt(maxLink - 1) & 0xfc00) === 0xd800 ? maxLink - 1 : maxLink
  const link = value.slice(0, end)
  return link.trim() !== "" && isStorable(link) ? link : undefined
}

/** The most characters of an encoded parameter: nine times as many as a name has, since `%F0%9F` are two of one's bytes. */
const maxEncoded = maxName * 9

/**
 * The first value of a parameter in a URL's query that can name something, 1 to 200 characters, percent-decoded once (`+`
 * stays); as it stands where that cannot be decoded. `name` is compared as written.
 */
export const parameterOf = (url: unknown, name: string): string | undefined => {
  const parameter = `${name}=`
  if (typeof url !== "string" || !url.includes(parameter)) return undefined
  const hash = url.indexOf("#")
  const end = hash < 0 ? url.length : hash
  let at = url.indexOf("?")
  while (at >= 0 && at < end) {
    const next = url.indexOf("&", at + 1)
    if (url.startsWith(parameter, at + 1)) {
      const encoded = url.slice(at + 1 + parameter.length, next < 0 || next > end ? end : next)
      const value = encoded.length > maxEncoded ? undefined : nameOf(decoded(encoded))
      if (value !== undefined) return value
    }
    at = next
  }
  return undefined
}

/** `tracking_id` of a URL's query: see `parameterOf`. */
export const trackingIdOf = (url: unknown): string | undefined => parameterOf(url, "tracking_id")

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * The first value that `read` accepts: all keys of the first level, then those of the next level. Keys are constants of
 * the source, never from a body, because inherited names such as `constructor` exist in every object.
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
 * A value that is an object, or the JSON text of one: platforms send their customers' data in either form, and cut long
 * texts short. Undefined for anything else.
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
 * The ids that a customer has put into the first of the members `carriers` that has a `tracking_id` (each an object, or the
 * JSON text of one): a `template_id` without one beside it is the customer's own affair. Else the `tracking_id` in the first
 * of the members `urls` that has one.
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

/** The last dotted segment, or the one before it where the last is a version: `click` of `com.acme.click.v2`. */
export const lastSegment = (name: string): string => {
  const dot = name.lastIndexOf(".")
  return dot > 0 && /^v\d+$/.test(name.slice(dot + 1))
    ? name.slice(name.lastIndexOf(".", dot - 1) + 1, dot)
    : name.slice(dot + 1)
}
