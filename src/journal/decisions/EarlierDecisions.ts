import type { SqlClient } from "effect/sql"
import { dayMillis } from "../../bandit/Window.ts"
import { recordset } from "../../store/Recordset.ts"
import { noMessage } from "./Decision.ts"

// Counts the earlier decisions about people. Both statements read a limited number of decisions of each person, so that
// a person with very many decisions costs little.

/** Maximum age of earlier decisions that count. Unit: days. */
const countedDays = 30

/** Maximum number of decisions of a person that are read: the latest, of all templates. */
const most = 200

/** A decision about a person. */
export interface PersonalDecision {
  readonly templateId: string
  readonly copyId: string
  readonly userId: string
  readonly decidedAt: Date
}

/**
 * Counts, for each decision, the earlier decisions of the template about that person: for the same variant, and for all
 * variants. `place` is the index of the decision. A decision without earlier decisions has no row. Fails with
 * `SqlError` if the database does not respond.
 */
export const countEarlier = (
  sql: SqlClient.SqlClient,
  org: string,
  decisions: ReadonlyArray<PersonalDecision>,
) => {
  const rows = decisions.map(({ copyId, decidedAt, templateId, userId }, place) => ({
    place,
    template_id: templateId,
    copy_id: copyId,
    user_id: userId,
    decided_at: decidedAt.getTime(),
  }))
  const columns = {
    place: "int",
    template_id: "text",
    copy_id: "text",
    user_id: "text",
    decided_at: "float8",
  } as const
  return sql<{ readonly place: number; readonly seen: number; readonly total: number }>`
    SELECT r.place, (count(*) FILTER (WHERE e.copy_id = r.copy_id))::int AS seen, count(*)::int AS total
    FROM ${recordset(rows, columns)}
    CROSS JOIN LATERAL (
      SELECT d.template_id, d.copy_id FROM decisions d
      WHERE d.org_slug = ${org} AND d.user_id = r.user_id
        AND d.decided_at < to_timestamp(r.decided_at / 1000.0)
        AND d.decided_at >= to_timestamp((r.decided_at - ${countedDays * dayMillis}) / 1000.0)
      ORDER BY d.decided_at DESC LIMIT ${most}) e
    WHERE e.template_id = r.template_id AND e.copy_id <> ${noMessage}
    GROUP BY r.place`
}

/**
 * Counts the decisions about some people until now, by index of the person, template and variant. `now` is in Unix
 * milliseconds. Fails with `SqlError` if the database does not respond.
 */
export const readEarlier = (
  sql: SqlClient.SqlClient,
  people: ReadonlyArray<{ readonly org: string; readonly user: string }>,
  now: number,
) => {
  const rows = people.map(({ org, user }, place) => ({ place, org_slug: org, user_id: user }))
  return sql<
    { readonly place: number; readonly templateId: string; readonly copyId: string; readonly decisions: number }
  >`
    SELECT r.place, e.template_id, e.copy_id, count(*)::int AS decisions
    FROM ${recordset(rows, { place: "int", org_slug: "text", user_id: "text" })}
    CROSS JOIN LATERAL (
      SELECT d.template_id, d.copy_id FROM decisions d
      WHERE d.org_slug = r.org_slug AND d.user_id = r.user_id
        AND d.decided_at >= ${new Date(now - countedDays * dayMillis)}
      ORDER BY d.decided_at DESC LIMIT ${most}) e
    WHERE e.copy_id <> ${noMessage}
    GROUP BY r.place, e.template_id, e.copy_id`
}
