import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type { RevenueRule } from "../../bandit/Revenue.ts"
import { dayMillis } from "../../bandit/Window.ts"
import { recordset } from "../../store/Recordset.ts"
import type { DecisionRef } from "./DecisionRef.ts"
import { type AttributedEvent, type Contribution, outcomesOf } from "./Outcomes.ts"

/**
 * Most events of one decision that count, earliest first. Every new event reads them again, so this bounds the reads of
 * a transaction.
 */
const eventsPerDecision = 200

/** Events wait up to about three weeks for their decision, so earlier events belong to another decision. Unit: days. */
const waitedDays = 31

/** An event of a decision, with where it came from. */
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

/** Events earliest first. At equal times the order is by their identities, so that it is the same however they were read. */
export const inOrder = (events: Array<StoredEvent>): Array<StoredEvent> =>
  events.length < 2
    ? events
    : events.sort((a, b) =>
      a.occurredAt - b.occurredAt || (a.source < b.source ? -1 : a.source > b.source ? 1 : a.key < b.key ? -1 : 1)
    )

/** The events attributed to each of `decisions`, earliest first: as many as are taken into account. */
export const readEvents = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  decisions: ReadonlyArray<DecisionRef>,
): Effect.fn.Return<ReadonlyArray<ReadonlyArray<StoredEvent>>, SqlError> {
  if (decisions.length === 0) return []
  const wanted = decisions.map(({ decidedAt, org, templateId, trackingId }, place) => ({
    place,
    org_slug: org,
    tracking_id: trackingId,
    template_id: templateId,
    since: decidedAt - waitedDays * dayMillis,
  }))
  interface Row extends Omit<StoredEvent, "link" | "value" | "currency"> {
    readonly place: number
    readonly link: string | null
    readonly value: number | null
    readonly currency: string | null
  }
  const rows = yield* sql<Row>`
    SELECT r.place, e.source, e.event_key AS key, e.event, e.automated, e.link, e.value, e.currency,
      date_part('epoch', e.occurred_at) * 1000 AS "occurredAt"
    FROM ${recordset(wanted, decisionColumns)}
    CROSS JOIN LATERAL (
      SELECT * FROM events e
      WHERE e.org_slug = r.org_slug AND e.tracking_id = r.tracking_id AND e.template_id = r.template_id
        AND e.received_at >= to_timestamp(r.since / 1000.0)
      ORDER BY e.occurred_at, e.source, e.event_key LIMIT ${eventsPerDecision}
    ) e`.withoutTransform
  const events: Array<Array<StoredEvent>> = decisions.map(() => [])
  for (const { automated, currency, event, key, link, occurredAt, place, source, value } of rows) {
    events[place]!.push({
      source,
      key,
      event,
      automated,
      // Whole milliseconds, which a product of fractions may miss.
      occurredAt: Math.round(occurredAt),
      link: link ?? undefined,
      ...(value === null ? {} : { value, ...(currency === null ? {} : { currency }) }),
    })
  }
  for (const list of events) inOrder(list)
  return events
})

/** The contribution of a decision without events. */
const nothing: Contribution = { learned: {}, automated: {}, delays: {} }

/** Counts that a decision's events, earliest first, add to the tallies; with revenue if its template has a rule for it. */
export const contributionOf = (
  { decidedAt }: DecisionRef,
  events: ReadonlyArray<StoredEvent>,
  rule?: RevenueRule,
): Contribution =>
  events.length === 0
    ? nothing
    : outcomesOf(decidedAt, events.length > eventsPerDecision ? events.slice(0, eventsPerDecision) : events, rule)
