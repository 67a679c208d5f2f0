import { PgClient, PgConnection } from "@effect/sql-pg"
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { join } from "node:path"
import { makeAnswers } from "./Answers.ts"
import { Settings } from "../settings/Settings.ts"
import { explain, isCertificateRefused } from "./ConnectFailure.ts"
import { clientOptions, limitIdleTransactions, startupParameters, textForms } from "./ClientOptions.ts"
import { type DatabaseTarget, isSocketFolder } from "../settings/DatabaseUrl.ts"
import { unreachableAt, whenReachableAt } from "./FirstConnection.ts"
import { innermost } from "./innermost.ts"
import * as Pooler from "./Pooler.ts"
import * as ReadReplica from "./ReadReplica.ts"
import { certificateOf, open } from "./ServerConnection.ts"
import { besidePool } from "./ServerFacts.ts"
import * as ServerWatch from "./ServerWatch.ts"
import { Store, type StorePlace } from "./Store.ts"
import { StoreUnreachable } from "./StoreUnreachable.ts"

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
  startupParameters: textForms,
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

/** Returns the place of a setting's server. */
const placeOf = (setting: StorePlace["setting"], target: DatabaseTarget, poolSize: number): StorePlace => ({
  setting,
  address: addressOf(target),
  explain: (error) =>
    Effect.zipWith(
      isCertificateRefused(error) ? certificateOf(target) : Effect.undefined,
      DateTime.nowAsDate,
      (certificate, now) => explain(error, { target, poolSize, certificate, now })?.replaceAll("DATABASE_URL", setting),
    ),
})

/** Connects to a place for the first time. Fails with `StoreUnreachable`. */
const firstConnection = <A>(place: StorePlace, attempt: Effect.Effect<A, SqlError | StoreUnreachable>) =>
  whenReachableAt(
    place.address,
    Effect.catchTag(
      attempt,
      "SqlError",
      (error) =>
        Effect.flatMap(
          unreachableAt(place, error),
          (unreachable) => Effect.fail(unreachable ?? refusal(place, innermost(error))),
        ),
    ),
  )

const refusal = ({ address, setting }: StorePlace, reason: string, isPassing = false) =>
  new StoreUnreachable({ setting, address, reason, isPassing, triedSeconds: 0 })

/** Finds out what the address of `DATABASE_URL` leads to. Fails with `StoreUnreachable`. */
const reachPool = (place: StorePlace, target: DatabaseTarget, connection: PgConnection.Config, needed: number) =>
  firstConnection(
    place,
    Effect.gen(function* () {
      const connect = PgConnection.make(connection)
      const found = yield* Pooler.reach(connect, needed)
      if (found.unsuitability !== undefined) return yield* refusal(place, found.unsuitability)
      if (!found.hasTransactions) return yield* refusal(place, Pooler.inStatementMode)
      const isPooled = target.isPooled ?? found.isPooled
      if (isPooled && target.prepares === true) {
        const keeps = yield* Pooler.keepsSession(connect, true)
        if (!keeps) return yield* refusal(place, Pooler.losesStatements)
      }
      const isChecked = found.isPooled && (yield* Pooler.OpensWholePool)
      const shortage = isChecked ? yield* Pooler.poolerShortage(connect, needed) : undefined
      // Another node that stops during an upgrade may free connections.
      if (shortage !== undefined) return yield* refusal(place, shortage, true)
      return { ...found, isPooled }
    }),
  )

/** Connects to the server of `DATABASE_DIRECT_URL`. Fails with `StoreUnreachable` if it is not usable as such. */
const openDirect = Effect.fnUntraced(
  function* (direct: DatabaseTarget, pool: Pooler.Destination, target: DatabaseTarget) {
    const place = placeOf("DATABASE_DIRECT_URL", direct, 1)
    const connection = connectionTo(direct)
    const connect = PgConnection.make(connection)
    yield* firstConnection(
      place,
      Effect.gen(function* () {
        const found = yield* Pooler.reach(connect, besidePool)
        if (found.unsuitability !== undefined) {
          return yield* refusal(place, found.unsuitability.replaceAll("DATABASE_URL", place.setting))
        }
        if (found.database !== pool.database) return yield* refusal(place, Pooler.directIsOther(target))
        if (found.schema !== pool.schema) return yield* refusal(place, Pooler.directHasOtherSchema(found, pool))
        if (found.isPooled && !(yield* Pooler.keepsSession(connect, false))) {
          return yield* refusal(place, Pooler.directIsPooled)
        }
      }),
    )
    const sql = yield* PgClient.make({ ...connection, ...clientOptions, maxConnections: 1 })
    return { ...place, sql, connect }
  },
)

/**
 * Opens a pool for the server of `DATABASE_READ_URL`, which connects with the first read. Returns `read` and `replica`
 * of `Store` for a client of the primary.
 */
const openReplica = Effect.fnUntraced(function* (read: Option.Option<DatabaseTarget>) {
  const { databasePoolSize, databaseReadMaxLag } = yield* Settings
  if (Option.isNone(read)) {
    return () => ({ read: <A, E, R>(effect: Effect.Effect<A, E, R>) => effect, replica: undefined })
  }
  const replica = yield* PgClient.make({
    ...connectionTo(read.value),
    ...clientOptions,
    // A pooler may be in front of the replica.
    prepare: read.value.prepares === true,
    maxConnections: databasePoolSize,
  })
  const place = placeOf("DATABASE_READ_URL", read.value, databasePoolSize)
  return (primary: SqlClient.SqlClient) => {
    const options = { place, primary, replica, maxLag: databaseReadMaxLag }
    return { read: ReadReplica.make(options), replica: ReadReplica.stateOf(options) }
  }
})

/**
 * `SqlClient` and `Store` for the PostgreSQL server at `target`, with a pool that replaces broken connections. `direct`
 * is an address of the same server without a pooler, and `read` an address of a replica. Fails with `StoreUnreachable`.
 */
export const layer = (
  target: DatabaseTarget,
  direct: Option.Option<DatabaseTarget>,
  read: Option.Option<DatabaseTarget>,
) =>
  Layer.unwrap(Effect.gen(function* () {
    const { databasePoolSize } = yield* Settings
    yield* giveUpShell
    const connection = connectionTo(target)
    const place = placeOf("DATABASE_URL", target, databasePoolSize)
    const watch = isSocketFolder(target.host) ? undefined : ServerWatch.make({
      connect: () => open(target),
      identify: Effect.scoped(Effect.flatMap(PgConnection.make(connection), (server) =>
        Effect.map(
          server.query(
            "SELECT pg_postmaster_start_time()::text AS server, pg_is_in_recovery() AS is_standby",
            [],
            false,
          ),
          ({ rows: [row] }) => ({ server: `${row!["server"]}`, isStandby: row!["is_standby"] === true }),
        ))),
    })
    const watched = { ...connection, ...(watch && { stream: watch.open }) }
    const pool = yield* reachPool(place, target, connection, databasePoolSize + besidePool)
    const own = Option.isSome(direct) ? yield* openDirect(direct.value, pool, target) : undefined
    const client = PgClient.layer({
      ...watched,
      maxConnections: databasePoolSize,
      ...clientOptions,
      ...(pool.isPooled ? { prepare: target.prepares === true } : { startupParameters }),
    })
    const answers = yield* makeAnswers(watched)
    const listening = own?.connect ?? (pool.isPooled ? Effect.never : PgConnection.make(watched))
    const readWith = yield* openReplica(read)
    const store = Layer.effect(
      Store,
      Effect.map(SqlClient.SqlClient, (sql) =>
        Store.of({
          ...place,
          kind: "postgres",
          direct: own,
          ...readWith(sql),
          answers,
          look: watch?.look,
          listen: (channel) => Effect.flatMap(listening, (session) => session.listen(channel)),
        })),
    )
    return Layer.provideMerge(
      store,
      pool.isPooled
        ? Layer.tap(
          client,
          (context) => Effect.sync(() => limitIdleTransactions(Context.get(context, SqlClient.SqlClient))),
        )
        : client,
    )
  })).pipe(Layer.provide(Reactivity.layer))
