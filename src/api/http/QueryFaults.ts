import { Buffer, isUtf8 } from "node:buffer"
import type { Fault } from "../../domain/Errors.ts"
import { encodingFault, guessText } from "../../text/Encodings.ts"

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

/** Decodes `%E4` and `+` to bytes. */
const bytesOf = (escaped: string): Uint8Array =>
  Buffer.from(
    escaped.replaceAll("+", " ").replace(/[^\0-\u007f]+/g, encodeURIComponent)
      .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  )

/** Returns the fault of an escaped name or value, or undefined if it is UTF-8. */
const faultOf = (escaped: string): string | undefined => {
  if (/%u[0-9a-f]{4}/i.test(escaped)) {
    return "is escaped by the outdated function escape(): use encodeURIComponent(), which writes UTF-8"
  }
  const bytes = bytesOf(escaped)
  if (isUtf8(bytes)) return undefined
  const bad = /(?:%[89a-f][0-9a-f])+/i.exec(escaped)?.[0].slice(0, 30) ?? ""
  return `is not UTF-8 at ${bad}${guessText({ looksLike: encodingFault(bytes)?.looksLike })}. ` +
    "Escape the bytes of UTF-8, such as %C3%A4 for ä"
}

/**
 * Returns the faults of parameters that are not UTF-8. `query` is escaped, as in an address or a form. Otherwise
 * `URLSearchParams` would replace the characters by U+FFFD, and people would read that.
 */
export const encodingFaults = (query: string): ReadonlyArray<Fault> => {
  if (!/%(?:[89a-f]|u[0-9a-f]{4})/i.test(query)) return []
  return query.split("&").flatMap((pair) => {
    const end = pair.indexOf("=")
    const [name, value] = end < 0 ? [pair, ""] : [pair.slice(0, end), pair.slice(end + 1)]
    const inName = faultOf(name)
    const detail = inName ?? faultOf(value)
    if (detail === undefined) return []
    const pointer = inName === undefined
      ? new URLSearchParams(`${name}=`).keys().next().value ?? ""
      : name.slice(0, 200)
    return [{ pointer, detail }]
  }).slice(0, 20)
}
