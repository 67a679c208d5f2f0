import type { SqlClient } from "effect/sql"
import { dayMillis } from "../../bandit/Window.ts"
import { recordset } from "../../store/Recordset.ts"
import { noMessage } from "./Decision.ts"

// How often a person has been decided about. Both statements read at most as many decisions of each person, so that one who
// gets very many costs little.

/** Age up to which earlier decisions count. Unit: days. */
const countedDays = 30

/** Decisions of a person that are read, the latest ones, whatever their template. */
const most = 200

/** A decision about a person. */
export interface PersonalDecision {
  readonly templateId: string
  readonly copyId: string
  readonly userId: string
  readonly decidedAt: Date
}

/**
 * The numbers of earlier decisions of the template about the same person, for the same variant and for all, by the place of
 * the decision. A decision without earlier ones has no row. Fails with `SqlError` when the store does not answer.
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
 * The numbers of decisions about some people up to now, by the place of the person, template and variant. `now` in Unix
 * milliseconds. Fails with `SqlError` when the store does not answer.
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
