import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { dayMillis, hourMillis } from "../../bandit/Window.ts"
import { platforms, type SourceId } from "../../domain/Source.ts"
import { organizationRows } from "../../organizations/OrganizationRows.ts"
import { recordset } from "../../store/Recordset.ts"

/** Days of a rhythm. */
const rhythmDays = 14

/** When bodies of a source arrived in the last 14 days, by the hour. */
export interface SourceRhythm {
  readonly source: SourceId
  /** Start of the first hour with a body. */
  readonly firstHour: Date
  /** Start of the last one. */
  readonly lastHour: Date
  /** Hours with a body. */
  readonly hours: number
  /** Days (UTC) with a body. */
  readonly days: number
  /** The longest time from one such hour to the next one. Unit: hours. */
  readonly longestPauseHours: number
}

/** The hours in which sources sent something, written down while they happen. */
export class SourceRhythms extends Context.Service<SourceRhythms, {
  /** Notes the hour of the latest body of each source of each organization. Fails with `SqlError` when the database does not respond. */
  readonly note: Effect.Effect<void, SqlError>
  /**
   * The rhythm of each source with no body in an hour that began at `quietSince` or later, by organization. Organizations without
   * such a source are left out. Fails with `SqlError` when the database does not respond.
   */
  readonly ofQuiet: (
    orgs: ReadonlyArray<string>,
    quietSince: Date,
  ) => Effect.Effect<ReadonlyMap<string, ReadonlyArray<SourceRhythm>>, SqlError>
  /** Deletes hours of more than 14 days ago. Fails with `SqlError` when the database does not respond. */
  readonly prune: Effect.Effect<void, SqlError>
}>()("parlance/journal/inbox/SourceRhythms") {
  static readonly layer = Layer.effect(
    SourceRhythms,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const since = () => new Date(clock.currentTimeMillisUnsafe() - rhythmDays * dayMillis)
      const sources = Object.keys(platforms).map((source) => ({ source }))

      // The look-up of the latest body is that of `Arrivals`, by index. A body of a later hour than the last one noted is new.
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
