import { Buffer } from "node:buffer"
import { hash, randomBytes, timingSafeEqual } from "node:crypto"

// The token of a session's forms. Each response contains it in another form, so that the lengths of compressed pages
// reveal nothing about it: see docs/decisions/0101.

/** Length of the token. Unit: bytes. */
const length = 32

/** Returns the exclusive or of two byte arrays of equal length. */
const xor = (one: Uint8Array, two: Uint8Array) => one.map((byte, at) => byte ^ two[at]!)

/**
 * Returns the token of the session with this cookie in a new form: random bytes, then the token masked by them. The
 * token does not disclose the cookie.
 */
export const csrfTokenOf = (cookie: string): string => {
  const mask = randomBytes(length)
  return Buffer.concat([mask, xor(mask, hash("sha256", `csrf ${cookie}`, "buffer"))]).toString("base64url")
}

/** Returns the bytes that all forms of a token share. Undefined for a text that is not a token. */
const unmasked = (text: string): Uint8Array | undefined => {
  const bytes = Buffer.from(text, "base64url")
  if (bytes.toString("base64url") !== text) return undefined
  // Forms that were opened before an upgrade contain the token unmasked.
  if (bytes.length === length) return bytes
  return bytes.length === 2 * length ? xor(bytes.subarray(0, length), bytes.subarray(length)) : undefined
}

/** Whether two texts are forms of one token. */
export const sameCsrfToken = (sent: string | undefined, token: string): boolean => {
  const [one, two] = [unmasked(sent ?? ""), unmasked(token)]
  return one !== undefined && two !== undefined && timingSafeEqual(one, two)
}
