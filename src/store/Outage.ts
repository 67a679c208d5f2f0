import type { SqlError } from "effect/sql/SqlError"
import { stateOf } from "./DataFault.ts"

/**
 * Whether a statement failed because the database is unavailable: there is no connection, the server is starting or
 * stopping (57P01 to 57P03), it has run out of disk space, memory or connections (class 53), or it is read-only, such
 * as a standby (25006).
 */
export const isOutage = (error: SqlError): boolean =>
  error.reason._tag === "ConnectionError" || /^(57P0[123]|53...|25006)$/.test(stateOf(error))
