import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { RevenueRule } from "../../bandit/Revenue.ts"
import { dayMillis } from "../../bandit/Window.ts"
import { SeededMap } from "../../json/SeededMap.ts"
import { recordset, type RowOf } from "../../store/Recordset.ts"
import type { DecisionRef } from "./DecisionRef.ts"
import type { AttributedEvent } from "./AttributedEvent.ts"
import { type Contribution, outcomesOf } from "./Outcomes.ts"

/**
 * Maximum number of events of one decision that count: the earliest events. Every new event reads them again, so this
 * limits the reads of a transaction.
 */
const eventsPerDecision = 200

/**
 * Events wait up to about three weeks for their decision. Events that are older than this before a decision belong to
 * another decision. Unit: days.
 */
const waitedDays = 31

/** An event of a decision, with its source. */
export interface StoredEvent extends AttributedEvent {
  readonly source: string
}

const decisionColumns = {
  place: "int",
  org_slug: "text",
  tracking_id: "text",
  template_id: "text",
  since: "float8",
} as const

/**
 * Sorts events, earliest first. Events with one time are sorted by identity, so that the order does not depend on how
 * they were read.
 */
export const inOrder = (events: Array<StoredEvent>): Array<StoredEvent> =>
  events.length < 2
    ? events
    : events.sort((a, b) =>
      a.occurredAt - b.occurredAt || (a.source < b.source ? -1 : a.source > b.source ? 1 : a.key < b.key ? -1 : 1)
    )

interface EventRow {
  readonly source: string
  readonly key: string
  readonly event: StoredEvent["event"]
  readonly automated: boolean
  readonly link: string | null
  readonly value: number | null
  readonly currency: string | null
  readonly occurredAt: number
}

const eventOf = ({ automated, currency, event, key, link, occurredAt, source, value }: EventRow): StoredEvent => ({
  source,
  key,
  event,
  automated,
  // Rounds to whole milliseconds, because multiplying a fraction may be inexact.
  occurredAt: Math.round(occurredAt),
  link: link ?? undefined,
  ...(value === null ? {} : { value, ...(currency === null ? {} : { currency }) }),
})

const eventColumns = `e.source, e.event_key AS key, e.event, e.automated, e.link, e.value, e.currency,
  date_part('epoch', e.occurred_at) * 1000 AS "occurredAt"`

const sinceOf = ({ decidedAt }: DecisionRef): number => decidedAt - waitedDays * dayMillis

/** Reads the first events of each decision, with a limit for each decision. */
const readFirst = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, decisions: ReadonlyArray<DecisionRef>) {
  const wanted = decisions.map((decision, place) => ({
    place,
    org_slug: decision.org,
    tracking_id: decision.trackingId,
    template_id: decision.templateId,
    since: sinceOf(decision),
  }))
  const rows = yield* sql<EventRow & { readonly place: number }>`
    SELECT r.place, ${sql.literal(eventColumns)}
    FROM ${recordset(wanted, decisionColumns)}
    CROSS JOIN LATERAL (
      SELECT * FROM events e
      WHERE e.org_slug = r.org_slug AND e.tracking_id = r.tracking_id AND e.template_id = r.template_id
        AND e.received_at >= to_timestamp(r.since / 1000.0)
      ORDER BY e.occurred_at, e.source, e.event_key LIMIT ${eventsPerDecision}
    ) e`.withoutTransform
  const events: Array<Array<StoredEvent>> = decisions.map(() => [])
  for (const row of rows) events[row.place]!.push(eventOf(row))
  return events
})

const organizationColumns = { place: "int", org_slug: "text", tracking_ids: "text[]", since: "float8" } as const

interface ScannedRow extends EventRow {
  readonly place: number
  readonly trackingId: string
  readonly templateId: string
  readonly receivedAt: number
}

/**
 * Reads the events of all tracking ids of organizations, up to `limit` of each organization. The order within a tracking
 * id lets PostgreSQL use only the index on tracking ids. Without it, the plan for a young partition, which has no
 * statistics yet, reads all events of the organization each time: 75 ms with 2,400 events in place of 1 ms.
 */
export const scanEvents = (
  sql: SqlClient.SqlClient,
  organizations: ReadonlyArray<RowOf<typeof organizationColumns>>,
  limit: number,
) =>
  sql<ScannedRow>`
    SELECT r.place, e.tracking_id AS "trackingId", e.template_id AS "templateId", ${sql.literal(eventColumns)},
      date_part('epoch', e.received_at) * 1000 AS "receivedAt"
    FROM ${recordset(organizations, organizationColumns)}
    CROSS JOIN LATERAL (
      SELECT e.* FROM unnest(r.tracking_ids) AS t(id)
      CROSS JOIN LATERAL (
        SELECT * FROM events e
        WHERE e.org_slug = r.org_slug AND e.tracking_id = t.id AND e.received_at >= to_timestamp(r.since / 1000.0)
        ORDER BY e.org_slug, e.tracking_id, e.occurred_at
      ) e
      LIMIT ${limit}
    ) e`

/** Maximum number of events that a scan reads, on average for each decision. */
const scannedEvents = 20

/**
 * Reads all events of the decisions by one search for each tracking id. Returns undefined if there are so many events that each decision needs a limit.
 */
const readAll = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, decisions: ReadonlyArray<DecisionRef>) {
  const organizations = new SeededMap<string, SeededMap<string, Array<number>>>()
  let since = Infinity
  decisions.forEach((decision, place) => {
    since = Math.min(since, sinceOf(decision))
    let places = organizations.get(decision.org)
    if (places === undefined) organizations.set(decision.org, places = new SeededMap())
    const own = places.get(decision.trackingId)
    if (own === undefined) places.set(decision.trackingId, [place])
    else own.push(place)
  })
  const wanted = Array.from(organizations, ([org_slug, places], place) => ({
    place,
    org_slug,
    tracking_ids: [...places].map(([id]) => id),
    since,
  }))
  const limit = eventsPerDecision + scannedEvents * decisions.length
  const rows = yield* scanEvents(sql, wanted, limit).withoutTransform
  if (rows.length >= limit) return undefined
  const events: Array<Array<StoredEvent>> = decisions.map(() => [])
  const placesOf = Array.from(organizations, ([, places]) => places)
  for (const row of rows) {
    for (const place of placesOf[row.place]!.get(row.trackingId) ?? []) {
      const decision = decisions[place]!
      if (row.templateId === decision.templateId && row.receivedAt >= sinceOf(decision)) {
        events[place]!.push(eventOf(row))
      }
    }
  }
  return events
})

/** Returns the events attributed to each of `decisions`, earliest first, at most `eventsPerDecision` each. */
export const readEvents = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  decisions: ReadonlyArray<DecisionRef>,
): Effect.fn.Return<ReadonlyArray<ReadonlyArray<StoredEvent>>, SqlError> {
  if (decisions.length === 0) return []
  const events = (yield* readAll(sql, decisions)) ?? (yield* readFirst(sql, decisions))
  return events.map((list) => inOrder(list).slice(0, eventsPerDecision))
})

/** The contribution of a decision without events. */
const nothing: Contribution = { learned: {}, automated: {}, delays: {} }

/** Returns the counts that a decision's events, earliest first, add to the tallies; with revenue if `rule` is given. */
export const contributionOf = (
  { decidedAt }: DecisionRef,
  events: ReadonlyArray<StoredEvent>,
  rule?: RevenueRule,
): Contribution =>
  events.length === 0
    ? nothing
    : outcomesOf(decidedAt, events.length > eventsPerDecision ? events.slice(0, eventsPerDecision) : events, rule)
