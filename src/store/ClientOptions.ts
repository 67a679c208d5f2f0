import { String } from "effect"
import { columnTypes } from "./ColumnTypes.ts"

/** Options of the database client that hold whether the server is bundled or that of `DATABASE_URL`. */
export const clientOptions = {
  // A node that is paused or cut off in the middle of a transaction does not hold the others up for longer.
  startupParameters: { idle_in_transaction_session_timeout: "8s" },
  transformResultNames: String.snakeToCamel,
  transformQueryNames: String.camelToSnake,
  transformJson: false,
  types: columnTypes,
}
