import { Effect, Metric } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { hourMillis } from "../../bandit/Window.ts"
import type { NormalizedEvent } from "../../domain/Event.ts"
import { deliverSource } from "../../domain/Source.ts"
import { plannedFor, recordset } from "../../store/Recordset.ts"
import { attribute, resolveLinks } from "./Attribution.ts"
import type { OnSuppressed } from "../../suppressions/OnSuppressed.ts"
import type { Projections } from "../Projection.ts"
import { lockArrivals, lockPeople } from "./EventLock.ts"
import { suppressByEvents } from "./EventSuppressions.ts"
import {
  countEvents,
  fitting,
  type IncomingEvent,
  insertEvents,
  linkHours,
  outcomeCounters,
  placedStatus,
  readEarlier,
  retryAt,
} from "./EventStore.ts"

/** A tracking id with a new decision. */
export interface JustDecided {
  readonly org: string
  readonly trackingId: string
}

interface Waiting {
  readonly orgSlug: string
  readonly source: string
  readonly eventKey: string
  readonly trackingId: string | null
  readonly namedTemplateId: string | null
  readonly userId: string | null
  readonly email: string | null
  readonly messageKey: string | null
  readonly inboxId: number
  readonly event: NormalizedEvent["event"]
  readonly occurredAt: Date
  readonly receivedAt: Date
  readonly automated: boolean
  readonly link: string | null
  readonly suppresses: boolean | null
  readonly value: number | null
  readonly currency: string | null
  readonly optOutGroup: string | null
}

const incomingOf = (row: Waiting, now: number): IncomingEvent => ({
  org: row.orgSlug,
  source: row.source,
  key: row.eventKey,
  trackingId: row.trackingId ?? undefined,
  templateId: row.namedTemplateId ?? undefined,
  user: row.userId ?? undefined,
  email: row.email ?? undefined,
  messageKey: row.messageKey ?? undefined,
  hasWaited: now - row.receivedAt.getTime() >= linkHours * hourMillis,
  inboxId: row.inboxId,
  event: row.event,
  occurredAt: row.occurredAt.getTime(),
  receivedAt: row.receivedAt.getTime(),
  automated: row.automated,
  link: row.link ?? undefined,
  value: row.value ?? undefined,
  currency: row.currency ?? undefined,
  ...(row.optOutGroup === null ? {} : { group: row.optOutGroup }),
})

/** A page of the waiting events of tracking ids with new decisions. */
interface JustDecidedPage {
  readonly decided: ReadonlyArray<JustDecided>
  /** The last checked event; undefined to begin with the first event. */
  readonly after: EventId | undefined
}

/** Identity of a waiting event. */
export interface EventId {
  readonly orgSlug: string
  readonly source: string
  readonly eventKey: string
}

const waitingColumns =
  `e.org_slug, e.source, e.event_key, e.tracking_id, e.named_template_id, e.user_id, e.email, e.message_key,
  e.inbox_id::float8 AS inbox_id, e.event, e.occurred_at, e.received_at, e.automated, e.link, e.value, e.currency,
  e.opt_out_group, e.suppresses`

/** The part of a waiting event that is read before its locks. */
interface Due extends EventId, Pick<Waiting, "event" | "messageKey" | "receivedAt" | "trackingId"> {}

const dueColumns = "e.org_slug, e.source, e.event_key, e.event, e.message_key, e.tracking_id, e.received_at"

/**
 * Reads the other waiting clicks of messages with a due click on a link of this service, so that one transaction counts
 * all of them.
 */
const companionsOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, due: ReadonlyArray<Due>) {
  const clicks = due.filter(({ event, source }) => event === "click" && source === deliverSource)
  if (clicks.length === 0) return []
  const keys = new Set(clicks.map(({ eventKey, orgSlug }) => `${orgSlug}\0${eventKey}`))
  const messages = new Map(
    clicks.map(({ orgSlug, trackingId }) => [
      `${orgSlug}\0${trackingId}`,
      { org_slug: orgSlug, tracking_id: trackingId },
    ]),
  )
  const since = Math.min(...clicks.map(({ receivedAt }) => receivedAt.getTime()))
  const found = yield* sql<Due>`
    SELECT ${sql.literal(dueColumns)}
    FROM ${recordset([...messages.values()], { org_slug: "text", tracking_id: "text" })}
    JOIN events e ON e.org_slug = r.org_slug AND e.tracking_id = r.tracking_id
    WHERE e.source = ${deliverSource} AND e.event = 'click' AND e.status = 'waiting'
      AND e.received_at >= ${new Date(since)}`
  return found.filter(({ eventKey, orgSlug }) => !keys.has(`${orgSlug}\0${eventKey}`))
})

const lockedColumns = {
  place: "int",
  org_slug: "text",
  source: "text",
  event_key: "text",
  received_at: "float8",
  is_companion: "boolean",
} as const

/**
 * Locks waiting events. Reads the events that still wait and are `due` or companions, in order. Another node may have
 * matched the others.
 */
const lockWaiting = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  found: ReadonlyArray<Due>,
  companions: ReadonlyArray<Due>,
  due: Statement.Fragment,
): Effect.fn.Return<ReadonlyArray<Waiting>, SqlError> {
  const all = [...found, ...companions]
  yield* lockArrivals(
    sql,
    all.map(({ orgSlug }) => orgSlug),
    all.map(({ eventKey, messageKey, orgSlug, source }) => ({
      org: orgSlug,
      source,
      key: eventKey,
      messageKey: messageKey ?? undefined,
    })),
  )
  const wanted = all.map(({ eventKey, orgSlug, receivedAt, source }, place) => ({
    place,
    org_slug: orgSlug,
    source,
    event_key: eventKey,
    received_at: receivedAt.getTime(),
    is_companion: place >= found.length,
  }))
  const search = sql<Waiting>`
    SELECT ${sql.literal(waitingColumns)}
    FROM ${recordset(wanted, lockedColumns)}
    CROSS JOIN LATERAL (
      SELECT * FROM events e
      WHERE e.org_slug = r.org_slug AND e.source = r.source AND e.event_key = r.event_key AND e.template_id = ''
        AND e.received_at >= to_timestamp(r.received_at / 1000.0)
        AND e.received_at < to_timestamp((r.received_at + 1) / 1000.0)
      ORDER BY e.org_slug, e.source, e.event_key, e.template_id LIMIT 1) e
    WHERE e.status = 'waiting' AND (r.is_companion OR ${due})
    ORDER BY r.place`
  return yield* plannedFor(wanted.length, search)
})

const matchColumns = {
  org_slug: "text",
  source: "text",
  event_key: "text",
  template_id: "text",
  tracking_id: "text",
  status: "text",
  retry_at: "float8",
} as const

/**
 * Searches for the decisions of up to `most` waiting events: events that are due at `now` (Unix milliseconds), or with
 * `just`, a page of the events of tracking ids with new decisions. Runs its own transaction. Returns the last checked
 * event if there may be more events, otherwise undefined. Fails with `SqlError` if the database does not respond.
 */
export const matchWaiting = (
  sql: SqlClient.SqlClient,
  now: number,
  most: number,
  just?: JustDecidedPage,
): Effect.Effect<EventId | undefined, SqlError, Projections | OnSuppressed> =>
  sql.withTransaction(Effect.gen(function* () {
    const wanted = just?.decided.map(({ org, trackingId }) => ({ org_slug: org, tracking_id: trackingId }))
    const after = just?.after
    const isBehind = after === undefined
      ? sql`TRUE`
      : sql`(e.org_slug, e.source, e.event_key) > (${after.orgSlug}, ${after.source}, ${after.eventKey})`
    const due = wanted === undefined
      ? sql`e.status = 'waiting' AND e.retry_at <= ${new Date(now)}`
      : sql`e.status = 'waiting' AND (e.org_slug, e.tracking_id) IN (
          SELECT r.org_slug, r.tracking_id
          FROM ${recordset(wanted, { org_slug: "text", tracking_id: "text" })})
          AND ${isBehind}`
    // With `just`, events that continue to wait still match the condition. Therefore its pages are ordered by event
    // identity, not by due time.
    const order = sql.literal(wanted === undefined ? "e.retry_at" : "e.org_slug, e.source, e.event_key")
    const rows = yield* sql<Due>`
      SELECT ${sql.literal(dueColumns)} FROM events e WHERE ${due} ORDER BY ${order} LIMIT ${most}`
    if (rows.length === 0) return undefined
    const companions = just === undefined ? yield* companionsOf(sql, rows) : []
    const taken = yield* lockWaiting(sql, rows, companions, due)
    const isFull = rows.length === most
    if (taken.length === 0) return isFull ? rows.at(-1) : undefined
    const resolved = yield* resolveLinks(sql, taken.map((row) => incomingOf(row, now)))
    const found = yield* attribute(sql, resolved)
    // The next transaction handles the remaining events.
    const events = resolved.slice(0, fitting(found))
    const updates = events.map((event, i) => {
      const first = found[i]![0]
      const next = first === undefined ? retryAt(event, now) : undefined
      return {
        org_slug: event.org,
        source: event.source,
        event_key: event.key,
        template_id: first?.templateId ?? "",
        tracking_id: first?.trackingId ?? event.trackingId ?? null,
        status: first !== undefined ? placedStatus(first, event) : next === undefined ? "unmatched" : "waiting",
        retry_at: next ?? null,
      }
    })
    const decisions = found.slice(0, events.length).flat()
    yield* lockPeople(sql, decisions)
    const earlier = yield* readEarlier(sql, decisions)
    const update = sql`
      UPDATE events e SET template_id = r.template_id, tracking_id = r.tracking_id, status = r.status,
        retry_at = to_timestamp(r.retry_at / 1000.0)
      FROM ${recordset(updates, matchColumns)}
      WHERE e.org_slug = r.org_slug AND e.source = r.source AND e.event_key = r.event_key AND e.template_id = ''`
    yield* plannedFor(updates.length, update)
    const others = events.flatMap((event, i) => found[i]!.slice(1).map((decision) => ({ event, decision })))
    const added = others.length === 0 ? others : yield* insertEvents(sql, others, now)
    const firsts = events.flatMap((event, i) => found[i]!.slice(0, 1).map((decision) => ({ event, decision })))
    yield* countEvents(
      sql,
      [...firsts, ...added].map(({ decision, event }) => ({ decision: decision!, event })),
      earlier,
    )
    const reported = events.flatMap((event, i) =>
      taken[i]!.suppresses === true && found[i]!.length > 0
        ? [{ ...event, recipients: found[i]!.flatMap(({ user }) => user === undefined ? [] : [user]) }]
        : []
    )
    yield* suppressByEvents(sql, reported)
    yield* Metric.update(outcomeCounters.attributed, firsts.length)
    return isFull || events.length < taken.length ? taken[events.length - 1] : undefined
  }))
