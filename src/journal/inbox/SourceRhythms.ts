import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { dayMillis, hourMillis } from "../../bandit/Window.ts"
import { platforms, type SourceId } from "../../domain/Source.ts"
import { organizationRows } from "../../organizations/OrganizationRows.ts"
import { recordset } from "../../store/Recordset.ts"

/** Length of a rhythm. Unit: days. */
const rhythmDays = 14

/** The hours in which bodies of a source arrived in the last 14 days. */
export interface SourceRhythm {
  readonly source: SourceId
  /** Start of the first hour with a body. */
  readonly firstHour: Date
  /** Start of the last hour with a body. */
  readonly lastHour: Date
  /** Number of hours with a body. */
  readonly hours: number
  /** Number of days (UTC) with a body. */
  readonly days: number
  /** The longest time from an hour with a body to the next. Unit: hours. */
  readonly longestPauseHours: number
}

/** Records the hours in which sources sent a body. */
export class SourceRhythms extends Context.Service<SourceRhythms, {
  /**
   * Records the hour of the latest body of each source of each organization. Fails with `SqlError` if the database does
   * not respond.
   */
  readonly note: Effect.Effect<void, SqlError>
  /**
   * Returns, by organization, the rhythms of sources without a body in an hour that began at `quietSince` or later.
   * Organizations without such a source are left out. Fails with `SqlError` if the database does not respond.
   */
  readonly ofQuiet: (
    orgs: ReadonlyArray<string>,
    quietSince: Date,
  ) => Effect.Effect<ReadonlyMap<string, ReadonlyArray<SourceRhythm>>, SqlError>
  /** Deletes hours of more than 14 days ago. Fails with `SqlError` if the database does not respond. */
  readonly prune: Effect.Effect<void, SqlError>
}>()("parlance/journal/inbox/SourceRhythms") {
  static readonly layer = Layer.effect(
    SourceRhythms,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const since = () => new Date(clock.currentTimeMillisUnsafe() - rhythmDays * dayMillis)
      const sources = Object.keys(platforms).map((source) => ({ source }))

      // Finds the latest body by index, like `Arrivals`. If its hour is later than the last recorded hour, records its
      // hour.
      const note = Effect.asVoid(Effect.suspend(() =>
        sql`
          INSERT INTO source_hours (org_slug, source, hour)
          SELECT o.slug, s.source, date_trunc('hour', l.received_at, 'UTC')
          FROM ${sql.literal(organizationRows("sandbox_of"))} CROSS JOIN ${recordset(sources, { source: "text" }, "s")}
          CROSS JOIN LATERAL (
            SELECT i.received_at FROM inbox i
            WHERE i.org_slug = o.slug AND i.source >= s.source AND i.source <= s.source
            ORDER BY i.org_slug DESC, i.source DESC, i.id DESC LIMIT 1) l
          WHERE o.sandbox_of IS NULL AND l.received_at > ${since()}
          ON CONFLICT (org_slug, source, hour) DO NOTHING`
      ))

      const ofQuiet = (orgs: ReadonlyArray<string>, quietSince: Date) =>
        Effect.map(
          sql<SourceRhythm & { readonly orgSlug: string }>`
            SELECT p.org_slug, p.source, min(p.hour) AS first_hour, max(p.hour) AS last_hour, count(*)::int AS hours,
              count(*) FILTER (WHERE p.before IS NULL OR date_trunc('day', p.hour, 'UTC') > p.before)::int AS days,
              (coalesce(extract(epoch FROM max(p.hour - p.before)), 0) * 1000 / ${hourMillis}::float8)::float8
                AS longest_pause_hours
            FROM (
              SELECT h.org_slug, h.source, h.hour, lag(h.hour) OVER (PARTITION BY h.org_slug, h.source ORDER BY h.hour) AS before
              FROM unnest(${orgs}::text[]) o (slug) CROSS JOIN ${recordset(sources, { source: "text" }, "s")}
              CROSS JOIN LATERAL (
                SELECT l.hour FROM source_hours l WHERE l.org_slug = o.slug AND l.source = s.source
                ORDER BY l.hour DESC LIMIT 1) l
              JOIN source_hours h ON h.org_slug = o.slug AND h.source = s.source AND h.hour > ${since()}
              WHERE l.hour < ${quietSince}) p
            GROUP BY p.org_slug, p.source ORDER BY p.org_slug, p.source`,
          (rows) => Map.groupBy(rows, ({ orgSlug }) => orgSlug),
        )

      const prune = Effect.asVoid(Effect.suspend(() => sql`DELETE FROM source_hours h WHERE h.hour <= ${since()}`))

      return SourceRhythms.of({ note, ofQuiet, prune })
    }),
  )
}
