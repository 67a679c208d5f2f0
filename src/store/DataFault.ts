import type { SqlError } from "effect/sql/SqlError"

/** Returns the SQLSTATE of an error; empty if it has none. */
export const stateOf = ({ reason }: SqlError): string => {
  const cause: unknown = "cause" in reason ? reason.cause : undefined
  const code: unknown = cause !== null && typeof cause === "object" && "code" in cause ? cause.code : undefined
  return typeof code === "string" ? code : ""
}

/**
 * Whether a statement failed because of its data, not because of the state of the database. A repetition fails again,
 * together with all other entries of its group. These are the SQLSTATE classes 22 (invalid data), 23 (violated
 * constraint) and 54 (an exceeded limit of PostgreSQL, such as the size of an index row).
 */
export const isDataFault = (error: SqlError): boolean => /^(2[23]|54)/.test(stateOf(error))
