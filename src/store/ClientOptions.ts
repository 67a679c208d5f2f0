import { Effect, Option, String } from "effect"
import type { SqlClient } from "effect/sql"
import { columnTypes } from "./ColumnTypes.ts"

/**
 * `String.snakeToCamel` with a cache, because it needs half a microsecond and is called for each column of each row.
 * The cache stays small, because only the statements of this program name columns.
 */
const snakeToCamel = (() => {
  const known = new Map<string, string>()
  return (column: string): string => {
    let name = known.get(column)
    if (name === undefined) known.set(column, name = String.snakeToCamel(column))
    return name
  }
})()

/** Limits how long a node that is suspended or disconnected during a transaction delays other nodes. */
const idleInTransaction = { idle_in_transaction_session_timeout: "8s" }

/**
 * Limits idle transactions as `startupParameters` does, behind a pooler, which refuses the startup parameter. Costs a round
 * trip for each transaction.
 */
export const limitIdleTransactions = (sql: SqlClient.SqlClient) => {
  const { withTransaction } = sql
  const [[name, value]] = Object.entries(idleInTransaction) as [[string, string]]
  Object.assign(sql, {
    withTransaction: ((effect) =>
      Effect.flatMap(
        Effect.serviceOption(sql.transactionService),
        (outer) =>
          withTransaction(
            Option.isSome(outer) ? effect : Effect.andThen(sql.unsafe(`SET LOCAL ${name} = '${value}'`), effect),
          ),
      )) satisfies typeof withTransaction,
  })
}

/**
 * Startup parameter for the text of dates. Poolers accept it, because JDBC drivers always send it. PgBouncer compares it
 * with the value of the server, so it is complete.
 */
export const textForms = { DateStyle: "ISO, MDY" }

/** Startup parameters without a pooler, which would refuse some of them. */
export const startupParameters = { ...textForms, ...idleInTransaction }

/** Options of the database client for the bundled server and for the server of `DATABASE_URL`. */
export const clientOptions = {
  transformResultNames: snakeToCamel,
  transformQueryNames: String.camelToSnake,
  transformJson: false,
  types: columnTypes,
}
