import type { Fault } from "../../domain/Errors.ts"

// Faults of queries that would otherwise change the meaning of a request without a word.

/**
 * Faults of parameters whose names begin with `amp;`: an address that was copied out of HTML separates its parameters with
 * `&amp;`, so that all but the first have another name.
 */
export const separatorFaults = (query: URLSearchParams): ReadonlyArray<Fault> =>
  [...new Set(query.keys())].filter((name) => name.startsWith("amp;")).slice(0, 20).map((name) => ({
    pointer: name,
    detail: "follows `&amp;`, which is the separator `&` as HTML writes it: use `&` alone",
  }))

/**
 * Why a parameter names no e-mail address; undefined if it may. A `+` that the caller did not escape arrives as a space, and
 * would name another person.
 */
export const plusFault = (email: string): string | undefined =>
  /\s/.test(email) ? "must not contain spaces: write a + in the address as %2B" : undefined
