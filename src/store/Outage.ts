import type { SqlError } from "effect/sql/SqlError"
import { stateOf } from "./DataFault.ts"

/**
 * Whether a statement failed since the store is away: there is no connection, the server is starting or ending (57P01 to
 * 57P03), it has run out of room, memory or connections (class 53), or it only reads, as one that follows another does
 * (25006).
 */
export const isOutage = (error: SqlError): boolean =>
  error.reason._tag === "ConnectionError" || /^(57P0[123]|53...|25006)$/.test(stateOf(error))
