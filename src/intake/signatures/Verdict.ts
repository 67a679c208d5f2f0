import { Schema } from "effect"
import { Buffer } from "node:buffer"
import { createHmac, hash, timingSafeEqual } from "node:crypto"

/**
 * Whether a request comes from the claimed sender. The reason is for people and reveals nothing about a secret.
 * `certificate` is the URL of a certificate without which the request cannot be checked.
 */
export type SignatureVerdict = { readonly ok: true } | {
  readonly ok: false
  readonly reason: string
  readonly certificate?: string
}

/** Headers by lowercase name. A header that was sent twice has both values, joined by a comma and a space. */
export type Headers = Readonly<Record<string, string>>

/**
 * Checks a request by its headers and the raw bytes of its body. `now` is in Unix milliseconds. Pure, never throws. The
 * duration does not depend on how much of a signature is correct.
 */
export type Check<Settings> = (settings: Settings, headers: Headers, body: Uint8Array, now: number) => SignatureVerdict

/** The result for a genuine request. */
export const accepted: SignatureVerdict = { ok: true }

/** The result for a refused request. */
export const refused = (reason: string): Exclude<SignatureVerdict, { readonly ok: true }> => ({ ok: false, reason })

/** The result if no secret made this signature. */
export const mismatch = (name: string): SignatureVerdict =>
  refused(`The ${name} does not fit: the body was changed on its way, or the secret is another one`)

/** The result if the source has no secret, so that the request cannot be checked. */
export const noSecret: SignatureVerdict = refused(
  "No secret has been set up for this source, so nothing can be accepted",
)

/** Maximum length of a secret. Unit: characters. */
const maxSecret = 1_000

/** A secret that a platform issued: 1 to 1,000 printable characters, without leading or trailing spaces. */
export const IssuedSecret = Schema.String.check(
  Schema.makeFilter<string>((text) =>
    text === "" || text.length > maxSecret
      ? "must be 1 to 1,000 characters"
      : text.trim() !== text
      ? "must not begin or end with a space"
      // deno-lint-ignore no-control-regex
      : /[\u0000-\u001f\u007f]/.test(text) || !text.isWellFormed()
      ? "must be printable text"
      : undefined
  ),
)

/** A secret sent in a header: 1 to 1,000 ASCII characters without spaces. */
export const TokenSecret = Schema.String.check(
  Schema.makeFilter<string>((text) =>
    text.length <= maxSecret && /^[\x21-\x7e]+$/.test(text)
      ? undefined
      : "must be 1 to 1,000 ASCII characters without spaces: the token alone, without a word such as Bearer"
  ),
)

/** The secrets of a source: the current secret, and during a replacement a second one. */
export const secretsOf = <Secret extends Schema.Constraint>(secret: Secret) =>
  Schema.Array(secret).check(Schema.isMinLength(1), Schema.isMaxLength(2))

/** The name of a header, lowercase. */
export const HeaderName = Schema.String.check(
  Schema.makeFilter<string>((text) =>
    /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(text) ? undefined : "must be the name of a header, in lower case"
  ),
)

/** Unit: seconds. Range: 0 to 86,400. Null disables the check of the time. */
export const Tolerance = Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 86_400 })))

/** Maximum age of a signed timestamp, and maximum time ahead. Unit: seconds. */
export const defaultToleranceSeconds = 300

/** Returns the secrets that are not blank. A blank secret would make every signature valid. */
export const usable = (secrets: ReadonlyArray<string>): ReadonlyArray<string> =>
  secrets.filter((secret) => secret.trim() !== "")

/** Returns the value of a header, or why it cannot be used. A blank value counts as missing. */
export const headerOf = (
  headers: Headers,
  name: string,
): { readonly value: string } | { readonly fault: SignatureVerdict } => {
  const value = Object.hasOwn(headers, name) ? headers[name]!.trim() : ""
  return value === "" ? { fault: refused(`The header ${name} is missing`) } : { value }
}

/** Whether two texts are equal, in a time that reveals neither their first difference nor their lengths. */
export const sameText = (a: string, b: string): boolean =>
  timingSafeEqual(hash("sha256", a, "buffer"), hash("sha256", b, "buffer"))

/** Whether one of the keys yields `signature` over the concatenated parts. Always tries all keys. */
export const isHmac = (
  algorithm: "sha1" | "sha256",
  keys: ReadonlyArray<string | Uint8Array>,
  parts: ReadonlyArray<string | Uint8Array>,
  signature: Uint8Array,
): boolean => {
  let fits = false
  for (const key of keys) {
    const hmac = createHmac(algorithm, key)
    for (const part of parts) hmac.update(part)
    const expected = hmac.digest()
    if (expected.length === signature.length && timingSafeEqual(expected, signature)) fits = true
  }
  return fits
}

/** Decodes exactly `bytes` bytes from hexadecimal digits of either case; undefined for other texts. */
export const hexOf = (text: string, bytes: number): Uint8Array | undefined =>
  text.length === bytes * 2 && /^[0-9a-fA-F]+$/.test(text) ? Buffer.from(text, "hex") : undefined

/** Decodes padded Base64 in its canonical form; undefined for other texts. */
export const base64Of = (text: string): Uint8Array | undefined => {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  const bytes = Buffer.from(text, "base64")
  return bytes.toString("base64") === text ? bytes : undefined
}

/** Returns the fault of a signed timestamp in Unix seconds, if any. Both ends of the tolerance are inclusive. */
export const timeFault = (
  name: string,
  text: string,
  now: number,
  toleranceSeconds: number | null,
): SignatureVerdict | undefined => {
  if (!/^\d{1,12}$/.test(text)) return refused(`The header ${name} must be one time in Unix seconds`)
  if (toleranceSeconds === null) return undefined
  const age = now / 1_000 - Number(text)
  if (Math.abs(age) <= toleranceSeconds) return undefined
  const seconds = Math.ceil(Math.abs(age))
  return refused(
    age > 0
      ? `The request was signed ${seconds} seconds ago; ${toleranceSeconds} are allowed`
      : `The request was signed ${seconds} seconds in the future; ${toleranceSeconds} are allowed. Are the clocks right?`,
  )
}
