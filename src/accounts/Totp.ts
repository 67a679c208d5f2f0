import { Secret, TOTP } from "otpauth"
import { hash, randomInt } from "node:crypto"

// Codes of authenticator apps (RFC 6238: SHA-1, 6 digits, 30 seconds, which every app supports) and recovery codes.

/** Name under which authenticator apps list an account. */
const issuer = "Parlance"

const periodSeconds = 30

/** Number of time steps before and after the present one whose codes are accepted, because clocks differ. */
const window = 1

/** Returns a new secret of 160 bits, in base32. */
export const makeSecret = (): string => new Secret({ size: 20 }).base32

const totp = (secret: string, label = "") =>
  new TOTP({ issuer, label, algorithm: "SHA1", digits: 6, period: periodSeconds, secret: Secret.fromBase32(secret) })

/** Returns the `otpauth:` URI, which authenticator apps read from a QR code. */
export const uriOf = (secret: string, email: string): string => totp(secret, email).toString()

/** Returns the typed code without spaces and hyphens, with which apps and people group digits. */
const plain = (typed: string): string => typed.slice(0, 100).replace(/[\s-]/g, "")

/**
 * Returns the time step of a code that is right now, one step early or one late. Undefined for a wrong code, and for a
 * code of a step up to `lastStep`, which has been used.
 */
export const stepOf = (
  secret: string,
  typed: string,
  nowMillis: number,
  lastStep: number | undefined,
): number | undefined => {
  const token = plain(typed)
  if (!/^\d{6}$/.test(token)) return undefined
  const delta = totp(secret).validate({ token, timestamp: nowMillis, window })
  if (delta === null) return undefined
  const step = Math.floor(nowMillis / 1000 / periodSeconds) + delta
  return lastStep !== undefined && step <= lastStep ? undefined : step
}

/** Number of recovery codes of a second factor. */
export const recoveryCodeCount = 10

// Excludes letters and digits that people confuse.
const alphabet = "abcdefghjkmnpqrstuvwxyz23456789"
const recoveryCharacters = 16

/** Returns a new recovery code, four groups of four: 79 random bits, so that a fast hash of it cannot be reversed. */
export const makeRecoveryCode = (): string =>
  Array.from({ length: recoveryCharacters }, () => alphabet[randomInt(alphabet.length)]).join("").replace(
    /(.{4})(?=.)/g,
    "$1-",
  )

/**
 * Returns the stored digest of a recovery code, bound to its account. Undefined for a text without the form of a code.
 */
export const recoveryDigest = (accountId: string, typed: string): string | undefined => {
  const code = plain(typed).toLowerCase()
  return code.length === recoveryCharacters && /^[a-z0-9]+$/.test(code)
    ? hash("sha256", `recovery ${accountId} ${code}`, "hex")
    : undefined
}
