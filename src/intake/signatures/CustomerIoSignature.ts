import { Schema } from "effect"
import * as KlaviyoSignature from "./KlaviyoSignature.ts"
import * as Verdict from "./Verdict.ts"

/** The signing key of a Customer.io reporting webhook, or of a Klaviyo system webhook. Source: `providers.md` 4. */
export const CustomerIoSettings = Schema.Struct({
  secrets: Verdict.secretsOf(Verdict.IssuedSecret),
  /**
   * Unit: seconds; 300 unless set, null for any. It is not known whether a retry is signed anew, and retries go on for 7
   * days: where old ones are refused, switch it off. A replay then still changes nothing, since events have ids.
   */
  tolerance_seconds: Schema.optionalKey(Verdict.Tolerance),
})
export type CustomerIoSettings = typeof CustomerIoSettings.Type

const signatureName = "x-cio-signature"
const timestampName = "x-cio-timestamp"

/**
 * HMAC-SHA256, in hexadecimal digits, over `v0:`, the timestamp as sent, `:` and the body. A request with the signature of
 * Klaviyo, the alternate platform of this source, is checked as Klaviyo signs. No text is signed by both in the same form: one
 * of Customer.io begins with `v0:`, and a body of Klaviyo with `{`.
 */
export const check: Verdict.Check<CustomerIoSettings> = (settings, headers, body, now) => {
  const secrets = Verdict.usable(settings.secrets)
  if (secrets.length === 0) return Verdict.noSecret
  const { tolerance_seconds: tolerance = Verdict.defaultToleranceSeconds } = settings
  if (Object.hasOwn(headers, KlaviyoSignature.signatureName)) {
    return KlaviyoSignature.check(secrets, tolerance, headers, body, now)
  }
  const signature = Verdict.headerOf(headers, signatureName)
  if ("fault" in signature) return signature.fault
  const timestamp = Verdict.headerOf(headers, timestampName)
  if ("fault" in timestamp) return timestamp.fault
  const bytes = Verdict.hexOf(signature.value, 32)
  if (bytes === undefined) {
    return Verdict.refused(`The header ${signatureName} must be one text of 64 hexadecimal digits`)
  }
  const fault = Verdict.timeFault(timestampName, timestamp.value, now, tolerance)
  if (fault !== undefined) return fault
  return Verdict.isHmac("sha256", secrets, [`v0:${timestamp.value}:`, body], bytes)
    ? Verdict.accepted
    : Verdict.mismatch(`signature in ${signatureName}`)
}
