import type { Fault } from "../../domain/Errors.ts"

// Faults in queries that would otherwise silently change the meaning of a request.

/**
 * Returns the faults of parameters whose names begin with `amp;`. An address copied from HTML separates its parameters
 * with `&amp;`, so all names except the first are wrong.
 */
export const separatorFaults = (query: URLSearchParams): ReadonlyArray<Fault> =>
  [...new Set(query.keys())].filter((name) => name.startsWith("amp;")).slice(0, 20).map((name) => ({
    pointer: name,
    detail: "follows `&amp;`, which is the separator `&` as HTML writes it: use `&` alone",
  }))

/**
 * Returns the fault of a parameter that cannot be an e-mail address, or undefined. A `+` that the caller did not escape
 * arrives as a space, and the address would belong to another person.
 */
export const plusFault = (email: string): string | undefined =>
  /\s/.test(email) ? "must not contain spaces: write a + in the address as %2B" : undefined
