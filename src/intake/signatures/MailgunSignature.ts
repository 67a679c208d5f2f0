import { Schema } from "effect"
import { Buffer } from "node:buffer"
import * as Json from "../../json/Json.ts"
import * as Verdict from "./Verdict.ts"

/** The HTTP webhook signing key of a Mailgun account. */
export const MailgunSettings = Schema.Struct({
  secrets: Verdict.secretsOf(Verdict.IssuedSecret),
  /** Maximum difference between the timestamp and now. Unit: seconds. Default: 86,400, because retries end after 8 hours. */
  tolerance_seconds: Schema.optionalKey(Verdict.Tolerance),
})
export type MailgunSettings = typeof MailgunSettings.Type

const defaultToleranceSeconds = 86_400

/** The signature in a body. */
interface Signed {
  readonly timestamp: string
  readonly token: string
  /** The signatures by the account, and by the account above it. */
  readonly signatures: ReadonlyArray<string>
}

const textIn = (value: unknown): string | undefined =>
  typeof value === "number" ? String(value) : typeof value === "string" && value !== "" ? value : undefined

/** Returns the members of a body: of JSON, or of a form in Mailgun's older form, which has the signature at its top. */
const membersOf = (body: Uint8Array): Readonly<Record<string, unknown>> | undefined => {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8")
  if (/^\w+=/.test(text)) return { signature: Object.fromEntries(new URLSearchParams(text)) }
  try {
    const json: unknown = Json.parse(text)
    return typeof json === "object" && json !== null ? json as Readonly<Record<string, unknown>> : undefined
  } catch {
    return undefined
  }
}

/** Returns the signature in a body; undefined if it has none. */
export const signedIn = (body: Uint8Array): Signed | undefined => {
  const signature = membersOf(body)?.["signature"] as Readonly<Record<string, unknown>> | undefined
  if (typeof signature !== "object" || signature === null) return undefined
  const timestamp = textIn(signature["timestamp"])
  const token = textIn(signature["token"])
  const signatures = [signature["signature"], signature["parent-signature"]].flatMap((one) => textIn(one) ?? [])
  if (timestamp === undefined || token === undefined || signatures.length === 0) return undefined
  return { timestamp, token, signatures }
}

/**
 * Checks HMAC-SHA256, in hexadecimal digits, over the timestamp and the token. The event itself is not signed: the
 * caller must refuse a token that was used for another body. Facts: docs/integrations/facts/mailgun.md.
 */
export const check: Verdict.Check<MailgunSettings> = (settings, _headers, body, now) => {
  const secrets = Verdict.usable(settings.secrets)
  if (secrets.length === 0) return Verdict.noSecret
  const signed = signedIn(body)
  if (signed === undefined) return Verdict.refused("The body has no signature with timestamp, token and signature")
  const { timestamp, token } = signed
  if (!/^\d{1,12}$/.test(timestamp)) return Verdict.refused("The timestamp of the signature must be Unix seconds")
  const { tolerance_seconds: tolerance = defaultToleranceSeconds } = settings
  const fault = Verdict.timeFault("timestamp", timestamp, now, tolerance)
  if (fault !== undefined) return fault
  const fits = signed.signatures.map((text) => {
    const bytes = Verdict.hexOf(text, 32)
    return bytes !== undefined && Verdict.isHmac("sha256", secrets, [timestamp, token], bytes)
  })
  return fits.includes(true) ? Verdict.accepted : Verdict.mismatch("signature in the body")
}
