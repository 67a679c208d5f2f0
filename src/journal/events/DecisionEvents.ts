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
  most: "int",
  since: "float8",
} as const

/**
 * The events attributed to each of `decisions`, earliest first: as many as are taken into account, and `more` further ones
 * of each.
 */
export const readEvents = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  decisions: ReadonlyArray<DecisionRef>,
  more: (place: number) => number = () => 0,
): Effect.fn.Return<ReadonlyArray<ReadonlyArray<StoredEvent>>, SqlError> {
  const wanted = decisions.map(({ decidedAt, org, templateId, trackingId }, place) => ({
    place,
    org_slug: org,
    tracking_id: trackingId,
    template_id: templateId,
    most: eventsPerDecision + more(place),
    since: decidedAt - waitedDays * dayMillis,
  }))
  interface Row extends Omit<StoredEvent, "occurredAt" | "link" | "value" | "currency"> {
    readonly place: number
    readonly occurredAt: Date
    readonly link: string | null
    readonly value: number | null
    readonly currency: string | null
  }
  const rows = yield* sql<Row>`
    SELECT r.place, e.source, e.event_key AS key, e.event, e.occurred_at, e.automated, e.link, e.value, e.currency
    FROM ${recordset(wanted, decisionColumns)}
    CROSS JOIN LATERAL (
      SELECT * FROM events e
      WHERE e.org_slug = r.org_slug AND e.tracking_id = r.tracking_id AND e.template_id = r.template_id
        AND e.received_at >= to_timestamp(r.since / 1000.0)
      ORDER BY e.occurred_at, e.source, e.event_key LIMIT r.most
    ) e`
  const events: Array<Array<StoredEvent>> = decisions.map(() => [])
  for (const { automated, currency, event, key, link, occurredAt, place, source, value } of rows) {
    const at = occurredAt.getTime()
    events[place]!.push({
      source,
      key,
      event,
      automated,
      occurredAt: at,
      link: link ?? undefined,
      ...(value === null ? {} : { value, ...(currency === null ? {} : { currency }) }),
    })
  }
  return events
})

/** Counts that a decision's events, earliest first, add to the tallies; with revenue if its template has a rule for it. */
export const contributionOf = (
  { decidedAt }: DecisionRef,
  events: ReadonlyArray<StoredEvent>,
  rule?: RevenueRule,
): Contribution =>
  outcomesOf(decidedAt, events.length > eventsPerDecision ? events.slice(0, eventsPerDecision) : events, rule)
