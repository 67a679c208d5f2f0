import { Effect, Metric } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { dayMillis, hourMillis } from "../../bandit/Window.ts"
import { noMessage } from "../decisions/Decision.ts"
import type { NormalizedEvent } from "../../domain/Event.ts"
import type { OnSuppressed } from "../../suppressions/OnSuppressed.ts"
import { isSandbox } from "../../domain/Sandbox.ts"
import { deliverSource } from "../../domain/Source.ts"
import { SeededMap } from "../../json/SeededMap.ts"
import { append, LedgerSum, timedOutcomes } from "../Ledger.ts"
import { applyProjections, type Projections, type ReportedDecision } from "../Projection.ts"
import { recordset } from "../../store/Recordset.ts"
import { attribute, resolveLinks, windowDays } from "./Attribution.ts"
import { isAttributable, isTellable, waitsForLink } from "./Claim.ts"
import { contributionOf, inOrder, readEvents, type StoredEvent } from "./DecisionEvents.ts"
import type { DecisionRef } from "./DecisionRef.ts"
import { bearsOnSuppression, suppressByEvents } from "./EventSuppressions.ts"
import { lockPeople } from "./EventLock.ts"
import { findKnown } from "./KnownEvents.ts"
import { type Contribution, difference, ignoredReason } from "./Outcomes.ts"
import { repeatsOf } from "./Repeats.ts"
import { rulesFor } from "./RevenueRules.ts"

// Stores events and adds their counts to the ledger. All functions require a transaction that holds the locks of the
// events (see `lockArrivals`), and functions that count events also the locks of their decisions (see `lockPeople`).

/** An event to store, or a stored event without a decision. */
export interface IncomingEvent extends NormalizedEvent {
  readonly org: string
  readonly source: string
  readonly inboxId: number
  /** Unit: Unix milliseconds. */
  readonly receivedAt: number
  /** See `Claim.hasWaited`. */
  readonly hasWaited?: boolean
}

/** How long an event with a platform message id waits for a link before it is attributed by its user. Unit: hours. */
export const linkHours = 1

/**
 * Counts events by outcome: `attributed`; `waiting`; `person` (about a person and no message); `ignored` (outside the
 * time that counts for its decision); `duplicate`. An event that waited is counted again when it is attributed.
 */
const eventsOf = (outcome: string) =>
  Metric.counter("parlance_events_total", { incremental: true, attributes: { outcome } })

/** Counters of events, by outcome. */
export const outcomeCounters = {
  attributed: eventsOf("attributed"),
  waiting: eventsOf("waiting"),
  person: eventsOf("person"),
  ignored: eventsOf("ignored"),
  duplicate: eventsOf("duplicate"),
}

/**
 * Returns when to search again for the decision of an event: after as long as it has waited, and after the first ten
 * minutes after three times as long. Undefined after 7 days. This makes about twenty searches. An event that waits for
 * a link is searched for once, at the end of that wait, because the link itself makes it due.
 */
export const retryAt = (event: IncomingEvent, now: number): number | undefined => {
  if (isUnsettled(event, now)) return event.receivedAt + settleMillis
  const age = Math.max(500, now - event.receivedAt)
  if (age > windowDays * 24 * hourMillis) return undefined
  if (waitsForLink(event)) {
    const hours = age < linkHours * hourMillis && isTellable(event) ? linkHours : windowDays * 24 + 1
    return event.receivedAt + hours * hourMillis
  }
  return now + (age < hourMillis / 6 ? age : 3 * age)
}

/**
 * How long a click on a link of this service waits before it counts. Scanners make their other requests in this time, so
 * the model learns only from the final kind of the click: see `machineClicks`. Unit: milliseconds.
 */
const settleMillis = 3_000

/** Whether a click waits for other requests that may show it to be a machine's. */
const isUnsettled = ({ automated, event, receivedAt, source }: IncomingEvent, now: number): boolean =>
  source === deliverSource && event === "click" && !automated && now < receivedAt + settleMillis

/** Waiting events were received at most this long ago. Unit: days. */
const waitedDays = 31

const eventKey = (org: string, source: string, key: string) => `${org}\0${source}\0${key}`

/** Returns the events of `incoming` that are not stored yet, each once. */
const unknown = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, incoming: ReadonlyArray<IncomingEvent>) {
  const first = new SeededMap<string, IncomingEvent>()
  for (const event of incoming) {
    const key = eventKey(event.org, event.source, event.key)
    if (!first.has(key)) first.set(key, event)
  }
  const known = yield* findKnown(sql, [...first.values()])
  for (const row of known) first.delete(eventKey(row.orgSlug, row.source, row.eventKey))
  return [...first.values()]
})

/** Stores which tracking id belongs to a platform's message id, and makes events that wait for that link due. */
const link = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  events: ReadonlyArray<IncomingEvent>,
  now: number,
) {
  const links = events.flatMap(({ messageKey, org, source, trackingId }) =>
    messageKey === undefined || trackingId === undefined
      ? []
      : [{ org_slug: org, source, message_key: messageKey, tracking_id: trackingId }]
  )
  if (links.length === 0) return
  yield* sql`
    WITH given AS MATERIALIZED (
      SELECT DISTINCT ON (r.org_slug, r.source, r.message_key) r.*
      FROM ${recordset(links, { org_slug: "text", source: "text", message_key: "text", tracking_id: "text" })}
    ), made AS (
      INSERT INTO attribution_links (org_slug, source, message_key, tracking_id, created_at)
      SELECT g.org_slug, g.source, g.message_key, g.tracking_id, ${new Date(now)}::timestamptz FROM given g
      ON CONFLICT DO NOTHING
      RETURNING org_slug, source, message_key
    )
    UPDATE events e SET retry_at = ${new Date(now)} FROM made m
    WHERE e.org_slug = m.org_slug AND e.source = m.source AND e.message_key = m.message_key
      AND e.status = 'waiting' AND e.received_at >= ${new Date(now - waitedDays * dayMillis)}`
})

/** An event, and the decision that it is attributed to, if any. */
interface Placed {
  readonly event: IncomingEvent
  readonly decision: DecisionRef | undefined
}

/** Returns the placed events that may change the suppression list, each once, with the users of its decisions. */
const reportedOf = (placed: ReadonlyArray<Placed>) => {
  const users = new Map<IncomingEvent, Array<string>>()
  for (const { decision, event } of placed) {
    if (!bearsOnSuppression(event)) continue
    let known = users.get(event)
    if (known === undefined) users.set(event, known = [])
    if (decision?.user !== undefined) known.push(decision.user)
  }
  return Array.from(users, ([event, recipients]) => ({ ...event, recipients }))
}

/**
 * Suppresses addresses because of newly stored events. An event without an address suppresses later, when it is
 * attributed.
 */
const suppressByPlaced = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, placed: ReadonlyArray<Placed>) {
  const left = yield* suppressByEvents(sql, reportedOf(placed))
  if (left.length === 0) return
  const rows = left.map(({ key, org, receivedAt, source }) => ({
    org_slug: org,
    source,
    event_key: key,
    received_at: receivedAt,
  }))
  yield* sql`
    UPDATE events e SET suppresses = true
    FROM ${recordset(rows, { org_slug: "text", source: "text", event_key: "text", received_at: "float8" })}
    WHERE e.org_slug = r.org_slug AND e.source = r.source AND e.event_key = r.event_key AND e.template_id = ''
      AND e.status = 'waiting' AND e.received_at >= to_timestamp(r.received_at / 1000.0)
      AND e.received_at < to_timestamp((r.received_at + 1) / 1000.0)`
})

/**
 * Returns the status of an event for its decision: `ignored` if its time is outside the time that counts for the
 * decision.
 */
export const placedStatus = (decision: DecisionRef, event: IncomingEvent): "attributed" | "ignored" =>
  ignoredReason(event, [decision.decidedAt]) === undefined ? "attributed" : "ignored"

/** Returns the status of an event to store. An event that can belong to no decision is stored for its person only. */
const statusOf = ({ decision, event }: Placed): "attributed" | "ignored" | "waiting" | "person" =>
  decision !== undefined ? placedStatus(decision, event) : isAttributable(event) ? "waiting" : "person"

const eventColumns = {
  place: "int",
  org_slug: "text",
  source: "text",
  event_key: "text",
  template_id: "text",
  tracking_id: "text",
  named_template_id: "text",
  user_id: "text",
  email: "text",
  message_key: "text",
  inbox_id: "bigint",
  event: "text",
  occurred_at: "float8",
  received_at: "float8",
  automated: "boolean",
  link: "text",
  value: "float8",
  currency: "text",
  opt_out_group: "text",
  status: "text",
  retry_at: "float8",
} as const

/**
 * Inserts events: once for each decision, or as waiting, or as a person's. Returns the events that were not in the
 * partition yet. Other events were received before with a different event time, which `unknown` does not find because
 * it searches by that time.
 */
export const insertEvents = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<Placed>,
  now: number,
): Effect.fn.Return<ReadonlyArray<Placed>, SqlError> {
  const values = rows.map(({ decision, event }, place) => ({
    place,
    status: statusOf({ decision, event }),
    org_slug: event.org,
    source: event.source,
    event_key: event.key,
    template_id: decision?.templateId ?? "",
    tracking_id: decision?.trackingId ?? event.trackingId,
    named_template_id: event.templateId,
    user_id: event.user,
    email: event.email,
    message_key: event.messageKey,
    inbox_id: event.inboxId,
    event: event.event,
    occurred_at: event.occurredAt,
    received_at: event.receivedAt,
    automated: event.automated,
    link: event.link,
    value: event.value,
    currency: event.currency,
    opt_out_group: event.group,
    retry_at: decision === undefined && isAttributable(event) ? retryAt(event, now) ?? now : undefined,
  }))
  const missing = yield* sql<{ readonly place: number }>`
    WITH given AS MATERIALIZED (
      SELECT * FROM ${recordset(values, eventColumns)}
    ), made AS (
      INSERT INTO events (org_slug, source, event_key, template_id, tracking_id, named_template_id, user_id, email,
        message_key, inbox_id, event, occurred_at, received_at, automated, link, value, currency, opt_out_group, status,
        retry_at)
      SELECT g.org_slug, g.source, g.event_key, g.template_id, g.tracking_id, g.named_template_id, g.user_id, g.email,
        g.message_key, g.inbox_id, g.event, to_timestamp(g.occurred_at / 1000.0), to_timestamp(g.received_at / 1000.0),
        g.automated, g.link, g.value, g.currency, g.opt_out_group, g.status,
        to_timestamp(g.retry_at / 1000.0)
      FROM given g
      ON CONFLICT DO NOTHING
      RETURNING org_slug, source, event_key, template_id
    )
    SELECT g.place FROM given g WHERE (g.org_slug, g.source, g.event_key, g.template_id) NOT IN (
      SELECT m.org_slug, m.source, m.event_key, m.template_id FROM made m)`
  if (missing.length === 0) return rows
  const places = new Set(missing.map(({ place }) => place))
  return rows.filter((_, place) => !places.has(place))
})

const decisionKey = ({ org, templateId, trackingId }: DecisionRef) => `${org}\0${trackingId}\0${templateId}`

/** Returns the ledger position at which a decision is counted. */
const placeOf = ({ context, copyId, decidedAt, org, templateId }: DecisionRef) => ({
  org,
  templateId,
  copyId,
  context,
  hour: Math.floor(decidedAt / hourMillis) * hourMillis,
})

/** Adds the difference between two contributions of a decision. */
const addChange = (sum: LedgerSum, decision: DecisionRef, before: Contribution, after: Contribution): void => {
  const at = placeOf(decision)
  const delays: Record<string, number> = {}
  for (const outcome of timedOutcomes) {
    const from = before.delays[outcome]
    const to = after.delays[outcome]
    if (from === to) continue
    if (from !== undefined) delays[`${outcome}:${from}`] = -1
    if (to !== undefined) delays[`${outcome}:${to}`] = 1
  }
  sum.add({
    ...at,
    track: decision.forced ? "forced" : "learned",
    counts: difference(before.learned, after.learned) ?? {},
    // The model learns neither rates of variants nor delays of users from forced decisions, and no delays from people
    // who got no message.
    delays: decision.forced || decision.copyId === noMessage ? undefined : delays,
  })
  const automated = difference(before.automated, after.automated)
  if (automated !== undefined) sum.add({ ...at, track: "automated", counts: automated, delays: undefined })
}

/**
 * Whether events of a decision are counted. Sandboxes count no events, and nor do users in the holdout without a
 * message: `Settling` counts their events for the holdout.
 */
const isCounted = ({ copyId, forced, org }: DecisionRef) => (copyId !== noMessage || !forced) && !isSandbox(org)

/** The events of some decisions, by `decisionKey`. */
type EventsBefore = Pick<SeededMap<string, ReadonlyArray<StoredEvent>>, "get">

/** Reads the events of decisions before additional events are stored. */
export const readEarlier = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  decisions: ReadonlyArray<DecisionRef>,
): Effect.fn.Return<EventsBefore, SqlError> {
  const distinct = new SeededMap<string, DecisionRef>()
  for (const decision of decisions) if (isCounted(decision)) distinct.set(decisionKey(decision), decision)
  const events = yield* readEvents(sql, [...distinct.values()])
  return new SeededMap([...distinct.keys()].map((key, place) => [key, events[place]!]))
})

const storedEventOf = (
  { automated, currency, event, key, link, occurredAt, source, value }: IncomingEvent,
): StoredEvent => ({
  source,
  key,
  event,
  automated,
  occurredAt,
  link,
  ...(value === undefined ? {} : { value, ...(currency === undefined ? {} : { currency }) }),
})

/**
 * Appends to the ledger the changes caused by newly stored events, and calls the projections. `earlier` must have been
 * read before they were stored, under the lock that is still held.
 */
export const countEvents = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  fresh: ReadonlyArray<{ readonly decision: DecisionRef; readonly event: IncomingEvent }>,
  earlier: EventsBefore,
): Effect.fn.Return<void, SqlError, Projections> {
  if (fresh.length === 0) return
  const added = new SeededMap<string, { readonly decision: DecisionRef; readonly events: Array<StoredEvent> }>()
  for (const { decision, event } of fresh) {
    if (!isCounted(decision)) continue
    const id = decisionKey(decision)
    let entry = added.get(id)
    if (entry === undefined) added.set(id, entry = { decision, events: [] })
    entry.events.push(storedEventOf(event))
  }
  const reported = Array.from(added, ([id, { decision, events }]): ReportedDecision => {
    const before = earlier.get(id) ?? []
    return { decision, before, events: inOrder([...before, ...events]) }
  })
  const sum = new LedgerSum()
  const rules = yield* rulesFor(
    sql,
    reported.flatMap(({ decision, events }) => events.some(({ value }) => value !== undefined) ? [decision] : []),
  )
  const changed = reported.map(({ before, decision, events }) => {
    const rule = rules.of(decision)
    const contributions = [contributionOf(decision, before, rule), contributionOf(decision, events, rule)] as const
    addChange(sum, decision, ...contributions)
    return { decision, before: contributions[0].learned, after: contributions[1].learned }
  })
  for (const { counts, decision } of yield* repeatsOf(sql, changed)) {
    sum.add({ ...placeOf(decision), track: "learned", counts, delays: undefined })
  }
  yield* append(sql, sum)
  yield* applyProjections(sql, { decisions: reported, zones: [] })
})

/** A newly stored event, and the templates whose tallies it changes. */
interface NewEvent {
  readonly event: IncomingEvent
  readonly templates: ReadonlyArray<string>
  /** Why the event's time does not count for its decisions; undefined if it counts or has no decision. */
  readonly ignored: string | undefined
}

/**
 * Maximum number of decisions that events are attributed to in one transaction, and of locks for them. A single event
 * may exceed it.
 */
const maxPlacements = 1_000

/** Returns how many of the first events fit into one transaction, given the decisions of each event. Minimum 1. */
export const fitting = (found: ReadonlyArray<ReadonlyArray<unknown>>): number => {
  let placements = 0
  const end = found.findIndex(({ length }, i) => (placements += Math.max(1, length)) > maxPlacements && i > 0)
  return end < 0 ? found.length : end
}

/** The result of storing received events. */
interface StoredEvents {
  /** The new events. */
  readonly stored: ReadonlyArray<NewEvent>
  /** New events that did not fit into this transaction. Store them in the next. */
  readonly left: ReadonlyArray<IncomingEvent>
}

/** Stores the new events of `incoming` with their decisions. Fails with `SqlError` if the database does not respond. */
export const storeEvents = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  incoming: ReadonlyArray<IncomingEvent>,
  now: number,
): Effect.fn.Return<StoredEvents, SqlError, Projections | OnSuppressed> {
  if (incoming.length === 0) return { stored: [], left: [] }
  const news = yield* unknown(sql, incoming)
  yield* link(sql, news, now)
  const resolved = yield* resolveLinks(sql, news)
  const found = (yield* attribute(sql, resolved)).map((decisions, i) => isUnsettled(resolved[i]!, now) ? [] : decisions)
  const fresh = resolved.slice(0, fitting(found))
  const left = resolved.slice(fresh.length)
  const rows: Array<Placed> = []
  fresh.forEach((event, i) => {
    for (const decision of found[i]!) rows.push({ event, decision })
    if (found[i]!.length === 0) rows.push({ event, decision: undefined })
  })
  const zones = fresh.flatMap(({ occurredAt, org, timeZone, user }, i) => {
    const person = found[i]![0]?.user ?? user
    return timeZone === undefined || person === undefined || isSandbox(org)
      ? []
      : [{ org, person, zone: timeZone, occurredAt }]
  })
  const decisions = rows.flatMap(({ decision }) => decision ?? [])
  yield* lockPeople(sql, [...decisions, ...zones.map(({ org, person }) => ({ org, user: person, trackingId: "" }))])
  const earlier = yield* readEarlier(sql, decisions)
  const placed = rows.length === 0 ? rows : yield* insertEvents(sql, rows, now)
  yield* countEvents(
    sql,
    placed.flatMap(({ decision, event }) => decision === undefined ? [] : [{ decision, event }]),
    earlier,
  )
  yield* suppressByPlaced(sql, placed)
  yield* applyProjections(sql, { decisions: [], zones })
  const stored = placed.length === rows.length ? fresh : [...new Set(placed.map(({ event }) => event))]
  const waiting = placed.filter((one) => statusOf(one) === "waiting").length
  const personal = placed.filter((one) => statusOf(one) === "person").length
  yield* Metric.update(outcomeCounters.waiting, waiting)
  yield* Metric.update(outcomeCounters.person, personal)
  const decided = new Map<IncomingEvent, Array<number>>()
  for (const { decision, event } of placed) {
    if (decision === undefined) continue
    const times = decided.get(event)
    if (times === undefined) decided.set(event, [decision.decidedAt])
    else times.push(decision.decidedAt)
  }
  const ignored = new Map(
    Array.from(decided, ([event, times]) => [event, ignoredReason(event, times)] as const)
      .filter(([, reason]) => reason !== undefined),
  )
  yield* Metric.update(outcomeCounters.ignored, ignored.size)
  yield* Metric.update(outcomeCounters.attributed, stored.length - waiting - personal - ignored.size)
  yield* Metric.update(outcomeCounters.duplicate, incoming.length - left.length - stored.length)
  const templates = new Map<IncomingEvent, Array<string>>()
  for (const { decision, event } of placed) {
    const named = templates.get(event)
    if (named === undefined) templates.set(event, decision === undefined ? [] : [decision.templateId])
    else if (decision !== undefined) named.push(decision.templateId)
  }
  return {
    stored: stored.map((event) => ({ event, templates: templates.get(event) ?? [], ignored: ignored.get(event) })),
    left,
  }
})
