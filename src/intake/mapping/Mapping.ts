import { anyName } from "../../domain/ConversionEvents.ts"
import type { NormalizedEvent } from "../../domain/Event.ts"
import { type EventName, isSuppressing } from "../../domain/EventKinds.ts"
import { maxExplained, type Skipped } from "../../domain/DryRun.ts"
import { collectAt, faulty, ignored } from "../Items.ts"
import { matcherOf, nodesOf, parsePath, type Step, valuesOf } from "./MappingPath.ts"
import type { Candidate, Field, Mapping } from "./MappingSchema.ts"
import {
  amountText,
  givenText,
  type Read,
  readable,
  readableTime,
  scalarOf,
  type Unread,
  valuesIn,
} from "./MappingValues.ts"
import { MappingWork, maxText, ParsedTexts, TooMuchWork } from "./MappingWork.ts"
import { keyOf, messageKeyOf, nameOf } from "../../domain/EventKeys.ts"
import { optIn, optInNames } from "../../domain/Recipient.ts"
import { readCurrency } from "../../text/Currency.ts"
import { faultsIn } from "../Given.ts"
import { parameterOf } from "../LinkParameters.ts"
import { bounceIn } from "../BounceMembers.ts"
import { namedMessage } from "../MessageMeaning.ts"
import { isItem, type Item, known, lastSegment, linkOf, memberOf, noise, parseJson } from "../Reading.ts"
import { readTruth } from "../Truth.ts"
import type { Normalize } from "../Normalize.ts"
import type { DryRun, Explained, Found, NotUnderstood } from "../../domain/DryRun.ts"
import { unknownNameReason } from "../UnknownName.ts"

export { decode, Mapping } from "./MappingSchema.ts"

/** Maximum number of values that each step of a path reads in one item. */
const maxVisited = 1_000

/** Maximum number of items of one body. */
const maxItems = 20_000

/** The body and the headers, which all items of a request share. */
interface Scope {
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
  /** Values that do not depend on the item. They are read once for each request. */
  readonly shared: Map<Source, string | undefined>
  readonly work: MappingWork
  /** Parsed JSON texts of the whole body, for paths from `$body`. */
  readonly ofBody: ParsedTexts
  /** Parsed JSON texts of the current item. */
  ofItem: ParsedTexts
}

const scopeOf = (body: unknown, headers: Readonly<Record<string, string>>, work: MappingWork): Scope => ({
  body,
  headers,
  shared: new Map(),
  work,
  ofBody: new ParsedTexts(work),
  ofItem: new ParsedTexts(work),
})

interface Source {
  /** Description of the source for a dry run. */
  readonly text: string
  readonly shared: boolean
  readonly values: (item: unknown, scope: Scope) => ReadonlyArray<unknown>
}

type Lookup = (item: unknown, scope: Scope) => Found | undefined

const stepsOf = (text: string) => {
  const path = parsePath(text)
  // Decoding has checked all paths of the mapping.
  if ("fault" in path) throw new Error(`${text} ${path.fault}`)
  return path
}

/** Returns up to 1,000 values at `steps` inside the JSON texts in `values`. */
const inside = (
  values: ReadonlyArray<unknown>,
  steps: ReadonlyArray<Step>,
  texts: ParsedTexts,
): ReadonlyArray<unknown> => {
  const found: Array<unknown> = []
  for (const value of values) {
    for (const parsed of texts.parse(value)) {
      found.push(...valuesOf(parsed, steps, maxVisited - found.length, (steps) => texts.work.spend(steps)))
    }
    if (found.length >= maxVisited) break
  }
  return found
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
    values = (item, { body, work }) => valuesOf(ofBody ? body : item, steps, maxVisited, (steps) => work.spend(steps))
  }
  if (json !== undefined) {
    const { steps } = stepsOf(json)
    const outer = values
    text += ` as JSON, ${json}`
    values = (item, scope) => inside(outer(item, scope), steps, shared ? scope.ofBody : scope.ofItem)
  }
  if (query !== undefined) {
    const outer = values
    text += `, parameter ${query}`
    values = (item, scope) =>
      outer(item, scope).map((url) => {
        if (typeof url !== "string" || url.length > maxText) return undefined
        scope.work.spend(1 + Math.floor(url.length / 16))
        return parameterOf(url, query)
      })
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
    scope.work.spend(sources.length)
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

type Outcome = NormalizedEvent | Skipped

type Reader = (item: unknown, scope: Scope, receivedAt: number, found: Record<string, Found | null>) => Outcome

/**
 * Returns a function from a source's event name to the event; null for an ignored name, undefined for an unknown name.
 */
const namesOf = (field: Mapping["event"]): (name: string) => EventName | "subscribe" | null | undefined => {
  const { default: other = "known", table = {} } = typeof field === "string" ? {} : field
  const entries = new Map(Object.entries(table).map(([name, meaning]) => [name.trim().toLowerCase(), meaning]))
  return (stated) => {
    const name = stated.trim().toLowerCase()
    const meaning = entries.get(name) ??
      (other === "known"
        ? known.get(name) ?? known.get(lastSegment(name)) ??
          (optInNames.has(lastSegment(name)) ? "subscribe" : undefined)
        : other)
    return meaning === "ignore" ? null : meaning
  }
}

/**
 * Returns the event of a name of a messaging platform, like `namesOf`. A mapping has no channels, so an event of another
 * channel that would suppress an address is unknown.
 */
const messageMeaning = (stated: string): EventName | "subscribe" | null | undefined => {
  const message = namedMessage(stated, [])
  if (message === undefined) return undefined
  if ("reason" in message) return null
  if (message.optIn === true) return "subscribe"
  return !message.isEmail && isSuppressing(message.event) ? undefined : message.event
}

/** How to judge names that the mapping does not contain. */
interface NameRules {
  /** Additional names that are conversions, lowercase: a whole name, or its last segment. */
  readonly conversions?: ReadonlySet<string> | undefined
  /** Whether other names are faults. Default: false, other names are ignored. */
  readonly strict?: boolean | undefined
}

/** Returns the objects of an item that may say which kind of bounce it is. */
const levelsOf = (item: unknown): ReadonlyArray<Item> => isItem(item) ? [item, memberOf(item, "data")] : []

/** Finds members that have values, but no valid one, and adds these values to `found`. */
const unreadReader = (mapping: Mapping) => {
  const members = (["occurred_at", "automated", "value", "currency"] as const).flatMap((name) => {
    const field = mapping[name]
    return field === undefined ? [] : [[name, lookupOf(field, givenText)] as const]
  })
  return (item: unknown, scope: Scope, found: Record<string, Found | null>): Unread => {
    let unread: Unread = {}
    for (const [name, lookup] of members) {
      if (found[name] !== null) continue
      const given = lookup(item, scope)
      if (given === undefined) continue
      found[name] = given
      unread = { ...unread, [name]: given.value }
    }
    return unread
  }
}

const readerOf = (mapping: Mapping, { conversions, strict }: NameRules = {}): Reader => {
  const conditions = (mapping.where ?? []).map(({ from, op, values = [] }) => ({
    holds: matcherOf(op, values),
    lookup: lookupOf(from, scalarOf),
  }))
  const meaningOf = namesOf(mapping.event)
  const equals = typeof mapping.automated === "object" ? mapping.automated.equals : undefined
  const machines = equals && new Set(equals.map((text) => text.trim().toLowerCase()))
  const unit = typeof mapping.occurred_at === "object" ? mapping.occurred_at.unit ?? "auto" : "auto"
  const members: ReadonlyArray<readonly [name: string, field: Field | undefined, lookup: Lookup]> = (
    [
      ["event", mapping.event, nameOf],
      ["tracking_id", mapping.tracking_id, nameOf],
      ["template_id", mapping.template_id, nameOf],
      ["user", mapping.user, nameOf],
      ["event_id", mapping.event_id, nameOf],
      ["message_id", mapping.message_id, nameOf],
      ["occurred_at", mapping.occurred_at, readableTime(unit)],
      ["automated", mapping.automated, machines === undefined ? readable(readTruth) : scalarOf],
      ["link", mapping.link, linkOf],
      ["value", mapping.value, amountText],
      ["currency", mapping.currency, readable(readCurrency)],
      ["time_zone", mapping.time_zone, nameOf],
    ] as const
  ).map(([name, field, read]) => [name, field, lookupOf(field, read)])

  const unreadOf = unreadReader(mapping)

  return (item, scope, receivedAt, found) => {
    for (const [i, { holds, lookup }] of conditions.entries()) {
      const value = lookup(item, scope)
      if (!holds(value?.value, (haystack, needle) => scope.work.search(haystack, needle))) {
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
    const name = stated.trim().toLowerCase()
    const isDeclared = conversions?.has(name) === true || conversions?.has(lastSegment(name)) === true
    const meaning = meaningOf(stated)
    const event = isDeclared && (meaning === undefined || meaning === "subscribe")
      ? "conversion"
      : meaning === undefined
      ? messageMeaning(stated)
      : meaning
    if (event === null) return ignored(`"${stated}" is ignored by the mapping`)
    if (event === undefined && strict === true && !noise.has(lastSegment(name)) && conversions?.has(anyName) !== true) {
      return faulty(unknownNameReason(stated, conversions ?? new Set()))
    }
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
    const isOptIn = event === "subscribe"
    const { event: kind, faults, ...values } = valuesIn(
      isOptIn ? optIn.event : bounceIn(event, levelsOf(item)),
      valueOf,
      unreadOf(item, scope, found),
      machines,
      receivedAt,
    )
    if (kind === "refund" && (values.value === undefined || (trackingId ?? messageKey) === undefined)) {
      return faulty(faults[0]?.reason ?? "is a refund: it needs the tracking_id of its conversion, and a value")
    }
    return {
      ...(isOptIn ? optIn : { event: kind }),
      trackingId,
      templateId: valueOf("template_id"),
      user,
      key: keyOf(isItem(item) ? item : { item }, valueOf("event_id")),
      messageKey,
      link: valueOf("link"),
      ...values,
      ...(timeZone === undefined ? {} : { timeZone }),
      // The pointers are unknown, because the mapping may have read the values from anywhere.
      ...faultsIn(...faults.map(({ reason }) => ({ member: "", reason }))),
    }
  }
}

interface Place {
  readonly value: unknown
  readonly pointer: string
}

/** Returns the elements of arrays, and other values themselves. Stops after one item more than allowed. */
const spread = (places: ReadonlyArray<Place>): ReadonlyArray<Place> => {
  const items: Array<Place> = []
  for (const place of places) {
    if (!Array.isArray(place.value)) items.push(place)
    else {
      for (let i = 0; i < place.value.length && items.length <= maxItems; i++) {
        items.push({ value: place.value[i] as unknown, pointer: `${place.pointer}/${i}` })
      }
    }
    if (items.length > maxItems) break
  }
  return items
}

/** Returns the items of a body; undefined if the path matches nothing, not even an empty list. */
const itemsOf = ({ items }: Mapping): (body: unknown, texts: ParsedTexts) => ReadonlyArray<Place> | undefined => {
  if (items === undefined) return (body) => spread([{ value: body, pointer: "" }])
  const { json, path } = typeof items === "string" ? { path: items } : items
  const steps = stepsOf(path).steps
  const inner = json === undefined ? undefined : stepsOf(json).steps
  // Finds the list before its elements, because an empty list differs from a missing list.
  const find = (from: Place, steps: ReadonlyArray<Step>, work: MappingWork): ReadonlyArray<Place> | undefined => {
    const every = steps.at(-1) === null
    const nodes = nodesOf(from.value, every ? steps.slice(0, -1) : steps, maxItems + 1, (steps) => work.spend(steps))
      .filter(({ value }) => !every || Array.isArray(value))
    return nodes.length === 0
      ? undefined
      : spread(nodes.map(({ pointer, value }) => ({ value, pointer: from.pointer + pointer })))
  }
  return (body, texts) => {
    const outer = find({ value: body, pointer: "" }, steps, texts.work)
    if (inner === undefined || outer === undefined) return outer
    const found: Array<Place> = []
    for (const { pointer, value } of outer) {
      for (const parsed of texts.parse(value)) found.push(...find({ value: parsed, pointer }, inner, texts.work) ?? [])
      if (found.length > maxItems) break
    }
    return found.length === 0 && outer.length > 0 ? undefined : found
  }
}

/** The result if a mapping exceeded its limit of work for a body. */
export const tooMuchWork: NotUnderstood = {
  reason:
    "The mapping takes too much work for this body: give it fewer alternates and shorter lists to look through, " +
    "or send fewer items in one body",
}

type Opened = { readonly items: ReadonlyArray<Place>; readonly scope: Scope } | NotUnderstood

const openerOf = (mapping: Mapping) => {
  const find = itemsOf(mapping)
  const { items } = mapping
  const path = typeof items === "object" ? items.path : items
  return (bytes: Uint8Array, headers: Readonly<Record<string, string>>, work: MappingWork): Opened => {
    const parsed = parseJson(bytes)
    if (!("json" in parsed)) return parsed
    const scope = scopeOf(parsed.json, headers, work)
    const found = find(parsed.json, scope.ofItem)
    if (found === undefined) {
      return { reason: `The mapping looks for items at ${path}, and nothing is there` }
    }
    return found.length > maxItems
      ? { reason: `The mapping finds more than ${maxItems} items; at most ${maxItems} are read of one body` }
      : { items: found, scope }
  }
}

/** Runs `read`, or returns `tooMuchWork` if the limit of work is exceeded. */
const bounded = <A>(read: () => A): A | NotUnderstood => {
  try {
    return read()
  } catch (error) {
    if (error instanceof TooMuchWork) return tooMuchWork
    throw error
  }
}

/**
 * Reads bodies by a mapping. Values at `$body`, headers and literals are read once for each body, other values once for
 * each item. A body is not understood if its item path matches nothing (an empty list has no items and is understood),
 * if it has more than 20,000 items, or if the mapping needs more than `maxSteps`. Default: 10 million (see
 * `MappingWork`).
 */
export const compile = (mapping: Mapping, rules: NameRules & { readonly maxSteps?: number } = {}): Normalize => {
  const open = openerOf(mapping)
  const read = readerOf(mapping, rules)
  const areJudged = rules.strict === true
  return (bytes, headers, receivedAt) =>
    bounded(() => {
      const opened = open(bytes, headers, new MappingWork(rules.maxSteps))
      if ("reason" in opened) return opened
      const { items, scope } = opened
      const readOne = ({ value }: Place) => {
        scope.ofItem = new ParsedTexts(scope.work)
        return read(value, scope, receivedAt, {})
      }
      return collectAt(items, ({ pointer }) => pointer, readOne, areJudged)
    })
}

/** Maximum length of a value in a dry run. Unit: characters. */
const shownText = 500

const cut = (found: Readonly<Record<string, Found | null>>): Explained["found"] =>
  Object.fromEntries(
    Object.entries(found).map(([name, one]) => [
      name,
      one === null || one.value.length <= shownText
        ? one
        : { from: one.from, value: `${one.value.slice(0, shownText).toWellFormed()}…` },
    ]),
  )

/**
 * Explains the first 100 items of a sample body: the resulting event with the source of each value (its first 500
 * characters), or why there is no event. The sample is not stored.
 */
export const dryRun = (
  mapping: Mapping,
  body: Uint8Array,
  headers: Readonly<Record<string, string>>,
  receivedAt: number,
): DryRun =>
  bounded(() => {
    const opened = openerOf(mapping)(body, headers, new MappingWork())
    if ("reason" in opened) return opened
    const { items, scope } = opened
    const read = readerOf(mapping)
    return {
      items: items.length,
      explained: items.slice(0, maxExplained).map(({ pointer, value }) => {
        scope.ofItem = new ParsedTexts(scope.work)
        const all: Record<string, Found | null> = {}
        const outcome = read(value, scope, receivedAt, all)
        const found = cut(all)
        return "event" in outcome ? { pointer, event: outcome, found } : { pointer, skipped: outcome, found }
      }),
    }
  })
