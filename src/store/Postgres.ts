import { PgClient, PgConnection } from "@effect/sql-pg"
import { Effect, Layer, Option, Redacted } from "effect"
import { Settings } from "../Settings.ts"
import { clientOptions } from "./ClientOptions.ts"
import * as ServerWatch from "./ServerWatch.ts"
import { Store } from "./Store.ts"

const keepAliveMillis = 10_000

/** Where `url` leads, as the driver reads it; undefined for a socket file. */
const addressOf = (url: URL): { readonly host: string; readonly port: number } | undefined => {
  const host = url.searchParams.get("host") ?? decodeURIComponent(url.hostname.replace(/^\[(.*)\]$/, "$1"))
  const port = Number(url.searchParams.get("port") ?? (url.port || 5432))
  return host.startsWith("/") ? undefined : { host: host === "" ? "localhost" : host, port }
}

/** `SqlClient` and `Store` over the Postgres of `DATABASE_URL`, with a pool that replaces broken connections. */
export const layer = Layer.unwrap(Effect.gen(function* () {
  const { databasePoolSize, databaseUrl } = yield* Settings
  const url = Option.getOrElse(databaseUrl, () => Redacted.make("postgres://localhost/parlance"))
  const parsed = new URL(Redacted.value(url))
  const { hostname, pathname, port } = parsed
  const connection = {
    url,
    applicationName: "parlance",
    connectTimeout: "3 seconds",
    keepAlive: keepAliveMillis,
  } as const
  const address = addressOf(parsed)
  const watch = address && ServerWatch.make({
    ...address,
    keepAliveMillis,
    identify: Effect.scoped(Effect.flatMap(PgConnection.make(connection), (server) =>
      Effect.map(
        server.query("SELECT pg_postmaster_start_time()::text AS server, pg_is_in_recovery() AS is_standby"),
        ({ rows: [row] }) => ({ server: `${row!["server"]}`, isStandby: row!["is_standby"] === true }),
      ))),
  })
  const client = PgClient.layer({
    ...connection,
    ...(watch && { stream: watch.open }),
    maxConnections: databasePoolSize,
    ...clientOptions,
  })
  return Layer.merge(
    client,
    Layer.succeed(
      Store,
      Store.of({
        kind: "postgres",
        address: `${hostname}:${port || 5432}${pathname}`,
        look: watch?.look,
      }),
    ),
  )
}))
