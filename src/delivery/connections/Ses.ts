import { Clock, Duration, Effect, Schema, type Scope } from "effect"
import { Buffer } from "node:buffer"
import { messageKeyOfRecipient, nameOf } from "../../domain/EventKeys.ts"
import type { AddressGuard } from "../../settings/AddressGuard.ts"
import { Composer } from "../Composer.ts"
import type { Connection, SendResult } from "../Connection.ts"
import { signed } from "../AwsSignature.ts"
import * as OutboundHttp from "../OutboundHttp.ts"
import {
  accepted,
  broken,
  exchange,
  headerOf,
  objectOf,
  odd,
  type Peer,
  posting,
  probe,
  reasonOf,
  slowDown,
  sortStatus,
  waitOf,
} from "./Answers.ts"
import { emailFields, emailOf, unsubscribeFaults } from "./ComposedEmail.ts"
import { Endpoint, entry, ServiceId, Token, under, Variables } from "./Entry.ts"
import { makeOutbound } from "./OutboundMail.ts"

/** Settings of a connection to Amazon SES by its API. */
export const Settings = Schema.Struct({
  /** AWS region of the sending identity, such as `eu-west-1`. */
  region: Schema.String.check(
    Schema.makeFilter<string>((text) =>
      /^[a-z]{2}(?:-[a-z]+)+-\d$/.test(text) ? undefined : "must be an AWS region, such as eu-west-1"
    ),
  ),
  /** Replaces the URL of the region, for FIPS and VPC endpoints. */
  endpoint: Schema.optionalKey(Endpoint),
  ...emailFields,
  /** Configuration set, which publishes the events. Default: the set of the sending identity. */
  configuration_set: Schema.optionalKey(ServiceId),
  variables: Schema.optionalKey(Variables),
})
type Settings = typeof Settings.Type

/** Secrets of a connection to Amazon SES: an access key that may `ses:SendEmail` and `ses:SendRawEmail`. */
export const Secrets = Schema.Struct({ access_key_id: Token, secret_access_key: Token })
type Secrets = typeof Secrets.Type

/** Validates an administrator's input for this platform: see `entry`. */
export const decode = entry(Settings, Secrets, ({ unsubscribe }) => unsubscribeFaults(unsubscribe))

const name = "Amazon SES"

/** Names of errors that are more specific than their status. */
const errors: ReadonlyMap<string, "slow-down" | "broken"> = new Map([
  ["toomanyrequestsexception", "slow-down"],
  ["throttlingexception", "slow-down"],
  ["limitexceededexception", "slow-down"],
  ["accountsuspendedexception", "broken"],
  ["sendingpausedexception", "broken"],
  ["mailfromdomainnotverifiedexception", "broken"],
])

/** Returns the name of an error, in lowercase, from the header or the body. */
const errorOf = (answer: OutboundHttp.OutboundResponse): string | undefined =>
  (headerOf(answer, "x-amzn-errortype") ?? nameOf(objectOf(answer)?.["__type"]))
    ?.replace(/^.*#/, "").replace(/:.*$/s, "").toLowerCase()

const sort =
  (settings: Settings, secrets: ReadonlyArray<string>, email: string) =>
  (answer: OutboundHttp.OutboundResponse, now: number): SendResult => {
    if (answer.status === 200) {
      const id = nameOf(objectOf(answer)?.["MessageId"])
      const messageKey = messageKeyOfRecipient(id, email)
      return messageKey === undefined
        ? odd(name, answer, "MessageId", secrets)
        : accepted(id, [{ source: "ses", messageKey }])
    }
    const reason = reasonOf(name, answer, secrets)
    switch (errors.get(errorOf(answer) ?? "")) {
      case "slow-down":
        // Amazon advises to wait for up to 10 minutes once the daily quota is used up.
        return slowDown(reason, waitOf(answer, now) ?? (/daily/i.test(answer.body) ? Duration.minutes(10) : undefined))
      case "broken":
        return broken(reason)
    }
    // SES rejects a sender and, in the sandbox, a recipient with equal words. Only the sender concerns all messages.
    return /not verified/i.test(answer.body) && answer.body.toLowerCase().includes(settings.from.toLowerCase())
      ? broken(`${reason}. Verify the sender in Amazon SES`)
      : sortStatus(name, answer, secrets, now)
  }

/** Returns the result of a test from the answer about the account, or undefined if the account cannot send. */
const accountText = (answer: OutboundHttp.OutboundResponse): string | undefined => {
  const account = objectOf(answer)
  if (answer.status !== 200 || account?.["SendingEnabled"] !== true) return undefined
  const sandbox = account["ProductionAccessEnabled"] === false
    ? " The account is in the sandbox, which sends to verified addresses only."
    : ""
  return `Amazon SES took the access key. The sender was not tried.${sandbox}`
}

/**
 * Sends composed e-mails through Amazon SES by `POST /v2/email/outbound-emails`. Events carry the tag `tracking_id` and
 * the id of the answer. SES has no idempotency key, so a repeated request sends the message twice. SES signs messages
 * itself. Facts: `docs/integrations/facts/email-services.md`.
 */
export const make = (
  settings: Settings,
  secrets: Secrets,
): Effect.Effect<Connection, never, Scope.Scope | AddressGuard | Composer> =>
  Effect.gen(function* () {
    const { configuration_set, region } = settings
    const http = yield* OutboundHttp.make
    const peer: Peer = { name, http, secrets: [secrets.secret_access_key, secrets.access_key_id] }
    const outbound = makeOutbound(yield* (yield* Composer).forConnection, (message) => emailOf(settings, message))
    const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
    const endpoint = settings.endpoint ?? `https://email.${region}.${domain}`
    const url = under(endpoint, "/v2/email/outbound-emails")
    const sign = (request: OutboundHttp.OutboundRequest) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => signed("ses", region, secrets, request, now))
    return {
      compose: outbound.compose,
      prepare: outbound.prepare,
      send: (message) =>
        outbound.send(message, ({ bytes, to }) =>
          Effect.flatMap(
            sign(posting(url, {}, {
              Destination: { ToAddresses: [to] },
              Content: { Raw: { Data: Buffer.from(bytes).toString("base64") } },
              EmailTags: [{ Name: "tracking_id", Value: message.id }],
              ...(configuration_set === undefined ? {} : { ConfigurationSetName: configuration_set }),
            })),
            (request) => exchange(peer, request, sort(settings, peer.secrets, message.email)),
          )),
      test: Effect.flatMap(
        sign({ method: "GET", url: under(endpoint, "/v2/email/account"), headers: {} }),
        (request) => probe(peer, request, accountText),
      ),
      concurrency: 20,
      idempotent: false,
    }
  })
