import { Schema } from "effect"
import { Buffer } from "node:buffer"
import { createPublicKey, type KeyObject, verify } from "node:crypto"
import { LruMap } from "../../json/LruMap.ts"
import * as Verdict from "./Verdict.ts"

/** Parsed keys by their text. */
const parsed = new LruMap<KeyObject>(1_000)

/** Returns the public key in Base64 or PEM; undefined for other texts. */
const keyOf = (text: string): KeyObject | undefined => {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const pem = /^-----BEGIN PUBLIC KEY-----\s+([A-Za-z0-9+/=\s]+?)\s+-----END PUBLIC KEY-----$/.exec(text)
  const der = Verdict.base64Of(pem === null ? text : pem[1]!.replaceAll(/\s/g, ""))
  if (der === undefined) return undefined
  try {
    const key = createPublicKey({ key: Buffer.from(der), format: "der", type: "spki" })
    if (key.asymmetricKeyType !== "ec") return undefined
    parsed.set(text, key)
    return key
  } catch {
    return undefined
  }
}

/** The verification key of SendGrid's Event Webhook. It is public, so it proves nothing about who knows it. */
export const SendGridSettings = Schema.Struct({
  secrets: Verdict.secretsOf(Schema.String.check(
    Schema.makeFilter<string>((text) =>
      text.length <= 1_000 && keyOf(text) !== undefined
        ? undefined
        : "must be the verification key that SendGrid shows, in Base64 or PEM"
    ),
  )),
  /**
   * Maximum difference between the timestamp and now. Unit: seconds. Default: null, any. SendGrid tries again for 24
   * hours, and does not document whether it signs again. Replays have no effect, because events have ids.
   */
  tolerance_seconds: Schema.optionalKey(Verdict.Tolerance),
})
export type SendGridSettings = typeof SendGridSettings.Type

const signatureName = "x-twilio-email-event-webhook-signature"
const timestampName = "x-twilio-email-event-webhook-timestamp"

/**
 * Checks ECDSA with SHA-256, in Base64, over the timestamp as sent and the body. Facts:
 * docs/integrations/facts/sendgrid.md.
 */
export const check: Verdict.Check<SendGridSettings> = (settings, headers, body, now) => {
  const keys = settings.secrets.flatMap((secret) => keyOf(secret) ?? [])
  if (keys.length === 0) return Verdict.noSecret
  const signature = Verdict.headerOf(headers, signatureName)
  if ("fault" in signature) return signature.fault
  const timestamp = Verdict.headerOf(headers, timestampName)
  if ("fault" in timestamp) return timestamp.fault
  const bytes = Verdict.base64Of(signature.value)
  if (bytes === undefined) return Verdict.refused(`The header ${signatureName} must be one text in Base64`)
  const fault = Verdict.timeFault(timestampName, timestamp.value, now, settings.tolerance_seconds ?? null)
  if (fault !== undefined) return fault
  const signed = Buffer.concat([Buffer.from(timestamp.value), body])
  const fits = keys.map((key) => verify("sha256", signed, key, bytes))
  return fits.includes(true) ? Verdict.accepted : Verdict.mismatch(`signature in ${signatureName}`)
}
