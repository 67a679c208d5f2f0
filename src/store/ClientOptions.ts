import { String } from "effect"
import { columnTypes } from "./ColumnTypes.ts"

/**
 * `String.snakeToCamel` with a memory, because it takes half a microsecond and is called for each column of each row. Columns are named in
 * the statements of this program, so they are few.
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
  // Limits how long a node that is paused or cut off in the middle of a transaction delays the other nodes.
  startupParameters: { idle_in_transaction_session_timeout: "8s" },
  transformResultNames: snakeToCamel,
  transformQueryNames: String.camelToSnake,
  transformJson: false,
  types: columnTypes,
}
