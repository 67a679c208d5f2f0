import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { DecisionRow } from "../events/DecisionRef.ts"
import { noMessage } from "./Decision.ts"
import type { StoredFailure } from "./FailedRenderings.ts"
import { countedSql } from "./Track.ts"

/** A decision with its probabilities. */
export interface PagedDecision extends DecisionRow {
  /** Probabilities of all candidates. */
  readonly weights: Readonly<Record<string, number>> | null
  /** Attributes that the segment does not contain. */
  readonly further: string | null
  /** Variants that could not be rendered. */
  readonly failed: ReadonlyArray<StoredFailure> | null
}

/** Selects decisions of an organization. */
interface DecisionFilter {
  readonly since: Date
  /** Default: all templates. */
  readonly template?: string | undefined
  readonly limit: number
}

/**
 * Reads the next page of counted decisions (see `countedSql`), ordered by tracking id and template. Fails with `SqlError` if the database
 * does not respond.
 */
export const decisionsAfter = (
  sql: SqlClient.SqlClient,
  org: string,
  after: { readonly trackingId: string; readonly templateId: string },
  { limit, since, template }: DecisionFilter,
) =>
  sql<PagedDecision>`
    SELECT d.tracking_id, d.template_id, d.copy_id, d.segment, d.further, d.mode, d.propensity, d.weights,
      d.user_id, d.decided_at, d.failed FROM decisions d
    WHERE d.org_slug = ${org} AND (d.tracking_id, d.template_id) > (${after.trackingId}, ${after.templateId})
      AND d.decided_at >= ${since} AND ${sql.literal(countedSql("d"))}
      AND ${template === undefined ? sql`TRUE` : sql`d.template_id = ${template}`}
    ORDER BY d.tracking_id, d.template_id LIMIT ${limit}`

/**
 * Counts the decisions that `decisionsAfter` reads in all pages. Fails with `SqlError` if the database does not
 * respond.
 */
export const countDecisions = (
  sql: SqlClient.SqlClient,
  org: string,
  { since, template }: Omit<DecisionFilter, "limit">,
) =>
  Effect.map(
    sql<{ readonly count: number }>`
      SELECT count(*)::float8 AS count FROM decisions d
      WHERE d.org_slug = ${org} AND d.decided_at >= ${since} AND ${sql.literal(countedSql("d"))}
        AND ${template === undefined ? sql`TRUE` : sql`d.template_id = ${template}`}`,
    ([row]) => row!.count,
  )

/** The fields of a decision that later counts use. */
interface SettlingDecision {
  readonly trackingId: string
  readonly templateId: string
  readonly copyId: string
  readonly userId: string | null
  readonly segment: string
  readonly further: string | null
  readonly mode: string
  readonly holdout: "treated" | "control" | null
  readonly propensity: number | null
  readonly weights: Readonly<Record<string, number>> | null
  readonly decidedAt: Date
  readonly failed: ReadonlyArray<StoredFailure> | null
}

/** Reads up to `limit` decisions made from `from` to before `until`, earliest first. Default: no limit. */
export const decisionsBetween = (
  sql: SqlClient.SqlClient,
  org: string,
  { from, limit, until }: { readonly from: Date; readonly until: Date; readonly limit?: number },
) =>
  sql<SettlingDecision>`
    SELECT d.tracking_id, d.template_id, d.copy_id, d.user_id, d.segment, d.further, d.mode, d.holdout, d.propensity,
      d.weights, d.decided_at, d.failed
    FROM decisions d
    WHERE d.org_slug = ${org} AND d.decided_at >= ${from} AND d.decided_at < ${until}
    ORDER BY d.decided_at LIMIT ${limit ?? null}`

/** Time of the organization's first decision before `before`; undefined without such a decision. */
export const firstDecisionBefore = (sql: SqlClient.SqlClient, org: string, before: Date) =>
  Effect.map(
    sql<{ readonly decidedAt: Date | null }>`
      SELECT min(d.decided_at) AS decided_at FROM decisions d WHERE d.org_slug = ${org} AND d.decided_at < ${before}`,
    ([row]) => row?.decidedAt ?? undefined,
  )

/** The organizations with decisions from `from` to before `until`. */
export const decidingOrganizations = (sql: SqlClient.SqlClient, from: Date, until: Date) =>
  Effect.map(
    sql<{ readonly orgSlug: string }>`
      SELECT DISTINCT d.org_slug FROM decisions d WHERE d.decided_at >= ${from} AND d.decided_at < ${until}`,
    (rows) => new Set(rows.map(({ orgSlug }) => orgSlug)),
  )

/** A sent decision and its user. */
export interface SentDecision {
  readonly trackingId: string
  readonly templateId: string
  readonly copyId: string
  readonly userId: string | null
  readonly decidedAt: Date
}

/** The next page of decisions with a user, sent since `since`, ordered by user and time. */
export const userDecisionsAfter = (
  sql: SqlClient.SqlClient,
  org: string,
  after: { readonly user: string; readonly at: Date; readonly tracking: string; readonly template: string },
  { limit, since }: DecisionFilter,
) =>
  sql<SentDecision>`
    SELECT d.tracking_id, d.template_id, d.copy_id, d.user_id, d.decided_at
    FROM decisions d
    WHERE d.org_slug = ${org} AND d.user_id IS NOT NULL AND d.copy_id <> ${noMessage}
      AND d.decided_at >= ${since}
      AND (d.user_id, d.decided_at, d.tracking_id, d.template_id)
        > (${after.user}, ${after.at}::timestamptz, ${after.tracking}, ${after.template})
    ORDER BY d.user_id, d.decided_at, d.tracking_id, d.template_id LIMIT ${limit}`

/** The next page of decisions without a user, sent since `since`, ordered by tracking id and template. */
export const anonymousDecisionsAfter = (
  sql: SqlClient.SqlClient,
  org: string,
  after: { readonly tracking: string; readonly template: string },
  { limit, since }: DecisionFilter,
) =>
  sql<SentDecision>`
    SELECT d.tracking_id, d.template_id, d.copy_id, d.user_id, d.decided_at FROM decisions d
    WHERE d.org_slug = ${org} AND d.user_id IS NULL AND d.copy_id <> ${noMessage}
      AND d.decided_at >= ${since}
      AND (d.tracking_id, d.template_id) > (${after.tracking}, ${after.template})
    ORDER BY d.tracking_id, d.template_id LIMIT ${limit}`

/** SQL condition: a message was sent to the user in `column` since `since`. */
export const hasSentTo = (sql: SqlClient.SqlClient, org: string, column: string, since: Date) =>
  sql`EXISTS (
    SELECT 1 FROM decisions d
    WHERE d.org_slug = ${org} AND d.user_id = ${sql.literal(column)} AND d.copy_id <> ${noMessage}
      AND d.decided_at >= ${since})`
