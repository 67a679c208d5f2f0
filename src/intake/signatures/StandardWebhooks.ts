import { Schema } from "effect"
import { Buffer } from "node:buffer"
import { createPublicKey, verify } from "node:crypto"
import * as Verdict from "./Verdict.ts"

// Each key has one algorithm. If a public key were accepted as an HMAC secret, anyone could sign.
type Key = { readonly version: "v1" | "v1a"; readonly bytes: Uint8Array }

const keyOf = (secret: string): Key | undefined => {
  const bytes = Verdict.base64Of(secret.slice(secret.indexOf("_") + 1))
  if (bytes === undefined) return undefined
  if (secret.startsWith("whsec_")) {
    return bytes.length >= 24 && bytes.length <= 64 ? { version: "v1", bytes } : undefined
  }
  return secret.startsWith("whpk_") && bytes.length === 32 ? { version: "v1a", bytes } : undefined
}

const WebhookSecret = Schema.String.check(
  Schema.makeFilter<string>((text) =>
    keyOf(text) === undefined
      ? "must be whsec_ and 24 to 64 bytes in Base64, or whpk_ and the 32 bytes of an ed25519 public key in Base64"
      : undefined
  ),
)

/**
 * Secrets and public keys of Standard Webhooks 1.0.0. Source: https://github.com/standard-webhooks/standard-webhooks,
 * `spec/standard-webhooks.md`.
 */
export const StandardWebhooksSettings = Schema.Struct({
  secrets: Verdict.secretsOf(WebhookSecret),
  /** Maximum difference between the timestamp and now. Unit: seconds. Default: 300. Null: any. */
  tolerance_seconds: Schema.optionalKey(Verdict.Tolerance),
})
export type StandardWebhooksSettings = typeof StandardWebhooksSettings.Type

const idName = "webhook-id"
const timestampName = "webhook-timestamp"
const signatureName = "webhook-signature"

/** Maximum number of signatures of a header. A sender that replaces its key sends two or three. */
const maxSignatures = 10

/** DER prefix of an ed25519 public key. */
const ed25519Prefix = Buffer.from("302a300506032b6570032100", "hex")

const isEd25519 = (key: Uint8Array, signed: Uint8Array, signature: Uint8Array): boolean => {
  try {
    const publicKey = createPublicKey({ key: Buffer.concat([ed25519Prefix, key]), format: "der", type: "spki" })
    return verify(null, signed, publicKey, signature)
  } catch {
    // The 32 bytes are not a point on the curve.
    return false
  }
}

/**
 * Accepts a request if any signature of the list is valid for any of the keys, over id, timestamp and body joined by
 * full stops. `v1` is HMAC-SHA256, `v1a` ed25519, in Base64. Other versions are ignored, as the specification requires.
 * The caller must detect replays by their ids.
 */
export const check: Verdict.Check<StandardWebhooksSettings> = (settings, headers, body, now) => {
  const keys = settings.secrets.flatMap((secret) => keyOf(secret) ?? [])
  if (keys.length === 0) return Verdict.noSecret
  const id = Verdict.headerOf(headers, idName)
  if ("fault" in id) return id.fault
  const timestamp = Verdict.headerOf(headers, timestampName)
  if ("fault" in timestamp) return timestamp.fault
  const signatures = Verdict.headerOf(headers, signatureName)
  if ("fault" in signatures) return signatures.fault
  const { tolerance_seconds: tolerance = Verdict.defaultToleranceSeconds } = settings
  const fault = Verdict.timeFault(timestampName, timestamp.value, now, tolerance)
  if (fault !== undefined) return fault
  if (/,(?: |$)/.test(signatures.value)) return Verdict.refused(`The header ${signatureName} was sent more than once`)
  const listed = signatures.value.split(/ +/)
  if (listed.length > maxSignatures) {
    return Verdict.refused(`The header ${signatureName} has over ${maxSignatures} entries`)
  }

  const head = `${id.value}.${timestamp.value}.`
  let isKnown = false
  let fits = false
  for (const entry of listed) {
    const comma = entry.indexOf(",")
    const usable = keys.filter(({ version }) => version === entry.slice(0, comma))
    const signature = Verdict.base64Of(entry.slice(comma + 1))
    if (usable.length === 0 || signature === undefined) continue
    isKnown = true
    for (const { bytes, version } of usable) {
      const isRight = version === "v1"
        ? Verdict.isHmac("sha256", [bytes], [head, body], signature)
        : isEd25519(bytes, Buffer.concat([Buffer.from(head), body]), signature)
      if (isRight) fits = true
    }
  }
  if (fits) return Verdict.accepted
  return isKnown ? Verdict.mismatch(`signature in ${signatureName}`) : Verdict.refused(
    `The header ${signatureName} has no signature that the keys set up are for: v1 goes with whsec_, v1a with whpk_`,
  )
}
