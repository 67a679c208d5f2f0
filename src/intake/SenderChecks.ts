import { Cache, Context, Duration, Effect, Exit, Layer, Schema } from "effect"
import { createHash } from "node:crypto"
import * as OutboundHttp from "../delivery/OutboundHttp.ts"
import type { SourceId } from "../domain/Source.ts"
import { LruMap } from "../json/LruMap.ts"
import { confirmationHeader } from "./senders/Ses.ts"
import * as Mailgun from "./signatures/MailgunSignature.ts"
import * as Sns from "./signatures/SnsSignature.ts"
import { refused, type SignatureVerdict } from "./signatures/Verdict.ts"
import { WebhookSources } from "./WebhookSources.ts"

/** Timeout of a request to Amazon, and of its repetitions. */
const timeout = Duration.seconds(5)

/** Maximum size of a certificate. Unit: characters. */
const maxCertificate = 16_384

/** How long a certificate is kept in memory, and how long a failure to fetch it. */
const kept = { fetched: Duration.hours(24), failed: Duration.seconds(20) }

/** Maximum number of tokens of Mailgun that this node remembers. */
const maxTokens = 50_000

/** A certificate of Amazon could not be fetched, so that a message cannot be checked now. */
export class CertificateNotFetched extends Schema.TaggedError<CertificateNotFetched>()("CertificateNotFetched", {
  url: Schema.String,
  reason: Schema.String,
}) {
  override get message() {
    return `The certificate ${this.url} cannot be fetched (${this.reason}). If this installation must not connect to ` +
      "Amazon, enter it in the setting certificates of the source"
  }
}

/** The parts of authentication that need more than the request: certificates, used tokens and confirmations. */
export class SenderChecks extends Context.Service<SenderChecks, {
  /**
   * Verifies a request like `WebhookSources.verify`. Fetches the certificate that a message of SNS names, and refuses a
   * token of Mailgun that was used for another body. Fails with `CertificateNotFetched` if the request cannot be checked
   * now.
   */
  readonly verify: (
    org: string,
    sourceId: SourceId,
    headers: Readonly<Record<string, string>>,
    body: Uint8Array,
  ) => Effect.Effect<SignatureVerdict | undefined, CertificateNotFetched>
  /**
   * Confirms the subscription in a verified body of Amazon SES, once. Returns the headers to store with the body: why the
   * confirmation failed, if it failed.
   */
  readonly confirm: (sourceId: SourceId, body: Uint8Array) => Effect.Effect<Readonly<Record<string, string>>>
}>()("parlance/intake/SenderChecks") {
  /** `makeHttp` makes the client that connects to Amazon. */
  static readonly layerOf = <R>(makeHttp: Effect.Effect<OutboundHttp.OutboundHttp, never, R>) =>
    Layer.effect(
      SenderChecks,
      Effect.gen(function* () {
        const sources = yield* WebhookSources
        const http = yield* makeHttp

        const get = Effect.fnUntraced(function* (url: string) {
          const response = yield* http.request({ method: "GET", url: new URL(url), headers: { accept: "*/*" } }).pipe(
            Effect.timeout(timeout),
            Effect.mapError((error) => error._tag === "NoAnswer" ? error.detail : "no answer within 5 seconds"),
          )
          // Redirects are not followed.
          return response.status === 200 ? response.body : yield* Effect.fail(`it answered ${response.status}`)
        })

        const certificates = yield* Cache.makeWith(
          (url: string) =>
            get(url).pipe(
              Effect.filterOrFail(({ length }) => length <= maxCertificate, () => "it is too long"),
              Effect.mapError((reason) => new CertificateNotFetched({ url, reason })),
            ),
          { capacity: 100, timeToLive: (exit) => Exit.isSuccess(exit) ? kept.fetched : kept.failed },
        )

        /** Digests of bodies by organization and token. */
        const tokens = new LruMap<string>(maxTokens)

        const isReused = (org: string, body: Uint8Array): boolean => {
          const signed = Mailgun.signedIn(body)
          if (signed === undefined) return false
          const key = `${org} ${signed.token}`
          const digest = createHash("sha256").update(body).digest("base64")
          const before = tokens.get(key)
          if (before === undefined) tokens.set(key, digest)
          return before !== undefined && before !== digest
        }

        const verify = Effect.fnUntraced(function* (
          org: string,
          sourceId: SourceId,
          headers: Readonly<Record<string, string>>,
          body: Uint8Array,
        ) {
          const verdict = sources.verify(org, sourceId, headers, body)
          if (verdict?.ok === true) {
            return sourceId === "mailgun" && isReused(org, body)
              ? refused("The token of the signature was used for another body")
              : verdict
          }
          const url = verdict?.certificate
          if (url === undefined) return verdict
          const pem = yield* Cache.get(certificates, url)
          return sources.verify(org, sourceId, headers, body, { [url]: pem })
        })

        /** Results of confirmations by message. */
        const confirmed = yield* Cache.make({
          capacity: 1_000,
          timeToLive: Duration.hours(1),
          lookup: (url: string) =>
            get(url).pipe(
              Effect.retry({ times: 2 }),
              Effect.as({} as Readonly<Record<string, string>>),
              Effect.catch((reason) => Effect.succeed({ [confirmationHeader]: reason.slice(0, 300) })),
            ),
        })

        const confirm = Effect.fn("SenderChecks.confirm")((sourceId: SourceId, body: Uint8Array) => {
          const message = sourceId === "ses" ? Sns.messageIn(body) : undefined
          const url = message && Sns.subscribeUrlOf(message)
          return url === undefined ? Effect.succeed({}) : Cache.get(confirmed, url)
        })

        return SenderChecks.of({ verify, confirm })
      }),
    )

  static readonly layer = SenderChecks.layerOf(OutboundHttp.make)
}
