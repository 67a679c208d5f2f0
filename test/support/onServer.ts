import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"

/** Carries out one statement on a Postgres server, over a connection of its own. */
export const onServer = (url: string, statement: string): Promise<unknown> =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement)).pipe(
    Effect.provide(Layer.fresh(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))),
    Effect.runPromise,
  )
