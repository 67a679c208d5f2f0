import { String } from "effect"
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

/** Options of the database client for the bundled server and for the server of `DATABASE_URL`. */
export const clientOptions = {
  // Limits how long a node that is suspended or disconnected during a transaction delays other nodes.
  startupParameters: { idle_in_transaction_session_timeout: "8s" },
  transformResultNames: snakeToCamel,
  transformQueryNames: String.camelToSnake,
  transformJson: false,
  types: columnTypes,
}
