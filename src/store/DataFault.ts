import type { SqlError } from "effect/sql/SqlError"

/** SQLSTATE of an error; empty where there is none. */
export const stateOf = ({ reason }: SqlError): string => {
  const cause: unknown = "cause" in reason ? reason.cause : undefined
  const code: unknown = cause !== null && typeof cause === "object" && "code" in cause ? cause.code : undefined
  return typeof code === "string" ? code : ""
}

/**
 * Whether a statement failed for the data it was given (SQLSTATE classes 22 and 23) and not for the state of the store: it
 * would fail again, and with it whatever it is grouped with.
 */
export const isDataFault = (error: SqlError): boolean => /^2[23]/.test(stateOf(error))
