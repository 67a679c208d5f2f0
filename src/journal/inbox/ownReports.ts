import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"

/** A body that the service itself puts into the inbox. */
export interface OwnBody {
  readonly org: string
  readonly source: string
  readonly headers: Readonly<Record<string, string>>
  /** Custom events of the default shape. */
  readonly items: ReadonlyArray<unknown>
  /** The time of the store unless given. */
  readonly receivedAt?: Date
}

/**
 * Puts events that the service itself reports into the inbox, so that they count as if a platform had reported them. Call it
 * in the transaction that causes them. Fails with `SqlError` when the store does not answer.
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
 * The statement that puts the `item`s of a query into the inbox as `reportOwn` does, to stand as a CTE in the statement that causes
 * them. Without items it puts nothing there.
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
