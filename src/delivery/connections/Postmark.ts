import { Effect, Result, Schema, type Scope } from "effect"
import { messageKeyOfRecipient, nameOf } from "../../domain/EventKeys.ts"
import { mailboxText } from "../../text/Email.ts"
import type { AddressGuard } from "../../settings/AddressGuard.ts"
import { Composer } from "../Composer.ts"
import type { Connection, SendResult } from "../Connection.ts"
import * as OutboundHttp from "../OutboundHttp.ts"
import {
  accepted,
  broken,
  exchange,
  objectOf,
  odd,
  type Peer,
  posting,
  probe,
  reasonOf,
  retry,
  sortStatus,
} from "./Answers.ts"
import { apiParts, emailFields, emailOf, unsubscribeFaults } from "./ComposedEmail.ts"
import { Endpoint, entry, ServiceId, Token, under, Variables } from "./Entry.ts"
import { makeOutbound } from "./OutboundMail.ts"

/** Settings of a Postmark connection. */
export const Settings = Schema.Struct({
  ...emailFields,
  /** Default: Postmark's transactional stream, `outbound`. */
  message_stream: Schema.optionalKey(ServiceId),
  /** Replaces `https://api.postmarkapp.com`. */
  endpoint: Schema.optionalKey(Endpoint),
  variables: Schema.optionalKey(Variables),
})

/** Secrets of a Postmark connection: the API token of a server. */
export const Secrets = Schema.Struct({ server_token: Token })

/** Validates an administrator's input for this platform: see `entry`. */
export const decode = entry(Settings, Secrets, ({ unsubscribe }) => unsubscribeFaults(unsubscribe))

const name = "Postmark"

/** Values of `ErrorCode` that concern all messages: sender, account, credits and stream. */
const brokenCodes: ReadonlySet<unknown> = new Set([10, 400, 401, 405, 412, 413, 1235])

const maintenance = 100

const sort = (secrets: ReadonlyArray<string>, email: string) =>
(
  answer: OutboundHttp.OutboundResponse,
  now: number,
): SendResult => {
  const said = objectOf(answer)
  const code = said?.["ErrorCode"]
  if (answer.status === 200 && (code === 0 || code === undefined)) {
    const id = nameOf(said?.["MessageID"])
    const messageKey = messageKeyOfRecipient(id, email)
    return messageKey === undefined
      ? odd(name, answer, "MessageID", secrets)
      : accepted(id, [{ source: "postmark", messageKey }])
  }
  const reason = reasonOf(name, answer, secrets)
  if (code === maintenance) return retry(reason)
  if (brokenCodes.has(code) || (code === 300 && /'From'|sender signature/i.test(answer.body))) return broken(reason)
  return answer.status === 200 ? odd(name, answer, "ErrorCode 0", secrets) : sortStatus(name, answer, secrets, now)
}

/**
 * Sends through Postmark by `POST /email`. Events carry the metadata `tracking_id` and the id of the answer. Postmark
 * has no idempotency key, so a repeated request sends the message twice. Facts: `docs/integrations/facts/email-services.md`.
 */
export const make = (
  settings: typeof Settings.Type,
  { server_token: token }: typeof Secrets.Type,
): Effect.Effect<Connection, never, Scope.Scope | AddressGuard | Composer> =>
  Effect.gen(function* () {
    const http = yield* OutboundHttp.make
    const peer: Peer = { name, http, secrets: [token] }
    const outbound = makeOutbound(yield* (yield* Composer).forConnection, (message) =>
      Result.map(emailOf(settings, message), (email) => ({ ...email, isShown: true })))
    const endpoint = settings.endpoint ?? "https://api.postmarkapp.com"
    const url = under(endpoint, "/email")
    const headers = { "x-postmark-server-token": token }
    return {
      compose: outbound.compose,
      prepare: outbound.prepare,
      send: (message) =>
        outbound.send(message, (mail) => {
          const parts = apiParts(mail)
          return exchange(
            peer,
            posting(url, headers, {
              From: mailboxText({ email: settings.from, name: settings.from_name }),
              To: mail.to,
              ...(settings.reply_to === undefined ? {} : { ReplyTo: settings.reply_to }),
              Subject: parts.subject,
              ...(parts.html === undefined ? {} : { HtmlBody: parts.html }),
              TextBody: parts.text,
              Headers: parts.headers.map(({ name, value }) => ({ Name: name, Value: value })),
              Metadata: { tracking_id: message.id },
              ...(settings.message_stream === undefined ? {} : { MessageStream: settings.message_stream }),
            }),
            sort(peer.secrets, message.email),
          )
        }),
      test: probe(peer, { method: "GET", url: under(endpoint, "/server"), headers }, ({ status }) =>
        status === 200 ? "Postmark took the server token. The sender and the stream were not tried." : undefined),
      concurrency: 20,
      idempotent: false,
    }
  })
