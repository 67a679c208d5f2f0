import { Schema } from "effect"
import { Buffer } from "node:buffer"
import * as Json from "../../json/Json.ts"
import * as Verdict from "./Verdict.ts"

/**
 * The signature key of a callback of Marketing Cloud's Event Notification Service. Facts:
 * docs/integrations/facts/marketing-cloud.md.
 */
export const SfmcSettings = Schema.Struct({
  /**
   * Empty until the callback exists, because Salesforce shows its key only after the callback's URL has answered the
   * handshake.
   */
  secrets: Schema.Array(Verdict.IssuedSecret).check(Schema.isMaxLength(2)),
  /**
   * Default: `text`, the key's characters are the key. `base64`: they encode its bytes. Salesforce does not document
   * which applies.
   */
  key_encoding: Schema.optionalKey(Schema.Literals(["text", "base64"])),
}).check(
  Schema.makeFilter<{ readonly key_encoding?: "text" | "base64"; readonly secrets: ReadonlyArray<string> }>((
    settings,
  ) =>
    settings.key_encoding === "base64" && !settings.secrets.every((secret) => Verdict.base64Of(secret) !== undefined)
      ? { path: ["secrets"], issue: "must be Base64 with its padding" }
      : undefined
  ),
)
export type SfmcSettings = typeof SfmcSettings.Type

const signatureName = "x-sfmc-ens-signature"

/** Checks HMAC-SHA256, in Base64, over the body. No time is signed. */
export const check: Verdict.Check<SfmcSettings> = (settings, headers, body) => {
  const secrets = Verdict.usable(settings.secrets)
  const keys = settings.key_encoding === "base64"
    ? secrets.flatMap((secret) => Verdict.base64Of(secret) ?? [])
    : secrets
  if (keys.length === 0) return Verdict.noSecret
  const signature = Verdict.headerOf(headers, signatureName)
  if ("fault" in signature) return signature.fault
  const bytes = Verdict.base64Of(signature.value)
  if (bytes?.length !== 32) return Verdict.refused(`The header ${signatureName} must be 32 bytes in Base64`)
  return Verdict.isHmac("sha256", keys, [body], bytes)
    ? Verdict.accepted
    : Verdict.mismatch(`signature in ${signatureName}`)
}

/** The call that proves to Salesforce that the callback's URL is ours. */
interface Handshake {
  readonly callbackId: string
  /** Valid for one call. */
  readonly verificationKey: string
  readonly call: {
    readonly method: "POST"
    /** Relative to the REST URL of the account, which is our setting and never comes from the request. */
    readonly path: "/platform/v1/ens-verify"
    readonly json: { readonly callbackId: string; readonly verificationKey: string }
  }
}

/** Maximum size of a handshake, which has two short members. Unit: bytes. */
const maxHandshakeBytes = 4_096

/** Maximum length of a handshake's members. Unit: characters. */
const maxMember = 200

const member = (value: unknown): string | undefined =>
  typeof value === "string" && value.length <= maxMember && /^[\x21-\x7e]+$/.test(value) ? value : undefined

/**
 * Returns the handshake by which Salesforce tests a new callback's URL; undefined for other requests, which must pass
 * `check`. The handshake is unsigned, has no events and expects the status 200 regardless of who completes it. Because
 * anyone can send one, show it as unverified and do not repeat the call.
 */
export const handshakeOf = (headers: Verdict.Headers, body: Uint8Array): Handshake | undefined => {
  if (Object.hasOwn(headers, signatureName) || body.length > maxHandshakeBytes) return undefined
  let json: unknown
  try {
    json = Json.parse(Buffer.from(body).toString("utf8"))
  } catch {
    return undefined
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) return undefined
  const members = json as { readonly [name: string]: unknown }
  const callbackId = member(members["callbackId"])
  const verificationKey = member(members["verificationKey"])
  if (callbackId === undefined || verificationKey === undefined || "eventCategoryType" in members) return undefined
  return {
    callbackId,
    verificationKey,
    call: { method: "POST", path: "/platform/v1/ens-verify", json: { callbackId, verificationKey } },
  }
}
