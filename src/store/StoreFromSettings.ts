import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { isSqlError } from "effect/sql/SqlError"
import { Settings } from "../Settings.ts"
import * as BundledPostgres from "./BundledPostgres.ts"
import * as Migrations from "./Migrations.ts"
import * as Postgres from "./Postgres.ts"

/**
 * Lets a transaction fail when its connection breaks. To the client the ROLLBACK that cannot be sent any more is a defect,
 * which would end every loop that goes on after a failure.
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

/** The store that the settings name: that of `DATABASE_URL`, or the embedded one in `DATA_DIR`. Not yet migrated. */
export const layer = Layer.unwrap(
  Effect.map(
    Settings,
    ({ database }) => Option.match(database, { onNone: () => BundledPostgres.layer, onSome: Postgres.layer }),
  ),
).pipe(
  Layer.tap((context) => Effect.sync(() => failInTransactions(Context.get(context, SqlClient.SqlClient)))),
)

/** The same, migrated. */
export const layerMigrated = Migrations.layer.pipe(Layer.provideMerge(layer))
