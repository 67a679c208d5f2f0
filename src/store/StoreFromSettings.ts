import type { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { isSqlError } from "effect/sql/SqlError"
import { Settings } from "../settings/Settings.ts"
import * as BundledPostgres from "./BundledPostgres.ts"
import * as Migrations from "./Migrations.ts"
import * as Postgres from "./Postgres.ts"
import { Store } from "./Store.ts"
import type { StoreUnreachable } from "./StoreUnreachable.ts"

/**
 * Makes a transaction fail if its connection breaks. In the client library, the ROLLBACK that cannot be sent is a
 * defect, which would end every loop that should continue after a failure.
 */
const failInTransactions = (sql: SqlClient.SqlClient) => {
  const { withTransaction } = sql
  Object.assign(sql, {
    withTransaction: ((effect) =>
      Effect.catchDefect(
        withTransaction(effect),
        (defect) => isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect),
      )) satisfies typeof withTransaction,
  })
}

/**
 * Disables the compiler's cache of texts and parameters. It never has a hit, because each statement object runs once,
 * and V8 frees the values of a `WeakMap` only in full collections. While events arrived, this cache was most of the
 * garbage in the old generation.
 */
const disableStatementCache = (sql: SqlClient.SqlClient) => {
  const none = { get: () => undefined, set: () => none }
  const { compiler } = sql`` as unknown as { readonly compiler: object }
  for (const name of ["statementCache", "statementCacheNoTransform"]) {
    if (!(Reflect.get(compiler, name) instanceof WeakMap)) throw new Error(`The compiler of statements has no ${name}`)
    Reflect.set(compiler, name, none)
  }
}

/**
 * The database of the settings: the server of `DATABASE_URL`, or the embedded server in `DATA_DIR`. Does not apply
 * migrations.
 */
export const layer = Layer.unwrap(
  Effect.map(Settings, ({ database, databaseDirect, databaseRead }): Layer.Layer<
    PgClient.PgClient | SqlClient.SqlClient | Store,
    Layer.Error<typeof BundledPostgres.layer> | StoreUnreachable,
    Settings
  > =>
    Option.match(database, {
      onNone: () => BundledPostgres.layer,
      onSome: (target) => Postgres.layer(target, databaseDirect, databaseRead),
    })),
).pipe(
  Layer.tap((context) =>
    Effect.sync(() => {
      const sql = Context.get(context, SqlClient.SqlClient)
      const { direct } = Context.get(context, Store)
      failInTransactions(sql)
      if (direct !== undefined) failInTransactions(direct.sql)
      disableStatementCache(sql)
    })
  ),
)

/** The database of the settings, with migrations applied. */
export const layerMigrated = Migrations.layer.pipe(Layer.provideMerge(layer))
