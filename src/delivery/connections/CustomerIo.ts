import { Effect, Result, Schema, type Scope } from "effect"
import { messageKeyOf, nameOf } from "../../domain/EventKeys.ts"
import type { AddressGuard } from "../../settings/AddressGuard.ts"
import type { Connection, Message } from "../Connection.ts"
import { htmlOf, mailboxText } from "../../text/Email.ts"
import * as OutboundHttp from "../OutboundHttp.ts"
import { accepted, exchange, objectOf, odd, type Peer, posting, probe, sortStatus, unfit } from "./Answers.ts"
import { contentOf } from "./Content.ts"
import { Address, DisplayName, Endpoint, entry, PlatformId, Token, under, Variables } from "./Entry.ts"
import { literal } from "./Liquid.ts"

const endpoints = { us: "https://api.customer.io", eu: "https://api-eu.customer.io" } as const

/** Settings of a Customer.io connection. */
export const Settings = Schema.Struct({
  /** Data centre. Default: `us`. */
  region: Schema.optionalKey(Schema.Literals(["us", "eu"])),
  /** Replaces the URL of the region. */
  endpoint: Schema.optionalKey(Endpoint),
  /** The sender. Its domain must be verified in Customer.io. */
  from: Address,
  from_name: Schema.optionalKey(DisplayName),
  reply_to: Schema.optionalKey(Address),
  /** The transactional message that collects the statistics. Default: message 1. */
  transactional_message_id: Schema.optionalKey(Schema.Union([Schema.Int, PlatformId])),
  /** Whether opens and clicks are tracked. Default: true. */
  tracked: Schema.optionalKey(Schema.Boolean),
  /** Whether people who have unsubscribed receive messages. Default: false. */
  send_to_unsubscribed: Schema.optionalKey(Schema.Boolean),
  variables: Schema.optionalKey(Variables),
})
type Settings = typeof Settings.Type

/** Secrets of a Customer.io connection: an App API key. */
export const Secrets = Schema.Struct({ app_api_key: Token })

/** Validates an administrator's input for this platform: see `entry`. */
export const decode = entry(Settings, Secrets)

const name = "Customer.io"

const bodyOf = (settings: Settings, message: Message) =>
  Result.map(contentOf(message, settings.variables), ({ html, preheader, subject, text }) => ({
    to: message.email,
    identifiers: { email: message.email },
    ...(settings.transactional_message_id === undefined
      ? {}
      : { transactional_message_id: settings.transactional_message_id }),
    from: mailboxText({ email: settings.from, name: settings.from_name }),
    ...(settings.reply_to === undefined ? {} : { reply_to: settings.reply_to }),
    subject: literal(subject),
    ...(preheader === undefined ? {} : { preheader: literal(preheader) }),
    body: literal(html ?? htmlOf(text ?? "")),
    ...(text === undefined ? {} : { body_plain: literal(text) }),
    headers: { "X-Tracking-Id": message.id },
    message_data: { tracking_id: message.id },
    tracked: settings.tracked ?? true,
    send_to_unsubscribed: settings.send_to_unsubscribed ?? false,
  }))

/**
 * Sends through Customer.io by `POST /v1/send/email`. Its events carry the `delivery_id` of the answer. Customer.io has
 * no idempotency key, so a repeated request sends the message twice. Facts: `docs/integrations/facts/customer-io.md`.
 */
export const make = (
  settings: Settings,
  { app_api_key: key }: typeof Secrets.Type,
): Effect.Effect<Connection, never, Scope.Scope | AddressGuard> =>
  Effect.map(OutboundHttp.make, (http) => {
    const peer: Peer = { name, http, secrets: [key] }
    const endpoint = settings.endpoint ?? endpoints[settings.region ?? "us"]
    const headers = { authorization: `Bearer ${key}` }
    const url = under(endpoint, "/v1/send/email")
    const sort = (answer: OutboundHttp.OutboundResponse, now: number) => {
      if (answer.status < 200 || answer.status > 299) return sortStatus(name, answer, peer.secrets, now)
      const deliveryId = nameOf(objectOf(answer)?.["delivery_id"])
      if (deliveryId === undefined) return odd(name, answer, "delivery_id", peer.secrets)
      const messageKey = messageKeyOf(deliveryId)
      return accepted(deliveryId, messageKey === undefined ? [] : [{ source: "provider_c", messageKey }])
    }
    return {
      send: (message) => {
        const body = bodyOf(settings, message)
        return Result.isFailure(body)
          ? Effect.succeed(unfit(`The message ${body.failure}`))
          : exchange(peer, posting(url, headers, body.success), sort)
      },
      test: probe(peer, { method: "GET", url: under(endpoint, "/v1/transactional"), headers }, ({ status }) =>
        status === 200 ? "Customer.io took the App API key. The sender and its domain were not tried." : undefined),
      concurrency: 20,
      idempotent: false,
    }
  })
