import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { isSqlError } from "effect/sql/SqlError"
import { Settings } from "../Settings.ts"
import * as BundledPostgres from "./BundledPostgres.ts"
import * as Migrations from "./Migrations.ts"
import * as Postgres from "./Postgres.ts"

/**
 * Makes a transaction fail when its connection breaks. For the client library, the ROLLBACK that can no longer be sent
 * is a defect, which would end every loop that is meant to continue after a failure.
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
 * Turns off the compiler's cache of texts and parameters. It never has a hit, because each statement runs once, and V8 frees the
 * values of a `WeakMap` in full collections only. Under events this cache was most of the garbage in the old generation.
 */
const disableStatementCache = (sql: SqlClient.SqlClient) => {
  const none = { get: () => undefined, set: () => none }
  const { compiler } = sql`` as unknown as { readonly compiler: object }
  for (const name of ["statementCache", "statementCacheNoTransform"]) {
    if (!(Reflect.get(compiler, name) instanceof WeakMap)) throw new Error(`The compiler of statements has no ${name}`)
    Reflect.set(compiler, name, none)
  }
}

/** The store that the settings name: the server of `DATABASE_URL`, or the embedded one in `DATA_DIR`. Not yet migrated. */
export const layer = Layer.unwrap(
  Effect.map(
    Settings,
    ({ database }) => Option.match(database, { onNone: () => BundledPostgres.layer, onSome: Postgres.layer }),
  ),
).pipe(
  Layer.tap((context) =>
    Effect.sync(() => {
      const sql = Context.get(context, SqlClient.SqlClient)
      failInTransactions(sql)
      disableStatementCache(sql)
    })
  ),
)

/** The store of the settings, migrated. */
export const layerMigrated = Migrations.layer.pipe(Layer.provideMerge(layer))
