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

/** The names of the headers, and Svix's names of them. */
const headerNames = ["webhook", "svix"].map((prefix) => ({
  id: `${prefix}-id`,
  timestamp: `${prefix}-timestamp`,
  signature: `${prefix}-signature`,
}))

/** Returns the names of the headers of a request. If it has both signatures, the names of the standard count. */
const namesIn = (headers: Verdict.Headers) =>
  headerNames.find(({ signature }) => "value" in Verdict.headerOf(headers, signature)) ??
    headerNames.find((names) => Object.values(names).some((name) => Object.hasOwn(headers, name))) ?? headerNames[0]!

/** Whether a request has a signature. */
export const isSigned = (headers: Verdict.Headers): boolean =>
  headerNames.some(({ signature }) => "value" in Verdict.headerOf(headers, signature))

/** The headers with the id of a request. It is the default id of the only event of the request. */
export const idHeaders: ReadonlyArray<string> = headerNames.map(({ id }) => id)

/** Returns the id of a request; undefined if it has none. */
export const requestId = (headers: Verdict.Headers): string | undefined =>
  idHeaders.flatMap((name) => {
    const id = Verdict.headerOf(headers, name)
    return "value" in id ? [id.value] : []
  })[0]

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
 * full stops. Svix, the origin of the standard, names the headers `svix-id`, `svix-timestamp` and `svix-signature`. `v1` is HMAC-SHA256, `v1a` ed25519, in Base64. Other versions are ignored, as the specification requires.
 * The caller must detect replays by their ids.
 */
export const check: Verdict.Check<StandardWebhooksSettings> = (settings, headers, body, now) => {
  const keys = settings.secrets.flatMap((secret) => keyOf(secret) ?? [])
  if (keys.length === 0) return Verdict.noSecret
  const names = namesIn(headers)
  const id = Verdict.headerOf(headers, names.id)
  if ("fault" in id) return id.fault
  const timestamp = Verdict.headerOf(headers, names.timestamp)
  if ("fault" in timestamp) return timestamp.fault
  const signatures = Verdict.headerOf(headers, names.signature)
  if ("fault" in signatures) return signatures.fault
  const { tolerance_seconds: tolerance = Verdict.defaultToleranceSeconds } = settings
  const fault = Verdict.timeFault(names.timestamp, timestamp.value, now, tolerance)
  if (fault !== undefined) return fault
  if (/,(?: |$)/.test(signatures.value)) return Verdict.refused(`The header ${names.signature} was sent more than once`)
  const listed = signatures.value.split(/ +/)
  if (listed.length > maxSignatures) {
    return Verdict.refused(`The header ${names.signature} has over ${maxSignatures} entries`)
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
  return isKnown ? Verdict.mismatch(`signature in ${names.signature}`) : Verdict.refused(
    `The header ${names.signature} has no signature that the keys set up are for: v1 goes with whsec_, v1a with whpk_`,
  )
}
