import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { dayMillis } from "../bandit/Window.ts"
import type { Days } from "../learning/SettledDecisions.ts"

/**
 * Returns the whole days from `since` on whose decisions are all settled, so that their tallies are final. `until` is
 * the time up to which decisions are settled. Unit: Unix milliseconds.
 */
export const settledDays = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  org: string,
  since: Date,
): Effect.fn.Return<Days & { readonly until: number }, SqlError> {
  const [mark] = yield* sql<{ readonly settledUntil: Date }>`
    SELECT m.settled_until FROM send_time_marks m WHERE m.org_slug = ${org}`
  const from = Math.ceil(since.getTime() / dayMillis) * dayMillis
  const until = mark?.settledUntil.getTime() ?? 0
  return { from, to: Math.max(from, Math.floor(until / dayMillis) * dayMillis), until }
})
