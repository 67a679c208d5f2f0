import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { hourMillis } from "../../bandit/Window.ts"
import type { OrgSlug } from "../../domain/Ids.ts"
import { platforms, type SourceId } from "../../domain/Source.ts"
import { recordset } from "../../store/Recordset.ts"

/** Maximum number of bodies of a source that are read. */
const recentBodies = 500

/** Maximum number of pending bodies that are counted. */
const countedPending = 1_000

/** Recent activity of a source, from its latest 500 bodies. */
export interface Arrival {
  readonly source: SourceId
  readonly lastReceivedAt: Date
  /** Number of events in the bodies of the last hour. */
  readonly eventsLastHour: number
  /** Whether the last hour has more bodies than were read, so that `eventsLastHour` is a lower bound. */
  readonly isAtLeast: boolean
  /** Number of these bodies that were not understood, completely or in part. */
  readonly notUnderstood: number
  /** Number of pending bodies, up to 1,000, and age of the oldest (`lagSeconds`). Unit: seconds. */
  readonly pending: number
  readonly lagSeconds: number
}

/**
 * Reads the current activity of sources by index, at a cost that does not grow with the number of stored rows. A
 * database failure is a defect.
 */
export class Arrivals extends Context.Service<Arrivals, {
  /** Returns all sources that have ever sent a body, latest first. */
  readonly recent: (org: OrgSlug) => Effect.Effect<ReadonlyArray<Arrival>>
}>()("parlance/journal/inbox/Arrivals") {
  static readonly layer = Layer.effect(
    Arrivals,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock

      const recent = Effect.fn("Arrivals.recent")(function* (org: OrgSlug) {
        const now = clock.currentTimeMillisUnsafe()
        const hourAgo = new Date(now - hourMillis)
        const sources = Object.keys(platforms).map((source) => ({ source }))
        const rows = yield* sql<Arrival>`
          SELECT s.source, r.last_received_at, r.events_last_hour,
            r.bodies = ${recentBodies} AND r.first_received_at > ${hourAgo} AS is_at_least, r.not_understood, p.pending,
            GREATEST(0, coalesce(extract(epoch FROM ${new Date(
          now,
        )}::timestamptz - p.oldest), 0))::float8 AS lag_seconds
          FROM ${recordset(sources, { source: "text" }, "s")}
          CROSS JOIN LATERAL (
            SELECT max(l.received_at) AS last_received_at, min(l.received_at) AS first_received_at, count(*) AS bodies,
              coalesce(sum(l.events) FILTER (WHERE l.received_at > ${hourAgo}), 0)::float8 AS events_last_hour,
              (count(*) FILTER (WHERE l.status IN ('partial', 'rejected')))::int AS not_understood
            FROM (
              SELECT i.received_at, i.events, i.status FROM inbox i
              -- As a range, and in the order of the index: with an equality the primary key is read backwards instead,
              -- for a source that nothing came from down to the very first body.
              WHERE i.org_slug = ${org} AND i.source >= s.source AND i.source <= s.source
              ORDER BY i.org_slug DESC, i.source DESC, i.id DESC LIMIT ${recentBodies}
            ) l
          ) r
          CROSS JOIN LATERAL (
            SELECT count(*)::int AS pending, min(w.received_at) AS oldest
            FROM (
              SELECT i.received_at FROM inbox i
              WHERE i.status = 'pending' AND i.org_slug = ${org} AND i.source = s.source LIMIT ${countedPending}
            ) w
          ) p
          WHERE r.last_received_at IS NOT NULL
          ORDER BY r.last_received_at DESC, s.source`
        return rows
      }, Effect.orDie)

      return Arrivals.of({ recent })
    }),
  )
}
