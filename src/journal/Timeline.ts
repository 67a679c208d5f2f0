import { recordset } from "../store/Recordset.ts"
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { largestValue } from "../domain/Event.ts"
import type { EventName } from "../domain/EventKinds.ts"
import type { StoredFailure } from "./decisions/FailedRenderings.ts"
import type { PastEvent } from "./events/EventHistory.ts"
import { rowReader } from "../store/ReadRows.ts"
import type { OrgSlug } from "../domain/Ids.ts"

// Reads decisions and events of one message, one person or one source, using indexes only. Each function fails with
// `SqlError` if the database does not respond.

/** A stored decision. */
export interface PersonDecision {
  readonly trackingId: string
  readonly templateId: string
  readonly copyId: string
  /** Null if the request named no user, or after the person was erased. */
  readonly user: string | null
  readonly segment: string
  /** See `Mode`. */
  readonly mode: string
  /** Probability of choosing the variant; null if the caller named the variant. */
  readonly propensity: number | null
  /** Probability of choosing each eligible variant. */
  readonly weights: Readonly<Record<string, number>> | null
  /** Variants that were chosen first and could not be rendered, first choice first; null without such variants. */
  readonly failed: ReadonlyArray<StoredFailure> | null
  /** Version of the model that decided. */
  readonly policy: string
  /** The requested window, in days; null for the adaptive window. */
  readonly lookbackDays: number | null
  readonly offsetDays: number | null
  readonly decidedAt: Date
}

/** A stored event. */
export interface EventRow {
  readonly trackingId: string | null
  readonly templateId: string
  readonly source: string
  readonly key: string
  readonly event: EventName
  readonly occurredAt: Date
  readonly receivedAt: Date
  readonly automated: boolean
  readonly link: string | null
  /** The value of a conversion; null if the event has none. */
  readonly value: number | null
  readonly currency: string | null
  /** The group that an opt-out or opt-in concerns. Null: all messages. */
  readonly group: string | null
  readonly status: PastEvent["status"]
}

/** The value of a conversion or refund. No other field of an event is an amount of money. */
const Value = Schema.Struct({
  value: Schema.NullOr(Schema.Finite.check(Schema.isBetween({ minimum: -largestValue, maximum: largestValue }))),
  currency: Schema.NullOr(Schema.String.check(Schema.isPattern(/^[A-Z]{3}$/))),
})
const readValue = rowReader("events", Value, ({ key, source }: EventRow) => `source ${source} and event_key ${key}`)

/** Checks the values of events. An unreadable value is a defect. */
const checked = <E>(rows: Effect.Effect<ReadonlyArray<EventRow>, E>) =>
  Effect.tap(rows, (all) => Effect.forEach(all, readValue, { discard: true }))

/** An event of a source, with its decision if known. */
export type RecentEvent = Pick<
  PastEvent,
  "event" | "trackingId" | "templateId" | "copyId" | "user" | "automated" | "occurredAt" | "receivedAt" | "status"
>

/** End of a page of decisions: `[decidedAt in Unix milliseconds, tracking id, template id]`. */
export type Position = readonly [decidedAt: number, trackingId: string, templateId: string]

/** Maximum number of events shown of one decision: the earliest events. */
export const shownEvents = 200

/** Maximum number of templates shown for one tracking id. */
const shownTemplates = 100

/** Maximum number of events of one body among the recent events of its source. */
const eventsPerBody = 50

/** Number of latest bodies in which the recent events of a source are searched. */
const recentBodies = 200

const decisionColumns = (sql: SqlClient.SqlClient) =>
  sql`d.tracking_id, d.template_id, d.copy_id, d.user_id AS "user", d.segment, d.mode,
  d.propensity, d.weights, d.policy, d.lookback_days, d.offset_days, d.decided_at, d.failed`

/** Decisions with a tracking id, and the decisions for which it is an alias. */
export const byTrackingId = (sql: SqlClient.SqlClient, org: OrgSlug, id: string) =>
  sql<PersonDecision>`
    SELECT ${decisionColumns(sql)} FROM (
      SELECT * FROM decisions d WHERE d.org_slug = ${org} AND d.tracking_id = ${id}
      ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT ${shownTemplates}) d
    UNION ALL
    SELECT ${decisionColumns(sql)} FROM (
      SELECT * FROM tracking_aliases a WHERE a.org_slug = ${org} AND a.alias = ${id}
      ORDER BY a.org_slug, a.alias, a.template_id LIMIT ${shownTemplates}) a
    CROSS JOIN LATERAL (
      SELECT * FROM decisions d
      WHERE d.org_slug = a.org_slug AND d.tracking_id = a.tracking_id AND d.template_id = a.template_id
      ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT 1) d
    WHERE d.tracking_id <> ${id}`

/** Decisions for any of the names, latest first. */
export const byNames = (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  names: ReadonlyArray<string>,
  position: Position | undefined,
  limit: number,
) => {
  const behind = position === undefined ? sql`TRUE` : sql`d.decided_at <= ${new Date(position[0])}
        AND (d.decided_at, d.tracking_id, d.template_id) < (${new Date(position[0])}, ${position[1]}, ${position[2]})`
  return sql<PersonDecision>`
    SELECT ${decisionColumns(sql)} FROM unnest(${names}::text[]) AS n(name)
    CROSS JOIN LATERAL (
      SELECT * FROM decisions d WHERE d.org_slug = ${org} AND d.user_id = n.name AND ${behind}
      ORDER BY d.decided_at DESC, d.tracking_id DESC, d.template_id DESC LIMIT ${limit}) d
    ORDER BY d.decided_at DESC, d.tracking_id DESC, d.template_id DESC LIMIT ${limit}`
}

/**
 * Events of decisions, earliest first: up to `shownEvents + 1` events of each decision, so that the caller can see
 * whether there are more than `shownEvents`. Many platforms report times in whole seconds. If several events have one
 * time, the event that was received first comes first, so that a later report does not take over its effect.
 */
export const eventsOf = (sql: SqlClient.SqlClient, org: OrgSlug, decisions: ReadonlyArray<PersonDecision>) => {
  const wanted = decisions.map(({ templateId, trackingId }) => ({
    tracking_id: trackingId,
    template_id: templateId,
  }))
  return checked(sql<EventRow>`
    SELECT r.tracking_id, r.template_id, e.source, e.event_key AS key, e.event, e.occurred_at, e.received_at,
      e.automated, e.link, e.value, e.currency, e.opt_out_group AS "group", e.status
    FROM ${recordset(wanted, { tracking_id: "text", template_id: "text" })}
    CROSS JOIN LATERAL (
      SELECT * FROM events e
      WHERE e.org_slug = ${org} AND e.tracking_id = r.tracking_id AND e.template_id = r.template_id
      ORDER BY e.occurred_at, e.received_at, e.source, e.event_key LIMIT ${shownEvents + 1}) e`)
}

/** Events with a tracking id that belong to no decision. */
export const looseEvents = (sql: SqlClient.SqlClient, org: OrgSlug, id: string) =>
  checked(sql<EventRow>`
    SELECT e.tracking_id, e.template_id, e.source, e.event_key AS key, e.event, e.occurred_at, e.received_at,
      e.automated, e.link, e.value, e.currency, e.opt_out_group AS "group", e.status
    FROM events e WHERE e.org_slug = ${org} AND e.tracking_id = ${id} AND e.template_id = ''
    ORDER BY e.occurred_at, e.received_at, e.source, e.event_key LIMIT ${shownEvents}`)

/** The latest events that name a person and belong to no decision, in ascending order of time. */
export const looseEventsOf = (sql: SqlClient.SqlClient, org: OrgSlug, names: ReadonlyArray<string>) => {
  const columns = sql`e.tracking_id, e.template_id, e.source, e.event_key AS key, e.event, e.occurred_at,
    e.received_at, e.automated, e.link, e.value, e.currency, e.opt_out_group AS "group", e.status`
  return Effect.map(
    checked(sql<EventRow>`
      SELECT ${columns} FROM unnest(${names}::text[]) AS n(name)
      CROSS JOIN LATERAL (
        SELECT * FROM events e WHERE e.org_slug = ${org} AND e.user_id = n.name AND e.template_id = ''
        ORDER BY e.occurred_at DESC LIMIT ${shownEvents}) e
      UNION
      SELECT ${columns} FROM unnest(${names}::text[]) AS n(name)
      CROSS JOIN LATERAL (
        SELECT * FROM events e WHERE e.org_slug = ${org} AND lower(e.email) = lower(n.name) AND e.template_id = ''
          AND e.email IS NOT NULL
        ORDER BY e.occurred_at DESC LIMIT ${shownEvents}) e
      ORDER BY occurred_at DESC, source, key LIMIT ${shownEvents}`),
    (rows) => rows.toReversed(),
  )
}

/** Up to `limit` of the latest events of a source, beginning with the latest body. */
export const recentEvents = (sql: SqlClient.SqlClient, org: OrgSlug, source: string, limit: number) =>
  sql<RecentEvent>`
          SELECT e.event, e.tracking_id, d.template_id, d.copy_id, e.user_id AS "user", e.automated, e.occurred_at,
            e.received_at, e.status
          FROM (
            SELECT i.id FROM inbox i WHERE i.org_slug = ${org} AND i.source = ${source}
            ORDER BY i.id DESC LIMIT ${recentBodies}) i
          CROSS JOIN LATERAL (
            SELECT * FROM events e WHERE e.org_slug = ${org} AND e.inbox_id = i.id AND e.source = ${source}
            ORDER BY e.org_slug, e.inbox_id LIMIT ${eventsPerBody}) e
          LEFT JOIN LATERAL (
            SELECT d.template_id, d.copy_id FROM decisions d
            WHERE d.org_slug = e.org_slug AND d.tracking_id = e.tracking_id AND d.template_id = e.template_id
            ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT 1) d ON TRUE
          ORDER BY i.id DESC, e.occurred_at DESC, e.event_key LIMIT ${limit}`

/** Returns the tracking ids among `ids` that have no decision. */
export const undecided = (sql: SqlClient.SqlClient, org: OrgSlug, ids: ReadonlyArray<string>) =>
  Effect.map(
    sql<{ readonly id: string }>`
      SELECT n.id FROM unnest(${ids}::text[]) AS n(id)
      LEFT JOIN LATERAL (
        SELECT true AS decided FROM decisions d WHERE d.org_slug = ${org} AND d.tracking_id = n.id
        ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT 1) d ON TRUE
      WHERE d.decided IS NULL`,
    (rows) => rows.map(({ id }) => id),
  )
