import type { EventName, NormalizedEvent } from "../domain/Event.ts"
import * as Json from "../domain/Json.ts"
import { collectAt, faulty, ignored, type Skipped } from "./Items.ts"
import { matches, nodesOf, parsePath } from "./MappingPath.ts"
import type { Candidate, Field, Mapping, TimeUnit } from "./MappingSchema.ts"
import {
  instantOf,
  isItem,
  keyOf,
  known,
  lastSegment,
  linkOf,
  messageKeyOf,
  nameOf,
  parameterOf,
  parseJson,
  textOf,
} from "./Reading.ts"
import type { Normalize, NotUnderstood } from "./Sources.ts"

export { decode, Mapping } from "./MappingSchema.ts"

/** Most characters of a text inside a body that is read as JSON, compared, or searched for a parameter. */
const maxText = 100_000

/** Most elements that one path of a value looks at. Unit: values, for each item. */
const maxVisited = 1_000

/** What a body and its headers are to the items of one request. */
interface Scope {
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
  /** What does not depend on the item is looked up once a request. */
  readonly shared: Map<Source, string | undefined>
}

interface Source {
  /** In words, for a dry run. */
  readonly text: string
  readonly shared: boolean
  readonly values: (item: unknown, scope: Scope) => ReadonlyArray<unknown>
}

type Read = (value: unknown) => string | undefined

/** A value and where it was found. */
export interface Found {
  readonly from: string
  readonly value: string
}

type Lookup = (item: unknown, scope: Scope) => Found | undefined

/** Booleans too. */
const scalarOf: Read = (value) =>
  typeof value === "boolean"
    ? String(value)
    : typeof value === "string" && value.length > maxText
    ? undefined
    : textOf(value)

const parsedText = (value: unknown): ReadonlyArray<unknown> => {
  if (typeof value === "object" && value !== null) return [value]
  if (typeof value !== "string" || value.length > maxText) return []
  try {
    return [Json.parse(value)]
  } catch {
    return []
  }
}

const stepsOf = (text: string) => {
  const path = parsePath(text)
  // A mapping is decoded before it is compiled.
  if ("fault" in path) throw new Error(`${text} ${path.fault}`)
  return path
}

const sourceOf = (candidate: string | Candidate): Source => {
  const { header, json, literal, path, query } = typeof candidate === "string" ? { path: candidate } : candidate
  if (literal !== undefined) return { text: JSON.stringify(literal), shared: true, values: () => [literal] }
  let text: string
  let shared = true
  let values: Source["values"]
  if (header !== undefined) {
    const name = header.toLowerCase()
    text = `header ${name}`
    values = (_, { headers }) => Object.hasOwn(headers, name) ? [headers[name]] : []
  } else {
    const { ofBody, steps } = stepsOf(path!)
    text = path!
    shared = ofBody
    values = (item, { body }) => nodesOf(ofBody ? body : item, steps, maxVisited).map(({ value }) => value)
  }
  if (json !== undefined) {
    const { steps } = stepsOf(json)
    const outer = values
    text += ` as JSON, ${json}`
    values = (item, scope) =>
      outer(item, scope).flatMap(parsedText).flatMap((parsed) =>
        nodesOf(parsed, steps, maxVisited).map(({ value }) => value)
      ).slice(0, maxVisited)
  }
  if (query !== undefined) {
    const outer = values
    text += `, parameter ${query}`
    values = (item, scope) =>
      outer(item, scope).map((url) =>
        typeof url === "string" && url.length <= maxText ? parameterOf(url, query) : undefined
      )
  }
  return { text, shared, values }
}

const candidatesOf = (field: Field | ReadonlyArray<string | Candidate>): ReadonlyArray<string | Candidate> =>
  typeof field === "string" ? [field] : "from" in field ? field.from : field

const lookupOf = (field: Field | ReadonlyArray<string | Candidate> | undefined, read: Read): Lookup => {
  if (field === undefined) return () => undefined
  const sources = candidatesOf(field).map(sourceOf)
  const first = (source: Source, item: unknown, scope: Scope): string | undefined => {
    for (const value of source.values(item, scope)) {
      const text = read(value)
      if (text !== undefined) return text
    }
    return undefined
  }
  return (item, scope) => {
    for (const source of sources) {
      let value: string | undefined
      if (!source.shared) value = first(source, item, scope)
      else if (scope.shared.has(source)) value = scope.shared.get(source)
      else scope.shared.set(source, value = first(source, item, scope))
      if (value !== undefined) return { from: source.text, value }
    }
    return undefined
  }
}

const millisOf: { readonly [unit in TimeUnit]?: (value: number) => number } = {
  seconds: (value) => Math.round(value * 1_000),
  milliseconds: Math.round,
  microseconds: (value) => Math.floor(value / 1_000),
}

/** The text of a time that `instantOf` reads: ISO 8601 is the one form that says its unit. */
const timeText = (unit: TimeUnit): Read => (value) => {
  const text = scalarOf(value)?.trim()
  if (text === undefined || unit === "auto") return text
  const isNumber = /^\d{1,20}(?:\.\d{1,20})?$/.test(text)
  const millis = millisOf[unit]
  if (millis === undefined) return isNumber ? undefined : text
  const instant = isNumber ? millis(Number(text)) : Number.NaN
  // Past 8.64e15 a Date has no text.
  return instant <= 8.64e15 ? new Date(instant).toISOString() : undefined
}

type Outcome = NormalizedEvent | Skipped

/** What became of an item, and where each of its values was found; null where it was looked for in vain. */
export interface Explained {
  /** JSON pointer of the item. */
  readonly pointer: string
  readonly event?: NormalizedEvent
  readonly skipped?: Skipped
  readonly found: { readonly [member: string]: Found | null }
}

type Reader = (item: unknown, scope: Scope, receivedAt: number, found: Record<string, Found | null>) => Outcome

/** What the name of an event stands for; null for a name to ignore, undefined for one that is not known. */
const namesOf = (field: Mapping["event"]): (name: string) => EventName | null | undefined => {
  const { default: other = "known", table = {} } = typeof field === "string" ? {} : field
  const entries = new Map(Object.entries(table).map(([name, meaning]) => [name.trim().toLowerCase(), meaning]))
  return (stated) => {
    const name = stated.trim().toLowerCase()
    const meaning = entries.get(name) ?? (other === "known" ? known.get(name) ?? known.get(lastSegment(name)) : other)
    return meaning === "ignore" ? null : meaning
  }
}

const readerOf = (mapping: Mapping): Reader => {
  const conditions = (mapping.where ?? []).map(({ from, op, values = [] }) => ({
    holds: (text: string | undefined) => matches(op, text, values),
    lookup: lookupOf(from, scalarOf),
  }))
  const meaningOf = namesOf(mapping.event)
  const machine = typeof mapping.automated === "object" ? mapping.automated.equals ?? ["true"] : ["true"]
  const machines = new Set(machine.map((text) => text.trim().toLowerCase()))
  const unit = typeof mapping.occurred_at === "object" ? mapping.occurred_at.unit ?? "auto" : "auto"
  const members: ReadonlyArray<readonly [name: string, field: Field | undefined, lookup: Lookup]> = (
    [
      ["event", mapping.event, nameOf],
      ["tracking_id", mapping.tracking_id, nameOf],
      ["template_id", mapping.template_id, nameOf],
      ["user", mapping.user, nameOf],
      ["event_id", mapping.event_id, nameOf],
      ["message_id", mapping.message_id, nameOf],
      ["occurred_at", mapping.occurred_at, timeText(unit)],
      ["automated", mapping.automated, scalarOf],
      ["link", mapping.link, linkOf],
      ["time_zone", mapping.time_zone, nameOf],
    ] as const
  ).map(([name, field, read]) => [name, field, lookupOf(field, read)])

  return (item, scope, receivedAt, found) => {
    for (const [i, { holds, lookup }] of conditions.entries()) {
      const value = lookup(item, scope)
      if (!holds(value?.value)) {
        found[`where/${i}`] = value ?? null
        return ignored(`is left out by where/${i}`)
      }
    }
    let missing: string | undefined
    for (const [name, field, lookup] of members) {
      if (field === undefined) continue
      const value = lookup(item, scope)
      found[name] = value ?? null
      if (value === undefined && typeof field === "object" && field.required === true) missing ??= name
    }
    const valueOf = (name: string): string | undefined => found[name]?.value
    const stated = valueOf("event")
    if (stated === undefined) return faulty("has no event name where the mapping looks for it")
    const event = meaningOf(stated)
    if (event === null) return ignored(`"${stated}" is ignored by the mapping`)
    if (event === undefined) {
      return ignored(`"${stated}" is no event of the mapping, nor one of the default shape`)
    }
    if (missing !== undefined) return faulty(`has no ${missing}, which the mapping requires`)
    const trackingId = valueOf("tracking_id")
    const user = valueOf("user")
    const messageKey = messageKeyOf(valueOf("message_id"))
    const timeZone = valueOf("time_zone")
    if (trackingId === undefined && user === undefined && messageKey === undefined) {
      return faulty("names no message: no tracking_id, user or message_id was found")
    }
    return {
      event,
      trackingId,
      templateId: valueOf("template_id"),
      user,
      key: keyOf(isItem(item) ? item : { item }, valueOf("event_id")),
      messageKey,
      occurredAt: instantOf(valueOf("occurred_at"), receivedAt),
      automated: machines.has(valueOf("automated")?.trim().toLowerCase() ?? ""),
      link: valueOf("link"),
      ...(timeZone === undefined ? {} : { timeZone }),
    }
  }
}

interface Place {
  readonly value: unknown
  readonly pointer: string
}

/** The items of a body, or undefined where the path finds nothing, not even an empty list. */
const itemsOf = ({ items }: Mapping): (body: unknown) => ReadonlyArray<Place> | undefined => {
  const spread = ({ pointer, value }: Place): ReadonlyArray<Place> =>
    Array.isArray(value)
      ? value.map((element, i) => ({ value: element, pointer: `${pointer}/${i}` }))
      : [{ value, pointer }]
  if (items === undefined) return (body) => spread({ value: body, pointer: "" })
  const { json, path } = typeof items === "string" ? { path: items } : items
  const steps = stepsOf(path).steps
  const inner = json === undefined ? undefined : stepsOf(json).steps
  // A list is found before its elements are taken, so that an empty one is told from one that is not there.
  const find = (from: Place, steps: ReadonlyArray<string | number | null>): ReadonlyArray<Place> | undefined => {
    const every = steps.at(-1) === null
    const nodes = nodesOf(from.value, every ? steps.slice(0, -1) : steps, Infinity)
      .filter(({ value }) => !every || Array.isArray(value))
    return nodes.length === 0
      ? undefined
      : nodes.flatMap(({ pointer, value }) => spread({ value, pointer: from.pointer + pointer }))
  }
  return (body) => {
    const outer = find({ value: body, pointer: "" }, steps)
    if (inner === undefined || outer === undefined) return outer
    const found = outer.flatMap(({ pointer, value }) =>
      parsedText(value).flatMap((parsed) => find({ value: parsed, pointer }, inner) ?? [])
    )
    return found.length === 0 && outer.length > 0 ? undefined : found
  }
}

type Items = { readonly items: ReadonlyArray<Place>; readonly body: unknown } | NotUnderstood

const openerOf = (mapping: Mapping) => {
  const find = itemsOf(mapping)
  const { items } = mapping
  const path = typeof items === "object" ? items.path : items
  return (bytes: Uint8Array): Items => {
    const parsed = parseJson(bytes)
    if (!("json" in parsed)) return parsed
    const found = find(parsed.json)
    return found === undefined
      ? { reason: `The mapping looks for items at ${path}, and nothing is there` }
      : { items: found, body: parsed.json }
  }
}

/**
 * What reads bodies by a mapping. `$body`, headers and literals are looked up once a body, all else once an item. A body
 * where the path of the items finds nothing is not understood; an empty list there has no items.
 */
export const compile = (mapping: Mapping): Normalize => {
  const open = openerOf(mapping)
  const read = readerOf(mapping)
  return (bytes, headers, receivedAt) => {
    const opened = open(bytes)
    if ("reason" in opened) return opened
    const scope: Scope = { body: opened.body, headers, shared: new Map() }
    return collectAt(opened.items, ({ pointer }) => pointer, ({ value }) => read(value, scope, receivedAt, {}))
  }
}

/** Most items that a dry run explains. */
export const maxExplained = 100

/** What a mapping makes of a sample: the first 100 items, of `items` in all. */
export type DryRun = NotUnderstood | { readonly items: number; readonly explained: ReadonlyArray<Explained> }

/** Explains what came out of each item of a sample body, where its values were found, and why not. Nothing is kept. */
export const dryRun = (
  mapping: Mapping,
  body: Uint8Array,
  headers: Readonly<Record<string, string>>,
  receivedAt: number,
): DryRun => {
  const opened = openerOf(mapping)(body)
  if ("reason" in opened) return opened
  const read = readerOf(mapping)
  const scope: Scope = { body: opened.body, headers, shared: new Map() }
  return {
    items: opened.items.length,
    explained: opened.items.slice(0, maxExplained).map(({ pointer, value }) => {
      const found: Record<string, Found | null> = {}
      const outcome = read(value, scope, receivedAt, found)
      return "event" in outcome ? { pointer, event: outcome, found } : { pointer, skipped: outcome, found }
    }),
  }
}
