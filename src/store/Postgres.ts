import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Option, Redacted, String } from "effect"
import { Settings } from "../Settings.ts"
import { Store } from "./Store.ts"

/** `SqlClient` and `Store` over the Postgres of `DATABASE_URL`, with a pool that replaces broken connections. */
export const layer = Layer.unwrap(Effect.gen(function* () {
  const { databasePoolSize, databaseUrl } = yield* Settings
  const client = PgClient.layer({
    url: Option.getOrElse(databaseUrl, () => Redacted.make("postgres://localhost/parlance")),
    applicationName: "parlance",
    maxConnections: databasePoolSize,
    connectTimeout: "3 seconds",
    keepAlive: "10 seconds",
    transformResultNames: String.snakeToCamel,
    transformQueryNames: String.camelToSnake,
    transformJson: false,
  })
  return Layer.merge(client, Layer.succeed(Store, Store.of({ kind: "postgres", announce: () => {} })))
}))
