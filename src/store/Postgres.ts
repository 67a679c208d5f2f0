import { PgClient, PgConnection } from "@effect/sql-pg"
import { DateTime, Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import { join } from "node:path"
import { makeAnswers } from "./Answers.ts"
import { Settings } from "../settings/Settings.ts"
import { explain, isCertificateRefused } from "./ConnectFailure.ts"
import { clientOptions } from "./ClientOptions.ts"
import { type DatabaseTarget, isSocketFolder } from "../settings/DatabaseUrl.ts"
import { certificateOf, open } from "./ServerConnection.ts"
import * as ServerWatch from "./ServerWatch.ts"
import { Store } from "./Store.ts"

/**
 * Options of the client library for `target`. The stream that `open` returns is already encrypted, so the library must
 * not encrypt it.
 */
const connectionTo = (target: DatabaseTarget) => ({
  host: target.host,
  port: target.port,
  username: target.username,
  password: target.password,
  database: target.database,
  applicationName: target.applicationName,
  startupOptions: target.options,
  connectTimeout: target.connectTimeout,
  ssl: false,
  ...(isSocketFolder(target.host)
    ? { path: join(target.host, `.s.PGSQL.${target.port}`) }
    : { stream: () => open(target) }),
})

/** Drops the permission to run a shell, which only the embedded database needs. Has no effect with `--allow-all`. */
const giveUpShell = Effect.sync(() => Deno.permissions.revokeSync({ name: "run", command: "/bin/sh" }))

/** Returns the address of `target` for messages. */
const addressOf = ({ database, host, port }: DatabaseTarget): string =>
  `${isSocketFolder(host) ? join(host, `.s.PGSQL.${port}`) : `${host.includes(":") ? `[${host}]` : host}:${port}`}${
    database === undefined ? "" : `/${database}`
  }`

/** `SqlClient` and `Store` for the PostgreSQL server at `target`, with a pool that replaces broken connections. */
export const layer = (target: DatabaseTarget) =>
  Layer.unwrap(Effect.gen(function* () {
    const { databasePoolSize } = yield* Settings
    yield* giveUpShell
    const connection = connectionTo(target)
    const watch = isSocketFolder(target.host) ? undefined : ServerWatch.make({
      connect: () => open(target),
      identify: Effect.scoped(Effect.flatMap(PgConnection.make(connection), (server) =>
        Effect.map(
          server.query("SELECT pg_postmaster_start_time()::text AS server, pg_is_in_recovery() AS is_standby"),
          ({ rows: [row] }) => ({ server: `${row!["server"]}`, isStandby: row!["is_standby"] === true }),
        ))),
    })
    const watched = { ...connection, ...(watch && { stream: watch.open }) }
    const client = PgClient.layer({
      ...watched,
      maxConnections: databasePoolSize,
      ...clientOptions,
    })
    const answers = yield* makeAnswers(watched).pipe(Effect.provide(Reactivity.layer))
    return Layer.merge(
      client,
      Layer.succeed(
        Store,
        Store.of({
          kind: "postgres",
          address: addressOf(target),
          answers,
          look: watch?.look,
          listen: (channel) => Effect.flatMap(PgConnection.make(watched), (own) => own.listen(channel)),
          explain: (error) =>
            Effect.zipWith(
              isCertificateRefused(error) ? certificateOf(target) : Effect.undefined,
              DateTime.nowAsDate,
              (certificate, now) => explain(error, { target, poolSize: databasePoolSize, certificate, now }),
            ),
        }),
      ),
    )
  }))
