import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { dayMillis } from "../../bandit/Window.ts"
import { isSandbox, liveOf } from "../../domain/Sandbox.ts"
import { sandboxesOf } from "../../organizations/Sandboxes.ts"
import { recordset } from "../../store/Recordset.ts"
import type { IncomingEvent } from "./EventStore.ts"

/**
 * Test decisions of up to this many days before an event are searched. Events do not count for older decisions. Unit:
 * days.
 */
const recentDays = 31

const eventColumns = {
  place: "int",
  org: "text",
  sandbox: "text",
  source: "text",
  tracking_id: "text",
  message_key: "text",
  since: "float8",
} as const

/**
 * Moves events of test decisions to the sandboxes of their organizations, regardless of the key or platform that
 * reported them. An event belongs to a test decision if its tracking id or platform message id is known in the sandbox
 * and unknown in the organization.
 */
export const moveTestEvents = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  events: ReadonlyArray<IncomingEvent>,
): Effect.fn.Return<ReadonlyArray<IncomingEvent>, SqlError> {
  const orgs = [...new Set(events.map(({ org }) => org))].filter((org) => !isSandbox(org))
  if (orgs.length === 0) return events
  const sandboxes = yield* sandboxesOf(sql, orgs)
  if (sandboxes.length === 0) return events
  const bySlug = new Map(sandboxes.map(({ slug }) => [liveOf(slug), slug]))
  const wanted = events.flatMap(({ messageKey, occurredAt, org, source, trackingId }, place) => {
    const sandbox = bySlug.get(org)
    return sandbox === undefined || (trackingId === undefined && messageKey === undefined) ? [] : [{
      place,
      org,
      sandbox,
      source,
      tracking_id: trackingId ?? null,
      message_key: trackingId === undefined ? messageKey : null,
      since: occurredAt - recentDays * dayMillis,
    }]
  })
  if (wanted.length === 0) return events
  const known = (column: "org" | "sandbox") => {
    const org = sql.literal(`r.${column}`)
    return sql`(
        EXISTS (SELECT 1 FROM decisions d WHERE d.org_slug = ${org} AND d.tracking_id = r.tracking_id
          AND d.decided_at >= to_timestamp(r.since / 1000.0))
        OR EXISTS (SELECT 1 FROM tracking_aliases a WHERE a.org_slug = ${org} AND a.alias = r.tracking_id)
        OR EXISTS (SELECT 1 FROM attribution_links l
          WHERE l.org_slug = ${org} AND l.source = r.source AND l.message_key = r.message_key))`
  }
  const found = yield* sql<{ place: number }>`
    SELECT r.place FROM ${recordset(wanted, eventColumns)}
    WHERE ${known("sandbox")} AND NOT ${known("org")}`
  if (found.length === 0) return events
  const places = new Set(found.map(({ place }) => place))
  return events.map((event, place) => places.has(place) ? { ...event, org: bySlug.get(event.org)! } : event)
})
