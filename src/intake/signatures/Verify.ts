import { Schema } from "effect"
import { platforms } from "../../domain/Source.ts"
import * as BearerToken from "./BearerToken.ts"
import * as CustomerIoSignature from "./CustomerIoSignature.ts"
import * as IterableSignature from "./IterableSignature.ts"
import * as KlaviyoSignature from "./KlaviyoSignature.ts"
import * as MailgunSignature from "./MailgunSignature.ts"
import * as SegmentSignature from "./SegmentSignature.ts"
import * as SendGridSignature from "./SendGridSignature.ts"
import * as SenderToken from "./SenderToken.ts"
import * as SfmcSignature from "./SfmcSignature.ts"
import * as SnsSignature from "./SnsSignature.ts"
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
  readonly topics?: ReadonlyArray<string>
  readonly certificates?: Readonly<Record<string, string>>
}

/** How requests of a source are authenticated. */
interface Authentication {
  /** The schema of an administrator's settings. */
  readonly settings: Schema.ConstraintDecoder<SignatureSettings> & { readonly fields: Schema.Struct.Fields }
  readonly check: Check<SignatureSettings>
  /** Whether the check needs the body of a request. A token does not depend on it. */
  readonly signsBody: (settings: Pick<SignatureSettings, "scheme">) => boolean
}

const always = () => true
const never = () => false

const authentications = {
  braze: { settings: BearerToken.BearerTokenSettings, check: BearerToken.check, signsBody: never },
  iterable: { settings: IterableSignature.IterableSettings, check: IterableSignature.check, signsBody: never },
  customerio: { settings: CustomerIoSignature.CustomerIoSettings, check: CustomerIoSignature.check, signsBody: always },
  segment: {
    settings: SegmentSignature.SegmentSignatureSettings,
    check: SegmentSignature.check,
    signsBody: ({ scheme }) => scheme !== "token",
  },
  sfmc: { settings: SfmcSignature.SfmcSettings, check: SfmcSignature.check, signsBody: always },
  events: { settings: StandardWebhooks.StandardWebhooksSettings, check: StandardWebhooks.check, signsBody: always },
  resend: { settings: StandardWebhooks.StandardWebhooksSettings, check: StandardWebhooks.check, signsBody: always },
  brevo: { settings: BearerToken.BearerTokenSettings, check: SenderToken.check, signsBody: never },
  klaviyo: { settings: KlaviyoSignature.KlaviyoSettings, check: KlaviyoSignature.checkWebhook, signsBody: always },
  ses: { settings: SnsSignature.SnsSettings, check: SnsSignature.check, signsBody: always },
  sendgrid: { settings: SendGridSignature.SendGridSettings, check: SendGridSignature.check, signsBody: always },
  postmark: { settings: BearerToken.BearerTokenSettings, check: SenderToken.check, signsBody: never },
  mailgun: { settings: MailgunSignature.MailgunSettings, check: MailgunSignature.check, signsBody: always },
  sparkpost: { settings: BearerToken.BearerTokenSettings, check: SenderToken.check, signsBody: never },
} as const satisfies { readonly [source in Source]: Authentication }

/** Returns the schema of an administrator's settings for a source. */
export const settingsOf = (source: Source): Authentication["settings"] => authentications[source].settings

/** Whether `verify` needs the body of a request. */
export const readsBody = (source: Source, settings: Pick<SignatureSettings, "scheme">): boolean =>
  authentications[source].signsBody(settings)

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
): SignatureVerdict => authentications[source].check(settings, headers, body, now)
