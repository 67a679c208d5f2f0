import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { EventName } from "../../domain/EventKinds.ts"
import { noMessage } from "./Decision.ts"

// Reads decisions and events of one template individually, to check a test. These figures are not stored; the tallies
// contain the running counts.

/** Decisions from `from` to before `to`. */
export interface SampleSpan {
  readonly from: Date
  readonly to: Date
}

/**
 * How often a variant was chosen (`observed`), and the number of choices that the recorded probabilities predict
 * (`expected`), with its variance.
 */
export interface SampledChoices {
  readonly copyId: string
  readonly observed: number
  readonly expected: number
  readonly variance: number
}

/** The people of a sample, and the share of the most active 1 % in decisions and outcomes. */
export interface SampledPeople {
  readonly people: number
  /** Number of people in the most active 1 %, minimum 1. */
  readonly heaviest: number
  readonly decisions: number
  /** Decisions with an outcome. */
  readonly outcomes: number
  /** Decisions of the `heaviest` people with the most decisions. */
  readonly heaviestDecisions: number
  /** Outcomes of the `heaviest` people with the most outcomes. */
  readonly heaviestOutcomes: number
}

/** Statement timeout, so that a page never waits for a large table. */
const longest = "2s"

const bounded = <A, E, R>(sql: SqlClient.SqlClient, effect: Effect.Effect<A, E, R>) =>
  sql.withTransaction(Effect.andThen(sql.unsafe(`SET LOCAL statement_timeout = '${longest}'`), effect))

/**
 * Random choices in a span, by variant, including variants that could not be rendered. Fails with `SqlError` if the
 * database does not respond within two seconds.
 */
export const sampleChoices = (sql: SqlClient.SqlClient, org: string, template: string, { from, to }: SampleSpan) =>
  bounded(
    sql,
    sql<SampledChoices>`
      WITH looked AS (
        SELECT d.copy_id, d.weights, d.failed FROM decisions d
        WHERE d.org_slug = ${org} AND d.template_id = ${template} AND d.decided_at >= ${from} AND d.decided_at < ${to}
          AND (d.weights IS NOT NULL OR d.failed IS NOT NULL)
      ), drawn AS (
        SELECT l.copy_id, l.weights::text AS weights FROM looked l WHERE l.weights IS NOT NULL
        UNION ALL
        SELECT f ->> 'copy_id', (f -> 'weights')::text FROM looked l CROSS JOIN LATERAL json_array_elements(l.failed) f
        WHERE json_typeof(f -> 'weights') = 'object'
      ), choices AS (
        SELECT d.copy_id, d.weights, count(*) AS n FROM drawn d GROUP BY 1, 2
      )
      SELECT w.key AS copy_id, coalesce(sum(c.n) FILTER (WHERE w.key = c.copy_id), 0)::float8 AS observed,
        sum(c.n * w.value::float8) AS expected, sum(c.n * w.value::float8 * (1 - w.value::float8)) AS variance
      FROM choices c CROSS JOIN LATERAL json_each_text(c.weights::json) w
      GROUP BY w.key ORDER BY w.key`,
  )

/**
 * The people of a span, and the counts of the most active ones. An outcome is a decision with an event of `events` that
 * is not automated. Fails with `SqlError` if the database does not respond within two seconds.
 */
export const samplePeople = (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  { from, to }: SampleSpan,
  events: ReadonlyArray<EventName>,
) =>
  Effect.map(
    bounded(
      sql,
      sql<SampledPeople>`
        WITH people AS (
          SELECT d.user_id, count(*) AS decisions, count(*) FILTER (WHERE EXISTS (
            SELECT 1 FROM events e WHERE e.org_slug = d.org_slug AND e.tracking_id = d.tracking_id
              AND e.template_id = d.template_id AND e.event = ANY(${events}::text[]) AND e.status = 'attributed' AND NOT e.automated
          )) AS outcomes
          FROM decisions d
          WHERE d.org_slug = ${org} AND d.template_id = ${template} AND d.decided_at >= ${from} AND d.decided_at < ${to}
            AND d.user_id IS NOT NULL AND d.copy_id <> ${noMessage}
          GROUP BY d.user_id
        ), ranked AS (
          SELECT p.decisions, p.outcomes, row_number() OVER (ORDER BY p.decisions DESC) AS by_decisions,
            row_number() OVER (ORDER BY p.outcomes DESC) AS by_outcomes, ceil(count(*) OVER () / 100.0) AS heaviest
          FROM people p
        )
        SELECT count(*)::float8 AS people, coalesce(max(r.heaviest), 0)::float8 AS heaviest,
          coalesce(sum(r.decisions), 0)::float8 AS decisions, coalesce(sum(r.outcomes), 0)::float8 AS outcomes,
          coalesce(sum(r.decisions) FILTER (WHERE r.by_decisions <= r.heaviest), 0)::float8 AS heaviest_decisions,
          coalesce(sum(r.outcomes) FILTER (WHERE r.by_outcomes <= r.heaviest), 0)::float8 AS heaviest_outcomes
        FROM ranked r`,
    ),
    ([row]) => row!,
  )

/** The number of events of a template, and the number outside the time that counts for their decisions. */
export interface SampledEvents {
  readonly events: number
  readonly ignored: number
}

/** Counts the events received in a span. Fails with `SqlError` if the database does not respond within two seconds. */
export const sampleEvents = (sql: SqlClient.SqlClient, org: string, template: string, { from, to }: SampleSpan) =>
  Effect.map(
    bounded(
      sql,
      sql<SampledEvents>`
        SELECT count(*)::float8 AS events, count(*) FILTER (WHERE e.status = 'ignored')::float8 AS ignored FROM events e
        WHERE e.org_slug = ${org} AND e.template_id = ${template} AND e.received_at >= ${from} AND e.received_at < ${to}`,
    ),
    ([row]) => row!,
  )
