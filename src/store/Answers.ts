import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { bounded } from "./bounded.ts"

/** Longest wait for an answer. */
const patience = "2 seconds"

/** The effect behind `Store.answers`, over a connection that opens with the first question and closes after a minute without one. */
export const makeAnswers = Effect.fnUntraced(function* (connection: PgClient.PgClientConfig) {
  const sql = yield* PgClient.make({ ...connection, maxConnections: 1 })
  return sql`SELECT 1`.pipe(
    bounded(patience),
    Effect.as(true),
    Effect.orElseSucceed(() => false),
  )
})
