import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { countedSql } from "../decisions/Track.ts"
import type { RevenueRule } from "../../bandit/Revenue.ts"
import { recordset } from "../../store/Recordset.ts"
import { type DecisionRef, type DecisionRow, refOf } from "./DecisionRef.ts"

// Rules by which conversions count as revenue. A rule applies from the transaction that writes it, which holds the lock
// of the organization's events: all earlier counts follow the earlier rule. All functions fail with `SqlError` if the
// database does not respond.

interface Row extends RevenueRule {
  readonly orgSlug: string
  readonly templateId: string
}

const keyOf = (org: string, template: string) => `${org}\0${template}`

/** The current rules of templates. Undefined: revenue is not counted. */
interface RevenueRules {
  readonly of: (decision: Pick<DecisionRef, "org" | "templateId">) => RevenueRule | undefined
}

const rulesOf = (rows: ReadonlyArray<Row>): RevenueRules => {
  const rules = new Map(
    rows.map(({ cap, currency, orgSlug, templateId }) => [keyOf(orgSlug, templateId), { cap, currency }]),
  )
  return { of: ({ org, templateId }) => rules.get(keyOf(org, templateId)) }
}

/** Reads the rules of the templates of these decisions. */
export const rulesFor = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  decisions: ReadonlyArray<DecisionRef>,
): Effect.fn.Return<RevenueRules, SqlError> {
  if (decisions.length === 0) return rulesOf([])
  const keys = new Map(decisions.map(({ org, templateId }) => [
    keyOf(org, templateId),
    { org_slug: org, template_id: templateId },
  ]))
  return rulesOf(
    yield* sql<Row>`
      SELECT v.org_slug, v.template_id, v.cap, v.currency FROM revenue_rules v
      JOIN ${recordset([...keys.values()], { org_slug: "text", template_id: "text" })}
        ON v.org_slug = r.org_slug AND v.template_id = r.template_id`,
  )
})

/** Reads the rules of an organization. */
export const rulesIn = (sql: SqlClient.SqlClient, org: string) =>
  Effect.map(
    sql<Row>`
      SELECT v.org_slug, v.template_id, v.cap, v.currency FROM revenue_rules v WHERE v.org_slug = ${org}`,
    rulesOf,
  )

/** Sets the rule of a template; undefined removes it. Call this in a transaction that holds the lock of the events. */
export const putInForce = (sql: SqlClient.SqlClient, org: string, template: string, rule: RevenueRule | undefined) =>
  rule === undefined ? sql`DELETE FROM revenue_rules v WHERE v.org_slug = ${org} AND v.template_id = ${template}` : sql`
      INSERT INTO revenue_rules (org_slug, template_id, cap, currency)
      VALUES (${org}, ${template}, ${rule.cap}, ${rule.currency})
      ON CONFLICT (org_slug, template_id) DO UPDATE SET cap = EXCLUDED.cap, currency = EXCLUDED.currency`

/** A page of decisions, and the tracking id after which the next page begins; undefined after the last page. */
export interface ValuedPage {
  readonly decisions: ReadonlyArray<DecisionRef>
  readonly last: string | undefined
}

/**
 * Reads the next page of a template's decisions, ordered by tracking id, that have an event with a value since `since`.
 */
export const valuedDecisionsAfter = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  template: string,
  { after, limit, since }: { readonly after: string; readonly since: Date; readonly limit: number },
): Effect.fn.Return<ValuedPage, SqlError> {
  const ids = yield* sql<{ readonly trackingId: string }>`
    SELECT DISTINCT e.tracking_id FROM events e
    WHERE e.org_slug = ${org} AND e.template_id = ${template} AND e.value IS NOT NULL AND e.tracking_id > ${after}
      AND e.received_at >= ${since}
    ORDER BY e.tracking_id LIMIT ${limit}`
  const wanted = ids.map(({ trackingId }) => ({ tracking_id: trackingId }))
  const rows = wanted.length === 0 ? [] : yield* sql<DecisionRow>`
    SELECT d.tracking_id, d.template_id, d.copy_id, d.segment, d.mode, d.propensity, d.user_id, d.decided_at
    FROM ${recordset(wanted, { tracking_id: "text" })}
    CROSS JOIN LATERAL (
      SELECT * FROM decisions d
      WHERE d.org_slug = ${org} AND d.tracking_id = r.tracking_id AND d.template_id = ${template}
        AND d.decided_at >= ${since} AND ${sql.literal(countedSql("d"))}
      ORDER BY d.org_slug, d.tracking_id, d.template_id LIMIT 1) d`
  return {
    decisions: rows.map((row) => refOf(org, row)),
    last: ids.length < limit ? undefined : ids.at(-1)?.trackingId,
  }
})
