import { Buffer } from "node:buffer"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { dayMillis } from "../../bandit/Window.ts"
import type { EventName } from "../../domain/EventKinds.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import * as Json from "../../json/Json.ts"
import { platforms } from "../../domain/Source.ts"

/** A stored event, with its decision if that is known. */
export interface PastEvent {
  /** Start of the next page. */
  readonly cursor: string
  readonly source: string
  readonly key: string
  readonly event: EventName
  readonly trackingId: string | null
  readonly templateId: string | null
  readonly copyId: string | null
  readonly segment: string | null
  readonly user: string | null
  readonly email: string | null
  readonly automated: boolean
  readonly occurredAt: Date
  readonly receivedAt: Date
  readonly status: "attributed" | "ignored" | "waiting" | "unmatched" | "person"
}

/** Counts of one source in the last 24 hours, and its last body. */
export interface SourceActivity {
  readonly source: string
  /** Also of an earlier body, as long as bodies are kept. */
  readonly lastReceivedAt: Date | null
  readonly bodies: number
  readonly events: number
  readonly duplicates: number
  readonly ignored: number
  /** Bodies that were not understood, completely or in part. */
  readonly notUnderstood: number
  /** Pending bodies, and the age of the oldest (`lagSeconds`). Unit: seconds. */
  readonly pending: number
  readonly lagSeconds: number
}

/** The counts of a source without a body in the last 24 hours. */
const silent = { bodies: 0, events: 0, duplicates: 0, ignored: 0, notUnderstood: 0, pending: 0, lagSeconds: 0 }

/** Reads past events and the activity of sources. */
export class EventHistory extends Context.Service<EventHistory, {
  /**
   * Lists current events after `cursor`, ordered by the arrival of their bodies, at most `limit`. An event changes in
   * place when its decision is found: a reader whose cursor has passed it does not see the change, and does not see the
   * event twice. With `latest`, returns the last events after the cursor instead of the first.
   */
  readonly list: (
    org: OrgSlug,
    options: {
      readonly cursor: string | undefined
      readonly limit: number
      readonly trackingId: string | undefined
      readonly latest: boolean
    },
  ) => Effect.Effect<ReadonlyArray<PastEvent>>
  readonly activity: (org: OrgSlug) => Effect.Effect<ReadonlyArray<SourceActivity>>
}>()("parlance/journal/events/EventHistory") {
  static readonly layer = Layer.effect(
    EventHistory,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock

      const list = Effect.fn("EventHistory.list")(function* (
        org: OrgSlug,
        { cursor, latest, limit, trackingId }: {
          readonly cursor: string | undefined
          readonly limit: number
          readonly trackingId: string | undefined
          readonly latest: boolean
        },
      ) {
        const [inbox, source, key, template] = (cursor && parseCursor(cursor)) || ["0", "", "", ""]
        // An event that was listed while it waited is skipped with all its later attributions, because it was listed
        // once.
        const behind = template === ""
          ? sql`(e.inbox_id, e.source, e.event_key) > (${inbox}::bigint, ${source}, ${key})`
          : sql`(e.inbox_id, e.source, e.event_key, e.template_id) > (${inbox}::bigint, ${source}, ${key}, ${template})`
        const rows = yield* sql<Omit<PastEvent, "cursor"> & { inboxId: string; eventTemplate: string }>`
          SELECT e.inbox_id::text AS inbox_id, e.source, e.event_key AS key, e.template_id AS event_template, e.event,
            e.tracking_id, d.template_id, d.copy_id, d.segment, e.user_id AS "user", e.email, e.automated, e.occurred_at,
            e.received_at, e.status
          FROM events e
          LEFT JOIN decisions d ON d.org_slug = e.org_slug AND d.tracking_id = e.tracking_id
            AND d.template_id = e.template_id
          WHERE e.org_slug = ${org} AND ${trackingId === undefined ? sql`TRUE` : sql`e.tracking_id = ${trackingId}`}
            AND ${behind}
          ORDER BY ${
          latest
            ? sql`e.inbox_id DESC, e.source DESC, e.event_key DESC, e.template_id DESC`
            : sql`e.inbox_id, e.source, e.event_key, e.template_id`
        } LIMIT ${limit}`
        return (latest ? rows.toReversed() : rows).map(({ eventTemplate, inboxId, ...row }): PastEvent => ({
          ...row,
          cursor: cursorOf([inboxId, row.source, row.key, eventTemplate]),
        }))
      }, Effect.orDie)

      const activity = Effect.fn("EventHistory.activity")(function* (org: OrgSlug) {
        const now = clock.currentTimeMillisUnsafe()
        const recent = yield* sql<SourceActivity>`
          SELECT i.source, max(i.received_at) AS last_received_at, count(*)::int AS bodies,
            coalesce(sum(i.events), 0)::int AS events, coalesce(sum(i.duplicates), 0)::int AS duplicates,
            coalesce(sum(i.ignored), 0)::int AS ignored,
            (count(*) FILTER (WHERE i.status IN ('partial', 'rejected')))::int AS not_understood,
            (count(*) FILTER (WHERE i.status = 'pending'))::int AS pending,
            coalesce(extract(epoch FROM ${new Date(now)}::timestamptz
              - min(i.received_at) FILTER (WHERE i.status = 'pending')), 0)::float8 AS lag_seconds
          FROM inbox i WHERE i.org_slug = ${org} AND i.received_at > ${new Date(now - dayMillis)}
          GROUP BY i.source ORDER BY i.source`
        const others = Object.keys(platforms).filter((id) => recent.every(({ source }) => source !== id))
        // Finds the latest body of each by index, like `Arrivals`.
        const earlier = yield* sql<Pick<SourceActivity, "source" | "lastReceivedAt">>`
          SELECT s.source, l.received_at AS last_received_at FROM unnest(${others}::text[]) s (source)
          CROSS JOIN LATERAL (
            SELECT i.received_at FROM inbox i WHERE i.org_slug = ${org} AND i.source >= s.source AND i.source <= s.source
            ORDER BY i.org_slug DESC, i.source DESC, i.id DESC LIMIT 1) l`
        return [...recent, ...earlier.map((one) => ({ ...silent, ...one }))]
      }, Effect.orDie)

      return EventHistory.of({ list, activity })
    }),
  )
}

type Position = readonly [inbox: string, source: string, key: string, template: string]

const cursorOf = (position: Position): string => Buffer.from(JSON.stringify(position)).toString("base64url")

/** Returns the position of a cursor; undefined for an invalid cursor. */
export const parseCursor = (cursor: string): Position | undefined => {
  try {
    const parsed: unknown = Json.parse(Buffer.from(cursor, "base64url").toString("utf8"))
    return Array.isArray(parsed) && parsed.length === 4 && parsed.every((part) => typeof part === "string") &&
        /^\d{1,15}$/.test(String(parsed[0]))
      ? parsed as unknown as Position
      : undefined
  } catch {
    return undefined
  }
}
