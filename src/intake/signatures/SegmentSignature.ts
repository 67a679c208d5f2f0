import { Schema } from "effect"
import { Buffer } from "node:buffer"
import * as BearerToken from "./BearerToken.ts"
import * as Verdict from "./Verdict.ts"

/**
 * The shared secret of a Segment webhook destination, or a token in a header. Facts:
 * docs/integrations/facts/segment.md.
 */
export const SegmentSignatureSettings = Schema.Struct({
  secrets: Verdict.secretsOf(Verdict.IssuedSecret),
  /**
   * Default: `signature`. `token` is for Segment's extensible webhooks, RudderStack and mParticle, which send a header
   * that their customer defines. Then each secret must be ASCII without spaces. After `Basic`, the secret is
   * `user:password` or its Base64.
   */
  scheme: Schema.optionalKey(Schema.Literals(["signature", "token"])),
  /** Header of the token. Default: `authorization`. */
  header: Schema.optionalKey(Verdict.HeaderName),
  /**
   * Whether a batch is accepted although only its first item is signed. Default: false. Segment signs no other item of
   * a batch, so anyone who has seen one signed item can append other items. A token does not have this weakness.
   */
  unsigned_items: Schema.optionalKey(Schema.Boolean),
}).check(
  Schema.makeFilter<{ readonly scheme?: "signature" | "token"; readonly secrets: ReadonlyArray<string> }>((settings) =>
    settings.scheme === "token" && !settings.secrets.every((secret) => /^[\x21-\x7e]+$/.test(secret))
      ? { path: ["secrets"], issue: "must be ASCII without spaces to stand in a header" }
      : undefined
  ),
)
export type SegmentSignatureSettings = typeof SegmentSignatureSettings.Type

const signatureName = "x-signature"

/** The first element of an array, and whether it is the only element. */
interface FirstElement {
  /** The exact bytes in the body, because re-serialized JSON would not match the signature. */
  readonly bytes: Uint8Array
  readonly alone: boolean
}

const quote = 0x22
const colon = 0x3a
const backslash = 0x5c
const openings = new Set([0x5b, 0x7b])
const closings = new Set([0x5d, 0x7d])
const spaces = new Set([0x20, 0x09, 0x0a, 0x0d])

/** Returns the end (exclusive) of the object that begins at `start`; undefined if the object is incomplete. */
const endOf = (body: Uint8Array, start: number): number | undefined => {
  let depth = 0
  let quoted = false
  for (let at = start; at < body.length; at++) {
    const byte = body[at]!
    if (quoted) {
      if (byte === backslash) at++
      else if (byte === quote) quoted = false
    } else if (byte === quote) quoted = true
    else if (openings.has(byte)) depth++
    else if (closings.has(byte) && --depth === 0) return at + 1
  }
  return undefined
}

/**
 * Returns the first element of a JSON array if it is an object; undefined for other bodies. Linear time. Does not
 * detect other syntax errors.
 */
export const firstElement = (body: Uint8Array): FirstElement | undefined => {
  const skip = (from: number): number => {
    let at = from
    while (at < body.length && spaces.has(body[at]!)) at++
    return at
  }
  const opening = skip(0)
  if (body[opening] !== 0x5b) return undefined
  const start = skip(opening + 1)
  if (body[start] !== 0x7b) return undefined
  const end = endOf(body, start)
  if (end === undefined) return undefined
  const closing = skip(end)
  const alone = body[closing] === 0x5d && skip(closing + 1) === body.length
  return { bytes: body.subarray(start, end), alone }
}

const checkSignature = (
  settings: SegmentSignatureSettings,
  headers: Verdict.Headers,
  body: Uint8Array,
): Verdict.SignatureVerdict => {
  const secrets = Verdict.usable(settings.secrets)
  if (secrets.length === 0) return Verdict.noSecret
  const signature = Verdict.headerOf(headers, signatureName)
  if ("fault" in signature) return signature.fault
  const bytes = Verdict.hexOf(signature.value, 20)
  if (bytes === undefined) {
    return Verdict.refused(`The header ${signatureName} must be one text of 40 hexadecimal digits`)
  }
  if (Verdict.isHmac("sha1", secrets, [body], bytes)) return Verdict.accepted
  const first = firstElement(body)
  if (first === undefined || !Verdict.isHmac("sha1", secrets, [first.bytes], bytes)) {
    return Verdict.mismatch(`signature in ${signatureName}`)
  }
  return first.alone || settings.unsigned_items === true ? Verdict.accepted : Verdict.refused(
    "Only the first item of this batch is signed, so anybody could have written the others: set the batch size of the " +
      'destination to 1, send a token in a header and set scheme to "token", or accept such batches by setting ' +
      "unsigned_items to true",
  )
}

/** Whether a secret is the Base64 of user and password for a `Basic` header. */
const isCredentials = (secret: string): boolean => {
  const decoded = Verdict.base64Of(secret)
  return decoded !== undefined && decoded.includes(colon)
}

/** Returns the credentials of `Authorization: Basic`; undefined for other headers. */
const basicOf = (headers: Verdict.Headers, name: string): string | undefined =>
  Object.hasOwn(headers, name) ? /^basic +(\S+)$/i.exec(headers[name]!.trim())?.[1] : undefined

const checkToken = (settings: SegmentSignatureSettings, headers: Verdict.Headers): Verdict.SignatureVerdict => {
  const name = settings.header ?? "authorization"
  const presented = basicOf(headers, name)
  if (presented === undefined) {
    return BearerToken.checkToken(settings, { schemes: ["bearer"], bare: true, encoded: [] }, headers)
  }
  const secrets = Verdict.usable(settings.secrets)
  if (secrets.length === 0) return Verdict.noSecret
  let fits = false
  for (const secret of secrets) {
    const credentials = isCredentials(secret) ? secret : Buffer.from(secret, "utf8").toString("base64")
    if (Verdict.sameText(presented, credentials)) fits = true
  }
  return fits
    ? Verdict.accepted
    : Verdict.refused(`The credentials in the header ${name} do not match the configured secret`)
}

/**
 * Checks HMAC-SHA1, in hexadecimal digits, over the body, or over the first element of an array; or checks a token. No
 * time is signed.
 */
export const check: Verdict.Check<SegmentSignatureSettings> = (settings, headers, body) =>
  settings.scheme === "token" ? checkToken(settings, headers) : checkSignature(settings, headers, body)
