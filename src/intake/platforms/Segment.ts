import { isStorable, maxAttributes, maxElements } from "../../domain/Attributes.ts"
import { eventKinds, type EventName } from "../../domain/EventKinds.ts"
import { collect, faulty, ignored, itemsOf, jsonOf, type ReadItem } from "../Items.ts"
import { keyOf, messageKeyOf, nameOf, textOf } from "../../domain/EventKeys.ts"
import { bounceIn } from "../BounceMembers.ts"
import { type EventLevel, faultsIn } from "../Given.ts"
import { parseInstant, timeIn } from "../Instant.ts"
import { moneyIn } from "../Money.ts"
import { trackingIdOf } from "../LinkParameters.ts"
import { emailOf, find, isItem, type Item, linkOf, memberOf } from "../Reading.ts"
import type { Skipped } from "../../domain/DryRun.ts"
import { channelOf, optIn } from "../../domain/Recipient.ts"
import { type NamedMessage, namedMessage, ofGroup } from "../MessageMeaning.ts"
import { addressFault, zoneIn } from "../PersonMembers.ts"
import { flagIn } from "../Truth.ts"
import type { Normalize } from "../Normalize.ts"

/** An organization's settings for Segment. */
interface SegmentSettings {
  /** Names of track calls that are conversions even without a tracking id, lowercase: `trial started`. */
  readonly conversions?: ReadonlySet<string> | undefined
}

/** Events of Segment's e-commerce names. All other names of business events need a tracking id or a declaration. */
const businessEvents: ReadonlyMap<string, EventName> = new Map<string, EventName>([
  ["order completed", "conversion"],
  ["order refunded", "refund"],
])

/** Calls that do not concern messages. */
const otherCalls: ReadonlySet<string> = new Set(["page", "screen", "group", "alias"])

/** Types of mParticle events that may result from a message. Other types concern sessions, devices and settings. */
const mparticleCalls: ReadonlySet<string> = new Set(["custom_event", "commerce_event"])

const timeKeys = [
  "timestamp",
  "originalTimestamp",
  "original_timestamp",
  "sentAt",
  "sent_at",
  "receivedAt",
  "received_at",
  "timestamp_unixtime_ms",
]

/** Maximum length of a trait's text. Unit: characters. */
const maxTrait = 1_000

/** Values of a call. Each is read from several members, in order of precedence. */
interface Call {
  readonly id: string | undefined
  readonly time: string | undefined
  /** Levels that may contain the time, which may be invalid. */
  readonly timed: ReadonlyArray<EventLevel>
  readonly user: string | undefined
  readonly email: string | undefined
  readonly trackingId: string | undefined
  /** Properties of the event: `properties` for Segment, `custom_attributes` for mParticle. */
  readonly properties: Item
  /** JSON pointer of `properties` within the item. */
  readonly at: string
  /** Levels that may contain the flag for automated events. */
  readonly levels: ReadonlyArray<EventLevel>
  /** Levels that may contain the person's address. */
  readonly addressed: ReadonlyArray<EventLevel>
  /** Levels that may contain the user's time zone. */
  readonly contexts: ReadonlyArray<EventLevel>
}

/** Values that apply to all items of a body. */
interface Batch {
  readonly members: Item
  /** The identities of the person at the top level of an mParticle body. */
  readonly identities: Item
}

const within = (levels: ReadonlyArray<Item>, name: string): ReadonlyArray<Item> =>
  levels.flatMap((level) => {
    const value = level[name]
    return isItem(value) ? [value] : []
  })

// An invalid time is skipped, and the next member is read.
const timeText = (value: unknown): string | undefined => {
  const text = textOf(value)
  return text === undefined || parseInstant(text) === undefined ? undefined : text
}

const linkTrackingId = (properties: Item) => find([properties], ["link_url", "url"], trackingIdOf)

/**
 * Reads a call in the form of Segment and RudderStack. A batch may contain `context` and `sentAt` once for all its
 * calls.
 */
const callOf = (item: Item, { members }: Batch): Call => {
  const contexts = within([item, members], "context")
  const contextTraits = within(contexts, "traits")
  const traits = within([item], "traits")
  const properties = memberOf(item, "properties")
  const addressed = [
    ...contextTraits.map((item) => ({ item, at: "/context/traits" })),
    { item: properties, at: "/properties" },
    ...traits.map((item) => ({ item, at: "/traits" })),
  ]
  const email = find(addressed.map(({ item }) => item), ["email"], nameOf)
  const placed = contexts.map((item) => ({ item, at: "/context" }))
  const carriers = [properties, ...contexts, ...contextTraits, ...within(contexts, "campaign")]
  return {
    id: find([item], ["messageId", "message_id"], textOf),
    time: find([item, members], timeKeys, timeText),
    timed: [{ item, at: "" }],
    user: find([item], ["userId", "user_id"], nameOf) ?? email ?? find([item], ["anonymousId", "anonymous_id"], nameOf),
    email,
    trackingId: find(carriers, ["tracking_id"], nameOf) ?? linkTrackingId(properties),
    properties,
    at: "/properties",
    levels: [{ item: properties, at: "/properties" }, ...placed],
    addressed,
    contexts: placed,
  }
}

/**
 * Returns the identities at the top level of an mParticle body, which has them by lowercase name, or in a list with
 * types.
 */
const identitiesOf = (members: Item): Item => {
  const identities = members["user_identities"]
  if (isItem(identities)) return identities
  if (!Array.isArray(identities)) return {}
  return Object.fromEntries(
    identities.filter(isItem).flatMap((one) => {
      const type = nameOf(one["identity_type"])
      return type === undefined ? [] : [[type.toLowerCase(), one["identity"]]]
    }),
  )
}

const mparticleCallOf = (item: Item, { identities, members }: Batch): Call => {
  const data = memberOf(item, "data")
  const properties = memberOf(data, "custom_attributes")
  const email = find([identities, properties], ["email"], nameOf)
  return {
    id: textOf(data["source_message_id"]),
    time: find([data, members], timeKeys, timeText),
    timed: [{ item: data, at: "/data" }],
    user: find([identities], ["customerid", "customer_id"], nameOf) ?? email,
    email,
    trackingId: find([properties], ["tracking_id"], nameOf) ?? linkTrackingId(properties),
    properties,
    at: "/data/custom_attributes",
    levels: [{ item: properties, at: "/data/custom_attributes" }],
    addressed: [{ item: properties, at: "/data/custom_attributes" }],
    contexts: [],
  }
}

/** Returns the name of a custom event. A purchase has no name at mParticle and gets Segment's name. */
const mparticleName = (item: Item): string | undefined => {
  const data = memberOf(item, "data")
  const named = nameOf(data["event_name"])
  if (named !== undefined || !isItem(data["product_action"])) return named
  const action = nameOf(data["product_action"]["action"])
  return action?.toLowerCase() === "purchase" ? "Order Completed" : action
}

/** Returns the key of the message to this person, if the sending platform supplies one. */
const messageKey = ({ properties, user }: Call): string | undefined =>
  messageKeyOf("email_id", nameOf(properties["email_id"]), user) ??
    messageKeyOf("dispatch_id", nameOf(properties["dispatch_id"]), user)

/** Returns the first valid time of a call; without one, the fault of the first present time. */
const timeOf = ({ time, timed }: Call, receivedAt: number) =>
  timeIn(time === undefined ? timed : [{ item: { timestamp: time }, at: "" }], timeKeys, receivedAt)

/** The event of a call. */
type Meaning = Pick<NamedMessage, "event"> & Partial<NamedMessage>

/** Returns the event of a call, or why it has none. A declared name is a conversion, unless it is an opt-out. */
const meaningOf = (
  stated: string,
  { properties, trackingId }: Call,
  conversions: ReadonlySet<string> | undefined,
): Meaning | Skipped => {
  const name = stated.trim().toLowerCase()
  const business = businessEvents.get(name)
  if (business !== undefined) return { event: business }
  const message = namedMessage(stated, [properties])
  const isDeclared = conversions?.has(name) === true
  const isOptOut = message !== undefined && "event" in message && eventKinds[message.event].learning === "opt_out"
  if (message !== undefined && (!isDeclared || isOptOut)) return message
  return isDeclared || trackingId !== undefined ? { event: "conversion" } : ignored(
    `"${stated}" is no message event, and a conversion only with a tracking_id, or when configured as one`,
  )
}

const readTrack = (
  item: Item,
  stated: string | undefined,
  call: Call,
  { conversions, receivedAt }: SegmentSettings & { readonly receivedAt: number },
): ReadItem => {
  if (stated === undefined) return faulty("has no event name, 1 to 200 characters")
  const named = meaningOf(stated, call, conversions)
  if ("reason" in named) return named
  if (call.trackingId === undefined && call.user === undefined) {
    return faulty("names neither a message nor a person: send properties.tracking_id, or userId")
  }
  const { event, faults, ...money } = moneyIn(
    named.isEmail === false ? named.event : bounceIn(named.event, [call.properties]),
    [{ item: call.properties, at: call.at }],
    ["revenue", "value", "total"],
  )
  if (event === "refund" && (money.value === undefined || call.trackingId === undefined)) {
    return faults.length > 0
      ? faulty(faults[0]!.reason)
      : ignored("A refund counts only with its value and the tracking_id of the conversion that it takes back")
  }
  const time = timeOf(call, receivedAt)
  const machine = flagIn(call.levels)
  const ofChannel = channelOf(event, named.isEmail !== false)
  const { fault: zoneFault, zone } = zoneIn(call.contexts, ["timezone"])
  // Without a time, only the whole content distinguishes events.
  const content: Item = call.time === undefined ? { item, user: call.user } : {
    event: stated.trim().toLowerCase(),
    user: call.user,
    time: call.time,
    email_id: textOf(call.properties["email_id"]),
    link_url: textOf(call.properties["link_url"]),
  }
  return {
    ...(named.optIn === true ? optIn : { event }),
    ...ofGroup(named, [call.properties]),
    trackingId: call.trackingId,
    // In these events, `template_id` is the sending platform's template, not ours.
    templateId: undefined,
    user: call.user,
    ...emailOf({ event, trackingId: call.trackingId, messageKey: messageKey(call) }, call.email, call.user),
    key: keyOf(content, call.id),
    occurredAt: time.occurredAt,
    automated: machine.automated || named.automated === true,
    messageKey: messageKey(call),
    link: find([call.properties], ["link_url", "url"], linkOf) ?? linkOf(nameOf(call.properties["link_id"])),
    ...ofChannel,
    ...money,
    ...zone,
    ...faultsIn(
      ...faults,
      time.fault,
      machine.fault,
      addressFault({ event, ...ofChannel }, call.addressed, ["email"]),
      zoneFault,
    ),
  }
}

type Scalar = string | number | boolean

const isScalar = (value: unknown): value is Scalar =>
  typeof value === "string"
    ? value.length <= maxTrait && isStorable(value)
    : typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))

/**
 * Returns the traits that are valid as a request's `attrs`: scalars, lists of scalars, and null. Other traits, such as
 * an address, are omitted.
 */
const traitsOf = (traits: Item): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(traits).flatMap(([name, value]): ReadonlyArray<[string, unknown]> => {
      if (name.trim() === "" || name.length > maxTrait || !isStorable(name)) return []
      if (value === null || isScalar(value)) return [[name, value]]
      if (!Array.isArray(value) || value.length > maxElements) return []
      const elements = value.filter(isScalar)
      return elements.length === 0 && value.length > 0 ? [] : [[name, elements]]
    }).slice(0, maxAttributes),
  )

const readIdentify = (item: Item, call: Call, receivedAt: number): ReadItem => {
  const { email, id, time, user } = call
  if (user === undefined) return faulty("names no person: send userId, 1 to 200 characters without control characters")
  const traits = traitsOf(isItem(item["traits"]) ? item["traits"] : memberOf(memberOf(item, "context"), "traits"))
  if (Object.keys(traits).length === 0) return ignored("has no traits")
  const key = keyOf({ type: "identify", user, time, traits }, id)
  return { profile: { user, email, traits, occurredAt: timeOf(call, receivedAt).occurredAt, key } }
}

const readDelete = (item: Item, { email, id, time, user }: Call): ReadItem => {
  // An address is a user id only if the sender uses it as `userId`.
  const named = find([item], ["userId", "user_id"], nameOf) ?? (email === undefined ? user : undefined)
  if (named === undefined && email === undefined) return faulty("names no person to forget: send userId")
  return { erasure: { user: named, email, key: keyOf({ type: "delete", user: named, email, time }, id) } }
}

const read = (item: unknown, batch: Batch, options: SegmentSettings & { readonly receivedAt: number }): ReadItem => {
  if (!isItem(item)) return faulty("must be an object")
  const type = nameOf(item["type"])?.trim().toLowerCase()
  const event = nameOf(item["event"])
  const kind = nameOf(item["event_type"])?.trim().toLowerCase()
  if (type === undefined && event === undefined && (kind !== undefined || isItem(item["data"]))) {
    if (kind !== undefined && !mparticleCalls.has(kind)) {
      return ignored(`"${kind}" says nothing about a message's effect`)
    }
    return readTrack(item, mparticleName(item), mparticleCallOf(item, batch), options)
  }
  const call = callOf(item, batch)
  switch (type) {
    case "track":
      return readTrack(item, event, call, options)
    case "identify":
      return readIdentify(item, call, options.receivedAt)
    case "delete":
      return readDelete(item, call)
    case undefined:
      // A customer's own mapping in Segment may omit the type of the call.
      return event === undefined ? faulty("has no type, such as track") : readTrack(item, event, call, options)
    default:
      return otherCalls.has(type)
        ? ignored(`a ${type} call says nothing about a message's effect`)
        : faulty(`"${type}" is no type of call known here`)
  }
}

const wrapperKeys = ["batch", "events"]

/**
 * Reads Segment's webhook destinations: one call, a list of calls, or the HTTP API's `{"batch": [...]}`. Also reads
 * RudderStack's webhooks, and mParticle's `{"events": [...]}` with the person at the top level. `track` calls are
 * events, `identify` calls update a profile, `delete` calls request an erasure. A track call with an unknown name is a
 * conversion if it has a tracking id. Facts: docs/integrations/facts/segment.md.
 *
 * If a call identifies its message (`email_id`, `dispatch_id`), the message key consists of that id and the user,
 * because all recipients of a message may share that id.
 */
export const make = (settings: SegmentSettings = {}): Normalize => (body, _headers, receivedAt) => {
  const parsed = jsonOf(body, "Segment")
  if (!("json" in parsed)) return parsed
  const { json } = parsed
  const found = itemsOf(json, wrapperKeys)
  const members: Item = isItem(json) && found.list !== undefined ? json : {}
  const batch: Batch = { members, identities: identitiesOf(members) }
  return collect(found, (item) => read(item, batch, { ...settings, receivedAt }))
}

/** Default settings: a track call with an unknown name is a conversion only if it has a tracking id. */
export const normalize: Normalize = make()
