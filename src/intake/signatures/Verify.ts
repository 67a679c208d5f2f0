import { Schema } from "effect"
import { platforms } from "../../domain/Source.ts"
import * as BearerToken from "./BearerToken.ts"
import * as CustomerIoSignature from "./CustomerIoSignature.ts"
import * as IterableSignature from "./IterableSignature.ts"
import * as SegmentSignature from "./SegmentSignature.ts"
import * as SfmcSignature from "./SfmcSignature.ts"
import * as StandardWebhooks from "./StandardWebhooks.ts"
import type { Check, Headers, SignatureVerdict } from "./Verdict.ts"

/** The senders of webhooks by their own names: the messaging platforms, and `events` for the customer's own code. */
export const Source = Schema.Literals(Object.values(platforms))
export type Source = typeof Source.Type

/**
 * Authentication settings of a source. `secrets` has the current secret and, during a replacement, the previous one;
 * both are accepted. Other members belong to single platforms. Each platform ignores the members of other platforms.
 */
export interface SignatureSettings {
  readonly secrets: ReadonlyArray<string>
  readonly header?: string
  readonly scheme?: "signature" | "token"
  readonly tolerance_seconds?: number | null
  readonly key_encoding?: "text" | "base64"
  readonly unsigned_items?: boolean
}

/** The schema of an administrator's settings for each source. */
export const settingsOf = {
  braze: BearerToken.BearerTokenSettings,
  iterable: IterableSignature.IterableSettings,
  customerio: CustomerIoSignature.CustomerIoSettings,
  segment: SegmentSignature.SegmentSignatureSettings,
  sfmc: SfmcSignature.SfmcSettings,
  events: StandardWebhooks.StandardWebhooksSettings,
} as const satisfies { readonly [source in Source]: Schema.ConstraintDecoder<SignatureSettings> }

const checks: { readonly [source in Source]: Check<SignatureSettings> } = {
  braze: BearerToken.check,
  iterable: IterableSignature.check,
  customerio: CustomerIoSignature.check,
  segment: SegmentSignature.check,
  sfmc: SfmcSignature.check,
  events: StandardWebhooks.check,
}

const signsBody: { readonly [source in Source]: (settings: Pick<SignatureSettings, "scheme">) => boolean } = {
  braze: () => false,
  iterable: () => false,
  customerio: () => true,
  segment: ({ scheme }) => scheme !== "token",
  sfmc: () => true,
  events: () => true,
}

/** Whether `verify` needs the body of a request. A token does not depend on it. */
export const readsBody = (source: Source, settings: Pick<SignatureSettings, "scheme">): boolean =>
  signsBody[source](settings)

/**
 * Checks that a request comes from its source, by the raw bytes of its body (even if empty) and its headers by
 * lowercase name. `now` is in Unix milliseconds. Pure, never throws. Without a secret, every request is refused. The
 * unsigned handshake of Marketing Cloud is refused too: call `SfmcSignature.handshakeOf` first. For `events`, this
 * checks only the signature; requests may use an API key instead.
 */
export const verify = (
  source: Source,
  settings: SignatureSettings,
  headers: Headers,
  body: Uint8Array,
  now: number,
): SignatureVerdict => checks[source](settings, headers, body, now)
