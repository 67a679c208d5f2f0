import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"

/** A body that the service itself stores in the inbox. */
interface OwnBody {
  readonly org: string
  readonly source: string
  readonly headers: Readonly<Record<string, string>>
  /** Items in the default shape of custom events. */
  readonly items: ReadonlyArray<unknown>
  /** Default: the database's current time. */
  readonly receivedAt?: Date
}

/**
 * Stores events that the service itself reports in the inbox, so that they count like a platform's reports. Call this
 * in the transaction that causes them. Fails with `SqlError` if the database does not respond.
 */
export const reportOwn = (
  sql: SqlClient.SqlClient,
  { headers, items, org, receivedAt, source }: OwnBody,
): Effect.Effect<void, SqlError> =>
  items.length === 0 ? Effect.void : Effect.asVoid(sql`
    INSERT INTO inbox (org_slug, source, received_at, headers, body, status)
    VALUES (${org}, ${source}, ${receivedAt ?? sql`now()`}, ${JSON.stringify(headers)}::text::json,
      convert_to(${JSON.stringify(items)}::text, 'UTF8'), 'pending')`)

/**
 * Returns a statement that stores the `item`s of a query in the inbox, like `reportOwn`. Use it as a CTE of the
 * statement that causes the events. Without items, it stores no body.
 */
export const reportOwnRows = (
  sql: SqlClient.SqlClient,
  { org, source }: Pick<OwnBody, "org" | "source">,
  items: Statement.Fragment,
): Statement.Fragment =>
  sql`
    INSERT INTO inbox (org_slug, source, received_at, headers, body, status)
    SELECT ${org}, ${source}, now(), '{}'::json, convert_to(json_agg(i.item)::text, 'UTF8'), 'pending'
    FROM (${items}) i HAVING count(*) > 0`
