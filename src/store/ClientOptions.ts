import { String } from "effect"
import { columnTypes } from "./ColumnTypes.ts"

/** Options of the database client for the bundled server and for the server of `DATABASE_URL`. */
export const clientOptions = {
  // Limits how long a node that is paused or cut off in the middle of a transaction delays the other nodes.
  startupParameters: { idle_in_transaction_session_timeout: "8s" },
  transformResultNames: String.snakeToCamel,
  transformQueryNames: String.camelToSnake,
  transformJson: false,
  types: columnTypes,
}
