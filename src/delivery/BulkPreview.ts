import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { suppressionsOfRow } from "../suppressions/SuppressionQuery.ts"
import { templateRows } from "../templates/TemplateRows.ts"
import { organizationRows } from "../organizations/OrganizationRows.ts"
import type { OrgSlug } from "../domain/Ids.ts"
import type { DeliveryState } from "./Delivery.ts"
import { type BulkFilter, matching } from "./DeliveryFilter.ts"
import { reasonPattern } from "./ReasonPattern.ts"

/** The change that a bulk action makes to each delivery that matches its filter. */
export type BulkKind = "retry" | "cancel"

/** The state of the deliveries that an action of a kind changes. */
export const stateOf: { readonly [kind in BulkKind]: DeliveryState } = { retry: "failed", cancel: "queued" }

/** A value and the number of deliveries with this value. */
export interface Share<A> {
  readonly value: A
  readonly count: number
}

/** The most frequent values of the deliveries that match a filter: at most ten values of each kind. */
interface BulkComposition {
  /** Number of deliveries that were sampled: all matching deliveries, or the latest 10,000. */
  readonly sampled: number
  /** Number of sampled deliveries with a suppressed recipient, which a retry cancels. */
  readonly suppressed: number
  /** Patterns of reasons: see `reasonPattern`. Null for deliveries without a reason. */
  readonly reasons: ReadonlyArray<Share<string | null>>
  readonly templates: ReadonlyArray<Share<string>>
  readonly connections: ReadonlyArray<Share<string | null>>
}

/** The effect that an action would have now. */
export interface BulkPreview {
  readonly kind: BulkKind
  /**
   * The requested filter with an upper time bound, so that the action does not include deliveries that change after the
   * preview.
   */
  readonly filter: BulkFilter & { readonly until: Date }
  readonly matched: number
  /** Matching deliveries that stay unchanged, because their content was erased with their recipient. */
  readonly erased: number
  /** Matching deliveries that stay unchanged, because they have expired. */
  readonly expired: number
  readonly composition: BulkComposition
}

/** Maximum number of deliveries in a composition. The latest deliveries are sampled. */
const sampledAtMost = 10_000

/** Maximum number of values of each kind in a composition. */
const listedAtMost = 10

/** Deliveries with the same reason, template and connection. */
interface BulkGroup {
  readonly reason: string | null
  readonly templateId: string
  readonly connection: string | null
  readonly count: number
  readonly suppressed: number
}

const sharesOf = <A>(groups: ReadonlyArray<BulkGroup>, valueOf: (group: BulkGroup) => A): ReadonlyArray<Share<A>> => {
  const counts = new Map<A, number>()
  for (const group of groups) {
    const value = valueOf(group)
    counts.set(value, (counts.get(value) ?? 0) + group.count)
  }
  return [...counts].map(([value, count]) => ({ value, count }))
    .sort((a, b) => b.count - a.count || (String(a.value) < String(b.value) ? -1 : 1))
    .slice(0, listedAtMost)
}

/** Returns the composition of groups of deliveries. */
export const composition = (groups: ReadonlyArray<BulkGroup>): BulkComposition => ({
  sampled: groups.reduce((sum, { count }) => sum + count, 0),
  suppressed: groups.reduce((sum, { suppressed }) => sum + suppressed, 0),
  reasons: sharesOf(groups, ({ reason }) => reason === null ? null : reasonPattern(reason)),
  templates: sharesOf(groups, ({ templateId }) => templateId),
  connections: sharesOf(groups, ({ connection }) => connection),
})

/** Condition: delivery `d` has expired. */
const isExpired = (sql: SqlClient.SqlClient) => sql`COALESCE(d.expires_at <= now(), FALSE)`

/** Condition: an action changes delivery `d`. A delivery without an address cannot be retried. */
export const changing = (sql: SqlClient.SqlClient, org: OrgSlug, kind: BulkKind, filter: BulkFilter) =>
  sql`d.org_slug = ${org} AND ${matching(sql, { ...filter, state: stateOf[kind] })} AND ${
    kind === "retry" ? sql`d.email IS NOT NULL AND NOT ${isExpired(sql)}` : sql`TRUE`
  }`

/**
 * Adds an upper time bound to a filter: the bound of the filter, or the database's current time if that is earlier.
 * Deliveries that fail or are queued after the bound do not match.
 */
export const bounded = (sql: SqlClient.SqlClient, filter: BulkFilter) =>
  Effect.map(
    // Rounds up to the next full millisecond, because a Date has no fractions of milliseconds.
    sql<{ now: Date }>`SELECT date_trunc('milliseconds', now()) + interval '1 millisecond' AS now`,
    ([row]) => ({ ...filter, until: filter.until !== undefined && filter.until < row!.now ? filter.until : row!.now }),
  )

/** Counts the deliveries that an action would change now, up to `most`. Default: no limit. */
export const countMatched = (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  kind: BulkKind,
  filter: BulkFilter,
  most?: number,
) =>
  Effect.map(
    sql<{ count: number }>`
      SELECT count(*)::float8 AS count FROM (
        SELECT FROM deliveries d WHERE ${changing(sql, org, kind, filter)} LIMIT ${most ?? null}::bigint) q`,
    ([row]) => row!.count,
  )

/**
 * Returns the effect that an action would have now. Reads every matching delivery: about 1 second per million
 * deliveries.
 */
export const preview = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: OrgSlug,
  kind: BulkKind,
  selection: BulkFilter,
): Effect.fn.Return<BulkPreview, SqlError> {
  const filter = yield* bounded(sql, selection)
  const isLate = kind === "retry" ? isExpired(sql) : sql`FALSE`
  const [counts] = yield* sql<{ matched: number; erased: number; expired: number }>`
    SELECT count(*) FILTER (WHERE d.email IS NOT NULL AND NOT ${isLate})::float8 AS matched,
      count(*) FILTER (WHERE d.email IS NULL)::float8 AS erased,
      count(*) FILTER (WHERE d.email IS NOT NULL AND ${isLate})::float8 AS expired
    FROM deliveries d WHERE d.org_slug = ${org} AND ${matching(sql, { ...filter, state: stateOf[kind] })}`
  const groups = yield* sql<BulkGroup>`
    SELECT g.reason, g.template_id, g.connection, count(*)::float8 AS count,
      count(*) FILTER (WHERE ${kind === "retry" ? isSuppressed(sql) : sql`FALSE`})::float8 AS suppressed
    FROM (SELECT d.org_slug, d.address_key, d.template_id, d.connection, left(d.reason, 400) AS reason
      FROM deliveries d WHERE ${changing(sql, org, kind, filter)} ORDER BY d.id DESC LIMIT ${sampledAtMost}) g
    GROUP BY g.reason, g.template_id, g.connection`
  return { kind, filter, ...counts!, composition: composition(groups) }
})

/** Condition: the suppression list blocks message `g`. */
const isSuppressed = (sql: SqlClient.SqlClient) =>
  sql`EXISTS (SELECT 1 FROM (${suppressionsOfRow(sql, "g")}) s
    JOIN ${sql.literal(organizationRows("suppression"))} ON o.slug = g.org_slug AND o.suppression
    LEFT JOIN ${sql.literal(templateRows)} ON t.org_slug = g.org_slug AND t.id = g.template_id
    WHERE NOT (s.reason = 'unsubscribe' AND COALESCE(t.ignore_unsubscribes, FALSE)))`
