import { Effect } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { profileOfUser, profilesOfEmail } from "../../profiles/ProfileRows.ts"
import { dayMillis } from "../../bandit/Window.ts"
import { noMessage } from "../decisions/Decision.ts"
import { recordset, type RowOf } from "../../store/Recordset.ts"
import { type Claim, isByUser, isOptOutOfPerson } from "./Claim.ts"
import { type DecisionRef, type DecisionRow, refOf } from "./DecisionRef.ts"

/** An event without a tracking id is attributed to a decision of up to this many days before it. Unit: days. */
export const windowDays = 7

/**
 * Maximum difference between the clocks of two systems, by which an event may seem to precede its decision. Unit:
 * hours.
 */
const toleranceHours = 2

/** Decisions of this many days before an event are searched first. Older decisions do not count. Unit: days. */
const recentDays = 31

/** Maximum number of templates with one tracking id to which an event is attributed. */
const templatesPerTrackingId = 100

/** Columns of a decision reference with the names of its fields, so that thousands of rows are not copied. */
const refColumns =
  `d.tracking_id AS "trackingId", d.template_id AS "templateId", d.copy_id AS "copyId", d.segment, d.mode,
  d.propensity, d.user_id AS "userId", d.decided_at AS "decidedAt"`

interface Row extends DecisionRow {
  readonly place: number
}

/**
 * Resolves the tracking ids of events that carry only the platform's message id, if another event has linked that
 * message id to a tracking id. Returns the events in order.
 */
export const resolveLinks = Effect.fnUntraced(function* <A extends Claim>(
  sql: SqlClient.SqlClient,
  claims: ReadonlyArray<A>,
): Effect.fn.Return<ReadonlyArray<A>, SqlError> {
  const wanted = claims.flatMap(({ messageKey, org, source, trackingId }, place) =>
    trackingId !== undefined || messageKey === undefined
      ? []
      : [{ place, org_slug: org, source, message_key: messageKey }]
  )
  if (wanted.length === 0) return claims
  const rows = yield* sql<{ place: number; trackingId: string }>`
    SELECT r.place, l.tracking_id
    FROM ${recordset(wanted, { place: "int", org_slug: "text", source: "text", message_key: "text" })}
    JOIN attribution_links l ON l.org_slug = r.org_slug AND l.source = r.source AND l.message_key = r.message_key`
  const resolved = [...claims]
  for (const { place, trackingId } of rows) resolved[place] = { ...claims[place]!, trackingId }
  return resolved
})

const idColumns = { place: "int", org_slug: "text", tracking_id: "text", template_id: "text", since: "float8" } as const

/**
 * Returns the decisions with the given tracking ids or aliases that match `when`. Laterals with a limit force
 * PostgreSQL to use the index. Otherwise a plan that was cached while a table was empty would read the whole table.
 */
const byTrackingId = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<RowOf<typeof idColumns>>,
  when: Statement.Fragment,
) => {
  const columns = sql.literal(refColumns)
  return sql<Row>`
    WITH r AS MATERIALIZED (SELECT * FROM ${recordset(ids, idColumns)})
    SELECT r.place, ${columns} FROM r
    CROSS JOIN LATERAL (
      SELECT * FROM decisions d
      WHERE d.org_slug = r.org_slug AND d.tracking_id = r.tracking_id
        AND (r.template_id IS NULL OR d.template_id = r.template_id) AND ${when}
      ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT ${templatesPerTrackingId}) d
    UNION ALL
    SELECT r.place, ${columns} FROM r
    CROSS JOIN LATERAL (
      SELECT * FROM tracking_aliases a
      WHERE a.org_slug = r.org_slug AND a.alias = r.tracking_id
        AND (r.template_id IS NULL OR a.template_id = r.template_id)
      ORDER BY a.org_slug, a.alias, a.template_id LIMIT ${templatesPerTrackingId}) a
    CROSS JOIN LATERAL (
      SELECT * FROM decisions d
      WHERE d.org_slug = a.org_slug AND d.tracking_id = a.tracking_id AND d.template_id = a.template_id AND ${when}
      ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT 1) d
    LEFT JOIN LATERAL (
      SELECT true AS decided FROM decisions own
      WHERE own.org_slug = a.org_slug AND own.tracking_id = a.alias AND own.template_id = a.template_id
      ORDER BY own.org_slug, own.tracking_id, own.template_id LIMIT 1) own ON true
    WHERE own.decided IS NULL`.withoutTransform
}

/** Maximum number of profiles with one e-mail address that are used. */
const profilesPerEmail = 10

/**
 * The names with which the person of event `r` may have decisions: the user id, and for an opt-out also the address and
 * the aliases in the person's profile.
 */
const namesOf = (sql: SqlClient.SqlClient) =>
  sql`
    SELECT r.user_id AS name
    UNION SELECT r.email WHERE r.opts_out AND r.email IS NOT NULL
    UNION SELECT lower(r.email) WHERE r.opts_out AND r.email IS NOT NULL
    UNION SELECT p.email FROM (${profileOfUser(sql, sql`r.org_slug`, "r.user_id")}) p
      WHERE r.opts_out AND p.email IS NOT NULL
    UNION SELECT unnest(ARRAY[p.user_id, p.email])
      FROM (${profilesOfEmail(sql, "r.org_slug", "coalesce(r.email, r.user_id)", profilesPerEmail)}) p WHERE r.opts_out`

const userColumns = {
  place: "int",
  org_slug: "text",
  user_id: "text",
  email: "text",
  template_id: "text",
  occurred_at: "float8",
  converts: "boolean",
  opts_out: "boolean",
} as const

/**
 * Returns the decisions of each event, in the order of `claims`; empty if no decision is found.
 *
 * 1. By tracking id: every decision with this id, of all templates or of the template that the event names. If the
 *    tracking id is an alias of a sticky choice, the decision of that choice, unless the id has a decision of its own.
 * 2. Without a tracking id (see `resolveLinks`): the user's latest decision for the named template, within 7 days
 *    before the event. Conversions and opt-outs that name no template match decisions of any template. An event with an
 *    unknown tracking id is not attributed by user. If the user is in the holdout and received no message, only
 *    conversions are attributed by user.
 */
export const attribute = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  claims: ReadonlyArray<Claim>,
): Effect.fn.Return<ReadonlyArray<ReadonlyArray<DecisionRef>>, SqlError> {
  const found: Array<Array<DecisionRef>> = claims.map(() => [])

  const ids = claims.flatMap((claim, place) =>
    claim.trackingId === undefined ? [] : [{
      place,
      org_slug: claim.org,
      tracking_id: claim.trackingId,
      template_id: claim.templateId,
      since: claim.occurredAt - recentDays * dayMillis,
    }]
  )
  const add = (rows: ReadonlyArray<Row>) => {
    for (const row of rows) found[row.place]!.push(refOf(claims[row.place]!.org, row))
  }
  if (ids.length > 0) {
    add(yield* byTrackingId(sql, ids, sql`d.decided_at >= to_timestamp(r.since / 1000.0)`))
    // Older decisions do not count. Their partitions are searched only if the recent partitions have no match.
    const left = ids.filter(({ place }) => found[place]!.length === 0)
    if (left.length > 0) add(yield* byTrackingId(sql, left, sql`d.decided_at < to_timestamp(r.since / 1000.0)`))
  }

  const users = claims.flatMap((claim, place) =>
    isByUser(claim)
      ? [{
        place,
        org_slug: claim.org,
        user_id: claim.user,
        email: claim.email ?? null,
        template_id: claim.templateId ?? null,
        occurred_at: claim.occurredAt,
        converts: claim.event === "conversion",
        opts_out: isOptOutOfPerson(claim),
      }]
      : []
  )
  if (users.length > 0) {
    const rows = yield* sql<Row>`
      SELECT r.place, ${sql.literal(refColumns)}
      FROM ${recordset(users, userColumns)}
      CROSS JOIN LATERAL (
        SELECT d.* FROM (${namesOf(sql)}) n
        CROSS JOIN LATERAL (
        SELECT * FROM decisions d
        WHERE d.org_slug = r.org_slug AND d.user_id = n.name
          AND d.decided_at <= to_timestamp(r.occurred_at / 1000.0) + ${`${toleranceHours} hours`}::interval
          AND d.decided_at > to_timestamp(r.occurred_at / 1000.0) - ${`${windowDays} days`}::interval
          AND (r.template_id IS NULL OR d.template_id = r.template_id) AND (r.converts OR d.copy_id <> ${noMessage})
        ORDER BY d.decided_at > to_timestamp(r.occurred_at / 1000.0), d.decided_at DESC, d.tracking_id, d.template_id
        LIMIT 1) d
        ORDER BY d.decided_at > to_timestamp(r.occurred_at / 1000.0), d.decided_at DESC, d.tracking_id, d.template_id
        LIMIT 1
      ) d`.withoutTransform
    for (const row of rows) found[row.place]!.push(refOf(claims[row.place]!.org, row))
  }
  return found
})
