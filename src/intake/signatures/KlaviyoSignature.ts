import { Schema } from "effect"
import { Buffer } from "node:buffer"
import * as Json from "../../json/Json.ts"
import * as Verdict from "./Verdict.ts"

/** Settings for the signatures of Klaviyo's system webhooks. */
export const KlaviyoSettings = Schema.Struct({
  secrets: Verdict.secretsOf(Verdict.IssuedSecret),
  /** Maximum difference between the timestamp and now. Unit: seconds. Default: 300. Null: any difference. */
  tolerance_seconds: Schema.optionalKey(Verdict.Tolerance),
})
export type KlaviyoSettings = typeof KlaviyoSettings.Type

const timestampName = "klaviyo-timestamp"

/** Only requests of Klaviyo's system webhooks have this header. */
export const signatureName = "klaviyo-signature"

/** Returns a timestamp in Unix seconds. Klaviyo sends an HTTP date, ISO 8601 or Unix seconds. */
const secondsOf = (text: string): number | undefined => {
  if (text.length > 64 || !/^(?:\d|[A-Z][a-z]{2}, )/.test(text)) return undefined
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

/** Returns the id of the webhook in a body; undefined if the body has none. */
const webhookIdIn = (body: Uint8Array): string | undefined => {
  try {
    const json = Json.parse(Buffer.from(body).toString("utf8")) as {
      readonly meta?: { readonly klaviyo_webhook_id?: unknown }
    }
    const id = json?.meta?.klaviyo_webhook_id
    return typeof id === "string" ? id : undefined
  } catch {
    return undefined
  }
}

const webhookIdName = "klaviyo-webhook-id"

/**
 * Checks the signature, and that header and body name the same webhook if both name one. Klaviyo requires receivers to
 * compare both.
 */
export const checkWebhook: Verdict.Check<KlaviyoSettings> = (settings, headers, body, now) => {
  const secrets = Verdict.usable(settings.secrets)
  if (secrets.length === 0) return Verdict.noSecret
  const verdict = check(
    secrets,
    settings.tolerance_seconds === undefined ? Verdict.defaultToleranceSeconds : settings.tolerance_seconds,
    headers,
    body,
    now,
  )
  if (!verdict.ok || !Object.hasOwn(headers, webhookIdName)) return verdict
  const stated = webhookIdIn(body)
  return stated === undefined || stated === headers[webhookIdName]
    ? verdict
    : Verdict.refused(`The header ${webhookIdName} names another webhook than meta.klaviyo_webhook_id of the body`)
}
