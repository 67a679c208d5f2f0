import { recordset } from "../store/Recordset.ts"
import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { measures } from "../bandit/Tally.ts"
import { contextSql } from "./ContextColumns.ts"

// Tallies for results, as one JSON text, so that many rows do not block the event loop. Each function fails with
// `SqlError` if the database does not respond.

// The measures are constants, so the query contains no text of a request.
const sums = `json_build_array(${measures.map((measure) => `sum(t.${measure})`).join(", ")})`

/** An interval of bucket starts: `from` (inclusive) to `to` (exclusive). */
interface BucketSpan {
  readonly from: Date
  readonly to: Date
}

/**
 * Counts by variant, context and track: a JSON array of `[copyId, context, track, counts in the order of measures]`.
 */
export const countsOf = (sql: SqlClient.SqlClient, org: string, template: string, { from, to }: BucketSpan) =>
  Effect.map(
    sql<{ readonly rows: string }>`
      SELECT coalesce(json_agg(json_build_array(g.copy_id, g.context, g.track, g.counts)), '[]')::text AS rows
      FROM (
        SELECT t.copy_id, ${sql.literal(contextSql)} AS context, t.track, ${sql.literal(sums)} AS counts
        FROM tallies t
        WHERE t.org_slug = ${org} AND t.template_id = ${template}
          AND t.bucket_start >= ${from} AND t.bucket_start < ${to}
        GROUP BY 1, 2, 3
      ) g`,
    ([row]) => row!.rows,
  )

/** The measures of a series. */
export const seriesMeasures = [
  "decisions",
  "voided",
  "open",
  "click",
  "conversion",
  "negative",
  "revenue",
  "revenue_square",
] as const
/** Counts by measure of a series. */
export type SeriesCounts = { readonly [measure in typeof seriesMeasures[number]]: number }

/** Options for sums of counts over time. */
interface SeriesSpan extends BucketSpan {
  /** Length of a step. Unit: milliseconds. */
  readonly length: number
  /** Start of any step. Unit: Unix milliseconds. */
  readonly origin: number
  /** Whether contexts are separate or summed. */
  readonly byContext: boolean
  /** Ids of the variants to read. Default: all variants. */
  readonly copyIds?: ReadonlyArray<string> | undefined
  /** Maximum number of rows. */
  readonly limit: number
}

/**
 * Learned counts of each variant in each step of an interval: the number of rows, and a JSON array of `[first bucket,
 * sum of decisions × bucket, copyId, context, counts in the order of `seriesMeasures`]`. Times are Unix milliseconds.
 */
export const countsOverTime = (sql: SqlClient.SqlClient, org: string, template: string, span: SeriesSpan) => {
  const context: Statement.Fragment = span.byContext ? sql.literal(contextSql) : sql`''::text`
  const variants: Statement.Fragment = span.copyIds === undefined
    ? sql.literal("")
    : sql`AND t.copy_id = ANY(${span.copyIds}::text[])`
  return Effect.map(
    sql<{ readonly count: number; readonly rows: string }>`
      SELECT count(*)::int AS count, coalesce(json_agg(json_build_array(g.first, g.moment, g.copy_id, g.context,
        ${sql.literal(seriesMeasures.map((measure) => `g.${measure}`).join(", "))})), '[]')::text AS rows
      FROM (
        SELECT extract(epoch FROM min(t.bucket_start))::float8 * 1000 AS first,
          sum(t.decisions * extract(epoch FROM t.bucket_start)::float8) * 1000 AS moment,
          t.copy_id, ${context} AS context,
          ${sql.literal(seriesMeasures.map((measure) => `sum(t.${measure}) AS ${measure}`).join(", "))}
        FROM tallies t
        WHERE t.org_slug = ${org} AND t.template_id = ${template} AND t.track = 'learned'
          AND t.bucket_start >= ${span.from} AND t.bucket_start < ${span.to} ${variants}
        GROUP BY date_bin(make_interval(secs => ${span.length / 1000}::float8), t.bucket_start, ${new Date(
      span.origin,
    )}),
          t.copy_id, ${context}
        LIMIT ${span.limit + 1}
      ) g`,
    ([row]) => row!,
  )
}

/** Delays of outcomes: a JSON array of `[hour, outcome, delay class, count]`. Hours are Unix milliseconds. */
export const delayRows = (sql: SqlClient.SqlClient, org: string, template: string) =>
  Effect.map(
    sql<{ readonly delays: string }>`
      SELECT coalesce(json_agg(json_build_array(extract(epoch FROM d.hour)::float8 * 1000, d.outcome, d.delay_class,
        d.count)), '[]')::text AS delays
      FROM delay_tallies d WHERE d.org_slug = ${org} AND d.template_id = ${template}`,
    ([row]) => row!.delays,
  )

/** Decisions of templates on each day from `first` on. */
export const dailyDecisions = (
  sql: SqlClient.SqlClient,
  org: string,
  templates: ReadonlyArray<string>,
  first: Date,
) =>
  sql<{ readonly id: string; readonly day: Date; readonly decisions: number }>`
    SELECT r.id, c.day, c.decisions
    FROM ${recordset(templates.map((id) => ({ id })), { id: "text" })}
    CROSS JOIN LATERAL (
      SELECT d.day, sum(d.decisions)::float8 AS decisions FROM daily_decisions d
      WHERE d.org_slug = ${org} AND d.template_id = r.id AND d.day >= ${first}
      GROUP BY d.day
    ) c`

/** Decisions of each variant of a template from the day `first` on. */
export const variantDecisions = (sql: SqlClient.SqlClient, org: string, template: string, first: Date) =>
  sql<{ readonly copyId: string; readonly decisions: number }>`
    SELECT d.copy_id, sum(d.decisions)::float8 AS decisions FROM daily_decisions d
    WHERE d.org_slug = ${org} AND d.template_id = ${template} AND d.day >= ${first}
    GROUP BY d.copy_id`

/** Attempted renderings of a variant, and the number of them that failed. */
interface RenderedCounts {
  readonly copyId: string
  readonly attempted: number
  readonly failed: number
}

/**
 * Renderings by variant for the folded decisions of an interval. A refusal, for which no candidate could be rendered,
 * is not a decision and does not count.
 */
export const renderingsOf = (sql: SqlClient.SqlClient, org: string, template: string, { from, to }: BucketSpan) =>
  sql<RenderedCounts>`
    SELECT t.copy_id,
      (sum(t.decisions) + coalesce(sum(t.unrendered) FILTER (WHERE t.track = 'forced'), 0))::float8 AS attempted,
      sum(t.unrendered)::float8 AS failed
    FROM tallies t
    WHERE t.org_slug = ${org} AND t.template_id = ${template} AND t.bucket_start >= ${from} AND t.bucket_start < ${to}
    GROUP BY t.copy_id ORDER BY t.copy_id`

/** Decisions of a template in each bucket of an interval, latest first. */
export const decisionsByBucket = (sql: SqlClient.SqlClient, org: string, template: string, { from, to }: BucketSpan) =>
  sql<{ readonly bucketStart: Date; readonly decisions: number }>`
    SELECT t.bucket_start, sum(t.decisions)::float8 AS decisions FROM tallies t
    WHERE t.org_slug = ${org} AND t.template_id = ${template} AND t.track <> 'automated'
      AND t.bucket_start >= ${from} AND t.bucket_start < ${to}
    GROUP BY 1 ORDER BY 1 DESC`

/**
 * Rendered and learned decisions of each variant in an interval, and the number of them with an event that the message
 * was sent.
 */
export const sentByVariant = (sql: SqlClient.SqlClient, org: string, template: string, { from, to }: BucketSpan) =>
  sql<{ readonly copyId: string; readonly decisions: number; readonly sent: number }>`
    SELECT t.copy_id, sum(t.decisions - t.unrendered)::float8 AS decisions, sum(t.sent)::float8 AS sent FROM tallies t
    WHERE t.org_slug = ${org} AND t.template_id = ${template} AND t.track = 'learned'
      AND t.bucket_start >= ${from} AND t.bucket_start < ${to}
    GROUP BY 1 ORDER BY 1`
