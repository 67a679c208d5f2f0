import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { organizationRows } from "../organizations/OrganizationRows.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import { countedAtMost } from "./Deliveries.ts"

/** How long counts per minute are stored. Unit: hours. */
export const keptHours = 35 * 24

/** Possible intervals of a series (unit: minutes), and the maximum number of complete intervals. */
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720] as const
const mostPoints = 100

/** Maximum number of expired minutes of an organization that one statement removes. */
const removedAtOnce = 1_000

/** Counts of one interval. */
export interface DeliveryPoint {
  readonly start: Date
  readonly end: Date
  /**
   * Elapsed minutes of the interval, for rates. Minimum 1, so that a minute that has just begun does not show a high
   * rate.
   */
  readonly minutes: number
  /** False for the current interval. */
  readonly complete: boolean
  readonly sent: number
  readonly failed: number
  /** Failed attempts that will be repeated. */
  readonly retried: number
  /** Highest number of due messages; 50,000 means 50,000 or more. Null without a sample. */
  readonly queued: number | null
  /** Highest age of the oldest due message. Unit: seconds. Null without a sample. */
  readonly oldestDueSeconds: number | null
}

/** Delivery over time, in intervals of equal length. */
export interface DeliverySeries {
  readonly hours: number
  /** Length of an interval. Unit: minutes. */
  readonly stepMinutes: number
  /** Without gaps, oldest first. */
  readonly points: ReadonlyArray<DeliveryPoint>
}

interface Row {
  readonly start: Date
  readonly now: Date
  readonly sent: number
  readonly failed: number
  readonly retried: number
  readonly queued: number | null
  readonly oldestDueSeconds: number | null
  /** According to the counts of the interval, a message had been queued since this time or earlier. */
  readonly since: Date | null
}

/** The shortest interval with which a series of this many hours stays within `mostPoints`. Unit: minutes. */
export const stepOf = (hours: number): number =>
  steps.find((step) => hours * 60 / step <= mostPoints) ?? steps[steps.length - 1]!

/**
 * Delivery over time. `Outbox.settle` counts the results of messages when it stores them. One of the nodes samples the
 * length and age of the queue once a minute. All times are the database's.
 */
export class DeliveryRates extends Context.Service<DeliveryRates, {
  /** Counts of the last `hours` (1 to `keptHours`) in about 60 to 100 intervals. A database failure is a defect. */
  readonly series: (org: OrgSlug, hours: number) => Effect.Effect<DeliverySeries>
  /**
   * Samples the length and age of the queue of each organization with queued messages, unless a node has done so in
   * this minute. Fails with `SqlError` if the database does not respond.
   */
  readonly sample: Effect.Effect<void, SqlError>
  /** Removes counts older than `keptHours`. Fails with `SqlError` if the database does not respond. */
  readonly forget: Effect.Effect<void, SqlError>
}>()("parlance/delivery/DeliveryRates") {
  static readonly layer = Layer.effect(
    DeliveryRates,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const sample = Effect.asVoid(sql`
        WITH waiting AS MATERIALIZED (
          SELECT o.slug, n.minute, f.due_at FROM ${sql.literal(organizationRows())}
          CROSS JOIN (SELECT date_bin('1 minute', now(), 'epoch') AS minute) n
          CROSS JOIN LATERAL (SELECT d.due_at FROM deliveries d
            WHERE d.org_slug = o.slug AND d.state = 'queued' AND d.due_at <= now()
            ORDER BY d.org_slug, d.due_at, d.id LIMIT 1) f
          WHERE NOT EXISTS (SELECT 1 FROM delivery_minutes s
            WHERE s.org_slug = o.slug AND s.minute = n.minute AND s.queued IS NOT NULL)
        )
        INSERT INTO delivery_minutes AS m (org_slug, minute, queued, oldest_due_seconds)
        SELECT w.slug, w.minute, q.queued, extract(epoch FROM now() - w.due_at)
        FROM waiting w
        CROSS JOIN LATERAL (SELECT count(*) AS queued FROM (SELECT FROM deliveries d
          WHERE d.org_slug = w.slug AND d.state = 'queued' AND d.due_at <= now() LIMIT ${countedAtMost}) a) q
        ORDER BY w.slug
        ON CONFLICT (org_slug, minute) DO UPDATE SET queued = EXCLUDED.queued,
          oldest_due_seconds = EXCLUDED.oldest_due_seconds WHERE m.queued IS NULL`).pipe(
        Effect.withSpan("DeliveryRates.sample"),
      )

      const forget = Effect.asVoid(sql`
        DELETE FROM delivery_minutes m WHERE (m.org_slug, m.minute) IN (
          SELECT x.org_slug, x.minute FROM ${sql.literal(organizationRows())}
          CROSS JOIN LATERAL (SELECT e.org_slug, e.minute FROM delivery_minutes e
            WHERE e.org_slug = o.slug AND e.minute < now() - ${keptHours} * interval '1 hour'
            ORDER BY e.org_slug, e.minute LIMIT ${removedAtOnce}) x)`)

      const series = Effect.fn("DeliveryRates.series")(function* (org: OrgSlug, hours: number) {
        const stepMinutes = stepOf(hours)
        const rows = yield* sql<Row>`
          SELECT g.start, now() AS now, coalesce(c.sent, 0) AS sent, coalesce(c.failed, 0) AS failed,
            coalesce(c.retried, 0) AS retried, c.queued::float8 AS queued, c.oldest_due_seconds, c.since
          FROM (SELECT ${stepMinutes} * interval '1 minute' AS step) s
          CROSS JOIN LATERAL (SELECT date_bin(s.step, now() - ${hours} * interval '1 hour', 'epoch') AS first) f
          CROSS JOIN LATERAL generate_series(f.first, now(), s.step) AS g(start)
          LEFT JOIN (
            SELECT date_bin(${stepMinutes} * interval '1 minute', m.minute, 'epoch') AS start,
              sum(m.sent::float8) AS sent, sum(m.failed::float8) AS failed, sum(m.retried::float8) AS retried, max(m.queued) AS queued,
              max(m.oldest_due_seconds) AS oldest_due_seconds,
              min(m.minute + interval '1 minute' - m.oldest_due_seconds * interval '1 second')
                FILTER (WHERE m.oldest_due_seconds > 60) AS since
            FROM delivery_minutes m
            WHERE m.org_slug = ${org}
              AND m.minute >= now() - ${hours} * interval '1 hour' - ${stepMinutes} * interval '1 minute'
            GROUP BY 1
          ) c ON c.start = g.start
          ORDER BY g.start DESC`
        // An empty queue stores no sample. If a minute has no sample although messages of a later minute were already
        // queued in it, the queue was not observed: its length is unknown.
        let waitedSince = Infinity
        const points = rows.map(({ now, oldestDueSeconds, queued, since, start, ...counts }): DeliveryPoint => {
          const end = start.getTime() + stepMinutes * 60_000
          const complete = end <= now.getTime()
          const seen = queued !== null
          const isUnknown = !seen && (!complete || waitedSince <= start.getTime())
          if (since !== null) waitedSince = Math.min(waitedSince, since.getTime())
          return {
            start,
            end: new Date(end),
            minutes: complete ? stepMinutes : Math.max(1, (now.getTime() - start.getTime()) / 60_000),
            complete,
            ...counts,
            queued: seen ? queued : isUnknown ? null : 0,
            oldestDueSeconds: seen ? oldestDueSeconds : isUnknown ? null : 0,
          }
        })
        return { hours, stepMinutes, points: points.reverse() }
      }, Effect.orDie)

      return DeliveryRates.of({ series, sample, forget })
    }),
  )

  /** Samples and removes continuously while the process serves. */
  static readonly layerRunning = Layer.effectDiscard(Effect.gen(function* () {
    const { forget, sample } = yield* DeliveryRates
    yield* sample.pipe(
      Effect.catch((error) => Effect.logDebug("The length of the queue was not sampled", error.message)),
      // Four times a minute, so that a slow round does not skip a minute. A round that finds the sample of its minute
      // costs one query.
      Effect.repeat(Schedule.spaced("15 seconds")),
      Effect.forkScoped,
    )
    yield* forget.pipe(
      Effect.catch((error) => Effect.logDebug("Expired delivery counts were not removed", error.message)),
      Effect.repeat(Schedule.spaced("10 minutes")),
      Effect.forkScoped,
    )
  }))
}
