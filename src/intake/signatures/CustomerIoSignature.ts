import { Schema } from "effect"
import * as KlaviyoSignature from "./KlaviyoSignature.ts"
import * as Verdict from "./Verdict.ts"

/** Settings for the signatures of Customer.io's reporting webhooks and Klaviyo's system webhooks. */
export const CustomerIoSettings = Schema.Struct({
  secrets: Verdict.secretsOf(Verdict.IssuedSecret),
  /**
   * Maximum difference between the timestamp and now. Unit: seconds. Default: 300. Null: any difference. Customer.io
   * does not document whether retries are signed with a new timestamp, and it retries for 7 days. If retries are
   * refused because of their age, set null. Replays still have no effect, because events have ids.
   */
  tolerance_seconds: Schema.optionalKey(Verdict.Tolerance),
})
export type CustomerIoSettings = typeof CustomerIoSettings.Type

const signatureName = "x-cio-signature"
const timestampName = "x-cio-timestamp"

/**
 * Checks HMAC-SHA256, in hexadecimal digits, over `v0:`, the timestamp as sent, `:` and the body. A request with
 * Klaviyo's signature header is checked by Klaviyo's rule. No text can be valid under both rules: a signed text of
 * Customer.io begins with `v0:`, and a body of Klaviyo with `{`. Facts: docs/integrations/facts/customer-io.md.
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
