import { Schema } from "effect"
import { Buffer } from "node:buffer"
import { createHmac, hash, timingSafeEqual } from "node:crypto"

/** Whether a request comes from the sender it claims. The reason is for people and reveals nothing about a secret. */
export type SignatureVerdict = { readonly ok: true } | { readonly ok: false; readonly reason: string }

/** Headers by lowercase name; one that was sent twice has both values, joined by a comma and a space. */
export type Headers = Readonly<Record<string, string>>

/**
 * Judges a request by its headers and the bytes of its body as they came. `now` is in Unix milliseconds. Pure, never
 * throws, and takes as long for a nearly right signature as for a wrong one.
 */
export type Check<Settings> = (settings: Settings, headers: Headers, body: Uint8Array, now: number) => SignatureVerdict

/** The request is genuine. */
export const accepted: SignatureVerdict = { ok: true }

/** The request is refused. */
export const refused = (reason: string): SignatureVerdict => ({ ok: false, reason })

/** None of the secrets made this signature. */
export const mismatch = (name: string): SignatureVerdict =>
  refused(`The ${name} does not fit: the body was changed on its way, or the secret is another one`)

/** The request cannot be checked: the source has no secret. */
export const noSecret: SignatureVerdict = refused(
  "No secret has been set up for this source, so nothing can be accepted",
)

/** Most characters of a secret. */
const maxSecret = 1_000

/** A secret that a platform issued: 1 to 1,000 characters, printable, without spaces at its ends. */
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

/** A secret that stands in a header itself: 1 to 1,000 ASCII characters without spaces. */
export const TokenSecret = Schema.String.check(
  Schema.makeFilter<string>((text) =>
    text.length <= maxSecret && /^[\x21-\x7e]+$/.test(text)
      ? undefined
      : "must be 1 to 1,000 ASCII characters without spaces: the token alone, without a word such as Bearer"
  ),
)

/** The secrets of a source: the one in use, and while it is being replaced a second one. */
export const secretsOf = <Secret extends Schema.Constraint>(secret: Secret) =>
  Schema.Array(secret).check(Schema.isMinLength(1), Schema.isMaxLength(2))

/** The name of a header, lowercase. */
export const HeaderName = Schema.String.check(
  Schema.makeFilter<string>((text) =>
    /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(text) ? undefined : "must be the name of a header, in lower case"
  ),
)

/** Seconds, 0 to a day; null switches the check of the time off. */
export const Tolerance = Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 86_400 })))

/** How old, or how far ahead, a signed timestamp may be. Unit: seconds. */
export const defaultToleranceSeconds = 300

/** The usable secrets. A blank secret would make every signature valid. */
export const usable = (secrets: ReadonlyArray<string>): ReadonlyArray<string> =>
  secrets.filter((secret) => secret.trim() !== "")

/** The value of a header, or why it cannot be used. Blank is missing. */
export const headerOf = (
  headers: Headers,
  name: string,
): { readonly value: string } | { readonly fault: SignatureVerdict } => {
  const value = Object.hasOwn(headers, name) ? headers[name]!.trim() : ""
  return value === "" ? { fault: refused(`The header ${name} is missing`) } : { value }
}

/** Whether two texts are equal, in a time that tells nothing about where they differ, nor about their lengths. */
export const sameText = (a: string, b: string): boolean =>
  timingSafeEqual(hash("sha256", a, "buffer"), hash("sha256", b, "buffer"))

/** Whether one of the keys gives `signature` over the parts, one after another. All keys are tried whichever fits. */
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

/** Exactly `bytes` bytes in hexadecimal digits of either case. */
export const hexOf = (text: string, bytes: number): Uint8Array | undefined =>
  text.length === bytes * 2 && /^[0-9a-fA-F]+$/.test(text) ? Buffer.from(text, "hex") : undefined

/** Bytes in Base64 with its padding, in the one spelling they have. */
export const base64Of = (text: string): Uint8Array | undefined => {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  const bytes = Buffer.from(text, "base64")
  return bytes.toString("base64") === text ? bytes : undefined
}

/** The fault of a signed timestamp in Unix seconds, if any. Both ends of the tolerance are inclusive. */
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
