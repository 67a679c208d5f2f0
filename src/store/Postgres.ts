import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Option, Redacted, String } from "effect"
import { Settings } from "../Settings.ts"
import { Store } from "./Store.ts"

/** `SqlClient` and `Store` over the Postgres of `DATABASE_URL`, with a pool that replaces broken connections. */
export const layer = Layer.unwrap(Effect.gen(function* () {
  const { databasePoolSize, databaseUrl } = yield* Settings
  const url = Option.getOrElse(databaseUrl, () => Redacted.make("postgres://localhost/parlance"))
  const { hostname, pathname, port } = new URL(Redacted.value(url))
  const client = PgClient.layer({
    url,
    applicationName: "parlance",
    maxConnections: databasePoolSize,
    connectTimeout: "3 seconds",
    keepAlive: "10 seconds",
    // A node that is paused or cut off in the middle of a transaction does not hold the others up for longer.
    startupParameters: { idle_in_transaction_session_timeout: "8s" },
    transformResultNames: String.snakeToCamel,
    transformQueryNames: String.camelToSnake,
    transformJson: false,
  })
  return Layer.merge(
    client,
    Layer.succeed(
      Store,
      Store.of({ kind: "postgres", address: `${hostname}:${port || 5432}${pathname}`, announce: () => {} }),
    ),
  )
}))
