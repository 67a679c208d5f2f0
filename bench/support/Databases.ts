import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import * as StoreFromSettings from "../../src/store/StoreFromSettings.ts"
import { layerSettings } from "../../test/support/settings.ts"

/** Environment variables that select the database of a service. */
export type Environment = Readonly<Record<string, string>>

/** Creates a database on a server. Returns its URL and a function that drops it. */
export const createDatabase = async (
  url: string,
): Promise<{ readonly url: string; readonly drop: () => Promise<void> }> => {
  const run = (statement: string) =>
    Effect.runPromise(
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement)).pipe(
        Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })),
        Effect.asVoid,
      ),
    )
  const name = `bench_${randomUUID().replaceAll("-", "")}`
  await run(`CREATE DATABASE ${name}`)
  const own = new URL(url)
  own.pathname = `/${name}`
  return { url: own.href, drop: () => run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
}

/** Runs statements on a store. No service may use the store at this time. */
export const onStore = <A>(
  environment: Environment,
  run: (sql: SqlClient.SqlClient) => Effect.Effect<A, unknown>,
): Promise<A> =>
  Effect.runPromise(
    Effect.flatMap(SqlClient.SqlClient, run).pipe(
      Effect.provide(StoreFromSettings.layerMigrated.pipe(Layer.provide(layerSettings(environment)))),
    ),
  )

/** Returns the statements with the most server time, if the server has pg_stat_statements. Resets the counters. */
export const statements = (environment: Environment, printed: boolean): Promise<ReadonlyArray<string>> =>
  environment["DATABASE_URL"] === undefined ? Promise.resolve([]) : Effect.runPromise(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE EXTENSION IF NOT EXISTS pg_stat_statements`
      const rows = printed
        ? yield* sql<{ query: string; calls: number; total: number; mean: number; rows: number }>`
          SELECT regexp_replace(left(s.query, 400), '\\s+', ' ', 'g') AS query, s.calls::float8 AS calls,
            s.total_exec_time AS total, s.mean_exec_time AS mean, s.rows::float8 AS rows
          FROM pg_stat_statements s WHERE s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
          ORDER BY s.total_exec_time DESC LIMIT 12`
        : []
      yield* sql`SELECT pg_stat_statements_reset()`
      return rows.map(({ calls, mean, query, rows, total }) =>
        `${total.toFixed(0)} ms in ${calls} calls of ${mean.toFixed(2)} ms, ${rows} rows: ${query.slice(0, 150)}`
      )
    }).pipe(
      Effect.provide(PgClient.layer({ url: Redacted.make(environment["DATABASE_URL"]), maxConnections: 1 })),
      Effect.catchCause(() => Effect.succeed([])),
    ),
  )
