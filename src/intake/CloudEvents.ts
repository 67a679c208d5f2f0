import { Buffer } from "node:buffer"
import type { NormalizedEvent } from "../domain/Event.ts"
import * as CustomEvents from "./CustomEvents.ts"
import type { Skipped } from "../domain/DryRun.ts"
import { collect, faulty, itemsOf } from "./Items.ts"
import { keyOf, nameOf, textOf } from "../domain/EventKeys.ts"
import { isItem, type Item, objectOf, parseJson } from "./Reading.ts"
import type { NotUnderstood } from "../domain/DryRun.ts"
import type { Normalize } from "./Normalize.ts"

/** An organization's settings for CloudEvents. */
interface CloudEventsSettings {
  /** Meaning of `subject`, if set. It takes precedence over this field in the data. */
  readonly subject?: "user" | "tracking_id" | "template_id"
  /** Additional types that are conversions, lowercase: a whole type, or its last segment. */
  readonly conversions?: ReadonlySet<string> | undefined
  /** See `CustomEvents.Options.strict`. */
  readonly strict?: boolean | undefined
}

type Headers = Readonly<Record<string, string>>

/** Returns a header by its lowercase name. */
const headerOf = (headers: Headers, name: string): string | undefined =>
  Object.hasOwn(headers, name) ? headers[name] : undefined

/** Returns the media type without parameters, in lowercase; empty if the header is absent. */
const mediaTypeOf = (contentType: string | undefined): string =>
  (contentType ?? "").split(";", 1)[0]!.trim().toLowerCase()

const isJsonType = (mediaType: string): boolean =>
  mediaType === "" || mediaType === "application/json" || mediaType === "text/json" || mediaType.endsWith("+json")

const structuredType = "application/cloudevents+json"
const batchType = "application/cloudevents-batch+json"

/** Whether the headers mark a body as one or several CloudEvents: by the content type, or by `ce-*` attributes. */
export const isCloudEvents = (headers: Headers): boolean =>
  mediaTypeOf(headerOf(headers, "content-type")).startsWith("application/cloudevents") ||
  (headerOf(headers, "ce-specversion") !== undefined && headerOf(headers, "ce-id") !== undefined)

/** The attributes that this service reads. */
interface CloudEvent {
  readonly id: unknown
  readonly source: unknown
  readonly specversion: unknown
  readonly type: unknown
  readonly subject: unknown
  readonly time: unknown
  readonly data: Item | undefined
}

const attributes = ["id", "source", "specversion", "type"] as const

/** Reads an event as an item of the default shape, which defines types, data and events without effect. */
const read = (
  event: CloudEvent,
  receivedAt: number,
  { conversions, strict, subject }: CloudEventsSettings,
): NormalizedEvent | Skipped => {
  const missing = attributes.filter((name) => textOf(event[name]) === undefined)
  if (missing.length > 0) {
    return faulty(`is no CloudEvent: it has no ${missing.join(", no ")}`)
  }
  const version = textOf(event.specversion)!
  if (!/^1(?:\.\d+)?$/.test(version)) {
    return faulty(`has specversion ${JSON.stringify(version.slice(0, 20))}; 1.0 is understood`)
  }
  const item: Record<string, unknown> = { event: event.type, occurred_at: event.time }
  if (subject !== undefined && nameOf(event.subject) !== undefined) {
    item[subject === "user" ? "user_id" : subject] = event.subject
  }
  if (event.data !== undefined) item["data"] = event.data
  const normal = CustomEvents.readItem(item, { receivedAt, webhookId: undefined, conversions, strict })
  if ("reason" in normal) {
    if (event.data === undefined && !normal.expected) return faulty(`${normal.reason}; its data is no JSON object`)
    // The converted item has the event's name in another member.
    return normal.member === "/event" ? { ...normal, member: "/type" } : normal
  }
  // A URI reference contains no space, so two different pairs cannot form one key.
  const source = textOf(event.source)!
  const id = textOf(event.id)!
  const faults = normal.faults?.map((fault) =>
    fault.member === "/occurred_at" ? { member: "/time", reason: fault.reason.replace(/^occurred_at/, "time") } : fault
  )
  return { ...normal, key: keyOf({ source, id }, `${source} ${id}`), ...(faults === undefined ? {} : { faults }) }
}

const base64 = /^[A-Za-z0-9+/\s]*={0,2}\s*$/

/** Returns `data` as an object: from JSON, from `data_base64`, or from a text with JSON. */
const dataOf = (item: Item): Item | undefined => {
  const { data, data_base64: encoded } = item
  if (data !== undefined && data !== null) return objectOf(data)
  if (typeof encoded !== "string" || !isJsonType(mediaTypeOf(textOf(item["datacontenttype"])))) return undefined
  if (!base64.test(encoded)) return undefined
  const parsed = parseJson(Buffer.from(encoded, "base64"))
  return "json" in parsed ? objectOf(parsed.json) : undefined
}

const ofItem = (item: unknown, receivedAt: number, settings: CloudEventsSettings): NormalizedEvent | Skipped => {
  if (!isItem(item)) return faulty("must be an object")
  const { id, source, specversion, subject, time, type } = item
  return read({ id, source, specversion, subject, time, type, data: dataOf(item) }, receivedAt, settings)
}

/** Returns an attribute's header, percent-decoded as in the HTTP binding, or undecoded if decoding fails. */
const attributeOf = (headers: Headers, name: string): string | undefined => {
  const value = headerOf(headers, `ce-${name}`)
  if (value === undefined) return undefined
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

const ofHeaders = (body: Uint8Array, headers: Headers): CloudEvent | NotUnderstood => {
  let data: Item | undefined
  if (body.length > 0 && isJsonType(mediaTypeOf(headerOf(headers, "content-type")))) {
    const parsed = parseJson(body)
    if (!("json" in parsed)) return parsed
    data = objectOf(parsed.json)
  }
  return {
    id: attributeOf(headers, "id"),
    source: attributeOf(headers, "source"),
    specversion: attributeOf(headers, "specversion"),
    type: attributeOf(headers, "type"),
    subject: attributeOf(headers, "subject"),
    time: attributeOf(headers, "time"),
    data,
  }
}

/**
 * Reads CloudEvents 1.0 over HTTP in structured, batched and binary mode. The content type and the `ce-*` headers
 * (lowercase names) determine the mode. `type` is the event's name as in the default shape, `time` is its time, and
 * `data`, `data_base64` or the binary body has its other fields. Events with equal `source` and `id` are duplicates.
 * Source: https://github.com/cloudevents/spec, `bindings/http-protocol-binding.md`.
 *
 * JSON with another content type and without `ce-*` headers is read in structured mode.
 */
export const make = (settings: CloudEventsSettings = {}): Normalize => (body, headers, receivedAt) => {
  const areJudged = settings.strict === true
  const mediaType = mediaTypeOf(headerOf(headers, "content-type"))
  if (mediaType.startsWith("application/cloudevents") && mediaType !== structuredType && mediaType !== batchType) {
    return { reason: `The CloudEvents format ${mediaType.slice(0, 100)} is not understood; send JSON` }
  }
  if (isCloudEvents(headers) && mediaType !== structuredType && mediaType !== batchType) {
    const event = ofHeaders(body, headers)
    return "reason" in event ? event : collect(itemsOf(event), () => read(event, receivedAt, settings), areJudged)
  }
  const parsed = parseJson(body)
  if (!("json" in parsed)) return parsed
  return collect(itemsOf(parsed.json), (item) => ofItem(item, receivedAt, settings), areJudged)
}

/** Default settings: `subject` is not read. */
export const normalize: Normalize = make()
