import * as Verdict from "./Verdict.ts"

const timestampName = "klaviyo-timestamp"

/** Only requests of Klaviyo's system webhooks have this header. */
export const signatureName = "klaviyo-signature"

/** Returns a timestamp in Unix seconds. Klaviyo sends an HTTP date, ISO 8601 or Unix seconds. */
const secondsOf = (text: string): number | undefined => {
  if (text.length > 64) return undefined
  const millis = /^\d{1,12}$/.test(text) ? Number(text) * 1_000 : Date.parse(text)
  return Number.isFinite(millis) ? Math.floor(millis / 1_000) : undefined
}

/**
 * Checks HMAC-SHA256, in hexadecimal digits, over the body followed by the timestamp as sent. `toleranceSeconds` is the
 * maximum difference between the timestamp and now; null for any. Facts: docs/integrations/facts/klaviyo.md.
 */
export const check = (
  secrets: ReadonlyArray<string>,
  toleranceSeconds: number | null,
  headers: Verdict.Headers,
  body: Uint8Array,
  now: number,
): Verdict.SignatureVerdict => {
  const signature = Verdict.headerOf(headers, signatureName)
  if ("fault" in signature) return signature.fault
  const timestamp = Verdict.headerOf(headers, timestampName)
  if ("fault" in timestamp) return timestamp.fault
  const bytes = Verdict.hexOf(signature.value, 32)
  if (bytes === undefined) {
    return Verdict.refused(`The header ${signatureName} must be one text of 64 hexadecimal digits`)
  }
  const seconds = secondsOf(timestamp.value)
  if (seconds === undefined) return Verdict.refused(`The header ${timestampName} must be one time`)
  const fault = Verdict.timeFault(timestampName, String(Math.max(0, seconds)), now, toleranceSeconds)
  if (fault !== undefined) return fault
  return Verdict.isHmac("sha256", secrets, [body, timestamp.value], bytes)
    ? Verdict.accepted
    : Verdict.mismatch(`signature in ${signatureName}`)
}
