import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { bounded } from "./bounded.ts"

/** Timeout of the database's answer. */
const patience = "2 seconds"

/**
 * Creates the effect of `Store.answers`. Its connection opens with the first call and closes after a minute without
 * calls.
 */
export const makeAnswers = Effect.fnUntraced(function* (connection: PgClient.PgClientConfig) {
  const sql = yield* PgClient.make({ ...connection, prepare: false, maxConnections: 1 })
  return sql`SELECT 1`.pipe(
    bounded(patience),
    Effect.as(true),
    Effect.orElseSucceed(() => false),
  )
})
