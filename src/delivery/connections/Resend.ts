import { Duration, Effect, Result, Schema, type Scope } from "effect"
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
  slowDown,
  sortStatus,
  waitOf,
} from "./Answers.ts"
import { apiParts, emailFields, emailOf, unsubscribeFaults } from "./ComposedEmail.ts"
import { Endpoint, entry, Token, under, Variables } from "./Entry.ts"
import { makeOutbound } from "./OutboundMail.ts"

/** Settings of a Resend connection. */
export const Settings = Schema.Struct({
  ...emailFields,
  /** Replaces `https://api.resend.com`. */
  endpoint: Schema.optionalKey(Endpoint),
  variables: Schema.optionalKey(Variables),
})

/** Secrets of a Resend connection: an API key that may send. */
export const Secrets = Schema.Struct({ api_key: Token })

/** Validates an administrator's input for this platform: see `entry`. */
export const decode = entry(Settings, Secrets, ({ unsubscribe }) => unsubscribeFaults(unsubscribe))

const name = "Resend"

const errorOf = (answer: OutboundHttp.OutboundResponse): string | undefined => nameOf(objectOf(answer)?.["name"])

const sort = (secrets: ReadonlyArray<string>, email: string) =>
(
  answer: OutboundHttp.OutboundResponse,
  now: number,
): SendResult => {
  if (answer.status === 200 || answer.status === 201) {
    const id = nameOf(objectOf(answer)?.["id"])
    const messageKey = messageKeyOfRecipient(id, email)
    return messageKey === undefined
      ? odd(name, answer, "id", secrets)
      : accepted(id, [{ source: "resend", messageKey }])
  }
  const reason = reasonOf(name, answer, secrets)
  switch (errorOf(answer)) {
    case "daily_quota_exceeded":
    case "monthly_quota_exceeded":
      return slowDown(reason, waitOf(answer, now) ?? Duration.hours(1))
    case "concurrent_idempotent_requests":
      // The first request with this id has not ended, so that the message may be accepted.
      return retry(reason, true)
    case "invalid_from_address":
      return broken(`${reason}. Check from`)
  }
  return /API key is invalid/i.test(answer.body) ? broken(reason) : sortStatus(name, answer, secrets, now)
}

/**
 * Sends through Resend by `POST /emails`. Events carry the tag `tracking_id` and the id of the answer. The delivery's
 * id is the `Idempotency-Key`, under which Resend sends once within 24 hours. Facts:
 * `docs/integrations/facts/email-services.md`.
 */
export const make = (
  settings: typeof Settings.Type,
  { api_key: key }: typeof Secrets.Type,
): Effect.Effect<Connection, never, Scope.Scope | AddressGuard | Composer> =>
  Effect.gen(function* () {
    const http = yield* OutboundHttp.make
    const peer: Peer = { name, http, secrets: [key] }
    const outbound = makeOutbound(yield* (yield* Composer).forConnection, (message) =>
      Result.map(emailOf(settings, message), (email) => ({ ...email, isShown: true })))
    const endpoint = settings.endpoint ?? "https://api.resend.com"
    const url = under(endpoint, "/emails")
    const authorization = `Bearer ${key}`
    return {
      compose: outbound.compose,
      prepare: outbound.prepare,
      send: (message) =>
        outbound.send(message, (mail) => {
          const { headers, html, subject, text } = apiParts(mail)
          return exchange(
            peer,
            posting(url, { authorization, "idempotency-key": message.id }, {
              from: mailboxText({ email: settings.from, name: settings.from_name }),
              to: [mail.to],
              ...(settings.reply_to === undefined ? {} : { reply_to: settings.reply_to }),
              subject,
              ...(html === undefined ? {} : { html }),
              text,
              headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
              tags: [{ name: "tracking_id", value: message.id }],
            }),
            sort(peer.secrets, message.email),
          )
        }),
      // A key that may only send is refused here by a name of its own.
      test: probe(
        peer,
        { method: "GET", url: under(endpoint, "/domains"), headers: { authorization } },
        (answer) =>
          answer.status === 200 || errorOf(answer) === "restricted_api_key"
            ? "Resend took the API key. The sender and its domain were not tried."
            : undefined,
      ),
      concurrency: 20,
      idempotent: true,
    }
  })
