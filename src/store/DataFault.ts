import type { SqlError } from "effect/sql/SqlError"

/** SQLSTATE of an error; empty where there is none. */
export const stateOf = ({ reason }: SqlError): string => {
  const cause: unknown = "cause" in reason ? reason.cause : undefined
  const code: unknown = cause !== null && typeof cause === "object" && "code" in cause ? cause.code : undefined
  return typeof code === "string" ? code : ""
}

/**
 * Whether a statement failed because of the data it was given, not because of the state of the store. The same statement
 * fails again, with everything grouped with it. SQLSTATE classes 22 (invalid data), 23 (constraint violated) and 54 (a limit
 * of Postgres exceeded, such as the size of an index row).
 */
export const isDataFault = (error: SqlError): boolean => /^(2[23]|54)/.test(stateOf(error))
